/* The functions of a model in C by name, for runtimes that cannot look symbols up. */
#ifndef TN_DRIVER_FUNCTION_TABLE_H_
#define TN_DRIVER_FUNCTION_TABLE_H_

#include "base/buf.h"
#include "target/target.h"
#include "tenon/runtime.h"

/** Appends a name with underscores for what an identifier cannot have. */
void driver_put_identifier(tn_buf *out, const char *name);

/** Makes C code import a module with the table `tvmgen_NAME_library` of functions (tenon/micro.h),
 *  where NAME is as driver_put_identifier writes it. Code of other kinds is left alone.
 *  @param kernels name -> function
 *  @param externals the same of other code generators
 *  @param linked for the C runtime (tvm/runtime/crt/module.h): what the code is for, llvm or c, when
 *    it shall have TVMSystemLibEntryPoint too; or NULL
 *  @return 0, or -1 (MemoryError) */
int driver_add_function_table(tn_module *lib, const char *name, const tn_map *kernels,
                              const tn_map *externals, tn_target *linked);

#endif /* TN_DRIVER_FUNCTION_TABLE_H_ */
