/* Functions of vectors of GNU C, written into the source that uses them: the larger and the smaller
   of two, and exp, log, tanh and erf of float32 as the LLVM target computes them (polynomial.c
   there, where the numbers come from). They stay right where a compiler may reorder sums
   (-ffast-math). */
#include "codegen/c/gen.h"

/* $: a vector of numbers, @: integers of their size. */
static const char pick_text[] =
    "static inline __attribute__((always_inline)) $ $pick_(@ m, $ a, $ b) {\n"
    "  return ($)((m & (@)a) | (~m & (@)b));\n"
    "}\n";

/* The instruction for it, where there is one that does the same for NaNs and zeros: gcc makes two
   of a choice. */
static const char extreme_text[] =
    "#if defined(%s)\n#define %s%s_(a, b) ((%s)_mm%s_%s_ps((__m%d)(a), (__m%d)(b)))\n#else\n"
    "#define %s%s_(a, b) %spick_((a) %s (b), (a), (b))\n#endif\n";

static const char exp_text[] =
    "static inline __attribute__((always_inline)) $ $exp_($ x) {\n"
    "  x = $pick_(x > 89.0f, 89.0f - ($){0}, x);\n"
    "  x = $pick_(x < -104.0f, -104.0f - ($){0}, x);\n"
    "  $ half = ($)(((@)x & (@)(-0.0f - ($){0})) | (@)(0.5f - ($){0}));\n"
    "  @ n = __builtin_convertvector(x * 1.44269504f + half, @);\n"
    "  $ whole = __builtin_convertvector(n, $);\n"
    "  $ r = whole * 2.12194440e-4f + (whole * -0.693359375f + x);\n"
    "  $ p = 0.0013951711f * r + 0.00836959902f;\n"
    "  p = ((p * r + 0.0416661874f) * r + 0.166665129f) * r + 0.50000001f;\n"
    "  p = (r * r) * p + r + 1.0f;\n"
    "  @ k = n >> 1;\n"
    "  return p * ($)((k + 127) << 23) * ($)((n - k + 127) << 23);\n"
    "}\n";

static const char log_text[] =
    "static inline __attribute__((always_inline)) $ $log_($ x) {\n"
    "  @ tiny = x < 0x1p-126f;\n"
    "  $ y = $pick_(tiny, x * 0x1p23f, x);\n"
    "  @ bits = (@)y + (0x3f800000 - 0x3f3504f3);\n"
    "  @ n = (bits >> 23) - ((tiny & 23) + 127);\n"
    "  $ m = ($)((bits & 0x7fffff) + 0x3f3504f3) - 1.0f;\n"
    "  $ e = __builtin_convertvector(n, $);\n"
    "  $ z = m * m, p = 0.0674648969f * m - 0.116756153f;\n"
    "  p = ((p * m + 0.118882118f) * m - 0.124055979f) * m + 0.142195464f;\n"
    "  p = ((p * m - 0.166679952f) * m + 0.20002119f) * m - 0.250000096f;\n"
    "  p = (p * m + 0.333333126f) * (z * m);\n"
    "  p = z * -0.5f + (e * -2.12194440e-4f + p);\n"
    "  p = e * 0.693359375f + (m + p);\n"
    "  p = $pick_(x == __builtin_inff(), x, p);\n"
    "  p = $pick_(x == 0.0f, -__builtin_inff() - ($){0}, p);\n"
    "  return $pick_(x >= 0.0f, p, __builtin_nanf(\"\") - ($){0});\n"
    "}\n";

static const char tanh_text[] =
    "static inline __attribute__((always_inline)) $ $tanh_($ x) {\n"
    "  @ sign = (@)x & (@)(-0.0f - ($){0});\n"
    "  $ a = ($)((@)x ^ sign), z = x * x;\n"
    "  $ b = $pick_(a > 20.0f, 20.0f - ($){0}, a);\n"
    "  $ r = 1.0f - 2.0f / ($exp_(b + b) + 1.0f);\n"
    "  $ p = -0.00567008109f * z + 0.0206101067f;\n"
    "  p = ((p * z - 0.0537316303f) * z + 0.133313565f) * z - 0.333332793f;\n"
    "  r = $pick_(a < 0.625f, a * z * p + a, r);\n"
    "  return ($)((@)r | sign);\n"
    "}\n";

