/* Constant folding of operators: what two constants give, and the identities that need no analysis.

     int8: 100 + 100 -> -56          x + 0 -> x      x * 0 -> 0 (integers)      x // 1 -> x
     min(x, x) -> x                  cond and True -> cond

   What is computed here is what running it gives (docs/semantics.md): integers wrap around in the
   type's width, and a quotient or remainder of an integer and 0 is 0. Types that programs register
   are computed by their functions. float32 is computed in float32, float64 in float64; narrower
   floats are compared but not computed. */
#include <math.h>

#include "ir/expr.h"
#include "ir/ir_impl.h"

static int64_t div_floor(int64_t a, int64_t b) {
  int64_t q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

/* INT64_MIN / -1 does not fit: it wraps around to itself. */
static int64_t divide(uint32_t op, int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return op == TN_TI_Div || op == TN_TI_FloorDiv ? (int64_t)(0 - (uint64_t)a) : 0;
  switch (op) {
  case TN_TI_Div: return a / b;
  case TN_TI_Mod: return a % b;
  case TN_TI_FloorDiv: return div_floor(a, b);
  default: return (int64_t)((uint64_t)a - (uint64_t)div_floor(a, b) * (uint64_t)b);
  }
}

static int64_t arith_int(uint32_t op, int64_t a, int64_t b) {
  switch (op) {
  case TN_TI_Add: return (int64_t)((uint64_t)a + (uint64_t)b);
  case TN_TI_Sub: return (int64_t)((uint64_t)a - (uint64_t)b);
  case TN_TI_Mul: return (int64_t)((uint64_t)a * (uint64_t)b);
  case TN_TI_Min: return a < b ? a : b;
  case TN_TI_Max: return a > b ? a : b;
  default: return divide(op, a, b);
  }
}

static bool compare_int(uint32_t op, int64_t a, int64_t b) {
  switch (op) {
  case TN_TI_EQ: return a == b;
  case TN_TI_NE: return a != b;
  case TN_TI_LT: return a < b;
  case TN_TI_LE: return a <= b;
  case TN_TI_GT: return a > b;
  default: return a >= b;
  }
}

static bool compare_float(uint32_t op, double a, double b) {
  switch (op) {
  case TN_TI_EQ: return a == b;
  case TN_TI_NE: return a != b;
  case TN_TI_LT: return a < b;
  case TN_TI_LE: return a <= b;
  case TN_TI_GT: return a > b;
  default: return a >= b;
  }
}

static float arith_f32(uint32_t op, float a, float b) {
  switch (op) {
  case TN_TI_Add: return a + b;
  case TN_TI_Sub: return a - b;
  case TN_TI_Mul: return a * b;
  case TN_TI_Div: return a / b;
  case TN_TI_FloorDiv: return floorf(a / b);
  case TN_TI_Mod: return fmodf(a, b);
  default: return (float)ir_floor_mod((double)a, (double)b); /* FloorMod */
  }
}

static double arith_f64(uint32_t op, double a, double b) {
  switch (op) {
  case TN_TI_Add: return a + b;
  case TN_TI_Sub: return a - b;
  case TN_TI_Mul: return a * b;
  case TN_TI_Div: return a / b;
  case TN_TI_FloorDiv: return floor(a / b);
  case TN_TI_Mod: return fmod(a, b);
  default: return ir_floor_mod(a, b);
  }
}

/* Ends a folding function: 0, or -1 when the constant could not be made. */
static int give(void *e, tn_expr **out) {
  *out = e;
  return e ? 0 : -1;
}

static int give_bool(bool v, tn_Span *span, tn_expr **out) {
  return give(TN_NEW(IntImm, .dtype = TN_BOOL1, .value = v, .span = span), out);
}

static int give_int(tn_dtype t, int64_t v, tn_Span *span, tn_expr **out) {
  v = ir_wrap_int(v, t);
  if (t.code == kDLUInt && v < 0) return give(tir_uint64((uint64_t)v), out); /* only of 64 bits */
  return give(TN_NEW(IntImm, .dtype = t, .value = v, .span = span), out);
}

static int fold_ints(uint32_t op, const tn_IntImm *x, const tn_IntImm *y, tn_Span *span,
                     tn_expr **out) {
  int64_t a = x->value, b = y->value;
  if (op == TN_TI_And) return give_bool(a && b, span, out);
  if (op == TN_TI_Or) return give_bool(a || b, span, out);
  if (op >= TN_TI_EQ) return give_bool(compare_int(op, a, b), span, out);
  return give_int(x->dtype, arith_int(op, a, b), span, out);
}

/* Leaves *out alone where the result is the target's business. */
static int fold_floats(uint32_t op, const tn_FloatImm *x, const tn_FloatImm *y, tn_Span *span,
                       tn_expr **out) {
  tn_dtype t = x->dtype;
  double a = ir_round_float(x->value, t), b = ir_round_float(y->value, t), r;
  if (op >= TN_TI_EQ) return give_bool(compare_float(op, a, b), span, out);
  if (op == TN_TI_Min || op == TN_TI_Max) {
    bool second = isnan(b) || (op == TN_TI_Min ? b < a : b > a);
    *out = (tn_expr *)(uintptr_t)(second ? y : x);
    return 0;
  }
  if (t.code != kDLFloat || (t.bits != 32 && t.bits != 64)) return 0;
  r = t.bits == 32 ? (double)arith_f32(op, (float)a, (float)b) : arith_f64(op, a, b);
  return give(TN_NEW(FloatImm, .dtype = t, .value = r, .span = span), out);
}

/* Remainders are folded where they serve as indices; elsewhere they stay as they are written. */
static bool stays(uint32_t op, tn_dtype t) {
  bool index = t.code == kDLInt && t.lanes == 1 && (t.bits == 32 || t.bits == 64);
  return (op == TN_TI_Mod || op == TN_TI_FloorMod) && !index;
}

/* Identities with an integer constant on the right (c: its value). */
static int fold_right(uint32_t op, tn_expr *a, tn_expr *b, int64_t c, tn_Span *span,
                      tn_expr **out) {
  switch (op) {
  case TN_TI_Add:
  case TN_TI_Sub: *out = c == 0 ? a : NULL; break;
  case TN_TI_Mul: *out = c == 1 ? a : c == 0 ? b : NULL; break;
  case TN_TI_Div:
  case TN_TI_FloorDiv: *out = c == 1 ? a : c == 0 ? b : NULL; break;
  case TN_TI_Mod:
  case TN_TI_FloorMod: return c == 1 || c == 0 ? give_int(a->dtype, 0, span, out) : 0;
  case TN_TI_And: *out = c ? a : b; break;
  case TN_TI_Or: *out = c ? b : a; break;
  default: break;
  }
  return 0;
}

static tn_expr *fold_left(uint32_t op, tn_expr *a, tn_expr *b, int64_t c) {
  switch (op) {
  case TN_TI_Add: return c == 0 ? b : NULL;
  case TN_TI_Mul: return c == 1 ? b : c == 0 ? a : NULL;
  case TN_TI_Div:
  case TN_TI_FloorDiv:
  case TN_TI_Mod:
  case TN_TI_FloorMod: return c == 0 ? a : NULL;
  case TN_TI_And: return c ? b : a;
  case TN_TI_Or: return c ? a : b;
  default: return NULL;
  }
}

static bool is_zero_of_sign(const tn_FloatImm *x, bool negative) {
  return x && x->value == 0 && signbit(x->value) == negative;
}

/* Identities of floats: none that loses a NaN, an infinity or the sign of a zero: -0.0 + 0.0 is
   0.0. */
static tn_expr *fold_float_identity(uint32_t op, tn_expr *a, tn_expr *b) {
  const tn_FloatImm *x = TN_AS(FloatImm, a), *y = TN_AS(FloatImm, b);
  if (op == TN_TI_Sub && is_zero_of_sign(y, false)) return a;
  if (op == TN_TI_Add && is_zero_of_sign(y, true)) return a;
  if (op == TN_TI_Add && is_zero_of_sign(x, true)) return b;
  if (y && y->value == 1 && (op == TN_TI_Mul || op == TN_TI_Div)) return a;
  if (x && x->value == 1 && op == TN_TI_Mul) return b;
  return NULL;
}

int tir_fold(uint32_t op, tn_expr *a, tn_expr *b, tn_Span *span, tn_expr **out) {
  const tn_IntImm *x = TN_AS(IntImm, a), *y = TN_AS(IntImm, b);
  const tn_FloatImm *fx = TN_AS(FloatImm, a), *fy = TN_AS(FloatImm, b);
  *out = NULL;
  if (stays(op, a->dtype) || tn_dtype_is_custom(a->dtype)) return 0;
  if ((op == TN_TI_Min || op == TN_TI_Max) && a == b) *out = a;
  else if (x && y) return fold_ints(op, x, y, span, out);
  else if (y) return fold_right(op, a, b, y->value, span, out);
  else if (x) *out = fold_left(op, a, b, x->value);
  else if (fx && fy) TN_TRY(fold_floats(op, fx, fy, span, out));
  if (!*out && (fx || fy)) *out = fold_float_identity(op, a, b);
  return 0;
}
