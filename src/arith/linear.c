/* Linear expressions:  x*4 + y + n  in [x, y]  =>  [4, 1, n];  limits of single variables in
   conjunctions of comparisons. */
#include "arith/arith_impl.h"
#include "arith/region.h"
#include "ir/functor.h"

/* coeff * v + base; coeff NULL: 0 */
typedef struct {
  tn_expr *coeff, *base;
} linear;

static int is_it(void *ctx, tn_obj *o) { return o == (tn_obj *)ctx; }
/* What cannot be looked through counts as using it. */
static bool uses(const tn_expr *e, const tn_obj *v) {
  int r = tn_post_order(e, is_it, (void *)(uintptr_t)v);
  if (r < 0) tn_error_clear();
  return r != 0;
}

/* 1: done, 0: not linear, -1: error */
static int detect(tn_expr *e, const tn_obj *v, linear *out);

static tn_expr *combine(uint32_t op, tn_expr *x, tn_expr *y) {
  if (!y) return x;
  if (!x) return op == TN_TI_Sub ? tir_neg(y, NULL) : y;
  return tir_binary(op, x, y, NULL);
}

static int detect_binary(tn_BinaryOp *e, const tn_obj *v, linear *out) {
  uint32_t op = e->hdr.type_index;
  linear x, y;
  int r;
  if ((r = detect(e->a, v, &x)) != 1 || (r = detect(e->b, v, &y)) != 1) return r;
  if (op == TN_TI_Mul) {
    if (x.coeff && y.coeff) return 0;
    tn_expr *coeff = x.coeff ? x.coeff : y.coeff, *by = x.coeff ? y.base : x.base;
    *out = (linear){coeff ? tir_mul(coeff, by) : NULL, tir_mul(x.base, y.base)};
    return (coeff && !out->coeff) || !out->base ? -1 : 1;
  }
  if (op != TN_TI_Add && op != TN_TI_Sub) {
    *out = (linear){NULL, (tn_expr *)e};
    return !x.coeff && !y.coeff;
  }
  *out = (linear){combine(op, x.coeff, y.coeff), tir_binary(op, x.base, y.base, NULL)};
  return ((x.coeff || y.coeff) && !out->coeff) || !out->base ? -1 : 1;
}

static int detect(tn_expr *e, const tn_obj *v, linear *out) {
  if ((tn_obj *)e == v) {
    *out = (linear){tir_one(e->dtype), tir_zero(e->dtype)};
    return out->coeff && out->base ? 1 : -1;
  }
  tn_BinaryOp *o = TN_AS_BINARY(e);
  if (o && o->hdr.type_index <= TN_TI_Mul && uses(e, v)) return detect_binary(o, v, out);
  *out = (linear){NULL, e};
  return !uses(e, v);
}

static bool independent(const tn_expr *e, const tn_arr *vars) {
  for (int64_t i = 0; i < vars->len; ++i)
    if (uses(e, tn_arr_obj(vars, i))) return false;
  return true;
}

tn_arr *arith_linear(tn_expr *e, const tn_arr *vars) {
  TN_VEC(out);
  tn_expr *base = e;
  if (!e || !vars) return NULL; /* an error is pending */
  for (int64_t i = 0; i < vars->len; ++i) {
    linear l;
    int r = detect(base, tn_arr_obj(vars, i), &l);
    if (r < 0) return NULL;
    if (r == 0) return tn_arr_of(0);
    base = l.base;
    if (!l.coeff) TN_GETP(l.coeff, tir_zero(e->dtype));
    if (!independent(l.coeff, vars)) return tn_arr_of(0);
    TN_TRYP(tn_vec_push_obj(&out, l.coeff));
  }
  TN_TRYP(tn_vec_push_obj(&out, base));
  return tn_arr_from(&out);
}

/* ---- limits ---- */

typedef struct {
  arith_analyzer *a;
  const tn_arr *vars;
  tn_vec limits; /* min, max of each variable or None */
  bool failed;
} clipper;

