/* Indices as sums of splits (see iter_map.h): rewriting of expressions, fusing. */
#include "arith/iter_map_impl.h"

#include "ir/functor.h"

/* ---- nodes ---- */

tn_IterSplitExpr *iter_split(tn_IterMark *m, tn_expr *lower, tn_expr *extent, tn_expr *scale) {
  return TN_MAKE(IterSplitExpr, .source = m, .lower_factor = lower, .extent = extent,
                 .scale = scale);
}
tn_IterSumExpr *iter_sum_of(const tn_vec *args, tn_expr *base) {
  return TN_MAKE(IterSumExpr, .args = tn_arr_from(args), .base = base);
}
tn_IterSumExpr *iter_sum_one(tn_IterSplitExpr *s, tn_expr *base) {
  return TN_MAKE(IterSumExpr, .args = tn_arr_of(1, s), .base = base);
}
static tn_IterSumExpr *constant(tn_expr *base) {
  return TN_MAKE(IterSumExpr, .args = tn_arr_of(0), .base = base);
}
static tn_IterSplitExpr *scaled(tn_IterSplitExpr *s, tn_expr *scale) {
  return iter_split(s->source, s->lower_factor, s->extent, scale);
}

int iter_fail(iter_ctx *c, const char *why, tn_expr *e) {
  tn_str *t;
  TN_GET(t, tn_str_fmt("%s (%s)", why, e ? e->hdr.type->name : "index"));
  c->failed = true;
  return tn_vec_push_obj(&c->errors, t);
}

bool iter_divides(iter_ctx *c, tn_expr *x, tn_expr *y) {
  int64_t p, q;
  if (tir_as_int((tn_obj *)x, &p) && tir_as_int((tn_obj *)y, &q)) return p != 0 && q % p == 0;
  if (tir_is_one(x)) return true;
  return !tir_is_zero(x) && arith_prove_equal(c->a, tir_floormod(y, x), tir_zero(y->dtype));
}

/* ---- start: the variables ---- */

static int add_var(iter_ctx *c, tn_Var *v, const tn_Range *r, bool simplify_trivial) {
  tn_expr *zero = tir_zero(v->dtype), *one = tir_one(v->dtype), *source = (tn_expr *)v, *extent;
  tn_IterSumExpr *s;
  TN_GET(extent, iter_simple(c, tir_cast(v->dtype, r->extent, NULL)));
  if (simplify_trivial && tir_is_one(extent)) {
    TN_GET(s, constant(r->min));
  } else {
    if (!tir_is_zero(r->min)) source = tir_sub(source, r->min);
    tn_IterMark *m = TN_NEW(IterMark, .source = source, .extent = extent);
    TN_GET(s, iter_sum_one(iter_split(m, one, extent, one), tir_is_zero(r->min) ? zero : r->min));
  }
  return tn_pmap_put(&c->vars, v, s);
}

int iter_bind(arith_analyzer *a, const tn_map *ranges, tn_vec *bound) {
  tn_any k, x;
  for (int64_t i = 0; tn_map_at(ranges, i, &k, &x); ++i) {
    tn_Var *v = (tn_Var *)k.v.obj;
    const arith_var *known = arith_known(a, (tn_expr *)v);
    if (known && (known->value || known->has_bound)) continue;
    TN_TRY(arith_bind_range(a, v, (const tn_Range *)x.v.obj, true));
    TN_TRY(tn_vec_push_obj(bound, v));
  }
  return 0;
}

void iter_unbind(arith_analyzer *a, tn_vec *bound) {
  for (int64_t i = 0; i < bound->len; ++i) arith_unbind(a, (tn_Var *)bound->items[i].v.obj);
  tn_vec_fini(bound);
}

enum { MAX_FACTORS = 8 };

/* Indices are asked for where there are iterations: extents are 1 or more, and so is each factor of
   one, none being negative:  n*n*32 >= 1  =>  n >= 1. */
static int know_positive(arith_analyzer *a, tn_expr *e, int depth) {
  tn_expr *plain, *cond, *zero;
  int64_t value;
  if (tir_as_int((tn_obj *)e, &value) || depth == MAX_FACTORS) return 0;
  TN_GET(zero, tir_zero(e->dtype));
  TN_GET(plain, tir_lt(zero, e));
  TN_GET(cond, arith_simplify(a, plain));
  if (TN_IS(IntImm, cond)) cond = plain;
  if (arith_enter(a, plain) < 0 || arith_enter(a, cond) < 0) return -1;
  const tn_BinaryOp *o = TN_AS(LT, cond) ? TN_AS_BINARY(cond) : NULL;
  const tn_BinaryOp *product = o && TN_IS(Mul, o->b) ? TN_AS_BINARY(o->b) : NULL;
  if (!product || !tir_is_zero(o->a)) return 0;
  if (!arith_prove_ge(a, product->a, 0) || !arith_prove_ge(a, product->b, 0)) return 0;
  TN_TRY(know_positive(a, product->a, depth + 1));
  return know_positive(a, product->b, depth + 1);
}

