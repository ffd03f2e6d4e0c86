/**
 * What compiled functions of Relay-era compilers call: symbols a generated library or C source
 * expects from its runtime. Programs do not need them.
 */
#ifndef TVM_RUNTIME_C_BACKEND_API_H_
#define TVM_RUNTIME_C_BACKEND_API_H_

#include "tvm/runtime/c_runtime_api.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Signature of every compiled function. @param resource_handle NULL. @return 0, or -1 after
 * TVMAPISetLastError */
typedef int (*TVMBackendPackedCFunc)(TVMValue *args, int *type_codes, int num_args,
                                     TVMValue *out_ret_value, int *out_ret_tcode,
                                     void *resource_handle);

/** Finds a function that compiled code calls by name: in the imports of its module, then among the
 * global functions. @param mod_node value of the library's __tvm_module_ctx, or NULL. @param out
 * borrowed, valid as long as the library is loaded */
TVM_DLL int TVMBackendGetFuncFromEnv(void *mod_node, const char *func_name, TVMFunctionHandle *out);
/** Adds a symbol to the system library: called by static constructors of code linked into the
 * program. A later registration of the name replaces the earlier one. */
TVM_DLL int TVMBackendRegisterSystemLibSymbol(const char *name, void *ptr);

/** Temporary memory of a call, aligned to at least 64 bytes and kept in a pool of the thread. Free
 * it in the same thread, best in reverse order. @return NULL when there is none (last error set) */
TVM_DLL void *TVMBackendAllocWorkspace(int device_type, int device_id, uint64_t nbytes,
                                       int dtype_code_hint, int dtype_bits_hint);
TVM_DLL int TVMBackendFreeWorkspace(int device_type, int device_id, void *ptr);

/** What a task of a parallel loop knows about it. */
typedef struct {
  void *sync_handle;
  int32_t num_task;
} TVMParallelGroupEnv;

typedef int (*FTVMParallelLambda)(int task_id, TVMParallelGroupEnv *penv, void *cdata);

/** Runs the tasks 0 .. num_task-1 and waits for them. @param num_task 0 for one per thread */
TVM_DLL int TVMBackendParallelLaunch(FTVMParallelLambda flambda, void *cdata, int num_task);
TVM_DLL int TVMBackendParallelBarrier(int task_id, TVMParallelGroupEnv *penv);

/** Calls f once for a handle that starts as NULL; other threads wait for it. */
TVM_DLL int TVMBackendRunOnce(void **handle, int (*f)(void *), void *cdata, int nbytes);

#ifdef __cplusplus
}
#endif
#endif /* TVM_RUNTIME_C_BACKEND_API_H_ */
