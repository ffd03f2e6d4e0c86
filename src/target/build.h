/* From lowered tensor programs to a module that runs. */
#ifndef TN_TARGET_BUILD_H_
#define TN_TARGET_BUILD_H_

#include "target/target.h"
#include "tenon/runtime.h"

/** Code for all functions of a module: the generator of the target's kind, the global function
 * "target.build.KIND"(IRModule, Target) -> Module. The plug-in for LLVM is opened when it is first
 * asked for.
 *  @return scope-owned, or NULL: CodegenError, ValueError for a kind without a generator */
TN_API tn_module *target_build(tn_IRModule *m, tn_target *t);

/** Is the code generator for target llvm installed? */
TN_API bool target_has_llvm(void);

#endif /* TN_TARGET_BUILD_H_ */
