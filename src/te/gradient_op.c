/* The gradient of a tensor through one operation that reads it.

     C[i, j] = sum over k of A[i, k] * B[j, k],  by B:

     G[h, x0, x1] = sum over i, j, k of H[h, i, j] * A[i, k]  where  j == x0 and k == x1
                  = sum over i of H[h, i, x0] * A[i, x1]

   Every element that is read gives an addend. The axes of the operation are summed over, but those
   that the indices of the element determine are solved for: from 2 * i + k == x follows
   i = (x - k) // 2, where x - k is even and i in its range. Of several axes the longest goes.

   Other reductions than sums: of a max (or min) the element that is it is noted, and the gradient
   goes to that one alone; of any other the Jacobian is computed along with the reduction. */
#include "arith/analyzer.h"
#include "arith/region.h"
#include "base/pmap.h"
#include "ir/expr.h"
#include "ir/functor.h"
#include "te/build.h"
#include "te/gradient_impl.h"
#include "tenon/object.h"

typedef enum { PLAIN, SUM, MAX, MIN, OTHER } kind;

typedef struct {
  const tn_ComputeOp *op;
  const tn_Tensor *result, *x, *by, *arg; /* arg: number of the element that is the max or min */
  const tn_arr *prefix;
  kind how;
  const tn_Reduce *r;
  tn_expr *body;               /* what is differentiated */
  const tn_ProducerLoad *read; /* the element of x by which */
  tn_expr *derivative;
} through;

/* ---- one addend ---- */

typedef struct {
  const through *t;
  arith_analyzer a;
  tn_pmap value; /* variable of an axis -> what it is */
  tn_vec free;   /* axes that are summed over (IterVar) */
  tn_expr *where;
} addend;

static void addend_fini(addend *d) {
  arith_fini(&d->a);
  tn_pmap_fini(&d->value);
  tn_vec_fini(&d->free);
}

static tn_expr *here(addend *d, const void *e) {
  tn_expr *now = tir_substitute(e, &d->value);
  return now ? arith_simplify(&d->a, now) : NULL;
}

static int require(addend *d, tn_expr *cond) {
  TN_GET(cond, cond ? arith_simplify(&d->a, cond) : NULL);
  if (arith_prove(&d->a, cond)) return 0;
  TN_GET(d->where, tir_is_one(d->where) ? cond : tir_and(d->where, cond));
  return 0;
}

/* A new axis in place of one of the operation. */
static int add_free(addend *d, const tn_IterVar *axis) {
  const char *name = tn_cstr(axis->var->name);
  tn_Var *v = tir_var_like(axis->var, name);
  tn_IterVar *iv = v ? tir_iter_var(axis->dom, v, IR_ITER_COMM_REDUCE, "") : NULL;
  if (!iv || tn_vec_push_obj(&d->free, iv) || tn_pmap_put(&d->value, axis->var, v)) return -1;
  return arith_bind_range(&d->a, v, axis->dom, true);
}

/* Variable `v` gets a value, which the values so far may use. */
static int solve(addend *d, int64_t at, tn_expr *with) {
  TN_PMAP(one);
  const tn_IterVar *iv = (const tn_IterVar *)d->free.items[at].v.obj;
  TN_TRY(tn_pmap_put(&one, iv->var, with));
  for (size_t i = 0; i < d->value.cap; ++i) {
    if (!d->value.slots[i].key) continue;
    tn_expr *now = tir_substitute(d->value.slots[i].v.ptr, &one);
    TN_GET(now, now ? arith_simplify(&d->a, now) : NULL);
    d->value.slots[i].v.ptr = now;
  }
  TN_GET(d->where, tir_substitute(d->where, &one));
  for (int64_t i = at; i + 1 < d->free.len; ++i) d->free.items[i] = d->free.items[i + 1];
  d->free.len--;
  TN_TRY(require(d, tir_ge(with, iv->dom->min)));
  return require(d, tir_lt(with, tir_add(iv->dom->min, iv->dom->extent)));
}

