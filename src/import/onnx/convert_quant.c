/* Quantised operators.

     QuantizeLinear(x, s, z)           qnn.quantize(x, s, z)
     DequantizeLinear(x, s, z)         qnn.dequantize(x, s, z)
     QLinearConv(x, ..., w, ...)       qnn.quantize(nn.conv2d(qnn.dequantize(x), ...)): with
                                       integers when it is built (FakeQuantizationToInteger)
     ConvInteger(x, w, zx, zw)         sums of (x - zx) * (w - zw) in int32

   Scales and zero points are scalars, one for each element of an axis, or one for each block of
   one. */
#include <string.h>

#include "base/error.h"
#include "import/onnx/import.h"
#include "relay/infer.h"
#include "relay/transforms/transforms.h"

/* ---- scales and zero points ---- */

/* Numbers of an axis with axes of extent 1 around, so that they broadcast to `rank` dimensions. */
static void *along(const onnx_ctx *c, int input, int64_t axis, int64_t rank) {
  const tn_TensorType *t = onnx_in_type(c, input);
  void *e = onnx_in(c, input);
  if (!t || !e) return e ? onnx_fail(c, "input %d is not a tensor", input) : NULL;
  if (t->shape->len == 0) return e;
  if (t->shape->len > 1)
    return t->shape->len == rank ? e : onnx_fail(c, "the scale has the wrong rank");
  if (tir_is_one(relay_dim(t, 0))) return onnx_reshape(e, NULL, 0);
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank) return onnx_fail(c, "axis %lld is out of range", (long long)axis);
  return axis + 1 < rank ? onnx_expand_dims(e, 1, rank - axis - 1) : e;
}

/* Each number for `block` elements of the axis, of which there are as many as in `data`. */
static void *blocks(const onnx_ctx *c, void *e, int64_t block, int64_t axis,
                    const tn_TensorType *data) {
  if (block <= 0 || !e) return e;
  if (axis < 0) axis += data->shape->len;
  if (axis < 0 || axis >= data->shape->len)
    return onnx_fail(c, "axis %lld is out of range", (long long)axis);
  void *a = relay_attrs("repeat", 2, "repeats", tn_any_int(block), "axis", tn_any_int(axis));
  e = a ? relay_call("repeat", a, 1, e) : NULL;
  int64_t extent;
  if (!relay_known_int(data->shape, axis, &extent))
    return onnx_fail(c, "block_size: dimension %lld, which has the blocks, must be known",
                     (long long)axis);
  return e ? onnx_part(e, axis, 0, extent) : NULL;
}

typedef struct {
  void *scale, *zero; /* zero NULL: 0 */
} quantum;

/* Numbers that lie along an axis must be as many as it has elements. */
static int check_numbers(const onnx_ctx *c, int input, int64_t axis, const tn_TensorType *data) {
  const tn_TensorType *t = onnx_in_type(c, input);
  if (!t || t->shape->len != 1 || tir_is_one(relay_dim(t, 0))) return 0;
  if (axis < 0) axis += data->shape->len;
  if (axis < 0 || axis >= data->shape->len)
    return onnx_fail(c, "axis %lld is out of range", (long long)axis), -1;
  int64_t numbers, extent;
  if (!relay_known_int(t->shape, 0, &numbers) || !relay_known_int(data->shape, axis, &extent) ||
      numbers == extent)
    return 0;
  return onnx_fail(c, "input %d (scale or zero point) has %lld numbers, the axis of the shape %lld",
                   input, (long long)numbers, (long long)extent),
         -1;
}

/* From inputs `scale` and `zero` (which may be left out) for data of the type. */
static int read_quantum(const onnx_ctx *c, int scale, int zero, const tn_TensorType *data,
                        quantum *q) {
  int64_t axis = onnx_int(c, "axis", 1), block = onnx_int(c, "block_size", 0), rank;
  if (!data || block < 0 || block > INT32_MAX) return onnx_fail(c, "the input is not a tensor"), -1;
  rank = data->shape->len;
  if (block == 0) TN_TRY(check_numbers(c, scale, axis, data));
  if (block == 0) TN_TRY(check_numbers(c, zero, axis, data));
  TN_GET(q->scale, blocks(c, along(c, scale, axis, rank), block, axis, data));
  q->zero = NULL;
  if (onnx_in(c, zero)) TN_GET(q->zero, blocks(c, along(c, zero, axis, rank), block, axis, data));
  return 0;
}

/* ---- to and from integers ---- */

