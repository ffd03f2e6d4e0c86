/* Block iterators are replaced by their values.

     for i, j in T.grid(8, 8):                  for i, j in T.grid(8, 8):
       with T.block("B"):                  ->     with T.block("B"):
         vi, vj = T.axis.remap("SS", [i, j])        T.writes(B[i, j])
         T.writes(B[vi, vj])                        B[i, j] = A[i, j]
         B[vi, vj] = A[vi, vj]

   After LowerInitBlock: a block has no first value any more. */
#include "tir/transforms/transforms.h"

static tn_obj *replace_var(tn_mut *m, tn_obj *v) {
  tn_obj *value = tn_pmap_get(m->ctx, v);
  return value ? value : v;
}

static int is_iterator(void *block, tn_obj *node) {
  const tn_arr *all = ((const tn_Block *)block)->iter_vars;
  for (int64_t i = 0; i < all->len; ++i)
    if ((tn_obj *)((const tn_IterVar *)tn_arr_obj(all, i))->var == node) return 1;
  return 0;
}

static tn_stmt *open_block(tn_mut *m, tn_BlockRealize *op) {
  tn_BlockRealize copy = *op;
  tn_arr *values;
  const tn_Block *b = op->block;
  TN_CHECKP(!b->init, InternalError, op->span,
            "block %s: its first value must be lowered before its iterators",
            tn_cstr(b->name_hint));
  int inside = tn_post_order(op->predicate, is_iterator, op->block);
  TN_CHECKP(
      inside <= 0, TenonError, op->span,
      "block %s: the predicate is outside the block and cannot use its iterators; write it over "
      "the loops around it",
      tn_cstr(b->name_hint));
  if (inside < 0) return NULL;
  TN_GETP(values, tn_mut_visit(m, op->iter_values));
  TN_GETP(copy.predicate, tn_mut_visit(m, op->predicate));
  for (int64_t i = 0; i < values->len; ++i) {
    const tn_IterVar *iv = (const tn_IterVar *)tn_arr_obj(b->iter_vars, i);
    tn_expr *v = tir_cast(iv->var->dtype, (tn_expr *)tn_arr_obj(values, i), NULL);
    if (!v) return NULL;
    TN_TRYP(tn_pmap_put(m->ctx, iv->var, v));
  }
  tn_Block open = *b;
  TN_GETP(open.iter_vars, tn_arr_of(0));
  tn_Block *opened = b->iter_vars->len ? tn_node_copy(&tn_type_Block, &open) : op->block;
  if (!opened) return NULL;
  TN_GETP(copy.block, tn_mut_children(m, opened));
  if (copy.block == op->block && copy.predicate == op->predicate) return (tn_stmt *)op;
  TN_GETP(copy.iter_values, tn_arr_of(0));
  return tn_node_copy(&tn_type_BlockRealize, &copy);
}

tn_PrimFunc *tir_convert_blocks_to_opaque(tn_PrimFunc *f, const tn_pass_ctx *c) {
  static const tn_mut_case cases[] = {TN_CASE(BlockRealize, open_block), TN_CASE(Var, replace_var),
                                      TN_CASE(SizeVar, replace_var), TIR_REFOLD};
  (void)c;
  if (tir_is_legacy(f)) return f;
  TN_PMAP(values);
  TN_MUT(m, cases, &values);
  return tir_with_body(f, tn_mut_visit(&m, f->body));
}
