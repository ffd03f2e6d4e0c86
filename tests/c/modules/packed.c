/* A library as the LLVM back end of old compilers made them: no undefined symbols, the runtime is
   reached through pointers that the loader fills in. */
#include <string.h>

#include "tvm/runtime/c_backend_api.h"

#define PACKED(name)                                                                               \
  TVM_DLL int name(TVMValue *args, int *codes, int n, TVMValue *ret, int *ret_code,                \
                   void *resource);                                                                \
  TVM_DLL int name(TVMValue *args, int *codes, int n, TVMValue *ret, int *ret_code, void *resource)
#define UNUSED (void)args, (void)codes, (void)n, (void)ret, (void)ret_code, (void)resource

TVM_DLL void *__tvm_module_ctx = NULL;
TVM_DLL int (*__TVMFuncCall)(TVMFunctionHandle, TVMValue *, int *, int, TVMValue *, int *) = NULL;
TVM_DLL void (*__TVMAPISetLastError)(const char *) = NULL;
TVM_DLL int (*__TVMBackendGetFuncFromEnv)(void *, const char *, TVMFunctionHandle *) = NULL;
TVM_DLL void *(*__TVMBackendAllocWorkspace)(int, int, uint64_t, int, int) = NULL;
TVM_DLL int (*__TVMBackendFreeWorkspace)(int, int, void *) = NULL;
TVM_DLL int (*__TVMBackendParallelLaunch)(FTVMParallelLambda, void *, int) = NULL;
TVM_DLL int (*__TVMBackendParallelBarrier)(int, TVMParallelGroupEnv *) = NULL;

TVM_DLL const char __tvm_main__[] = "add_one";
TVM_DLL const int not_a_function[] = {1, 2, 3};

/* y = x + 1, float32 vectors of equal length */
PACKED(add_one) {
  UNUSED;
  if (n != 2) {
    __TVMAPISetLastError("TypeError: add_one: num_args should be 2");
    return -1;
  }
  for (int i = 0; i < 2; ++i) {
    if (codes[i] != kTVMNDArrayHandle && codes[i] != kTVMDLTensorHandle) {
      __TVMAPISetLastError("Assert fail: arg[0] is a tensor, add_one: Expect arg[0] to be pointer");
      return -1;
    }
  }
  const DLTensor *x = args[0].v_handle, *y = args[1].v_handle;
  const float *from = (const float *)x->data;
  float *to = (float *)y->data;
  for (int64_t i = 0; i < x->shape[0]; ++i) to[i] = from[i] + 1;
  return 0;
}

/* the sum of two ints, as a float if one of them is */
PACKED(sum) {
  UNUSED;
  if (codes[0] == kTVMArgInt && codes[1] == kTVMArgInt) {
    ret->v_int64 = args[0].v_int64 + args[1].v_int64;
    *ret_code = kTVMArgInt;
  } else {
    ret->v_float64 = (codes[0] == kTVMArgInt ? (double)args[0].v_int64 : args[0].v_float64) +
                     (codes[1] == kTVMArgInt ? (double)args[1].v_int64 : args[1].v_float64);
    *ret_code = kTVMArgFloat;
  }
  return 0;
}

/* the type code of the last argument */
PACKED(last_code) {
  UNUSED;
  ret->v_int64 = codes[n - 1];
  *ret_code = kTVMArgInt;
  return 0;
}

PACKED(fail_silently) {
  UNUSED;
  return -1;
}

/* f(1, 2) for the function f that is given */
PACKED(call_it) {
  UNUSED;
  TVMValue values[2] = {{.v_int64 = 1}, {.v_int64 = 2}};
  int types[2] = {kTVMArgInt, kTVMArgInt};
  return __TVMFuncCall(args[0].v_handle, values, types, 2, ret, ret_code);
}

/* calls the global or imported function test.env(41), looked up once */
PACKED(call_env) {
  static TVMFunctionHandle cached = NULL;
  UNUSED;
  TVMFunctionHandle f = __atomic_load_n(&cached, __ATOMIC_ACQUIRE);
  if (!f) {
    if (__TVMBackendGetFuncFromEnv(__tvm_module_ctx, "test.env", &f)) return -1;
    __atomic_store_n(&cached, f, __ATOMIC_RELEASE);
  }
  TVMValue value = {.v_int64 = 41};
  int type = kTVMArgInt;
  return __TVMFuncCall(f, &value, &type, 1, ret, ret_code);
}

PACKED(call_missing) {
  TVMFunctionHandle f = NULL;
  UNUSED;
  return __TVMBackendGetFuncFromEnv(__tvm_module_ctx, "test.not_there", &f);
}

static int count_task(int task_id, TVMParallelGroupEnv *env, void *data) {
  int *seen = data;
  if (task_id >= env->num_task) return -1;
  seen[task_id]++;
  if (__TVMBackendParallelBarrier(task_id, env)) return -1;
  for (int i = 0; i < env->num_task; ++i) {
    if (seen[i] != 1) {
      __TVMAPISetLastError("ValueError: a task passed the barrier too early");
      return -1;
    }
  }
  if (seen[env->num_task]) {
    __TVMAPISetLastError("KeyError: a task failed on purpose");
    return -1;
  }
  return 0;
}

/* runs `args[0]` tasks with a barrier; args[1]: they are to fail */
PACKED(parallel) {
  UNUSED;
  int tasks = (int)args[0].v_int64;
  size_t size = (size_t)(tasks + 1) * sizeof(int);
  int *seen = __TVMBackendAllocWorkspace(kDLCPU, 0, size, kDLInt, 32);
  if (!seen) return -1;
  memset(seen, 0, size);
  seen[tasks] = (int)args[1].v_int64;
  int err = __TVMBackendParallelLaunch(count_task, seen, tasks);
  return __TVMBackendFreeWorkspace(kDLCPU, 0, seen) || err ? -1 : 0;
}
