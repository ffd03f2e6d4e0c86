/* Where the largest or smallest element is, and the variance.

     argmax(%x, axis=[1])    Tensor[(2, 3), float32] -> Tensor[(2), int32] */
#include "ir/imm.h"
#include "kernels/layout_choice.h"
#include "ops/gradients.h"
#include "ops/layout.h"
#include "ops/ops.h"

#define TN_FIELDS_ArgReduceAttrs(F, S)                                                             \
  F(S, REF, Array, axis, TN_OPT | TN_INTS,                                                         \
    "axes that are reduced, all of them when None or empty", "None")                               \
  F(S, BOOL, , keepdims, 0, "keep reduced axes, with extent 1", "False")                           \
  F(S, BOOL, , select_last_index, 0, "of several such elements the last, not the first", "False")  \
  F(S, BOOL, , exclude, 0, "reduce the axes that are not in `axis` instead", "False")
#define TN_FIELDS_VarianceAttrs(F, S)                                                              \
  F(S, REF, Array, axis, TN_OPT | TN_INTS,                                                         \
    "axes that are reduced, all of them when None or empty", "None")                               \
  F(S, BOOL, , keepdims, 0, "keep reduced axes, with extent 1", "False")                           \
  F(S, BOOL, , exclude, 0, "reduce the axes that are not in `axis` instead", "False")              \
  F(S, BOOL, , unbiased, 0, "divide by one less", "False")
#define ARG_REDUCE_ATTRS(N)                                                                        \
  N(ArgReduceAttrs, Attrs, "relay.attrs.ArgReduceAttrs", NODE, TREE, tn_no_hooks,                  \
    "attributes of argmax and argmin")                                                             \
  N(VarianceAttrs, Attrs, "relay.attrs.VarianceAttrs", NODE, TREE, tn_no_hooks,                    \
    "attributes of variance")
TN_NODES_LOCAL(ARG_REDUCE_ATTRS)

static bool axes_of(const void *attrs, int64_t ndim, bool *reduced, int64_t *bad) {
  return ops_find_axes(relay_attr_obj(attrs, "axis"), relay_attr_int(attrs, "exclude", 0) != 0,
                       ndim, reduced, bad);
}

static bool keepdims(const void *attrs) { return relay_attr_int(attrs, "keepdims", 0) != 0; }

static int relate(relay_rel *r, const tn_TensorType *data, tn_dtype t) {
  bool reduced[OPS_MAX_NDIM];
  int64_t bad = 0;
  RELAY_CHECK(r, data->shape->len <= OPS_MAX_NDIM, "too many dimensions");
  RELAY_CHECK(r, axes_of(r->attrs, data->shape->len, reduced, &bad),
              "axis %lld is out of range for %s", (long long)bad, relay_type_text(data));
  return relay_rel_result(r,
                          relay_tensor_type(ops_kept(data->shape, reduced, keepdims(r->attrs)), t));
}

static int relate_arg(relay_rel *r) {
  RELAY_TENSOR(data, r, 0);
  return relate(r, data, TN_I32);
}

static tn_arr *shape_function(const relay_shape_query *q) {
  bool reduced[OPS_MAX_NDIM];
  axes_of(q->attrs, relay_shape_of(q, 0)->len, reduced, &(int64_t){0});
  return tn_arr_of(1, ops_kept(relay_shape_of(q, 0), reduced, keepdims(q->attrs)));
}

/* ---- argmax, argmin ---- */

typedef struct {
  const tn_Tensor *data;
  const bool *reduced;
  bool keepdims, last, max;
  const tn_Tensor *best; /* value, for each result */
  int64_t count;         /* of elements that one of them is found among */
} arg;

static bool has_nans(const arg *a) { return ir_is_floating(a->data->dtype); }

static tn_expr *is_nan(tn_expr *x) { return tir_ne(x, x); }

/* (index, value) pairs: the better value, of equal ones the first or last index; NaN is better than
   any number. What it starts from loses against everything. */