static const char erf_text[] =
    "static inline __attribute__((always_inline)) $ $erf_($ x) {\n"
    "  @ sign = (@)x & (@)(-0.0f - ($){0});\n"
    "  $ a = ($)((@)x ^ sign), z = x * x;\n"
    "  $ b = $pick_(a > 4.0f, 4.0f - ($){0}, a);\n"
    "  $ q = 0.000192428978f * b - 0.00300856431f;\n"
    "  q = ((q * b + 0.0220877439f) * b - 0.103640526f) * b - 0.637516792f;\n"
    "  q = (q * b - 1.12747511f) * b - 0.000244685021f;\n"
    "  $ p = 7.85384709e-05f * z - 0.000801018931f;\n"
    "  p = ((p * z + 0.00518832719f) * z - 0.0268538117f) * z + 0.112835851f;\n"
    "  p = (p * z - 0.376126258f) * z + 0.128379166f;\n"
    "  $ r = $pick_(a < 1.0f, a * p + a, 1.0f - $exp_(q));\n"
    "  return ($)((@)r | sign);\n"
    "}\n";

static const struct {
  tir_op_id op;
  const char *name, *text;
} functions[] = {
    {TIR_OP_exp, "exp_", exp_text},
    {TIR_OP_log, "log_", log_text},
    {TIR_OP_tanh, "tanh_", tanh_text},
    {TIR_OP_erf, "erf_", erf_text},
};

static int put(c_gen *g, const char *text, const char *type, const char *ints) {
  for (; *text; ++text) {
    if (*text == '$') tn_buf_puts(&g->types, type);
    else if (*text == '@') tn_buf_puts(&g->types, ints);
    else tn_buf_putc(&g->types, *text);
  }
  return tn_buf_ok(&g->types);
}

/* Writes a function of a type once. @return its name */
static tn_str *define(c_gen *g, tn_dtype t, const char *name, const char *text) {
  const char *type, *ints;
  tn_str *full;
  tn_any seen;
  TN_GETP(type, c_vector_type(g, t));
  TN_GETP(ints, c_vector_type(g, tn_dtype_of(kDLInt, t.bits, t.lanes)));
  TN_GETP(full, tn_str_fmt("%s%s", type, name));
  if (tn_map_get(g->vector_types, tn_any_obj(full), &seen)) return full;
  TN_TRYP(tn_map_set(g->vector_types, tn_any_obj(full), tn_any_int(1)));
  TN_TRYP(put(g, text, type, ints));
  return full;
}

tn_str *c_vector_pick(c_gen *g, tn_dtype t) { return define(g, t, "pick_", pick_text); }

tn_str *c_vector_function(c_gen *g, tn_dtype t, tir_op_id op) {
  if (t.code != kDLFloat || t.bits != 32) return NULL;
  for (int i = 0; i < TN_COUNT(functions); ++i) {
    if (functions[i].op != op) continue;
    bool ready = c_vector_pick(g, t) != NULL;
    if (op == TIR_OP_tanh || op == TIR_OP_erf) ready = ready && define(g, t, "exp_", exp_text);
    if (!ready) return NULL;
    return define(g, t, functions[i].name, functions[i].text);
  }
  return NULL;
}

tn_str *c_vector_extreme(c_gen *g, tn_dtype t, bool larger) {
  tn_str *pick, *full;
  const char *type, *name = larger ? "max" : "min";
  tn_any seen;
  int bits = t.bits * t.lanes;
  TN_GETP(type, c_vector_type(g, t));
  TN_GETP(pick, c_vector_pick(g, t));
  TN_GETP(full, tn_str_fmt("%s%s_", type, name));
  if (tn_map_get(g->vector_types, tn_any_obj(full), &seen)) return full;
  TN_TRYP(tn_map_set(g->vector_types, tn_any_obj(full), tn_any_int(1)));
  bool known = t.code == kDLFloat && t.bits == 32 && (bits == 512 || bits == 256 || bits == 128);
  const char *has = !known        ? "TENON_NONE"
                    : bits == 512 ? "__AVX512F__"
                    : bits == 256 ? "__AVX__"
                                  : "__SSE__";
  const char *prefix = bits == 512 ? "512" : bits == 256 ? "256" : "";
  tn_buf_printf(&g->types, extreme_text, has, type, name, type, prefix, name, bits, bits, type,
                name, type, larger ? ">" : "<");
  return tn_buf_ok(&g->types) < 0 ? NULL : full;
}
