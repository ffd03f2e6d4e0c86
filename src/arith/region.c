/* Regions over loop domains, and deduction of a variable's bounds from a condition.

     region [i*4, i*4 + 4) for i in [0, 8)   =>   [0, 31]
     i*4 + j < n for all j in [0, 4)         =>   i <= (n - 4)//4 */
#include "arith/region.h"

#include "arith/arith_impl.h"
#include "arith/iter_map.h"
#include "ir/functor.h"

/* ---- regions ---- */

static const tn_Range *range_at(const tn_arr *region, int64_t i) {
  return TN_AS(Range, tn_arr_obj(region, i));
}

static int check_region(const tn_arr *region) {
  for (int64_t i = 0; i < region->len; ++i)
    TN_CHECK(range_at(region, i), TypeError, NULL, "region: expected an array of Range");
  return 0;
}

/* The range while its start moves in steps of `scale`, up or down; NULL in *out when it leaves
   gaps. */
static int cover(arith_analyzer *a, const tn_IterSumExpr *s, const tn_Range *r,
                 tn_IntervalSet **out) {
  tn_expr *extent = r->extent, *base = s->base;
  *out = NULL;
  if (s->args->len > 1) return 0;
  if (s->args->len == 1) {
    const tn_IterSplitExpr *x = (const tn_IterSplitExpr *)tn_arr_obj(s->args, 0);
    tn_expr *scale = x->scale, *last;
    bool down = arith_prove_lt(a, scale, 0);
    if (down) TN_GET(scale, tir_sub(tir_zero(scale->dtype), scale));
    if ((!down && !arith_prove_ge(a, scale, 0)) || !arith_prove(a, tir_ge(extent, scale))) return 0;
    TN_GET(last, tir_mul(tir_sub(x->extent, tir_one(x->extent->dtype)), scale));
    if (down) TN_GET(base, tir_sub(base, last));
    TN_GET(extent, tir_add(last, extent));
  }
  TN_GET(extent, arith_simplify(a, extent));
  TN_GET(*out, arith_interval_of_range(a, tir_range(arith_simplify(a, base), extent)));
  return 0;
}

int arith_region_exact(arith_analyzer *a, const tn_arr *region, const tn_map *ranges,
                       tn_expr *predicate, tn_arr **out) {
  TN_VEC(mins);
  TN_VEC(sets);
  tn_IterMapResult *r;
  *out = NULL;
  if (!region || !ranges) return -1; /* an error is pending */
  TN_TRY(check_region(region));
  for (int64_t i = 0; i < region->len; ++i)
    TN_TRY(tn_vec_push_obj(&mins, range_at(region, i)->min));
  TN_GET(r, iter_map_detect(a, tn_arr_from(&mins), ranges, predicate, ITER_MAP_SURJECTIVE, true));
  if (r->indices->len != region->len) return 0;
  for (int64_t i = 0; i < region->len; ++i) {
    tn_IntervalSet *s;
    TN_TRY(cover(a, (tn_IterSumExpr *)tn_arr_obj(r->indices, i), range_at(region, i), &s));
    if (!s) return 0;
    TN_TRY(tn_vec_push_obj(&sets, s));
  }
  TN_GET(*out, tn_arr_from(&sets));
  return 0;
}

tn_arr *arith_region_upper(arith_analyzer *a, const tn_arr *region, const tn_map *ranges,
                           tn_expr *predicate) {
  TN_VEC(sets);
  tn_arr *exact;
  TN_TRYP(arith_region_exact(a, region, ranges, predicate, &exact));
  if (exact) return exact;
  for (int64_t i = 0; i < region->len; ++i) {
    const tn_Range *r = range_at(region, i);
    TN_TRYP(arith_region_exact(a, tn_arr_of(1, r), ranges, predicate, &exact));
    tn_IntervalSet *s =
        exact ? (tn_IntervalSet *)tn_arr_obj(exact, 0) : arith_int_set_of_range(a, r, ranges);
    TN_TRYP(!s || tn_vec_push_obj(&sets, s));
  }
  return tn_arr_from(&sets);
}

/* ---- bounds of one variable ---- */