static tn_CommReducer *better(const arg *a) {
  tn_dtype t = a->data->dtype;
  tn_Var *li = tir_var("li", TN_I32), *lv = tir_var("lv", t), *ri = tir_var("ri", TN_I32),
         *rv = tir_var("rv", t);
  tn_expr *l = (tn_expr *)lv, *r = (tn_expr *)rv, *i = (tn_expr *)li, *j = (tn_expr *)ri;
  tn_expr *wins = tir_or(a->max ? tir_gt(l, r) : tir_lt(l, r),
                         tir_and(tir_eq(l, r), a->last ? tir_gt(i, j) : tir_lt(i, j)));
  if (has_nans(a)) wins = tir_or(wins, a->last ? tir_and(is_nan(l), tir_eq(r, r)) : is_nan(l));
  tn_expr *worst = a->max ? ops_least(t) : has_nans(a) ? tir_infinity(t) : tir_max_value(t);
  tn_expr *index = a->last ? tir_i32(-1) : tir_max_value(TN_I32);
  return TN_MAKE(CommReducer, .lhs = tn_arr_of(2, li, lv), .rhs = tn_arr_of(2, ri, rv),
                 .result = tn_arr_of(2, tir_select(wins, i, j, NULL), tir_select(wins, l, r, NULL)),
                 .identity_element = tn_arr_of(2, index, worst));
}

static tn_arr *elements(void *ctx, tn_arr *at) {
  const arg *a = ctx;
  tn_expr *place = tir_zero(TN_I32);
  TN_VEC(index);
  TN_VEC(axes);
  int64_t next = 0;
  for (int64_t i = 0; i < a->data->shape->len; ++i) {
    if (!a->reduced[i]) {
      TN_TRYP(tn_vec_push_obj(&index, te_index(at, next++)));
      continue;
    }
    next += a->keepdims;
    tn_IterVar *k = te_reduce_axis(te_extent(a->data, i), ops_reduce_name((int)axes.len));
    if (!k || tn_vec_push_obj(&axes, k) || tn_vec_push_obj(&index, k->var)) return NULL;
    place = tir_add(tir_mul(place, te_extent(a->data, i)), (tn_expr *)k->var);
  }
  tn_arr *all = tn_arr_from(&axes);
  tn_CommReducer *c = better(a);
  tn_arr *source = tn_arr_of(2, tir_cast(TN_I32, place, NULL), te_at(a->data, tn_arr_from(&index)));
  tn_expr *where = tir_bool(true);
  if (!all || !c || !source || !where) return NULL;
  if (all->len == 0) return source;
  return tn_arr_of(2,
                   TN_MAKE(Reduce, .dtype = TN_I32, .axis = all, .combiner = c, .source = source,
                           .init = tn_arr_of(0), .condition = where, .value_index = 0),
                   TN_MAKE(Reduce, .dtype = a->data->dtype, .axis = all, .combiner = c,
                           .source = source, .init = tn_arr_of(0), .condition = where,
                           .value_index = 1));
}

typedef struct {
  const arg *a;
  const tn_Tensor *place;
} place_ctx;

/* Of no elements there is no pair: its memory was never written. */
static tn_expr *index_of_pair(void *ctx, tn_arr *at) {
  const place_ctx *c = ctx;
  tn_expr *index = te_at(c->place, at),
          *count = ops_count(c->a->data->shape, c->a->reduced, TN_I64);
  if (!count) return NULL;
  return tir_select(tir_gt(count, tir_zero(TN_I64)), index, tir_i32(-1), NULL);
}

/* Pairs first, then their indices. */
static tn_arr *by_pairs(arg *a, tn_arr *shape) {
  tn_arr *pairs = te_compute_many(shape, elements, a, "T_arg_red_temp", TE_COMM_REDUCE_IDX);
  if (!pairs) return NULL;
  place_ctx c = {a, (const tn_Tensor *)tn_arr_obj(pairs, 0)};
  return tn_arr_of(1, te_compute(shape, index_of_pair, &c, "T_arg_red", TE_COMM_REDUCE_IDX));
}

