/* Iteration maps: limits by a predicate, the check for independence, and detection. */
#include "arith/iter_map_impl.h"

/* ---- predicates: conjunctions of  sum < bound  (and the like) ---- */

/* sum < bound (symbolic): the mark it is made of iterates that far only */
static int limit(iter_ctx *c, tn_expr *value, tn_expr *bound) {
  tn_IterSumExpr *s;
  tn_IterMark *m;
  TN_GET(s, iter_rewrite(c, value));
  if (!c->failed) TN_GET(s, iter_fuse(c, s));
  if (c->failed || s->args->len == 0) return 0;
  tn_IterSplitExpr *x = iter_arg(s, 0);
  TN_GET(bound, iter_simple(c, tir_sub(bound, s->base)));
  if (arith_prove(c->a, tir_le(x->extent, bound))) return 0; /* says nothing new */
  bool whole =
      tir_is_one(x->lower_factor) && tir_is_one(x->scale) && x->extent == x->source->extent;
  if (!whole)
    return iter_fail(c, "a condition of the predicate limits a part of an iterator", value);
  /* with a loop outside of the map in the bound, the limit may lie beyond the last iteration */
  if (!arith_prove(c->a, tir_le(bound, x->extent))) TN_GET(bound, tir_min(bound, x->extent));
  TN_GET(m, TN_NEW(IterMark, .source = x->source->source, .extent = bound));
  const tn_Var *v = TN_AS(Var, m->source);
  if (v)
    return tn_pmap_put(
        &c->vars, v,
        iter_sum_one(iter_split(m, x->lower_factor, bound, x->scale), tir_zero(bound->dtype)));
  if (!TN_AS(IterSumExpr, m->source))
    return iter_fail(c, "a condition of the predicate limits an iterator that does not start at 0",
                     value);
  for (int64_t i = 0; i < c->fused.len; ++i)
    if (c->fused.items[i].v.obj == (tn_obj *)x->source) c->fused.items[i] = tn_any_obj(m);
  return tn_vec_push_obj(&c->constrained, m);
}

/* bound <= value: accepted only where it says nothing */
static int limit_below(iter_ctx *c, tn_expr *value, tn_expr *bound) {
  if (arith_prove(c->a, tir_le(bound, value))) return 0;
  return iter_fail(c, "lower limits in the predicate are not supported", value);
}

static int order(iter_ctx *c, tn_expr *lesser, tn_expr *greater, bool strict) {
  if (!ir_is_integral(lesser->dtype))
    return iter_fail(c, "predicate on other than integers", lesser);
  tn_IterSumExpr *x, *y;
  TN_GET(x, iter_rewrite(c, lesser));
  TN_GET(y, iter_rewrite(c, greater));
  if (c->failed) return 0;
  if (y->args->len == 0)
    return limit(c, lesser, strict ? greater : tir_add(greater, tir_one(greater->dtype)));
  if (x->args->len == 0)
    return limit_below(c, greater, strict ? tir_add(lesser, tir_one(lesser->dtype)) : lesser);
  return iter_fail(c, "the predicate compares two iterators", lesser);
}

static int take_comparison(iter_ctx *c, tn_expr *p) {
  const tn_BinaryOp *o = TN_AS_BINARY(p);
  switch (p->hdr.type_index) {
  case TN_TI_LT: return order(c, o->a, o->b, true);
  case TN_TI_LE: return order(c, o->a, o->b, false);
  case TN_TI_GT: return order(c, o->b, o->a, true);
  case TN_TI_GE: return order(c, o->b, o->a, false);
  default: return iter_fail(c, "a condition of the predicate is not a comparison", p);
  }
}

/* The conditions of a conjunction that limit one variable, or the others. */
static int take_conditions(iter_ctx *c, tn_expr *p, bool one_variable) {
  if (!p || tir_is_one(p) || c->failed) return 0;
  const tn_BinaryOp *o = TN_AS_BINARY(p);
  tn_Call *likely = tir_as_call((tn_obj *)p, TIR_OP_likely);
  if (likely) return take_conditions(c, arith_arg(likely, 0), one_variable);
  if (TN_IS(And, p)) {
    TN_TRY(take_conditions(c, o->a, one_variable));
    return take_conditions(c, o->b, one_variable);
  }
  bool is_one = o && (TN_IS(Var, o->a) || TN_IS(Var, o->b));
  return is_one == one_variable ? take_comparison(c, p) : 0;
}

/* Limits of variables come first: others may fit together only with them, as in
   i*5 + j < 33 and j < 5. */
int iter_take_predicate(iter_ctx *c, tn_expr *p) {
  TN_TRY(take_conditions(c, p, true));
  return take_conditions(c, p, false);
}

/* ---- independence ---- */

