/* The rules of SimplifyExpr. A rule belongs to an operator; it sees a call of it whose operands are
   simple already, and returns what the call can be replaced by, or NULL (without an error) where it
   does not apply. Types of calls that other rules have just made: relay_known_type. */
#ifndef TN_RELAY_TRANSFORMS_SIMPLIFY_H_
#define TN_RELAY_TRANSFORMS_SIMPLIFY_H_

#include "relay/transforms/float_rules.h"

typedef struct {
  const char *op;
  relay_expr *(*rule)(const tn_RelayCall *c);
  relay_float_rule floats; /* what it does to floats; nothing where it is left out */
} simplify_rule;

/** Tables of rules, ended by a row without operator. */
extern const simplify_rule simplify_arith_rules[]; /* sums, products, fills */
extern const simplify_rule simplify_shape_rules[]; /* reshape, concatenate, likes, casts */
extern const simplify_rule simplify_range_rules[]; /* what the range of integers says */
extern const simplify_rule simplify_order_rules[]; /* transpose and layouts */
extern const simplify_rule
    simplify_layout_rules[]; /* layouts that move nothing; PostAlterOp only */

#endif /* TN_RELAY_TRANSFORMS_SIMPLIFY_H_ */
