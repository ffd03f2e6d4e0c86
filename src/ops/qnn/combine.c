/* Sums, differences, products and rows of several quantized tensors, to the quanta of the result.

     qnn.add(%a, %b, %sa, %za, %sb, %zb, %s, %z)
   =>
     a and b in units of s * 2**-k, added, rounded once, cut off

   so that only the last step rounds to quanta of the result. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "ops/layout.h"
#include "ops/ops.h"
#include "ops/qnn.h"
#include "relay/expr/call_builder.h"
#include "relay/expr/expr_info.h"

#define TN_FIELDS_BroadcastAttrs(F, S)                                                             \
  F(S, I64, , lhs_axis, 0, "axis along which scales of lhs lie", "-1")                             \
  F(S, I64, , rhs_axis, 0, "axis along which scales of rhs lie", "-1")
#define COMBINE_ATTRS(N)                                                                           \
  N(BroadcastAttrs, Attrs, "relay.attrs.BroadcastAttrs", NODE, TREE, tn_no_hooks,                  \
    "attributes of qnn.add and its kind")
TN_NODES_LOCAL(COMBINE_ATTRS)

static int relation(relay_rel *r) {
  RELAY_TENSOR(a, r, 0);
  RELAY_TENSOR(b, r, 1);
  RELAY_CHECK(r, tn_dtype_eq(a->dtype, b->dtype), "expected two tensors of one type, got %s and %s",
              TN_DT(a->dtype), TN_DT(b->dtype));
  tn_arr *shape = relay_broadcast_shapes(r, a, b);
  return shape ? relay_rel_result(r, relay_tensor_type(shape, a->dtype)) : RELAY_FAILED;
}

enum { LHS = 0, RHS = 1 };

/* The quanta of an operand. */
static qnn_quantum of(const relay_replace *r, int side) {
  const tn_TensorType *t = TN_AS(TensorType, tn_arr_obj(r->types, side));
  int64_t axis = relay_attr_int(r->call->attrs, side == LHS ? "lhs_axis" : "rhs_axis", -1);
  if (axis < 0) axis += t->shape->len;
  return (qnn_quantum){relay_arg(r->call, 2 + 2 * side), relay_arg(r->call, 3 + 2 * side), axis};
}

static qnn_quantum of_result(const relay_replace *r) {
  return (qnn_quantum){relay_arg(r->call, 6), relay_arg(r->call, 7), 0};
}

static const char *plain_op(const relay_replace *r) {
  const char *name = r->row->name;
  return strcmp(name, "qnn.add") == 0        ? "add"
         : strcmp(name, "qnn.subtract") == 0 ? "subtract"
                                             : "multiply";
}

/* Of floats, where scales are not numbers that are known. */
static void *of_floats(const relay_replace *r) {
  qnn_quantum a = of(r, LHS), b = of(r, RHS), out = of_result(r);
  void *x = qnn_dequantized(relay_arg(r->call, 0), &a),
       *y = qnn_dequantized(relay_arg(r->call, 1), &b);
  return qnn_quantized(relay_binary(plain_op(r), x, y), &out,
                       TN_AS(TensorType, r->out_type)->dtype);
}

/* Bits after the point that operands of b bits have room for. */
static int spare_bits(double a, double b, int bits) {
  int e;
  (void)frexp(a > b ? a : b, &e);
  int spare = 29 - bits - e; /* each below 2**29, their sum below 2**30 */
  return spare < 0 ? 0 : spare > 20 ? 20 : spare;
}

/* The side's numbers in quanta of the result, `spare` bits after the point. Of int8 the products
   with a factor of so many bits fit into 32: the same on every target. */
static void *operand(const relay_replace *r, int side, double factor, int spare) {
  const tn_TensorType *t = TN_AS(TensorType, tn_arr_obj(r->types, side));
  qnn_quantum q = of(r, side);
  void *x = qnn_centered(relay_arg(r->call, side), t, q.zero, q.axis);
  factor = ldexp(factor, spare);
  if (t->dtype.bits <= 8 && factor < ldexp(1, 21))
    return relay_binary("multiply", x, relay_const_int(TN_I32, llround(factor)));
  return qnn_scaled(x, ldexp(1, t->dtype.bits), &factor, 1, t->shape->len, 0, false);
}

/* The sum is halved `spare` times, rounded, and gets the zero point. */
static void *finished(const relay_replace *r, void *sum, int spare) {
  if (spare > 0) {
    sum = relay_binary("add", sum, relay_const_int(TN_I32, INT64_C(1) << (spare - 1)));
    sum = relay_binary("right_shift", sum, relay_const_int(TN_I32, spare));
  }
  void *zero = relay_arg(r->call, 7);
  if (!qnn_is_zero(zero)) sum = relay_binary("add", sum, qnn_wide_zero(zero, 0, 0));
  return qnn_saturated(sum, TN_AS(TensorType, r->out_type)->dtype);
}

static void *lower_sum(const relay_replace *r) {
  double a, b, out;
  const tn_TensorType *t = TN_AS(TensorType, tn_arr_obj(r->types, 0));
  bool known = relay_uniform(relay_arg(r->call, 2), &a) &&
               relay_uniform(relay_arg(r->call, 4), &b) &&
               relay_uniform(relay_arg(r->call, 6), &out);
  if (!known || t->dtype.bits > 16) return of_floats(r);
  int spare = spare_bits(a / out, b / out, t->dtype.bits);
  void *x = operand(r, LHS, a / out, spare), *y = operand(r, RHS, b / out, spare);
  return finished(r, relay_binary(plain_op(r), x, y), spare);
}

