/* Interval arithmetic on symbolic bounds (see int_set.h). */
#include "arith/int_set.h"

#include "arith/arith_impl.h"
#include "ir/functor.h"

static tn_Var *pos_inf, *neg_inf; /* owned, made once */

int arith_int_set_init(void) {
  tn_dtype handle = tn_dtype_of(kDLOpaqueHandle, 64, 1);
  if (pos_inf) return 0;
  TN_GET(pos_inf, tir_var("pos_inf", handle));
  TN_GET(neg_inf, tir_var("neg_inf", handle));
  tn_retain(pos_inf);
  tn_retain(neg_inf);
  return 0;
}

tn_expr *arith_pos_inf(void) { return (tn_expr *)pos_inf; }
tn_expr *arith_neg_inf(void) { return (tn_expr *)neg_inf; }
static bool is_pos(const tn_expr *e) { return e == (const tn_expr *)pos_inf; }
static bool is_neg(const tn_expr *e) { return e == (const tn_expr *)neg_inf; }
bool arith_is_inf(const tn_expr *e) { return is_pos(e) || is_neg(e); }

tn_IntervalSet *arith_interval(tn_expr *min, tn_expr *max) {
  if (!min || !max) return NULL;
  return TN_NEW(IntervalSet, .min_value = min, .max_value = max);
}
tn_IntervalSet *arith_interval_all(void) {
  return arith_interval(arith_neg_inf(), arith_pos_inf());
}
tn_IntervalSet *arith_interval_none(void) {
  return arith_interval(arith_pos_inf(), arith_neg_inf());
}
static tn_IntervalSet *point(tn_expr *e) { return arith_interval(e, e); }

bool arith_interval_is_all(const tn_IntervalSet *s) {
  return is_neg(s->min_value) && is_pos(s->max_value);
}
bool arith_interval_is_none(const tn_IntervalSet *s) {
  return is_pos(s->min_value) || is_neg(s->max_value);
}
bool arith_interval_is_point(const tn_IntervalSet *s) {
  return s->min_value == s->max_value && !arith_is_inf(s->min_value);
}
static bool bounded(const tn_IntervalSet *s) {
  return !arith_is_inf(s->min_value) && !arith_is_inf(s->max_value);
}

tn_IntervalSet *arith_interval_of_range(arith_analyzer *a, const tn_Range *r) {
  tn_expr *max;
  if (!r) return NULL; /* an error is pending */
  if (tir_is_one(r->extent)) return point(r->min);
  TN_GETP(max, tir_add(r->min, tir_sub(r->extent, tir_one(r->extent->dtype))));
  TN_GETP(max, arith_simplify(a, max));
  return arith_interval(r->min, max);
}

tn_IntervalSet *arith_interval_from(arith_analyzer *a, tn_obj *o) {
  if (TN_AS(IntervalSet, o)) return (tn_IntervalSet *)o;
  if (TN_AS(Range, o)) return arith_interval_of_range(a, (const tn_Range *)o);
  if (o && TN_IS(PrimExpr, o)) return point((tn_expr *)o);
  return TN_RAISEP(TypeError, NULL, "expected IntervalSet, Range or PrimExpr, got %s",
                   o ? tn_obj_key(o) : "None");
}

/* ---- combining ---- */

/* the smaller (larger) of two bounds of which infinite ones are of one sign */
static tn_expr *lesser(tn_expr *x, tn_expr *y) {
  if (is_neg(x) || is_pos(y)) return x;
  return is_neg(y) || is_pos(x) ? y : tir_min(x, y);
}
static tn_expr *greater(tn_expr *x, tn_expr *y) {
  if (is_pos(x) || is_neg(y)) return x;
  return is_pos(y) || is_neg(x) ? y : tir_max(x, y);
}

