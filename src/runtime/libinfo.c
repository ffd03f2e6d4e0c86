/* What the library was built with, as a map of texts under the names of the old build options.

   An option is ON when the global function that it stands for is there. So the answer also holds
   for parts that are loaded later (the compiler, a code generator), which this library does not
   know. */
#include "runtime/libinfo.h"

#include "object/functions.h"

static const struct {
  const char *key;
  const char *probe; /* name of a function; NULL: never there */
} options[] = {
    {"USE_AOT_EXECUTOR", "tvm.aot_executor.create"},
    {"USE_ARM_COMPUTE_LIB", NULL},
    {"USE_BLAS", "tvm.contrib.cblas.matmul"},
    {"USE_BNNS", NULL},
    {"USE_CLML", NULL},
    {"USE_CMSISNN", "relay.ext.cmsis-nn"},
    {"USE_COREML", NULL},
    {"USE_CPP_RPC", NULL},
    {"USE_CUBLAS", NULL},
    {"USE_CUDA", "target.build.cuda"},
    {"USE_CUDNN", "contrib.cudnn.exists"},
    {"USE_CUTLASS", NULL},
    {"USE_DNNL", NULL},
    {"USE_ETHOSN", NULL},
    {"USE_ETHOSU", NULL},
    {"USE_GRAPH_EXECUTOR", "tvm.graph_executor.create"},
    {"USE_GRAPH_EXECUTOR_CUDA_GRAPH", NULL},
    {"USE_HEXAGON", "target.build.hexagon"},
    {"USE_HIPBLAS", NULL},
    {"USE_LIBTORCH", NULL},
    {"USE_LLVM", "target.build.llvm"},
    {"USE_METAL", "target.build.metal"},
    {"USE_MICRO", "target.build.c"},
    {"USE_MIOPEN", NULL},
    {"USE_MKL", NULL},
    {"USE_MPS", NULL},
    {"USE_MRVL", NULL},
    {"USE_OPENCL", "target.build.opencl"},
    {"USE_OPENMP", NULL},
    {"USE_PAPI", NULL},
    {"USE_PROFILER", "runtime.profiling.ProfileFunction"},
    {"USE_RANDOM", "tvm.contrib.random.uniform"},
    {"USE_ROCM", "target.build.rocm"},
    {"USE_RPC", "rpc.Connect"},
    {"USE_SORT", "tvm.contrib.sort.argsort"},
    {"USE_STACKVM_RUNTIME", "target.build.stackvm"},
    {"USE_TENSORRT_CODEGEN", NULL},
    {"USE_TENSORRT_RUNTIME", NULL},
    {"USE_TFLITE", NULL},
    {"USE_THREADS", "runtime.NumThreads"},
    {"USE_VITIS_AI", NULL},
    {"USE_VULKAN", "target.build.vulkan"},
};

static bool there(const char *name) {
  tn_func *f = name ? tn_func_find(name) : NULL;
  tn_release(f);
  return f != NULL;
}

/* The text that a function without arguments returns, "" when there is no such function. Owned. */
static tn_str *ask(const char *name) {
  tn_func *f = tn_func_find(name);
  if (!f) return tn_error_pending() ? NULL : tn_str_new("");
  tn_any ret = tn_any_none();
  int err = tn_func_call(f, NULL, 0, &ret);
  tn_release(f);
  if (err) return NULL;
  if (ret.type_index == TN_TI_String) return (tn_str *)ret.v.obj;
  tn_any_release(&ret);
  return TN_RAISEP(TypeError, NULL, "%s: expected a text as result", name);
}

static int set(tn_map *m, const char *key, tn_str *value) {
  if (!value) return -1;
  int err = tn_map_set(m, tn_any_cstr(key), tn_any_obj(value));
  tn_release(value);
  return err;
}

static int fill(tn_map *m) {
  for (int i = 0; i < TN_COUNT(options); ++i)
    TN_TRY(set(m, options[i].key, tn_str_new(there(options[i].probe) ? "ON" : "OFF")));
  TN_TRY(set(m, "LLVM_VERSION", ask("target.llvm_version_text")));
  TN_TRY(set(m, "C_COMPILER", tn_str_new(__VERSION__)));
  return 0;
}

static int get_lib_info(TN_ARGS) {
  TN_NARGS("support.GetLibInfo", 0);
  tn_map *m = tn_map_new();
  if (m && fill(m)) {
    tn_release(m);
    m = NULL;
  }
  return tn_ret_owned(ret, m);
}

static const tn_func_row rows[] = {{"support.GetLibInfo", get_lib_info}};

int tn_libinfo_init(void) { return tn_func_register_rows(rows, TN_COUNT(rows)); }