int iter_know_extents(arith_analyzer *a, const tn_map *ranges) {
  tn_any k, x;
  for (int64_t i = 0; tn_map_at(ranges, i, &k, &x); ++i)
    TN_TRY(know_positive(a, ((const tn_Range *)x.v.obj)->extent, 0));
  return 0;
}

int iter_ctx_init(iter_ctx *c, arith_analyzer *a, const tn_map *ranges, bool simplify_trivial) {
  tn_any k, x;
  *c = (iter_ctx){.a = a, .ranges = ranges, .mark = a->nfacts};
  for (int64_t i = 0; tn_map_at(ranges, i, &k, &x); ++i) {
    tn_Var *v = tn_any_is_obj(&k) && TN_IS(Var, k.v.obj) ? (tn_Var *)k.v.obj : NULL;
    const tn_Range *r = tn_any_is_obj(&x) ? TN_AS(Range, x.v.obj) : NULL;
    TN_CHECK(v && r, TypeError, NULL, "input_iters: expected a map from Var to Range");
    TN_TRY(add_var(c, v, r, simplify_trivial));
  }
  TN_TRY(iter_bind(a, ranges, &c->bound));
  return iter_know_extents(a, ranges);
}

void iter_ctx_fini(iter_ctx *c) {
  iter_unbind(c->a, &c->bound);
  arith_leave(c->a, c->mark);
  tn_pmap_fini(&c->vars);
  tn_vec_fini(&c->fused);
  tn_vec_fini(&c->constrained);
  tn_vec_fini(&c->errors);
}

/* ---- sums ---- */

static bool same_source(const tn_IterSplitExpr *x, const tn_IterSplitExpr *y) {
  return x->source == y->source && arith_same(x->lower_factor, y->lower_factor) &&
         arith_same(x->extent, y->extent);
}

/* Adds a split to a list: one of the same source is added up, and dropped when nothing remains. */
static int add_split(iter_ctx *c, tn_vec *args, tn_IterSplitExpr *s) {
  for (int64_t i = 0; i < args->len; ++i) {
    tn_IterSplitExpr *y = iter_at(args, i);
    if (!same_source(y, s)) continue;
    tn_expr *scale;
    TN_GET(scale, iter_simple(c, tir_add(y->scale, s->scale)));
    if (tir_is_zero(scale)) {
      for (int64_t k = i; k + 1 < args->len; ++k) args->items[k] = args->items[k + 1];
      --args->len;
      return 0;
    }
    TN_GET(s, scaled(y, scale));
    args->items[i] = tn_any_obj(s);
    return 0;
  }
  return tn_vec_push_obj(args, s);
}

static tn_IterSumExpr *add(iter_ctx *c, tn_IterSumExpr *x, tn_IterSumExpr *y, bool minus) {
  TN_VEC(args);
  for (int64_t i = 0; i < x->args->len; ++i) TN_TRYP(add_split(c, &args, iter_arg(x, i)));
  for (int64_t i = 0; i < y->args->len; ++i) {
    tn_IterSplitExpr *s = iter_arg(y, i);
    if (minus) TN_GETP(s, scaled(s, iter_simple(c, tir_neg(s->scale, NULL))));
    TN_TRYP(add_split(c, &args, s));
  }
  tn_expr *base;
  TN_GETP(base, iter_simple(c, minus ? tir_sub(x->base, y->base) : tir_add(x->base, y->base)));
  return iter_sum_of(&args, base);
}

static tn_IterSumExpr *mul(iter_ctx *c, tn_IterSumExpr *x, tn_expr *by) {
  TN_VEC(args);
  tn_expr *base;
  TN_GETP(base, iter_simple(c, tir_mul(x->base, by)));
  if (tir_is_zero(by)) return constant(base);
  for (int64_t i = 0; i < x->args->len; ++i) {
    tn_IterSplitExpr *s = iter_arg(x, i);
    TN_GETP(s, scaled(s, iter_simple(c, tir_mul(s->scale, by))));
    TN_TRYP(tn_vec_push_obj(&args, s));
  }
  return iter_sum_of(&args, base);
}

/* ---- fusing ---- */

/* The split among the unused ones whose scale is `want`; with want NULL the one of the smallest
   constant scale, or the last. */
