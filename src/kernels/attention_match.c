/* Finding attention in a program as create_prim_func makes it: two products of one reduction each,
   between them the stages of a softmax along the last of four axes, which reads the first product
   through any number of stages that work element by element. */
#include <float.h>

#include "arith/analyzer.h"
#include "base/error.h"
#include "base/pmap.h"
#include "base/scope.h"
#include "ir/expr.h"
#include "ir/functor.h"
#include "kernels/attention.h"
#include "object/functions.h"
#include "tenon/object.h"

enum { NDIM = 4, MAX_BLOCKS = 96 };

typedef struct {
  attention *a;
  tn_pmap blocks;          /* buffer -> the block that writes it */
  const tn_Block *last;    /* that writes the result */
  const tn_Block *product; /* the first one */
  int nblocks;
  arith_analyzer bounds;
  bool odd; /* something that is not attention was met */
} search;

/* ---- stages ---- */

static const tn_BufferStore *store_of(const tn_Block *b) { return TN_AS(BufferStore, b->body); }

static int see_block(void *ctx, tn_obj *node) {
  search *s = ctx;
  const tn_Block *b = TN_AS(Block, node);
  if (!b || b->iter_vars->len == 0) return 0;
  const tn_BufferStore *store = store_of(b);
  if (!store || ++s->nblocks > MAX_BLOCKS || tn_pmap_has(&s->blocks, store->buffer)) s->odd = true;
  return s->odd ? 0 : tn_pmap_put(&s->blocks, store->buffer, b);
}

static int find_blocks(search *s, const tn_PrimFunc *f) {
  tn_any key, value;
  TN_TRY(tn_post_order(f->body, see_block, s));
  for (int64_t i = 0; !s->odd && tn_map_at(f->buffer_map, i, &key, &value); ++i) {
    const tn_Block *b = tn_pmap_get(&s->blocks, value.v.obj);
    if (b && s->last) s->odd = true;
    if (b) s->last = b;
  }
  return 0;
}

static tn_Var *iter_at(const tn_Block *b, int64_t i) {
  return ((const tn_IterVar *)tn_arr_obj(b->iter_vars, i))->var;
}

static int64_t extent_at(const tn_Block *b, int64_t i) {
  int64_t n = -1;
  (void)tir_as_int((const tn_obj *)((const tn_IterVar *)tn_arr_obj(b->iter_vars, i))->dom->extent,
                   &n);
  return n;
}

/* Has the block so many axes, of which only the last is reduced over where one is? */
static bool has_axes(const tn_Block *b, int64_t n, bool reduces) {
  if (!b || !store_of(b) || b->iter_vars->len != n || (b->init != NULL) != reduces) return false;
  for (int64_t i = 0; i < n; ++i) {
    const tn_IterVar *iv = (const tn_IterVar *)tn_arr_obj(b->iter_vars, i);
    bool reduced = iv->iter_type == IR_ITER_COMM_REDUCE;
    if (reduced != (reduces && i == n - 1) || extent_at(b, i) < 1) return false;
  }
  return true;
}

/* Are the indices the iterators of the block, from the first on? */
static bool in_order(const tn_arr *indices, const tn_Block *b) {
  for (int64_t i = 0; i < indices->len; ++i)
    if (tn_arr_obj(indices, i) != (const tn_obj *)iter_at(b, i)) return false;
  return true;
}

/* The load of the block's own elements in order, as many indices as `n`. */
static const tn_BufferLoad *plain_load(const tn_expr *e, const tn_Block *b, int64_t n) {
  const tn_BufferLoad *l = TN_AS(BufferLoad, e);
  return l && l->indices->len == n && in_order(l->indices, b) ? l : NULL;
}

/* Does a reduction begin with nothing: a sum with 0, the largest with the least number or -inf? */
static bool begins_with_nothing(const tn_Block *b, uint32_t kind) {
  const tn_BufferStore *s = TN_AS(BufferStore, b->init);
  const tn_FloatImm *first = s ? TN_AS(FloatImm, s->value) : NULL;
  double least = first && first->dtype.bits == 32 ? -FLT_MAX : -DBL_MAX;
  return first && (kind == TN_TI_Max ? first->value <= least : first->value == 0);
}

