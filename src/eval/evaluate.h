/* Evaluation of calls on constants, for the passes over Relay programs (relay/evaluate.h). */
#ifndef TN_EVAL_EVALUATE_H_
#define TN_EVAL_EVALUATE_H_

#include "relay/relay.h"

/** The value of an operator that only moves elements of constants.
 *  @param out borrowed, of the scope @return 1, 0 when the call is something else, -1 error */
int eval_move(const tn_RelayCall *call, relay_expr **out);

/** The same for arithmetic on elements whose result the type fixes. */
int eval_elementwise(const tn_RelayCall *call, relay_expr **out);

/** Tells relay/evaluate.h how; part of the start of the compiler. */
int eval_constants_init(void);

#endif /* TN_EVAL_EVALUATE_H_ */
