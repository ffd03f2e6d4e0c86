/* Rules of SimplifyExpr for sums, products and tensors of one number (see simplify.h). */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "ir/imm.h"
#include "object/functions.h"
#include "relay/expr/call_builder.h"
#include "relay/expr/expr_info.h"
#include "relay/transforms/simplify.h"

static bool is(const tn_RelayCall *c, const char *op) { return relay_as_call(c, op) != NULL; }

/* ---- neutral elements ---- */

/* Is every element of `e` the number? */
static bool is_all(const void *e, double number) {
  double x;
  if (relay_uniform(e, &x)) return x == number;
  const char *op = relay_called_op(e);
  if (!op) return false;
  if (strcmp(op, "ones") == 0 || strcmp(op, "ones_like") == 0) return number == 1;
  if (strcmp(op, "zeros") == 0 || strcmp(op, "zeros_like") == 0) return number == 0;
  if (strcmp(op, "full") == 0)
    return relay_uniform(relay_arg(TN_AS(RelayCall, e), 0), &x) && x == number;
  return false;
}

/* x - 0, x * 1, 1 * x, x / 1. The difference of x and -0.0 is another one. */
static relay_expr *drop_neutral(const tn_RelayCall *c) {
  double x, neutral = is(c, "subtract") ? 0 : 1;
  relay_expr *a = relay_arg(c, 0), *b = relay_arg(c, 1);
  bool negative = relay_uniform(b, &x) && signbit(x);
  if (is_all(b, neutral) && !negative && relay_same_type(a, c)) return a;
  return is(c, "multiply") && is_all(a, neutral) && relay_same_type(b, c) ? b : NULL;
}

/* x + 0, 0 + x: 0 where x is -0.0 */
static relay_expr *drop_zero(const tn_RelayCall *c) {
  relay_expr *a = relay_arg(c, 0), *b = relay_arg(c, 1);
  if (is_all(b, 0) && relay_same_type(a, c)) return a;
  return is_all(a, 0) && relay_same_type(b, c) ? b : NULL;
}

/* ---- tensors of one number ---- */

/* The number that a call fills its result with, as a scalar of the result's type; NULL: no fill. */
static void *fill_value(const void *e) {
  const tn_RelayCall *c = TN_AS(RelayCall, e);
  const char *op = relay_called_op(e);
  const tn_TensorType *t = c && op ? relay_known_type(e) : NULL;
  if (!t) return NULL;
  if (strcmp(op, "ones") == 0 || strcmp(op, "ones_like") == 0) return relay_const_int(t->dtype, 1);
  if (strcmp(op, "zeros") == 0 || strcmp(op, "zeros_like") == 0)
    return relay_const_int(t->dtype, 0);
  bool like = strcmp(op, "full_like") == 0;
  if (!like && strcmp(op, "full") != 0) return NULL;
  void *value = relay_arg(c, like ? 1 : 0);
  const tn_TensorType *own = relay_known_type(value);
  if (!own || own->shape->len != 0) return NULL;
  return tn_dtype_eq(own->dtype, t->dtype) ? value : relay_cast(value, t->dtype);
}

/* A fill that is broadcast into the other operand: the number alone will do. */
static relay_expr *fill_to_scalar(const tn_RelayCall *c) {
  relay_expr *a = relay_arg(c, 0), *b = relay_arg(c, 1);
  const char *op = relay_called_op(c);
  void *value = relay_same_type(a, c) ? fill_value(b) : NULL;
  if (value) return relay_binary(op, a, value);
  if (tn_error_pending()) return NULL;
  value = relay_same_type(b, c) ? fill_value(a) : NULL;
  return value ? relay_binary(op, value, b) : NULL;
}

/* ---- constants come together, as far as they are moderate ---- */

/* Splits a sum or product with one constant operand, a moderate one. */
static bool split_constant(const void *e, const char *op, relay_expr **rest,
                           relay_expr **constant) {
  const tn_RelayCall *c = relay_as_call(e, op);
  if (!c) return false;
  bool first = TN_AS(Constant, relay_arg(c, 0)) != NULL;
  *constant = relay_arg(c, first ? 0 : 1);
  *rest = relay_arg(c, first ? 1 : 0);
  return TN_AS(Constant, *constant) && !TN_AS(Constant, *rest) && relay_is_moderate(*constant);
}

