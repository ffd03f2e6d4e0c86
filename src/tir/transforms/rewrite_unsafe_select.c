/* A choice of which a side must not be evaluated when it is not taken, since it reads memory or
   divides, becomes one that evaluates only one side.

     T.Select(0 < i, A[i - 1], 0)          ->   T.if_then_else(0 < i, A[i - 1], 0)

   Vectors stay: they have no branches. */
#include "tir/transforms/transforms.h"

/* Divisions by constants cannot fail. */
static int is_unsafe(void *ctx, tn_obj *node) {
  const tn_BinaryOp *op = TN_AS_BINARY(node);
  const tn_Call *call = TN_AS(Call, node);
  int64_t d;
  (void)ctx;
  switch (node->type_index) {
  case TN_TI_BufferLoad: return 1;
  case TN_TI_Div:
  case TN_TI_Mod:
  case TN_TI_FloorDiv:
  case TN_TI_FloorMod:
    return ir_is_integral(ir_with_lanes(op->dtype, 1)) &&
           !(tir_as_int((tn_obj *)op->b, &d) && d != 0);
  case TN_TI_Call: return tir_call_effect((tn_obj *)call->op) > TIR_EFFECT_PURE;
  default: return 0;
  }
}

/* What a branch of its own protects already is not looked into. */
static int look(void *ctx, tn_obj *node) {
  if (tir_as_call(node, TIR_OP_if_then_else) || tir_as_call(node, TIR_OP_address_of)) return 1;
  return is_unsafe(ctx, node) ? 2 : 0;
}

static bool unsafe(const tn_expr *e) { return tn_pre_order(e, look, NULL) == 2; }

static tn_expr *rewrite(tn_mut *m, tn_Select *op) {
  tn_Select *s = tn_mut_children(m, op);
  if (!s || s->dtype.lanes > 1 || s->condition->dtype.lanes > 1) return (tn_expr *)s;
  if (!unsafe(s->true_value) && !unsafe(s->false_value)) return (tn_expr *)s;
  return tir_if_then_else(s->condition, s->true_value, s->false_value, s->span);
}

tn_PrimFunc *tir_rewrite_unsafe_select(tn_PrimFunc *f, const tn_pass_ctx *c) {
  static const tn_mut_case cases[] = {TN_CASE(Select, rewrite)};
  (void)c;
  TN_MUT(m, cases, NULL);
  return tir_with_body(f, tn_mut_visit(&m, f->body));
}
