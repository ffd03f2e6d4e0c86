/* Casts as quantized models have them:

     cast(int8, max(min(x, 127), -128))                  => clip_s8_(x)
     cast(int32, (int64(x) * int64(m) + (c << 32)) >> s) => (high half of x * m + c) >> (s - 32)
     the first of the second                             => scaled_s8_(x, m, c, s - 32)

   Arm does the first in one instruction (which gcc does not find everywhere), and the high half of
   a product is less work than all of it. */
#include "ir/functor.h"
#include "ir/imm.h"
#include "codegen/c/gen.h"

/* ---- cut off at the ends of a type of 8 bits ---- */

/* The integer that is cut off before it becomes a byte; else NULL. */
static const tn_expr *cut_off(const tn_Cast *e) {
  bool bytes = ir_is_integral(e->dtype) && e->dtype.bits == 8 && !ir_is_bool(e->dtype);
  const tn_Max *high = TN_AS(Max, e->value);
  const tn_Min *low = TN_AS(Min, high ? high->a : e->value);
  if (high && !low) return NULL;
  if (!high && low) high = TN_AS(Max, low->a);
  if (!bytes || !low || !high || !tn_dtype_eq(e->value->dtype, TN_I32)) return NULL;
  bool is_signed = ir_is_int(e->dtype);
  if (!tir_is_const((tn_obj *)low->b, is_signed ? 127 : 255) ||
      !tir_is_const((tn_obj *)high->b, is_signed ? -128 : 0))
    return NULL;
  return high->a == (const tn_expr *)low ? low->a : high->a;
}

/* ---- products that are shifted ---- */

/* Does a 64-bit factor fit into 32 bits? */
static bool is_short(const tn_expr *e) {
  const tn_Cast *c = TN_AS(Cast, e);
  int64_t v;
  if (c) return ir_is_int(c->value->dtype) && c->value->dtype.bits <= 32;
  return tir_as_int((const tn_obj *)e, &v) && v >= INT32_MIN && v <= INT32_MAX;
}

typedef struct {
  const tn_Mul *product;
  int64_t added, shift; /* both without the lower 32 bits */
} high_half;

/* The sum of the high half and what is added must stay an int32: each is below 2**30. */
static bool match_high(const tn_Cast *e, high_half *h) {
  const tn_Call *call = tir_as_call((const tn_obj *)e->value, TIR_OP_shift_right);
  if (!call || !tn_dtype_eq(e->dtype, TN_I32) || !tn_dtype_eq(e->value->dtype, TN_I64))
    return false;
  const tn_expr *sum = (const tn_expr *)tn_arr_obj(call->args, 0);
  const tn_Add *add = TN_AS(Add, sum);
  int64_t c = 0;
  if (add && !tir_as_int((const tn_obj *)add->b, &c)) return false;
  h->product = TN_AS(Mul, add ? add->a : sum);
  h->added = c / ((int64_t)1 << 32);
  return h->product && is_short(h->product->a) && is_short(h->product->b) &&
         c % ((int64_t)1 << 32) == 0 && h->added > -(1 << 30) && h->added < 1 << 30 &&
         tir_as_int(tn_arr_obj(call->args, 1), &h->shift) && h->shift >= 32 && h->shift <= 62;
}

static tn_str *high_product(c_gen *g, const high_half *h, int lane) {
  tn_str *v;
  TN_GETP(v, c_expr(g, h->product, lane));
  return tn_str_fmt("(((int32_t)(%s >> 32) + %lld) >> %lld)", tn_cstr(v), (long long)h->added,
                    (long long)h->shift - 32);
}

/* ---- functions for both ---- */

/* A factor of 64 bits that fits into 32. */
static tn_str *factor(c_gen *g, const tn_expr *e, int lane) {
  const tn_Cast *c = TN_AS(Cast, e);
  int64_t v = 0;
  if (c) return c_expr(g, c->value, lane);
  tir_as_int((const tn_obj *)e, &v);
  return v == INT32_MIN ? tn_str_from("INT32_MIN") : tn_str_fmt("%lld", (long long)v);
}

