/* The functions of a model in C by name, for runtimes that cannot look symbols up. */
#ifndef TN_DRIVER_FUNCTION_TABLE_H_
#define TN_DRIVER_FUNCTION_TABLE_H_

#include "tenon/runtime.h"

/** Makes C code import a module with the table `tvmgen_NAME_library` of functions (tenon/micro.h);
 *  characters of the name that an identifier cannot have are underscores there. Code of other kinds
 *  is left alone.
 *  @param kernels name -> function
 *  @return 0, or -1 (MemoryError) */
int driver_add_function_table(tn_module *lib, const char *name, const tn_map *kernels);

#endif /* TN_DRIVER_FUNCTION_TABLE_H_ */
