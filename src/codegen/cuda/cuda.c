/* CUDA C++ of kernels: the language's own parts, and target "cuda". The source needs no header: it
   is compiled by NVRTC to PTX where that is installed, else when a kernel is first launched. Half
   precision is kept in memory and computed as float. */
#include <stdlib.h>
#include <string.h>

#include "codegen/c/gen.h"
#include "codegen/cuda/matrix.h"
#include "codegen/codegen_impl.h"
#include "tenon/runtime.h"

static const char prelude[] = "#if defined(__CUDACC_RTC__)\n"
                              "#define INT32_MIN (-2147483647 - 1)\n"
                              "#define INT64_MIN (-9223372036854775807LL - 1)\n"
                              "#define INFINITY __int_as_float(0x7f800000)\n"
                              "#define NAN __int_as_float(0x7fffffff)\n"
                              "typedef long long int64_t;\n"
                              "typedef unsigned long long uint64_t;\n"
                              "#else\n"
                              "#include <cstdint>\n"
                              "#include <cmath>\n"
                              "#endif\n"
                              "template <typename To, typename From>\n"
                              "__device__ __forceinline__ To bits_(From x) {\n"
                              "  To y;\n"
                              "  memcpy(&y, &x, sizeof y);\n"
                              "  return y;\n"
                              "}\n\n";

static const char f16_text[] =
    "__device__ __forceinline__ float f16_load_(unsigned short h) {\n"
    "  float x;\n"
    "  asm(\"cvt.f32.f16 %0, %1;\" : \"=f\"(x) : \"h\"(h));\n"
    "  return x;\n"
    "}\n"
    "__device__ __forceinline__ unsigned short f16_store_(float x) {\n"
    "  unsigned short h;\n"
    "  asm(\"cvt.rn.f16.f32 %0, %1;\" : \"=h\"(h) : \"f\"(x));\n"
    "  return h;\n"
    "}\n"
    "__device__ __forceinline__ float f16_round_(float x) { return f16_load_(f16_store_(x)); }\n";

static const char bf16_text[] = "__device__ __forceinline__ float bf16_load_(unsigned short h) {\n"
                                "  return __uint_as_float((unsigned int)h << 16);\n"
                                "}\n"
                                "__device__ __forceinline__ unsigned short bf16_store_(float x) {\n"
                                "  unsigned int u = __float_as_uint(x);\n"
                                "  if (x != x) return (unsigned short)(u >> 16 | 64);\n"
                                "  return (unsigned short)((u + 0x7fff + (u >> 16 & 1)) >> 16);\n"
                                "}\n"
                                "__device__ __forceinline__ float bf16_round_(float x) { return "
                                "bf16_load_(bf16_store_(x)); }\n";

/* ---- types ---- */

static const char *type(tn_dtype t) {
  static const char *const ints[] = {"signed char", "short", "int", "int64_t"};
  static const char *const uints[] = {"unsigned char", "unsigned short", "unsigned int",
                                      "uint64_t"};
  int i = t.bits == 8 ? 0 : t.bits == 16 ? 1 : t.bits == 32 ? 2 : t.bits == 64 ? 3 : -1;
  if (ir_is_bool(t)) return "bool";
  if (t.code == kDLOpaqueHandle) return t.bits ? "void*" : "void";
  if (t.code == kDLInt && i >= 0) return ints[i];
  if (t.code == kDLUInt && i >= 0) return uints[i];
  if (t.code == kDLFloat && t.bits == 64) return "double";
  return c_is_small_float(t) || (t.code == kDLFloat && t.bits == 32) ? "float" : NULL;
}

static const char *stored(tn_dtype t) {
  return ir_is_bool(t) ? "signed char" : c_is_small_float(t) ? "unsigned short" : NULL;
}

/* ---- memory ---- */

static const char *space(const char *scope) {
  (void)scope; /* one address space for all */
  return "";
}