/* The longest free axis with a constant factor among `factors`; -1: none. */
static int64_t longest(const addend *d, const tn_arr *factors, int64_t *factor) {
  int64_t best = -1, most = -1;
  for (int64_t i = 0; i < d->free.len && i < factors->len; ++i) {
    const tn_IterVar *iv = (const tn_IterVar *)d->free.items[i].v.obj;
    int64_t k, n = INT64_MAX;
    if (!tir_as_int(tn_arr_obj(factors, i), &k) || k == 0) continue;
    if (!tir_as_int((const tn_obj *)iv->dom->extent, &n)) n = INT64_MAX;
    if (n <= most) continue;
    best = i, most = n;
    *factor = k;
  }
  return best;
}

/* `index`, over the free axes, is `x`: solved for one of them, or kept as a condition. */
static int equate(addend *d, tn_expr *index, tn_expr *x) {
  TN_VEC(vars);
  int64_t k = 0;
  TN_GET(index, here(d, index));
  x = tir_cast(index->dtype, x, NULL);
  for (int64_t i = 0; i < d->free.len; ++i)
    TN_TRY(tn_vec_push_obj(&vars, ((const tn_IterVar *)d->free.items[i].v.obj)->var));
  tn_arr *all = tn_arr_from(&vars);
  const tn_arr *factors = all ? arith_linear(index, all) : NULL;
  if (!factors || !x) return -1;
  int64_t at = factors->len ? longest(d, factors, &k) : -1;
  if (at < 0) return require(d, tir_eq(index, x));
  tn_Var *v = (tn_Var *)vars.items[at].v.obj;
  tn_expr *kk = tir_const_int(index->dtype, k < 0 ? -k : k);
  tn_expr *rest = tir_sub(
      index, tir_mul(tir_const_int(index->dtype, k), tir_cast(index->dtype, (tn_expr *)v, NULL)));
  TN_GET(rest, rest ? arith_simplify(&d->a, rest) : NULL);
  tn_expr *left = k < 0 ? tir_sub(rest, x) : tir_sub(x, rest);
  TN_GET(left, left ? arith_simplify(&d->a, left) : NULL);
  if (!tir_is_one(kk)) TN_TRY(require(d, tir_eq(tir_floormod(left, kk), tir_zero(left->dtype))));
  tn_expr *with = tir_cast(v->dtype, tir_floordiv(left, kk), NULL);
  return with ? solve(d, at, arith_simplify(&d->a, with)) : -1;
}

/* Number of the element of a reduction that is at these values of its axes. */
static tn_expr *number_of(addend *d, const tn_arr *axes) {
  tn_expr *n = tir_i32(0);
  for (int64_t i = 0; i < axes->len && n; ++i) {
    const tn_IterVar *iv = (const tn_IterVar *)tn_arr_obj(axes, i);
    tn_expr *at = tir_sub((tn_expr *)iv->var, iv->dom->min);
    n = tir_add(tir_mul(n, tir_cast(TN_I32, iv->dom->extent, NULL)), tir_cast(TN_I32, at, NULL));
  }
  return n ? here(d, n) : NULL;
}

static tn_expr *at_axes(addend *d, const tn_Tensor *t, const tn_arr *indices, int64_t nprefix) {
  TN_VEC(at);
  for (int64_t i = 0; i < nprefix; ++i) TN_TRYP(tn_vec_push(&at, indices->items[i]));
  for (int64_t i = 0; i < d->t->op->axis->len; ++i) {
    const tn_IterVar *iv = (const tn_IterVar *)tn_arr_obj(d->t->op->axis, i);
    TN_TRYP(tn_vec_push_obj(&at, here(d, iv->var)));
  }
  return te_at(t, tn_arr_from(&at));
}

