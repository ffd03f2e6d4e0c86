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

static int relation(relay_rel *r) {
  const tn_ReduceAttrs *a = r->attrs;
  bool reduced[OPS_MAX_NDIM];
  int64_t bad = 0;
  RELAY_TENSOR(data, r, 0);
  RELAY_CHECK(r, data->shape->len <= OPS_MAX_NDIM, "too many dimensions");
  RELAY_CHECK(r, ops_find_axes(a->axis, a->exclude, data->shape->len, reduced, &bad),
              "axis %lld is out of range for %s", (long long)bad, relay_type_text(data));
  return relay_rel_result(
      r, relay_tensor_type(ops_kept(data->shape, reduced, a->keepdims), data->dtype));
}

/* ---- compute ---- */

static tn_Tensor *reduce(const relay_compute *c, const bool *reduced, te_reducer kind) {
  tn_Tensor *data = relay_input(c, 0);
  bool keepdims = ((const tn_ReduceAttrs *)c->attrs)->keepdims;
  TN_BUF(name);
  tn_buf_printf(&name, "T_%s", c->row->name);
  TN_TRYP(tn_buf_ok(&name));
  return ops_reduce_over(data->shape, reduced, keepdims, kind, ops_element, data,
                         tn_buf_cstr(&name));
}

/* The relation has checked the axes. */
static void axes_of(const tn_ReduceAttrs *a, int64_t ndim, bool *reduced) {
  ops_find_axes(a->axis, a->exclude, ndim, reduced, &(int64_t){0});
}

static tn_arr *compute(const relay_compute *c) {
  bool reduced[OPS_MAX_NDIM];
  axes_of(c->attrs, relay_input(c, 0)->shape->len, reduced);
  return tn_arr_of(1, reduce(c, reduced, (te_reducer)c->row->which));
}

typedef struct {
  const tn_Tensor *sum;
  tn_expr *count;
} quotient;

static tn_expr *divided(void *ctx, tn_arr *at) {
  const quotient *q = ctx;
  return tir_div(te_at(q->sum, at), q->count);
}

static tn_arr *compute_mean(const relay_compute *c) {
  bool reduced[OPS_MAX_NDIM];
  const tn_Tensor *data = relay_input(c, 0);
  axes_of(c->attrs, data->shape->len, reduced);
  quotient q = {reduce(c, reduced, TE_SUM), ops_count(data->shape, reduced, data->dtype)};
  if (!q.sum || !q.count) return NULL;
  return tn_arr_of(1, te_compute(q.sum->shape, divided, &q, "T_divide", TE_ELEMWISE));
}

static tn_arr *shape_function(const relay_shape_query *q) {
  const tn_ReduceAttrs *a = q->attrs;
  bool reduced[OPS_MAX_NDIM];
  axes_of(a, relay_shape_of(q, 0)->len, reduced);
  return tn_arr_of(1, ops_kept(relay_shape_of(q, 0), reduced, a->keepdims));
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
