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

void *oc_scalar(const oc *c, int i, double value) {
  const tn_TensorType *t = oc_type(c, i);
  return t ? relay_const_float(t->dtype, value) : oc_fail(c, "input %d is no tensor", i);
}

void *oc_reshape(void *x, const int64_t *dims, int64_t n) {
  return with("reshape",
              relay_attrs("reshape", 2, "newshape", list(dims, n), "allowzero", tn_any_bool(false)),
              x);
}

void *oc_reshape_like(void *x, const tn_TensorType *t) {
  return with("reshape", relay_attrs("reshape", 1, "newshape", tn_any_obj(t->shape)), x);
}

void *oc_transpose(void *x, const int64_t *axes, int64_t n) {
  return with("transpose", relay_attrs("transpose", 1, "axes", list(axes, n)), x);
}

void *oc_cast(void *x, tn_dtype t) {
  return with("cast", relay_attrs("cast", 1, "dtype", tn_any_dtype(t)), x);
}

void *oc_where(void *cond, void *x, void *y) { return relay_call("where", NULL, 3, cond, x, y); }

void *oc_reduce(const char *op, void *x, const int64_t *axes, int64_t n, bool keepdims) {
  tn_any axis = n > 0 ? list(axes, n) : tn_any_none();
  return with(op, relay_attrs(op, 2, "axis", axis, "keepdims", tn_any_bool(keepdims)), x);
}

void *oc_part(void *x, int64_t axis, int64_t begin, int64_t end) {
  return with("strided_slice",
              relay_attrs("strided_slice", 3, "begin", list(&begin, 1), "end", list(&end, 1),
                          "axes", list(&axis, 1)),
              x);
}

void *oc_take(void *x, void *index, int64_t axis) {
  void *a = relay_attrs("take", 1, "axis", tn_any_obj(tir_i32((int32_t)axis)));
  return a ? relay_call("take", a, 2, x, index) : NULL;
}

void *oc_expand_dims(void *x, int64_t axis, int64_t n) {
  return with("expand_dims",
              relay_attrs("expand_dims", 2, "axis", tn_any_int(axis), "num_newaxis", tn_any_int(n)),
              x);
}

void *oc_squeeze(void *x, int64_t axis) {
  return with("squeeze", relay_attrs("squeeze", 1, "axis", list(&axis, 1)), x);
}

void *oc_concat(tn_arr *parts, int64_t axis) {
  void *all = parts ? relay_tuple(parts) : NULL;
  return with("concatenate", relay_attrs("concatenate", 1, "axis", tn_any_int(axis)), all);
}

void *oc_count_along(tn_dtype t, int64_t n, int64_t axis, int64_t rank) {
  int64_t dims[OC_MAX_NDIM];
  TN_CHECKP(rank <= OC_MAX_NDIM && axis < rank && n >= 0 && n <= INT32_MAX, OpNotImplemented, NULL,
            "an axis of %lld elements", (long long)n);
  for (int64_t i = 0; i < rank; ++i) dims[i] = i == axis ? n : 1;
  void *from = relay_const_int(TN_I64, 0), *to = relay_const_int(TN_I64, n),
       *step = relay_const_int(TN_I64, 1);
  if (!from || !to || !step) return NULL;
  void *a = relay_attrs("arange", 4, "start", tn_any_obj(from), "stop", tn_any_obj(to), "step",
                        tn_any_obj(step), "dtype", tn_any_dtype(t));
  return a ? oc_reshape(relay_call("arange", a, 3, from, to, step), dims, rank) : NULL;
}

/* Relay rounds halves away from zero; half of the number, rounded, is half of the even one. */
void *oc_round_even(void *x, tn_dtype t) {
  void *half = relay_const_float(t, 0.5), *two = relay_const_float(t, 2);
  void *rest = oc_unary("abs", oc_binary("subtract", x, oc_unary("trunc", x)));
  void *even = oc_binary("multiply", oc_unary("round", oc_binary("multiply", x, half)), two);
  return oc_where(oc_binary("equal", rest, half), even, oc_unary("round", x));
}
