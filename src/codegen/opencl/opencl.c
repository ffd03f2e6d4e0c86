/* OpenCL C of kernels: the language's own parts, and target "opencl". Half precision is kept in
   memory and computed as float, which every device can; double needs cl_khr_fp64. */
#include <string.h>

#include "codegen/c/gen.h"
#include "codegen/codegen_impl.h"
#include "tenon/runtime.h"

static const char prelude[] = "#ifdef cl_khr_fp64\n"
                              "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"
                              "#endif\n"
                              "#ifndef INT32_MIN\n"
                              "#define INT32_MIN (-2147483647 - 1)\n"
                              "#define INT64_MIN (-9223372036854775807L - 1)\n"
                              "#endif\n\n";

static const char f16_text[] = "float f16_load_(ushort h) { return vload_half(0, (half*)&h); }\n"
                               "ushort f16_store_(float x) {\n"
                               "  ushort h;\n"
                               "  vstore_half_rte(x, 0, (half*)&h);\n"
                               "  return h;\n"
                               "}\n"
                               "float f16_round_(float x) { return f16_load_(f16_store_(x)); }\n";

static const char bf16_text[] =
    "float bf16_load_(ushort h) { return as_float((uint)h << 16); }\n"
    "ushort bf16_store_(float x) {\n"
    "  uint u = as_uint(x);\n"
    "  if (isnan(x)) return (ushort)(u >> 16 | 64);\n"
    "  return (ushort)((u + 0x7fff + (u >> 16 & 1)) >> 16);\n"
    "}\n"
    "float bf16_round_(float x) { return bf16_load_(bf16_store_(x)); }\n";

/* ---- types ---- */

static const char *type(tn_dtype t) {
  static const char *const ints[] = {"char", "short", "int", "long"};
  static const char *const uints[] = {"uchar", "ushort", "uint", "ulong"};
  int i = t.bits == 8 ? 0 : t.bits == 16 ? 1 : t.bits == 32 ? 2 : t.bits == 64 ? 3 : -1;
  if (ir_is_bool(t)) return "bool";
  if (t.code == kDLOpaqueHandle) return t.bits ? "void*" : "void";
  if (t.code == kDLInt && i >= 0) return ints[i];
  if (t.code == kDLUInt && i >= 0) return uints[i];
  if (t.code == kDLFloat && t.bits == 64) return "double";
  return c_is_small_float(t) || (t.code == kDLFloat && t.bits == 32) ? "float" : NULL;
}

static const char *stored(tn_dtype t) {
  return ir_is_bool(t) ? "char" : c_is_small_float(t) ? "ushort" : NULL;
}

/* ---- memory ---- */

static const char *space(const char *scope) {
  if (strncmp(scope, "global", 6) == 0) return "__global ";
  if (strncmp(scope, "shared", 6) == 0) return "__local ";
  return "";
}

static const char *vector(tn_dtype t, int lanes) {
  static const char *const names[][4] = {
      {"char2", "char4", "char8", "char16"},     {"uchar2", "uchar4", "uchar8", "uchar16"},
      {"short2", "short4", "short8", "short16"}, {"ushort2", "ushort4", "ushort8", "ushort16"},
      {"int2", "int4", "int8", "int16"},         {"uint2", "uint4", "uint8", "uint16"},
      {"long2", "long4", "long8", "long16"},     {"ulong2", "ulong4", "ulong8", "ulong16"},
      {"float2", "float4", "float8", "float16"}, {"double2", "double4", "double8", "double16"}};
  int n = lanes == 2 ? 0 : lanes == 4 ? 1 : lanes == 8 ? 2 : lanes == 16 ? 3 : -1;
  int size = t.bits == 8 ? 0 : t.bits == 16 ? 2 : t.bits == 32 ? 4 : t.bits == 64 ? 6 : -1;
  if (n < 0 || size < 0) return NULL;
  if (t.code == kDLFloat && t.bits >= 32) return names[t.bits == 32 ? 8 : 9][n];
  if (!ir_is_integral(t)) return NULL;
  return names[size + (ir_is_uint(t) ? 1 : 0)][n];
}