/* The sum over the axes that are left. */
static tn_expr *summed(addend *d, tn_expr *e) {
  if (!tir_is_one(d->where)) e = tir_if_then_else(d->where, e, tir_zero(e->dtype), NULL);
  return d->free.len && e ? te_reduce(TE_SUM, e, tn_arr_from(&d->free), NULL) : e;
}

static int bind_indices(addend *d, const tn_arr *indices, const tn_arr *shape, int64_t from) {
  for (int64_t i = 0; i < shape->len; ++i) {
    tn_expr *n = (tn_expr *)tn_arr_obj(shape, i);
    const tn_Range *r = tir_range(tir_zero(n->dtype), n);
    if (!r || arith_bind_range(&d->a, (tn_Var *)tn_arr_obj(indices, from + i), r, true)) return -1;
  }
  return 0;
}

/* Axes of the operation: those of the result are the prefix where `by` is the identity. */
static int set_axes(addend *d, const tn_arr *indices) {
  const tn_ComputeOp *op = d->t->op;
  for (int64_t i = 0; i < op->axis->len; ++i) {
    const tn_IterVar *iv = (const tn_IterVar *)tn_arr_obj(op->axis, i);
    TN_TRY(d->t->by ? add_free(d, iv) : tn_pmap_put(&d->value, iv->var, tn_arr_obj(indices, i)));
  }
  for (int64_t i = 0; i < op->reduce_axis->len; ++i)
    TN_TRY(add_free(d, (const tn_IterVar *)tn_arr_obj(op->reduce_axis, i)));
  return 0;
}

/* Element (h..., x...) of an addend. */
static tn_expr *element(void *ctx, tn_arr *indices) {
  const through *t = ctx;
  int64_t n = t->prefix->len;
  addend d __attribute__((cleanup(addend_fini))) = {.t = t, .where = tir_bool(true)};
  TN_TRYP(bind_indices(&d, indices, t->prefix, 0) || bind_indices(&d, indices, t->x->shape, n));
  TN_TRYP(set_axes(&d, indices));
  for (int64_t i = 0; i < t->read->indices->len; ++i)
    TN_TRYP(equate(&d, te_index(t->read->indices, i), te_index(indices, n + i)));
  if (t->r && !tir_is_one(t->r->condition)) TN_TRYP(require(&d, here(&d, t->r->condition)));
  tn_expr *e = (tn_expr *)tir_substitute(t->derivative, &d.value);
  if (t->by && e) {
    tn_expr *h = at_axes(&d, t->by, indices, n);
    e = h ? te_product(tir_cast(e->dtype, h, NULL), e) : NULL;
  }
  if (t->arg && e) {
    tn_expr *arg = at_axes(&d, t->arg, indices, 0), *k = arg ? number_of(&d, t->r->axis) : NULL;
    e = k ? tir_select(tir_eq(arg, k), e, tir_zero(e->dtype), NULL) : NULL;
  }
  return e ? summed(&d, e) : NULL;
}

/* ---- elements that are read ---- */

typedef struct {
  const tn_Tensor *x;
  tn_vec reads; /* ProducerLoad, each once */
} read_walk;

static int find_read(void *ctx, tn_obj *o) {
  read_walk *w = ctx;
  const tn_ProducerLoad *load = TN_AS(ProducerLoad, o);
  if (o->type_index == TN_TI_Tensor) return 1;
  if (!load || !te_same_tensor(TN_AS(Tensor, load->producer), w->x)) return 0;
  for (int64_t i = 0; i < w->reads.len; ++i) {
    int equal = tn_equal(w->reads.items[i].v.obj, load, 0);
    if (equal) return equal < 0 ? -1 : 0;
  }
  return tn_vec_push_obj(&w->reads, load);
}

