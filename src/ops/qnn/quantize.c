/* To integers, back, and from integers to others.

     qnn.quantize(%x, %s, %z)              clip(round(x / s) + z), halves to the even number
     qnn.dequantize(%q, %s, %z)            (q - z) * s
     qnn.requantize(%q, %s, %z, %t, %u)    the same numbers in quanta t with zero point u

   Scales and zero points are numbers, or there is one of each for every element of `axis`. */
#include <math.h>
#include <string.h>

#include "ir/imm.h"
#include "ops/layout.h"
#include "ops/ops.h"
#include "ops/qnn.h"
#include "relay/expr/call_builder.h"

#define TN_FIELDS_QuantizeAttrs(F, S)                                                              \
  F(S, I64, , axis, 0, "axis along which scales lie", "-1")                                        \
  F(S, DTYPE, , out_dtype, 0, "type of the result", "\"int8\"")
#define TN_FIELDS_DequantizeAttrs(F, S)                                                            \
  F(S, I64, , axis, 0, "axis along which scales lie", "-1")                                        \
  F(S, DTYPE, , out_dtype, 0, "type of the result", "\"float32\"")
#define TN_FIELDS_RequantizeAttrs(F, S)                                                            \
  F(S, I64, , axis, 0, "axis along which scales lie", "-1")                                        \
  F(S, REF, String, rounding, 0,                                                                   \
    "halves: \"UPWARD\" (also \"None\"), or \"TONEAREST\": away from zero", "\"None\"")            \
  F(S, REF, String, compute_dtype, 0,                                                              \
    "\"float32\": products may have 24 bits, halves go to the even number; else 64", "\"None\"")   \
  F(S, DTYPE, , out_dtype, 0, "type of the result", "\"int8\"")
#define QUANTIZE_ATTRS(N)                                                                          \
  N(QuantizeAttrs, Attrs, "relay.attrs.QuantizeAttrs", NODE, TREE, tn_no_hooks,                    \
    "attributes of qnn.quantize")                                                                  \
  N(DequantizeAttrs, Attrs, "relay.attrs.DequantizeAttrs", NODE, TREE, tn_no_hooks,                \
    "attributes of qnn.dequantize")                                                                \
  N(RequantizeAttrs, Attrs, "relay.attrs.RequantizeAttrs", NODE, TREE, tn_no_hooks,                \
    "attributes of qnn.requantize")
TN_NODES_LOCAL(QUANTIZE_ATTRS)

/* ---- types ---- */

/* Argument i: a number, or one for each element of the axis. */
static int check_numbers(relay_rel *r, int i, const char *what, const tn_TensorType *data,
                         int64_t axis) {
  RELAY_TENSOR(t, r, i);
  if (t->shape->len == 0) return RELAY_SOLVED;
  RELAY_CHECK(r, t->shape->len == 1, "%s: expected a number or a vector, got %s", what,
              relay_type_text(t));
  if (relay_dim_is(relay_dim(t, 0), 1) == 1) return RELAY_SOLVED;
  RELAY_CHECK(r,
              data->shape->len > 0 && relay_dim_broadcasts(relay_dim(t, 0), relay_dim(data, axis)),
              "%s %s does not fit axis %lld of data %s", what, relay_type_text(t), (long long)axis,
              relay_type_text(data));
  return RELAY_SOLVED;
}

static int64_t axis_of(const relay_rel *r, const tn_TensorType *data) {
  int64_t axis = relay_attr_int(r->attrs, "axis", -1);
  return data->shape->len == 0 ? 0 : relay_rel_axis(r, axis, data->shape->len);
}

