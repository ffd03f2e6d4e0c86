/* What compiled code calls, for programs whose memory comes from TVMPlatformMemoryAllocate; in place
   of micro/backend.c. One thread runs everything. */
#include "micro/crt/memory.h"
#include "micro/graph_impl.h"
#include "tvm/runtime/c_backend_api.h"

static const char *last_error = "";

void TVMAPISetLastError(const char *msg) { last_error = msg; }
const char *TVMGetLastError(void) { return last_error; }

/* Kernels take from the platform instead. */
void micro_workspace_set(uint8_t *memory, size_t bytes) { (void)memory, (void)bytes; }

void *TVMBackendAllocWorkspace(int device_type, int device_id, uint64_t nbytes, int dtype_code_hint,
                               int dtype_bits_hint) {
  (void)device_type, (void)device_id, (void)dtype_code_hint, (void)dtype_bits_hint;
  void *p = nbytes < SIZE_MAX / 2 ? crt_take((size_t)nbytes) : NULL;
  if (!p) last_error = "the platform has no memory for what a kernel needs for itself";
  return p;
}

int TVMBackendFreeWorkspace(int device_type, int device_id, void *ptr) {
  (void)device_type, (void)device_id;
  crt_give(ptr);
  return 0;
}

int TVMBackendParallelLaunch(FTVMParallelLambda flambda, void *cdata, int num_task) {
  TVMParallelGroupEnv env = {NULL, 1};
  (void)num_task; /* code divides by what env says */
  return flambda(0, &env, cdata);
}

int TVMBackendParallelBarrier(int task_id, TVMParallelGroupEnv *penv) {
  (void)task_id, (void)penv;
  return 0;
}

int TVMBackendRunOnce(void **handle, int (*f)(void *), void *cdata, int nbytes) {
  (void)nbytes;
  if (*handle) return 0;
  *handle = (void *)handle;
  return f(cdata);
}

int TVMBackendGetFuncFromEnv(void *mod_node, const char *func_name, TVMFunctionHandle *out) {
  (void)mod_node, (void)func_name;
  *out = NULL;
  last_error = "the C runtime has no functions that code calls by name";
  return -1;
}
