/* Code for calls on constants, kept: a program has many calls of the same operators on tensors of
   the same types. */
#ifndef TN_EVAL_EVALUATE_CODE_H_
#define TN_EVAL_EVALUATE_CODE_H_

#include "relay/relay.h"
#include "target/target.h"
#include "tenon/runtime.h"

/** The code that was kept for a function equal to this one; NULL without an error where there is
 * none. Any thread. @return scope-owned */
tn_module *evaluate_code_get(const tn_RelayFunction *f, const tn_target *t);
/** Keeps it, in the place of other code where there is much. Any thread. */
void evaluate_code_put(const tn_RelayFunction *f, const tn_target *t, tn_module *m);

#endif /* TN_EVAL_EVALUATE_CODE_H_ */
