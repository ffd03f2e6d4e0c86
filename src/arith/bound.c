/* Constant bounds of integer expressions: x in [0, 7], y in [0, 3]  =>  x*4 + y in [0, 31].

   The limits of int64 stand for infinity, and arithmetic saturates there instead of wrapping. Where
   a type wraps around (unsigned, narrow), a bound that leaves the type is given up. */
#include "arith/arith_impl.h"

#include "base/stack.h"

static arith_bound bound_of(arith_analyzer *a, const tn_expr *e);

bool arith_deep(void) { return tn_stack_left() < 128 * 1024; }

static bool is_inf(int64_t x) { return x == ARITH_POS_INF || x <= ARITH_NEG_INF; }

int64_t arith_sat_neg(int64_t x) { return x <= ARITH_NEG_INF ? ARITH_POS_INF : -x; }

/* An infinite x wins over y; bounds never add infinities of two signs. */
int64_t arith_sat_add(int64_t x, int64_t y) {
  int64_t r;
  if (is_inf(x)) return x;
  if (is_inf(y)) return y;
  if (__builtin_add_overflow(x, y, &r)) return x > 0 ? ARITH_POS_INF : ARITH_NEG_INF;
  return r < ARITH_NEG_INF ? ARITH_NEG_INF : r;
}

int64_t arith_sat_mul(int64_t x, int64_t y) {
  int64_t r;
  if (x == 0 || y == 0) return 0;
  if (is_inf(x) || is_inf(y) || __builtin_mul_overflow(x, y, &r) || is_inf(r))
    return (x > 0) == (y > 0) ? ARITH_POS_INF : ARITH_NEG_INF;
  return r;
}

/* y is not 0 */
static int64_t sat_truncdiv(int64_t x, int64_t y) {
  if (is_inf(x)) return (x > 0) == (y > 0) ? ARITH_POS_INF : ARITH_NEG_INF;
  return is_inf(y) ? 0 : x / y;
}

static int64_t sat_floordiv(int64_t x, int64_t y) {
  if (is_inf(x)) return (x > 0) == (y > 0) ? ARITH_POS_INF : ARITH_NEG_INF;
  if (is_inf(y)) return x == 0 || (x > 0) == (y > 0) ? 0 : -1;
  return arith_floordiv(x, y);
}

static int64_t sat_shl(int64_t x, int64_t y) {
  return x == 0 ? 0 : y >= 63 || y < 0 ? ARITH_POS_INF : arith_sat_mul(x, (int64_t)1 << y);
}
static int64_t sat_shr(int64_t x, int64_t y) {
  if (is_inf(x)) return x;
  return y >= 63 ? (x < 0 ? -1 : 0) : x >> y;
}

arith_bound arith_dtype_bound(tn_dtype t) {
  if (t.code == kDLUInt) {
    if (t.bits >= 63) return (arith_bound){0, ARITH_POS_INF};
    return (arith_bound){0, ((int64_t)1 << t.bits) - 1};
  }
  if (t.code != kDLInt || t.bits >= 64) return arith_everything();
  return (arith_bound){-((int64_t)1 << (t.bits - 1)), ((int64_t)1 << (t.bits - 1)) - 1};
}

/* Extremes of an operation that is monotonic in each operand. */
static arith_bound corners(int64_t (*op)(int64_t, int64_t), arith_bound a, arith_bound b) {
  int64_t v[4] = {op(a.min, b.min), op(a.min, b.max), op(a.max, b.min), op(a.max, b.max)};
  arith_bound r = {v[0], v[0]};
  for (int i = 1; i < 4; ++i) r = arith_union(r, (arith_bound){v[i], v[i]});
  return r;
}

/* Division: by the positive and by the negative part of b, since b is not 0. */
static arith_bound divide(arith_analyzer *an, int64_t (*op)(int64_t, int64_t), arith_bound a,
                          arith_bound b) {
  arith_bound pos = {b.min > 1 ? b.min : 1, b.max}, neg = {b.min, b.max < -1 ? b.max : -1};
  bool has_pos = pos.min <= pos.max, has_neg = neg.min <= neg.max;
  if (!has_pos && !has_neg) {
    an->zero_divisor = true;
    return arith_everything();
  }
  if (!has_neg) return corners(op, a, pos);
  if (!has_pos) return corners(op, a, neg);
  return arith_union(corners(op, a, pos), corners(op, a, neg));
}

