/* What iteration maps are for: plain expressions again, simplification, division into an outer and
   an inner space, inversion. */
#include "arith/iter_map_impl.h"
#include "ir/functor.h"

/* ---- as expressions ---- */

static tn_expr *split_expr(arith_analyzer *a, tn_IterSplitExpr *s) {
  tn_expr *e, *span;
  TN_GETP(e, iter_map_expr((tn_obj *)s->source));
  TN_GETP(span, tir_mul(s->lower_factor, s->extent));
  if (!arith_prove_equal(a, span, s->source->extent)) TN_GETP(e, tir_floormod(e, span));
  if (!tir_is_one(s->lower_factor)) TN_GETP(e, tir_floordiv(e, s->lower_factor));
  return tir_mul(e, s->scale);
}

/* Two digits of one iterator, side by side in it and in the sum, are one:
     (x // 4) * 4 + x % 4  =>  x.   NULL without an error: they are not. */
static tn_IterSplitExpr *joined(arith_analyzer *a, const tn_IterSplitExpr *outer,
                                const tn_IterSplitExpr *inner) {
  if (outer->source != inner->source) return NULL;
  if (!arith_prove_equal(a, outer->lower_factor, tir_mul(inner->lower_factor, inner->extent)) ||
      !arith_prove_equal(a, outer->scale, tir_mul(inner->scale, inner->extent)))
    return NULL;
  return iter_split(inner->source, inner->lower_factor, tir_mul(inner->extent, outer->extent),
                    inner->scale);
}

static tn_expr *sum_expr(arith_analyzer *a, const tn_IterSumExpr *s) {
  tn_expr *e;
  TN_GETP(e, tir_zero(s->base->dtype));
  for (int64_t i = 0; i < s->args->len; ++i) {
    tn_IterSplitExpr *x = iter_arg(s, i), *both = x;
    while (both && i + 1 < s->args->len) {
      both = joined(a, x, iter_arg(s, i + 1));
      if (both) x = both, ++i;
    }
    if (tn_error_pending()) return NULL;
    TN_GETP(e, tir_add(e, iter_map_expr((tn_obj *)x)));
  }
  return tir_add(e, s->base);
}

tn_expr *iter_map_expr(tn_obj *o) {
  TN_ARITH(a);
  tn_IterMark *m = TN_AS(IterMark, o);
  tn_IterSplitExpr *split = TN_AS(IterSplitExpr, o);
  tn_IterSumExpr *s = TN_AS(IterSumExpr, o);
  if (m) return iter_map_expr((tn_obj *)m->source);
  if (split) return split_expr(&a, split);
  return s ? sum_expr(&a, s) : (tn_expr *)o;
}

static int simplify_all(arith_analyzer *a, const tn_arr *indices, const tn_IterMapResult *r,
                        tn_vec *out) {
  for (int64_t i = 0; i < indices->len; ++i) {
    tn_expr *e;
    if (r->indices->len) TN_GET(e, iter_map_expr(tn_arr_obj(r->indices, i)));
    else TN_GET(e, ir_expr_from(&indices->items[i]));
    TN_GET(e, arith_simplify(a, e));
    TN_TRY(tn_vec_push_obj(out, e));
  }
  return 0;
}

tn_arr *iter_map_simplify(arith_analyzer *a, const tn_arr *indices, const tn_map *ranges,
                          tn_expr *predicate, iter_map_level level, bool simplify_trivial) {
  TN_VEC(out);
  tn_IterMapResult *r;
  tn_vec bound = {0};
  TN_GETP(r, iter_map_detect(a, indices, ranges, predicate, level, simplify_trivial));
  /* a map of all values is one of those that the predicate leaves */
  if (r->indices->len == 0 && predicate && level != ITER_MAP_BIJECTIVE)
    TN_GETP(r, iter_map_detect(a, indices, ranges, NULL, level, simplify_trivial));
  int64_t mark = a->nfacts;
  int err = iter_bind(a, ranges, &bound) || iter_know_extents(a, ranges);
  if (!err) err = simplify_all(a, indices, r, &out);
  iter_unbind(a, &bound);
  arith_leave(a, mark);
  return err ? NULL : tn_arr_from(&out);
}