/* What a reduction of the kind (TN_TI_Add, TN_TI_Max) takes into its result. */
static const tn_expr *reduced_value(const tn_Block *b, uint32_t kind) {
  const tn_BufferStore *s = store_of(b);
  const tn_obj *v = (const tn_obj *)s->value;
  if (v->type_index != kind || !begins_with_nothing(b, kind)) return NULL;
  const tn_BinaryOp *both = (const tn_BinaryOp *)v;
  const tn_BufferLoad *self = TN_AS(BufferLoad, both->a);
  return self && self->buffer == s->buffer && tn_equal(self->indices, s->indices, 0) == 1 ? both->b
                                                                                          : NULL;
}

/* ---- what values are made of ---- */

static tn_obj *in_load(tn_mut *m, tn_BufferLoad *op);

static const tn_mut_case loads[] = {TN_CASE(BufferLoad, in_load)};

static tn_arr *tidy_indices(search *s, const tn_arr *indices) {
  TN_VEC(v);
  for (int64_t i = 0; i < indices->len; ++i)
    TN_TRYP(tn_vec_push_obj(&v, arith_simplify(&s->bounds, (tn_expr *)tn_arr_obj(indices, i))));
  return tn_arr_from(&v);
}

/* Loads of what stages make element by element are what these compute; the first product is `score`
   where it is read at b, h, m, n. */
static tn_obj *in_load(tn_mut *m, tn_BufferLoad *op) {
  search *s = m->ctx;
  const attention *a = s->a;
  const tn_Block *b = tn_pmap_get(&s->blocks, op->buffer);
  tn_arr *at;
  TN_GETP(op, tn_mut_children(m, op));
  TN_GETP(at, tidy_indices(s, op->indices));
  if (b && b == s->product) {
    const tn_Var *want[] = {a->b, a->h, a->m, a->n};
    for (int i = 0; i < NDIM; ++i) {
      bool one = extent_at(b, i) == 1 && tir_is_zero(tn_arr_obj(at, i));
      s->odd = s->odd || (tn_arr_obj(at, i) != (const tn_obj *)want[i] && !one);
    }
    return (tn_obj *)a->score;
  }
  if (!b || b->init || !store_of(b) || !in_order(store_of(b)->indices, b)) {
    s->odd = s->odd || b != NULL;
    return (tn_obj *)tir_load(op->buffer, at);
  }
  TN_PMAP(map);
  tn_expr *e, *zero = tir_i32(0);
  for (int64_t i = 0; i < b->iter_vars->len; ++i) { /* a scalar has an iterator of one value */
    e = tir_cast(TN_I32, i < at->len ? (tn_expr *)tn_arr_obj(at, i) : zero, NULL);
    TN_GETP(e, e ? arith_simplify(&s->bounds, e) : NULL);
    TN_TRYP(tn_pmap_put(&map, iter_at(b, i), e));
  }
  TN_GETP(e, tir_substitute(store_of(b)->value, &map));
  return tn_mut_visit(m, e);
}

/* An expression of a block over the variables that its iterators stand for. */
static tn_expr *expanded(search *s, const tn_expr *e, const tn_Block *b, tn_Var *const *vars) {
  TN_MUT(m, loads, s);
  TN_PMAP(map);
  for (int64_t i = 0; i < b->iter_vars->len; ++i)
    TN_TRYP(tn_pmap_put(&map, iter_at(b, i), vars[i]));
  TN_GETP(e, tir_substitute(e, &map));
  return tn_mut_visit(&m, e);
}

static bool uses(const void *e, tn_Var *v) {
  kernel_axis axis = {.var = v};
  return kernel_uses(e, &axis);
}

bool attention_runs_along(const tn_BufferLoad *load, const tn_Var *v) {
  kernel_axis axis = {.var = (tn_Var *)(uintptr_t)v};
  int64_t last = load->indices->len - 1;
  bool yes = false;
  for (int64_t i = 0; i < last; ++i)
    if (kernel_uses(tn_arr_obj(load->indices, i), &axis)) return false;
  if (last < 0 || kernel_has_factor_one((tn_expr *)tn_arr_obj(load->indices, last), &axis, &yes))
    tn_error_clear();
  return yes;
}

/* ---- the parts ---- */