static tn_expr *simple(arith_analyzer *a, tn_expr *e) {
  return !e || arith_is_inf(e) ? e : arith_simplify(a, e);
}
static tn_IntervalSet *simple_interval(arith_analyzer *a, tn_expr *min, tn_expr *max) {
  TN_GETP(min, simple(a, min));
  TN_GETP(max, simple(a, max));
  return arith_interval(min, arith_same(min, max) ? min : max);
}

tn_IntervalSet *arith_interval_union(arith_analyzer *a, tn_IntervalSet *x, tn_IntervalSet *y) {
  if (!x || !y) return NULL;
  if (arith_interval_is_none(x)) return y;
  if (arith_interval_is_none(y)) return x;
  return simple_interval(a, lesser(x->min_value, y->min_value),
                         greater(x->max_value, y->max_value));
}

tn_IntervalSet *arith_interval_intersect(arith_analyzer *a, tn_IntervalSet *x, tn_IntervalSet *y) {
  if (!x || !y) return NULL;
  if (arith_interval_is_none(x) || arith_interval_is_none(y)) return arith_interval_none();
  tn_IntervalSet *r;
  TN_GETP(r, simple_interval(a, greater(x->min_value, y->min_value),
                             lesser(x->max_value, y->max_value)));
  if (bounded(r) && arith_prove(a, tir_lt(r->max_value, r->min_value)))
    return arith_interval_none();
  return r;
}

tn_Range *arith_interval_range(arith_analyzer *a, const tn_IntervalSet *s, tn_Range *fallback) {
  if (!bounded(s)) return fallback;
  if (arith_interval_is_point(s)) return tir_range(s->min_value, tir_one(s->min_value->dtype));
  tn_expr *n;
  TN_GETP(n, tir_sub(tir_add(s->max_value, tir_one(s->max_value->dtype)), s->min_value));
  TN_GETP(n, arith_simplify(a, n));
  return tir_range(s->min_value, n);
}

/* ---- evaluation ---- */

typedef struct {
  arith_analyzer *a;
  const tn_map *dom;
  int depth;  /* of domains that are given in terms of other variables */
  bool known; /* variables that are not in `dom` have the bounds that the analyzer knows */
} evaluator;

/* The smallest and the largest number; false for types of which the limits of int64 say nothing. */
static bool type_ends(tn_dtype t, int64_t *ends) {
  arith_bound b = arith_dtype_bound(t);
  if (!ir_is_integral(t) || (t.code == kDLUInt && t.bits >= 63)) return false;
  ends[0] = t.code == kDLInt && t.bits >= 64 ? INT64_MIN : b.min;
  ends[1] = b.max;
  return true;
}

/* Values that may be anything of their type, as those are that wrap around, have the ends of the
   type for bounds here, so that what is computed with them is seen to wrap around, too. Infinite
   are the bounds of indices of which nothing is known. */
static tn_IntervalSet *anything(tn_dtype t) {
  int64_t ends[2];
  t.lanes = 1;
  if (!type_ends(t, ends)) return arith_interval_all();
  return arith_interval(tir_int(t, ends[0]), tir_int(t, ends[1]));
}

static tn_expr *opened(tn_expr *e, bool low) {
  int64_t v, ends[2];
  if (!e || arith_is_inf(e) || !type_ends(e->dtype, ends) || !tir_as_int((tn_obj *)e, &v)) return e;
  if (v != ends[low ? 0 : 1] || (low && v == 0)) return e;
  return low ? arith_neg_inf() : arith_pos_inf();
}

/* What nothing is known of: of indices, open ones. */
static tn_IntervalSet *unknown(evaluator *v, tn_dtype t, const tn_IntervalSet *x,
                               const tn_IntervalSet *y) {
  const tn_expr *ends[] = {x->min_value, x->max_value, y->min_value, y->max_value};
  bool open = false, data = false;
  for (int i = 0; i < 4; ++i) {
    bool o = true, d = false;
    if (!arith_is_inf(ends[i])) arith_value_origin(v->a, ends[i], &d, &o);
    open |= o, data |= d;
  }
  return open && !data && arith_is_index(ir_with_lanes(t, 1)) ? arith_interval_all() : anything(t);
}