/* row->which: pairs of scale and zero point */
static int relation(relay_rel *r) {
  static const char *const what[] = {"scale", "zero point"};
  RELAY_TENSOR(data, r, 0);
  int64_t axis = axis_of(r, data);
  if (axis < 0) return RELAY_FAILED;
  for (int i = 1; i < relay_rel_nargs(r); ++i) {
    int known = check_numbers(r, i, what[(i + 1) % 2], data, axis);
    if (known != RELAY_SOLVED) return known;
  }
  tn_dtype to;
  bool down = strcmp(tn_cstr(r->op->name), "qnn.dequantize") != 0;
  if (!down) to = ((const tn_DequantizeAttrs *)r->attrs)->out_dtype;
  else if (strcmp(tn_cstr(r->op->name), "qnn.quantize") == 0)
    to = ((const tn_QuantizeAttrs *)r->attrs)->out_dtype;
  else to = ((const tn_RequantizeAttrs *)r->attrs)->out_dtype;
  RELAY_CHECK(r, !down || (ir_is_integral(to) && to.bits >= 8 && to.bits <= 32),
              "out_dtype: expected an integer of 8, 16 or 32 bits, got %s", TN_DT(to));
  return relay_rel_result(r, relay_tensor_type(data->shape, to));
}

/* ---- elements ---- */

typedef struct {
  const tn_Tensor *data, *scale, *zero;
  int64_t axis;
  tn_dtype to;
} numbers;

static tn_expr *number_at(const numbers *n, const tn_Tensor *t, const tn_arr *at) {
  if (t->shape->len == 0) return te_at(t, tn_arr_of(0));
  tn_expr *own = te_index(at, n->axis);
  return te_at_of(t, 1, relay_if_one(te_extent(t, 0), tir_zero(own->dtype), own));
}

/* Behind 1.5 * 2**23 a float has no bits for fractions: the sum with that is rounded, of two
   nearest integers to the even one, and its bits count integers from FIRST on. As integers they are
   in the order of the floats, also where these are too large for that, so that they are cut off
   first. NaN, whose bits are behind those of infinity or, with a sign, below all, is the least
   number, whatever its sign: which NaN an operation gives is not defined. */
enum { FIRST = 0x4B400000, INFINITE = 0x7F800000 };

static tn_expr *rounded(tn_expr *x, tn_expr *zero, double low, double high) {
  tn_expr *bits = tir_reinterpret(TN_I32, tir_add(x, tir_f32(12582912)), NULL);
  bits = tir_select(tir_gt(bits, tir_i32(INFINITE)), tir_i32(INT32_MIN), bits, NULL);
  tn_expr *first = tir_sub(tir_i32(FIRST), tir_cast(TN_I32, zero, NULL));
  /* one less than the least: of max(x, c) - c the simplifier makes a difference that may overflow
   */
  bits = tir_sub(tir_max(bits, tir_add(first, tir_i32((int32_t)low - 1))), first);
  return tir_max(tir_min(bits, tir_i32((int32_t)high)), tir_i32((int32_t)low));
}

/* 32 bits do not fit into a float. */
static tn_expr *rounded_to_32(tn_expr *x, tn_expr *zero, double low, double high) {
  x = tir_cast(TN_F64, tir_call(TN_F32, TIR_OP_nearbyint, 1, x), NULL);
  x = tir_add(x, tir_cast(TN_F64, zero, NULL));
  return tir_min(tir_max(x, tir_const_float(TN_F64, low)), tir_const_float(TN_F64, high));
}

static tn_expr *quantized(void *ctx, tn_arr *at) {
  const numbers *n = ctx;
  double range = ldexp(1, n->to.bits), low = ir_is_uint(n->to) ? 0 : -range / 2;
  tn_expr *scale = tir_cast(TN_F32, number_at(n, n->scale, at), NULL);
  tn_expr *x = tir_div(tir_cast(TN_F32, te_at(n->data, at), NULL), scale);
  tn_expr *zero = number_at(n, n->zero, at);
  x = n->to.bits > 16 ? rounded_to_32(x, zero, low, low + range - 1)
                      : rounded(x, zero, low, low + range - 1);
  return tir_cast(n->to, x, NULL);
}

static tn_expr *dequantized(void *ctx, tn_arr *at) {
  const numbers *n = ctx;
  tn_expr *x = tir_cast(TN_I32, te_at(n->data, at), NULL);
  x = tir_sub(x, tir_cast(TN_I32, number_at(n, n->zero, at), NULL));
  x = tir_mul(tir_cast(TN_F32, x, NULL), tir_cast(TN_F32, number_at(n, n->scale, at), NULL));
  return tir_cast(n->to, x, NULL);
}