/* ---- division into spaces ---- */

typedef enum { NEITHER = 0, OUTER = 1, INNER = 2, MIXED = 3 } side;

static int note_side(void *ctx, tn_obj *o) {
  struct {
    const tn_arr *sub;
    const tn_map *ranges;
    int sides;
  } *k = ctx;
  tn_any found;
  if (!TN_AS(Var, o) || !tn_map_get(k->ranges, tn_any_obj(o), &found)) return 0;
  int s = OUTER;
  for (int64_t i = 0; i < k->sub->len; ++i)
    if (tn_arr_obj(k->sub, i) == o) s = INNER;
  k->sides |= s;
  return 0;
}

static int side_of(const tn_arr *sub, const tn_map *ranges, const void *e, side *out) {
  struct {
    const tn_arr *sub;
    const tn_map *ranges;
    int sides;
  } k = {sub, ranges, 0};
  TN_TRY(tn_post_order(e, note_side, &k));
  *out = (side)k.sides;
  return 0;
}

/* The two parts of an index, each iterating from 0; the value is  outer * inner extent + inner. */
typedef struct {
  tn_IterSumExpr *outer, *inner;
  tn_expr *outer_extent, *inner_extent;
} division;

typedef struct {
  arith_analyzer *a;
  const tn_arr *sub;
  const tn_map *ranges;
} divider;

static tn_IterSumExpr *nothing(tn_dtype t) {
  return TN_MAKE(IterSumExpr, .args = tn_arr_of(0), .base = tir_zero(t));
}

static int pure(side s, tn_IterSumExpr *e, tn_expr *extent, division *d) {
  tn_expr *one;
  tn_IterSumExpr *none;
  TN_GET(one, tir_one(extent->dtype));
  TN_GET(none, nothing(extent->dtype));
  bool inner = s == INNER;
  *d = (division){.outer = inner ? none : e,
                  .inner = inner ? e : none,
                  .outer_extent = inner ? one : extent,
                  .inner_extent = inner ? extent : one};
  return 0;
}

static int divide_split(divider *v, tn_IterSplitExpr *s, division *d, bool *ok);

/* A fused mark: outer digits before inner ones, one of them at most mixed. */
static int divide_mark(divider *v, tn_IterMark *m, division *d, bool *ok) {
  const tn_IterSumExpr *s = TN_AS(IterSumExpr, m->source);
  TN_VEC(outer);
  TN_VEC(inner);
  tn_expr *no = tir_one(m->extent->dtype), *ni = no;
  *ok = s != NULL;
  for (int64_t i = s ? s->args->len - 1 : -1; i >= 0 && *ok; --i) {
    division part;
    TN_TRY(divide_split(v,
                        iter_split(iter_arg(s, i)->source, iter_arg(s, i)->lower_factor,
                                   iter_arg(s, i)->extent, tir_one(m->extent->dtype)),
                        &part, ok));
    if (!*ok) return 0;
    if (!tir_is_one(part.inner_extent)) {
      if (outer.len) *ok = false; /* an inner digit outside an outer one */
      for (int64_t k = part.inner->args->len - 1; k >= 0; --k) {
        tn_IterSplitExpr *x = iter_arg(part.inner, k);
        TN_TRY(tn_vec_push_obj(&inner, iter_split(x->source, x->lower_factor, x->extent,
                                                  arith_simplify(v->a, tir_mul(x->scale, ni)))));
      }
      TN_GET(ni, arith_simplify(v->a, tir_mul(ni, part.inner_extent)));
    }
    for (int64_t k = part.outer->args->len - 1; k >= 0; --k) {
      tn_IterSplitExpr *x = iter_arg(part.outer, k);
      TN_TRY(tn_vec_push_obj(&outer, iter_split(x->source, x->lower_factor, x->extent,
                                                arith_simplify(v->a, tir_mul(x->scale, no)))));
    }
    TN_GET(no, arith_simplify(v->a, tir_mul(no, part.outer_extent)));
  }
  for (int64_t i = 0, j = outer.len - 1; i < j; ++i, --j) {
    tn_any t = outer.items[i];
    outer.items[i] = outer.items[j], outer.items[j] = t;
  }
  for (int64_t i = 0, j = inner.len - 1; i < j; ++i, --j) {
    tn_any t = inner.items[i];
    inner.items[i] = inner.items[j], inner.items[j] = t;
  }
  tn_expr *zero = tir_zero(m->extent->dtype);
  TN_GET(d->outer, iter_sum_of(&outer, zero));
  TN_GET(d->inner, iter_sum_of(&inner, zero));
  d->outer_extent = no, d->inner_extent = ni;
  return 0;
}