/* e <= 0, or e == 0: linear in one variable with a factor of 1 or -1 */
static int limit(clipper *c, tn_expr *e, bool equal) {
  tn_arr *l;
  int64_t which = -1, f = 0;
  TN_GET(l, arith_linear(e, c->vars));
  for (int64_t i = 0; i + 1 < l->len; ++i) {
    int64_t k;
    if (tir_is_zero(tn_arr_obj(l, i))) continue;
    bool unit = tir_as_int(tn_arr_obj(l, i), &k) && (k == 1 || k == -1);
    if (which >= 0 || !unit) return c->failed = true, 0;
    which = i, f = k;
  }
  if (l->len == 0 || which < 0) return c->failed = true, 0;
  tn_expr *base = (tn_expr *)tn_arr_obj(l, l->len - 1), *v;
  TN_GET(v, arith_simplify(c->a, f > 0 ? tir_neg(base, NULL) : base));
  for (int side = 0; side < 2; ++side) { /* 0: minimum, 1: maximum */
    if (!equal && side == (f < 0)) continue;
    tn_any *slot = &c->limits.items[2 * which + side];
    tn_expr *old = tn_any_is_obj(slot) ? (tn_expr *)slot->v.obj : NULL, *now = v;
    if (old) TN_GET(now, side ? tir_min(old, v) : tir_max(old, v));
    *slot = tn_any_obj(now);
  }
  return 0;
}

static int clip(clipper *c, tn_expr *cond);

/* What min(x, y) > e and max(x, y) < e say of x and y, which is the same of both. 0: not such a
   comparison, 1: done, -1: error */
static int clip_both(clipper *c, const tn_BinaryOp *o) {
  uint32_t t = o->hdr.type_index;
  bool less = t == TN_TI_LT || t == TN_TI_LE, greater = t == TN_TI_GT || t == TN_TI_GE;
  for (int side = 0; side < 2 && (less || greater); ++side) {
    const tn_expr *e = side ? o->b : o->a;
    const tn_BinaryOp *both = TN_AS_BINARY(e);
    if (e->hdr.type_index != (less == !side ? TN_TI_Max : TN_TI_Min)) continue;
    for (int i = 0; i < 2; ++i) {
      tn_expr *x = i ? both->b : both->a, *one;
      TN_GET(one, tir_binary(t, side ? o->a : x, side ? x : o->b, o->span));
      TN_TRY(clip(c, one));
    }
    return 1;
  }
  return 0;
}

static int clip(clipper *c, tn_expr *cond) {
  if (!cond) return -1; /* an error is pending */
  const tn_BinaryOp *o = TN_AS_BINARY(cond);
  uint32_t t = cond->hdr.type_index;
  tn_Call *likely = tir_as_call((tn_obj *)cond, TIR_OP_likely);
  tn_BinaryOp *denied = TN_IS(Not, cond) ? TN_AS_BINARY(((tn_Not *)cond)->a) : NULL;
  tn_expr *e;
  if (likely) return clip(c, arith_arg(likely, 0));
  if (denied && arith_is_comparison(denied)) return clip(c, arith_opposite(denied));
  if (tir_is_one(cond)) return 0;
  if (t == TN_TI_And) {
    TN_TRY(clip(c, o->a));
    return clip(c, o->b);
  }
  if (!o || t < TN_TI_EQ || t > TN_TI_GE || t == TN_TI_NE || !ir_is_integral(o->a->dtype) ||
      !arith_exact(c->a, o->a) || !arith_exact(c->a, o->b) ||
      arith_result_wraps(c->a, TN_TI_Sub, o->a, o->b))
    return c->failed = true, 0;
  int both = clip_both(c, o);
  if (both) return both < 0 ? -1 : 0;
  bool less = t == TN_TI_LT || t == TN_TI_LE || t == TN_TI_EQ;
  TN_GET(e, less ? tir_sub(o->a, o->b) : tir_sub(o->b, o->a));
  if (t == TN_TI_LT || t == TN_TI_GT) TN_GET(e, tir_add(e, tir_one(e->dtype)));
  return limit(c, e, t == TN_TI_EQ);
}

tn_arr *arith_clip_bound(arith_analyzer *a, tn_expr *cond, const tn_arr *vars) {
  clipper c = {.a = a, .vars = vars};
  tn_arr *r = NULL;
  int err = 0;
  if (!cond || !vars) return NULL; /* an error is pending */
  for (int64_t i = 0; i < 2 * vars->len && !err; ++i) err = tn_vec_push(&c.limits, tn_any_none());
  if (!err) err = clip(&c, cond);
  if (!err) r = c.failed ? tn_arr_of(0) : tn_arr_from(&c.limits);
  tn_vec_fini(&c.limits);
  return r;
}