static int each_read(through *t, tn_arr *shape, const char *name, tn_vec *out) {
  read_walk w = {.x = t->x};
  int err = tn_pre_order(t->body, find_read, &w) < 0 ? -1 : 0;
  for (int64_t i = 0; !err && i < w.reads.len; ++i) {
    t->read = (const tn_ProducerLoad *)w.reads.items[i].v.obj;
    err = te_derivative(t->body, (const tn_obj *)t->read, &t->derivative);
    if (err || !t->derivative) continue;
    const tn_Tensor *g = te_compute(shape, element, t, name, "");
    err = g ? tn_vec_push_obj(out, g) : -1;
  }
  tn_vec_fini(&w.reads);
  return err;
}

/* ---- max and min: which element it is ---- */

static tn_arr *pair_of(tn_Var *a, tn_Var *b) { return a && b ? tn_arr_of(2, a, b) : NULL; }

static tn_CommReducer *arg_reducer(kind how, tn_dtype t, tn_expr *start) {
  tn_Var *i = tir_var("i", TN_I32), *j = tir_var("j", TN_I32), *v = tir_var("v", t),
         *u = tir_var("u", t);
  tn_expr *x = (tn_expr *)v, *y = (tn_expr *)u;
  tn_expr *first = how == MAX ? tir_ge(x, y) : tir_le(x, y),
          *best = how == MAX ? tir_max(x, y) : tir_min(x, y);
  tn_expr *which = first ? tir_select(first, (tn_expr *)i, (tn_expr *)j, NULL) : NULL;
  if (!which || !best || !start) return NULL;
  return TN_MAKE(CommReducer, .lhs = pair_of(i, v), .rhs = pair_of(j, u),
                 .result = tn_arr_of(2, which, best),
                 .identity_element = tn_arr_of(2, tir_i32(-1), start));
}

/* The pair of reductions of two sources, over new axes, where the operation's axes are `indices`.
 */
static tn_arr *two_reductions(addend *d, const tn_Reduce *r, tn_CommReducer *c, tn_expr *first) {
  TN_VEC(out);
  tn_expr *source = here(d, tn_arr_obj(r->source, 0)), *where = here(d, r->condition);
  tn_arr *both = source && first ? tn_arr_of(2, first, source) : NULL,
         *axes = tn_arr_from(&d->free), *none = tn_arr_of(0);
  for (int64_t i = 0; c && both && axes && where && i < 2; ++i)
    TN_TRYP(tn_vec_push_obj(&out, TN_NEW(Reduce, .dtype = ((tn_expr *)tn_arr_obj(both, i))->dtype,
                                         .combiner = c, .source = both, .axis = axes, .init = none,
                                         .condition = where, .value_index = i)));
  return out.len ? tn_arr_from(&out) : NULL;
}

static int bind_axes(addend *d, const tn_arr *indices) {
  const tn_ComputeOp *op = d->t->op;
  for (int64_t i = 0; i < op->axis->len; ++i)
    TN_TRY(tn_pmap_put(&d->value, ((const tn_IterVar *)tn_arr_obj(op->axis, i))->var,
                       tn_arr_obj(indices, i)));
  for (int64_t i = 0; i < op->reduce_axis->len; ++i)
    TN_TRY(add_free(d, (const tn_IterVar *)tn_arr_obj(op->reduce_axis, i)));
  return 0;
}

static tn_arr *arg_elements(void *ctx, tn_arr *indices) {
  const through *t = ctx;
  addend d __attribute__((cleanup(addend_fini))) = {.t = t, .where = tir_bool(true)};
  TN_TRYP(bind_axes(&d, indices));
  tn_expr *start = (tn_expr *)tn_arr_obj(t->r->combiner->identity_element, 0);
  tn_expr *k = number_of(&d, t->r->axis);
  return two_reductions(&d, t->r, arg_reducer(t->how, start->dtype, start), k);
}

