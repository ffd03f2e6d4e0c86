/* Functions by name: the system library, and the functions of a library. */
#include "tvm/runtime/crt/packed_func.h"

#include <string.h>

#include "micro/crt/library.h"
#include "tvm/runtime/crt/crt.h"

tvm_crt_error_t TVMInitializeRuntime(void) { return kTvmErrorNoError; }

TVMArgs TVMArgs_Create(TVMValue *values, uint32_t *tcodes, uint32_t values_count) {
  TVMArgs args = {.values_count = values_count};
  if (values_count > TVM_CRT_MAX_ARGS) TVMPlatformAbort(kTvmErrorFunctionCallNumArguments);
  for (uint32_t i = 0; i < values_count; ++i) {
    args.values[i] = values[i];
    args.tcodes[i] = (int)tcodes[i];
  }
  return args;
}

/* ---- libraries ---- */

int32_t crt_library_count(const TVMModule *m) {
  const unsigned char *n = (const unsigned char *)m->registry->names;
  return n[0] | n[1] << 8;
}

const char *crt_library_next(const TVMModule *m, const char *name) {
  return name ? name + strlen(name) + 1 : m->registry->names + 2;
}

static TVMBackendPackedCFunc find(const TVMModule *m, const char *wanted) {
  const char *name = NULL;
  for (int32_t i = 0; i < crt_library_count(m); ++i) {
    name = crt_library_next(m, name);
    if (strcmp(name, wanted) == 0) return m->registry->funcs[i];
  }
  return NULL;
}

/* ---- calls ---- */

static int system_lib(TVMValue *args, int *codes, int n, TVMValue *ret, int *ret_code,
                      void *resource) {
  (void)args, (void)codes, (void)n, (void)resource;
  union {
    const TVMModule *from;
    void *to;
  } library = {TVMSystemLibEntryPoint()};
  ret->v_handle = library.to;
  *ret_code = kTVMModuleHandle;
  return 0;
}

/* A pointer to a function as the handle that a TVMPackedFunc has, and back. */
typedef union {
  TVMBackendPackedCFunc call;
  TVMFunctionHandle handle;
} function;

static int init(TVMPackedFunc *pf, const char *name, TVMBackendPackedCFunc call,
                const TVMArgs *args) {
  if (!call || strlen(name) >= sizeof pf->name) {
    TVMAPISetLastError("the program has no function of that name");
    return kTvmErrorFunctionNameNotFound;
  }
  function f = {call};
  *pf = (TVMPackedFunc){.fexec = f.handle, .Call = TVMPackedFunc_Call};
  pf->SetArgs = TVMPackedFunc_SetArgs;
  memcpy(pf->name, name, strlen(name) + 1);
  if (args) TVMPackedFunc_SetArgs(pf, args);
  return 0;
}

int TVMPackedFunc_InitGlobalFunc(TVMPackedFunc *pf, const char *name, const TVMArgs *args) {
  return init(pf, name, strcmp(name, "runtime.SystemLib") == 0 ? system_lib : NULL, args);
}

int TVMPackedFunc_InitModuleFunc(TVMPackedFunc *pf, TVMModuleHandle module, const char *name,
                                 const TVMArgs *args) {
  return init(pf, name, find((const TVMModule *)module, name), args);
}

int TVMPackedFunc_Call(TVMPackedFunc *pf) {
  function f = {.handle = pf->fexec};
  pf->ret_value = (TVMArgs){.values_count = 1, .tcodes = {kTVMNullptr}};
  return f.call(pf->args.values, pf->args.tcodes, (int)pf->args.values_count, pf->ret_value.values,
                pf->ret_value.tcodes, NULL);
}

void TVMPackedFunc_SetArgs(TVMPackedFunc *pf, const TVMArgs *args) { pf->args = *args; }
