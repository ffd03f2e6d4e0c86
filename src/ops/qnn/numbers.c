/* Arithmetic that quantized operators share, see qnn.h. */
#include <math.h>

#include "base/alloc.h"
#include "base/error.h"
#include "kernels/layout_choice.h"
#include "ops/ops.h"
#include "ops/qnn.h"
#include "relay/expr/call_builder.h"
#include "relay/expr/expr_info.h"

/* ---- factors in fixed point ---- */

enum {
  FIXED_BITS = 31,  /* of a factor */
  MAX_SHIFT = 62,   /* a product of 64 bits is shifted right by so much at most */
  SHARED_SPREAD = 8 /* factors that differ by less than 2**8 share an exponent: more than 23 bits
                       of the smallest are left, as many as a float has */
};

/* |factor| * 2**-exponent as an integer below 2**31. */
static int64_t mantissa(double factor, int exponent) {
  return (int64_t)llround(ldexp(factor, FIXED_BITS - exponent));
}

/* The exponent e with factor < 2**e that leaves a shift in range; INT_MIN: the factor cannot be. */
static int exponent_of(double factor) {
  int e;
  if (!isfinite(factor) || factor <= 0) return INT32_MIN;
  (void)frexp(factor, &e);
  if (mantissa(factor, e) > INT32_MAX) ++e;
  return e < FIXED_BITS - MAX_SHIFT ? FIXED_BITS - MAX_SHIFT : e;
}

static void *between(void *x, double most) {
  void *a = relay_attrs("clip", 2, "a_min", tn_any_float(-most), "a_max", tn_any_float(most));
  return a && x ? relay_call("clip", a, 1, x) : NULL;
}

/* Numbers so large that the product would leave int32 are cut off before: the result is the same
   once it is cut off for its own type. */
static void *limited(void *x, double factor, double bound) {
  double most = floor(ldexp(1, 30) / factor);
  return factor <= 1 || bound <= most ? x : between(x, most);
}

static void *scaled_by_one(void *x, double factor) {
  int e = exponent_of(factor);
  if (factor == 1) return x;
  void *a = relay_attrs("fixed_point_multiply", 2, "multiplier", tn_any_int(mantissa(factor, e)),
                        "shift", tn_any_int(e));
  return a && x ? relay_call("fixed_point_multiply", a, 1, x) : NULL;
}

/* Tables of factors, and of shifts unless one serves all. */
static void *scaled_by_each(void *x, const double *factor, int64_t n, int most, int least,
                            int64_t rank, int64_t axis) {
  bool shared = most - least <= SHARED_SPREAD;
  TN_AUTOFREE int64_t *m = tn_alloc_zero((size_t)n, 2 * sizeof *m);
  if (!m) return NULL;
  for (int64_t i = 0; i < n; ++i) {
    int e = shared ? most : exponent_of(factor[i]);
    m[i] = mantissa(factor[i], e);
    m[n + i] = FIXED_BITS - e;
  }
  void *by = qnn_along(relay_const_ints(TN_I32, m, n), rank, axis);
  void *shift = shared ? (void *)relay_const_int(TN_I32, FIXED_BITS - most)
                       : qnn_along(relay_const_ints(TN_I32, m + n, n), rank, axis);
  return x && by && shift ? relay_call("fixed_point_scale", NULL, 3, x, by, shift) : NULL;
}

static void *scaled_by_floats(void *x, const double *factor, int64_t n, int64_t rank,
                              int64_t axis) {
  if (n == 1 && factor[0] == 1) return x;
  void *by = n == 1 ? (void *)relay_const_float(TN_F32, factor[0])
                    : qnn_along(relay_const_floats(factor, n), rank, axis);
  return x && by ? relay_call("float_scale", NULL, 2, x, by) : NULL;
}

bool qnn_has_floats(void) {
  target_machine m;
  return kernels_machine(&m);
}

void *qnn_scaled(void *x, double bound, const double *factor, int64_t n, int64_t rank, int64_t axis,
                 bool floats) {
  int most = INT32_MIN, least = INT32_MAX;
  double largest = 0;
  for (int64_t i = 0; i < n; ++i) {
    int e = exponent_of(factor[i]);
    TN_CHECKP(e != INT32_MIN && e <= 30, ValueError, NULL,
              "the quotient of the scales is %g: expected one above 0 and below 2^30, as scales of "
              "quantized tensors are above 0",
              factor[i]);
    most = e > most ? e : most;
    least = e < least ? e : least;
    largest = fmax(largest, factor[i]);
  }
  x = limited(x, largest, bound);
  if (floats) return scaled_by_floats(x, factor, n, rank, axis);
  return n == 1 ? scaled_by_one(x, factor[0])
                : scaled_by_each(x, factor, n, most, least, rank, axis);
}

