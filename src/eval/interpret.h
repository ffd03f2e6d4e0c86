/* The interpreter: what a Relay program means, evaluated expression by expression. Slow: every
   operator is compiled for the shapes that it meets. It is what other executors are compared with.
 */
#ifndef TN_EVAL_INTERPRET_H_
#define TN_EVAL_INTERPRET_H_

#include "relay/relay.h"
#include "target/target.h"
#include "tenon/runtime.h"

/** Operators compiled for the types of their arguments. */
typedef struct {
  tn_target *target; /* borrowed */
  tn_map *compiled; /* hash -> Array of [relay Function, function, shape function or None]; owned */
} interp_ops;

/** The value of a call of an operator.
 *  @param args borrowed: tensors, and ADTs of them for tuples @param ret owned, the same */
int interp_op(interp_ops *x, const tn_Op *op, tn_Attrs *attrs, const tn_any *args, int64_t n,
              tn_any *ret);

/** "eval.interpret"; part of the start of the compiler. */
int eval_interpreter_init(void);

#endif /* TN_EVAL_INTERPRET_H_ */
