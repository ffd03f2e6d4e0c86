/* From tensor programs to a module that runs: the passes that make host code of lowered programs,
   and the code generator of the target. */
#ifndef TN_DRIVER_BUILD_H_
#define TN_DRIVER_BUILD_H_

#include "target/build.h"

/** Code of lowered programs.
 *  @return scope-owned, or NULL with an error of a pass or of the code generator */
TN_API tn_module *driver_build(tn_IRModule *lowered, tn_target *t);

/** "driver.build"; part of the start of the compiler. */
TN_API int driver_build_init(void);

#endif /* TN_DRIVER_BUILD_H_ */
