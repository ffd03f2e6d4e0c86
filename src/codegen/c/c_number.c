/* What C99 has no word for: 16-bit floats, counts of bits, content of constants. A 16-bit float
   lies in memory as uint16_t and is computed as a float that is rounded after every operation; the
   functions for that are written into the source that uses them. */
#include <math.h>
#include <string.h>

#include "runtime/tensor/tensor.h"
#include "codegen/c/gen.h"

/* ---- functions that the source may need ---- */

const char c_f16_text[] =
    "static inline float f16_load_(uint16_t h) {\n"
    "  uint32_t s = (uint32_t)(h & 0x8000U) << 16, e = h >> 10 & 0x1fU, m = h & 0x3ffU;\n"
    "  float x;\n"
    "  if (e == 0) {\n"
    "    x = (float)m * 0x1p-24f;\n"
    "    return s ? -x : x;\n"
    "  }\n"
    "  s |= (e == 31 ? 0x7f800000U : (e + 112) << 23) | m << 13;\n"
    "  memcpy(&x, &s, sizeof x);\n"
    "  return x;\n"
    "}\n"
    "static inline uint16_t f16_store_(float x) {\n"
    "  uint32_t u, s, a;\n"
    "  memcpy(&u, &x, sizeof u);\n"
    "  s = u >> 16 & 0x8000U;\n"
    "  a = u & 0x7fffffffU;\n"
    "  if (a > 0x7f800000U) return (uint16_t)(s | 0x7e00U | (a >> 13 & 0x1ffU));\n"
    "  if (a >= 0x47800000U) return (uint16_t)(s | 0x7c00U);\n"
    "  if (a < 0x38800000U) {\n"
    "    x = (x < 0 ? -x : x) + 0.5f; /* its last bit stands for 2^-24 */\n"
    "    memcpy(&u, &x, sizeof u);\n"
    "    return (uint16_t)(s | (u - 0x3f000000U));\n"
    "  }\n"
    "  return (uint16_t)(s | (a + 0xfffU + (a >> 13 & 1U) - 0x38000000U) >> 13);\n"
    "}\n"
    "static inline float f16_round_(double d) {\n"
    "  float x = (float)d;\n"
    "  uint32_t u;\n"
    "  if ((double)x != d && d == d) { /* to odd: what follows rounds once */\n"
    "    memcpy(&u, &x, sizeof u);\n"
    "    u = (u - (fabs((double)x) > fabs(d))) | 1U;\n"
    "    memcpy(&x, &u, sizeof x);\n"
    "  }\n"
    "  return f16_load_(f16_store_(x));\n"
    "}\n";

const char c_bf16_text[] =
    "static inline float bf16_load_(uint16_t h) {\n"
    "  uint32_t u = (uint32_t)h << 16;\n"
    "  float x;\n"
    "  memcpy(&x, &u, sizeof x);\n"
    "  return x;\n"
    "}\n"
    "static inline uint16_t bf16_store_(float x) {\n"
    "  uint32_t u;\n"
    "  memcpy(&u, &x, sizeof u);\n"
    "  if ((u & 0x7fffffffU) > 0x7f800000U) return (uint16_t)(u >> 16 | 0x40U);\n"
    "  return (uint16_t)((u + 0x7fffU + (u >> 16 & 1U)) >> 16);\n"
    "}\n"
    "static inline float bf16_round_(double d) { return bf16_load_(bf16_store_((float)d)); }\n";

const char c_bits_text[] = "static inline int popcount_(uint64_t x) {\n"
                           "  int n = 0;\n"
                           "  for (; x; x &= x - 1) ++n;\n"
                           "  return n;\n"
                           "}\n"
                           "static inline int clz_(uint64_t x, int bits) {\n"
                           "  for (; x; x >>= 1) --bits;\n"
                           "  return bits;\n"
                           "}\n";

/* For functions that are called in several places: one copy takes the least room, but for Arm's
   instructions for bytes, which are as short as a call. */
static const char shared_text[] =
    "#if defined(__OPTIMIZE_SIZE__) && defined(__GNUC__) && !defined(__ARM_FEATURE_SAT)\n"
    "#define ONE_COPY_\n"
    "#define SHARED_ __attribute__((noinline)) static\n"
    "#else\n"
    "#define SHARED_ static\n"
    "#endif\n";

void c_write_helpers(const c_gen *g, tn_buf *out) {
  if (g->needs & C_NEEDS_F16) tn_buf_puts(out, g->d->f16_text);
  if (g->needs & C_NEEDS_BF16) tn_buf_puts(out, g->d->bf16_text);
  if (g->needs & C_NEEDS_BITS) tn_buf_puts(out, g->d->bits_text);
  if (g->needs & C_NEEDS_POWER) tn_buf_printf(out, "%s%s", g->d->power_text, c_power_text);
  if (g->needs & C_NEEDS_SHARED) tn_buf_puts(out, shared_text);
  c_write_dots(g->needs, out);
  c_write_clips(g->needs, out);
}

/* ---- 16-bit floats ---- */

bool c_is_small_float(tn_dtype t) {
  return t.bits == 16 && (t.code == kDLFloat || t.code == kDLBfloat);
}

/* f16_WHAT_(value) */
static tn_str *convert(c_gen *g, tn_dtype t, const char *what, const tn_str *s) {
  bool brain = t.code == kDLBfloat;
  if (!s) return NULL;
  g->needs |= brain ? C_NEEDS_BF16 : C_NEEDS_F16;
  return tn_str_fmt("%s_%s_(%s)", brain ? "bf16" : "f16", what, tn_cstr(s));
}