/* The factors of a product, loads of whatever they are made of. */
static int factors_of(search *s, const tn_Block *b, tn_Var *const *vars,
                      const tn_BufferLoad *out[2]) {
  const tn_Mul *product = TN_AS(Mul, reduced_value(b, TN_TI_Add));
  if (!product) return 0;
  for (int i = 0; i < 2; ++i) {
    const tn_expr *e;
    TN_GET(e, expanded(s, i ? product->b : product->a, b, vars));
    out[i] = TN_AS(BufferLoad, e);
    if (!out[i] || s->odd || !tn_dtype_eq(out[i]->dtype, s->a->dtype)) return 0;
  }
  return 1;
}

/* score: D[b, h, m, n] = D[b, h, m, n] + Q[b, h, m, k] * K[b, h, n, k] */
static int match_scores(search *s) {
  attention *a = s->a;
  tn_Var *vars[] = {a->b, a->h, a->m, a->n, a->k};
  const tn_BufferLoad *f[2];
  int r = factors_of(s, s->product, vars, f);
  if (r <= 0) return r;
  int q = uses(f[0]->indices, a->n) ? 1 : 0;
  a->query = f[q], a->key = f[1 - q];
  return !uses(a->query->indices, a->n) && !uses(a->key->indices, a->m) &&
         in_order(store_of(s->product)->indices, s->product);
}

/* The first product among what is read, through stages that work element by element. */
static const tn_Block *product_behind(const search *s, const tn_Buffer *x, int depth) {
  const tn_Block *b = tn_pmap_get(&s->blocks, x);
  if (!b || depth > MAX_BLOCKS) return NULL;
  if (b->init) return has_axes(b, NDIM + 1, true) ? b : NULL;
  for (int64_t i = 0; i < b->reads->len; ++i) {
    const tn_Buffer *read = ((const tn_BufferRegion *)tn_arr_obj(b->reads, i))->buffer;
    const tn_Block *found = product_behind(s, read, depth + 1);
    if (found) return found;
  }
  return NULL;
}

/* The block that a load of one number for each row, 1 / sum, reads the sum of. */
static const tn_Block *sum_behind(const search *s, const tn_BufferLoad *inverse) {
  const tn_Block *b = inverse ? tn_pmap_get(&s->blocks, inverse->buffer) : NULL;
  if (!has_axes(b, NDIM - 1, false) || !in_order(store_of(b)->indices, b)) return NULL;
  const tn_Div *div = TN_AS(Div, store_of(b)->value);
  const tn_BufferLoad *sum = div ? plain_load(div->b, b, NDIM - 1) : NULL;
  const tn_FloatImm *one = div ? TN_AS(FloatImm, div->a) : NULL;
  return sum && one && one->value == 1 ? tn_pmap_get(&s->blocks, sum->buffer) : NULL;
}

/* norm = exp * (1 / sum), sum of exp, exp(x - max), max of x
   @return the load of x, or NULL */
static const tn_BufferLoad *softmax_of(const search *s, const tn_Block *norm,
                                       const tn_Block **exponential) {
  if (!has_axes(norm, NDIM, false) || !in_order(store_of(norm)->indices, norm)) return NULL;
  const tn_Mul *mul = TN_AS(Mul, store_of(norm)->value);
  const tn_BufferLoad *e = mul ? plain_load(mul->a, norm, NDIM) : NULL;
  const tn_Block *exp = e ? tn_pmap_get(&s->blocks, e->buffer) : NULL,
                 *total = mul ? sum_behind(s, plain_load(mul->b, norm, NDIM - 1)) : NULL;
  if (!has_axes(exp, NDIM, false) || !has_axes(total, NDIM, true)) return NULL;
  const tn_BufferLoad *summed = plain_load(reduced_value(total, TN_TI_Add), total, NDIM);
  const tn_Call *call = tir_as_call((const tn_obj *)store_of(exp)->value, TIR_OP_exp);
  const tn_Sub *sub = call ? TN_AS(Sub, tn_arr_obj(call->args, 0)) : NULL;
  const tn_BufferLoad *x = sub ? plain_load(sub->a, exp, NDIM) : NULL,
                      *max = sub ? plain_load(sub->b, exp, NDIM - 1) : NULL;
  const tn_Block *most = max ? tn_pmap_get(&s->blocks, max->buffer) : NULL;
  if (!summed || summed->buffer != e->buffer || !x || !has_axes(most, NDIM, true)) return NULL;
  const tn_BufferLoad *largest = plain_load(reduced_value(most, TN_TI_Max), most, NDIM);
  *exponential = exp;
  return largest && largest->buffer == x->buffer ? x : NULL;
}