static int64_t find_scale(iter_ctx *c, const tn_IterSumExpr *s, const bool *used, tn_expr *want) {
  int64_t best = -1, best_scale = 0, v;
  for (int64_t i = s->args->len - 1; i >= 0; --i) {
    if (used[i]) continue;
    tn_expr *scale = iter_arg(s, i)->scale;
    if (want) {
      if (iter_equal(c, scale, want)) return i;
      continue;
    }
    bool is_const = tir_as_int((tn_obj *)scale, &v);
    if (is_const && (best < 0 || best_scale == 0 || v < best_scale)) best = i, best_scale = v;
    else if (best < 0) best = i;
  }
  return best;
}

static bool same_form(const tn_IterMark *m, const tn_vec *args) {
  const tn_IterSumExpr *s = TN_AS(IterSumExpr, m->source);
  if (!s || s->args->len != args->len) return false;
  for (int64_t i = 0; i < args->len; ++i) {
    const tn_IterSplitExpr *x = iter_arg(s, i), *y = iter_at(args, i);
    if (!same_source(x, y) || !arith_same(x->scale, y->scale)) return false;
  }
  return true;
}

/* The mark of a fused sum: one that was made before has the extent that the predicate gave it. */
static tn_IterMark *mark_of(iter_ctx *c, const tn_vec *args, tn_expr *extent) {
  for (int64_t i = 0; i < c->fused.len; ++i) {
    tn_IterMark *m = (tn_IterMark *)c->fused.items[i].v.obj;
    if (same_form(m, args)) return m;
  }
  tn_IterSumExpr *s;
  tn_IterMark *m;
  TN_GETP(s, iter_sum_of(args, tir_zero(extent->dtype)));
  TN_GETP(m, TN_NEW(IterMark, .source = (tn_expr *)s, .extent = extent));
  TN_TRYP(tn_vec_push_obj(&c->fused, m));
  return m;
}

static void reverse(tn_vec *v) {
  for (int64_t i = 0, j = v->len - 1; i < j; ++i, --j) {
    tn_any t = v->items[i];
    v->items[i] = v->items[j], v->items[j] = t;
  }
}

enum { MAX_SPLITS = 64 };

/* Collects the splits from the innermost outward, scales divided by the innermost one's. */
static int collect(iter_ctx *c, const tn_IterSumExpr *s, tn_vec *args, tn_expr **unit,
                   tn_expr **extent) {
  bool used[MAX_SPLITS] = {false};
  int64_t i = find_scale(c, s, used, NULL);
  *unit = iter_arg(s, i)->scale;
  TN_GET(*extent, tir_one((*unit)->dtype));
  for (int64_t n = 0; n < s->args->len; ++n) {
    if (n) {
      tn_expr *want;
      TN_GET(want, iter_simple(c, tir_mul(*unit, *extent)));
      i = find_scale(c, s, used, want);
      if (i < 0) return iter_fail(c, "the iterators do not fit together into one", NULL);
    }
    tn_IterSplitExpr *x = iter_arg(s, i);
    used[i] = true;
    TN_GET(x, scaled(x, *extent));
    TN_TRY(tn_vec_push_obj(args, x));
    TN_GET(*extent, iter_simple(c, tir_mul(*extent, x->extent)));
  }
  reverse(args);
  return 0;
}

/* The position of the split of that source in the sum, or -1. */
static int64_t find_source(const tn_IterSumExpr *s, const tn_IterSplitExpr *x) {
  for (int64_t i = 0; i < s->args->len; ++i)
    if (same_source(iter_arg(s, i), x)) return i;
  return -1;
}

/* Puts a mark that the predicate limits in the place of the splits it is made of, where all of them
   are there with scales in the same proportion:  i*8 + j < 60  in  i*256 + j*32 + k. */
static int put_mark(iter_ctx *c, tn_IterMark *m, tn_IterSumExpr **sum) {
  const tn_IterSumExpr *parts = TN_AS(IterSumExpr, m->source);
  tn_IterSumExpr *s = *sum;
  bool taken[MAX_SPLITS] = {false};
  tn_expr *unit = NULL, *scale;
  for (int64_t i = parts ? parts->args->len - 1 : -1; i >= 0; --i) {
    const tn_IterSplitExpr *part = iter_arg(parts, i);
    int64_t at = find_source(s, part);
    if (at < 0) return 0;
    if (!unit) unit = iter_arg(s, at)->scale; /* the innermost one, whose own scale is 1 */
    TN_GET(scale, tir_mul(part->scale, unit));
    if (!iter_equal(c, scale, iter_arg(s, at)->scale)) return 0;
    taken[at] = true;
  }
  if (!unit) return 0;
  TN_VEC(args);
  tn_IterSplitExpr *whole;
  TN_GET(whole, iter_split(m, tir_one(unit->dtype), m->extent, unit));
  TN_TRY(tn_vec_push_obj(&args, whole));
  for (int64_t i = 0; i < s->args->len; ++i)
    if (!taken[i]) TN_TRY(tn_vec_push_obj(&args, iter_arg(s, i)));
  TN_GET(*sum, iter_sum_of(&args, s->base));
  return 0;
}

