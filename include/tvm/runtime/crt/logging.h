/** Messages of the C runtime: a program defines the function. */
#ifndef TVM_RUNTIME_CRT_LOGGING_H_
#define TVM_RUNTIME_CRT_LOGGING_H_

#include "tvm/runtime/crt/platform.h"

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
void TVMLogf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
#else
void TVMLogf(const char *fmt, ...);
#endif

#ifdef __cplusplus
}
#endif
#endif /* TVM_RUNTIME_CRT_LOGGING_H_ */
