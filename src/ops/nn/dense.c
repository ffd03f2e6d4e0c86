/* Dense layer: every row of data times the rows of weight.

     nn.dense(%data, %weight, units=5)    Tensor[(2, 3), float32], Tensor[(5, 3), float32]
                                          -> Tensor[(2, 5), float32] */
#include "ops/gradients.h"
#include "ops/nn/dense.h"
#include "ops/ops.h"
#include "ops/qnn.h"

#define TN_FIELDS_DenseAttrs(F, S)                                                                 \
  F(S, REF, PrimExpr, units, TN_OPT, "number of rows of weight", "None")                           \
  F(S, DTYPE, , out_dtype, 0, "type of the result, that of data when empty", "\"\"")               \
  F(S, REF, String, auto_scheduler_rewritten_layout, 0, "layout of weight after a rewrite",        \
    "\"\"")                                                                                        \
  F(S, REF, Array, meta_schedule_original_shape, 0, "shape of weight before a rewrite", "[]")
#define DENSE_ATTRS(N)                                                                             \
  N(DenseAttrs, Attrs, "relay.attrs.DenseAttrs", NODE, TREE, tn_no_hooks, "attributes of nn.dense")
TN_NODES_LOCAL(DENSE_ATTRS)

static tn_dtype result_dtype(tn_dtype out, tn_dtype data) { return out.bits == 0 ? data : out; }

/* Weight follows from `units` while it is not known. */
static int relation(relay_rel *r) {
  const tn_DenseAttrs *attrs = r->attrs;
  RELAY_TENSOR(data, r, 0);
  RELAY_CHECK(r, data->shape->len > 0, "data must not be scalar");
  tn_expr *features = relay_dim(data, -1), *units = attrs->units;
  tn_TensorType *weight = TN_AS(TensorType, r->types[1]);
  if (weight) {
    RELAY_CHECK(r, weight->shape->len == 2, "weight: expected 2 dimensions, got %lld",
                (long long)weight->shape->len);
    RELAY_CHECK(r, relay_dim_equal(features, relay_dim(weight, 1)) != 0,
                "input dimension of data %s doesn't match weight %s", relay_type_text(data),
                relay_type_text(weight));
    RELAY_CHECK(r, !units || relay_dim_equal(units, relay_dim(weight, 0)) != 0,
                "units=%lld doesn't match weight %s", (long long)relay_attr_int(attrs, "units", 0),
                relay_type_text(weight));
    if (!units) units = relay_dim(weight, 0);
  } else if (units) {
    TN_TRY(relay_rel_assign(
        r, 1, (tn_Type *)relay_tensor_type(tn_arr_of(2, units, features), data->dtype)));
  } else {
    return RELAY_WAIT;
  }
  TN_VEC(shape);
  for (int64_t i = 0; i + 1 < data->shape->len; ++i)
    TN_TRY(tn_vec_push_obj(&shape, relay_dim(data, i)));
  TN_TRY(tn_vec_push_obj(&shape, units));
  return relay_rel_result(
      r, relay_tensor_type(tn_arr_from(&shape), result_dtype(attrs->out_dtype, data->dtype)));
}

typedef struct {
  const tn_Tensor *data, *weight;
  tn_dtype dtype;
} dense;

/* sum over k of data[..., k] * weight[j, k] */
static tn_expr *element(void *ctx, tn_arr *at) {
  const dense *d = ctx;
  TN_VEC(row);
  tn_IterVar *k = te_reduce_axis(te_extent(d->data, -1), "k");
  if (!k) return NULL;
  for (int64_t i = 0; i + 1 < at->len; ++i) TN_TRYP(tn_vec_push_obj(&row, te_index(at, i)));
  TN_TRYP(tn_vec_push_obj(&row, k->var));
  tn_expr *a = tir_cast(d->dtype, te_at(d->data, tn_arr_from(&row)), NULL),
          *b = tir_cast(d->dtype, te_at_of(d->weight, 2, te_index(at, at->len - 1), k->var), NULL);
  return te_reduce(TE_SUM, tir_mul(a, b), tn_arr_of(1, k), NULL);
}

static tn_arr *compute(const relay_compute *c) {
  const tn_DenseAttrs *attrs = c->attrs;
  dense d = {relay_input(c, 0), relay_input(c, 1), {0}};
  d.dtype = result_dtype(attrs->out_dtype, d.data->dtype);
  TN_VEC(shape);
  for (int64_t i = 0; i + 1 < d.data->shape->len; ++i)
    TN_TRYP(tn_vec_push_obj(&shape, te_extent(d.data, i)));
  TN_TRYP(tn_vec_push_obj(&shape, te_extent(d.weight, 0)));
  return tn_arr_of(1, te_compute(tn_arr_from(&shape), element, &d, "T_dense", "dense"));
}

/* Extents of data with the last one replaced by the rows of weight. */
static tn_arr *shape_function(const relay_shape_query *q) {
  const tn_arr *data = relay_shape_of(q, 0);
  TN_VEC(shape);
  for (int64_t i = 0; i + 1 < data->len; ++i) TN_TRYP(tn_vec_push_obj(&shape, tn_arr_obj(data, i)));
  TN_TRYP(tn_vec_push_obj(&shape, tn_arr_obj(relay_shape_of(q, 1), 0)));
  return tn_arr_of(1, tn_arr_from(&shape));
}

static const relay_op_row rows[] = {
    {.name = "qnn.dense",
     .inputs = "data weight input_zero_point kernel_zero_point input_scale kernel_scale",
     .attrs = &tn_type_DenseAttrs,
     .level = 11,
     .pattern = RELAY_OUT_ELEMWISE_FUSABLE,
     .rel_name = "QnnDense",
     .rel = qnn_rel_dense,
     .legalize = qnn_lower_dense,
     .doc = "dense layer of quantized data; the result is in quanta of the product of scales"},
    {.name = "nn.dense",
     .inputs = "data weight",
     .attrs = &tn_type_DenseAttrs,
     .level = 1,
     .pattern = RELAY_OUT_ELEMWISE_FUSABLE,
     .rel_name = "Dense",
     .rel = relation,
     .compute = compute,
     .shape = shape_function,
     .layouts = ops_layouts_weight,
     .alter = ops_alter_dense,
     .relax = ops_relax_dense,
     .grad = ops_grad_dense,
     .doc = "data times the transpose of weight",
     .precision = RELAY_LOW,
     .values = RELAY_COMPUTED,
     .form = RELAY_PRODUCT},
};

RELAY_FAMILY(dense, DENSE_ATTRS)
