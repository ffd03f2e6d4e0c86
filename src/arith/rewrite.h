/* What the rewriter's files share. */
#ifndef TN_ARITH_REWRITE_H_
#define TN_ARITH_REWRITE_H_

#include "arith/arith_impl.h"
#include "ir/functor.h"

typedef struct {
  arith_analyzer *a;
  tn_pmap done;  /* node -> what it was simplified to, under the conditions that hold now */
  tn_pmap times; /* node -> number of times that was done, under other conditions each time */
  tn_pmap plain; /* node that stays as it is -> the same with the values of bound variables */
  int again;     /* how many results of rules are being simplified, one inside the other */
  int apart;     /* how many conditions or bindings are around, one inside the other */
} rewriter;

void rw_fini(rewriter *r);

static inline arith_analyzer *rw_analyzer(tn_mut *m) { return ((rewriter *)m->ctx)->a; }
/** Simplifies a node, once: what rules put together from simplified parts is not gone through
 * again. Under other conditions it is simplified anew, but not endlessly: arms of choices that
 * share a part which is a choice itself would double the work with each level. */
tn_expr *rw_visit(tn_mut *m, tn_expr *e);
/** The same where something else is known than outside. */
tn_expr *rw_visit_apart(tn_mut *m, tn_expr *e);

/** Simplifies what a rule has given, unless that is nested deeply already. */
tn_expr *rw_again(tn_mut *m, tn_expr *e);
/** The node, whose operands are simplified, by the table; itself when no rule matches. */
tn_expr *rw_rules(tn_mut *m, tn_expr *e);
/** The negation of a bool. */
tn_expr *rw_negate(tn_mut *m, tn_expr *e);
/** Visits `e` knowing that `cond`, which is simplified, holds. */
tn_expr *rw_under(tn_mut *m, tn_expr *cond, tn_expr *e);
/** e, or true or false where a condition that holds says so. */
tn_expr *rw_facts(tn_mut *m, tn_expr *e);

/** A binary operator of arithmetic. */
tn_expr *rw_arithmetic(tn_mut *m, tn_BinaryOp *e);
/* what canonical form shares: nodes that are not sums or products */
tn_expr *rw_var(tn_mut *m, tn_Var *v);
tn_expr *rw_cast(tn_mut *m, tn_Cast *e);
tn_expr *rw_vector(tn_mut *m, tn_expr *e);
tn_expr *rw_let(tn_mut *m, tn_Let *e);
tn_obj *rw_reduce(tn_mut *m, tn_Reduce *e);
tn_obj *rw_as_it_is(tn_mut *m, tn_obj *e);
#define RW_COMMON_CASES                                                                            \
  TN_CASE(Min, rw_arithmetic), TN_CASE(Max, rw_arithmetic), TN_CASE(EQ, rw_comparison),            \
      TN_CASE(NE, rw_comparison), TN_CASE(LT, rw_comparison), TN_CASE(LE, rw_comparison),          \
      TN_CASE(GT, rw_comparison), TN_CASE(GE, rw_comparison), TN_CASE(And, rw_logical),            \
      TN_CASE(Or, rw_logical), TN_CASE(Not, rw_not), TN_CASE(Select, rw_select),                   \
      TN_CASE(Call, rw_call), TN_CASE(Var, rw_var), TN_CASE(SizeVar, rw_var),                      \
      TN_CASE(Cast, rw_cast), TN_CASE(Ramp, rw_vector), TN_CASE(Broadcast, rw_vector),             \
      TN_CASE(Let, rw_let), TN_CASE(Reduce, rw_reduce), TN_CASE(CommReducer, rw_as_it_is),         \
      TN_CASE(IntImm, rw_as_it_is)

/* cases of rewrite_logic.c */
tn_expr *rw_comparison(tn_mut *m, tn_BinaryOp *e);
tn_expr *rw_logical(tn_mut *m, tn_BinaryOp *e);
tn_expr *rw_not(tn_mut *m, tn_Not *e);
tn_expr *rw_select(tn_mut *m, tn_Select *e);
tn_expr *rw_call(tn_mut *m, tn_Call *e);

#endif /* TN_ARITH_REWRITE_H_ */
