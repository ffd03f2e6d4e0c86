/* Reductions over axes.

     sum(%x, axis=[1], keepdims=True)    Tensor[(2, 3), float32] -> Tensor[(2, 1), float32] */
#include "ir/imm.h"
#include "ops/ops.h"

#define TN_FIELDS_ReduceAttrs(F, S)                                                                \
  F(S, REF, Array, axis, TN_OPT, "axes that are reduced, all of them when None or empty", "None")  \
  F(S, BOOL, , keepdims, 0, "keep reduced axes, with extent 1", "False")                           \
  F(S, BOOL, , exclude, 0, "reduce the axes that are not in `axis` instead", "False")
#define REDUCE_ATTRS(N)                                                                            \
  N(ReduceAttrs, Attrs, "relay.attrs.ReduceAttrs", NODE, TREE, tn_no_hooks,                        \
    "attributes of reductions")
TN_NODES_LOCAL(REDUCE_ATTRS)

enum { MAX_NDIM = 32 };

/* Which axes are reduced. On failure the axis that is wrong is in *bad. */
static bool find_axes(const tn_ReduceAttrs *a, int64_t ndim, bool *reduced, int64_t *bad) {
  bool all = !a->axis || a->axis->len == 0;
  for (int64_t i = 0; i < ndim; ++i) reduced[i] = all || a->exclude;
  for (int64_t i = 0; !all && i < a->axis->len; ++i) {
    int64_t axis = relay_int_at(a->axis, i);
    *bad = axis;
    if (axis < 0) axis += ndim;
    if (axis < 0 || axis >= ndim) return false;
    reduced[axis] = !a->exclude;
  }
  return true;
}

/* Extents that stay. */
static tn_arr *reduced_shape(const tn_arr *shape, const bool *reduced, bool keepdims) {
  TN_VEC(out);
  for (int64_t i = 0; i < shape->len; ++i) {
    if (!reduced[i]) TN_TRYP(tn_vec_push_obj(&out, tn_arr_obj(shape, i)));
    else if (keepdims)
      TN_TRYP(tn_vec_push_obj(&out, tir_one(((tn_expr *)tn_arr_obj(shape, i))->dtype)));
  }
  return tn_arr_from(&out);
}

static int relation(relay_rel *r) {
  const tn_ReduceAttrs *a = r->attrs;
  bool reduced[MAX_NDIM];
  int64_t bad = 0;
  RELAY_TENSOR(data, r, 0);
  RELAY_CHECK(r, data->shape->len <= MAX_NDIM, "too many dimensions");
  RELAY_CHECK(r, find_axes(a, data->shape->len, reduced, &bad), "axis %lld is out of range for %s",
              (long long)bad, relay_type_text(data));
  return relay_rel_result(
      r, relay_tensor_type(reduced_shape(data->shape, reduced, a->keepdims), data->dtype));
}

/* ---- compute ---- */

typedef struct {
  const relay_compute *c;
  const bool *reduced;
  te_reducer kind;
} reduction;

/* data at the indices of the result, with an axis of reduction where one was taken away */
static tn_expr *element(void *ctx, tn_arr *at) {
  const reduction *r = ctx;
  const tn_Tensor *data = relay_input(r->c, 0);
  bool keepdims = ((const tn_ReduceAttrs *)r->c->attrs)->keepdims;
  TN_VEC(index);
  TN_VEC(axes);
  int64_t next = 0;
  for (int64_t i = 0; i < data->shape->len; ++i) {
    if (!r->reduced[i]) {
      TN_TRYP(tn_vec_push_obj(&index, te_index(at, next++)));
      continue;
    }
    next += keepdims;
    tn_str *name = tn_str_fmt("k%lld", (long long)i);
    tn_IterVar *k = name ? te_reduce_axis(te_extent(data, i), tn_cstr(name)) : NULL;
    if (!k) return NULL;
    TN_TRYP(tn_vec_push_obj(&axes, k));
    TN_TRYP(tn_vec_push_obj(&index, k->var));
  }
  tn_expr *e = te_at(data, tn_arr_from(&index));
  return axes.len ? te_reduce(r->kind, e, tn_arr_from(&axes), NULL) : e;
}

static tn_Tensor *reduce(const relay_compute *c, const bool *reduced, te_reducer kind) {
  bool keepdims = ((const tn_ReduceAttrs *)c->attrs)->keepdims;
  reduction r = {c, reduced, kind};
  TN_BUF(name);
  tn_buf_printf(&name, "T_%s", c->row->name);
  TN_TRYP(tn_buf_ok(&name));
  return te_compute(reduced_shape(relay_input(c, 0)->shape, reduced, keepdims), element, &r,
                    tn_buf_cstr(&name), TE_COMM_REDUCE);
}

/* The relation has checked the axes. */
static tn_arr *compute(const relay_compute *c) {
  bool reduced[MAX_NDIM];
  find_axes(c->attrs, relay_input(c, 0)->shape->len, reduced, &(int64_t){0});
  return tn_arr_of(1, reduce(c, reduced, (te_reducer)c->row->which));
}

typedef struct {
  const tn_Tensor *sum;
  tn_expr *count;
} quotient;

static tn_expr *divided(void *ctx, tn_arr *at) {
  const quotient *q = ctx;
  return tir_div(te_at(q->sum, at), tir_cast(q->sum->dtype, q->count, NULL));
}

static tn_arr *compute_mean(const relay_compute *c) {
  bool reduced[MAX_NDIM];
  const tn_Tensor *data = relay_input(c, 0);
  find_axes(c->attrs, data->shape->len, reduced, &(int64_t){0});
  quotient q = {reduce(c, reduced, TE_SUM), tir_one(TN_I32)};
  for (int64_t i = 0; i < data->shape->len; ++i) {
    if (reduced[i]) q.count = tir_mul(q.count, te_extent(data, i));
  }
  if (!q.sum || !q.count) return NULL;
  return tn_arr_of(1, te_compute(q.sum->shape, divided, &q, "T_divide", TE_ELEMWISE));
}

static tn_arr *shape_function(const relay_shape_query *q) {
  const tn_ReduceAttrs *a = q->attrs;
  bool reduced[MAX_NDIM];
  find_axes(a, relay_shape_of(q, 0)->len, reduced, &(int64_t){0});
  return tn_arr_of(1, reduced_shape(relay_shape_of(q, 0), reduced, a->keepdims));
}

/* ---- rows ---- */

#define REDUCE(name_, compute_, which_, doc_)                                                      \
  {.name = name_,                                                                                  \
   .inputs = "data",                                                                               \
   .attrs = &tn_type_ReduceAttrs,                                                                  \
   .level = 4,                                                                                     \
   .pattern = RELAY_COMM_REDUCE,                                                                   \
   .rel_name = "Reduce",                                                                           \
   .rel = relation,                                                                                \
   .compute = compute_,                                                                            \
   .shape = shape_function,                                                                        \
   .which = which_,                                                                                \
   .doc = doc_},

static const relay_op_row rows[] = {
    REDUCE("sum", compute, TE_SUM, "sum of the elements over axes")
        REDUCE("prod", compute, TE_PROD, "product of the elements over axes") REDUCE(
            "max", compute, TE_MAX, "largest element over axes")
            REDUCE("min", compute, TE_MIN, "smallest element over axes") REDUCE(
                "all", compute, TE_ALL, "are all elements of a bool tensor true, over axes?")
                REDUCE("any", compute, TE_ANY, "is any element of a bool tensor true, over axes?")
                    REDUCE("mean", compute_mean, 0, "mean of the elements over axes")};

RELAY_FAMILY(reduce, REDUCE_ATTRS)
