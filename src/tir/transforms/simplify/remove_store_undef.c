/* Stores of values that nobody defined are dropped.

     A[0] = T.undef(dtype="float32")       ->   (nothing)

   So are bindings of such values. Elsewhere T.undef is an error. */
#include "tir/transforms/transforms.h"

typedef struct {
  tn_pmap vars; /* variables whose values are not defined */
} remover;

/* Positions of loads are looked at by the check at the end. */
static int look(void *ctx, tn_obj *node) {
  const remover *x = ctx;
  if (TN_IS(BufferLoad, node)) return 1;
  return tir_as_call(node, TIR_OP_undef) || tn_pmap_has(&x->vars, node) ? 2 : 0;
}

static tn_obj *drop_store(tn_mut *m, tn_BufferStore *op) {
  return tn_pre_order(op->value, look, m->ctx) == 2 ? (tn_obj *)tir_nop() : (tn_obj *)op;
}

static tn_obj *drop_let(tn_mut *m, tn_LetStmt *op) {
  remover *x = m->ctx;
  if (tn_pre_order(op->value, look, x) != 2) return tn_mut_children(m, op);
  TN_TRYP(tn_pmap_put_int(&x->vars, op->var, 1));
  return tn_mut_visit(m, op->body);
}

static int is_left(void *ctx, tn_obj *node) {
  const remover *x = ctx;
  return tir_as_call(node, TIR_OP_undef) || tn_pmap_has(&x->vars, node);
}

tn_PrimFunc *tir_remove_store_undef(tn_PrimFunc *f, const tn_pass_ctx *c) {
  static const tn_mut_case cases[] = {TN_CASE(BufferStore, drop_store), TN_CASE(LetStmt, drop_let)};
  (void)c;
  remover x = {0};
  TN_MUT(m, cases, &x);
  tn_stmt *body = tn_mut_visit(&m, f->body);
  int left = body ? tn_post_order(body, is_left, &x) : 0;
  tn_pmap_fini(&x.vars);
  TN_CHECKP(left <= 0, TenonError, f->span,
            "Error: T.undef() may be used as the value of a store or binding only, not in an index "
            "or call");
  return left < 0 ? NULL : tir_with_body(f, body);
}
