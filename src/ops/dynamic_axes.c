/* Axes that come and go at places which are tensors.

     dyn.squeeze(%data, %axis)                     without the axes that a vector names
     dyn.expand_dims(%data, %axis, num_newaxis=1)  axes of extent 1 before the one that a scalar
                                                   names

   How many axes the result has is known, which of them have which extents is not. */
#include "ops/dynamic.h"

#define TN_FIELDS_DynExpandDimsAttrs(F, S)                                                         \
  F(S, I64, , num_newaxis, 0, "how many axes are put in", "1")
#define DYNAMIC_AXES_ATTRS(N)                                                                      \
  N(DynExpandDimsAttrs, Attrs, "relay.attrs.DynExpandDimsAttrs", NODE, TREE, tn_no_hooks,          \
    "attributes of dyn.expand_dims")
TN_NODES_LOCAL(DYNAMIC_AXES_ATTRS)

/* ---- dyn.squeeze ---- */

static int squeeze_relation(relay_rel *r) {
  int64_t n;
  RELAY_TENSOR(data, r, 0);
  int known = ops_vector_length(r, 1, &n);
  if (known != RELAY_SOLVED) return known;
  RELAY_CHECK(r, n <= data->shape->len, "%lld axes to drop of %s", (long long)n,
              relay_type_text(data));
  if (n == 0) return relay_rel_result(r, data);
  return relay_rel_result(r, relay_tensor_type(ops_open_shape(data->shape->len - n), data->dtype));
}

/* An axis counted from the start, of `rank`. */
static tn_expr *from_start(tn_expr *axis, int64_t rank) {
  return tir_select(tir_lt(axis, tir_i64(0)), tir_add(axis, tir_i64(rank)), axis, NULL);
}

/* Extent o of the result is that of the axis that has o others before it which stay. */
static tn_arr *squeeze_shape(const relay_shape_query *q) {
  const tn_arr *in = relay_shape_of(q, 0);
  const tn_TensorType *out = TN_AS(TensorType, q->out_type);
  int64_t rank = in->len, dropped = rank - out->shape->len;
  tn_expr *zero = tir_i64(0), *one = tir_i64(1), *before = zero, *all = one, *left = one;
  tn_expr *stays[OPS_MAX_NDIM], *place[OPS_MAX_NDIM];
  TN_CHECKP(rank <= OPS_MAX_NDIM, ValueError, NULL, "dyn.squeeze: more than %d dimensions",
            OPS_MAX_NDIM);
  TN_VEC(shape);
  for (int64_t k = 0; k < rank; ++k) {
    stays[k] = tir_bool(true);
    for (int64_t j = 0; j < dropped; ++j) {
      tn_expr *axis = ops_number_at(q, 1, j);
      axis = axis ? from_start(axis, rank) : NULL;
      stays[k] = tir_and(stays[k], tir_ne(axis, tir_i64(k)));
    }
    place[k] = before;
    before = tir_add(before, tir_select(stays[k], one, zero, NULL));
    all = tir_mul(all, (tn_expr *)tn_arr_obj(in, k));
  }
  for (int64_t o = 0; o < rank - dropped; ++o) {
    tn_expr *extent = zero;
    for (int64_t k = 0; k < rank; ++k) {
      tn_expr *here = tir_and(stays[k], tir_eq(place[k], tir_i64(o)));
      extent = tir_select(here, (tn_expr *)tn_arr_obj(in, k), extent, NULL);
    }
    left = tir_mul(left, extent);
    TN_TRYP(tn_vec_push_obj(&shape, extent));
  }
  /* each axis is named once, and what is dropped has the extent 1 */
  relay_take_for_granted(tir_and(tir_eq(before, tir_i64(rank - dropped)), tir_eq(all, left)));
  return tn_arr_of(1, tn_arr_from(&shape));
}

/* ---- dyn.expand_dims ---- */

static int expand_relation(relay_rel *r) {
  const tn_DynExpandDimsAttrs *a = r->attrs;
  RELAY_TENSOR(data, r, 0);
  RELAY_TENSOR(axis, r, 1);
  RELAY_CHECK(r, axis->shape->len == 0 && ir_is_integral(axis->dtype),
              "axis must be one whole number, got %s", relay_type_text(axis));
  RELAY_CHECK(r, a->num_newaxis >= 0 && a->num_newaxis + data->shape->len <= OPS_MAX_NDIM,
              "num_newaxis: %lld is out of range", (long long)a->num_newaxis);
  if (a->num_newaxis == 0) return relay_rel_result(r, data); /* wherever that is */
  return relay_rel_result(
      r, relay_tensor_type(ops_open_shape(data->shape->len + a->num_newaxis), data->dtype));
}

static tn_arr *expand_shape(const relay_shape_query *q) {
  const tn_DynExpandDimsAttrs *a = q->attrs;
  const tn_arr *in = relay_shape_of(q, 0);
  tn_expr *axis = ops_number_at(q, 1, 0), *one = tir_i64(1);
  int64_t n = a->num_newaxis;
  if (!axis) return NULL;
  axis = from_start(axis, in->len + 1);
  tn_expr *behind = tir_add(axis, tir_i64(n));
  TN_VEC(shape);
  for (int64_t o = 0; o < in->len + n; ++o) {
    tn_expr *at = tir_i64(o), *first = o < in->len ? (tn_expr *)tn_arr_obj(in, o) : one,
            *last = o >= n ? (tn_expr *)tn_arr_obj(in, o - n) : one;
    tn_expr *extent = tir_select(tir_lt(at, behind), one, last, NULL);
    TN_TRYP(tn_vec_push_obj(&shape, tir_select(tir_lt(at, axis), first, extent, NULL)));
  }
  relay_take_for_granted(tir_and(tir_ge(axis, tir_i64(0)), tir_le(axis, tir_i64(in->len))));
  return tn_arr_of(1, tn_arr_from(&shape));
}

static const relay_op_row rows[] = {
    OPS_DYNAMIC("dyn.squeeze", "data axis", NULL, 2, "DynamicSqueeze", squeeze_relation,
                squeeze_shape, ops_reshape_open, "a tensor without the axes that another one names",
                .grads = "(reshape_like(%d, %a), ())"),
    OPS_DYNAMIC("dyn.expand_dims", "data axis", &tn_type_DynExpandDimsAttrs, 2, "DynamicExpandDims",
                expand_relation, expand_shape, ops_reshape_open,
                "axes of extent 1 before the one that a tensor names",
                .grads = "(reshape_like(%d, %a), ())"),
};

RELAY_FAMILY(dynamic_axes, DYNAMIC_AXES_ATTRS)
