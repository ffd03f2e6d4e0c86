/**
 * How archives of Relay-era compilers list their functions: the source of a model's library ends
 * with a TVMModule, which TVMSystemLibEntryPoint returns. Types only: models that are run here are
 * found by their symbols.
 */
#ifndef TVM_RUNTIME_CRT_MODULE_H_
#define TVM_RUNTIME_CRT_MODULE_H_

#include "tvm/runtime/c_backend_api.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Functions by name. */
typedef struct TVMFuncRegistry {
  const char
      *names; /**< two bytes with the count, low byte first, then the names, each ended by 0 */
  const TVMBackendPackedCFunc *funcs; /**< in the order of the names */
} TVMFuncRegistry;

/** A library of functions. */
typedef struct TVMModule {
  const TVMFuncRegistry *registry;
} TVMModule;

/** The library that is linked into a program; what a model's source defines. */
const TVMModule *TVMSystemLibEntryPoint(void);

#ifdef __cplusplus
}
#endif
#endif /* TVM_RUNTIME_CRT_MODULE_H_ */
