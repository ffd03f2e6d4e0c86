/* CUDA devices, for the files of the plug-in. */
#ifndef TN_RUNTIME_CUDA_CUDA_IMPL_H_
#define TN_RUNTIME_CUDA_CUDA_IMPL_H_

#include "runtime/cuda/cuda_api.h"
#include "runtime/module/device_module.h"

extern cu_functions cu;
extern const tn_device_api cuda_device_api;
extern const tn_kernel_api cuda_kernel_api;

/** Makes the device's context that of the calling thread. DeviceError when there is no such device.
 */
int cuda_enter(int device_id);
/** The stream of the calling thread for a device; NULL is the default one. */
cu_stream cuda_stream(int device_id);
/** 80 for compute capability 8.0. */
int cuda_capability(int device_id, int *out);
/** 0, or DeviceError "WHAT: CUDA error CUDA_ERROR_...". */
int cuda_check(int code, const char *what);

/** PTX of a source, NUL-terminated. @param arch 80 and the like. DeviceError with the compiler's
 * log, or when NVRTC is not installed. */
int cuda_compile(const char *source, size_t n, int arch, tn_bytes **out);

/** "runtime.cuda.nvrtc_compile": compiling without a device. */
int cuda_compile_init(void);

#endif /* TN_RUNTIME_CUDA_CUDA_IMPL_H_ */