/* The variables of the last product's iterators: those by which p[b, h, m, n] is read, and d. Axes
   of extent 1 are read at 0. */
static bool name_axes(search *s, const tn_BufferLoad *p, tn_Var **vars) {
  attention *a = s->a;
  tn_Var *names[] = {a->b, a->h, a->m, a->n};
  for (int64_t i = 0; i <= NDIM; ++i) {
    vars[i] = NULL;
    for (int64_t k = 0; k < NDIM; ++k)
      if (names[k] && tn_arr_obj(p->indices, k) == (const tn_obj *)iter_at(s->last, i))
        vars[i] = names[k], names[k] = NULL;
  }
  for (int64_t i = 0; i < NDIM - 1; ++i)
    for (int64_t k = 0; k < NDIM - 1 && !vars[i] && extent_at(s->last, i) == 1; ++k)
      if (names[k] && tir_is_zero(tn_arr_obj(p->indices, k))) vars[i] = names[k], names[k] = NULL;
  if (vars[NDIM - 1] || vars[NDIM] != a->n) return false;
  vars[NDIM - 1] = a->d;
  return vars[0] && vars[1] && vars[2];
}

/* Numbers the axes of the program, so that what is known of them simplifies indices. */
static int set_extents(search *s, const tn_Block *norm) {
  attention *a = s->a;
  int64_t *extents[] = {&a->batch, &a->heads, &a->rows, &a->columns, &a->width, &a->depth};
  tn_Var *vars[] = {a->b, a->h, a->m, a->n, a->d, a->k};
  for (int i = 0; i < 6; ++i) {
    *extents[i] = i < NDIM    ? extent_at(norm, i)
                  : i == NDIM ? extent_at(s->last, NDIM - 1)
                              : extent_at(s->product, NDIM);
    if (*extents[i] < 1 || *extents[i] > INT32_MAX / 4) return s->odd = true, 0;
    TN_TRY(arith_bind_range(&s->bounds, vars[i],
                            tir_range(tir_i32(0), tir_i32((int32_t)*extents[i])), true));
  }
  return 0;
}

static int match_all(search *s) {
  attention *a = s->a;
  tn_Var *vars[NDIM + 1];
  if (!has_axes(s->last, NDIM + 1, true) || !in_order(store_of(s->last)->indices, s->last))
    return 0;
  const tn_Mul *product = TN_AS(Mul, reduced_value(s->last, TN_TI_Add));
  const tn_BufferLoad *p = product ? TN_AS(BufferLoad, product->a) : NULL;
  const tn_Block *norm = p ? tn_pmap_get(&s->blocks, p->buffer) : NULL, *exp;
  const tn_BufferLoad *x = norm ? softmax_of(s, norm, &exp) : NULL;
  if (!x || !(s->product = product_behind(s, x->buffer, 0)) || !name_axes(s, p, vars)) return 0;
  a->dtype = p->dtype;
  TN_TRY(set_extents(s, norm));
  TN_GET(a->score, tir_var("score", a->dtype));
  tn_Var *scores[] = {a->b, a->h, a->m, a->n};
  const tn_expr *value;
  TN_GET(a->scores, expanded(s, (const tn_expr *)x, exp, scores));
  TN_GET(value, expanded(s, product->b, s->last, vars));
  if (!s->odd) {
    int r = match_scores(s);
    if (r <= 0) return r;
  }
  a->value = TN_AS(BufferLoad, value);
  a->out = store_of(s->last)->buffer;
  TN_GET(a->place, tn_arr_of(NDIM, vars[0], vars[1], vars[2], vars[3]));
  return !s->odd && a->value && tn_dtype_eq(a->value->dtype, a->dtype) &&
         !uses(a->value->indices, a->m);
}

int attention_match(attention *a, const tn_PrimFunc *f, const target_machine *m) {
  search s = {.a = a};
  *a = (attention){.machine = m};
  tn_Var **vars[] = {&a->b, &a->h, &a->m, &a->n, &a->k, &a->d};
  static const char *const names[] = {"b", "h", "m", "n", "k", "d"};
  for (int i = 0; i < TN_COUNT(vars); ++i) TN_GET(*vars[i], tir_var(names[i], TN_I32));
  int r = find_blocks(&s, f);
  if (!r && !s.odd && s.last && s.nblocks >= 6) r = match_all(&s);
  tn_pmap_fini(&s.blocks);
  arith_fini(&s.bounds);
  return r;
}