static int note_arg(through *t) {
  tn_arr *shape = te_output_shape((const tn_Operation *)t->op, 0);
  tn_str *name = tn_str_fmt("%s.arg", tn_cstr(t->op->name));
  const tn_arr *pair = shape && name
                           ? te_compute_many(shape, arg_elements, t, name->data, TE_COMM_REDUCE_IDX)
                           : NULL;
  if (!pair) return -1;
  t->arg = (const tn_Tensor *)tn_arr_obj(pair, 0);
  return 0;
}

/* ---- any other reduction: its Jacobian ---- */

/* (derivative, value) pairs combine as the combiner's differential does. */
static tn_CommReducer *pair_reducer(const tn_CommReducer *c) {
  tn_Var *x = (tn_Var *)tn_arr_obj(c->lhs, 0), *y = (tn_Var *)tn_arr_obj(c->rhs, 0);
  tn_Var *dx = tir_var_like(x, "dx"), *dy = tir_var_like(y, "dy");
  tn_expr *f = (tn_expr *)tn_arr_obj(c->result, 0), *fx, *fy, *all = tir_zero(x->dtype);
  if (!dx || !dy || te_derivative(f, (tn_obj *)x, &fx) || te_derivative(f, (tn_obj *)y, &fy))
    return NULL;
  if (fx) all = te_product(fx, (tn_expr *)dx);
  if (fy) all = fx ? tir_add(all, te_product(fy, (tn_expr *)dy)) : te_product(fy, (tn_expr *)dy);
  return TN_MAKE(
      CommReducer, .lhs = pair_of(dx, x), .rhs = pair_of(dy, y), .result = tn_arr_of(2, all, f),
      .identity_element = tn_arr_of(2, tir_zero(x->dtype), tn_arr_obj(c->identity_element, 0)));
}

/* The derivative of the source by element x of the tensor: of all reads that are of x. */
static tn_expr *source_derivative(addend *d, const tn_arr *indices, int64_t from) {
  read_walk w = {.x = d->t->x};
  tn_expr *body = (tn_expr *)tn_arr_obj(d->t->r->source, 0), *sum = tir_zero(body->dtype), *one;
  bool ok = tn_pre_order(body, find_read, &w) >= 0;
  for (int64_t i = 0; ok && sum && i < w.reads.len; ++i) {
    const tn_ProducerLoad *read = (const tn_ProducerLoad *)w.reads.items[i].v.obj;
    tn_expr *same = tir_bool(true);
    ok = te_derivative(body, (const tn_obj *)read, &one) == 0;
    for (int64_t k = 0; ok && same && k < read->indices->len; ++k) {
      tn_expr *at = here(d, tn_arr_obj(read->indices, k)), *x = te_index(indices, from + k);
      same = at ? tir_and(same, tir_eq(at, tir_cast(at->dtype, x, NULL))) : NULL;
    }
    if (!ok || !one) continue;
    one = here(d, one);
    sum =
        same && one ? tir_add(sum, tir_if_then_else(same, one, tir_zero(one->dtype), NULL)) : NULL;
  }
  tn_vec_fini(&w.reads);
  return ok ? sum : NULL;
}

static tn_arr *jacobian_elements(void *ctx, tn_arr *indices) {
  const through *t = ctx;
  addend d __attribute__((cleanup(addend_fini))) = {.t = t, .where = tir_bool(true)};
  TN_TRYP(bind_axes(&d, indices));
  tn_expr *by_x = source_derivative(&d, indices, t->op->axis->len);
  return by_x ? two_reductions(&d, t->r, pair_reducer(t->r->combiner), by_x) : NULL;
}

typedef struct {
  const through *t;
  const tn_Tensor *jacobian;
} contraction;

