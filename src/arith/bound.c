/* Constant bounds of integer expressions: x in [0, 7], y in [0, 3]  =>  x*4 + y in [0, 31].

   The limits of int64 stand for infinity, and arithmetic saturates there instead of wrapping. A
   result that may leave its type wraps around and has the bounds of the type. Indices are the
   exception: int32 and int64 arithmetic on variables without limits of their own (extents, loops
   over them) is taken not to overflow. What is loaded from memory is data and never trusted. */
#include "arith/arith_impl.h"

#include "base/stack.h"

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

/* ---- what is known of a node ---- */

/* Bounds of a value, and where it comes from. `data`: numbers that memory or a function gives go
   into it; then its arithmetic wraps around like that of any program. `open`: some variable in it
   does not have its own bound; an index of dynamic extents is assumed not to overflow. With
   neither, the bounds themselves tell. */
typedef struct {
  arith_bound b;
  bool data, open;
  bool wraps; /* the node's own operation may give another number than the exact one */
} facts;

static facts facts_of(arith_analyzer *a, const tn_expr *e);

static facts either(facts x, facts y, arith_bound b) {
  return (facts){b, x.data || y.data, x.open || y.open, false};
}

static facts unknown(arith_bound b) { return (facts){.b = b, .data = true}; }

/* Do the bounds leave the type? At 64 bits they do where they are infinite. */
static bool leaves(tn_dtype t, arith_bound b) {
  arith_bound all = arith_dtype_bound(t);
  if (b.min < all.min || b.max > all.max) return true;
  if (t.bits < 63) return false;
  return b.max == ARITH_POS_INF || (t.code == kDLInt && b.min <= ARITH_NEG_INF);
}