/* The splits that are taken of each mark. */
typedef struct {
  iter_ctx *c;
  iter_map_level level;
  tn_vec marks;  /* in the order of discovery: sums before what they are made of */
  tn_vec splits; /* all splits that are used */
} checker;

static bool has(const tn_vec *v, const void *o) {
  for (int64_t i = 0; i < v->len; ++i)
    if (v->items[i].v.obj == (const tn_obj *)o) return true;
  return false;
}

static int use(checker *k, tn_IterSplitExpr *s) {
  TN_TRY(tn_vec_push_obj(&k->splits, s));
  return has(&k->marks, s->source) ? 0 : tn_vec_push_obj(&k->marks, s->source);
}

/* The splits of one mark must be its digits: lower factors 1, e1, e1*e2, ... */
static int check_mark(checker *k, tn_IterMark *m) {
  iter_ctx *c = k->c;
  TN_VEC(left);
  for (int64_t i = 0; i < k->splits.len; ++i)
    if (iter_at(&k->splits, i)->source == m) TN_TRY(tn_vec_push_obj(&left, iter_at(&k->splits, i)));
  tn_expr *expected;
  const iter_pad *pad = iter_pad_of_mark(c, m);
  int64_t end, lower = 0;
  int ndigits = (int)left.len;
  TN_GET(expected, tir_one(m->extent->dtype));
  while (left.len) {
    int64_t found = -1;
    for (int64_t i = 0; i < left.len && found < 0; ++i)
      if (iter_equal(c, iter_at(&left, i)->lower_factor, expected)) found = i;
    /* a gap: digits in between are not used */
    for (int64_t i = 0; k->level != ITER_MAP_BIJECTIVE && i < left.len && found < 0; ++i)
      if (left.len == 1 && iter_divides(c, expected, iter_at(&left, i)->lower_factor)) found = i;
    if (found < 0)
      return iter_fail(c, "the indices use an iterator in ways that overlap", m->source);
    tn_IterSplitExpr *s = iter_at(&left, found);
    if (left.len == ndigits && !tir_as_int((tn_obj *)s->lower_factor, &lower)) lower = 0;
    TN_GET(expected, iter_simple(c, tir_mul(s->lower_factor, s->extent)));
    left.items[found] = left.items[--left.len];
  }
  if (pad && tir_as_int((tn_obj *)expected, &end)) {
    if (iter_pad_covers(pad, lower, end, ndigits)) return 0;
    return iter_fail(c, "the indices do not take all values of a padded iterator", m->source);
  }
  if (iter_equal(c, expected, m->extent) ||
      (k->level != ITER_MAP_BIJECTIVE && iter_divides(c, expected, m->extent)))
    return 0;
  return iter_fail(c, "the indices use a part of an iterator only", m->source);
}

static int all_used(checker *k) {
  tn_any v, r;
  for (int64_t i = 0; tn_map_at(k->c->ranges, i, &v, &r); ++i) {
    const tn_IterSumExpr *s = tn_pmap_get(&k->c->vars, v.v.obj);
    if (s && s->args->len && !tir_is_one(iter_arg(s, 0)->extent) &&
        !has(&k->marks, iter_arg(s, 0)->source))
      return iter_fail(k->c, "an iterator is not used: the map is not bijective",
                       (tn_expr *)v.v.obj);
  }
  return 0;
}

/* Is `m` among what the sum of `from` is made of, at any depth? */
static bool is_made_of(const tn_IterMark *from, const tn_IterMark *m) {
  const tn_IterSumExpr *s = TN_AS(IterSumExpr, from->source);
  for (int64_t i = 0; s && i < s->args->len; ++i) {
    const tn_IterMark *part = iter_arg(s, i)->source;
    if (part == m || is_made_of(part, m)) return true;
  }
  return false;
}

/* The first mark from number `from` on that no other one from there on is made of: all its uses are
   known. */
int64_t iter_next_mark(const tn_vec *marks, int64_t from) {
  for (int64_t i = from; i < marks->len; ++i) {
    const tn_IterMark *m = (const tn_IterMark *)marks->items[i].v.obj;
    bool ready = true;
    for (int64_t j = from; j < marks->len && ready; ++j)
      ready = !is_made_of((const tn_IterMark *)marks->items[j].v.obj, m);
    if (ready) return i;
  }
  return from;
}

/* Marks in the order of sums before what they are made of. */
static int check_marks(checker *k) {
  for (int64_t i = 0; i < k->marks.len && !k->c->failed; ++i) {
    int64_t next = iter_next_mark(&k->marks, i);
    tn_any swap = k->marks.items[i];
    k->marks.items[i] = k->marks.items[next];
    k->marks.items[next] = swap;
    tn_IterMark *m = (tn_IterMark *)k->marks.items[i].v.obj;
    TN_TRY(check_mark(k, m));
    const tn_IterSumExpr *s = TN_AS(IterSumExpr, m->source);
    for (int64_t j = 0; s && j < s->args->len; ++j) TN_TRY(use(k, iter_arg(s, j)));
  }
  return 0;
}

