/* Drops what only tells the compiler something: T.evaluate(T.assume(condition)), and the loops and
   conditions that hold nothing else. */
#include "tir/transforms/transforms.h"

static tn_stmt *drop(tn_mut *m, tn_Evaluate *op) {
  (void)m;
  return tir_as_call((tn_obj *)op->value, TIR_OP_assume) ? tir_nop() : (tn_stmt *)op;
}

static tn_stmt *drop_for(tn_mut *m, tn_For *op) {
  tn_For *r = tn_mut_children(m, op);
  bool emptied = r && r->body != op->body && tir_is_nop(r->body);
  return emptied && tir_is_pure(r->extent) && tir_is_pure(r->min) ? tir_nop() : (tn_stmt *)r;
}

static tn_stmt *drop_if(tn_mut *m, tn_IfThenElse *op) {
  tn_IfThenElse *r = tn_mut_children(m, op);
  bool emptied = r && r->then_case != op->then_case && tir_is_nop(r->then_case) && !r->else_case;
  return emptied && tir_is_pure(r->condition) ? tir_nop() : (tn_stmt *)r;
}

tn_PrimFunc *tir_remove_assume(tn_PrimFunc *f, const tn_pass_ctx *c) {
  static const tn_mut_case cases[] = {TN_CASE(Evaluate, drop), TN_CASE(For, drop_for),
                                      TN_CASE(IfThenElse, drop_if)};
  (void)c;
  TN_MUT(m, cases, NULL);
  return tir_with_body(f, tn_mut_visit(&m, f->body));
}