/* ---- in vectors: the best value, then the first (last) place that has it ---- */

/* The place of an element that is the best; others lose. NaNs get places before all numbers when
   the first is looked for, after all when it is the last. */
static tn_expr *place_of_best(void *ctx, tn_arr *at) {
  const arg *a = ctx;
  tn_expr *x = te_at(a->data, at), *best = te_at(a->best, ops_kept(at, a->reduced, false));
  tn_expr *place = tir_zero(TN_I32), *none = a->last ? tir_i32(-1) : tir_max_value(TN_I32);
  for (int64_t i = 0; i < at->len; ++i)
    if (a->reduced[i]) place = tir_add(tir_mul(place, te_extent(a->data, i)), te_index(at, i));
  place = tir_cast(TN_I32, place, NULL);
  tn_expr *found = tir_select(tir_eq(x, best), place, none, NULL);
  if (!has_nans(a)) return found;
  tn_expr *count = tir_i32((int32_t)a->count);
  return tir_select(is_nan(x), a->last ? tir_add(place, count) : tir_sub(place, count), found,
                    NULL);
}

static tn_expr *without_nans(void *ctx, tn_arr *at) {
  const place_ctx *c = ctx;
  tn_expr *p = te_at(c->place, at), *count = tir_i32((int32_t)c->a->count);
  if (!has_nans(c->a)) return p;
  return c->a->last ? tir_select(tir_ge(p, count), tir_sub(p, count), p, NULL)
                    : tir_select(tir_lt(p, tir_zero(TN_I32)), tir_add(p, count), p, NULL);
}

static tn_arr *by_values(arg *a, tn_arr *shape) {
  TN_GETP(a->best, ops_reduce_over(a->data->shape, a->reduced, false, a->max ? TE_MAX : TE_MIN,
                                   ops_element, (void *)(uintptr_t)a->data, "T_arg_red_value"));
  place_ctx c = {a, NULL};
  TN_GETP(c.place, ops_reduce_over(a->data->shape, a->reduced, a->keepdims,
                                   a->last ? TE_MAX : TE_MIN, place_of_best, a, "T_arg_red_temp"));
  return tn_arr_of(1, te_compute(shape, without_nans, &c, "T_arg_red", TE_COMM_REDUCE_IDX));
}

/* Vectors have no pairs: two passes over a row that is near are ten times as fast. */
static bool in_vectors(arg *a) {
  target_machine m;
  tn_expr *count = ops_count(a->data->shape, a->reduced, TN_I32);
  bool any = false;
  for (int64_t i = 0; i < a->data->shape->len; ++i) any = any || a->reduced[i];
  return any && count && tir_as_int((tn_obj *)count, &a->count) && a->count > 0 &&
         a->count < INT32_MAX / 2 && kernels_machine(&m) && m.vector_bytes > 0;
}

static tn_arr *compute_arg(const relay_compute *c) {
  bool reduced[OPS_MAX_NDIM];
  const tn_ArgReduceAttrs *attrs = c->attrs;
  arg a = {relay_input(c, 0),
           reduced,
           attrs->keepdims,
           attrs->select_last_index,
           c->row->which != 0,
           NULL,
           0};
  axes_of(attrs, a.data->shape->len, reduced, &(int64_t){0});
  tn_arr *shape = ops_kept(a.data->shape, reduced, a.keepdims);
  if (!shape) return NULL;
  return in_vectors(&a) ? by_values(&a, shape) : by_pairs(&a, shape);
}

/* ---- variance ---- */

static int relate_variance(relay_rel *r) {
  RELAY_TENSOR(data, r, 0);
  RELAY_TENSOR(mean, r, 1);
  RELAY_CHECK(r, mean->shape->len == data->shape->len,
              "mean %s must have as many dimensions as data %s", relay_type_text(mean),
              relay_type_text(data));
  return relate(r, data, data->dtype);
}

