/* Quantised operators as arithmetic of integers.

     QuantizeLinear(x, s, z)           cast(clip(round(x / s) + z))
     DequantizeLinear(x, s, z)         (cast(x, int32) - z) * s
     QLinearConv(x, ..., w, ...)       sums of (x - zx) * (w - zw) in int32, times zx * zw / zy, +
   zy

   Scales and zero points are scalars, one for each element of an axis, or one for each block of
   one. Zero points are subtracted before borders are added, so that borders are zeros. */
#include <string.h>

#include "base/error.h"
#include "import/onnx/import.h"

/* ---- scales and zero points ---- */

/* Numbers of an axis with axes of extent 1 around, so that they broadcast to `rank` dimensions. */
static void *along(const oc *c, int input, int64_t axis, int64_t rank) {
  const tn_TensorType *t = oc_type(c, input);
  void *e = oc_in(c, input);
  if (!t || !e) return e ? oc_fail(c, "input %d is no tensor", input) : NULL;
  if (t->shape->len == 0) return e;
  if (t->shape->len > 1)
    return t->shape->len == rank ? e : oc_fail(c, "the scale has the wrong rank");
  if (tir_is_one(relay_dim(t, 0))) return oc_reshape(e, NULL, 0);
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank) return oc_fail(c, "axis %lld is out of range", (long long)axis);
  return axis + 1 < rank ? oc_expand_dims(e, 1, rank - axis - 1) : e;
}

/* Each number for `block` elements of the axis, of which there are as many as in `data`. */
static void *blocks(const oc *c, void *e, int64_t block, int64_t axis, const tn_TensorType *data) {
  if (block <= 0 || !e) return e;
  if (axis < 0) axis += data->shape->len;
  if (axis < 0 || axis >= data->shape->len)
    return oc_fail(c, "axis %lld is out of range", (long long)axis);
  void *a = relay_attrs("repeat", 2, "repeats", tn_any_int(block), "axis", tn_any_int(axis));
  e = a ? relay_call("repeat", a, 1, e) : NULL;
  return e ? oc_part(e, axis, 0, relay_int_at(data->shape, axis)) : NULL;
}

typedef struct {
  void *scale, *zero; /* zero NULL: 0 */
} quantum;

/* Numbers that lie along an axis must be as many as it has elements. */
static int check_numbers(const oc *c, int input, int64_t axis, const tn_TensorType *data) {
  const tn_TensorType *t = oc_type(c, input);
  if (!t || t->shape->len != 1 || tir_is_one(relay_dim(t, 0))) return 0;
  if (axis < 0) axis += data->shape->len;
  if (axis < 0 || axis >= data->shape->len)
    return oc_fail(c, "axis %lld is out of range", (long long)axis), -1;
  if (relay_dim_equal(relay_dim(t, 0), relay_dim(data, axis)) != 0) return 0;
  return oc_fail(c, "input %d (scale or zero point) has %lld numbers, the axis of the shape %lld",
                 input, (long long)relay_int_at(t->shape, 0),
                 (long long)relay_int_at(data->shape, axis)),
         -1;
}

/* From inputs `scale` and `zero` (which may be left out) for data of the type. */
static int read_quantum(const oc *c, int scale, int zero, const tn_TensorType *data, quantum *q) {
  int64_t axis = oc_int(c, "axis", 1), block = oc_int(c, "block_size", 0), rank;
  if (!data || block < 0 || block > INT32_MAX) return oc_fail(c, "the input is no tensor"), -1;
  rank = data->shape->len;
  if (block == 0) TN_TRY(check_numbers(c, scale, axis, data));
  if (block == 0) TN_TRY(check_numbers(c, zero, axis, data));
  TN_GET(q->scale, blocks(c, along(c, scale, axis, rank), block, axis, data));
  q->zero = NULL;
  if (oc_in(c, zero)) TN_GET(q->zero, blocks(c, along(c, zero, axis, rank), block, axis, data));
  return 0;
}

/* ---- to and from integers ---- */

/* x / scale as integers of type `to`: halves to the even one, what is out of range cut off. */
static void *quantized(void *x, void *zero, tn_dtype to) {
  TN_CHECKP(ir_is_integral(to) && to.bits <= 16, OpNotImplemented, NULL,
            "quantised values of type %s are not supported", TN_DT(to));
  double n = (double)(UINT64_C(1) << to.bits), low = ir_is_uint(to) ? 0 : -n / 2;
  x = oc_round_even(x, TN_F32);
  if (zero) x = oc_binary("add", x, oc_cast(zero, TN_F32));
  void *a = relay_attrs("clip", 2, "a_min", tn_any_float(low), "a_max", tn_any_float(low + n - 1));
  return a && x ? oc_cast(relay_call("clip", a, 1, x), to) : NULL;
}

