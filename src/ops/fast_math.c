/* Operators that compute well-known functions faster and less exactly, float32 only: other types
   get the exact function. Formulas: Cephes' expf, and quotients of polynomials for tanh and erf.

     fast_exp(%x)        Tensor[(2, 3), float32] -> Tensor[(2, 3), float32] */
#include "ir/imm.h"
#include "ops/ops.h"

static bool is_f32(const tn_expr *x) { return tn_dtype_eq(x->dtype, TN_F32); }

static tn_expr *clamp(tn_expr *x, double limit) {
  return tir_max(tir_min(x, tir_f32(limit)), tir_f32(-limit));
}

/* a[0] * x^(n-1) + ... + a[n-1] */
static tn_expr *polynomial(tn_expr *x, const double *a, int n) {
  tn_expr *y = tir_f32(a[0]);
  for (int i = 1; i < n; ++i) y = tir_add(tir_mul(y, x), tir_f32(a[i]));
  return y;
}

/* 2^n from the bits of a float, for n from -126 to 127 */
static tn_expr *power_of_two(tn_expr *n) {
  return tir_reinterpret(TN_F32, tir_mul(tir_add(n, tir_i32(127)), tir_i32(1 << 23)), NULL);
}

/* e^x = 2^n * e^r with n = round(x / ln 2), |r| <= ln 2 / 2. 2^n is a product of two powers, so
   that results reach infinity and 0. */
static tn_expr *fast_exp(const relay_op_row *row, const void *attrs, tn_expr *const *args) {
  static const double p[] = {1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3,
                             4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1};
  (void)row, (void)attrs;
  if (!is_f32(args[0])) return tir_call(args[0]->dtype, TIR_OP_exp, 1, args[0]);
  tn_expr *x = clamp(args[0], 104);
  tn_expr *n = tir_rounding(TIR_OP_floor,
                            tir_add(tir_mul(x, tir_f32(1.44269504088896341)), tir_f32(0.5)), NULL);
  tn_expr *r = tir_sub(x, tir_mul(n, tir_f32(0.6931471805599453)));
  tn_expr *y = tir_add(tir_add(tir_mul(tir_mul(polynomial(r, p, 6), r), r), r), tir_f32(1));
  tn_expr *whole = tir_cast(TN_I32, n, NULL), *half = tir_floordiv(whole, tir_i32(2));
  return tir_mul(tir_mul(y, power_of_two(half)), power_of_two(tir_sub(whole, half)));
}

/* x * p(x^2) / q(x^2) for |x| <= limit, beyond which the function hardly changes */
static tn_expr *odd_quotient(tn_expr *arg, double limit, const double *p, int np, const double *q,
                             int nq) {
  tn_expr *x = clamp(arg, limit), *square = tir_mul(x, x);
  return tir_div(tir_mul(x, polynomial(square, p, np)), polynomial(square, q, nq));
}

static tn_expr *fast_tanh(const relay_op_row *row, const void *attrs, tn_expr *const *args) {
  static const double p[] = {-2.76076847742355e-16, 2.00018790482477e-13, -8.60467152213735e-11,
                             5.12229709037114e-08,  1.48572235717979e-05, 6.37261928875436e-04,
                             4.89352455891786e-03},
                      q[] = {1.19825839466702e-06, 1.18534705686654e-04, 2.26843463243900e-03,
                             4.89352518554385e-03};
  (void)row, (void)attrs;
  if (!is_f32(args[0])) return tir_call(args[0]->dtype, TIR_OP_tanh, 1, args[0]);
  return odd_quotient(args[0], 9, p, TN_COUNT(p), q, TN_COUNT(q));
}

static tn_expr *fast_erf(const relay_op_row *row, const void *attrs, tn_expr *const *args) {
  static const double p[] = {-2.72614225801306e-10, 2.77068142495902e-08,  -2.10102402082508e-06,
                             -5.69250639462346e-05, -7.34990630326855e-04, -2.95459980854025e-03,
                             -1.60960333262415e-02},
                      q[] = {-1.45660718464996e-05, -2.13374055278905e-04, -1.68282697438203e-03,
                             -7.37332916720468e-03, -1.42647390514189e-02};
  (void)row, (void)attrs;
  if (!is_f32(args[0])) return tir_call(args[0]->dtype, TIR_OP_erf, 1, args[0]);
  return odd_quotient(args[0], 4, p, TN_COUNT(p), q, TN_COUNT(q));
}

#define FAST(name_, element_, ...)                                                                 \
  {                                                                                                \
    .name = name_, .inputs = "data", .level = 1, .pattern = RELAY_ELEMWISE, .flags = RELAY_FLOATS, \
    .rel_name = "Identity", .rel = relay_rel_identity, .compute = ops_elementwise,                 \
    .element = element_, .shape = relay_shape_same, .doc = __VA_ARGS__                             \
  }

static const relay_op_row rows[] = {
    FAST("fast_exp", fast_exp, "exponential of each element, relative error below 1e-5",
         .precision = RELAY_FOLLOWS, .scaling = RELAY_SCALES_NOT, .range = RELAY_UNBOUNDED),
    FAST("fast_tanh", fast_tanh, "hyperbolic tangent of each element, error below 1e-5",
         .precision = RELAY_FOLLOWS, .scaling = RELAY_SCALES_NOT, .range = RELAY_FINITE),
    FAST("fast_erf", fast_erf, "Gauss error function of each element, error below 1e-4",
         .precision = RELAY_FOLLOWS, .scaling = RELAY_SCALES_NOT, .range = RELAY_FINITE),
};

RELAY_FAMILY_PLAIN(fast_math)
