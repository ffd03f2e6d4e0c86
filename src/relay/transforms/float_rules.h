/* What passes do that changes results of floats, in one table. An integer program gives the same
   bits at every level; a program of floats only at the levels that allow none of this. A pass asks
   before it makes such a change; one that does nothing else has at least the level of its kind.

   No level changes the range of values: constants that are rearranged must be moderate, so that
   what did not overflow, underflow or become NaN does not do so afterwards. */
#ifndef TN_RELAY_TRANSFORMS_FLOAT_RULES_H_
#define TN_RELAY_TRANSFORMS_FLOAT_RULES_H_

#include "ir/pass.h"
#include "relay/relay.h"

/** Kinds of changes: K(name, the level from which they are allowed, what may differ). */
#define RELAY_FLOAT_KINDS(K)                                                                       \
  K(ZERO_SIGN, 2, "the sign of a zero")                                                            \
  K(ROUNDS, 2, "where values are rounded between operators: the last place")                       \
  K(REASSOCIATES, 2, "the order of sums and products: the last places, more where terms cancel")   \
  K(APPROXIMATES, 4, "functions: more than the last place")

/** R(name, kind, pass, whole: does the pass do nothing else?, what it does) */
#define RELAY_FLOAT_RULES(R)                                                                       \
  R(add_zero, ZERO_SIGN, "SimplifyExpr", false, "x + 0 becomes x")                                 \
  R(divide_by_root, ROUNDS, "SimplifyExpr", false, "a / sqrt(x) becomes a * rsqrt(x)")             \
  R(join_constants, REASSOCIATES, "SimplifyExpr", false,                                           \
    "(x + a) + b becomes x + (a + b), the same for products; (x + a) * b becomes x * b + a * b")   \
  R(scale_weights, REASSOCIATES, "FoldScaleAxis", true,                                            \
    "factors for channels become part of weights")                                                 \
  R(scale_weights_before, REASSOCIATES, "BackwardFoldScaleAxis", true,                             \
    "the same, of the layer before")                                                               \
  R(scale_weights_behind, REASSOCIATES, "ForwardFoldScaleAxis", true,                              \
    "the same, of the layer after")                                                                \
  R(multiply_by_inverse, ROUNDS, "DivToMul", true, "x / c becomes x * (1 / c)")                    \
  R(widen, ROUNDS, "ComputeInFloat32", true,                                                       \
    "float16 and bfloat16 are computed with float32 and not rounded between operators")            \
  R(integers, ROUNDS, "FakeQuantizationToInteger", true,                                           \
    "what lies between dequantize and quantize is computed with integers")                         \
  R(layer_norm, REASSOCIATES, "FoldLayerNorm", true,                                               \
    "the arithmetic of a norm becomes one kernel")                                                 \
  R(attention, REASSOCIATES, "FuseAttention", true,                                                \
    "softmax and the products around it become one")                                               \
  R(layouts, REASSOCIATES, "AlterOpLayout", true,                                                  \
    "convolutions and products sum up in the order of their layout; Winograd's transform")         \
  R(combine_convolutions, REASSOCIATES, "CombineParallelConv2D", true,                             \
    "kernels of another size may sum up in another order")                                         \
  R(combine_dense, REASSOCIATES, "CombineParallelDense", true, "the same")                         \
  R(combine_products, REASSOCIATES, "CombineParallelBatchMatmul", true, "the same")                \
  R(fast_functions, APPROXIMATES, "FastMath", true,                                                \
    "exp, tanh, erf and softmax by short polynomials")

#define RELAY_FLOAT_KIND(name, level, doc) RELAY_FLOAT_KIND_##name,
typedef enum { RELAY_FLOAT_KINDS(RELAY_FLOAT_KIND) RELAY_FLOAT_KIND_END } relay_float_kind;
#undef RELAY_FLOAT_KIND

#define RELAY_FLOAT_RULE(name, kind, pass, whole, doc) RELAY_FLOAT_##name,
typedef enum {
  RELAY_FLOAT_exact, /* no change */
  RELAY_FLOAT_RULES(RELAY_FLOAT_RULE) RELAY_FLOAT_END
} relay_float_rule;
#undef RELAY_FLOAT_RULE

/** Does the level of the context allow it? */
bool relay_float_may(relay_float_rule rule, const tn_pass_ctx *c);
/** The level from which builds may run a pass, because of what it does to floats; 0: it does
 * nothing to them. */
int relay_float_level_of_pass(const char *pass);
/** Is every element of a constant 0 or far from the ends of its type's range? Integers are. False
 * for what is not a constant. */
bool relay_is_moderate(const relay_expr *e);

/** "relay._transform.FloatRules"; part of relay_transforms_init. */
int relay_float_rules_init(void);

#endif /* TN_RELAY_TRANSFORMS_FLOAT_RULES_H_ */
