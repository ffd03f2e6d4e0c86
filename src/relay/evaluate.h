/* Computing calls of operators on constants while compiling. Relay does not know code generators:
   the layer that does says how at start. */
#ifndef TN_RELAY_EVALUATE_H_
#define TN_RELAY_EVALUATE_H_

#include "relay/relay.h"

/** The value of a call of an operator whose arguments are constants (or tuples of them) and whose
 * type is known and static: a Constant, or a Tuple of them. Scope-owned, or NULL with an error. */
typedef relay_expr *(*relay_evaluator)(const tn_RelayCall *call);
TN_API void relay_set_evaluator(relay_evaluator evaluate);
/** Can it be evaluated: an operator with a compute, without effects, constants as arguments, a
 * static type? */
TN_API bool relay_can_evaluate(const tn_RelayCall *call);
TN_API relay_expr *relay_evaluate(const tn_RelayCall *call);

enum { RELAY_KNOWN_DEPTH = 8 };

/** How deep calls that can be evaluated are nested in an expression: 0 for a Constant or a Tuple of
 * such, 1 for a call of these; -1 where it depends on anything else, or is nested deeper than
 * RELAY_KNOWN_DEPTH. FoldConstant leaves such expressions where they become smaller, or larger, in
 * a later step; what asks for a constant weight should take them too. */
TN_API int relay_known_depth(const tn_obj *e);
/** Evaluates a call that is known, and what is below it; nothing of that remains. */
TN_API relay_expr *relay_evaluate_nested(const tn_RelayCall *call);

#endif /* TN_RELAY_EVALUATE_H_ */
