/* Modular sets: what is known of an integer modulo a number: 4*x + 2 is 2 + 4*k. */
#include "arith/arith_impl.h"

static arith_modular modular_of(arith_analyzer *a, const tn_expr *e);

static const arith_modular any_integer = {1, 0};

static int64_t abs64(int64_t x) { return x < 0 ? (int64_t)(-(uint64_t)x) : x; }

int64_t arith_gcd(int64_t x, int64_t y) {
  x = abs64(x), y = abs64(y);
  while (y) {
    int64_t r = x % y;
    x = y, y = r;
  }
  return x;
}

arith_modular arith_modular_of(int64_t coeff, int64_t base) {
  if (coeff == INT64_MIN || base == INT64_MIN) return any_integer;
  coeff = abs64(coeff);
  return (arith_modular){coeff, coeff ? arith_floormod(base, coeff) : base};
}

/* Either of two sets. */
static arith_modular unite(arith_modular x, arith_modular y) {
  int64_t d;
  if (__builtin_sub_overflow(x.base, y.base, &d)) return any_integer;
  return arith_modular_of(arith_gcd(arith_gcd(x.coeff, y.coeff), d), x.base);
}

/* Solves x.base + x.coeff * k == y.base (modulo y.coeff) for the smallest k: Chinese remainders. */
bool arith_modular_intersect(arith_modular x, arith_modular y, arith_modular *out) {
  if (x.coeff == 0 || y.coeff == 0) {
    if (x.coeff != 0) return arith_modular_intersect(y, x, out);
    *out = x;
    return y.coeff ? arith_floormod(x.base, y.coeff) == y.base : x.base == y.base;
  }
  int64_t g = arith_gcd(x.coeff, y.coeff), lcm;
  if ((x.base - y.base) % g != 0) return false;
  if (__builtin_mul_overflow(x.coeff / g, y.coeff, &lcm) || y.coeff / g > 4096) return false;
  for (int64_t k = 0; k < y.coeff / g; ++k) {
    int64_t v = x.base + x.coeff * k; /* below the least common multiple */
    if (arith_floormod(v, y.coeff) == y.base) {
      *out = arith_modular_of(lcm, v);
      return true;
    }
  }
  return false;
}

static arith_modular add(arith_modular x, arith_modular y, bool minus) {
  int64_t base;
  bool over = minus ? __builtin_sub_overflow(x.base, y.base, &base)
                    : __builtin_add_overflow(x.base, y.base, &base);
  return over ? any_integer : arith_modular_of(arith_gcd(x.coeff, y.coeff), base);
}

/* (p*k + u) * (q*m + v) = pq*km + pv*k + uq*m + uv */
static arith_modular mul(arith_modular x, arith_modular y) {
  int64_t pq, pv, uq, uv;
  if (__builtin_mul_overflow(x.coeff, y.coeff, &pq) ||
      __builtin_mul_overflow(x.coeff, y.base, &pv) ||
      __builtin_mul_overflow(x.base, y.coeff, &uq) || __builtin_mul_overflow(x.base, y.base, &uv))
    return any_integer;
  return arith_modular_of(arith_gcd(arith_gcd(pq, pv), uq), uv);
}

/* The value of a positive constant, else 0. */
static int64_t const_of(const tn_expr *e) {
  int64_t c;
  return tir_as_int((const tn_obj *)e, &c) && c > 0 ? c : 0;
}

static arith_modular divide(arith_analyzer *a, const tn_expr *e, int64_t c, bool floors) {
  if (c <= 0) return any_integer;
  arith_modular x = modular_of(a, e);
  if (x.coeff % c != 0) return any_integer;
  if (!floors && x.base % c != 0 && arith_const_bound(a, e).min < 0) return any_integer;
  return arith_modular_of(x.coeff / c, arith_floordiv(x.base, c));
}

static arith_modular modulo(arith_analyzer *a, const tn_expr *e, int64_t c, bool floors) {
  if (c <= 0) return any_integer;
  arith_modular x = modular_of(a, e);
  if (!floors && arith_const_bound(a, e).min < 0)
    return arith_modular_of(arith_gcd(x.coeff, c), x.base);
  if (x.coeff % c == 0) return arith_modular_of(0, arith_floormod(x.base, c));
  return arith_modular_of(arith_gcd(x.coeff, c), x.base);
}

/* What is left of a set when its numbers wrap around: the powers of two in it. */
static arith_modular wrapped(arith_modular m, int bits) {
  int64_t most = (int64_t)1 << (bits < 62 ? bits : 62);
  int64_t two = m.coeff ? m.coeff & -m.coeff : most;
  return arith_modular_of(two < most ? two : most, m.base);
}