/* Division: by the positive and by the negative part of b; by 0 it gives 0. */
static arith_bound divide(arith_analyzer *an, int64_t (*op)(int64_t, int64_t), arith_bound a,
                          arith_bound b) {
  arith_bound pos = {b.min > 1 ? b.min : 1, b.max}, neg = {b.min, b.max < -1 ? b.max : -1};
  bool has_pos = pos.min <= pos.max, has_neg = neg.min <= neg.max;
  if (!has_pos && !has_neg) {
    an->zero_divisor = true;
    return arith_everything();
  }
  arith_bound r = corners(op, a, has_pos ? pos : neg);
  if (has_pos && has_neg) r = arith_union(r, corners(op, a, neg));
  return b.min <= 0 && b.max >= 0 ? arith_union(r, (arith_bound){0, 0}) : r;
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

/* Of the exact result, whatever the type. */
static arith_bound exact_bound(arith_analyzer *an, const tn_BinaryOp *e, uint32_t op, arith_bound a,
                               arith_bound b) {
  switch (op) {
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

/* May the result differ from the exact one? Of quotients only the smallest number over -1 does. */
static bool wraps(tn_dtype t, uint32_t op, facts a, facts b, arith_bound r) {
  bool trusted = arith_is_index(ir_with_lanes(t, 1)) && !a.data && !b.data && (a.open || b.open);
  if (trusted) return false;
  if (op == TN_TI_Div || op == TN_TI_FloorDiv)
    return t.code == kDLInt && b.b.min <= -1 && b.b.max >= -1 &&
           a.b.min <= arith_dtype_bound(t).min;
  return op <= TN_TI_Mul && leaves(t, r);
}

static facts limited(tn_dtype t, uint32_t op, facts a, facts b, arith_bound exact) {
  facts r = either(a, b, exact);
  r.wraps = wraps(t, op, a, b, exact);
  if (r.wraps) r.b = arith_dtype_bound(t);
  return r;
}

static facts binary_facts(arith_analyzer *an, const tn_BinaryOp *e) {
  uint32_t op = e->hdr.type_index;
  if (op >= TN_TI_EQ) return (facts){.b = {0, 1}};
  facts a = facts_of(an, e->a), b = facts_of(an, e->b);
  return limited(e->dtype, op, a, b, exact_bound(an, e, op, a.b, b.b));
}

static arith_bound and_bound(arith_bound a, arith_bound b) {
  if (a.min < 0 && b.min < 0) return arith_everything();
  if (a.min < 0) return (arith_bound){0, b.max};
  if (b.min < 0) return (arith_bound){0, a.max};
  return (arith_bound){0, a.max < b.max ? a.max : b.max};
}

static facts call_facts(arith_analyzer *an, const tn_Call *e) {
  tir_op_id op = tir_op_number((const tn_obj *)e->op);
  arith_bound all = arith_dtype_bound(e->dtype), r = all;
  facts a, b;
  switch (op) {
  case TIR_OP_if_then_else:
    a = facts_of(an, arith_arg(e, 1)), b = facts_of(an, arith_arg(e, 2));
    return either(a, b, arith_union(a.b, b.b));
  case TIR_OP_likely:
  case TIR_OP_tvm_thread_invariant: return facts_of(an, arith_arg(e, 0));
  case TIR_OP_vscale: return (facts){.b = all, .open = true};
  case TIR_OP_popcount:
  case TIR_OP_clz: return (facts){.b = {0, arith_arg(e, 0)->dtype.bits}};
  case TIR_OP_bitwise_and:
  case TIR_OP_bitwise_or:
  case TIR_OP_bitwise_xor:
  case TIR_OP_shift_left:
  case TIR_OP_shift_right:
    a = facts_of(an, arith_arg(e, 0)), b = facts_of(an, arith_arg(e, 1));
    if (op == TIR_OP_bitwise_and) r = and_bound(a.b, b.b);
    else if (op == TIR_OP_shift_right && b.b.min >= 0) r = corners(sat_shr, a.b, b.b);
    else if (op == TIR_OP_shift_left && a.b.min >= 0 && b.b.min >= 0)
      return limited(e->dtype, TN_TI_Mul, a, b, corners(sat_shl, a.b, b.b));
    else if (op == TIR_OP_shift_left) return limited(e->dtype, TN_TI_Mul, a, b, arith_everything());
    return either(a, b, r);
  default: return unknown(all);
  }
}

static facts ramp_facts(arith_analyzer *an, const tn_Ramp *e) {
  facts x = facts_of(an, e->base), s = facts_of(an, e->stride);
  int64_t last = e->lanes > 0 ? e->lanes - 1 : INT64_MAX; /* scalable: any number of lanes */
  int64_t lo = arith_sat_mul(s.b.min, last), hi = arith_sat_mul(s.b.max, last);
  arith_bound r = {arith_sat_add(x.b.min, lo < 0 ? lo : 0),
                   arith_sat_add(x.b.max, hi > 0 ? hi : 0)};
  return limited(e->dtype, TN_TI_Add, x, s, r);
}

static facts var_facts(arith_analyzer *an, const tn_expr *e) {
  const arith_var *v = arith_known(an, e);
  arith_bound b = arith_dtype_bound(e->dtype);
  if (e->hdr.type_index == TN_TI_SizeVar && b.min < 0) b.min = 0;
  if (v && v->has_bound)
    return (facts){.b = arith_intersect(b, v->bound), .data = v->data, .open = v->open};
  bool data = arith_var_is_data(e);
  return (facts){.b = b, .data = data, .open = !data};
}

static facts let_facts(arith_analyzer *an, const tn_Let *e) {
  const arith_var *v = arith_known(an, (tn_expr *)e->var);
  bool known = v && (v->has_bound || v->value || v->lo);
  if (known || arith_know_value(an, e->var, e->value)) {
    if (!known) tn_error_clear();
    return unknown(arith_dtype_bound(e->dtype));
  }
  facts r = facts_of(an, e->body);
  arith_unbind(an, e->var);
  return r;
}

/* Integers up to this one are numbers of the float type. */
static int64_t exact_integers(tn_dtype t) {
  if (t.code == kDLBfloat) return 1 << 8;
  if (t.code != kDLFloat) return 0;
  return t.bits == 64 ? INT64_C(1) << 53 : t.bits == 32 ? 1 << 24 : t.bits == 16 ? 1 << 11 : 0;
}

/* An integer that went through a float type, which holds all that it may be. */
static bool through_float(arith_analyzer *an, const tn_expr *e, facts *out) {
  const tn_Cast *c = TN_AS(Cast, e);
  if (!c || !ir_is_integral(c->value->dtype)) return false;
  int64_t most = exact_integers(e->dtype);
  *out = facts_of(an, c->value);
  return -most <= out->b.min && out->b.max <= most;
}

/* The least k with 2^k >= n; n is 1 or more. */
static int64_t ceil_log2(int64_t n) {
  int64_t k = 0;
  while (k < 62 && (INT64_C(1) << k) < n) k++;
  return k;
}

/* Up to 2^40 the logarithm of a number that is not a power of 2 does not round to an integer. */
enum { LOG2_EXACT_BITS = 40 };

/* ceil(log2(x)) of an integer x in float64. */
static bool ceil_log2_facts(arith_analyzer *an, const tn_expr *e, facts *out) {
  const tn_Call *ceil = tir_as_call((const tn_obj *)e, TIR_OP_ceil);
  const tn_Call *log2 = ceil ? tir_as_call((const tn_obj *)arith_arg(ceil, 0), TIR_OP_log2) : NULL;
  if (!log2 || !tn_dtype_eq(e->dtype, tn_dtype_of(kDLFloat, 64, 1))) return false;
  const tn_expr *x = arith_arg(log2, 0);
  const tn_FloatImm *c = TN_AS(FloatImm, x);
  const int64_t most = INT64_C(1) << LOG2_EXACT_BITS;
  if (c) {
    if (!(c->value >= 1 && c->value <= (double)most) || c->value != (double)(int64_t)c->value)
      return false;
    *out = (facts){.b = {(int64_t)c->value, (int64_t)c->value}};
  } else if (!through_float(an, x, out) || out->b.min < 1 || out->b.max > most) {
    return false;
  }
  out->b = (arith_bound){ceil_log2(out->b.min), ceil_log2(out->b.max)};
  return true;
}

/* A conversion that does not fit wraps around; from floats anything may come. */
static facts cast_facts(arith_analyzer *an, const tn_Cast *e) {
  arith_bound all = arith_dtype_bound(e->dtype);
  tn_dtype from = e->value->dtype;
  facts r;
  if (ir_is_integral(from)) r = facts_of(an, e->value);
  else if (!ceil_log2_facts(an, e->value, &r) && !through_float(an, e->value, &r))
    return unknown(all);
  bool large = from.code == kDLUInt && from.bits == 64 && r.b.max == ARITH_POS_INF;
  if (large || r.b.min < all.min || r.b.max > all.max) r.b = all;
  return r;
}

static facts node_facts(arith_analyzer *an, const tn_expr *e) {
  if (TN_AS_BINARY(e)) return binary_facts(an, TN_AS_BINARY(e));
  switch (e->hdr.type_index) {
  case TN_TI_IntImm: {
    int64_t v = ((const tn_IntImm *)e)->value;
    /* the ends of int64 stand for infinity, which no number equals */
    if (v <= ARITH_NEG_INF) return (facts){.b = {ARITH_NEG_INF, ARITH_NEG_INF + 1}};
    return (facts){.b = {v < ARITH_POS_INF ? v : v - 1, v}};
  }
  case TN_TI_Var:
  case TN_TI_SizeVar: return var_facts(an, e);
  case TN_TI_Cast: return cast_facts(an, (const tn_Cast *)e);
  case TN_TI_Select: {
    const tn_Select *s = (const tn_Select *)e;
    facts t = facts_of(an, s->true_value), f = facts_of(an, s->false_value);
    return either(t, f, arith_union(t.b, f.b));
  }
  case TN_TI_Ramp: return ramp_facts(an, (const tn_Ramp *)e);
  case TN_TI_Broadcast: return facts_of(an, ((const tn_Broadcast *)e)->value);
  case TN_TI_Call: return call_facts(an, (const tn_Call *)e);
  case TN_TI_Let: return let_facts(an, (const tn_Let *)e);
  case TN_TI_Not: return (facts){.b = {0, 1}};
  default: return unknown(arith_dtype_bound(e->dtype));
  }
}

static facts facts_of(arith_analyzer *a, const tn_expr *e) {
  if (!ir_is_integral(e->dtype) || arith_deep()) return unknown(arith_everything());
  facts r = node_facts(a, e);
  if (!TN_AS_BINARY(e)) r.b = arith_intersect(r.b, arith_dtype_bound(e->dtype));
  for (int64_t i = 0; i < a->nfacts; ++i)
    if (a->facts[i].expr && arith_same(a->facts[i].expr, e))
      r.b = arith_intersect(r.b, a->facts[i].bound);
  return r;
}

/* ---- questions ---- */

bool arith_result_wraps(arith_analyzer *a, uint32_t op, tn_expr *x, tn_expr *y) {
  if (op > TN_TI_Mul && op != TN_TI_Div && op != TN_TI_FloorDiv) return false;
  if (!ir_is_integral(x->dtype)) return false;
  facts p = facts_of(a, x), q = facts_of(a, y);
  if (op > TN_TI_Mul) return wraps(x->dtype, op, p, q, p.b);
  return wraps(x->dtype, op, p, q, exact_bound(a, NULL, op, p.b, q.b));
}

bool arith_wraps(arith_analyzer *a, const tn_expr *e) { return facts_of(a, e).wraps; }

bool arith_is_data(arith_analyzer *a, const tn_expr *e) { return facts_of(a, e).data; }

bool arith_is_open(arith_analyzer *a, const tn_expr *e) { return facts_of(a, e).open; }

void arith_value_origin(arith_analyzer *a, const tn_expr *e, bool *data, bool *open) {
  facts r = facts_of(a, e);
  *data = r.data, *open = r.open;
}

bool arith_exact(arith_analyzer *a, const tn_expr *e) {
  const tn_BinaryOp *o = TN_AS_BINARY(e);
  if (!o || e->hdr.type_index > TN_TI_Mul) return true;
  return !arith_deep() && !arith_wraps(a, e) && arith_exact(a, o->a) && arith_exact(a, o->b);
}

arith_bound arith_const_bound(arith_analyzer *a, const tn_expr *e) { return facts_of(a, e).b; }

bool arith_prove_ge(arith_analyzer *a, tn_expr *x, int64_t c) { return facts_of(a, x).b.min >= c; }
bool arith_prove_lt(arith_analyzer *a, tn_expr *x, int64_t c) { return facts_of(a, x).b.max < c; }
