/* Loops around one statement that copies an element: see copy_nest.h. */
#include "tir/transforms/blocks/copy_nest.h"

int tir_copy_nest(const tn_stmt *s, bool through_block, copy_nest *out) {
  for (;;) {
    const tn_For *f = TN_AS(For, s);
    const tn_IfThenElse *cond = TN_AS(IfThenElse, s);
    const tn_BlockRealize *r = TN_AS(BlockRealize, s);
    if (f && !out->real && !out->condition) {
      TN_TRY(tn_vec_push_obj(&out->loops, f));
      s = f->body;
    } else if (cond && !cond->else_case && !out->condition) {
      out->condition = cond->condition;
      s = cond->then_case;
    } else if (r && through_block && !out->real && !out->condition) {
      out->real = r;
      s = r->block->body;
    } else {
      out->store = TN_AS(BufferStore, s);
      return out->store != NULL;
    }
  }
}

void tir_copy_nest_fini(copy_nest *n) { tn_vec_fini(&n->loops); }
