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
#define UNARY(name, element, which, level, grads, doc)                                             \
  ROW(name, element, which, level, 0, grads, doc)
#define ROW(name_, element_, which_, level_, flags_, grads_, doc_)                                 \
  {                                                                                                \
    .name = name_, .inputs = "data", .level = level_, .pattern = RELAY_ELEMWISE, .flags = flags_,  \
    .rel_name = "Identity", .rel = relay_rel_identity, .compute = ops_elementwise,                 \
    .element = element_, .shape = relay_shape_same, .which = which_, .grads = grads_, .doc = doc_  \
  }
#define FLOATS(name, grads, doc) ROW(#name, intrinsic, TIR_OP_##name, 1, RELAY_FLOATS, grads, doc)
#define ROUNDS(name, doc)        UNARY(#name, rounding, TIR_OP_##name, 3, NO_CHANGE, doc)
#define ASKS(name_, element_, doc_)                                                                \
  {                                                                                                \
    .name = name_, .inputs = "data", .level = 3, .pattern = RELAY_ELEMWISE,                        \
    .rel_name = "IdentityCompRel", .rel = identity_comp, .compute = ops_elementwise,               \
    .element = element_, .shape = relay_shape_same, .doc = doc_                                    \
  }
#define NO_CHANGE "((),)"

static const relay_op_row rows[] = {
    FLOATS(log, "(%d / %a,)", "natural logarithm of each element"),
    FLOATS(log2, "(%d / (%a * log(ones_like(%a) + ones_like(%a))),)",
           "logarithm to base 2 of each element"),
    FLOATS(log10, "(%d * log10(exp(ones_like(%a))) / %a,)", "logarithm to base 10 of each element"),
    FLOATS(exp, "(%d * %y,)", "exponential of each element"),
    FLOATS(erf,
           "(%d * exp(negative(%a * %a)) * (ones_like(%a) + ones_like(%a)) / "
           "sqrt(acos(negative(ones_like(%a)))),)",
           "Gauss error function of each element"),
    FLOATS(sqrt, "(%d / (%y + %y),)", "square root of each element"),
    FLOATS(rsqrt, "(negative(%d * %y / (%a + %a)),)", "1 / sqrt(x) of each element"),
    FLOATS(sigmoid, "(%d * %y * (ones_like(%y) - %y),)", "1 / (1 + exp(-x)) of each element"),
    FLOATS(sin, "(%d * cos(%a),)", "sine of each element, in radians"),
    FLOATS(cos, "(negative(%d * sin(%a)),)", "cosine of each element, in radians"),
    FLOATS(tan, "(%d * (ones_like(%y) + %y * %y),)", "tangent of each element, in radians"),
    FLOATS(sinh, "(%d * cosh(%a),)", "hyperbolic sine of each element"),
    FLOATS(cosh, "(%d * sinh(%a),)", "hyperbolic cosine of each element"),
    FLOATS(tanh, "(%d * (ones_like(%y) - %y * %y),)", "hyperbolic tangent of each element"),
    FLOATS(asin, "(%d * rsqrt(ones_like(%a) - %a * %a),)", "inverse sine of each element"),
    FLOATS(acos, "(negative(%d * rsqrt(ones_like(%a) - %a * %a)),)",
           "inverse cosine of each element"),
    FLOATS(atan, "(%d / (ones_like(%a) + %a * %a),)", "inverse tangent of each element"),
    FLOATS(asinh, "(%d * rsqrt(%a * %a + ones_like(%a)),)",
           "inverse hyperbolic sine of each element"),
    FLOATS(acosh, "(%d * rsqrt(%a * %a - ones_like(%a)),)",
           "inverse hyperbolic cosine of each element"),
    FLOATS(atanh, "(%d / (ones_like(%a) - %a * %a),)",
           "inverse hyperbolic tangent of each element"),
    ROUNDS(floor, "each element rounded down"),
    ROUNDS(ceil, "each element rounded up"),
    ROUNDS(trunc, "each element rounded toward zero"),
    ROUNDS(round, "each element rounded to the nearest integer, halves away from zero"),
    UNARY("abs", absolute, 0, 3, "(%d * sign(%a),)", "absolute value of each element"),
    UNARY("sign", sign, 0, 3, NO_CHANGE,
          "-1, 0 or 1 as each element is negative, zero or positive; NaN of NaN"),
    UNARY("negative", negative, 0, 3, "(negative(%d),)", "each element with the other sign"),
    UNARY("copy", same, 0, 3, "(%d,)", "the tensor itself, in its own memory"),
    ROW("logical_not", logical_not, 0, 4, RELAY_BOOLS, NULL,
        "not x of each element of a bool tensor"),
    UNARY("bitwise_not", bitwise_not, 0, 4, NULL, "complement of the bits of each element"),
    UNARY("zeros_like", zero, 0, 4, NO_CHANGE, "zeros of the shape and type of the tensor"),
    UNARY("ones_like", one, 0, 4, NO_CHANGE, "ones of the shape and type of the tensor"),
    UNARY("nn.relu", relu, 0, 1, "(where(greater(%a, zeros_like(%a)), %d, zeros_like(%d)),)",
          "max(x, 0) of each element"),
    ASKS("isnan", is_nan, "is each element not a number?"),
    ASKS("isinf", is_inf, "is each element infinite?"),
    ASKS("isfinite", is_finite, "is each element neither infinite nor not a number?"),
};

RELAY_FAMILY_PLAIN(unary)