/* As an int32_t. */
static tn_str *clip(c_gen *g, const tn_Cast *e, const tn_expr *wide, int lane) {
  tn_str *v, *m;
  high_half h;
  const tn_Cast *c = TN_AS(Cast, wide);
  char sign = ir_is_int(e->dtype) ? 's' : 'u';
  g->needs |= sign == 's' ? C_NEEDS_CLIP : C_NEEDS_UCLIP;
  if (!c || !match_high(c, &h)) {
    TN_GETP(v, c_expr(g, wide, lane));
    return tn_str_fmt("clip_%c8_(%s)", sign, tn_cstr(v));
  }
  g->needs |= sign == 's' ? C_NEEDS_SCALED : C_NEEDS_USCALED;
  TN_GETP(v, factor(g, h.product->a, lane));
  TN_GETP(m, factor(g, h.product->b, lane));
  return tn_str_fmt("scaled_%c8_(%s, %s, %lld, %lld)", sign, tn_cstr(v), tn_cstr(m),
                    (long long)h.added, (long long)h.shift - 32);
}

static void write_clip(tn_buf *out, char sign, bool scaled) {
  bool is_signed = sign == 's';
  const char *least = is_signed ? "-128" : "0", *most = is_signed ? "127" : "255";
  tn_buf_printf(out,
                "static inline int32_t clip_%c8_(int32_t x) {\n"
                "#if defined(__ARM_FEATURE_SAT) && defined(__GNUC__)\n"
                "  return (int32_t)__builtin_arm_%csat(x, 8);\n"
                "#elif defined(__OPTIMIZE_SIZE__)\n"
                "  return %s;\n"
                "#else\n"
                "  return x < %s ? %s : x > %s ? %s : x;\n"
                "#endif\n"
                "}\n",
                sign, sign,
                is_signed ? "(uint32_t)x + 128U <= 255U ? x : 127 ^ (x >> 31)"
                          : "(uint32_t)x <= 255U ? x : ~(x >> 31) & 255",
                least, least, most, most);
  if (!scaled) return;
  tn_buf_printf(out,
                "SHARED_ int32_t scaled_%c8_(int32_t x, int32_t m, int32_t c, int32_t s) {\n"
                "  return clip_%c8_(((int32_t)(((int64_t)x * m) >> 32) + c) >> s);\n"
                "}\n",
                sign, sign);
}

void c_write_clips(int needs, tn_buf *out) {
  if (needs & C_NEEDS_CLIP) write_clip(out, 's', needs & C_NEEDS_SCALED);
  if (needs & C_NEEDS_UCLIP) write_clip(out, 'u', needs & C_NEEDS_USCALED);
}

tn_str *c_cast_value(c_gen *g, const tn_Cast *e, int lane) {
  high_half h;
  if (g->d->kernels) return c_expr(g, e->value, lane);
  const tn_expr *wide = g->alone ? cut_off(e) : NULL;
  if (wide) return clip(g, e, wide, lane);
  if (match_high(e, &h)) return high_product(g, &h, lane);
  const tn_Cast *inner = TN_AS(Cast, e->value);
  wide = g->alone && inner ? cut_off(inner) : NULL;
  return wide ? clip(g, inner, wide, lane) : c_expr(g, e->value, lane);
}

/* ---- narrow integers in registers ---- */

bool c_is_narrow(const c_gen *g, tn_dtype t) {
  return g->alone && ir_is_integral(t) && !ir_is_bool(t) && t.bits < 32 && t.lanes == 1;
}

bool c_is_wide(c_gen *g, const tn_Var *data) { return tn_pmap_get(&g->wide, data) != NULL; }

/* Is it more than an element that is read and written? */
static int needs_address(void *ctx, tn_obj *o) {
  if (TN_IS(Buffer, o)) return 1; /* which refers to it */
  const tn_Call *call = TN_AS(Call, o);
  for (int64_t i = 0; call && i < call->args->len; ++i) {
    const tn_BufferLoad *l = TN_AS(BufferLoad, tn_arr_obj(call->args, i));
    if (l && (const void *)l->buffer->data == ctx && tir_as_call(o, TIR_OP_address_of)) return 2;
  }
  return o == ctx ? 2 : 0;
}

int c_widen(c_gen *g, const tn_Allocate *s, int64_t n) {
  tn_Var *data = s->buffer_var;
  if (n != 1 || !c_is_narrow(g, s->dtype) || tn_pre_order(s->body, needs_address, data) != 0)
    return 0;
  return tn_pmap_put(&g->wide, data, data);
}