/* The product of two centered operands stands for numbers of the product of their scales. */
static void *lower_product(const relay_replace *r) {
  const tn_TensorType *a = TN_AS(TensorType, tn_arr_obj(r->types, 0)),
                      *b = TN_AS(TensorType, tn_arr_obj(r->types, 1)),
                      *result = TN_AS(TensorType, r->out_type);
  qnn_quantum x = of(r, LHS), y = of(r, RHS), out = of_result(r);
  double p, q;
  if (!relay_uniform(x.scale, &p) || !relay_uniform(y.scale, &q) || a->dtype.bits > 8)
    return of_floats(r);
  void *product = relay_binary("multiply", qnn_centered(relay_arg(r->call, 0), a, x.zero, x.axis),
                               qnn_centered(relay_arg(r->call, 1), b, y.zero, y.axis));
  tn_TensorType *wide = relay_tensor_type(result->shape, TN_I32);
  qnn_quantum both = {relay_const_float(TN_F32, p * q), relay_const_int(TN_I32, 0), 0};
  if (!product || !wide || !both.scale || !both.zero) return NULL;
  return qnn_requantized(product, wide, &both, &out, result->dtype, false);
}

/* ---- layouts ---- */

/* Single scales go with any layout. */
static bool has_single_scales(const relay_layouts *q, int64_t first) {
  for (int64_t i = first; i < q->types->len; ++i)
    if (relay_layouts_type(q, i)->shape->len != 0) return false;
  return true;
}

static int layouts(relay_layouts *q) {
  return has_single_scales(q, 2) ? ops_layouts_of_first(q, 2, relay_layouts_broadcast) : 0;
}

/* n tensors, n scales and zero points, and those of the result */
int qnn_layouts_concatenate(relay_layouts *q) {
  int64_t n = (q->types->len - 2) / 3;
  return has_single_scales(q, n) ? ops_layouts_of_first(q, n, ops_layouts_concatenate) : 0;
}

/* ---- rows ---- */

/* data, input_scales and input_zero_points are tuples of the same length */
int qnn_rel_concatenate(relay_rel *r) {
  RELAY_TUPLE_OF(data, r, 0);
  RELAY_TUPLE_OF(scales, r, 1);
  RELAY_TUPLE_OF(zeros, r, 2);
  tn_Op *plain;
  tn_Type *t;
  RELAY_CHECK(r,
              scales->fields->len == data->fields->len && zeros->fields->len == scales->fields->len,
              "%lld tensors need as many scales and zero points", (long long)data->fields->len);
  TN_GET(plain, ir_op_get("concatenate"));
  TN_GET(t, relay_op_result_type(plain, r->attrs, tn_arr_of(1, data), r->span));
  return relay_rel_result(r, t);
}

static void *field(void *tuple, int64_t i) {
  const tn_RelayTuple *t = TN_AS(RelayTuple, tuple);
  return t ? (void *)tn_arr_obj(t->fields, i) : (void *)relay_get_item(tuple, i);
}

void *qnn_lower_concatenate(const relay_replace *r) {
  const tn_TupleType *types = TN_AS(TupleType, tn_arr_obj(r->types, 0));
  const tn_TensorType *result = TN_AS(TensorType, r->out_type);
  qnn_quantum out = {relay_arg(r->call, 3), relay_arg(r->call, 4), 0};
  TN_VEC(parts);
  for (int64_t i = 0; i < types->fields->len; ++i) {
    qnn_quantum in = {field(relay_arg(r->call, 1), i), field(relay_arg(r->call, 2), i), 0};
    void *part = qnn_requantized(field(relay_arg(r->call, 0), i),
                                 TN_AS(TensorType, tn_arr_obj(types->fields, i)), &in, &out,
                                 result->dtype, false);
    TN_TRYP(tn_vec_push_obj(&parts, part));
  }
  void *all = relay_tuple(tn_arr_from(&parts));
  return all ? relay_call("concatenate", r->call->attrs, 1, all) : NULL;
}

#define BINARY(name_, lower_, doc_)                                                                \
  {                                                                                                \
    .name = name_,                                                                                 \
    .inputs = "lhs rhs lhs_scale lhs_zero_point rhs_scale rhs_zero_point output_scale "            \
              "output_zero_point",                                                                 \
    .attrs = &tn_type_BroadcastAttrs, .level = 11, .pattern = RELAY_BROADCAST,                     \
    .rel_name = "QnnBroadcast", .rel = relation, .shape = relay_shape_broadcast,                   \
    .layouts = layouts, .legalize = lower_, .doc = doc_                                            \
  }

static const relay_op_row rows[] = {
    BINARY("qnn.add", lower_sum, "sum of quantized tensors"),
    BINARY("qnn.subtract", lower_sum, "difference of quantized tensors"),
    BINARY("qnn.mul", lower_product, "product of quantized tensors, element by element"),
};

RELAY_FAMILY(qnn_combine, COMBINE_ATTRS)
