/* Products with numbers in fixed point, rounded to nearest, halves up, or with floats.

     fixed_point_multiply(%x, multiplier=1073741824, shift=-1)     x * 0.5 * 2**-1
     fixed_point_scale(%x, %multiplier, %shift)                    x * multiplier * 2**-shift
     float_scale(%x, %factor)                                      x * factor, halves to even

   The first is the old interface's: its multiplier counts units of 2**-31. The second has numbers
   for each channel, which broadcast; `shift` lies between 1 and 62. The
   third, for processors with vectors of floats, takes a quarter of the time: the product has the 24
   bits of float32, and must fit into an integer. It is rounded before anything is added, so that it
   is the same whether a processor has a fused multiply-add or not. */
#include "ir/imm.h"
#include "ops/ops.h"

#define TN_FIELDS_FixedPointMultiplyAttrs(F, S)                                                    \
  F(S, I64, , multiplier, 0, "factor in units of 2**-31")                                          \
  F(S, I64, , shift, 0, "power of two that multiplies as well")
#define FIXED_POINT_ATTRS(N)                                                                       \
  N(FixedPointMultiplyAttrs, Attrs, "relay.attrs.FixedPointMultiplyAttrs", NODE, TREE,             \
    tn_no_hooks, "attributes of fixed_point_multiply")
TN_NODES_LOCAL(FIXED_POINT_ATTRS)

static int multiply_relation(relay_rel *r) {
  const tn_FixedPointMultiplyAttrs *a = r->attrs;
  RELAY_TENSOR(data, r, 0);
  RELAY_CHECK(r, ir_is_int(data->dtype) && data->dtype.bits == 32, "expected int32, got %s",
              TN_DT(data->dtype));
  RELAY_CHECK(r,
              a->multiplier >= INT32_MIN && a->multiplier <= INT32_MAX && a->shift >= -31 &&
                  a->shift <= 31,
              "multiplier must fit into 32 bits and shift lie between -31 and 31");
  return relay_rel_result(r, data);
}

static tn_expr *multiplied(const relay_op_row *row, const void *attrs, tn_expr *const *args) {
  const tn_FixedPointMultiplyAttrs *a = attrs;
  (void)row;
  return tir_call(TN_I32, TIR_OP_q_multiply_shift, 4, args[0], tir_i32((int32_t)a->multiplier),
                  tir_i32(31), tir_i32((int32_t)a->shift));
}

static int scale_relation(relay_rel *r) {
  for (int i = 0; i < 3; ++i) {
    RELAY_TENSOR(t, r, i);
    RELAY_CHECK(r, ir_is_int(t->dtype) && t->dtype.bits == 32, "expected int32, got %s",
                TN_DT(t->dtype));
  }
  tn_TensorType *data = TN_AS(TensorType, r->types[0]);
  for (int i = 1; i < 3; ++i) {
    tn_arr *shape = relay_broadcast_shapes(r, data, TN_AS(TensorType, r->types[i]));
    if (!shape) return RELAY_FAILED;
    RELAY_CHECK(r, shape->len == data->shape->len, "factors have more dimensions than data");
  }
  return relay_rel_result(r, data);
}

static tn_expr *scaled(const relay_op_row *row, const void *attrs, tn_expr *const *args) {
  (void)row, (void)attrs;
  tn_expr *shift = tir_cast(TN_I64, args[2], NULL), *one = tir_one(TN_I64);
  tn_expr *half = tir_shift(TIR_OP_shift_left, one, tir_sub(shift, one), NULL);
  tn_expr *product = tir_mul(tir_cast(TN_I64, args[0], NULL), tir_cast(TN_I64, args[1], NULL));
  tn_expr *sum = tir_add(product, half);
  return tir_cast(TN_I32, tir_shift(TIR_OP_shift_right, sum, shift, NULL), NULL);
}

static int float_relation(relay_rel *r) {
  RELAY_TENSOR(data, r, 0);
  RELAY_TENSOR(factor, r, 1);
  RELAY_CHECK(r, tn_dtype_eq(data->dtype, TN_I32) && tn_dtype_eq(factor->dtype, TN_F32),
              "expected int32 and float32, got %s and %s", TN_DT(data->dtype),
              TN_DT(factor->dtype));
  tn_arr *shape = relay_broadcast_shapes(r, data, factor);
  if (!shape) return RELAY_FAILED;
  RELAY_CHECK(r, shape->len == data->shape->len, "factors have more dimensions than data");
  return relay_rel_result(r, data);
}

static tn_expr *float_scaled(const relay_op_row *row, const void *attrs, tn_expr *const *args) {
  (void)row, (void)attrs;
  tn_expr *product = tir_mul(tir_cast(TN_F32, args[0], NULL), args[1]);
  return tir_cast(TN_I32, tir_call(TN_F32, TIR_OP_nearbyint, 1, product), NULL);
}

static const relay_op_row rows[] = {
    {.name = "fixed_point_multiply",
     .inputs = "data",
     .attrs = &tn_type_FixedPointMultiplyAttrs,
     .level = 10,
     .pattern = RELAY_ELEMWISE,
     .rel_name = "FixedPointMultiply",
     .rel = multiply_relation,
     .compute = ops_elementwise,
     .element = multiplied,
     .shape = relay_shape_same,
     .doc = "data * multiplier * 2**(shift - 31), rounded to nearest",
     .scaling = RELAY_SCALES_NOT,
     .range = RELAY_FINITE},
    {.name = "fixed_point_scale",
     .inputs = "data multiplier shift",
     .level = 10,
     .pattern = RELAY_BROADCAST,
     .rel_name = "FixedPointScale",
     .rel = scale_relation,
     .compute = ops_elementwise,
     .element = scaled,
     .shape = relay_shape_same,
     .doc = "data * multiplier * 2**-shift, rounded to nearest",
     .range = RELAY_UNBOUNDED},
    {.name = "float_scale",
     .inputs = "data factor",
     .level = 10,
     .pattern = RELAY_BROADCAST,
     .rel_name = "FloatScale",
     .rel = float_relation,
     .compute = ops_elementwise,
     .element = float_scaled,
     .shape = relay_shape_same,
     .doc = "data * factor in float32, rounded to nearest, halves to even",
     .range = RELAY_FINITE},
};

RELAY_FAMILY(fixed_point, FIXED_POINT_ATTRS)