static tn_IntervalSet *eval(evaluator *v, tn_expr *e);

static tn_obj *domain_of(const evaluator *v, const tn_obj *var) {
  tn_any found;
  if (!v->dom || !tn_map_get(v->dom, tn_any_obj(var), &found) || !tn_any_is_obj(&found))
    return NULL;
  return found.v.obj;
}

static int uses_domain(void *ctx, tn_obj *o) { return domain_of(ctx, o) != NULL; }

/* An expression that is not analysed: itself, or anything when it depends on a domain. */
static tn_IntervalSet *other(evaluator *v, tn_expr *e) {
  int used = tn_post_order(e, uses_domain, v);
  if (used < 0) return NULL;
  return used ? anything(e->dtype) : point(e);
}

/* What the analyzer knows of a variable, NULL without an error when that is nothing. */
static tn_obj *known_domain(const evaluator *v, const tn_expr *e) {
  const arith_var *r = v->known ? arith_known(v->a, e) : NULL;
  if (!r || r->value || (!r->lo && !r->has_bound)) return NULL;
  if (r->lo) return (tn_obj *)arith_interval(r->lo, r->hi);
  /* The ends of the type are not bounds to compute with: sums with them would wrap around. A
     variable with one bound stays a symbol, which falls away where it is taken from itself. */
  arith_bound all = arith_dtype_bound(e->dtype), b = arith_intersect(r->bound, all);
  if (b.min <= all.min || b.max >= all.max) return NULL;
  return (tn_obj *)arith_interval(tir_int(e->dtype, b.min), tir_int(e->dtype, b.max));
}

static tn_IntervalSet *eval_var(evaluator *v, tn_expr *e) {
  tn_obj *d = domain_of(v, (tn_obj *)e);
  if (!d) d = known_domain(v, e);
  tn_IntervalSet *s, *lo, *hi;
  if (!d) return point(e);
  TN_GETP(s, arith_interval_from(v->a, d));
  bool itself = arith_interval_is_point(s) && s->min_value == e;
  if (itself || v->depth >= 4 || arith_interval_is_none(s)) return s;
  ++v->depth;
  lo = arith_is_inf(s->min_value) ? s : eval(v, s->min_value);
  hi = arith_is_inf(s->max_value) ? s : s->max_value == s->min_value ? lo : eval(v, s->max_value);
  --v->depth;
  return lo && hi ? arith_interval(lo->min_value, hi->max_value) : NULL;
}

/* A bound  x op y,  `inf` when one of them is infinite. *wraps is set when it is not the exact
   number: then the values of the expression wrap around, too, and may be anywhere. */
static tn_expr *bound(evaluator *v, uint32_t op, tn_expr *x, tn_expr *y, tn_expr *inf,
                      bool *wraps) {
  if (!x || !y) return NULL;
  if (arith_is_inf(x) || arith_is_inf(y)) {
    const tn_expr *other = arith_is_inf(x) ? y : x;
    *wraps |= !arith_is_inf(other) && !arith_is_index(ir_with_lanes(other->dtype, 1));
    return inf;
  }
  *wraps |= arith_result_wraps(v->a, op, x, y);
  return tir_binary(op, x, y, NULL);
}

static tn_IntervalSet *unless(bool wraps, tn_dtype t, tn_expr *min, tn_expr *max) {
  if (!min || !max) return NULL;
  return wraps ? anything(t) : arith_interval(min, max);
}

static tn_expr *times(evaluator *v, tn_expr *x, tn_expr *by, bool turned, bool *wraps) {
  tn_expr *inf = turned == is_pos(x) ? arith_neg_inf() : arith_pos_inf();
  return bound(v, TN_TI_Mul, x, by, inf, wraps);
}

