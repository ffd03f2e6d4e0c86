/* What is used of OpenCL 1.2: types, numbers and functions as the standard gives them. The
   functions are found in the system's loader (libOpenCL) when the plug-in starts, so nothing is
   needed to build it. */
#ifndef TN_RUNTIME_OPENCL_CL_API_H_
#define TN_RUNTIME_OPENCL_CL_API_H_

#include <stddef.h>
#include <stdint.h>

typedef struct cl_platform_ *cl_platform;
typedef struct cl_device_ *cl_device;
typedef struct cl_context_ *cl_context;
typedef struct cl_queue_ *cl_queue;
typedef struct cl_mem_ *cl_mem;
typedef struct cl_program_ *cl_program;
typedef struct cl_kernel_ *cl_kernel;
typedef struct cl_event_ *cl_event;

enum { CL_OK = 0, CL_NO_PLATFORM = -1001 };
enum {
  CL_TYPE_CPU = 1 << 1,
  CL_TYPE_GPU = 1 << 2,
  CL_TYPE_ACCELERATOR = 1 << 3,
  CL_CONTEXT_ON_PLATFORM = 0x1084,
  CL_BUFFER_READ_WRITE = 1,
  CL_BUILD_LOG = 0x1183,
};
/* of devices */
enum {
  CL_MAX_COMPUTE_UNITS = 0x1002,
  CL_MAX_WORK_ITEM_SIZES = 0x1005,
  CL_MAX_WORK_GROUP_SIZE = 0x1004,
  CL_MAX_CLOCK_FREQUENCY = 0x100C,
  CL_GLOBAL_CACHE_SIZE = 0x101E,
  CL_GLOBAL_MEM_SIZE = 0x101F,
  CL_LOCAL_MEM_SIZE = 0x1023,
  CL_NAME = 0x102B,
  CL_DRIVER = 0x102D,
  CL_VERSION = 0x102F,
};

/* F(result, name without "cl", parameters) */
#define CL_FUNCTIONS(F)                                                                            \
  F(int32_t, GetPlatformIDs, (uint32_t, cl_platform *, uint32_t *))                                \
  F(int32_t, GetDeviceIDs, (cl_platform, uint64_t, uint32_t, cl_device *, uint32_t *))             \
  F(int32_t, GetDeviceInfo, (cl_device, uint32_t, size_t, void *, size_t *))                       \
  F(cl_context, CreateContext,                                                                     \
    (const intptr_t *, uint32_t, const cl_device *,                                                \
     void (*)(const char *, const void *, size_t, void *), void *, int32_t *))                     \
  F(cl_queue, CreateCommandQueue, (cl_context, cl_device, uint64_t, int32_t *))                    \
  F(int32_t, ReleaseCommandQueue, (cl_queue))                                                      \
  F(cl_mem, CreateBuffer, (cl_context, uint64_t, size_t, void *, int32_t *))                       \
  F(int32_t, ReleaseMemObject, (cl_mem))                                                           \
  F(int32_t, EnqueueReadBuffer,                                                                    \
    (cl_queue, cl_mem, uint32_t, size_t, size_t, void *, uint32_t, const cl_event *, cl_event *))  \
  F(int32_t, EnqueueWriteBuffer,                                                                   \
    (cl_queue, cl_mem, uint32_t, size_t, size_t, const void *, uint32_t, const cl_event *,         \
     cl_event *))                                                                                  \
  F(int32_t, EnqueueCopyBuffer,                                                                    \
    (cl_queue, cl_mem, cl_mem, size_t, size_t, size_t, uint32_t, const cl_event *, cl_event *))    \
  F(int32_t, EnqueueNDRangeKernel,                                                                 \
    (cl_queue, cl_kernel, uint32_t, const size_t *, const size_t *, const size_t *, uint32_t,      \
     const cl_event *, cl_event *))                                                                \
  F(int32_t, EnqueueMarkerWithWaitList, (cl_queue, uint32_t, const cl_event *, cl_event *))        \
  F(int32_t, EnqueueBarrierWithWaitList, (cl_queue, uint32_t, const cl_event *, cl_event *))       \
  F(int32_t, ReleaseEvent, (cl_event))                                                             \
  F(int32_t, Flush, (cl_queue))                                                                    \
  F(int32_t, Finish, (cl_queue))                                                                   \
  F(cl_program, CreateProgramWithSource,                                                           \
    (cl_context, uint32_t, const char **, const size_t *, int32_t *))                              \
  F(int32_t, BuildProgram,                                                                         \
    (cl_program, uint32_t, const cl_device *, const char *, void (*)(cl_program, void *), void *)) \
  F(int32_t, GetProgramBuildInfo, (cl_program, cl_device, uint32_t, size_t, void *, size_t *))     \
  F(int32_t, ReleaseProgram, (cl_program))                                                         \
  F(cl_kernel, CreateKernel, (cl_program, const char *, int32_t *))                                \
  F(int32_t, ReleaseKernel, (cl_kernel))                                                           \
  F(int32_t, SetKernelArg, (cl_kernel, uint32_t, size_t, const void *))

typedef struct {
#define CL_MEMBER(result, name, params) result(*name) params;
  CL_FUNCTIONS(CL_MEMBER)
#undef CL_MEMBER
} cl_functions;

#endif /* TN_RUNTIME_OPENCL_CL_API_H_ */
