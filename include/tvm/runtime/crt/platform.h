/** What a program gives the C runtime: memory, time, and where to go when something is wrong. The
 * runtime calls the first three; the others are for programs' own use. */
#ifndef TVM_RUNTIME_CRT_PLATFORM_H_
#define TVM_RUNTIME_CRT_PLATFORM_H_

#include <stdarg.h>
#include <stddef.h>

#include "tvm/runtime/c_runtime_api.h"
#include "tvm/runtime/crt/error_codes.h"

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
/** Ends the program: a call of a function without a result failed. */
void TVMPlatformAbort(tvm_crt_error_t code) __attribute__((noreturn));
#else
void TVMPlatformAbort(tvm_crt_error_t code);
#endif
/** Memory at any address. */
tvm_crt_error_t TVMPlatformMemoryAllocate(size_t num_bytes, DLDevice dev, void **out_ptr);
tvm_crt_error_t TVMPlatformMemoryFree(void *ptr, DLDevice dev);

tvm_crt_error_t TVMPlatformInitialize(void);
size_t TVMPlatformFormatMessage(char *out_buf, size_t out_buf_size_bytes, const char *fmt,
                                va_list args);
tvm_crt_error_t TVMPlatformTimerStart(void);
tvm_crt_error_t TVMPlatformTimerStop(double *elapsed_time_seconds);
tvm_crt_error_t TVMPlatformBeforeMeasurement(void);
tvm_crt_error_t TVMPlatformAfterMeasurement(void);
tvm_crt_error_t TVMPlatformGenerateRandom(uint8_t *buffer, size_t num_bytes);

#ifdef __cplusplus
}
#endif
#endif /* TVM_RUNTIME_CRT_PLATFORM_H_ */
