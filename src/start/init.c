/* Start of the compiler library: the layers, lowest first. A layer that is added gets a row here.
 */
#include <pthread.h>

#include "arith/arith.h"
#include "codegen/codegen.h"
#include "driver/aot/aot.h"
#include "driver/build.h"
#include "eval/evaluate.h"
#include "driver/primitive.h"
#include "driver/executor.h"
#include "cache/kernel_store.h"
#include "eval/interpret.h"
#include "driver/external.h"
#include "tune/records.h"
#include "driver/relay_build.h"
#include "driver/tir_pipeline.h"
#include "driver/vm/build.h"
#include "export/standalone_c.h"
#include "export/model_library.h"
#include "import/onnx/import.h"
#include "ir/ir.h"
#include "kernels/kernels.h"
#include "object/functions.h"
#include "ops/ops.h"
#include "relay/relay.h"
#include "te/te.h"
#include "target/target.h"
#include "tenon/compiler.h"
#include "tir/tir.h"

static int (*const layers[])(void) = {
    ir_init,
    target_init,
    arith_init,
    tir_init,
    codegen_init,
    tune_init,
    te_init,
    kernels_init,
    relay_init,
    ops_init,
    cache_init,
    driver_tir_pipeline_init,
    driver_build_init,
    driver_executor_init,
    driver_primitive_init,
    driver_relay_build_init,
    external_c_init,
    driver_aot_init,
    driver_vm_init,
    driver_needs_vm_init,
    eval_constants_init,
    eval_interpreter_init,
    onnx_import_init,
    mlf_init,
    c_file_init,
};

static int result;

static void start(void) {
  TN_SCOPE(s);
  result = tn_runtime_init();
  for (int i = 0; !result && i < TN_COUNT(layers); ++i) result = layers[i]();
}

int tn_compiler_init(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, start);
  if (result && !tn_error_pending())
    return TN_RAISE(InternalError, NULL, "the compiler library could not start");
  return result;
}