/* Products of numbers of both signs. */
static tn_IntervalSet *mul_constants(tn_dtype t, const int64_t *x, const int64_t *y) {
  arith_bound all = arith_dtype_bound(t), b = {INT64_MAX, INT64_MIN};
  for (int i = 0; i < 4; ++i) {
    int64_t p;
    if (__builtin_mul_overflow(x[i & 1], y[i >> 1], &p) || p < all.min || p > all.max)
      return anything(t);
    b = arith_union(b, (arith_bound){p, p});
  }
  return arith_interval(tir_int(t, b.min), tir_int(t, b.max));
}

static bool constants(const tn_IntervalSet *s, int64_t *ends) {
  return tir_as_int((tn_obj *)s->min_value, &ends[0]) &&
         tir_as_int((tn_obj *)s->max_value, &ends[1]);
}

static tn_IntervalSet *mul(evaluator *v, tn_dtype t, tn_IntervalSet *x, tn_IntervalSet *y) {
  bool wraps = false;
  tn_expr *lo, *hi;
  int64_t cx[2], cy[2];
  if (constants(x, cx) && constants(y, cy) && t.lanes == 1) return mul_constants(t, cx, cy);
  if (arith_interval_is_point(x)) {
    tn_IntervalSet *turned = x;
    x = y, y = turned;
  }
  if (!arith_interval_is_point(y)) {
    bool positive = bounded(x) && bounded(y) && arith_prove_ge(v->a, x->min_value, 0) &&
                    arith_prove_ge(v->a, y->min_value, 0);
    if (!positive) return unknown(v, t, x, y);
    lo = bound(v, TN_TI_Mul, x->min_value, y->min_value, NULL, &wraps);
    hi = bound(v, TN_TI_Mul, x->max_value, y->max_value, NULL, &wraps);
    return unless(wraps, t, lo, hi);
  }
  tn_expr *by = y->min_value;
  if (tir_is_zero(by)) return y;
  bool grows = arith_prove_ge(v->a, by, 0), falls = !grows && arith_prove_lt(v->a, by, 1);
  if (!grows && !falls && !bounded(x)) return unknown(v, t, x, y);
  lo = times(v, falls ? x->max_value : x->min_value, by, falls, &wraps);
  hi = times(v, falls ? x->min_value : x->max_value, by, falls, &wraps);
  if (grows || falls) return unless(wraps, t, lo, hi);
  tn_expr *sign = tir_ge(by, tir_zero(by->dtype));
  return unless(wraps, t, tir_select(sign, lo, hi, NULL), tir_select(sign, hi, lo, NULL));
}

static tn_IntervalSet *divide(evaluator *v, tn_dtype t, uint32_t op, tn_IntervalSet *x,
                              tn_IntervalSet *y) {
  if (!arith_interval_is_point(y) || tir_is_zero(y->min_value)) return unknown(v, t, x, y);
  tn_expr *by = y->min_value;
  bool positive = arith_prove_ge(v->a, by, 1), negative = arith_prove_lt(v->a, by, 0);
  if (!positive && !negative) return unknown(v, t, x, y);
  tn_expr *lo = positive ? x->min_value : x->max_value,
          *hi = positive ? x->max_value : x->min_value;
  bool wraps = false;
  lo = bound(v, op, lo, by, arith_neg_inf(), &wraps);
  hi = bound(v, op, hi, by, arith_pos_inf(), &wraps);
  return unless(wraps, t, lo, hi);
}

static tn_IntervalSet *modulo(evaluator *v, tn_dtype t, uint32_t op, tn_IntervalSet *x,
                              tn_IntervalSet *y) {
  tn_expr *by = y->min_value;
  if (!arith_interval_is_point(y) || !arith_prove_ge(v->a, by, 1)) return unknown(v, t, x, y);
  uint32_t div = op == TN_TI_FloorMod ? TN_TI_FloorDiv : TN_TI_Div;
  tn_expr *top = tir_sub(by, tir_one(by->dtype)), *zero = tir_zero(by->dtype);
  bool flat = bounded(x) && (op == TN_TI_FloorMod || arith_prove_ge(v->a, x->min_value, 0));
  if (flat && arith_prove_equal(v->a, tir_binary(div, x->min_value, by, NULL),
                                tir_binary(div, x->max_value, by, NULL)))
    return arith_interval(tir_binary(op, x->min_value, by, NULL),
                          tir_binary(op, x->max_value, by, NULL));
  bool nonneg = op == TN_TI_FloorMod ||
                (!arith_is_inf(x->min_value) && arith_prove_ge(v->a, x->min_value, 0));
  return arith_interval(nonneg ? zero : tir_sub(zero, top), top);
}

