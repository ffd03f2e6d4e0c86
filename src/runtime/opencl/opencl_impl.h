/* OpenCL devices, for the files of the plug-in. */
#ifndef TN_RUNTIME_OPENCL_OPENCL_IMPL_H_
#define TN_RUNTIME_OPENCL_OPENCL_IMPL_H_

#include "runtime/module/device_module.h"
#include "runtime/opencl/cl_api.h"

/** One device. All devices of the process are of one platform and share its context. */
typedef struct {
  cl_device id;
  cl_queue queue; /* the one used unless a stream was set */
} opencl_device;

/** Memory as tensors have it in their data pointer. */
typedef struct {
  cl_mem mem;
  size_t size;
} opencl_memory;

extern cl_functions cl;
extern const tn_device_api opencl_device_api;
extern const tn_kernel_api opencl_kernel_api;

/** Devices found at the start. */
int opencl_count(void);
cl_context opencl_context(void);
/** NULL with DeviceError when there is no such device. */
opencl_device *opencl_at(int device_id);
/** The queue of the calling thread for a device. */
cl_queue opencl_queue(const opencl_device *d, int device_id);
/** 0, or DeviceError "WHAT: OpenCL error -5 (out of resources)". */
int opencl_check(int32_t code, const char *what);

#endif /* TN_RUNTIME_OPENCL_OPENCL_IMPL_H_ */
