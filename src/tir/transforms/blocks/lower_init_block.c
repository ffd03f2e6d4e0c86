/* First values of reductions become conditional statements, the first step of lowering.

     with T.block("B"):                         with T.block("B"):
       vi, vk = T.axis.remap("SR", [i, k])        vi, vk = T.axis.remap("SR", [i, k])
       with T.init():                      ->     if vk == 0:
         B[vi] = 0                                  B[vi] = 0
       B[vi] = B[vi] + A[vi, vk]                  B[vi] = B[vi] + A[vi, vk] */
#include "tir/transforms/transforms.h"

/* All reduction iterators are at their first value; NULL when there are none. */
static int first_iteration(const tn_Block *b, tn_expr **out) {
  *out = NULL;
  for (int64_t i = 0; i < b->iter_vars->len; ++i) {
    const tn_IterVar *iv = (const tn_IterVar *)tn_arr_obj(b->iter_vars, i);
    if (iv->iter_type != IR_ITER_COMM_REDUCE) continue;
    tn_expr *first = tir_eq((tn_expr *)iv->var, iv->dom->min);
    TN_GET(*out, *out ? tir_and(*out, first) : first);
  }
  return 0;
}

static tn_stmt *lower_block(tn_mut *m, tn_Block *op) {
  tn_Block *b = tn_mut_children(m, op);
  tn_expr *first;
  if (!b || !b->init) return (tn_stmt *)b;
  TN_TRYP(first_iteration(b, &first));
  tn_Block copy = *b;
  copy.init = NULL;
  tn_stmt *init = b->init;
  if (first) init = (tn_stmt *)TN_NEW(IfThenElse, .condition = first, .then_case = init);
  copy.body = tir_seq2(init, b->body);
  return copy.body ? tn_node_copy(&tn_type_Block, &copy) : NULL;
}

tn_PrimFunc *tir_lower_init_block(tn_PrimFunc *f, const tn_pass_ctx *c) {
  static const tn_mut_case cases[] = {TN_CASE(Block, lower_block)};
  (void)c;
  if (tir_is_legacy(f)) return f;
  TN_MUT(m, cases, NULL);
  return tir_with_body(f, tn_mut_visit(&m, f->body));
}