/* ---- small expressions ---- */

bool qnn_is_zero(const void *e) {
  double x;
  return relay_uniform(e, &x) && x == 0;
}

void *qnn_along(void *numbers, int64_t rank, int64_t axis) {
  const tn_TensorType *t = relay_known_type(numbers);
  if (!t) return tn_error_pending() ? NULL : numbers;
  if (t->shape->len == 0) return numbers;
  if (relay_dim_is(relay_dim(t, 0), 1) == 1) return relay_reshape(numbers, relay_ints(NULL, 0));
  return relay_spread(numbers, rank - axis - 1);
}

void *qnn_wide_zero(void *zero, int64_t rank, int64_t axis) {
  double z;
  if (relay_uniform(zero, &z)) return relay_const_float(TN_I32, z);
  return relay_cast(qnn_along(zero, rank, axis), TN_I32);
}

void *qnn_saturated(void *x, tn_dtype t) {
  if (ir_is_int(t) && t.bits == 32) return relay_cast(x, t);
  double n = ldexp(1, t.bits), low = ir_is_uint(t) ? 0 : -n / 2;
  void *a = relay_attrs("clip", 2, "a_min", tn_any_float(low), "a_max", tn_any_float(low + n - 1));
  return a && x ? relay_cast(relay_call("clip", a, 1, x), t) : NULL;
}

void *qnn_centered(void *x, const tn_TensorType *t, void *zero, int64_t axis) {
  if (!tn_dtype_eq(t->dtype, TN_I32)) x = relay_cast(x, TN_I32);
  if (!x || !zero || qnn_is_zero(zero)) return x;
  return relay_binary("subtract", x, qnn_wide_zero(zero, t->shape->len, axis));
}

void *qnn_dequantized(void *x, const qnn_quantum *q) {
  void *a = relay_attrs("qnn.dequantize", 1, "axis", tn_any_int(q->axis));
  return a && x ? relay_call("qnn.dequantize", a, 3, x, q->scale, q->zero) : NULL;
}

void *qnn_quantized(void *x, const qnn_quantum *q, tn_dtype to) {
  void *a =
      relay_attrs("qnn.quantize", 2, "axis", tn_any_int(q->axis), "out_dtype", tn_any_dtype(to));
  return a && x ? relay_call("qnn.quantize", a, 3, x, q->scale, q->zero) : NULL;
}

/* ---- requantize ---- */

/* Factors a / b, which are numbers or along the same axis. @return how many, 0: not constant, -1 */
static int64_t quotients(const void *a, const void *b, double **out) {
  TN_AUTOFREE double *y = NULL;
  int64_t n = 0, m = 0;
  int r = relay_const_numbers(a, out, &n);
  if (r <= 0) return r;
  r = relay_const_numbers(b, &y, &m);
  if (r <= 0 || m != 1 || n == 0) {
    tn_free(*out);
    *out = NULL;
    return r < 0 ? -1 : 0;
  }
  for (int64_t i = 0; i < n; ++i) (*out)[i] = (float)((*out)[i] / y[0]); /* as floats divide */
  return n;
}

/* May products with int32 be so large that adding a zero point overflows? Factors beyond 1 have
   limits (limited). */
static bool may_fill_int32(const double *factor, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    if (factor[i] > 0.5 && factor[i] <= 1) return true;
  return false;
}

void *qnn_requantized(void *x, const tn_TensorType *t, const qnn_quantum *in,
                      const qnn_quantum *out, tn_dtype to, bool floats) {
  TN_AUTOFREE double *factor = NULL;
  int64_t n = quotients(in->scale, out->scale, &factor);
  if (n < 0) return NULL;
  if (n == 0) return qnn_quantized(qnn_dequantized(x, in), out, to);
  x = qnn_centered(x, t, in->zero, in->axis);
  x = qnn_scaled(x, ldexp(1, t->dtype.bits < 32 ? t->dtype.bits + 1 : 32), factor, n, t->shape->len,
                 in->axis, floats);
  if (!qnn_is_zero(out->zero)) {
    if (t->dtype.bits == 32 && to.bits < 32 && may_fill_int32(factor, n))
      x = between(x, ldexp(1, 30)); /* far beyond what `to` has */
    x = relay_binary("add", x, qnn_wide_zero(out->zero, t->shape->len, out->axis));
  }
  return qnn_saturated(x, to);
}
