/* Drops what only tells the compiler something: T.evaluate(T.assume(condition)). */
#include "tir/transforms/transforms.h"

static tn_stmt *drop(tn_mut *m, tn_Evaluate *op) {
  (void)m;
  return tir_as_call((tn_obj *)op->value, TIR_OP_assume) ? tir_nop() : (tn_stmt *)op;
}

tn_PrimFunc *tir_remove_assume(tn_PrimFunc *f, const tn_pass_ctx *c) {
  static const tn_mut_case cases[] = {TN_CASE(Evaluate, drop)};
  (void)c;
  TN_MUT(m, cases, NULL);
  return tir_with_body(f, tn_mut_visit(&m, f->body));
}