/* x / scale as integers of type `to`: halves to the even one, what is out of range cut off. */
static void *quantized(void *x, void *zero, tn_dtype to) {
  TN_CHECKP(ir_is_integral(to) && to.bits <= 16, OpNotImplemented, NULL,
            "quantised values of type %s are not supported", TN_DT(to));
  double n = (double)(UINT64_C(1) << to.bits), low = ir_is_uint(to) ? 0 : -n / 2;
  x = onnx_round_even(x, TN_F32);
  if (zero) x = onnx_binary("add", x, onnx_cast(zero, TN_F32));
  void *a = relay_attrs("clip", 2, "a_min", tn_any_float(low), "a_max", tn_any_float(low + n - 1));
  return a && x ? onnx_cast(relay_call("clip", a, 1, x), to) : NULL;
}

/* ---- as operators of qnn ---- */

/* A scale or zero point, in input i, as the operators take it: a scalar or a vector. */
static void *as_vector(const onnx_ctx *c, int i) {
  const tn_TensorType *t = onnx_in_type(c, i);
  if (!t || t->shape->len > 1) return NULL;
  return t->shape->len == 1 && tir_is_one(relay_dim(t, 0)) ? onnx_reshape(onnx_in(c, i), NULL, 0)
                                                           : onnx_in(c, i);
}

/* Is there one number for the tensor, or one for each element of an axis? */
static bool has_vectors(const onnx_ctx *c, int scale, int zero) {
  const tn_TensorType *s = onnx_in_type(c, scale), *z = onnx_in_type(c, zero);
  return onnx_int(c, "block_size", 0) == 0 && s && s->shape->len <= 1 && (!z || z->shape->len <= 1);
}

/* One number goes with any axis, also one that is not there. */
static int64_t axis_for(const onnx_ctx *c, int scale, int64_t axis) {
  const tn_TensorType *s = onnx_in_type(c, scale);
  return !s || s->shape->len == 0 || tir_is_one(relay_dim(s, 0)) ? -1 : axis;
}

/* As int32, which becomes part of kernels, where it is one number that is known. */
static void *zero_of(const onnx_ctx *c, int zero) {
  int64_t z = 0;
  if (!onnx_in(c, zero) || relay_as_int(onnx_in(c, zero), &z)) return relay_const_int(TN_I32, z);
  return as_vector(c, zero);
}

/* `scale` is the input with the scale; the zero point is the next. */
static void *qnn_quantize(const onnx_ctx *c, void *x, int scale, int64_t axis, tn_dtype to) {
  axis = axis_for(c, scale, axis);
  void *a = relay_attrs("qnn.quantize", 2, "axis", tn_any_int(axis), "out_dtype", tn_any_dtype(to));
  void *s = as_vector(c, scale), *z = zero_of(c, scale + 1);
  return a && x && s && z ? relay_call("qnn.quantize", a, 3, x, s, z) : NULL;
}

static void *qnn_dequantize(const onnx_ctx *c, void *x, int scale, int64_t axis, tn_dtype to) {
  axis = axis_for(c, scale, axis);
  void *a =
      relay_attrs("qnn.dequantize", 2, "axis", tn_any_int(axis), "out_dtype", tn_any_dtype(to));
  void *s = as_vector(c, scale), *z = zero_of(c, scale + 1);
  return a && x && s && z ? relay_call("qnn.dequantize", a, 3, x, s, z) : NULL;
}

static void *quantize(onnx_ctx *c) {
  quantum q;
  tn_dtype to = {kDLUInt, 8, 1};
  const tn_TensorType *t = onnx_in_type(c, 0), *zero = onnx_in_type(c, 2);
  TN_TRYP(read_quantum(c, 1, 2, t, &q));
  if (onnx_int(c, "output_dtype", 0))
    TN_TRYP(
        onnx_dtype((int32_t)onnx_int(c, "output_dtype", 0), "QuantizeLinear: output_dtype", &to));
  if (zero) to = zero->dtype;
  if (has_vectors(c, 1, 2) && ir_is_integral(to) && to.bits >= 8 && to.bits <= 16)
    return qnn_quantize(c, onnx_in(c, 0), 1, onnx_int(c, "axis", 1), to);
  void *x = onnx_cast(onnx_in(c, 0), TN_F32);
  return quantized(onnx_binary("divide", x, onnx_cast(q.scale, TN_F32)), q.zero, to);
}