typedef struct {
  const tn_Tensor *data, *mean, *sum;
  const bool *reduced;
  tn_expr *count;
} moments;

static tn_expr *squared_distance(void *ctx, tn_arr *at) {
  const moments *m = ctx;
  tn_expr *d = tir_sub(te_at(m->data, at), ops_broadcast_at(m->mean, m->data->shape, at));
  return tir_mul(d, d);
}

static tn_expr *divided(void *ctx, tn_arr *at) {
  const moments *m = ctx;
  return ops_mean("variance", te_at(m->sum, at), m->count);
}

static tn_arr *compute_variance(const relay_compute *c) {
  bool reduced[OPS_MAX_NDIM];
  const tn_VarianceAttrs *a = c->attrs;
  moments m = {relay_input(c, 0), relay_input(c, 1), NULL, reduced, NULL};
  axes_of(a, m.data->shape->len, reduced, &(int64_t){0});
  m.count = ops_count(m.data->shape, reduced, m.data->dtype);
  if (m.count && a->unbiased) m.count = tir_sub(m.count, tir_one(m.count->dtype));
  TN_GETP(m.sum, ops_reduce_over(m.data->shape, reduced, a->keepdims, TE_SUM, squared_distance, &m,
                                 "T_squares"));
  return tn_arr_of(1, te_compute(m.sum->shape, divided, &m, "T_variance", TE_ELEMWISE));
}

/* The index counts the elements of reduced axes in their order, which must stay. */
static int layouts(relay_layouts *q) {
  const tn_Layout *before = relay_layout_at(q->before, 0), *now = relay_layout_now(q, 0);
  bool reduced[OPS_MAX_NDIM];
  int64_t last = -1;
  if (!before || before->axes->len > OPS_MAX_NDIM) return 0;
  axes_of(q->attrs, before->axes->len, reduced, &(int64_t){0});
  for (int64_t i = 0; q->given && i < before->axes->len; ++i) {
    if (!reduced[i]) continue;
    int64_t place = relay_layout_axis_in(before, i, now);
    if (place <= last) q->given = NULL; /* stays as it was */
    last = place;
  }
  return ops_layouts_reduce(q);
}

static const relay_op_row rows[] = {
    {.name = "argmax",
     .inputs = "data",
     .attrs = &tn_type_ArgReduceAttrs,
     .level = 4,
     .pattern = RELAY_COMM_REDUCE,
     .rel_name = "ArgReduce",
     .rel = relate_arg,
     .compute = compute_arg,
     .shape = shape_function,
     .layouts = layouts,
     .which = 1,
     .doc = "index of the largest element over axes; NaN is larger than any number; -1 for no "
            "elements",
     .precision = RELAY_FULL,
     .values = RELAY_COMPUTED},
    {.name = "argmin",
     .inputs = "data",
     .attrs = &tn_type_ArgReduceAttrs,
     .level = 4,
     .pattern = RELAY_COMM_REDUCE,
     .rel_name = "ArgReduce",
     .rel = relate_arg,
     .compute = compute_arg,
     .shape = shape_function,
     .layouts = layouts,
     .doc = "index of the smallest element over axes; NaN is smaller than any number; -1 where "
            "the axes have extent 0",
     .precision = RELAY_FULL,
     .values = RELAY_COMPUTED},
    {.name = "variance",
     .inputs = "data mean",
     .attrs = &tn_type_VarianceAttrs,
     .level = 4,
     .pattern = RELAY_COMM_REDUCE,
     .flags = RELAY_NUMBERS,
     .rel_name = "Variance",
     .rel = relate_variance,
     .compute = compute_variance,
     .shape = shape_function,
     .grad = ops_grad_variance,
     .doc = "mean of squared distances from the mean, over axes",
     .precision = RELAY_FULL,
     .values = RELAY_COMPUTED},
};

RELAY_FAMILY(arg_reduce, ARG_REDUCE_ATTRS)
