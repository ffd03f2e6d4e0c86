/* Values of bfloat16 and of the 8-bit floating point types as wider ones and back, by operations on
   their bits.

   bfloat16 is the upper half of a float32; e5m2 that of a float16. e4m3 has its own exponents:
   its bits, moved to their place in a float32, are the value times 2**-120, also where it is
   subnormal. Rounding is to nearest, ties to even; e4m3 has no infinity, so what is too large
   becomes its largest number. */
#include "tir/transforms/types/legalize_impl.h"

static tn_dtype uint_of(int bits, tn_dtype like) { return tn_dtype_of(kDLUInt, bits, like.lanes); }
static tn_dtype float_of(int bits, tn_dtype like) {
  return tn_dtype_of(kDLFloat, bits, like.lanes);
}
static tn_expr *constant(const tn_expr *like, int64_t v) {
  return like ? tir_const_int(like->dtype, v) : NULL;
}
static tn_expr *left(tn_expr *e, int n) {
  return e ? tir_shift(TIR_OP_shift_left, e, constant(e, n), NULL) : NULL;
}
static tn_expr *right(tn_expr *e, int n) {
  return e ? tir_shift(TIR_OP_shift_right, e, constant(e, n), NULL) : NULL;
}
static tn_expr *bit_and(tn_expr *e, int64_t mask) {
  return e ? tir_bitwise(TIR_OP_bitwise_and, e, constant(e, mask), NULL) : NULL;
}
static tn_expr *bit_or(tn_expr *a, tn_expr *b) {
  return a && b ? tir_bitwise(TIR_OP_bitwise_or, a, b, NULL) : NULL;
}
static tn_expr *as(tn_dtype t, tn_expr *e) { return e ? tir_reinterpret(t, e, NULL) : NULL; }
static tn_expr *to(tn_dtype t, tn_expr *e) { return e ? tir_cast(t, e, NULL) : NULL; }

/* The upper part of bits that loses its lower n, rounded to nearest even. */
static tn_expr *rounded(tn_expr *bits, int n) {
  tn_expr *odd = bit_and(right(bits, n), 1);
  tn_expr *bias = tir_add(odd, constant(bits, ((int64_t)1 << (n - 1)) - 1));
  return right(tir_add(bits, bias), n);
}

/* The conversions of e4m3 use their operand several times. */
static tn_expr *with_operand(tn_expr *e, tn_expr *(*convert)(tn_expr *)) {
  tn_Var *v = tir_var("v", e->dtype);
  tn_expr *body = v ? convert((tn_expr *)v) : NULL;
  return (tn_expr *)TN_MAKE(Let, .var = v, .value = e, .body = body);
}

/* e4m3 as float32. */
static tn_expr *from_e4m3(tn_expr *e) {
  tn_expr *bits = to(uint_of(32, e->dtype), as(uint_of(8, e->dtype), e));
  tn_dtype f32 = float_of(32, e->dtype);
  tn_expr *size = bit_and(bits, 0x7F), *sign = left(bit_and(bits, 0x80), 24);
  tn_expr *scaled = tir_mul(as(f32, left(size, 20)), tir_const_float(f32, 0x1p120));
  tn_expr *all = as(f32, bit_or(as(uint_of(32, e->dtype), scaled), sign));
  tn_expr *nan = as(f32, tir_const_int(uint_of(32, e->dtype), 0x7FC00000));
  return size ? tir_select(tir_eq(size, constant(size, 0x7F)), nan, all, NULL) : NULL;
}

/* float32 as e4m3. */
static tn_expr *to_e4m3(tn_expr *e) {
  tn_dtype u32 = uint_of(32, e->dtype);
  tn_expr *bits = as(u32, e), *sign = bit_and(right(bits, 24), 0x80);
  tn_expr *size = as(e->dtype, bit_and(bits, 0x7FFFFFFF));
  tn_expr *most = tir_const_float(e->dtype, 448.0);
  tn_expr *small = tir_mul(tir_min(size, most), tir_const_float(e->dtype, 0x1p-120));
  tn_expr *body = rounded(as(u32, small), 20);
  tn_expr *nan = tir_const_int(u32, 0x7F);
  body = tir_select(tir_isnan(e, NULL), nan, body, NULL);
  return to(uint_of(8, e->dtype), bit_or(body, sign));
}

static tn_expr *e4m3_of(tn_expr *e) { return e ? with_operand(e, to_e4m3) : NULL; }

tn_expr *tir_low_float_to(tn_expr *e, tn_dtype want) {
  if (!e) return NULL;
  tn_dtype t = e->dtype;
  want = ir_with_lanes(want, t.lanes);
  if (t.code == kDLFloat8_e4m3fn) return to(want, with_operand(e, from_e4m3));
  tn_expr *bits = as(uint_of(t.bits, t), e);
  if (t.code == kDLBfloat) return to(want, as(float_of(32, t), left(to(uint_of(32, t), bits), 16)));
  return to(want, as(float_of(16, t), left(to(uint_of(16, t), bits), 8)));
}

tn_expr *tir_low_float_from(tn_expr *e, tn_dtype want) {
  if (!e) return NULL;
  tn_dtype t = e->dtype;
  want = ir_with_lanes(want, t.lanes);
  if (want.code == kDLFloat8_e4m3fn) return as(want, e4m3_of(to(float_of(32, t), e)));
  bool bf16 = want.code == kDLBfloat;
  int wide = bf16 ? 32 : 16, n = bf16 ? 16 : 8;
  tn_expr *bits = as(uint_of(wide, t), to(float_of(wide, t), e));
  return as(want, to(uint_of(want.bits, t), rounded(bits, n)));
}