static int is_it(void *ctx, tn_obj *o) { return o == (tn_obj *)ctx; }
/* What cannot be looked through counts as using it. */
static bool uses(const tn_expr *e, const tn_Var *v) {
  int r = tn_post_order(e, is_it, (void *)(uintptr_t)v);
  if (r < 0) tn_error_clear();
  return r != 0;
}

typedef struct {
  arith_analyzer *a;
  tn_Var *v;
  tn_expr *side; /* holds v */
  tn_expr *to;   /* does not */
  int dir;       /* -1: side <= to, 1: side >= to, 0: side == to */
  bool failed;
} deducer;

static int give_up(deducer *d) {
  d->failed = true;
  return 0;
}

static tn_expr *one_like(tn_expr *e) { return e ? tir_one(e->dtype) : NULL; }

/* x op y; the deduction ends where that may wrap around. */
static int moved(deducer *d, uint32_t op, tn_expr *x, tn_expr *y, tn_expr **out) {
  if (!x || !y) return -1;
  d->failed |= arith_result_wraps(d->a, op, x, y);
  TN_GET(*out, tir_binary(op, x, y, NULL));
  return 0;
}

/* Brings the condition to  side <= to, side >= to  or  side == to. */
static int start(deducer *d, tn_expr *cond) {
  const tn_BinaryOp *o = TN_AS_BINARY(cond);
  uint32_t t = cond->hdr.type_index;
  if (!o || t < TN_TI_EQ || t > TN_TI_GE || t == TN_TI_NE || !ir_is_integral(o->a->dtype))
    return give_up(d);
  tn_expr *a = o->a, *b = o->b;
  if (uses(a, d->v) && uses(b, d->v)) {
    TN_TRY(moved(d, TN_TI_Sub, a, b, &a));
    TN_GET(a, arith_simplify(d->a, a));
    b = tir_zero(a->dtype);
  }
  d->dir = t == TN_TI_EQ ? 0 : t == TN_TI_LT || t == TN_TI_LE ? -1 : 1;
  bool left = uses(a, d->v);
  if (!left && !uses(b, d->v)) return give_up(d);
  d->side = left ? a : b;
  d->to = left ? b : a;
  if (!left) d->dir = -d->dir;
  bool strict = t == TN_TI_LT || t == TN_TI_GT;
  return strict ? moved(d, d->dir < 0 ? TN_TI_Sub : TN_TI_Add, d->to, one_like(d->to), &d->to) : 0;
}

/* x * by (to 1, 2, ...): side <= to  =>  x <= to // by */
static int through_mul(deducer *d, tn_expr *x, tn_expr *by) {
  bool negative = arith_prove_lt(d->a, by, 0);
  if (!negative && !arith_prove_ge(d->a, by, 1)) return give_up(d);
  if (negative) {
    tn_expr *zero = tir_zero(by->dtype);
    TN_TRY(moved(d, TN_TI_Sub, zero, by, &by));
    TN_TRY(moved(d, TN_TI_Sub, zero, d->to, &d->to));
    d->dir = -d->dir;
  }
  if (d->dir == 0 && !arith_prove_equal(d->a, tir_floormod(d->to, by), tir_zero(by->dtype)))
    return give_up(d);
  if (d->dir > 0) TN_TRY(moved(d, TN_TI_Add, d->to, tir_sub(by, one_like(by)), &d->to));
  d->side = x;
  return moved(d, TN_TI_FloorDiv, d->to, by, &d->to);
}

static int through_div(deducer *d, tn_expr *x, tn_expr *by) {
  if (!arith_prove_ge(d->a, by, 1) || d->dir == 0) return give_up(d);
  TN_TRY(moved(d, TN_TI_Mul, d->to, by, &d->to));
  d->side = x;
  return d->dir < 0 ? moved(d, TN_TI_Add, d->to, tir_sub(by, one_like(by)), &d->to) : 0;
}