static int check_all(checker *k, const tn_vec *sums) {
  for (int64_t i = 0; i < sums->len; ++i) {
    const tn_IterSumExpr *s = (const tn_IterSumExpr *)sums->items[i].v.obj;
    for (int64_t j = 0; j < s->args->len; ++j) TN_TRY(use(k, iter_arg(s, j)));
  }
  TN_TRY(check_marks(k));
  for (int64_t i = 0; i < k->c->constrained.len && !k->c->failed; ++i)
    if (!has(&k->marks, k->c->constrained.items[i].v.obj))
      return iter_fail(k->c, "the predicate limits iterators that the indices use otherwise", NULL);
  return k->c->failed || k->level != ITER_MAP_BIJECTIVE ? 0 : all_used(k);
}

int iter_check(iter_ctx *c, const tn_vec *sums, iter_map_level level) {
  checker k = {.c = c, .level = level};
  int err = level == ITER_MAP_NO_CHECK ? 0 : check_all(&k, sums);
  tn_vec_fini(&k.marks);
  tn_vec_fini(&k.splits);
  return err;
}

/* ---- detection ---- */

static int rewrite_all(iter_ctx *c, const tn_arr *indices, tn_vec *out) {
  c->again = false;
  out->len = 0;
  for (int64_t i = 0; i < indices->len && !c->failed; ++i) {
    tn_IterSumExpr *s;
    tn_expr *e;
    TN_GET(e, ir_expr_from(&indices->items[i]));
    TN_GET(s, iter_rewrite(c, e));
    if (!c->failed) TN_GET(s, iter_fuse(c, s));
    TN_TRY(tn_vec_push_obj(out, s));
  }
  return 0;
}

enum { MAX_REWRITES = 16 };

static int detect(iter_ctx *c, const tn_arr *indices, tn_expr *predicate, iter_map_level level,
                  bool padding, tn_vec *out) {
  TN_TRY(iter_take_predicate(c, predicate));
  c->padding = padding && level != ITER_MAP_BIJECTIVE;
  c->again = true;
  for (int i = 0; i < MAX_REWRITES && c->again && !c->failed; ++i)
    TN_TRY(rewrite_all(c, indices, out));
  if (c->again && !c->failed)
    TN_TRY(iter_fail(c, "the indices would need padding without end", NULL));
  return c->failed ? 0 : iter_check(c, out, level);
}

static tn_IterMapResult *detect_map(arith_analyzer *a, const tn_arr *indices, const tn_map *ranges,
                                    tn_expr *predicate, iter_map_level level, bool simplify_trivial,
                                    bool padding) {
  TN_VEC(sums);
  iter_ctx c;
  tn_IterMapResult *r = NULL;
  if (!indices || !ranges) return NULL; /* an error is pending */
  int err = iter_ctx_init(&c, a, ranges, simplify_trivial);
  if (!err) err = detect(&c, indices, predicate, level, padding, &sums);
  if (!err) {
    if (c.failed) sums.len = 0;
    r = TN_NEW(IterMapResult, .indices = tn_arr_from(&sums), .errors = tn_arr_from(&c.errors),
               .padding_predicate = iter_padding(&c, &sums));
  }
  iter_ctx_fini(&c);
  return r;
}

tn_IterMapResult *iter_map_detect(arith_analyzer *a, const tn_arr *indices, const tn_map *ranges,
                                  tn_expr *predicate, iter_map_level level, bool simplify_trivial) {
  return detect_map(a, indices, ranges, predicate, level, simplify_trivial, false);
}

tn_IterMapResult *iter_map_detect_padded(arith_analyzer *a, const tn_arr *indices,
                                         const tn_map *ranges, tn_expr *predicate,
                                         iter_map_level level, bool simplify_trivial) {
  return detect_map(a, indices, ranges, predicate, level, simplify_trivial, true);
}

tn_IterSumExpr *iter_map_sum(arith_analyzer *a, tn_expr *index, const tn_map *ranges) {
  iter_ctx c;
  tn_IterSumExpr *s = NULL;
  if (!iter_ctx_init(&c, a, ranges, true)) s = iter_rewrite(&c, index);
  if (s && c.failed) {
    (void)TN_RAISE(TenonError, index->span, "normalize_to_iter_sum: %s",
                   tn_cstr((tn_str *)c.errors.items[0].v.obj));
    s = NULL;
  }
  iter_ctx_fini(&c);
  return s;
}
