/* Functions of one quantized tensor: tables of 256 results, softmax, means of windows.

     qnn.tanh(%x, %s, %z, %t, %u)    =>    take(table, x + 128)

   The table is the function of numbers, applied to what all integers of the type stand for; it is
   constant and folded. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "ops/layout.h"
#include "ops/ops.h"
#include "ops/qnn.h"
#include "relay/expr/call_builder.h"
#include "relay/expr/expr_info.h"

#define TN_FIELDS_QnnAvgPool2DAttrs(F, S)                                                          \
  F(S, REF, Array, pool_size, TN_INTS, "extents of the window")                                    \
  F(S, REF, Array, strides, TN_INTS, "steps of the window", "[1, 1]")                              \
  F(S, REF, Array, padding, TN_INTS, "border: one number, one for each axis, or before and after", \
    "[0, 0]")                                                                                      \
  F(S, REF, Array, dilation, TN_INTS, "distance of neighbouring elements of the window", "[1, 1]") \
  F(S, BOOL, , ceil_mode, 0, "round the extents of the result up", "False")                        \
  F(S, BOOL, , count_include_pad, 0, "does the border count in the mean?", "True")                 \
  F(S, REF, String, layout, 0, "layout of data", "\"NHWC\"")                                       \
  F(S, REF, String, out_layout, 0, "layout of the result, that of data when empty", "\"\"")
#define TABLE_ATTRS(N)                                                                             \
  N(QnnAvgPool2DAttrs, Attrs, "relay.attrs.QnnAvgPool2DAttrs", NODE, TREE, tn_no_hooks,            \
    "attributes of qnn.avg_pool2d")
TN_NODES_LOCAL(TABLE_ATTRS)

int qnn_rel_unary(relay_rel *r) {
  RELAY_TENSOR(data, r, 0);
  RELAY_CHECK(r, ir_is_integral(data->dtype), "expected integers, got %s", TN_DT(data->dtype));
  return relay_rel_result(r, data);
}

static qnn_quantum from(const relay_replace *r) {
  return (qnn_quantum){relay_arg(r->call, 1), relay_arg(r->call, 2), 0};
}

static qnn_quantum to(const relay_replace *r) {
  return (qnn_quantum){relay_arg(r->call, 3), relay_arg(r->call, 4), 0};
}

/* ---- tables ---- */

/* x * clip(x + 3, 0, 6) / 6 */
static void *hard_swish(void *x) {
  void *a = relay_attrs("clip", 2, "a_min", tn_any_float(0), "a_max", tn_any_float(6));
  void *y = relay_binary("add", x, relay_const_float(TN_F32, 3));
  y = a && y ? relay_binary("multiply", x, relay_call("clip", a, 1, y)) : NULL;
  return relay_binary("divide", y, relay_const_float(TN_F32, 6));
}

static void *of_numbers(const relay_replace *r, void *x) {
  const char *op = r->row->name + strlen("qnn.");
  if (!x) return NULL;
  return strcmp(op, "hardswish") == 0 ? hard_swish(x) : relay_call(op, NULL, 1, x);
}

/* All integers of an 8-bit type, from the least. */
static void *all_integers(tn_dtype t) {
  int64_t v[256];
  for (int i = 0; i < 256; ++i) v[i] = ir_is_uint(t) ? i : i - 128;
  return relay_const_ints(t, v, 256);
}

/* Where they are in a table. */
static void *index_of(void *x, tn_dtype t) {
  x = relay_cast(x, TN_I32);
  return ir_is_uint(t) ? x : relay_binary("add", x, relay_const_int(TN_I32, 128));
}

static void *lower_table(const relay_replace *r) {
  const tn_TensorType *t = TN_AS(TensorType, r->out_type);
  qnn_quantum in = from(r), out = to(r);
  if (t->dtype.bits != 8 || !TN_AS(Constant, in.scale) || !TN_AS(Constant, in.zero))
    return qnn_quantized(of_numbers(r, qnn_dequantized(relay_arg(r->call, 0), &in)), &out,
                         t->dtype);
  void *table = of_numbers(r, qnn_dequantized(all_integers(t->dtype), &in));
  table = qnn_quantized(table, &out, t->dtype);
  void *a = relay_attrs("take", 2, "axis", tn_any_obj(tir_i32(0)), "mode", tn_any_cstr("fast"));
  void *at = index_of(relay_arg(r->call, 0), t->dtype);
  return a && table && at ? relay_call("take", a, 2, table, at) : NULL;
}

/* ---- softmax ---- */

enum { MAX_PARTS = 1 << 16 }; /* of a sum */

/* exp(-scale * d) for d = 0 ... 255, in units of 2**-bits */
static void *exponentials(double scale, int bits) {
  int64_t v[256];
  for (int d = 0; d < 256; ++d) v[d] = llround(ldexp(exp(-scale * d), bits));
  return relay_const_ints(TN_I32, v, 256);
}

