/* Order between a program and a coprocessor that runs beside it (attributes "coproc_scope").

   No target here has such a coprocessor, and what its instructions wait for is known to its driver
   alone: a program that uses one is refused instead of run in the wrong order. All others stay as
   they are, so that lists of passes that name this one work. */
#include "tir/transforms/transforms.h"

static tn_obj *scope(tn_mut *m, tn_AttrStmt *op) {
  static const char *const keys[] = {"coproc_scope", "coproc_uop_scope"};
  for (int i = 0; i < TN_COUNT(keys); ++i)
    TN_CHECKP(!tn_str_eq(op->attr_key, keys[i]), NotImplementedError, op->span,
              "tir.CoProcSync: the program runs a part on a coprocessor (\"%s\"), which no target "
              "has; take the attribute out to run it where the rest runs",
              keys[i]);
  return tn_mut_children(m, op);
}

tn_PrimFunc *tir_coproc_sync(tn_PrimFunc *f, const tn_pass_ctx *c) {
  static const tn_mut_case cases[] = {TN_CASE(AttrStmt, scope)};
  (void)c;
  TN_MUT(m, cases, NULL);
  return tir_with_body(f, tn_mut_visit(&m, f->body));
}
