/* What is used of the CUDA driver and of NVRTC: types, numbers and functions as their headers give
   them. The functions are found in the installed libraries when the plug-in starts, so nothing is
   needed to build it. */
#ifndef TN_RUNTIME_CUDA_CUDA_API_H_
#define TN_RUNTIME_CUDA_CUDA_API_H_

#include <stddef.h>
#include <stdint.h>

typedef int cu_device;
typedef struct cu_context_ *cu_context;
typedef struct cu_module_ *cu_module;
typedef struct cu_function_ *cu_function;
typedef struct cu_stream_ *cu_stream;
typedef struct cu_event_ *cu_event;
typedef uint64_t cu_pointer;
typedef struct nvrtc_program_ *nvrtc_program;

enum { CU_OK = 0 };
/* attributes of devices */
enum {
  CU_MAX_THREADS_PER_BLOCK = 1,
  CU_MAX_BLOCK_DIM_X = 2,
  CU_MAX_BLOCK_DIM_Y = 3,
  CU_MAX_BLOCK_DIM_Z = 4,
  CU_MAX_SHARED_MEMORY_PER_BLOCK = 8,
  CU_WARP_SIZE = 10,
  CU_MAX_REGISTERS_PER_BLOCK = 12,
  CU_CLOCK_RATE = 13,
  CU_MULTIPROCESSOR_COUNT = 16,
  CU_L2_CACHE_SIZE = 38,
  CU_COMPUTE_MAJOR = 75,
  CU_COMPUTE_MINOR = 76,
};
enum { CU_FUNC_MAX_DYNAMIC_SHARED = 8 };
enum { CU_EVENT_NO_TIMING = 2, CU_STREAM_NON_BLOCKING = 1 };
/* options of the PTX compiler */
enum { CU_JIT_ERROR_LOG = 5, CU_JIT_ERROR_LOG_SIZE = 6 };

/* F(name, symbol, parameters): functions of the driver return 0 or an error code */
#define CU_FUNCTIONS(F)                                                                            \
  F(Init, "cuInit", (unsigned))                                                                    \
  F(DriverGetVersion, "cuDriverGetVersion", (int *))                                               \
  F(GetErrorName, "cuGetErrorName", (int, const char **))                                          \
  F(DeviceGetCount, "cuDeviceGetCount", (int *))                                                   \
  F(DeviceGet, "cuDeviceGet", (cu_device *, int))                                                  \
  F(DeviceGetName, "cuDeviceGetName", (char *, int, cu_device))                                    \
  F(DeviceGetAttribute, "cuDeviceGetAttribute", (int *, int, cu_device))                           \
  F(DeviceTotalMem, "cuDeviceTotalMem_v2", (size_t *, cu_device))                                  \
  F(PrimaryCtxRetain, "cuDevicePrimaryCtxRetain", (cu_context *, cu_device))                       \
  F(CtxSetCurrent, "cuCtxSetCurrent", (cu_context))                                                \
  F(MemGetInfo, "cuMemGetInfo_v2", (size_t *, size_t *))                                           \
  F(MemAlloc, "cuMemAlloc_v2", (cu_pointer *, size_t))                                             \
  F(MemFree, "cuMemFree_v2", (cu_pointer))                                                         \
  F(MemcpyHtoD, "cuMemcpyHtoDAsync_v2", (cu_pointer, const void *, size_t, cu_stream))             \
  F(MemcpyDtoH, "cuMemcpyDtoHAsync_v2", (void *, cu_pointer, size_t, cu_stream))                   \
  F(MemcpyDtoD, "cuMemcpyDtoDAsync_v2", (cu_pointer, cu_pointer, size_t, cu_stream))               \
  F(MemcpyPeer, "cuMemcpyPeerAsync",                                                               \
    (cu_pointer, cu_context, cu_pointer, cu_context, size_t, cu_stream))                           \
  F(StreamCreate, "cuStreamCreate", (cu_stream *, unsigned))                                       \
  F(StreamDestroy, "cuStreamDestroy_v2", (cu_stream))                                              \
  F(StreamSynchronize, "cuStreamSynchronize", (cu_stream))                                         \
  F(StreamWaitEvent, "cuStreamWaitEvent", (cu_stream, cu_event, unsigned))                         \
  F(EventCreate, "cuEventCreate", (cu_event *, unsigned))                                          \
  F(EventRecord, "cuEventRecord", (cu_event, cu_stream))                                           \
  F(EventDestroy, "cuEventDestroy_v2", (cu_event))                                                 \
  F(ModuleLoadDataEx, "cuModuleLoadDataEx",                                                        \
    (cu_module *, const void *, unsigned, const int *, void **))                                   \
  F(ModuleUnload, "cuModuleUnload", (cu_module))                                                   \
  F(ModuleGetFunction, "cuModuleGetFunction", (cu_function *, cu_module, const char *))            \
  F(FuncSetAttribute, "cuFuncSetAttribute", (cu_function, int, int))                               \
  F(LaunchKernel, "cuLaunchKernel",                                                                \
    (cu_function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, cu_stream, \
     void **, void **))

#define NVRTC_FUNCTIONS(F)                                                                         \
  F(CreateProgram, "nvrtcCreateProgram",                                                           \
    (nvrtc_program *, const char *, const char *, int, const char *const *, const char *const *))  \
  F(DestroyProgram, "nvrtcDestroyProgram", (nvrtc_program *))                                      \
  F(CompileProgram, "nvrtcCompileProgram", (nvrtc_program, int, const char *const *))              \
  F(GetPTXSize, "nvrtcGetPTXSize", (nvrtc_program, size_t *))                                      \
  F(GetPTX, "nvrtcGetPTX", (nvrtc_program, char *))                                                \
  F(GetProgramLogSize, "nvrtcGetProgramLogSize", (nvrtc_program, size_t *))                        \
  F(GetProgramLog, "nvrtcGetProgramLog", (nvrtc_program, char *))                                  \
  F(Version, "nvrtcVersion", (int *, int *))

typedef struct {
#define CU_MEMBER(name, symbol, params) int(*name) params;
  CU_FUNCTIONS(CU_MEMBER)
} cu_functions;

typedef struct {
  NVRTC_FUNCTIONS(CU_MEMBER)
} nvrtc_functions;

#endif /* TN_RUNTIME_CUDA_CUDA_API_H_ */