static void *along_axis(const char *op, void *x, int64_t axis) {
  void *a =
      relay_attrs(op, 2, "axis", tn_any_obj(relay_ints(&axis, 1)), "keepdims", tn_any_bool(true));
  return a && x ? relay_call(op, a, 1, x) : NULL;
}

/* exp * (1 / scale) / sum, rounded: in 64 bits, 1 / scale in units of 2**-8 */
static void *shares(void *e, void *sum, double scale) {
  const tn_dtype wide = TN_I64;
  void *by = relay_const_int(wide, llround(256 / scale)), *eight = relay_const_int(wide, 256);
  void *part = relay_binary("multiply", relay_cast(e, wide), by);
  void *whole = relay_binary("multiply", relay_cast(sum, wide), eight);
  void *half = relay_binary("right_shift", whole, relay_const_int(wide, 1));
  return relay_cast(relay_binary("floor_divide", relay_binary("add", part, half), whole), TN_I32);
}

/* The integer of the largest number is taken off all, so that a table has their exponentials. */
void *qnn_lower_softmax(const relay_replace *r) {
  const tn_TensorType *t = TN_AS(TensorType, r->out_type);
  qnn_quantum in = from(r), out = to(r);
  double scale, quantum;
  int64_t axis = relay_attr_int(r->call->attrs, "axis", -1);
  if (axis < 0) axis += t->shape->len;
  int64_t n;
  bool known = relay_known_int(t->shape, axis, &n) && relay_uniform(in.scale, &scale) &&
               relay_uniform(out.scale, &quantum);
  if (!known || t->dtype.bits != 8 || n < 1 || n > MAX_PARTS || quantum < 1e-6) {
    void *x = qnn_dequantized(relay_arg(r->call, 0), &in);
    return qnn_quantized(x ? relay_call("nn.softmax", r->call->attrs, 1, x) : NULL, &out, t->dtype);
  }
  int bits = 24;
  while (n > (INT64_C(1) << (30 - bits))) --bits;
  void *x = relay_cast(relay_arg(r->call, 0), TN_I32);
  void *d = relay_binary("subtract", along_axis("max", x, axis), x);
  void *a = relay_attrs("take", 2, "axis", tn_any_obj(tir_i32(0)), "mode", tn_any_cstr("fast"));
  void *table = exponentials(scale, bits);
  void *e = a && table && d ? relay_call("take", a, 2, table, d) : NULL;
  void *y = shares(e, along_axis("sum", e, axis), quantum);
  if (!qnn_is_zero(out.zero)) y = relay_binary("add", y, qnn_wide_zero(out.zero, 0, 0));
  return qnn_saturated(y, t->dtype);
}

/* ---- means of windows ---- */

static void *plain_attrs(const tn_QnnAvgPool2DAttrs *a) {
  return relay_attrs("nn.avg_pool2d", 8, "pool_size", tn_any_obj(a->pool_size), "strides",
                     tn_any_obj(a->strides), "padding", tn_any_obj(a->padding), "dilation",
                     tn_any_obj(a->dilation), "ceil_mode", tn_any_bool(a->ceil_mode),
                     "count_include_pad", tn_any_bool(a->count_include_pad), "layout",
                     tn_any_obj(a->layout), "out_layout", tn_any_obj(a->out_layout));
}

static int pool_relation(relay_rel *r) {
  RELAY_TENSOR(data, r, 0);
  tn_Op *plain;
  tn_Type *t;
  void *attrs;
  TN_GET(plain, ir_op_get("nn.avg_pool2d"));
  TN_GET(attrs, plain_attrs(r->attrs));
  TN_GET(t, relay_op_result_type(plain, attrs, tn_arr_of(1, data), r->span));
  return relay_rel_result(r, t);
}

/* Does every window have the same number of elements that count? */
static bool counts_alike(const tn_QnnAvgPool2DAttrs *a) {
  int64_t before[2], after[2];
  if (a->ceil_mode || (!tn_str_eq(a->layout, "NHWC") && !tn_str_eq(a->layout, "NCHW")) ||
      (*tn_cstr(a->out_layout) && strcmp(tn_cstr(a->out_layout), tn_cstr(a->layout)) != 0))
    return false;
  if (ops_get_pads(a->padding, 2, before, after, "qnn.avg_pool2d")) return false;
  return a->count_include_pad || !(before[0] | before[1] | after[0] | after[1]);
}