static tn_arr *compute(const relay_compute *c) {
  numbers n = {relay_input(c, 0), relay_input(c, 1), relay_input(c, 2),
               relay_attr_int(c->attrs, "axis", -1), relay_out(c)->dtype};
  bool up = strcmp(c->row->name, "qnn.dequantize") == 0;
  if (n.axis < 0) n.axis += n.data->shape->len;
  return tn_arr_of(1, te_compute(n.data->shape, up ? dequantized : quantized, &n,
                                 up ? "T_dequantize" : "T_quantize", TE_BROADCAST));
}

/* One scale goes with any layout. */
static int layouts(relay_layouts *q) {
  for (int64_t i = 1; i < q->types->len; ++i)
    if (relay_layouts_type(q, i)->shape->len != 0) return 0;
  return relay_layouts_broadcast(q);
}

/* ---- requantize ---- */

/* Halves away from zero: the number without its sign, halves up. */
static void *away_from_zero(const relay_replace *r, const qnn_quantum *in, const qnn_quantum *out) {
  const tn_TensorType *t = TN_AS(TensorType, tn_arr_obj(r->types, 0));
  tn_TensorType *wide = relay_tensor_type(t->shape, TN_I32);
  void *none = relay_const_int(TN_I32, 0);
  qnn_quantum from = {in->scale, none, in->axis}, to = {out->scale, none, out->axis};
  void *x = qnn_centered(relay_arg(r->call, 0), t, in->zero, in->axis);
  void *size = relay_call("abs", NULL, 1, x);
  void *y = size && wide ? qnn_requantized(size, wide, &from, &to, TN_I32, false) : NULL;
  y = relay_call("where", NULL, 3, relay_binary("less", x, none),
                 relay_call("negative", NULL, 1, y), y);
  void *z = qnn_wide_zero(out->zero, t->shape->len, out->axis);
  return qnn_saturated(relay_binary("add", y, z), TN_AS(TensorType, r->out_type)->dtype);
}

static void *lower_requantize(const relay_replace *r) {
  const tn_TensorType *t = TN_AS(TensorType, tn_arr_obj(r->types, 0)),
                      *to = TN_AS(TensorType, r->out_type);
  int64_t axis = relay_attr_int(r->call->attrs, "axis", -1);
  if (axis < 0) axis += t->shape->len;
  qnn_quantum in = {relay_arg(r->call, 1), relay_arg(r->call, 2), axis},
              out = {relay_arg(r->call, 3), relay_arg(r->call, 4), axis};
  if (strcmp(relay_attr_str(r->call->attrs, "rounding"), "TONEAREST") == 0)
    return away_from_zero(r, &in, &out);
  bool floats = strcmp(relay_attr_str(r->call->attrs, "compute_dtype"), "float32") == 0;
  return qnn_requantized(relay_arg(r->call, 0), t, &in, &out, to->dtype,
                         floats && qnn_has_floats());
}

static const relay_op_row rows[] = {
    {.name = "qnn.quantize",
     .inputs = "data output_scale output_zero_point",
     .attrs = &tn_type_QuantizeAttrs,
     .level = 11,
     .pattern = RELAY_BROADCAST,
     .rel_name = "Quantize",
     .rel = relation,
     .compute = compute,
     .shape = relay_shape_same,
     .layouts = layouts,
     .doc = "numbers as integers: data / output_scale + output_zero_point, rounded and cut off"},
    {.name = "qnn.dequantize",
     .inputs = "data input_scale input_zero_point",
     .attrs = &tn_type_DequantizeAttrs,
     .level = 11,
     .pattern = RELAY_BROADCAST,
     .rel_name = "Dequantize",
     .rel = relation,
     .compute = compute,
     .shape = relay_shape_same,
     .layouts = layouts,
     .doc = "the numbers that integers stand for: (data - input_zero_point) * input_scale"},
    {.name = "qnn.requantize",
     .inputs = "data input_scale input_zero_point output_scale output_zero_point",
     .attrs = &tn_type_RequantizeAttrs,
     .level = 11,
     .pattern = RELAY_ELEMWISE,
     .rel_name = "Requantize",
     .rel = relation,
     .shape = relay_shape_same,
     .layouts = ops_layouts_channels,
     .legalize = lower_requantize,
     .doc = "integers as others that stand for the same numbers"},
};

RELAY_FAMILY(quantize, QUANTIZE_ATTRS)