static int divide_split(divider *v, tn_IterSplitExpr *s, division *d, bool *ok) {
  side which;
  *ok = true;
  TN_GET(s, s);
  TN_TRY(side_of(v->sub, v->ranges, s, &which));
  if (which != MIXED) {
    tn_IterSumExpr *e;
    TN_GET(e, iter_sum_one(s, tir_zero(s->extent->dtype)));
    return pure(which, e, s->extent, d);
  }
  bool whole = tir_is_one(s->lower_factor) && tir_is_one(s->scale) &&
               arith_prove_equal(v->a, s->extent, s->source->extent);
  if (!whole) return *ok = false, 0;
  TN_TRY(divide_mark(v, s->source, d, ok));
  /* a predicate across both spaces would have to be split as well */
  if (*ok && !arith_prove_equal(v->a, tir_mul(d->outer_extent, d->inner_extent), s->extent))
    *ok = false;
  return 0;
}

/* One binding as [outer mark, inner mark], or NULL in *out when it cannot be divided. */
static int divide_binding(divider *v, tn_IterSumExpr *s, tn_arr **out) {
  division d;
  bool ok = true;
  *out = NULL;
  if (s->args->len == 0) {
    TN_TRY(pure(OUTER, s, tir_one(s->base->dtype), &d));
  } else if (s->args->len > 1) {
    return 0;
  } else {
    side which;
    TN_TRY(side_of(v->sub, v->ranges, s, &which));
    if (which != MIXED) TN_TRY(pure(which, s, iter_arg(s, 0)->extent, &d));
    else if (!tir_is_zero(s->base)) return 0;
    else TN_TRY(divide_split(v, iter_arg(s, 0), &d, &ok));
  }
  if (!ok) return 0;
  TN_GET(*out,
         tn_arr_of(2, TN_NEW(IterMark, .source = (tn_expr *)d.outer, .extent = d.outer_extent),
                   TN_NEW(IterMark, .source = (tn_expr *)d.inner, .extent = d.inner_extent)));
  return 0;
}

tn_arr *iter_map_subspace_divide(arith_analyzer *a, const tn_arr *bindings, const tn_map *ranges,
                                 const tn_arr *sub_vars, tn_expr *predicate, iter_map_level level,
                                 bool simplify_trivial) {
  TN_VEC(out);
  tn_IterMapResult *r;
  TN_GETP(r, iter_map_detect(a, bindings, ranges, predicate, level, simplify_trivial));
  if (r->indices->len == 0) return tn_arr_of(0);
  divider v = {.a = a, .sub = sub_vars, .ranges = ranges};
  for (int64_t i = 0; i < r->indices->len; ++i) {
    tn_arr *pair;
    TN_TRYP(divide_binding(&v, (tn_IterSumExpr *)tn_arr_obj(r->indices, i), &pair));
    if (!pair) return tn_arr_of(0);
    TN_TRYP(tn_vec_push_obj(&out, pair));
  }
  /* a predicate that was understood lies in one space: it holds where its own variables do */
  tn_expr *whole, *part;
  side which;
  TN_GETP(whole, tir_bool(true));
  part = predicate ? predicate : whole;
  TN_TRYP(side_of(sub_vars, ranges, part, &which));
  if (which == MIXED) return tn_arr_of(0);
  tn_IterSumExpr *none;
  TN_GETP(none, nothing(TN_I32));
  TN_TRYP(tn_vec_push_obj(
      &out,
      tn_arr_of(
          2, TN_NEW(IterMark, .source = (tn_expr *)none, .extent = which == INNER ? whole : part),
          TN_NEW(IterMark, .source = (tn_expr *)none, .extent = which == INNER ? part : whole))));
  return tn_arr_from(&out);
}

