/* Start of the runtime library. */
#include <pthread.h>

#include "object/object.h"
#include "runtime/blas.h"
#include "runtime/library/const_loader.h"
#include "runtime/device/device.h"
#include "runtime/module/device_module.h"
#include "runtime/files.h"
#include "runtime/graph/executor.h"
#include "runtime/libinfo.h"
#include "runtime/library/library.h"
#include "runtime/module/module.h"
#include "runtime/module/module_blob.h"
#include "runtime/tensor/params.h"
#include "runtime/profiling/profiling.h"
#include "runtime/module/source_module.h"
#include "runtime/tensor/tensor.h"
#include "runtime/testing/testing.h"
#include "runtime/threads/threads.h"
#include "runtime/profiling/timing.h"
#include "runtime/types.h"
#include "runtime/vm/executable.h"
#include "tenon/runtime.h"

static int result;

static int start_layers(void) {
  TN_TRY(tn_object_init());
  TN_TRY(tn_runtime_types_init());
  TN_TRY(tn_device_init());
  TN_TRY(tn_tensor_api_init());
  TN_TRY(tn_files_init());
  TN_TRY(tn_params_save_init());
  TN_TRY(tn_params_load_init());
  TN_TRY(tn_module_api_init());
  TN_TRY(tn_source_module_init());
  TN_TRY(tn_const_loader_init());
  TN_TRY(tn_module_blob_init());
  TN_TRY(tn_device_module_init());
  TN_TRY(tn_library_init());
  TN_TRY(tn_system_lib_init());
  TN_TRY(tn_threads_init());
  TN_TRY(tn_timing_init());
  TN_TRY(tn_testing_init());
  TN_TRY(tn_profiling_init());
  TN_TRY(tn_graph_init());
  TN_TRY(tn_graph_factory_init());
  TN_TRY(tn_graph_debug_init());
  TN_TRY(tn_vm_exe_init());
  TN_TRY(tn_vm_init());
  TN_TRY(tn_libinfo_init());
  TN_TRY(tn_blas_init());
  return 0;
}

static void start(void) {
  TN_SCOPE(s);
  result = start_layers();
}

int tn_runtime_init(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, start);
  if (result && !tn_error_pending())
    return TN_RAISE(InternalError, NULL, "the runtime library could not start");
  return result;
}