static void *quantize(oc *c) {
  quantum q;
  tn_dtype to = {kDLUInt, 8, 1};
  const tn_TensorType *t = oc_type(c, 0), *zero = oc_type(c, 2);
  TN_TRYP(read_quantum(c, 1, 2, t, &q));
  if (oc_int(c, "output_dtype", 0))
    TN_TRYP(onnx_dtype((int32_t)oc_int(c, "output_dtype", 0), "QuantizeLinear: output_dtype", &to));
  if (zero) to = zero->dtype;
  void *x = oc_cast(oc_in(c, 0), TN_F32);
  return quantized(oc_binary("divide", x, oc_cast(q.scale, TN_F32)), q.zero, to);
}

static void *dequantize(oc *c) {
  quantum q;
  const tn_TensorType *scale = oc_type(c, 1);
  TN_TRYP(read_quantum(c, 1, 2, oc_type(c, 0), &q));
  if (!scale || !ir_is_integral(oc_type(c, 0)->dtype))
    return oc_fail(c, "only integers are supported, got %s", TN_DT(oc_type(c, 0)->dtype));
  void *x = oc_cast(oc_in(c, 0), TN_I32);
  if (q.zero) x = oc_binary("subtract", x, oc_cast(q.zero, TN_I32));
  tn_dtype to = scale->dtype;
  if (oc_int(c, "output_dtype", 0))
    TN_TRYP(
        onnx_dtype((int32_t)oc_int(c, "output_dtype", 0), "DequantizeLinear: output_dtype", &to));
  void *y = oc_binary("multiply", oc_cast(x, TN_F32), oc_cast(q.scale, TN_F32));
  return oc_cast(y, to);
}

/* To uint8 with scale and zero point from the least and greatest element, 0 among them. */
static void *dynamic_quantize(oc *c) {
  void *x = oc_in(c, 0), *none = oc_scalar(c, 0, 0), *top = oc_scalar(c, 0, 255);
  void *most = oc_binary("maximum", oc_reduce("max", x, NULL, 0, false), none),
       *least = oc_binary("minimum", oc_reduce("min", x, NULL, 0, false), none);
  void *scale = oc_binary("divide", oc_binary("subtract", most, least), top);
  void *zero = oc_round_even(oc_binary("divide", oc_unary("negative", least), scale), TN_F32);
  tn_dtype u8 = {kDLUInt, 8, 1};
  void *a = relay_attrs("clip", 2, "a_min", tn_any_float(0), "a_max", tn_any_float(255));
  zero = a && zero ? oc_cast(relay_call("clip", a, 1, zero), u8) : NULL;
  void *y = zero ? quantized(oc_binary("divide", x, scale), zero, u8) : NULL;
  return y ? relay_tuple(tn_arr_of(3, y, scale, zero)) : NULL;
}

/* ---- integers ---- */

/* Input i as int32 with the zero point of input `zero` taken off; that one's numbers lie along
   `axis`. */
static void *centered(const oc *c, int i, int zero, int64_t axis) {
  void *x = oc_in(c, i) ? oc_cast(oc_in(c, i), TN_I32) : NULL;
  if (!x || !oc_in(c, zero)) return x;
  void *z = along(c, zero, axis, oc_rank(c, i));
  return z ? oc_binary("subtract", x, oc_cast(z, TN_I32)) : NULL;
}

/* Sums of products to the type of the result: times a * b / y, rounded, plus y's zero point.
   Scales of several channels lie along `axis`. */
static void *requantized(const oc *c, void *sum, int a, int b, int y, int64_t axis, int64_t rank) {
  void *s = along(c, a, axis, rank), *t = along(c, b, axis, rank), *u = along(c, y, axis, rank);
  const tn_TensorType *zero = oc_type(c, y + 1);
  if (!s || !t || !u) return NULL;
  if (!zero) return oc_fail(c, "the zero point of the result is missing");
  void *factor = oc_binary("multiply", oc_cast(s, TN_F32), oc_cast(t, TN_F32));
  factor = oc_binary("divide", factor, oc_cast(u, TN_F32));
  void *z = along(c, y + 1, axis, rank);
  void *x = sum && z ? oc_binary("multiply", oc_cast(sum, TN_F32), factor) : NULL;
  return x ? quantized(x, z, zero->dtype) : NULL;
}

/* x, its scale and zero point, the same of w, of y, then a bias in int32. */
static void *qlinear_conv(oc *c) {
  void *x = centered(c, 0, 2, -1), *w = centered(c, 3, 5, 0);
  void *sum = x && w ? oc_conv(c, x, w, 3, oc_in(c, 8)) : NULL;
  return sum ? requantized(c, sum, 1, 4, 6, 1, oc_rank(c, 0)) : NULL;
}

static void *conv_integer(oc *c) {
  void *x = centered(c, 0, 2, -1), *w = centered(c, 1, 3, 0);
  return x && w ? oc_conv(c, x, w, 1, NULL) : NULL;
}

/* Zero points of a lie along its rows, those of b along its columns. */
static void *qlinear_matmul(oc *c) {
  int64_t rank = oc_rank(c, 0) > oc_rank(c, 3) ? oc_rank(c, 0) : oc_rank(c, 3);
  void *a = centered(c, 0, 2, -2), *b = centered(c, 3, 5, -1);
  void *sum = a && b ? oc_matmul(c, a, oc_type(c, 0), b, oc_type(c, 3)) : NULL;
  return sum ? requantized(c, sum, 1, 4, 6, -1, rank) : NULL;
}