static arith_modular binary_modular(arith_analyzer *a, const tn_BinaryOp *e) {
  switch (e->hdr.type_index) {
  case TN_TI_Add: return add(modular_of(a, e->a), modular_of(a, e->b), false);
  case TN_TI_Sub: return add(modular_of(a, e->a), modular_of(a, e->b), true);
  case TN_TI_Mul: return mul(modular_of(a, e->a), modular_of(a, e->b));
  case TN_TI_Div: return divide(a, e->a, const_of(e->b), false);
  case TN_TI_FloorDiv: return divide(a, e->a, const_of(e->b), true);
  case TN_TI_Mod: return modulo(a, e->a, const_of(e->b), false);
  case TN_TI_FloorMod: return modulo(a, e->a, const_of(e->b), true);
  case TN_TI_Min:
  case TN_TI_Max: return unite(modular_of(a, e->a), modular_of(a, e->b));
  default: return any_integer;
  }
}

static arith_modular call_modular(arith_analyzer *a, const tn_Call *e) {
  int64_t c;
  switch (tir_op_number((const tn_obj *)e->op)) {
  case TIR_OP_if_then_else:
    return unite(modular_of(a, arith_arg(e, 1)), modular_of(a, arith_arg(e, 2)));
  case TIR_OP_shift_right:
    if (!tir_as_int((tn_obj *)arith_arg(e, 1), &c) || c < 0 || c > 61) return any_integer;
    return divide(a, arith_arg(e, 0), (int64_t)1 << c, true);
  case TIR_OP_shift_left:
    if (!tir_as_int((tn_obj *)arith_arg(e, 1), &c) || c < 0 || c > 61) return any_integer;
    return mul(modular_of(a, arith_arg(e, 0)), (arith_modular){0, (int64_t)1 << c});
  case TIR_OP_bitwise_and:
    if (!tir_as_int((tn_obj *)arith_arg(e, 1), &c) || c <= 0 || c == INT64_MAX || (c & (c + 1)))
      return any_integer;
    return modulo(a, arith_arg(e, 0), c + 1, true);
  default: return any_integer;
  }
}

/* The body where the variable has its value; one of which something is known already says nothing.
 */
static arith_modular let_modular(arith_analyzer *a, const tn_Let *e) {
  const arith_var *v = arith_known(a, (tn_expr *)e->var);
  if (v && (v->has_modular || v->has_bound || v->value || v->lo)) return any_integer;
  if (arith_know_value(a, e->var, e->value)) {
    tn_error_clear();
    return any_integer;
  }
  arith_modular m = modular_of(a, e->body);
  arith_unbind(a, e->var);
  return m;
}

static arith_modular node_modular(arith_analyzer *a, const tn_expr *e) {
  if (TN_AS_BINARY(e)) return binary_modular(a, TN_AS_BINARY(e));
  switch (e->hdr.type_index) {
  case TN_TI_IntImm: return arith_modular_of(0, ((const tn_IntImm *)e)->value);
  case TN_TI_Var:
  case TN_TI_SizeVar: {
    const arith_var *v = arith_known(a, e);
    return v && v->has_modular ? v->modular : any_integer;
  }
  case TN_TI_Cast: {
    const tn_expr *from = ((const tn_Cast *)e)->value;
    bool index = arith_is_index(ir_with_lanes(e->dtype, 1)) && ir_is_integral(from->dtype);
    if (!index) return any_integer;
    arith_modular m = modular_of(a, from);
    arith_bound b = arith_const_bound(a, from), all = arith_dtype_bound(e->dtype);
    bool fits = from->dtype.bits < e->dtype.bits || (b.min >= all.min && b.max <= all.max);
    if (!fits && m.coeff != 1) m = wrapped(m, e->dtype.bits);
    return m;
  }
  case TN_TI_Select: {
    const tn_Select *s = (const tn_Select *)e;
    return unite(modular_of(a, s->true_value), modular_of(a, s->false_value));
  }
  case TN_TI_Broadcast: return modular_of(a, ((const tn_Broadcast *)e)->value);
  case TN_TI_Ramp: {
    const tn_Ramp *r = (const tn_Ramp *)e;
    return add(modular_of(a, r->base), mul(any_integer, modular_of(a, r->stride)), false);
  }
  case TN_TI_Call: return call_modular(a, (const tn_Call *)e);
  case TN_TI_Let: return let_modular(a, (const tn_Let *)e);
  default: return any_integer;
  }
}

/* Narrow and unsigned types: not worth the while. */
static arith_modular modular_of(arith_analyzer *a, const tn_expr *e) {
  if (e->hdr.type_index != TN_TI_IntImm && !arith_is_index(ir_with_lanes(e->dtype, 1)))
    return any_integer;
  if (arith_deep()) return any_integer;
  arith_modular m = node_modular(a, e);
  if (m.coeff != 1 && arith_wraps(a, e)) m = wrapped(m, e->dtype.bits);
  for (int64_t i = 0; i < a->nfacts; ++i)
    if (a->facts[i].expr && a->facts[i].modular.coeff != 1 && arith_same(a->facts[i].expr, e))
      arith_modular_intersect(a->facts[i].modular, m, &m);
  return m;
}

arith_modular arith_modular_set(arith_analyzer *a, const tn_expr *e) { return modular_of(a, e); }
