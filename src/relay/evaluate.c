/* Which calls can be computed while compiling; the computing itself is the driver's (see
 * evaluate.h). */
#include "relay/evaluate.h"

#include "base/error.h"
#include "relay/op.h"

static relay_evaluator evaluator;

void relay_set_evaluator(relay_evaluator evaluate) { evaluator = evaluate; }

static bool is_constant(const tn_obj *e) {
  const tn_RelayTuple *t = TN_AS(RelayTuple, e);
  for (int64_t i = 0; t && i < t->fields->len; ++i)
    if (!TN_AS(Constant, tn_arr_obj(t->fields, i))) return false;
  return t || TN_AS(Constant, e);
}

bool relay_can_evaluate(const tn_RelayCall *call) {
  const tn_obj *op = (const tn_obj *)TN_AS(Op, call->op);
  const relay_op_row *row = op ? relay_op_row_of(op) : NULL;
  if (!evaluator || !row || !row->compute || relay_op_is_stateful(op) ||
      relay_op_is_non_computational(op))
    return false;
  for (int64_t i = 0; i < call->args->len; ++i)
    if (!is_constant(relay_arg(call, i))) return false;
  const tn_Type *t = relay_type_of(call);
  return t && relay_is_static(t);
}

relay_expr *relay_evaluate(const tn_RelayCall *call) {
  TN_CHECKP(evaluator, InternalError, NULL,
            "nothing evaluates constants: the compiler has not started");
  return evaluator(call);
}
