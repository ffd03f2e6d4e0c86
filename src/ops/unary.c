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
  return tir_select(tir_gt(x, zero_), one_, minus, NULL);
}

/* ---- relations ---- */

/* The shape of the argument, of type bool. */
static int identity_comp(relay_rel *r) {
  RELAY_TENSOR(t, r, 0);
  return relay_rel_result(r, relay_tensor_type(t->shape, TN_BOOL1));
}

/* ---- rows ---- */

#define UNARY(name_, element_, which_, level_, doc_)                                               \
  {.name = name_,                                                                                  \
   .inputs = "data",                                                                               \
   .level = level_,                                                                                \
   .pattern = RELAY_ELEMWISE,                                                                      \
   .rel_name = "Identity",                                                                         \
   .rel = relay_rel_identity,                                                                      \
   .compute = ops_elementwise,                                                                     \
   .element = element_,                                                                            \
   .shape = relay_shape_same,                                                                      \
   .which = which_,                                                                                \
   .doc = doc_},
#define FLOATS(name, doc)        UNARY(#name, intrinsic, TIR_OP_##name, 1, doc)
#define ROUNDS(name, level, doc) UNARY(#name, rounding, TIR_OP_##name, level, doc)
#define ASKS(name_, element_, doc_)                                                                \
  {.name = name_,                                                                                  \
   .inputs = "data",                                                                               \
   .level = 3,                                                                                     \
   .pattern = RELAY_ELEMWISE,                                                                      \
   .rel_name = "IdentityCompRel",                                                                  \
   .rel = identity_comp,                                                                           \
   .compute = ops_elementwise,                                                                     \
   .element = element_,                                                                            \
   .shape = relay_shape_same,                                                                      \
   .doc = doc_},

static const relay_op_row rows[] = {
    FLOATS(log, "natural logarithm of each element") FLOATS(
        log2, "logarithm to base 2 of each element") FLOATS(log10,
                                                            "logarithm to base 10 of each element")
        FLOATS(exp, "exponential of each element") FLOATS(
            erf, "Gauss error function of each element") FLOATS(sqrt, "square root of each element")
            FLOATS(rsqrt, "1 / sqrt(x) of each element") FLOATS(
                sigmoid,
                "1 / (1 + exp(-x)) of each element") FLOATS(sin, "sine of each element, in radians")
                FLOATS(cos, "cosine of each element, in radians") FLOATS(
                    tan,
                    "tangent of each element, in radians") FLOATS(sinh,
                                                                  "hyperbolic sine of each element")
                    FLOATS(cosh, "hyperbolic cosine of each element") FLOATS(
                        tanh,
                        "hyperbolic tangent of each element") FLOATS(asin,
                                                                     "inverse sine of each element")
                        FLOATS(acos, "inverse cosine of each element") FLOATS(
                            atan, "inverse tangent of each element")
                            FLOATS(asinh, "inverse hyperbolic sine of each element") FLOATS(
                                acosh, "inverse hyperbolic cosine of each element")
                                FLOATS(atanh, "inverse hyperbolic tangent of each element") ROUNDS(
                                    floor, 3,
                                    "each element rounded down") ROUNDS(ceil, 3,
                                                                        "each element rounded up")
                                    ROUNDS(trunc, 3, "each element rounded toward zero") ROUNDS(
                                        round, 3,
                                        "each element rounded to the nearest integer, halves away "
                                        "from zero") UNARY("abs", absolute, 0, 3,
                                                           "absolute value of each element")
                                        UNARY("sign", sign, 0, 3,
                                              "-1, 0 or 1 as each element is negative, zero or "
                                              "positive") UNARY("negative", negative, 0, 3,
                                                                "each element with the other sign")
                                            UNARY("copy", same, 0, 3,
                                                  "the tensor itself, in memory of its own")
                                                UNARY("logical_not", logical_not, 0, 4,
                                                      "not x of each element of a bool "
                                                      "tensor") UNARY("bitwise_not", bitwise_not, 0,
                                                                      4,
                                                                      "complement of the "
                                                                      "bits of each element")
                                                    UNARY("zeros_like", zero, 0, 4,
                                                          "zeros of the shape and type of "
                                                          "the tensor")
                                                        UNARY("ones_like", one, 0, 4,
                                                              "ones of the shape and type "
                                                              "of the tensor")
                                                            UNARY("nn.relu", relu, 0, 1,
                                                                  "max(x, 0) of each element")
                                                                ASKS("isnan", is_nan,
                                                                     "is each element not "
                                                                     "a number?")
                                                                    ASKS("isinf", is_inf,
                                                                         "is each element "
                                                                         "infinite?")
                                                                        ASKS("isfinite", is_finite,
                                                                             "is each "
                                                                             "element "
                                                                             "neither "
                                                                             "infinite nor "
                                                                             "not a "
                                                                             "number?")};

RELAY_FAMILY_PLAIN(unary)
