/* A library as the C back end of old compilers made them: it refers to the runtime's symbols by
   name, its entry function is a function, and it carries two modules for a loader of kind
   "test.text" in the import tree  text "root" -> (library, text "leaf"),  library -> text "leaf".
 */
#include "tvm/runtime/c_backend_api.h"

#define PACKED(name)                                                                               \
  TVM_DLL int name(TVMValue *args, int *codes, int n, TVMValue *ret, int *ret_code,                \
                   void *resource);                                                                \
  TVM_DLL int name(TVMValue *args, int *codes, int n, TVMValue *ret, int *ret_code, void *resource)
#define UNUSED (void)args, (void)codes, (void)n, (void)ret, (void)ret_code, (void)resource

TVM_DLL void *__tvm_module_ctx = NULL;

PACKED(forty_two) {
  UNUSED;
  ret->v_int64 = 42;
  *ret_code = kTVMArgInt;
  return 0;
}

PACKED(__tvm_main__) { return forty_two(args, codes, n, ret, ret_code, resource); }

/* what the imported module says as "leaf" */
PACKED(ask_leaf) {
  static TVMFunctionHandle f = NULL;
  UNUSED;
  if (!f && TVMBackendGetFuncFromEnv(__tvm_module_ctx, "leaf", &f)) return -1;
  return TVMFuncCall(f, NULL, NULL, 0, ret, ret_code);
}

#define U64(x) x, 0, 0, 0, 0, 0, 0, 0
#define KEY    U64(9), 't', 'e', 's', 't', '.', 't', 'e', 'x', 't'
/* size, then what src/runtime/module/module_blob.h describes */
TVM_DLL const unsigned char __tvm_dev_mblob[] = {
    U64(170),                                      /**/
    U64(4),                                        /**/
    KEY,      U64(4), 'r',    'o',    'o',    't', /* 0 */
    U64(4),   '_',    'l',    'i',    'b',         /* 1 */
    KEY,      U64(4), 'l',    'e',    'a',    'f', /* 2 */
    U64(12),  '_',    'i',    'm',    'p',    'o',    'r',    't',    '_',
    't',      'r',    'e',    'e',    U64(4), U64(0), U64(2), U64(3), U64(3), /* rows */
    U64(3),   U64(1), U64(2), U64(2),                                         /* children */
};
