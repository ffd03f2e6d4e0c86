/**
 * Graphs on the C runtime, for programs of the Relay era (apps/bundle_deploy) that are linked with
 * a model of Runtime("crt", {"system-lib": True}): the folder micro/crt has the source. New firmware
 * should use tenon/micro.h, which takes no memory from anybody and returns all errors.
 */
#ifndef TVM_RUNTIME_CRT_GRAPH_EXECUTOR_H_
#define TVM_RUNTIME_CRT_GRAPH_EXECUTOR_H_

#include "dlpack/dlpack.h"
#include "tvm/runtime/c_runtime_api.h"
#include "tvm/runtime/crt/packed_func.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct TVMGraphExecutor TVMGraphExecutor;

/** Functions with a result return 0, or -1 after TVMAPISetLastError. Those without one call
 * TVMPlatformAbort when they fail, after TVMLogf.
 * @param sym_json  graph JSON; it need not end with 0
 * @param devices  the first is the CPU */
int TVMGraphExecutor_Create(const char *sym_json, TVMModuleHandle module_handle,
                            const DLDevice *devices, TVMGraphExecutor **executor);
/** Parameters as relay.save_param_dict writes them; they are copied. */
int TVMGraphExecutor_LoadParams(TVMGraphExecutor *executor, const char *param_blob,
                                const uint32_t param_size);
/** -1: it has none of that name. */
int TVMGraphExecutor_GetInputIndex(TVMGraphExecutor *executor, const char *name);
int TVMGraphExecutor_GetNumInputs(TVMGraphExecutor *executor);
int TVMGraphExecutor_GetNumOutputs(TVMGraphExecutor *executor);
/** Copies a compact tensor of the input's type and extents. */
void TVMGraphExecutor_SetInput(TVMGraphExecutor *executor, const char *name, DLTensor *data_in);
void TVMGraphExecutor_Run(TVMGraphExecutor *executor);
/** Copies an output into a compact tensor of its type and size. */
int TVMGraphExecutor_GetOutput(TVMGraphExecutor *executor, const int32_t index, DLTensor *out);
/** Gives all memory back. */
int TVMGraphExecutor_Release(TVMGraphExecutor **executor);

#ifdef __cplusplus
}
#endif
#endif /* TVM_RUNTIME_CRT_GRAPH_EXECUTOR_H_ */