/* (x + a) + b -> x + (a + b), and the same for products */
static relay_expr *join_constants(const tn_RelayCall *c) {
  relay_expr *inner, *x, *a, *b;
  const char *op = relay_called_op(c);
  if (!split_constant(c, op, &inner, &b) || !split_constant(inner, op, &x, &a)) return NULL;
  return relay_binary(op, x, relay_binary(op, a, b));
}

/* bias_add(x, a) + b -> x + (a + b) */
static relay_expr *join_bias(const tn_RelayCall *c) {
  relay_expr *inner, *b;
  if (!split_constant(c, "add", &inner, &b)) return NULL;
  const tn_RelayCall *bias = relay_as_call(inner, "nn.bias_add");
  const tn_TensorType *t = bias ? relay_known_type(bias) : NULL;
  if (!t || !relay_is_moderate(relay_arg(bias, 1)) || !relay_same_type(bias, c)) return NULL;
  int64_t axis = relay_attr_int(bias->attrs, "axis", 1);
  if (axis < 0) axis += t->shape->len;
  void *a = relay_spread(relay_arg(bias, 1), t->shape->len - axis - 1);
  return relay_binary("add", relay_arg(bias, 0), relay_binary("add", a, b));
}

/* bias_add(x + a, b) -> x + (a + b) */
static relay_expr *join_to_bias(const tn_RelayCall *c) {
  relay_expr *x, *a, *b = relay_arg(c, 1);
  const tn_TensorType *t = relay_known_type(c);
  if (!t || !relay_is_moderate(b) || !split_constant(relay_arg(c, 0), "add", &x, &a)) return NULL;
  if (!relay_same_type(x, c)) return NULL;
  int64_t axis = relay_attr_int(c->attrs, "axis", 1);
  if (axis < 0) axis += t->shape->len;
  void *along = relay_spread(b, t->shape->len - axis - 1);
  return relay_binary("add", x, relay_binary("add", a, along));
}

/* (x + a) * b -> x * b + a * b, so that the product can become part of what makes x */
static relay_expr *product_of_sum(const tn_RelayCall *c) {
  relay_expr *inner, *x, *a, *b;
  if (!split_constant(c, "multiply", &inner, &b) || !split_constant(inner, "add", &x, &a))
    return NULL;
  return relay_binary("add", relay_binary("multiply", x, b), relay_binary("multiply", a, b));
}

/* a / sqrt(x) -> a * rsqrt(x) */
static relay_expr *divide_by_root(const tn_RelayCall *c) {
  const tn_RelayCall *root = relay_as_call(relay_arg(c, 1), "sqrt");
  if (!root) return NULL;
  return relay_binary("multiply", relay_arg(c, 0),
                      relay_call("rsqrt", NULL, 1, relay_arg(root, 0)));
}

/* clip(clip(x)) -> clip(x) where the ranges have something in common */
static relay_expr *clip_twice(const tn_RelayCall *c) {
  const tn_RelayCall *inner = relay_as_call(relay_arg(c, 0), "clip");
  if (!inner) return NULL;
  double low = relay_attr_float(c->attrs, "a_min", 0),
         high = relay_attr_float(c->attrs, "a_max", 0);
  double low2 = relay_attr_float(inner->attrs, "a_min", 0),
         high2 = relay_attr_float(inner->attrs, "a_max", 0);
  low = low > low2 ? low : low2;
  high = high < high2 ? high : high2;
  if (!(low <= high)) return NULL;
  void *attrs = relay_attrs("clip", 2, "a_min", tn_any_float(low), "a_max", tn_any_float(high));
  return relay_call("clip", attrs, 1, relay_arg(inner, 0));
}

const simplify_rule simplify_arith_rules[] = {
    {"add", drop_zero, RELAY_FLOAT_add_zero},
    {"subtract", drop_neutral},
    {"multiply", drop_neutral},
    {"divide", drop_neutral},
    {"add", fill_to_scalar},
    {"subtract", fill_to_scalar},
    {"multiply", fill_to_scalar},
    {"divide", fill_to_scalar},
    {"add", join_constants, RELAY_FLOAT_join_constants},
    {"add", join_bias, RELAY_FLOAT_join_constants},
    {"multiply", join_constants, RELAY_FLOAT_join_constants},
    {"multiply", product_of_sum, RELAY_FLOAT_join_constants},
    {"divide", divide_by_root, RELAY_FLOAT_divide_by_root},
    {"clip", clip_twice},
    {"nn.bias_add", join_to_bias, RELAY_FLOAT_join_constants},
    {NULL, NULL},
};
