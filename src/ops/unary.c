/* Operators of one tensor, element by element: one row each.

     %1 = exp(%0)        Tensor[(2, 3), float32] -> Tensor[(2, 3), float32] */
#include "ir/imm.h"
#include "ops/ops.h"

/* ---- values ---- */

/* An intrinsic of floats: row->which is its number. */
static tn_expr *intrinsic(const relay_op_row *row, const void *attrs, tn_expr *const *x) {
  (void)attrs;
  return tir_call(x[0]->dtype, (tir_op_id)row->which, 1, x[0]);
}

/* Rounding: integers stay as they are. */
static tn_expr *rounding(const relay_op_row *row, const void *attrs, tn_expr *const *x) {
  (void)attrs;
  return tir_rounding((tir_op_id)row->which, x[0], NULL);
}

#define ELEMENT(name, expression)                                                                  \
  static tn_expr *name(const relay_op_row *row, const void *attrs, tn_expr *const *args) {         \
    (void)row, (void)attrs;                                                                        \
    tn_expr *x = args[0];                                                                          \
    return expression;                                                                             \
  }
ELEMENT(absolute, tir_abs(x, NULL))
ELEMENT(negative, tir_neg(x, NULL))
ELEMENT(same, x)
ELEMENT(logical_not, tir_not(tir_cast(TN_BOOL1, x, NULL), NULL))
ELEMENT(bitwise_not, tir_bitwise_not(x, NULL))
ELEMENT(relu, tir_max(x, tir_zero(x->dtype)))
ELEMENT(zero, tir_zero(x->dtype))
ELEMENT(one, tir_one(x->dtype))
ELEMENT(is_nan, tir_isnan(x, NULL))
ELEMENT(is_inf, tir_isinf(x, NULL))
ELEMENT(is_finite, tir_isfinite(x, NULL))
#undef ELEMENT

static tn_expr *sign(const relay_op_row *row, const void *attrs, tn_expr *const *args) {
  (void)row, (void)attrs;
  tn_expr *x = args[0], *zero_ = tir_zero(x->dtype), *one_ = tir_one(x->dtype);
  tn_expr *minus = tir_select(tir_lt(x, zero_), tir_neg(one_, NULL), zero_, NULL);
  if (ir_is_uint(x->dtype)) minus = zero_;
  tn_expr *r = tir_select(tir_gt(x, zero_), one_, minus, NULL);
  return ir_is_integral(x->dtype) ? r : tir_select(tir_ne(x, x), x, r, NULL);
}

/* ---- relations ---- */

/* The shape of the argument, of type bool. */
static int identity_comp(relay_rel *r) {
  RELAY_TENSOR(t, r, 0);
  return relay_rel_result(r, relay_tensor_type(t->shape, TN_BOOL1));
}

/* ---- rows ---- */

/* Constants in a rule have the type of the argument: they are made by ones_like and the like. */
#define UNARY(name, element, which, level, grads, ...)                                             \
  ROW(name, element, which, level, 0, grads, __VA_ARGS__)
#define ROW(name_, element_, which_, level_, flags_, grads_, ...)                                  \
  {                                                                                                \
    .name = name_, .inputs = "data", .level = level_, .pattern = RELAY_ELEMWISE, .flags = flags_,  \
    .rel_name = "Identity", .rel = relay_rel_identity, .compute = ops_elementwise,                 \
    .element = element_, .shape = relay_shape_same, .which = which_, .grads = grads_,              \
    .doc = __VA_ARGS__                                                                             \
  }