static tn_IntervalSet *eval_binary(evaluator *v, tn_BinaryOp *e) {
  uint32_t op = e->hdr.type_index;
  tn_IntervalSet *x, *y;
  if (op >= TN_TI_EQ) return other(v, (tn_expr *)e);
  TN_GETP(x, eval(v, e->a));
  TN_GETP(y, eval(v, e->b));
  if (arith_interval_is_point(x) && arith_interval_is_point(y)) {
    bool zero = op >= TN_TI_Div && op <= TN_TI_FloorMod && tir_is_zero(y->min_value);
    return zero ? anything(e->dtype) : point(tir_binary(op, x->min_value, y->min_value, NULL));
  }
  if (arith_interval_is_none(x) || arith_interval_is_none(y)) return arith_interval_none();
  bool wraps = false, add = op == TN_TI_Add;
  tn_expr *lo, *hi;
  switch (op) {
  case TN_TI_Add:
  case TN_TI_Sub:
    lo = bound(v, op, x->min_value, add ? y->min_value : y->max_value, arith_neg_inf(), &wraps);
    hi = bound(v, op, x->max_value, add ? y->max_value : y->min_value, arith_pos_inf(), &wraps);
    return unless(wraps, e->dtype, lo, hi);
  case TN_TI_Mul: return mul(v, e->dtype, x, y);
  case TN_TI_Div:
  case TN_TI_FloorDiv: return divide(v, e->dtype, op, x, y);
  case TN_TI_Mod:
  case TN_TI_FloorMod: return modulo(v, e->dtype, op, x, y);
  case TN_TI_Min:
    return arith_interval(lesser(x->min_value, y->min_value), lesser(x->max_value, y->max_value));
  default:
    return arith_interval(greater(x->min_value, y->min_value), greater(x->max_value, y->max_value));
  }
}

/* Do the values keep their numbers in the new type? Indices do. */
static bool cast_fits(evaluator *v, tn_dtype to, tn_dtype from, const tn_IntervalSet *s) {
  bool wider =
      to.code == from.code ? to.bits >= from.bits : to.code == kDLInt && to.bits > from.bits;
  arith_bound all = arith_dtype_bound(to);
  const tn_expr *ends[] = {s->min_value, s->max_value};
  for (int i = 0; !wider && i < 2; ++i) {
    bool index = arith_is_index(to) && arith_is_index(from);
    if (arith_is_inf(ends[i])) {
      if (!index) return false;
      continue;
    }
    bool data, open;
    arith_bound b = arith_const_bound(v->a, ends[i]);
    arith_value_origin(v->a, ends[i], &data, &open);
    if ((b.min < all.min || b.max > all.max) && (!index || data || !open)) return false;
  }
  return true;
}

static tn_IntervalSet *eval_cast(evaluator *v, tn_Cast *e) {
  tn_IntervalSet *s;
  if (!ir_is_integral(e->value->dtype) || !ir_is_integral(e->dtype)) return other(v, (tn_expr *)e);
  TN_GETP(s, eval(v, e->value));
  if (!cast_fits(v, e->dtype, e->value->dtype, s)) return anything(e->dtype);
  return arith_interval(
      arith_is_inf(s->min_value) ? s->min_value : tir_cast(e->dtype, s->min_value, NULL),
      arith_is_inf(s->max_value) ? s->max_value : tir_cast(e->dtype, s->max_value, NULL));
}