tn_IterSumExpr *iter_fuse(iter_ctx *c, tn_IterSumExpr *s) {
  TN_VEC(args);
  tn_expr *unit, *extent;
  tn_IterMark *m;
  if (s->args->len <= 1) return s;
  if (s->args->len > MAX_SPLITS) {
    TN_TRYP(iter_fail(c, "too many iterators in one index", NULL));
    return s;
  }
  for (int64_t i = 0; i < c->constrained.len; ++i)
    TN_TRYP(put_mark(c, (tn_IterMark *)c->constrained.items[i].v.obj, &s));
  if (s->args->len == 1) return s;
  TN_TRYP(collect(c, s, &args, &unit, &extent));
  if (c->failed) return s;
  TN_GETP(m, mark_of(c, &args, extent));
  return iter_sum_one(iter_split(m, tir_one(extent->dtype), m->extent, unit), s->base);
}

/* ---- division and remainder ---- */

/* All scales and the base are multiples of c: nothing needs to be fused. */
static bool divisible(iter_ctx *c, const tn_IterSumExpr *s, tn_expr *by) {
  for (int64_t i = 0; i < s->args->len; ++i)
    if (!iter_divides(c, by, iter_arg(s, i)->scale)) return false;
  return true;
}

static tn_IterSumExpr *divide_all(iter_ctx *c, const tn_IterSumExpr *s, tn_expr *by) {
  TN_VEC(args);
  for (int64_t i = 0; i < s->args->len; ++i) {
    tn_IterSplitExpr *x = iter_arg(s, i);
    TN_GETP(x, scaled(x, iter_simple(c, tir_floordiv(x->scale, by))));
    TN_TRYP(tn_vec_push_obj(&args, x));
  }
  return iter_sum_of(&args, iter_simple(c, tir_floordiv(s->base, by)));
}

static tn_IterSumExpr *give_up(iter_ctx *c, const char *why, tn_expr *e, tn_IterSumExpr *s) {
  TN_TRYP(iter_fail(c, why, e));
  return s;
}

/* Parts of the sum that are multiples of c, when the rest is below c: x*8 + y over 4, y < 4. */
static tn_IterSumExpr *without_multiples(iter_ctx *c, tn_IterSumExpr *s, tn_expr *by,
                                         bool multiples) {
  TN_VEC(args);
  for (int64_t i = 0; i < s->args->len; ++i)
    if (iter_divides(c, by, iter_arg(s, i)->scale) == multiples)
      TN_TRYP(tn_vec_push_obj(&args, iter_arg(s, i)));
  return iter_sum_of(&args, multiples ? tir_zero(s->base->dtype) : s->base);
}

/* One split: scale * k + base, over `by`. */
static tn_IterSumExpr *divide_one(iter_ctx *c, tn_IterSumExpr *s, tn_expr *by, bool quotient,
                                  tn_expr *e) {
  tn_IterSplitExpr *x = iter_arg(s, 0);
  tn_expr *zero = tir_zero(s->base->dtype), *one = tir_one(s->base->dtype), *q, *rest = zero;
  int64_t sign;
  if ((tir_as_int((tn_obj *)x->scale, &sign) && sign < 0) ||
      (tir_as_int((tn_obj *)by, &sign) && sign < 0))
    return give_up(c, "a factor of the division is negative", e, s);
  if (!iter_divides(c, x->scale, by) || !iter_divides(c, x->scale, s->base))
    return give_up(c, "the divisor is not a multiple of the iterator's scale", e, s);
  TN_GETP(q, iter_simple(c, tir_floordiv(by, x->scale)));
  bool fits = iter_divides(c, by, s->base) &&
              (iter_divides(c, q, x->extent) || arith_prove(c->a, tir_le(x->extent, q)));
  if (c->padding && (!fits || iter_is_padded(c, x))) {
    tn_expr *offset;
    bool done;
    TN_GETP(offset, iter_simple(c, tir_floordiv(s->base, x->scale)));
    tn_IterSumExpr *padded = iter_divide_padded(c, x, q, offset, quotient, &done);
    if (done) return padded;
  }
  if (!iter_divides(c, by, s->base))
    return give_up(c, "the offset would need padding to be divided", e, s);
  if (quotient) TN_GETP(rest, iter_simple(c, tir_floordiv(s->base, by)));
  if (iter_divides(c, q, x->extent)) {
    tn_expr *n;
    TN_GETP(n, iter_simple(c, tir_floordiv(x->extent, q)));
    if (!quotient) return iter_sum_one(iter_split(x->source, x->lower_factor, q, x->scale), zero);
    if (tir_is_one(n)) return constant(rest);
    TN_GETP(q, iter_simple(c, tir_mul(x->lower_factor, q)));
    return iter_sum_one(iter_split(x->source, q, n, one), rest);
  }
  if (arith_prove(c->a, tir_le(x->extent, q)))
    return quotient ? constant(rest) : iter_sum_one(x, zero);
  return give_up(c, "the extent is not divisible: it would need padding", e, s);
}