static void *dequantize(onnx_ctx *c) {
  quantum q;
  const tn_TensorType *scale = onnx_in_type(c, 1);
  TN_TRYP(read_quantum(c, 1, 2, onnx_in_type(c, 0), &q));
  if (!scale || !ir_is_integral(onnx_in_type(c, 0)->dtype))
    return onnx_fail(c, "only integers are supported, got %s", TN_DT(onnx_in_type(c, 0)->dtype));
  tn_dtype to = scale->dtype;
  if (onnx_int(c, "output_dtype", 0))
    TN_TRYP(
        onnx_dtype((int32_t)onnx_int(c, "output_dtype", 0), "DequantizeLinear: output_dtype", &to));
  if (has_vectors(c, 1, 2) && onnx_in_type(c, 0)->dtype.bits >= 8)
    return qnn_dequantize(c, onnx_in(c, 0), 1, onnx_int(c, "axis", 1), to);
  void *x = onnx_cast(onnx_in(c, 0), TN_I32);
  if (q.zero) x = onnx_binary("subtract", x, onnx_cast(q.zero, TN_I32));
  void *y = onnx_binary("multiply", onnx_cast(x, TN_F32), onnx_cast(q.scale, TN_F32));
  return onnx_cast(y, to);
}

/* To uint8 with scale and zero point from the least and greatest element, 0 among them. */
static void *dynamic_quantize(onnx_ctx *c) {
  void *x = onnx_in(c, 0), *none = onnx_scalar(c, 0, 0), *top = onnx_scalar(c, 0, 255);
  void *most = onnx_binary("maximum", onnx_reduce("max", x, NULL, 0, false), none),
       *least = onnx_binary("minimum", onnx_reduce("min", x, NULL, 0, false), none);
  void *scale = onnx_binary("divide", onnx_binary("subtract", most, least), top);
  void *zero = onnx_round_even(onnx_binary("divide", onnx_unary("negative", least), scale), TN_F32);
  tn_dtype u8 = {kDLUInt, 8, 1};
  void *a = relay_attrs("clip", 2, "a_min", tn_any_float(0), "a_max", tn_any_float(255));
  zero = a && zero ? onnx_cast(relay_call("clip", a, 1, zero), u8) : NULL;
  void *y = zero ? quantized(onnx_binary("divide", x, scale), zero, u8) : NULL;
  return y ? relay_tuple(tn_arr_of(3, y, scale, zero)) : NULL;
}

/* ---- integers ---- */

/* Input i as int32 with the zero point of input `zero` taken off; that one's numbers lie along
   `axis`. */
static void *centered(const onnx_ctx *c, int i, int zero, int64_t axis) {
  void *x = onnx_in(c, i) ? onnx_cast(onnx_in(c, i), TN_I32) : NULL;
  if (!x || !onnx_in(c, zero)) return x;
  void *z = along(c, zero, axis, onnx_rank(c, i));
  return z ? onnx_binary("subtract", x, onnx_cast(z, TN_I32)) : NULL;
}

/* ---- operators between dequantize and quantize ---- */

/* Input i, whose scale and zero point are the next two inputs, along `axis`, as numbers. */
static void *real(const onnx_ctx *c, int i, int64_t axis) {
  int64_t rank = onnx_rank(c, i);
  if (!onnx_in(c, i) || !onnx_in(c, i + 1))
    return onnx_fail(c, "input %d or its scale is missing", i);
  if (axis < 0) axis += rank;
  if (has_vectors(c, i + 1, i + 2)) {
    TN_TRYP(check_numbers(c, i + 1, axis, onnx_in_type(c, i)));
    return qnn_dequantize(c, onnx_in(c, i), i + 1, axis, TN_F32);
  }
  void *x = centered(c, i, i + 2, axis), *s = along(c, i + 1, axis, rank);
  return x && s ? onnx_binary("multiply", onnx_cast(x, TN_F32), s) : NULL;
}

/* Numbers to the quanta of inputs `scale` and the one after it. */
static void *quantized_to(const onnx_ctx *c, void *y, int scale, int64_t axis) {
  const tn_TensorType *zero = onnx_in_type(c, scale + 1);
  if (!zero || !onnx_in(c, scale)) return onnx_fail(c, "the zero point of the result is missing");
  if (!y) return NULL;
  if (has_vectors(c, scale, scale + 1)) return qnn_quantize(c, y, scale, axis, zero->dtype);
  return quantized(onnx_binary("divide", y, onnx_in(c, scale)), onnx_in(c, scale + 1), zero->dtype);
}