static arith_bound floormod_bound(arith_analyzer *an, const tn_BinaryOp *e, arith_bound a,
                                  arith_bound b) {
  if (b.min == 0 && b.max == 0) {
    an->zero_divisor = true;
    return arith_everything();
  }
  if (b.min > 0 && a.min >= 0 && a.max < b.min) return a;
  arith_bound r = {b.min < 0 ? arith_sat_add(b.min, 1) : 0,
                   b.max > 0 ? arith_sat_add(b.max, -1) : 0};
  if (b.min >= 0 && a.min >= 0 && a.max < r.max) r.max = a.max;
  if (b.min == b.max && b.min > 0 && !is_inf(b.min)) { /* 4*x + 1 modulo 8: 1 or 5 */
    arith_modular m = arith_modular_set(an, e->a);
    int64_t g = arith_gcd(m.coeff, b.min), base = arith_floormod(m.base, g);
    r = arith_intersect(r, (arith_bound){base, b.min - g + base});
  }
  return r;
}

static arith_bound truncmod_bound(arith_analyzer *an, arith_bound a, arith_bound b) {
  if (b.min == 0 && b.max == 0) {
    an->zero_divisor = true;
    return arith_everything();
  }
  int64_t up = b.max > arith_sat_neg(b.min) ? b.max : arith_sat_neg(b.min);
  int64_t m = arith_sat_add(up, -1);
  return (arith_bound){a.min >= 0                 ? 0
                       : a.min > arith_sat_neg(m) ? a.min
                                                  : arith_sat_neg(m),
                       a.max <= 0  ? 0
                       : a.max < m ? a.max
                                   : m};
}

static arith_bound binary_bound(arith_analyzer *an, const tn_BinaryOp *e) {
  if (e->hdr.type_index >= TN_TI_EQ) return (arith_bound){0, 1};
  arith_bound a = bound_of(an, e->a), b = bound_of(an, e->b);
  switch (e->hdr.type_index) {
  case TN_TI_Add: return (arith_bound){arith_sat_add(a.min, b.min), arith_sat_add(a.max, b.max)};
  case TN_TI_Sub:
    return (arith_bound){arith_sat_add(a.min, arith_sat_neg(b.max)),
                         arith_sat_add(a.max, arith_sat_neg(b.min))};
  case TN_TI_Mul: return corners(arith_sat_mul, a, b);
  case TN_TI_Div: return divide(an, sat_truncdiv, a, b);
  case TN_TI_Mod: return truncmod_bound(an, a, b);
  case TN_TI_FloorDiv: return divide(an, sat_floordiv, a, b);
  case TN_TI_FloorMod: return floormod_bound(an, e, a, b);
  case TN_TI_Min:
    return (arith_bound){a.min < b.min ? a.min : b.min, a.max < b.max ? a.max : b.max};
  case TN_TI_Max:
    return (arith_bound){a.min > b.min ? a.min : b.min, a.max > b.max ? a.max : b.max};
  default: return arith_everything();
  }
}

static arith_bound and_bound(arith_bound a, arith_bound b) {
  if (a.min < 0 && b.min < 0) return arith_everything();
  if (a.min < 0) return (arith_bound){0, b.max};
  if (b.min < 0) return (arith_bound){0, a.max};
  return (arith_bound){0, a.max < b.max ? a.max : b.max};
}

static arith_bound call_bound(arith_analyzer *an, const tn_Call *e) {
  switch (tir_op_number((const tn_obj *)e->op)) {
  case TIR_OP_bitwise_and:
    return and_bound(bound_of(an, arith_arg(e, 0)), bound_of(an, arith_arg(e, 1)));
  case TIR_OP_shift_right: {
    arith_bound a = bound_of(an, arith_arg(e, 0)), b = bound_of(an, arith_arg(e, 1));
    return b.min < 0 ? arith_everything() : corners(sat_shr, a, b);
  }
  case TIR_OP_shift_left: {
    arith_bound a = bound_of(an, arith_arg(e, 0)), b = bound_of(an, arith_arg(e, 1));
    return a.min < 0 || b.min < 0 ? arith_everything() : corners(sat_shl, a, b);
  }
  case TIR_OP_if_then_else:
    return arith_union(bound_of(an, arith_arg(e, 1)), bound_of(an, arith_arg(e, 2)));
  case TIR_OP_likely: return bound_of(an, arith_arg(e, 0));
  case TIR_OP_popcount:
  case TIR_OP_clz: return (arith_bound){0, arith_arg(e, 0)->dtype.bits};
  default: return arith_everything();
  }
}

