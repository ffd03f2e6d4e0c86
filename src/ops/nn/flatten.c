/* nn.dropout and nn.batch_flatten.

     nn.dropout(%x)          Tensor[(2, 3), float32] -> (Tensor[(2, 3), float32], the same)
     nn.batch_flatten(%x)    Tensor[(2, 3, 4), float32] -> Tensor[(2, 12), float32] */
#include "ir/imm.h"
#include "ops/ops.h"

#define TN_FIELDS_DropoutAttrs(F, S)                                                               \
  F(S, F64, , rate, 0, "part of the elements that training sets to 0", "0.5")
#define FLATTEN_ATTRS(N)                                                                           \
  N(DropoutAttrs, Attrs, "relay.attrs.DropoutAttrs", NODE, TREE, tn_no_hooks,                      \
    "attributes of nn.dropout")
TN_NODES_LOCAL(FLATTEN_ATTRS)

/* ---- dropout ---- */

static int relate_dropout(relay_rel *r) {
  RELAY_TENSOR(data, r, 0);
  return relay_rel_result(r, relay_tuple_type(tn_arr_of(2, data, data)));
}

static tn_expr *one(void *ctx, tn_arr *at) {
  (void)at;
  return tir_one(((const tn_Tensor *)ctx)->dtype);
}

/* Outside of training everything is kept: data, and a mask of ones. */
static tn_arr *compute_dropout(const relay_compute *c) {
  tn_Tensor *data = relay_input(c, 0);
  return tn_arr_of(2, te_compute(data->shape, ops_element, data, "T_dropout", TE_ELEMWISE),
                   te_compute(data->shape, one, data, "T_dropout_mask", TE_ELEMWISE));
}

static tn_arr *shape_of_dropout(const relay_shape_query *q) {
  return tn_arr_of(2, relay_shape_of(q, 0), relay_shape_of(q, 0));
}

/* ---- batch_flatten ---- */

static tn_arr *flat_shape(const tn_arr *shape) {
  tn_expr *n = tir_one(TN_I32);
  for (int64_t i = 1; i < shape->len && n; ++i)
    n = relay_dim_mul(n, (tn_expr *)tn_arr_obj(shape, i));
  return n ? tn_arr_of(2, tn_arr_obj(shape, 0), n) : NULL;
}

static int relate_flatten(relay_rel *r) {
  RELAY_TENSOR(data, r, 0);
  RELAY_CHECK(r, data->shape->len > 0, "data must not be scalar");
  return relay_rel_result(r, relay_tensor_type(flat_shape(data->shape), data->dtype));
}

static tn_expr *unflattened(void *ctx, tn_arr *at) {
  const tn_Tensor *data = ctx;
  tn_expr *index[OPS_MAX_NDIM] = {te_index(at, 0)}, *rest = te_index(at, 1);
  TN_VEC(v);
  for (int64_t i = data->shape->len - 1; i >= 1; --i) {
    index[i] = i == 1 ? rest : tir_floormod(rest, te_extent(data, i));
    rest = tir_floordiv(rest, te_extent(data, i));
  }
  for (int64_t i = 0; i < data->shape->len; ++i) TN_TRYP(tn_vec_push_obj(&v, index[i]));
  return te_at(data, tn_arr_from(&v));
}

static tn_arr *compute_flatten(const relay_compute *c) {
  tn_Tensor *data = relay_input(c, 0);
  TN_CHECKP(data->shape->len <= OPS_MAX_NDIM, ValueError, NULL,
            "nn.batch_flatten: too many dimensions");
  return tn_arr_of(
      1, te_compute(flat_shape(data->shape), unflattened, data, "T_batch_flatten", TE_INJECTIVE));
}

static tn_arr *shape_of_flatten(const relay_shape_query *q) {
  return tn_arr_of(1, flat_shape(relay_shape_of(q, 0)));
}

static const relay_op_row rows[] = {
    {.name = "nn.dropout",
     .inputs = "data",
     .attrs = &tn_type_DropoutAttrs,
     .level = 1,
     .pattern = RELAY_OPAQUE,
     .rel_name = "Dropout",
     .rel = relate_dropout,
     .compute = compute_dropout,
     .shape = shape_of_dropout,
     .grads = "(%d.0 * %y.1,)",
     .doc = "data, and the mask of what is kept: all of it outside of training",
     .precision = RELAY_FOLLOWS},
    {.name = "nn.batch_flatten",
     .inputs = "data",
     .level = 1,
     .pattern = RELAY_INJECTIVE,
     .rel_name = "BatchFlatten",
     .rel = relate_flatten,
     .compute = compute_flatten,
     .shape = shape_of_flatten,
     .grads = "(reshape_like(%d, %a),)",
     .doc = "all axes but the first made one",
     .precision = RELAY_FOLLOWS,
     .values = RELAY_RESHAPED},
};

RELAY_FAMILY(flatten, FLATTEN_ATTRS)