/* Sums of windows: a convolution of each channel with ones. */
static void *window_sums(const relay_replace *r, const tn_QnnAvgPool2DAttrs *a, int64_t channels,
                         int64_t zero) {
  static const int64_t none[] = {0, 0};
  tn_expr *c = tir_i32((int32_t)channels);
  tn_arr *shape =
      tn_arr_of(4, c, tir_i32(1), tn_arr_obj(a->pool_size, 0), tn_arr_obj(a->pool_size, 1));
  void *full = !shape ? NULL
                      : relay_attrs("ones", 2, "shape", tn_any_obj(shape), "dtype",
                                    tn_any_dtype(tn_dtype_of(kDLInt, 8, 1)));
  void *attrs = relay_attrs("nn.conv2d", 8, "strides", tn_any_obj(a->strides), "padding",
                            tn_any_obj(relay_ints(none, 2)), "dilation", tn_any_obj(a->dilation),
                            "groups", tn_any_int(channels), "channels", tn_any_obj(c),
                            "kernel_size", tn_any_obj(a->pool_size), "data_layout",
                            tn_any_obj(a->layout), "out_dtype", tn_any_dtype(TN_I32));
  void *x = qnn_padded(r, tn_cstr(a->layout), zero);
  return full && attrs && x ? relay_call("nn.conv2d", attrs, 2, x, relay_call("ones", full, 0))
                            : NULL;
}

/* A sum of n stands for numbers in quanta of scale / n, with the zero point n * zero. */
static void *lower_pool(const relay_replace *r) {
  const tn_QnnAvgPool2DAttrs *a = (const tn_QnnAvgPool2DAttrs *)r->call->attrs;
  const tn_TensorType *t = TN_AS(TensorType, tn_arr_obj(r->types, 0)),
                      *result = TN_AS(TensorType, r->out_type);
  qnn_quantum in = from(r), out = to(r);
  double scale, zero;
  int64_t n = relay_listed(a->pool_size, 0) * relay_listed(a->pool_size, 1);
  int64_t channels;
  bool known = relay_known_int(t->shape, tn_str_eq(a->layout, "NHWC") ? 3 : 1, &channels) &&
               relay_uniform(in.scale, &scale) && relay_uniform(in.zero, &zero);
  if (known && n > 0 && n < 1 << 16 && channels > 0 && counts_alike(a)) {
    qnn_quantum sums = {relay_const_float(TN_F32, scale / (double)n),
                        relay_const_int(TN_I32, n * (int64_t)zero), 0};
    tn_TensorType *wide = relay_tensor_type(result->shape, TN_I32);
    void *sum = window_sums(r, a, channels, (int64_t)zero);
    return sum && wide && sums.scale && sums.zero
               ? qnn_requantized(sum, wide, &sums, &out, result->dtype, false)
               : NULL;
  }
  if (tn_error_pending()) return NULL;
  void *x = qnn_dequantized(relay_arg(r->call, 0), &in), *attrs = plain_attrs(a);
  return qnn_quantized(x && attrs ? relay_call("nn.avg_pool2d", attrs, 1, x) : NULL, &out,
                       result->dtype);
}

static int pool_layouts(relay_layouts *q) {
  return ops_layouts_of_first(q, 1, relay_layouts_by_attr);
}

#define TABLE(op_, doc_)                                                                           \
  {                                                                                                \
    .name = "qnn." op_, .inputs = "x scale zero_point output_scale output_zero_point",             \
    .level = 11, .pattern = RELAY_ELEMWISE, .rel_name = "QnnUnary", .rel = qnn_rel_unary,          \
    .shape = relay_shape_same, .legalize = lower_table, .doc = doc_                                \
  }

static const relay_op_row rows[] = {
    TABLE("tanh", "hyperbolic tangent of a quantized tensor"),
    TABLE("exp", "exponential of a quantized tensor"),
    TABLE("sqrt", "square root of a quantized tensor"),
    TABLE("rsqrt", "one by the square root of a quantized tensor"),
    TABLE("erf", "Gauss error function of a quantized tensor"),
    TABLE("sigmoid", "logistic function of a quantized tensor"),
    TABLE("log", "logarithm of a quantized tensor"),
    TABLE("abs", "absolute value of a quantized tensor"),
    TABLE("hardswish", "x * clip(x + 3, 0, 6) / 6 of a quantized tensor"),
    {.name = "qnn.avg_pool2d",
     .inputs = "data input_scale input_zero_point output_scale output_zero_point",
     .attrs = &tn_type_QnnAvgPool2DAttrs,
     .level = 11,
     .pattern = RELAY_OUT_ELEMWISE_FUSABLE,
     .rel_name = "QnnAvgPool2D",
     .rel = pool_relation,
     .layouts = pool_layouts,
     .convert = ops_convert_by_attr,
     .legalize = lower_pool,
     .doc = "mean of a window of quantized images"},
};

RELAY_FAMILY(qnn_table, TABLE_ATTRS)