static tn_IterSumExpr *divide(iter_ctx *c, tn_IterSumExpr *s, tn_expr *by, bool quotient,
                              tn_expr *e) {
  uint32_t op = quotient ? TN_TI_FloorDiv : TN_TI_FloorMod;
  if (tir_is_zero(by)) return give_up(c, "division by zero", e, s);
  if (s->args->len == 0) return constant(iter_simple(c, tir_binary(op, s->base, by, NULL)));
  if (tir_is_one(by)) return quotient ? s : constant(tir_zero(s->base->dtype));
  if (divisible(c, s, by)) {
    if (quotient) return divide_all(c, s, by);
    return constant(iter_simple(c, tir_floormod(s->base, by)));
  }
  tn_IterSumExpr *rest = s, *multiples = NULL;
  if (s->args->len > 1) {
    bool failed = c->failed;
    int64_t nerrors = c->errors.len;
    TN_GETP(rest, iter_fuse(c, s));
    if (c->failed && !failed) { /* not one iterator: (x*8 + y) // 4 = x*2 + y//4 */
      c->failed = failed, c->errors.len = nerrors;
      TN_GETP(multiples, without_multiples(c, s, by, true));
      TN_GETP(rest, without_multiples(c, s, by, false));
      TN_GETP(rest, iter_fuse(c, rest));
      if (c->failed) return s;
    }
  }
  TN_GETP(rest, divide_one(c, rest, by, quotient, e));
  if (c->failed || !multiples || !quotient) return rest;
  TN_GETP(multiples, divide_all(c, multiples, by));
  return add(c, multiples, rest, false);
}

/* ---- expressions ---- */

static int uses_iter(void *ctx, tn_obj *o) { return tn_pmap_has(&((iter_ctx *)ctx)->vars, o); }

static tn_IterSumExpr *rewrite_binary(iter_ctx *c, tn_BinaryOp *e) {
  tn_IterSumExpr *x, *y;
  if (arith_wraps(c->a, (tn_expr *)e))
    return give_up(c, "an index that leaves its type", (tn_expr *)e, constant((tn_expr *)e));
  TN_GETP(x, iter_rewrite(c, e->a));
  TN_GETP(y, iter_rewrite(c, e->b));
  if (c->failed) return x;
  switch (e->hdr.type_index) {
  case TN_TI_Add: return add(c, x, y, false);
  case TN_TI_Sub: return add(c, x, y, true);
  case TN_TI_Mul:
    if (y->args->len == 0) return mul(c, x, y->base);
    if (x->args->len == 0) return mul(c, y, x->base);
    return give_up(c, "product of two iterators", (tn_expr *)e, x);
  case TN_TI_FloorDiv:
  case TN_TI_FloorMod:
    if (y->args->len == 0)
      return divide(c, x, y->base, e->hdr.type_index == TN_TI_FloorDiv, (tn_expr *)e);
    return give_up(c, "division by an iterator", (tn_expr *)e, x);
  default: return give_up(c, "not an affine operation", (tn_expr *)e, x);
  }
}

tn_IterSumExpr *iter_rewrite(iter_ctx *c, tn_expr *e) {
  tn_IterSumExpr *known = tn_pmap_get(&c->vars, e);
  if (known) return known;
  if (arith_deep()) return TN_RAISEP(RuntimeError, e->span, "index is nested too deeply");
  int used = tn_post_order(e, uses_iter, c);
  if (used < 0) return NULL;
  if (!used) return constant(e);
  if (TN_AS_BINARY(e)) return rewrite_binary(c, TN_AS_BINARY(e));
  TN_TRYP(iter_fail(c, "not an affine expression", e));
  return constant(tir_zero(e->dtype));
}
