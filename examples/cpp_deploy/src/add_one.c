/* Stands for what a compiler emits: y = x + 1 for float32 vectors, in the calling convention of
 * compiled functions. */
#include <tvm/runtime/c_backend_api.h>
#include <tvm/runtime/c_runtime_api.h>

TVM_DLL int32_t add_one(void *args, int32_t *arg_type_ids, int32_t num_args, void *out_ret_value,
                        int32_t *out_ret_tcode, void *resource_handle) {
  (void)arg_type_ids, (void)out_ret_value, (void)out_ret_tcode, (void)resource_handle;
  if (num_args != 2) {
    TVMAPISetLastError("TypeError: add_one: num_args should be 2");
    return -1;
  }
  const DLTensor *x = ((TVMValue *)args)[0].v_handle, *y = ((TVMValue *)args)[1].v_handle;
  for (int64_t i = 0; i < x->shape[0]; ++i)
    ((float *)y->data)[i] = ((const float *)x->data)[i] + 1.0f;
  return 0;
}

#ifdef SYSTEM_LIB
__attribute__((constructor)) static void register_functions(void) {
  TVMBackendRegisterSystemLibSymbol("add_one", (void *)add_one);
}
#endif
