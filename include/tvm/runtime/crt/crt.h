/** Start of the C runtime: see graph_executor.h. */
#ifndef TVM_RUNTIME_CRT_CRT_H_
#define TVM_RUNTIME_CRT_CRT_H_

#include <inttypes.h>

#include "tvm/runtime/crt/error_codes.h"

#ifdef __cplusplus
extern "C" {
#endif

/** To be called before all others. */
tvm_crt_error_t TVMInitializeRuntime(void);

#ifdef __cplusplus
}
#endif
#endif /* TVM_RUNTIME_CRT_CRT_H_ */