static void *matmul_integer(oc *c) {
  void *a = centered(c, 0, 2, -2), *b = centered(c, 1, 3, -1);
  return a && b ? oc_matmul(c, a, oc_type(c, 0), b, oc_type(c, 1)) : NULL;
}

/* ---- com.microsoft ---- */

/* a, its scale and zero point, the same of b, c in int32, scale and zero point of the result;
   floats without those. */
static void *qgemm(oc *c) {
  void *a = centered(c, 0, 2, 0), *b = centered(c, 3, 5, oc_int(c, "transB", 0) ? 0 : 1);
  if (oc_rank(c, 0) != 2 || oc_rank(c, 3) != 2) return oc_fail(c, "expected matrices");
  const int64_t flip[] = {1, 0};
  if (oc_int(c, "transA", 0)) a = oc_transpose(a, flip, 2);
  if (!oc_int(c, "transB", 0)) b = oc_transpose(b, flip, 2);
  void *sum = a && b ? relay_call("nn.dense", NULL, 2, a, b) : NULL;
  if (oc_in(c, 6)) sum = oc_binary("add", sum, oc_in(c, 6));
  double alpha = oc_float(c, "alpha", 1);
  if (alpha != 1) return oc_fail(c, "alpha must be 1, got %g", alpha);
  if (oc_in(c, 7)) return requantized(c, sum, 1, 4, 7, 1, 2);
  void *s = oc_binary("multiply", along(c, 1, 1, 2), along(c, 4, 1, 2));
  return oc_binary("multiply", oc_cast(sum, TN_F32), s);
}

static void *real(const oc *c, int i) {
  void *x = centered(c, i, i + 2, 1), *s = along(c, i + 1, 1, oc_rank(c, i));
  return x && s ? oc_binary("multiply", oc_cast(x, TN_F32), s) : NULL;
}

static void *quantized_to(const oc *c, void *y, int scale) {
  const tn_TensorType *zero = oc_type(c, scale + 1);
  if (!zero) return oc_fail(c, "the zero point of the result is missing");
  return y ? quantized(oc_binary("divide", y, oc_in(c, scale)), oc_in(c, scale + 1), zero->dtype)
           : NULL;
}

static void *qlinear_binary(oc *c) {
  const char *op = strcmp(c->node->op_type, "QLinearAdd") == 0 ? "add" : "multiply";
  return quantized_to(c, oc_binary(op, real(c, 0), real(c, 3)), 6);
}

static void *qlinear_sigmoid(oc *c) { return quantized_to(c, oc_unary("sigmoid", real(c, 0)), 3); }

static void *qlinear_leaky(oc *c) {
  void *a = relay_attrs("nn.leaky_relu", 1, "alpha", tn_any_float(oc_float(c, "alpha", 0.01)));
  void *x = real(c, 0);
  return quantized_to(c, a && x ? relay_call("nn.leaky_relu", a, 1, x) : NULL, 3);
}

static void *qlinear_global_pool(oc *c) {
  int64_t axes[OC_MAX_NDIM], n = 0, rank = oc_rank(c, 0), last = oc_int(c, "channels_last", 0);
  if (rank < 3 || rank > OC_MAX_NDIM)
    return oc_fail(c, "a shape of %lld dimensions", (long long)rank);
  for (int64_t i = last ? 1 : 2; i < rank - (last ? 1 : 0); ++i) axes[n++] = i;
  void *x = real(c, 0);
  return x ? quantized_to(c, oc_reduce("mean", x, axes, n, true), 3) : NULL;
}

static const onnx_row rows[] = {
    {"QuantizeLinear", quantize, 2, 3},
    {"DequantizeLinear", dequantize, 2, 3},
    {"DynamicQuantizeLinear", dynamic_quantize, 1, 1},
    {"QLinearConv", qlinear_conv, 8, 9},
    {"ConvInteger", conv_integer, 2, 4},
    {"QLinearMatMul", qlinear_matmul, 8, 8},
    {"MatMulInteger", matmul_integer, 2, 4},
};
const onnx_table onnx_quant = {rows, TN_COUNT(rows), ""};

static const onnx_row microsoft_rows[] = {
    {"QuantizeLinear", quantize, 2, 3},
    {"DequantizeLinear", dequantize, 2, 3},
    {"QGemm", qgemm, 6, 9},
    {"QLinearAdd", qlinear_binary, 8, 8},
    {"QLinearMul", qlinear_binary, 8, 8},
    {"QLinearSigmoid", qlinear_sigmoid, 5, 5},
    {"QLinearLeakyRelu", qlinear_leaky, 5, 5},
    {"QLinearGlobalAveragePool", qlinear_global_pool, 5, 5},
};
const onnx_table onnx_microsoft = {microsoft_rows, TN_COUNT(microsoft_rows), "com.microsoft"};