static arith_bound ramp_bound(arith_analyzer *an, const tn_Ramp *e) {
  arith_bound b = bound_of(an, e->base), s = bound_of(an, e->stride);
  int64_t last = e->lanes > 1 ? e->lanes - 1 : 0;
  int64_t lo = arith_sat_mul(s.min, last), hi = arith_sat_mul(s.max, last);
  return (arith_bound){arith_sat_add(b.min, lo < 0 ? lo : 0),
                       arith_sat_add(b.max, hi > 0 ? hi : 0)};
}

static arith_bound var_bound(arith_analyzer *an, const tn_expr *e) {
  const arith_var *v = arith_known(an, e);
  arith_bound b = arith_dtype_bound(e->dtype);
  if (e->hdr.type_index == TN_TI_SizeVar && b.min < 0) b.min = 0;
  return v && v->has_bound ? arith_intersect(b, v->bound) : b;
}

static arith_bound let_bound(arith_analyzer *an, const tn_Let *e) {
  arith_var *v = arith_known(an, (tn_expr *)e->var);
  if (v || arith_set_bound(an, e->var, bound_of(an, e->value), true)) {
    if (!v) tn_error_clear();
    return arith_everything();
  }
  arith_bound b = bound_of(an, e->body);
  arith_unbind(an, e->var);
  return b;
}

static arith_bound node_bound(arith_analyzer *an, const tn_expr *e) {
  if (TN_AS_BINARY(e)) return binary_bound(an, TN_AS_BINARY(e));
  switch (e->hdr.type_index) {
  case TN_TI_IntImm: {
    int64_t v = ((const tn_IntImm *)e)->value;
    return (arith_bound){v < ARITH_NEG_INF ? ARITH_NEG_INF : v, v};
  }
  case TN_TI_Var:
  case TN_TI_SizeVar: return var_bound(an, e);
  case TN_TI_Cast: return bound_of(an, ((const tn_Cast *)e)->value);
  case TN_TI_Select: {
    const tn_Select *s = (const tn_Select *)e;
    return arith_union(bound_of(an, s->true_value), bound_of(an, s->false_value));
  }
  case TN_TI_Ramp: return ramp_bound(an, (const tn_Ramp *)e);
  case TN_TI_Broadcast: return bound_of(an, ((const tn_Broadcast *)e)->value);
  case TN_TI_Call: return call_bound(an, (const tn_Call *)e);
  case TN_TI_Let: return let_bound(an, (const tn_Let *)e);
  default: return arith_everything();
  }
}

/* A result outside its type: int32 and int64 do not overflow, so it is only cut down by a cast (as
   the machine does when it has to); other types wrap around. */
static arith_bound in_type(const tn_expr *e, arith_bound b) {
  arith_bound all = arith_dtype_bound(e->dtype);
  bool inside = b.min >= all.min && b.max <= all.max;
  bool computed = TN_AS_BINARY(e) || e->hdr.type_index == TN_TI_IntImm;
  if (inside || (computed && arith_is_index(ir_with_lanes(e->dtype, 1)))) return b;
  return e->hdr.type_index == TN_TI_Call || computed ? all : arith_intersect(b, all);
}

static arith_bound bound_of(arith_analyzer *a, const tn_expr *e) {
  if (!ir_is_integral(e->dtype) || arith_deep()) return arith_everything();
  arith_bound b = node_bound(a, e);
  if (e->hdr.type_index == TN_TI_Cast) {
    arith_bound all = arith_dtype_bound(e->dtype);
    const tn_expr *from = ((const tn_Cast *)e)->value;
    if (!ir_is_integral(from->dtype) || b.min < all.min || b.max > all.max) b = all;
  } else b = in_type(e, b);
  for (int64_t i = 0; i < a->nfacts; ++i)
    if (a->facts[i].expr && arith_same(a->facts[i].expr, e))
      b = arith_intersect(b, a->facts[i].bound);
  return b;
}

arith_bound arith_const_bound(arith_analyzer *a, const tn_expr *e) { return bound_of(a, e); }

bool arith_prove_ge(arith_analyzer *a, tn_expr *x, int64_t c) { return bound_of(a, x).min >= c; }
bool arith_prove_lt(arith_analyzer *a, tn_expr *x, int64_t c) { return bound_of(a, x).max < c; }