static tn_str *vector_load(c_gen *g, const char *name, int lanes, const char *place) {
  (void)g, (void)name;
  return tn_str_fmt("vload%d(0, %s)", lanes, place);
}

static tn_str *vector_store(c_gen *g, const char *name, int lanes, const char *place,
                            const char *values) {
  (void)g;
  return tn_str_fmt("vstore%d((%s)(%s), 0, %s)", lanes, name, values, place);
}

static const char *lane(int i) {
  static const char *const names[] = {".s0", ".s1", ".s2", ".s3", ".s4", ".s5", ".s6", ".s7",
                                      ".s8", ".s9", ".sa", ".sb", ".sc", ".sd", ".se", ".sf"};
  return names[i & 15];
}

/* ---- threads ---- */

static const char *axis(const char *tag) {
  static const char *const names[][2] = {
      {"blockIdx.x", "get_group_id(0)"},  {"blockIdx.y", "get_group_id(1)"},
      {"blockIdx.z", "get_group_id(2)"},  {"threadIdx.x", "get_local_id(0)"},
      {"threadIdx.y", "get_local_id(1)"}, {"threadIdx.z", "get_local_id(2)"}};
  for (int i = 0; i < TN_COUNT(names); ++i)
    if (strcmp(names[i][0], tag) == 0) return names[i][1];
  return NULL;
}

static const char *barrier(const char *scope) {
  if (strncmp(scope, "shared", 6) == 0) return "barrier(CLK_LOCAL_MEM_FENCE)";
  return strcmp(scope, "warp") == 0 ? "barrier(CLK_LOCAL_MEM_FENCE)" : NULL;
}

static int head(c_gen *g, int64_t threads) {
  (void)threads;
  tn_buf_puts(g->out, "__kernel void ");
  return 0;
}

/* ---- functions ---- */

static tn_str *reinterpret(const char *from, const char *to, const char *value) {
  (void)from;
  return tn_str_fmt("as_%s(%s)", to, value);
}

static tn_str *call(c_gen *g, const tn_Call *e, int op, int lane_, bool *done) {
  *done = true;
  switch (op) {
  case TIR_OP_popcount: return c_call_named(g, e, "popcount", 0, lane_);
  case TIR_OP_clz: return c_call_named(g, e, "clz", 0, lane_);
  case TIR_OP_rsqrt: return c_call_named(g, e, "rsqrt", 0, lane_);
  case TIR_OP_exp10: return c_call_named(g, e, "exp10", 0, lane_);
  case TIR_OP_ldexp: return c_call_named(g, e, "ldexp", 0, lane_);
  case TIR_OP_atomic_add: return c_call_named(g, e, "atomic_add", 0, lane_);
  default: *done = false; return NULL;
  }
}

static const c_dialect opencl = {
    .name = "opencl",
    .language = "OpenCL C",
    .type = type,
    .stored = stored,
    .long_suffix = "L",
    .float_suffix = "",
    .to_int_nearest = "rint",
    .f16_text = f16_text,
    .bf16_text = bf16_text,
    .bits_text = "",
    .power_text = "ulong power_(ulong x, ulong n) {\n  ulong r = 1;\n",
    .kernels = true,
    .space = space,
    .shared = "  __local ",
    .shared_end = " __attribute__((aligned(16)))",
    .axis = axis,
    .barrier = barrier,
    .restrict_word = "restrict ",
    .head = head,
    .vector = vector,
    .vector_load = vector_load,
    .vector_store = vector_store,
    .lane = lane,
    .reinterpret = reinterpret,
    .call = call,
};

/* ---- the target ---- */

static int build(TN_ARGS) {
  TN_NARGS("target.build.opencl", 2);
  TN_ARG_OBJ(IRModule, m, 0);
  tn_str *source;
  tn_bytes *data;
  TN_GET(source, tn_scope_own(c_kernel_source(&opencl, m, prelude)));
  TN_GET(data, tn_scope_own(tn_bytes_new(source->data, source->len)));
  return tn_ret_owned(ret, c_kernel_module(kDLOpenCL, "cl", m, data, NULL));
}

static const tn_func_row rows[] = {{"target.build.opencl", build}};

int opencl_build_init(void) { return tn_func_register_rows(rows, TN_COUNT(rows)); }
