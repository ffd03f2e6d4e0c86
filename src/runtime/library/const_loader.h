/* A module that tells others their constants ("const_loader"): before the first call of a function
   SYMBOL, the import that has "__init_SYMBOL" gets the tensors that SYMBOL needs, in order, and may
   keep them. The module is above those that it serves and finds their functions.

   As bytes, texts and counts being preceded by a uint64:

     count, names of the tensors; count, tensors (params.h)
     count, symbols; count, for each symbol: count, names of its tensors */
#ifndef TN_RUNTIME_LIBRARY_CONST_LOADER_H_
#define TN_RUNTIME_LIBRARY_CONST_LOADER_H_

#include "runtime/module/module.h"

/** @param by_symbol String -> Array of String
 *  @param data String -> NDArray; both retained */
TN_API TN_OWNED tn_module *tn_const_loader_new(tn_map *by_symbol, tn_map *data);

/** "runtime.ConstLoaderModuleCreate" and the loader of its bytes; part of tn_runtime_init. */
int tn_const_loader_init(void);

#endif /* TN_RUNTIME_LIBRARY_CONST_LOADER_H_ */