/* A bias in int32 (input i) stands for numbers in quanta of the product of two scales. */
static void *real_bias(const onnx_ctx *c, int i, int a, int b) {
  if (!onnx_in(c, i)) return NULL;
  void *s = as_vector(c, a), *t = as_vector(c, b), *none = relay_const_int(TN_I32, 0);
  void *scale = s && t ? relay_fold_expr(onnx_binary("multiply", s, t)) : NULL;
  void *attrs = relay_attrs("qnn.dequantize", 1, "axis", tn_any_int(-1));
  return scale && attrs && none
             ? relay_infer_new(relay_call("qnn.dequantize", attrs, 3, onnx_in(c, i), scale, none))
             : NULL;
}

/* x, its scale and zero point, the same of w, of y, then a bias in int32. */
static void *qlinear_conv(onnx_ctx *c) {
  void *x = real(c, 0, 1), *w = real(c, 3, 0), *b = real_bias(c, 8, 1, 4);
  if (!x || !w || (onnx_in(c, 8) && !b)) return NULL;
  return quantized_to(c, onnx_conv(c, relay_infer_new(x), relay_infer_new(w), 3, b), 6, 1);
}

static void *conv_integer(onnx_ctx *c) {
  void *x = centered(c, 0, 2, -1), *w = centered(c, 1, 3, 0);
  return x && w ? onnx_conv(c, x, w, 1, NULL) : NULL;
}

/* Zero points of a lie along its rows, those of b along its columns. */
static void *qlinear_matmul(onnx_ctx *c) {
  void *a = real(c, 0, -2), *b = real(c, 3, -1);
  a = a ? relay_infer_new(a) : NULL, b = b ? relay_infer_new(b) : NULL;
  if (!a || !b) return NULL;
  void *y = onnx_matmul(c, a, relay_tensor_type_of_expr(a), b, relay_tensor_type_of_expr(b));
  return quantized_to(c, y, 6, -1);
}

static void *matmul_integer(onnx_ctx *c) {
  void *a = centered(c, 0, 2, -2), *b = centered(c, 1, 3, -1);
  return a && b ? onnx_matmul(c, a, onnx_in_type(c, 0), b, onnx_in_type(c, 1)) : NULL;
}

/* ---- com.microsoft ---- */

/* a, its scale and zero point, the same of b, c in int32, scale and zero point of the result;
   floats without those. */
static void *qgemm(onnx_ctx *c) {
  double alpha = onnx_float(c, "alpha", 1);
  if (onnx_rank(c, 0) != 2 || onnx_rank(c, 3) != 2) return onnx_fail(c, "expected matrices");
  void *a = real(c, 0, 0), *b = real(c, 3, onnx_int(c, "transB", 0) ? 0 : 1);
  const int64_t flip[] = {1, 0};
  if (a && onnx_int(c, "transA", 0)) a = onnx_transpose(a, flip, 2);
  if (b && !onnx_int(c, "transB", 0)) b = onnx_transpose(b, flip, 2);
  void *y = a && b ? relay_call("nn.dense", NULL, 2, a, b) : NULL;
  if (onnx_in(c, 6)) y = onnx_binary("add", y, real_bias(c, 6, 1, 4));
  if (y && alpha != 1) y = onnx_binary("multiply", y, relay_const_float(TN_F32, alpha));
  return y && onnx_in(c, 7) ? quantized_to(c, y, 7, 1) : y;
}

static void *qlinear_binary(onnx_ctx *c) {
  const char *op = strcmp(c->node->op_type, "QLinearAdd") == 0 ? "add" : "multiply";
  return quantized_to(c, onnx_binary(op, real(c, 0, 1), real(c, 3, 1)), 6, 1);
}

static void *qlinear_sigmoid(onnx_ctx *c) {
  return quantized_to(c, onnx_unary("sigmoid", real(c, 0, 1)), 3, 1);
}

static void *qlinear_leaky(onnx_ctx *c) {
  void *a = relay_attrs("nn.leaky_relu", 1, "alpha", tn_any_float(onnx_float(c, "alpha", 0.01)));
  void *x = real(c, 0, 1);
  return quantized_to(c, a && x ? relay_call("nn.leaky_relu", a, 1, x) : NULL, 3, 1);
}

static void *qlinear_global_pool(onnx_ctx *c) {
  int64_t axes[ONNX_MAX_NDIM], n = 0, rank = onnx_rank(c, 0),
                               last = onnx_int(c, "channels_last", 0);
  if (rank < 3 || rank > ONNX_MAX_NDIM)
    return onnx_fail(c, "a shape of %lld dimensions", (long long)rank);
  for (int64_t i = last ? 1 : 2; i < rank - (last ? 1 : 0); ++i) axes[n++] = i;
  void *x = real(c, 0, 1);
  return x ? quantized_to(c, onnx_reduce("mean", x, axes, n, true), 3, 1) : NULL;
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
