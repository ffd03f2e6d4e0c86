/* Facts of operators that passes ask for: columns of an operator's row (relay/op.h), stated where the
   operator is. A pass that names operators instead has to be found and changed for each new one.

   A fact that a row leaves out is unset, and passes leave such an operator alone;
   tests/python/test_operator_facts.py lists those, and why. A row with a function of elements is
   computed element by element: it has values `computed` and treats images and channels apart
   without saying so. */
#ifndef TN_RELAY_FACTS_H_
#define TN_RELAY_FACTS_H_

#include <stdbool.h>

#include "object/object.h"

/** What ToMixedPrecision does with it. */
#define RELAY_PRECISIONS(V)                                                                        \
  V(LOW, "low", "gains by a smaller type of floats: always computed in it")                        \
  V(FOLLOWS, "follows", "computed in the type of its operands")                                    \
  V(FULL, "full", "loses too much by a smaller type: never computed in it")

/** What the elements of the results are. */
#define RELAY_VALUES(V)                                                                            \
  V(RESHAPED, "reshaped", "those of the first argument in their order: the shape differs")         \
  V(MOVED, "moved", "elements of the arguments, at places that their values do not decide")        \
  V(FILLED, "filled", "the same, beside constants")                                                \
  V(CHOSEN, "chosen", "elements of the argument that are the largest or smallest of some")         \
  V(FROM_SHAPE, "from_shape", "computed of the extents of the arguments alone")                    \
  V(COMPUTED, "computed", "computed of elements")

/** What it treats apart: a slice of the result needs the same slice of the first argument only,
 * where the layout, or the attribute `axis`, leaves images (channels) on an axis of their own. */
#define RELAY_APARTS(V)                                                                            \
  V(IMAGES, "images", "each image of a batch by itself")                                           \
  V(CHANNELS, "channels", "each channel by itself")                                                \
  V(IMAGES_AND_CHANNELS, "images_and_channels", "both")                                            \
  V(TOGETHER, "together", "neither")

/** Is f(x * s) = f(x) * s for an operator of one argument? */
#define RELAY_SCALINGS(V)                                                                          \
  V(SCALES, "any", "for each number s")                                                            \
  V(SCALES_POSITIVE, "positive", "for each s > 0")                                                 \
  V(SCALES_NOT, "none", "not in general")

/** What it computes, for passes that know the attributes of its like. */
#define RELAY_FORMS(V)                                                                             \
  V(CONVOLUTION, "convolution", "sums of windows of the data times weights")                       \
  V(CONVOLUTION_TRANSPOSED, "convolution_transposed", "elements times weights, summed in windows") \
  V(PRODUCT, "product", "a product of matrices")                                                   \
  V(WINDOW_MAX, "window_max", "the largest elements of windows")                                   \
  V(WINDOW_MEAN, "window_mean", "the means of windows")

/** Are results finite where arguments are, and are not so large that they overflow? */
#define RELAY_RANGES(V)                                                                            \
  V(FINITE, "finite", "yes")                                                                       \
  V(UNBOUNDED, "unbounded", "infinite or NaN for some: a quotient, a logarithm")

/** The columns: name, the table of its values, what it answers. */
#define RELAY_FACTS(F)                                                                             \
  F(precision, RELAY_PRECISIONS, "how a smaller type of floats serves it")                         \
  F(values, RELAY_VALUES, "what the elements of the results are")                                  \
  F(apart, RELAY_APARTS, "what it treats apart")                                                   \
  F(form, RELAY_FORMS, "what it computes, as passes tell it from others")                          \
  F(scaling, RELAY_SCALINGS, "which factors pass through it")                                      \
  F(range, RELAY_RANGES, "whether finite arguments give finite results")

#define RELAY_FACT_VALUE(name, text, doc) RELAY_##name,
#define RELAY_FACT_ENUM(fact, VALUES, doc)                                                         \
  typedef enum { RELAY_##fact##_unset, VALUES(RELAY_FACT_VALUE) } relay_##fact;
RELAY_FACTS(RELAY_FACT_ENUM)

/** Of an operator; unset for anything else, as for those that a program has registered. */
#define RELAY_FACT_QUESTION(fact, VALUES, doc)                                                     \
  TN_API relay_##fact relay_op_##fact(const tn_obj *op);
RELAY_FACTS(RELAY_FACT_QUESTION)

/** Are all elements of the results elements of the arguments? */
TN_API bool relay_op_only_moves(const tn_obj *op);
/** Does it treat each image (channel) by itself? */
static inline bool relay_op_treats_apart(const tn_obj *op, relay_apart what) {
  relay_apart a = relay_op_apart(op);
  return a != RELAY_TOGETHER && (a & what) == what;
}

/** A question about the operator that an expression calls: RELAY_ASK(values, call). */
#define RELAY_ASK(fact, call) relay_op_##fact(relay_op_of(call))
/** The operator of a call, NULL for other expressions and calls of functions. */
TN_API const tn_obj *relay_op_of(const void *call);

#endif /* TN_RELAY_FACTS_H_ */
