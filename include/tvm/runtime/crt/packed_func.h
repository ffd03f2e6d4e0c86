/** Functions by name, with their arguments beside them. */
#ifndef TVM_RUNTIME_CRT_PACKED_FUNC_H_
#define TVM_RUNTIME_CRT_PACKED_FUNC_H_

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "tvm/runtime/c_runtime_api.h"
#include "tvm/runtime/crt/module.h"
#include "tvm/runtime/crt/platform.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Arguments of a call; program and runtime are compiled with the same number. */
#ifndef TVM_CRT_MAX_ARGS
#define TVM_CRT_MAX_ARGS 10
#endif

typedef struct TVMArgs {
  TVMValue values[TVM_CRT_MAX_ARGS];
  int tcodes[TVM_CRT_MAX_ARGS];
  uint32_t values_count;
} TVMArgs;

/** More than TVM_CRT_MAX_ARGS end in TVMPlatformAbort. */
TVMArgs TVMArgs_Create(TVMValue *values, uint32_t *tcodes, uint32_t values_count);

typedef struct TVMPackedFunc {
  char name[200];
  TVMFunctionHandle fexec;
  TVMArgs args;
  TVMArgs ret_value;
  int (*Call)(struct TVMPackedFunc *pf);
  void (*SetArgs)(struct TVMPackedFunc *pf, const struct TVMArgs *args);
} TVMPackedFunc;

/** "runtime.SystemLib", whose result is the library that is linked into the program.
 * @return 0, or kTvmErrorFunctionNameNotFound */
int TVMPackedFunc_InitGlobalFunc(TVMPackedFunc *pf, const char *name, const TVMArgs *args);
/** A function of a library. */
int TVMPackedFunc_InitModuleFunc(TVMPackedFunc *pf, TVMModuleHandle module, const char *name,
                                 const TVMArgs *args);
/** The result is in ret_value. @return 0, or what the function returned */
int TVMPackedFunc_Call(TVMPackedFunc *pf);
void TVMPackedFunc_SetArgs(TVMPackedFunc *pf, const TVMArgs *args);

/** The library among values; TVMPlatformAbort where it is none. */
static inline TVMModuleHandle TVMArgs_AsModuleHandle(const TVMArgs *args, size_t index) {
  if (index >= args->values_count || args->tcodes[index] != kTVMModuleHandle)
    TVMPlatformAbort(kTvmErrorFunctionCallWrongArgType);
  return args->values[index].v_handle;
}

#ifdef __cplusplus
}
#endif
#endif /* TVM_RUNTIME_CRT_PACKED_FUNC_H_ */