/* sum over i of H[h..., i...] * J[i..., x...] */
static tn_expr *contracted(void *ctx, tn_arr *indices) {
  const contraction *c = ctx;
  const tn_Tensor *by = c->t->by;
  int64_t n = c->t->prefix->len;
  TN_VEC(left);
  TN_VEC(right);
  TN_VEC(axes);
  for (int64_t i = 0; i < n; ++i) TN_TRYP(tn_vec_push(by ? &left : &right, indices->items[i]));
  for (int64_t i = 0; by && i < c->t->result->shape->len; ++i) {
    const tn_IterVar *iv = te_reduce_axis(te_extent(c->t->result, i), "i");
    if (!iv || tn_vec_push_obj(&axes, iv) || tn_vec_push_obj(&left, iv->var) ||
        tn_vec_push_obj(&right, iv->var))
      return NULL;
  }
  for (int64_t i = n; i < indices->len; ++i) TN_TRYP(tn_vec_push(&right, indices->items[i]));
  tn_expr *e = te_at(c->jacobian, tn_arr_from(&right));
  if (!by || !e) return e;
  tn_expr *h = te_at(by, tn_arr_from(&left));
  e = h ? tir_mul(tir_cast(e->dtype, h, NULL), e) : NULL;
  return axes.len && e ? te_reduce(TE_SUM, e, tn_arr_from(&axes), NULL) : e;
}

static int by_jacobian(through *t, tn_arr *shape, const char *name, tn_vec *out) {
  tn_arr *whole = te_joined(t->result->shape, t->x->shape);
  tn_str *full = tn_str_fmt("%s.jacobian", tn_cstr(t->op->name));
  const tn_arr *pair =
      whole && full ? te_compute_many(whole, jacobian_elements, t, full->data, "") : NULL;
  if (!pair) return -1;
  contraction c = {t, (const tn_Tensor *)tn_arr_obj(pair, 0)};
  const tn_Tensor *g = te_compute(shape, contracted, &c, name, "");
  return g ? tn_vec_push_obj(out, g) : -1;
}

/* ---- all addends ---- */

static bool combines(const tn_CommReducer *c, const tn_Add *e, uint32_t type) {
  const tn_expr *x = (const tn_expr *)tn_arr_obj(c->lhs, 0),
                *y = (const tn_expr *)tn_arr_obj(c->rhs, 0);
  if (((const tn_obj *)e)->type_index != type) return false;
  return (e->a == x && e->b == y) || (e->a == y && e->b == x);
}

static kind kind_of(const tn_Reduce *r) {
  if (!r) return PLAIN;
  const tn_Add *e = (const tn_Add *)tn_arr_obj(r->combiner->result, 0);
  return combines(r->combiner, e, TN_TI_Add)   ? SUM
         : combines(r->combiner, e, TN_TI_Max) ? MAX
         : combines(r->combiner, e, TN_TI_Min) ? MIN
                                               : OTHER;
}

int te_gradient_through(const tn_Tensor *result, const tn_Tensor *x, const tn_Tensor *by,
                        const tn_arr *prefix, tn_vec *out) {
  through t = {
      .op = (const tn_ComputeOp *)result->op, .result = result, .x = x, .by = by, .prefix = prefix};
  t.body = (tn_expr *)tn_arr_obj(t.op->body, result->value_index);
  t.r = TN_AS(Reduce, t.body);
  TN_CHECK(!t.r || (t.r->source->len == 1 && !t.r->init->len), TenonError, NULL,
           "gradient: %s reduces several values at once, or from an initial value, which has no "
           "derivative here",
           tn_cstr(t.op->name));
  t.how = kind_of(t.r);
  if (t.r) t.body = (tn_expr *)tn_arr_obj(t.r->source, 0);
  tn_arr *shape = te_joined(prefix, x->shape);
  tn_str *name = tn_str_fmt("%s.%s.grad", tn_cstr(result->op->name), tn_cstr(x->op->name));
  if (!shape || !name) return -1;
  if (t.how == OTHER) return by_jacobian(&t, shape, name->data, out);
  if (t.how == MAX || t.how == MIN) TN_TRY(note_arg(&t));
  return each_read(&t, shape, name->data, out);
}