tn_str *c_loaded(c_gen *g, tn_dtype t, tn_str *s) {
  if (!s) return NULL;
  if (ir_is_bool(t)) return tn_str_fmt("(%s != 0)", tn_cstr(s));
  return c_is_small_float(t) ? convert(g, t, "load", s) : s;
}

tn_str *c_stored(c_gen *g, tn_dtype t, tn_str *s) {
  return c_is_small_float(t) ? convert(g, t, "store", s) : s;
}

tn_str *c_in_type(c_gen *g, tn_dtype t, tn_str *s) {
  const char *type;
  if (!s || c_is_small_float(t)) return convert(g, t, "round", s);
  if (!ir_is_integral(t) || t.bits >= 32 || t.bits == 1) return s;
  TN_GETP(type, c_type(g, t));
  return tn_str_fmt("((%s)%s)", type, tn_cstr(s));
}

/* ---- bits ---- */

tn_str *c_count_bits(c_gen *g, const tn_Call *call, bool leading, int lane) {
  tn_str *v;
  const char *type;
  const tn_expr *arg = (const tn_expr *)tn_arr_obj(call->args, 0);
  TN_GETP(v, c_expr(g, arg, lane));
  TN_GETP(type, c_type(g, tn_dtype_of(kDLUInt, arg->dtype.bits, 1)));
  g->needs |= C_NEEDS_BITS;
  if (leading) return tn_str_fmt("clz_((%s)%s, %d)", type, tn_cstr(v), arg->dtype.bits);
  return tn_str_fmt("popcount_((%s)%s)", type, tn_cstr(v));
}

/* ---- content of constants ---- */

static void put_double(tn_buf *out, double v, const char *suffix) {
  if (isnan(v) || isinf(v)) { /* needs no math.h */
    tn_buf_printf(out, "(%s%s / 0.0%s)", isnan(v) ? "0.0" : v < 0 ? "-1.0" : "1.0", suffix, suffix);
  } else {
    tn_buf_printf(out, "%a%s", v, suffix);
  }
}

static void put_element(tn_buf *out, tn_dtype t, const char *at) {
  union {
    uint8_t u8;
    uint16_t u16;
    uint32_t u32;
    uint64_t u64;
    float f32;
    double f64;
  } x = {0};
  memcpy(&x, at, ir_is_bool(t) ? 1 : t.bits / 8u);
  if (t.code == kDLFloat && t.bits == 64) {
    put_double(out, x.f64, "");
  } else if (t.code == kDLFloat && t.bits == 32) {
    put_double(out, (double)x.f32, "f");
  } else if (ir_is_int(t)) {
    int64_t v = t.bits == 8    ? (int8_t)x.u8
                : t.bits == 16 ? (int16_t)x.u16
                : t.bits == 32 ? (int32_t)x.u32
                               : (int64_t)x.u64;
    if (t.bits < 64 || v == INT64_MIN)
      tn_buf_printf(out, v == INT64_MIN ? "INT64_MIN" : "%lld", (long long)v);
    else tn_buf_printf(out, "%lldLL", (long long)v);
  } else {
    tn_buf_printf(out, t.bits == 64 ? "0x%llxULL" : "0x%llx", (unsigned long long)x.u64);
  }
}

int c_elements(const DLTensor *t, tn_buf *out) {
  tn_dtype type = ir_with_lanes(t->dtype, 1);
  size_t size = ir_is_bool(type) ? 1 : type.bits / 8u;
  int64_t n = size ? tn_tensor_nbytes(t) / (int64_t)size : 0;
  const char *at = (const char *)t->data + t->byte_offset;
  for (int64_t i = 0; i < n; ++i) {
    tn_buf_puts(out, i % 8 ? " " : "\n  ");
    put_element(out, type, at + (size_t)i * size);
    tn_buf_putc(out, ',');
  }
  tn_buf_puts(out, n ? "\n" : "");
  return tn_buf_ok(out);
}

int c_constant(c_gen *g, const tn_AllocateConst *s) {
  tn_str *name;
  const char *type, *var = tn_cstr(s->buffer_var->name);
  TN_CHECK(s->data, CodegenError, s->span, "%s: %s: constant %s has no content", g->d->name,
           g->name, var);
  const DLTensor *dl = tn_tensor_dl((const tn_tensor *)s->data);
  TN_CHECK(tn_tensor_is_contiguous(dl) && tn_device_is_host(dl->device), CodegenError, s->span,
           "%s: %s: constant %s is not a compact tensor of the host", g->d->name, g->name, var);
  tn_dtype t = ir_with_lanes(dl->dtype, 1);
  TN_GET(type, c_memory_type(g, t));
  TN_GET(name, c_name(g, s->buffer_var));
  if (!g->alone) TN_GET(name, tn_str_fmt("%s_%s_", g->name, tn_cstr(name)));
  TN_TRY(tn_pmap_put(&g->names, s->buffer_var, name));
  int64_t n = tn_tensor_count(dl);
  c_put_alignment(g, s);
  bool placed = c_put_section(g, s);
  tn_buf_printf(g->decl, "%sstatic const %s %s[%lld] = {",
                g->constant && !placed ? g->constant : "", type, tn_cstr(name),
                (long long)(n ? n : 1));
  TN_TRY(c_elements(dl, g->decl));
  tn_buf_puts(g->decl, n ? "};\n" : "0};\n");
  return tn_buf_ok(g->decl);
}