/* Of at most 16 bytes, which one instruction moves. */
static const char *vector(tn_dtype t, int lanes) {
  static const char *const names[][3] = {{"char2", "char4", NULL},   {"uchar2", "uchar4", NULL},
                                         {"short2", "short4", NULL}, {"ushort2", "ushort4", NULL},
                                         {"int2", "int4", NULL},     {"uint2", "uint4", NULL},
                                         {"longlong2", NULL, NULL},  {"ulonglong2", NULL, NULL},
                                         {"float2", "float4", NULL}, {"double2", NULL, NULL}};
  int n = lanes == 2 ? 0 : lanes == 4 ? 1 : -1;
  int size = t.bits == 8 ? 0 : t.bits == 16 ? 2 : t.bits == 32 ? 4 : t.bits == 64 ? 6 : -1;
  if (n < 0 || size < 0) return NULL;
  if (t.code == kDLFloat && t.bits >= 32) return names[t.bits == 32 ? 8 : 9][n];
  if (!ir_is_integral(t) || ir_is_bool(t)) return NULL;
  return names[size + (ir_is_uint(t) ? 1 : 0)][n];
}

static tn_str *vector_load(c_gen *g, const char *name, int lanes, const char *place) {
  (void)g, (void)lanes;
  return tn_str_fmt("*(%s*)(%s)", name, place);
}

static tn_str *vector_store(c_gen *g, const char *name, int lanes, const char *place,
                            const char *values) {
  (void)g, (void)lanes;
  return tn_str_fmt("*(%s*)(%s) = make_%s(%s)", name, place, name, values);
}

static const char *lane(int i) {
  static const char *const names[] = {".x", ".y", ".z", ".w"};
  return names[i & 3];
}

/* ---- threads ---- */

static const char *axis(const char *tag) {
  static const char *const names[] = {"blockIdx.x",  "blockIdx.y",  "blockIdx.z",
                                      "threadIdx.x", "threadIdx.y", "threadIdx.z"};
  for (int i = 0; i < TN_COUNT(names); ++i)
    if (strcmp(names[i], tag) == 0) return names[i];
  return NULL;
}

static const char *barrier(const char *scope) {
  if (strncmp(scope, "shared", 6) == 0) return "__syncthreads()";
  return strcmp(scope, "warp") == 0 ? "__syncwarp()" : NULL;
}

static int head(c_gen *g, int64_t threads) {
  tn_buf_puts(g->out, "extern \"C\" __global__ void ");
  if (threads > 0) tn_buf_printf(g->out, "__launch_bounds__(%lld) ", (long long)threads);
  return 0;
}

/* ---- functions ---- */

static tn_str *reinterpret(const char *from, const char *to, const char *value) {
  (void)from;
  return tn_str_fmt("bits_<%s>(%s)", to, value);
}

/* mask, value, lane or offset, width, threads of a warp */
static tn_str *shuffle(c_gen *g, const tn_Call *e, const char *name) {
  tn_str *mask, *value, *by, *width;
  TN_GETP(mask, c_call_arg(g, e, 0, 0));
  TN_GETP(value, c_call_arg(g, e, 1, 0));
  TN_GETP(by, c_call_arg(g, e, 2, 0));
  TN_GETP(width, c_call_arg(g, e, 3, 0));
  return tn_str_fmt("%s(%s, %s, %s, %s)", name, tn_cstr(mask), tn_cstr(value), tn_cstr(by),
                    tn_cstr(width));
}

/* The function of 64-bit arguments has its own name; narrower ones are widened to 32 bits. */
static tn_str *count_bits(c_gen *g, const tn_Call *e, bool leading, int lane_) {
  tn_str *v;
  const tn_dtype t = ((const tn_expr *)tn_arr_obj(e->args, 0))->dtype;
  TN_GETP(v, c_call_arg(g, e, 0, lane_));
  if (t.bits == 64) return tn_str_fmt(leading ? "__clzll(%s)" : "__popcll(%s)", tn_cstr(v));
  const char *as = type(tn_dtype_of(kDLUInt, t.bits, 1));
  if (!leading) return tn_str_fmt("__popc((%s)%s)", as, tn_cstr(v));
  return tn_str_fmt("(__clz((int)(%s)%s) - %d)", as, tn_cstr(v), 32 - t.bits);
}

