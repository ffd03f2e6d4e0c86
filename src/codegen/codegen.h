/* From lowered tensor programs to a module that runs. */
#ifndef TN_CODEGEN_CODEGEN_H_
#define TN_CODEGEN_CODEGEN_H_

#include "target/target.h"
#include "tenon/runtime.h"

/** Code for all functions of a module: the generator of the target's kind, the global function
 * "target.build.KIND"(IRModule, Target) -> Module. The plug-in for LLVM is opened when it is first
 * asked for.
 *  @return scope-owned, or NULL: CodegenError, ValueError for a kind without a generator */
TN_API tn_module *codegen_build(tn_IRModule *m, tn_target *t);

/** Can functions for this target be compiled one by one (codegen_compile_part)? So it is for target
 * llvm where object files are ELF, unless the whole module counts (system-lib, debug-info). */
TN_API bool codegen_has_parts(const tn_target *t);
/** The code of some functions of a module: an array whose items (arrays and bytes) can be stored.
 * Any thread may call it. Scope-owned. */
TN_API tn_arr *codegen_compile_part(tn_IRModule *m, tn_target *t);
/** The module that parts make together. Scope-owned. */
TN_API tn_module *codegen_assemble(tn_arr *parts, tn_target *t);
/** What the code of parts depends on besides program and target: compiler, processor, features.
 * Scope-owned. */
TN_API tn_str *codegen_describe(tn_target *t);
/** The name that LLVM has for this machine's processor; "" where there is no LLVM. For good. */
TN_API const char *codegen_host_processor(void);

/** Is the code generator for target llvm installed? */
TN_API bool codegen_has_llvm(void);

/** Registers the code generators and the functions of the layer. */
TN_API int codegen_init(void);

#endif /* TN_CODEGEN_CODEGEN_H_ */
