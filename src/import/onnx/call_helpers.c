/* Short ways to write calls of operators in conversions. A NULL operand means that an error is
   pending and gives NULL, so calls nest. */
#include <stdlib.h>

#include "base/error.h"
#include "import/onnx/import.h"

/* The call with attributes, which may be NULL with an error pending. */
static void *with(const char *op, void *attrs, void *x) {
  return attrs && x ? relay_call(op, attrs, 1, x) : NULL;
}

static tn_any list(const int64_t *v, int64_t n) { return tn_any_obj(relay_ints(v, n)); }

void *onnx_scalar(const onnx_ctx *c, int i, double value) {
  const tn_TensorType *t = onnx_in_type(c, i);
  return t ? relay_const_float(t->dtype, value) : onnx_fail(c, "input %d is not a tensor", i);
}

void *onnx_reshape(void *x, const int64_t *dims, int64_t n) {
  return with("reshape",
              relay_attrs("reshape", 2, "newshape", list(dims, n), "allowzero", tn_any_bool(false)),
              x);
}

/* Axes i to i + n - 1 merged, two at a time: a product that is not known needs no -1, which cannot
   stand for an extent where another one is 0. */
static void *merged(void *x, int64_t i, int64_t n) {
  int64_t codes[ONNX_MAX_NDIM + 2] = {0};
  codes[i] = -3, codes[i + 1] = -2;
  for (; n > 1; --n) x = onnx_reshape(x, codes, i + 2);
  return x;
}

void *onnx_flatten(void *x, const tn_TensorType *t, int64_t axis) {
  int64_t rank = t->shape->len, dims[2] = {-1, -1};
  TN_CHECKP(rank <= ONNX_MAX_NDIM, ValueError, NULL, "a tensor of %lld dimensions",
            (long long)rank);
  bool first = relay_known_product(t->shape, 0, axis, &dims[0]),
       second = relay_known_product(t->shape, axis, rank, &dims[1]);
  if (first && second) {
    void *a = relay_attrs("reshape", 2, "newshape", list(dims, 2), "allowzero", tn_any_bool(true));
    return with("reshape", a, x);
  }
  if ((first && dims[0] > 0) || (second && dims[1] > 0)) return onnx_reshape(x, dims, 2);
  if (axis == 0) return onnx_expand_dims(merged(x, 0, rank), 0, 1);
  x = merged(merged(x, axis, rank - axis), 0, axis);
  return axis == rank ? onnx_expand_dims(x, 1, 1) : x;
}

void *onnx_reshape_like(void *x, void *like, const tn_TensorType *t) {
  if (!relay_is_static((const tn_Type *)t))
    return x && like ? relay_call("reshape_like", NULL, 2, x, like) : NULL;
  void *a =
      relay_attrs("reshape", 2, "newshape", tn_any_obj(t->shape), "allowzero", tn_any_bool(true));
  return with("reshape", a, x);
}

void *onnx_transpose(void *x, const int64_t *axes, int64_t n) {
  return with("transpose", relay_attrs("transpose", 1, "axes", list(axes, n)), x);
}

void *onnx_cast(void *x, tn_dtype t) {
  return with("cast", relay_attrs("cast", 1, "dtype", tn_any_dtype(t)), x);
}

void *onnx_where(void *cond, void *x, void *y) { return relay_call("where", NULL, 3, cond, x, y); }

void *onnx_reduce(const char *op, void *x, const int64_t *axes, int64_t n, bool keepdims) {
  tn_any axis = n > 0 ? list(axes, n) : tn_any_none();
  return with(op, relay_attrs(op, 2, "axis", axis, "keepdims", tn_any_bool(keepdims)), x);
}

void *onnx_part(void *x, int64_t axis, int64_t begin, int64_t end) {
  return with("strided_slice",
              relay_attrs("strided_slice", 3, "begin", list(&begin, 1), "end", list(&end, 1),
                          "axes", list(&axis, 1)),
              x);
}

void *onnx_take(void *x, void *index, int64_t axis) {
  void *a = relay_attrs("take", 1, "axis", tn_any_obj(tir_i32((int32_t)axis)));
  return a ? relay_call("take", a, 2, x, index) : NULL;
}

void *onnx_expand_dims(void *x, int64_t axis, int64_t n) {
  return with("expand_dims",
              relay_attrs("expand_dims", 2, "axis", tn_any_int(axis), "num_newaxis", tn_any_int(n)),
              x);
}

void *onnx_squeeze(void *x, int64_t axis) {
  return with("squeeze", relay_attrs("squeeze", 1, "axis", list(&axis, 1)), x);
}

void *onnx_concat(tn_arr *parts, int64_t axis) {
  void *all = parts ? relay_tuple(parts) : NULL;
  return with("concatenate", relay_attrs("concatenate", 1, "axis", tn_any_int(axis)), all);
}

void *onnx_count_along(tn_dtype t, int64_t n, int64_t axis, int64_t rank) {
  int64_t dims[ONNX_MAX_NDIM];
  TN_CHECKP(rank <= ONNX_MAX_NDIM && axis < rank && n >= 0 && n <= INT32_MAX, OpNotImplemented,
            NULL, "an axis of %lld elements", (long long)n);
  for (int64_t i = 0; i < rank; ++i) dims[i] = i == axis ? n : 1;
  void *from = relay_const_int(TN_I64, 0), *to = relay_const_int(TN_I64, n),
       *step = relay_const_int(TN_I64, 1);
  if (!from || !to || !step) return NULL;
  void *a = relay_attrs("arange", 4, "start", tn_any_obj(from), "stop", tn_any_obj(to), "step",
                        tn_any_obj(step), "dtype", tn_any_dtype(t));
  void *x = a ? relay_call("arange", a, 3, from, to, step) : NULL;
  if (n > 0 || !x) return onnx_reshape(x, dims, rank);
  if (axis + 1 < rank) x = onnx_expand_dims(x, 1, rank - axis - 1); /* reshape takes 0 for a copy */
  return axis > 0 ? onnx_expand_dims(x, 0, axis) : x;
}

/* Relay rounds halves away from zero; half of the number, rounded, is half of the even one. */
void *onnx_round_even(void *x, tn_dtype t) {
  void *half = relay_const_float(t, 0.5), *two = relay_const_float(t, 2);
  void *rest = onnx_unary("abs", onnx_binary("subtract", x, onnx_unary("trunc", x)));
  void *even = onnx_binary("multiply", onnx_unary("round", onnx_binary("multiply", x, half)), two);
  return onnx_where(onnx_binary("equal", rest, half), even, onnx_unary("round", x));
}