static tn_str *call(c_gen *g, const tn_Call *e, int op, int lane_, bool *done) {
  bool single = e->dtype.bits <= 32;
  tn_str *text = cuda_copy_call(g, e, op, done);
  if (!*done) text = cuda_matrix_call(g, e, op, done);
  if (*done) return text;
  *done = true;
  switch (op) {
  case TIR_OP_tvm_warp_shuffle: return shuffle(g, e, "__shfl_sync");
  case TIR_OP_tvm_warp_shuffle_up: return shuffle(g, e, "__shfl_up_sync");
  case TIR_OP_tvm_warp_shuffle_down: return shuffle(g, e, "__shfl_down_sync");
  case TIR_OP_tvm_warp_activemask: return tn_str_from("__activemask()");
  case TIR_OP_popcount: return count_bits(g, e, false, lane_);
  case TIR_OP_clz: return count_bits(g, e, true, lane_);
  case TIR_OP_rsqrt:
    return c_in_type(g, e->dtype, c_call_named(g, e, single ? "rsqrtf" : "rsqrt", 0, lane_));
  case TIR_OP_exp10:
    return c_in_type(g, e->dtype, c_call_named(g, e, single ? "exp10f" : "exp10", 0, lane_));
  case TIR_OP_dp4a: return c_call_named(g, e, "__dp4a", 0, lane_);
  case TIR_OP_atomic_add: return c_call_named(g, e, "atomicAdd", 0, lane_);
  default: break;
  }
  *done = false;
  return NULL;
}

static const c_dialect cuda = {
    .name = "cuda",
    .language = "CUDA",
    .type = type,
    .stored = stored,
    .long_suffix = "LL",
    .float_suffix = "f",
    .to_int_nearest = "nearbyint",
    .f16_text = f16_text,
    .bf16_text = bf16_text,
    .bits_text = "",
    .power_text = "__device__ uint64_t power_(uint64_t x, uint64_t n) {\n  uint64_t r = 1;\n",
    .kernels = true,
    .space = space,
    .shared = "  __shared__ ",
    .shared_end = "",
    .dynamic_shared = "  extern __shared__ __align__(64) unsigned char dynamic_shared_[];\n",
    .axis = axis,
    .barrier = barrier,
    .restrict_word = "__restrict__ ",
    .head = head,
    .vector = vector,
    .vectors_aligned = true,
    .vector_load = vector_load,
    .vector_store = vector_store,
    .lane = lane,
    .reinterpret = reinterpret,
    .call = call,
    .fragment = cuda_fragment,
};

/* ---- the target ---- */

/* PTX of the source by the global function "tvm_callback_cuda_compile"(source, target), which
   programs may set, else by NVRTC where it is installed. `*out` NULL: nobody compiles. */
static int compile(const tn_str *source, tn_target *t, tn_bytes **out) {
  tn_any result = tn_any_none();
  tn_bytes_view code;
  *out = NULL;
  tn_func *f = tn_scope_own(tn_func_find("tvm_callback_cuda_compile"));
  if (!f) return 0;
  TN_TRY(tn_func_call(f, (tn_any[]){tn_any_obj(source), tn_any_obj(t)}, 2, &result));
  if (tn_any_is_obj(&result)) tn_scope_own(result.v.obj);
  TN_TRY(tn_any_to_bytes(&result, &code));
  TN_GET(*out, tn_scope_own(tn_bytes_new(code.data, code.size)));
  return 0;
}

static int build(TN_ARGS) {
  TN_NARGS("target.build.cuda", 2);
  TN_ARG_OBJ(IRModule, m, 0);
  TN_ARG_OBJ(Target, t, 1);
  tn_str *source;
  tn_bytes *code;
  TN_GET(source, tn_scope_own(c_kernel_source(&cuda, m, prelude)));
  TN_TRY(compile(source, t, &code));
  if (code) return tn_ret_owned(ret, c_kernel_module(kDLCUDA, "ptx", m, code, source));
  TN_GET(code, tn_scope_own(tn_bytes_new(source->data, source->len)));
  return tn_ret_owned(ret, c_kernel_module(kDLCUDA, "cuda", m, code, NULL));
}

static const tn_func_row rows[] = {{"target.build.cuda", build}};

int cuda_build_init(void) { return tn_func_register_rows(rows, TN_COUNT(rows)); }