static int step(deducer *d) {
  const tn_BinaryOp *o = TN_AS_BINARY(d->side);
  if (!o) return give_up(d);
  bool in_a = uses(o->a, d->v), in_b = uses(o->b, d->v);
  tn_expr *x = in_a ? o->a : o->b, *rest = in_a ? o->b : o->a;
  if ((in_a && in_b) || arith_wraps(d->a, d->side)) return give_up(d);
  switch (o->hdr.type_index) {
  case TN_TI_Add: TN_TRY(moved(d, TN_TI_Sub, d->to, rest, &d->to)); break;
  case TN_TI_Sub:
    if (in_a) TN_TRY(moved(d, TN_TI_Add, d->to, rest, &d->to));
    else TN_TRY(moved(d, TN_TI_Sub, rest, d->to, &d->to));
    if (in_b) d->dir = -d->dir;
    break;
  case TN_TI_Mul: return through_mul(d, x, rest);
  case TN_TI_FloorDiv: return in_a ? through_div(d, x, rest) : give_up(d);
  default: return give_up(d);
  }
  d->side = x;
  return 0;
}

static tn_IntervalSet *finish(deducer *d, const tn_map *relax) {
  tn_IntervalSet *s;
  TN_GETP(s, arith_int_set(d->a, d->to, relax));
  if (d->dir == 0) return arith_same(s->min_value, s->max_value) ? s : arith_interval_none();
  tn_expr *bound = d->dir < 0 ? s->min_value : s->max_value;
  if (arith_is_inf(bound)) return arith_interval_none();
  arith_bound all = arith_dtype_bound(bound->dtype);
  int64_t c; /* the end of the type is not a bound, and has no number beyond it */
  if (tir_as_int((tn_obj *)bound, &c) && (d->dir < 0 ? c >= all.max : c <= all.min))
    return arith_interval_all();
  return d->dir < 0 ? arith_interval(arith_neg_inf(), bound)
                    : arith_interval(bound, arith_pos_inf());
}

static tn_IntervalSet *deduce(arith_analyzer *a, tn_Var *v, tn_expr *cond, const tn_map *relax) {
  const tn_BinaryOp *o = TN_AS_BINARY(cond);
  tn_Call *likely = tir_as_call((tn_obj *)cond, TIR_OP_likely);
  if (likely) return deduce(a, v, arith_arg(likely, 0), relax);
  if (cond->hdr.type_index == TN_TI_And) {
    tn_IntervalSet *x = deduce(a, v, o->a, relax), *y = deduce(a, v, o->b, relax);
    return arith_interval_intersect(a, x, y);
  }
  deducer d = {.a = a, .v = v};
  TN_TRYP(start(&d, cond));
  while (!d.failed && d.side != (tn_expr *)v) TN_TRYP(step(&d));
  return d.failed ? arith_interval_none() : finish(&d, relax);
}

static int bind_hints(arith_analyzer *a, const tn_map *hint, tn_vec *bound) {
  tn_any k, x;
  for (int64_t i = 0; hint && tn_map_at(hint, i, &k, &x); ++i) {
    tn_Var *v = tn_any_is_obj(&k) && TN_IS(Var, k.v.obj) ? (tn_Var *)k.v.obj : NULL;
    tn_IntervalSet *s;
    TN_CHECK(v && tn_any_is_obj(&x), TypeError, NULL,
             "hint_map: expected a map from Var to IntSet");
    TN_GET(s, arith_interval_from(a, x.v.obj));
    const arith_var *known = arith_known(a, (tn_expr *)v);
    if (known && (known->value || known->has_bound)) continue;
    TN_TRY(arith_know_between(a, v, s->min_value, s->max_value));
    TN_TRY(tn_vec_push_obj(bound, v));
  }
  return 0;
}

tn_IntervalSet *arith_deduce_bound(arith_analyzer *a, tn_Var *v, tn_expr *cond, const tn_map *hint,
                                   const tn_map *relax) {
  TN_VEC(bound);
  tn_IntervalSet *s = NULL;
  if (!v || !cond) return NULL; /* an error is pending */
  if (!bind_hints(a, hint, &bound) && !bind_hints(a, relax, &bound)) s = deduce(a, v, cond, relax);
  for (int64_t i = 0; i < bound.len; ++i) arith_unbind(a, (tn_Var *)bound.items[i].v.obj);
  return s;
}
