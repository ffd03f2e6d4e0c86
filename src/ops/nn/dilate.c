/* Numbers put between the elements of a tensor.

     nn.dilate(%x, strides=[1, 2])    Tensor[(2, 3), float32] -> Tensor[(2, 5), float32] */
#include "ir/imm.h"
#include "ops/ops.h"

#define TN_FIELDS_DilateAttrs(F, S)                                                                \
  F(S, REF, Array, strides, TN_INTS,                                                               \
    "distance in the result of neighbouring elements, for each axis", "[1, 1]")                    \
  F(S, F64, , dilation_value, 0, "what is put between them", "0.0")
#define DILATE_ATTRS(N)                                                                            \
  N(DilateAttrs, Attrs, "relay.attrs.DilateAttrs", NODE, TREE, tn_no_hooks,                        \
    "attributes of nn.dilate")
TN_NODES_LOCAL(DILATE_ATTRS)

/* (x - 1) * stride + 1 along each axis */
static tn_arr *out_shape(const tn_DilateAttrs *a, const tn_arr *shape) {
  TN_VEC(out);
  TN_CHECKP(a->strides->len == shape->len, ValueError, NULL,
            "strides: expected %lld numbers, got %lld", (long long)shape->len,
            (long long)a->strides->len);
  for (int64_t i = 0; i < shape->len; ++i) {
    int64_t step = relay_listed(a->strides, i);
    tn_expr *e = (tn_expr *)tn_arr_obj(shape, i);
    TN_CHECKP(step > 0, ValueError, NULL, "strides must be positive, got %lld", (long long)step);
    TN_TRYP(ops_check_32_bits("strides", step));
    if (step > 1) e = relay_dim_plus(relay_dim_times(relay_dim_plus(e, -1), step), 1);
    if (step > 1) e = relay_dim_binary(TN_TI_Max, e, relay_dim_int(0)); /* of no elements: none */
    TN_TRYP(tn_vec_push_obj(&out, e));
  }
  return tn_arr_from(&out);
}

static int relation(relay_rel *r) {
  RELAY_TENSOR(data, r, 0);
  tn_arr *shape = out_shape(r->attrs, data->shape);
  return shape ? relay_rel_result(r, relay_tensor_type(shape, data->dtype)) : ops_rel_failed(r);
}

typedef struct {
  const tn_DilateAttrs *attrs;
  const tn_Tensor *data;
} dilated;

static tn_expr *element(void *ctx, tn_arr *at) {
  const dilated *d = ctx;
  tn_expr *inside = tir_bool(true);
  TN_VEC(index);
  for (int64_t i = 0; i < at->len; ++i) {
    tn_expr *x = te_index(at, i);
    int64_t step = relay_listed(d->attrs->strides, i);
    if (step > 1) {
      tn_expr *s = tir_const_int(x->dtype, step);
      inside = tir_and(inside, tir_eq(tir_floormod(x, s), tir_zero(x->dtype)));
      x = tir_floordiv(x, s);
    }
    TN_TRYP(tn_vec_push_obj(&index, x));
  }
  tn_expr *value = tir_const_float(d->data->dtype, d->attrs->dilation_value);
  return tir_if_then_else(inside, te_at(d->data, tn_arr_from(&index)), value, NULL);
}

static tn_arr *compute(const relay_compute *c) {
  dilated d = {c->attrs, relay_input(c, 0)};
  return tn_arr_of(
      1, te_compute(out_shape(c->attrs, d.data->shape), element, &d, "T_dilate", TE_INJECTIVE));
}

static tn_arr *shape_function(const relay_shape_query *q) {
  return tn_arr_of(1, out_shape(q->attrs, relay_shape_of(q, 0)));
}

static const relay_op_row rows[] = {
    {.name = "nn.dilate",
     .inputs = "data",
     .attrs = &tn_type_DilateAttrs,
     .level = 10,
     .pattern = RELAY_INJECTIVE,
     .rel_name = "Dilate",
     .rel = relation,
     .compute = compute,
     .shape = shape_function,
     .doc = "data with numbers between its elements",
     .values = RELAY_FILLED},
};

RELAY_FAMILY(dilate, DILATE_ATTRS)
