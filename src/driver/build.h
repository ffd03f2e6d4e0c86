/* From tensor programs to a module that runs: the passes that make host and device code of lowered
   programs, and the code generators of their targets. */
#ifndef TN_DRIVER_BUILD_H_
#define TN_DRIVER_BUILD_H_

#include "codegen/codegen.h"

/** Code of lowered programs.
 *  @param programs map from Target to IRModule: all host code for one host is one module, the first
 *  one the root that imports the others
 *  @param host of targets that are not host code themselves; NULL: what they name, else this
 *  machine
 *  @return scope-owned, or NULL with an error of a pass or of a code generator; ValueError when two
 *  modules have a function of one name */
TN_API tn_module *driver_build(const tn_map *programs, tn_target *host);

/** "driver.build"; part of the start of the compiler. */
TN_API int driver_build_init(void);

#endif /* TN_DRIVER_BUILD_H_ */