/* ---- inversion ---- */

typedef struct {
  arith_analyzer *a;
  tn_pmap value; /* tn_IterMark -> what is known of it: a sum of digits */
  tn_vec marks;
} inverter;

static int add_value(inverter *v, tn_IterMark *m, tn_expr *e) {
  tn_expr *old = tn_pmap_get(&v->value, m);
  TN_GET(e, arith_simplify(v->a, old ? tir_add(old, e) : e));
  if (!old) TN_TRY(tn_vec_push_obj(&v->marks, m));
  return tn_pmap_put(&v->value, m, e);
}

/* `e` is the value of the sum: of each split's mark, its digit. The outermost is not reduced. */
static int spread(inverter *v, const tn_IterSumExpr *s, tn_expr *e) {
  TN_GET(e, tir_sub(e, s->base));
  for (int64_t i = 0; i < s->args->len; ++i) {
    tn_IterSplitExpr *x = iter_arg(s, i);
    tn_expr *digit;
    TN_GET(digit, tir_floordiv(e, x->scale));
    if (i > 0) TN_GET(digit, tir_floormod(digit, x->extent));
    TN_TRY(add_value(v, x->source, tir_mul(digit, x->lower_factor)));
  }
  return 0;
}

static int invert(inverter *v, const tn_arr *sums, const tn_arr *outputs, tn_map *out) {
  for (int64_t i = 0; i < sums->len; ++i) {
    const tn_IterSumExpr *s = TN_AS(IterSumExpr, tn_arr_obj(sums, i));
    tn_expr *e;
    TN_CHECK(s && s->args->len <= 1, ValueError, NULL,
             "inverse_affine_iter_map: expected the fused indices that detect_iter_map gives");
    TN_GET(e, ir_expr_from(&outputs->items[i]));
    TN_TRY(spread(v, s, e));
  }
  for (int64_t i = 0; i < v->marks.len; ++i) {
    int64_t next = iter_next_mark(&v->marks, i); /* all its digits are known */
    tn_any swap = v->marks.items[i];
    v->marks.items[i] = v->marks.items[next];
    v->marks.items[next] = swap;
    tn_IterMark *m = (tn_IterMark *)v->marks.items[i].v.obj;
    tn_expr *e = tn_pmap_get(&v->value, m);
    const tn_IterSumExpr *s = TN_AS(IterSumExpr, m->source);
    if (s) {
      TN_TRY(spread(v, s, e));
      continue;
    }
    const tn_Sub *shifted = TN_AS(Sub, m->source); /* var - min */
    tn_expr *var = shifted ? shifted->a : m->source;
    TN_CHECK(TN_IS(Var, var), ValueError, NULL,
             "inverse_affine_iter_map: an iterator is not a variable");
    if (shifted) TN_GET(e, arith_simplify(v->a, tir_add(e, shifted->b)));
    TN_TRY(tn_map_set(out, tn_any_obj(var), tn_any_obj(e)));
  }
  return 0;
}

tn_map *iter_map_inverse(arith_analyzer *a, const tn_arr *sums, const tn_arr *outputs) {
  inverter v = {.a = a};
  if (!sums || !outputs) return NULL; /* an error is pending */
  TN_CHECKP(sums->len == outputs->len, ValueError, NULL,
            "inverse_affine_iter_map: expected %lld outputs, got %lld", (long long)sums->len,
            (long long)outputs->len);
  tn_map *out = tn_scope_own(tn_map_new());
  int err = out ? invert(&v, sums, outputs, out) : -1;
  tn_pmap_fini(&v.value);
  tn_vec_fini(&v.marks);
  return err ? NULL : out;
}