static tn_IntervalSet *eval_ramp(evaluator *v, tn_Ramp *e) {
  tn_IntervalSet *base, *stride;
  TN_GETP(base, eval(v, e->base));
  TN_GETP(stride, eval(v, e->stride));
  int64_t step;
  if (!arith_interval_is_point(stride) || !tir_as_int((tn_obj *)stride->min_value, &step))
    return arith_interval_all();
  bool wraps = false;
  tn_expr *lanes, *last, *end;
  TN_GETP(lanes, tir_lanes(e->base->dtype, e->lanes, -1));
  TN_GETP(last, bound(v, TN_TI_Mul, stride->min_value, lanes, NULL, &wraps));
  if (step >= 0) {
    end = bound(v, TN_TI_Add, base->max_value, last, arith_pos_inf(), &wraps);
    return unless(wraps, e->dtype, base->min_value, end);
  }
  end = bound(v, TN_TI_Add, base->min_value, last, arith_neg_inf(), &wraps);
  return unless(wraps, e->dtype, end, base->max_value);
}

static tn_IntervalSet *eval(evaluator *v, tn_expr *e) {
  if (!e) return NULL;
  if (arith_deep()) return arith_interval_all();
  if (TN_AS_BINARY(e)) return eval_binary(v, TN_AS_BINARY(e));
  switch (e->hdr.type_index) {
  case TN_TI_IntImm: return point(e);
  case TN_TI_Var:
  case TN_TI_SizeVar: return eval_var(v, e);
  case TN_TI_Cast: return eval_cast(v, (tn_Cast *)e);
  case TN_TI_Ramp: return eval_ramp(v, (tn_Ramp *)e);
  case TN_TI_Broadcast: return eval(v, ((tn_Broadcast *)e)->value);
  case TN_TI_Select: {
    tn_IntervalSet *t = eval(v, ((tn_Select *)e)->true_value),
                   *f = eval(v, ((tn_Select *)e)->false_value);
    return arith_interval_union(v->a, t, f);
  }
  case TN_TI_Call:
    if (tir_as_call((tn_obj *)e, TIR_OP_if_then_else)) {
      tn_IntervalSet *t = eval(v, arith_arg((tn_Call *)e, 1)),
                     *f = eval(v, arith_arg((tn_Call *)e, 2));
      return arith_interval_union(v->a, t, f);
    }
    return other(v, e);
  default: return other(v, e);
  }
}

tn_IntervalSet *arith_int_set(arith_analyzer *a, tn_expr *e, const tn_map *dom) {
  evaluator v = {.a = a, .dom = dom};
  tn_IntervalSet *s;
  TN_GETP(s, eval(&v, e));
  TN_GETP(s, simple_interval(a, s->min_value, s->max_value));
  if (TN_AS(IntImm, e) || TN_AS(Var, e)) return s;
  return arith_interval(opened(s->min_value, true), opened(s->max_value, false));
}

int arith_known_bounds(arith_analyzer *a, tn_expr *e, arith_bound *out) {
  evaluator v = {.a = a, .known = true};
  tn_IntervalSet *s;
  tn_expr *min, *max;
  *out = arith_everything();
  TN_GET(s, eval(&v, e));
  if (arith_interval_is_none(s)) return 0;
  TN_GET(min, simple(a, s->min_value));
  TN_GET(max, simple(a, s->max_value));
  if (!arith_is_inf(min)) out->min = arith_const_bound(a, min).min;
  if (!arith_is_inf(max)) out->max = arith_const_bound(a, max).max;
  return 0;
}

tn_IntervalSet *arith_int_set_of_range(arith_analyzer *a, const tn_Range *r, const tn_map *dom) {
  tn_IntervalSet *lo, *hi;
  if (tir_is_one(r->extent)) return arith_int_set(a, r->min, dom);
  TN_GETP(lo, arith_int_set(a, r->min, dom));
  TN_GETP(hi,
          arith_int_set(a, tir_add(r->min, tir_sub(r->extent, tir_one(r->extent->dtype))), dom));
  return arith_interval(lo->min_value, hi->max_value);
}
