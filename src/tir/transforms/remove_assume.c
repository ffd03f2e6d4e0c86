/* Drops what only tells the compiler something: T.evaluate(T.assume(condition)). */
#include "tir/transforms/transforms.h"

static tn_stmt *drop(tn_mut *m, tn_Evaluate *op) {
  (void)m;
  return tir_as_call((tn_obj *)op->value, TIR_OP_assume) ? tir_nop() : (tn_stmt *)op;
}

static tn_stmt *in_sequence(tn_mut *m, tn_SeqStmt *op) {
  tn_SeqStmt *r = tn_mut_children(m, op);
  TN_VEC(v);
  if (!r || r == op) return (tn_stmt *)r;
  for (int64_t i = 0; i < r->seq->len; ++i) TN_TRYP(tn_vec_push(&v, r->seq->items[i]));
  return tir_seq(&v);
}

tn_PrimFunc *tir_remove_assume(tn_PrimFunc *f, const tn_pass_ctx *c) {
  static const tn_mut_case cases[] = {TN_CASE(Evaluate, drop), TN_CASE(SeqStmt, in_sequence)};
  (void)c;
  TN_MUT(m, cases, NULL);
  return tir_with_body(f, tn_mut_visit(&m, f->body));
}
