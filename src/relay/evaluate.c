/* Which calls can be computed while compiling; the computing itself is the driver's (see
 * evaluate.h). */
#include "relay/evaluate.h"

#include "base/error.h"
#include "relay/op.h"

static relay_evaluator evaluator;

void relay_set_evaluator(relay_evaluator evaluate) { evaluator = evaluate; }

/* Of the call alone, whatever its arguments are. */
static bool is_computed(const tn_RelayCall *call) {
  const tn_obj *op = (const tn_obj *)TN_AS(Op, call->op);
  const relay_op_row *row = op ? relay_op_row_of(op) : NULL;
  const tn_Type *t = relay_type_of(call);
  return evaluator && row && row->compute && !relay_op_is_stateful(op) &&
         !relay_op_is_non_computational(op) && t && relay_is_static(t);
}

static int known_depth(const tn_obj *e, int left) {
  const tn_RelayTuple *t = TN_AS(RelayTuple, e);
  const tn_RelayCall *c = TN_AS(RelayCall, e);
  if (TN_AS(Constant, e)) return 0;
  for (int64_t i = 0; t && i < t->fields->len; ++i)
    if (!TN_AS(Constant, tn_arr_obj(t->fields, i))) return -1;
  if (t) return 0;
  if (!c || left == 0 || !is_computed(c)) return -1;
  int most = 0;
  for (int64_t i = 0; i < c->args->len; ++i) {
    int depth = known_depth(relay_arg(c, i), left - 1);
    if (depth < 0) return -1;
    if (depth > most) most = depth;
  }
  return most + 1;
}

int relay_known_depth(const tn_obj *e) { return known_depth(e, RELAY_KNOWN_DEPTH); }

bool relay_can_evaluate(const tn_RelayCall *call) {
  return relay_known_depth((const tn_obj *)call) == 1;
}

relay_expr *relay_evaluate(const tn_RelayCall *call) {
  TN_CHECKP(evaluator, InternalError, NULL,
            "nothing evaluates constants: the compiler has not started");
  return evaluator(call);
}

static relay_expr *evaluate_nested(const tn_RelayCall *call) {
  TN_VEC(args);
  bool same = true;
  tn_RelayCall *plain;
  for (int64_t i = 0; i < call->args->len; ++i) {
    tn_obj *arg = relay_arg(call, i);
    const tn_RelayCall *c = TN_AS(RelayCall, arg);
    same &= c == NULL;
    if (c) TN_GETP(arg, (tn_obj *)relay_evaluate_nested(c));
    TN_TRYP(tn_vec_push_obj(&args, arg));
  }
  if (same) return relay_evaluate(call);
  TN_GETP(plain, relay_call_new(call->op, tn_arr_from(&args), call->attrs));
  tn_retain(((const relay_expr *)call)->_checked_type_);
  ((relay_expr *)plain)->_checked_type_ = ((const relay_expr *)call)->_checked_type_;
  return relay_evaluate(plain);
}

relay_expr *relay_evaluate_nested(const tn_RelayCall *call) {
  TN_SCOPE(s);
  return tn_scope_return(s, evaluate_nested(call));
}