#define FLOATS(name, grads, ...)                                                                   \
  ROW(#name, intrinsic, TIR_OP_##name, 1, RELAY_FLOATS, grads, __VA_ARGS__)
#define ROUNDS(name, ...) UNARY(#name, rounding, TIR_OP_##name, 3, NO_CHANGE, __VA_ARGS__)
#define ASKS(name_, element_, ...)                                                                 \
  {                                                                                                \
    .name = name_, .inputs = "data", .level = 3, .pattern = RELAY_ELEMWISE,                        \
    .rel_name = "IdentityCompRel", .rel = identity_comp, .compute = ops_elementwise,               \
    .element = element_, .shape = relay_shape_same, .doc = __VA_ARGS__                             \
  }
#define NO_CHANGE "((),)"

static const relay_op_row rows[] = {
    FLOATS(log, "(%d / %a,)", "natural logarithm of each element", .precision = RELAY_FULL,
           .scaling = RELAY_SCALES_NOT, .range = RELAY_UNBOUNDED, .quantized = "qnn.log"),
    FLOATS(log2, "(%d / (%a * log(ones_like(%a) + ones_like(%a))),)",
           "logarithm to base 2 of each element", .precision = RELAY_FULL,
           .scaling = RELAY_SCALES_NOT, .range = RELAY_UNBOUNDED),
    FLOATS(log10, "(%d * log10(exp(ones_like(%a))) / %a,)", "logarithm to base 10 of each element",
           .precision = RELAY_FULL, .scaling = RELAY_SCALES_NOT, .range = RELAY_UNBOUNDED),
    FLOATS(exp, "(%d * %y,)", "exponential of each element", .precision = RELAY_FULL,
           .scaling = RELAY_SCALES_NOT, .range = RELAY_UNBOUNDED, .quantized = "qnn.exp",
           .fast = "fast_exp"),
    FLOATS(erf,
           "(%d * exp(negative(%a * %a)) * (ones_like(%a) + ones_like(%a)) / "
           "sqrt(acos(negative(ones_like(%a)))),)",
           "Gauss error function of each element", .precision = RELAY_FULL,
           .scaling = RELAY_SCALES_NOT, .range = RELAY_FINITE, .quantized = "qnn.erf",
           .fast = "fast_erf"),
    FLOATS(sqrt, "(%d / (%y + %y),)", "square root of each element", .precision = RELAY_FULL,
           .scaling = RELAY_SCALES_NOT, .range = RELAY_UNBOUNDED, .quantized = "qnn.sqrt"),
    FLOATS(rsqrt, "(negative(%d * %y / (%a + %a)),)", "1 / sqrt(x) of each element",
           .precision = RELAY_FULL, .scaling = RELAY_SCALES_NOT, .range = RELAY_UNBOUNDED,
           .quantized = "qnn.rsqrt"),
    FLOATS(sigmoid, "(%d * %y * (ones_like(%y) - %y),)", "1 / (1 + exp(-x)) of each element",
           .precision = RELAY_FOLLOWS, .scaling = RELAY_SCALES_NOT, .range = RELAY_FINITE,
           .quantized = "qnn.sigmoid"),
    FLOATS(sin, "(%d * cos(%a),)", "sine of each element, in radians", .precision = RELAY_FULL,
           .scaling = RELAY_SCALES_NOT, .range = RELAY_FINITE),
    FLOATS(cos, "(negative(%d * sin(%a)),)", "cosine of each element, in radians",
           .precision = RELAY_FULL, .scaling = RELAY_SCALES_NOT, .range = RELAY_FINITE),
    FLOATS(tan, "(%d * (ones_like(%y) + %y * %y),)", "tangent of each element, in radians",
           .precision = RELAY_FULL, .scaling = RELAY_SCALES_NOT, .range = RELAY_UNBOUNDED),
    FLOATS(sinh, "(%d * cosh(%a),)", "hyperbolic sine of each element", .precision = RELAY_FULL,
           .scaling = RELAY_SCALES_NOT, .range = RELAY_UNBOUNDED),
    FLOATS(cosh, "(%d * sinh(%a),)", "hyperbolic cosine of each element", .precision = RELAY_FULL,
           .scaling = RELAY_SCALES_NOT, .range = RELAY_UNBOUNDED),
    FLOATS(tanh, "(%d * (ones_like(%y) - %y * %y),)", "hyperbolic tangent of each element",
           .precision = RELAY_FOLLOWS, .scaling = RELAY_SCALES_NOT, .range = RELAY_FINITE,
           .quantized = "qnn.tanh", .fast = "fast_tanh"),
    FLOATS(asin, "(%d * rsqrt(ones_like(%a) - %a * %a),)", "inverse sine of each element",
           .precision = RELAY_FULL, .scaling = RELAY_SCALES_NOT, .range = RELAY_UNBOUNDED),
    FLOATS(acos, "(negative(%d * rsqrt(ones_like(%a) - %a * %a)),)",
           "inverse cosine of each element", .precision = RELAY_FULL, .scaling = RELAY_SCALES_NOT,
           .range = RELAY_UNBOUNDED),
    FLOATS(atan, "(%d / (ones_like(%a) + %a * %a),)", "inverse tangent of each element",
           .precision = RELAY_FULL, .scaling = RELAY_SCALES_NOT, .range = RELAY_FINITE),
    FLOATS(asinh, "(%d * rsqrt(%a * %a + ones_like(%a)),)",
           "inverse hyperbolic sine of each element", .scaling = RELAY_SCALES_NOT,
           .range = RELAY_FINITE),
    FLOATS(acosh, "(%d * rsqrt(%a * %a - ones_like(%a)),)",
           "inverse hyperbolic cosine of each element", .scaling = RELAY_SCALES_NOT,
           .range = RELAY_UNBOUNDED),
    FLOATS(atanh, "(%d / (ones_like(%a) - %a * %a),)", "inverse hyperbolic tangent of each element",
           .scaling = RELAY_SCALES_NOT, .range = RELAY_UNBOUNDED),
    ROUNDS(floor, "each element rounded down", .precision = RELAY_FOLLOWS,
           .scaling = RELAY_SCALES_NOT, .range = RELAY_FINITE),
    ROUNDS(ceil, "each element rounded up", .precision = RELAY_FOLLOWS, .scaling = RELAY_SCALES_NOT,
           .range = RELAY_FINITE),
    ROUNDS(trunc, "each element rounded toward zero", .precision = RELAY_FOLLOWS,
           .scaling = RELAY_SCALES_NOT, .range = RELAY_FINITE),
    ROUNDS(round, "each element rounded to the nearest integer, halves away from zero",
           .precision = RELAY_FOLLOWS, .scaling = RELAY_SCALES_NOT, .range = RELAY_FINITE),
    UNARY("abs", absolute, 0, 3, "(%d * sign(%a),)", "absolute value of each element",
          .precision = RELAY_FOLLOWS, .scaling = RELAY_SCALES_POSITIVE, .range = RELAY_FINITE,
          .quantized = "qnn.abs"),
    UNARY("sign", sign, 0, 3, NO_CHANGE,
          "-1, 0 or 1 as each element is negative, zero or positive; NaN of NaN",
          .scaling = RELAY_SCALES_NOT, .range = RELAY_FINITE),
    UNARY("negative", negative, 0, 3, "(negative(%d),)", "each element with the other sign",
          .precision = RELAY_FOLLOWS, .scaling = RELAY_SCALES, .range = RELAY_FINITE),
    UNARY("copy", same, 0, 3, "(%d,)", "the tensor itself, in its own memory",
          .precision = RELAY_FOLLOWS, .values = RELAY_MOVED, .scaling = RELAY_SCALES,
          .range = RELAY_FINITE),
    ROW("logical_not", logical_not, 0, 4, RELAY_BOOLS, NULL,
        "not x of each element of a bool tensor", .scaling = RELAY_SCALES_NOT,
        .range = RELAY_FINITE),
    UNARY("bitwise_not", bitwise_not, 0, 4, NULL, "complement of the bits of each element",
          .scaling = RELAY_SCALES_NOT, .range = RELAY_FINITE),
    UNARY("zeros_like", zero, 0, 4, NO_CHANGE, "zeros of the shape and type of the tensor",
          .precision = RELAY_FOLLOWS, .values = RELAY_FROM_SHAPE, .scaling = RELAY_SCALES_NOT,
          .range = RELAY_FINITE),
    UNARY("ones_like", one, 0, 4, NO_CHANGE, "ones of the shape and type of the tensor",
          .precision = RELAY_FOLLOWS, .values = RELAY_FROM_SHAPE, .scaling = RELAY_SCALES_NOT,
          .range = RELAY_FINITE),
    UNARY("nn.relu", relu, 0, 1, "(where(greater(%a, zeros_like(%a)), %d, zeros_like(%d)),)",
          "max(x, 0) of each element", .precision = RELAY_FOLLOWS, .scaling = RELAY_SCALES_POSITIVE,
          .range = RELAY_FINITE),
    ASKS("isnan", is_nan, "is each element not a number?", .scaling = RELAY_SCALES_NOT,
         .range = RELAY_FINITE),
    ASKS("isinf", is_inf, "is each element infinite?", .scaling = RELAY_SCALES_NOT,
         .range = RELAY_FINITE),
    ASKS("isfinite", is_finite, "is each element neither infinite nor not a number?",
         .scaling = RELAY_SCALES_NOT, .range = RELAY_FINITE),
};

RELAY_FAMILY_PLAIN(unary)
