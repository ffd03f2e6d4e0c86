/* A condition that is the whole body of a loop and does not depend on it is decided before the
   loop, from the innermost loop outwards.

     for i in range(8):                         for i in range(8):
       for j in range(8):                         if i < n:
         if i < n:                        ->        for j in range(8):
           A[j] = 1                                   A[j] = 1

   A loop that is written out for both branches has a variable of its own in the second. */
#include "tir/transforms/transforms.h"

/* The loop may have no iteration, so what may fail must not move in front of it. Such are
   divisions; memory is excluded as an effect. */
static int may_fail(void *ctx, tn_obj *node) {
  int64_t d;
  (void)ctx;
  switch (node->type_index) {
  case TN_TI_Div:
  case TN_TI_Mod:
  case TN_TI_FloorDiv:
  case TN_TI_FloorMod: return !(tir_as_int((tn_obj *)TN_AS_BINARY(node)->b, &d) && d != 0);
  default: return 0;
  }
}

static bool is_invariant(const tn_expr *cond, const tn_Var *v) {
  return tir_is_pure(cond) && !tir_uses_var(cond, v) && !tn_post_order(cond, may_fail, NULL);
}

/* The loop over another variable. */
static tn_For *fresh_loop(const tn_For *op, tn_stmt *body) {
  tn_For copy = *op;
  TN_GETP(copy.loop_var, tir_var_like(op->loop_var, tn_cstr(op->loop_var->name)));
  tn_pmap vars = {0};
  int rc = tn_pmap_put(&vars, op->loop_var, copy.loop_var);
  copy.body = rc ? NULL : tir_substitute(body, &vars);
  tn_pmap_fini(&vars);
  return copy.body ? tn_node_copy(&tn_type_For, &copy) : NULL;
}

/* The loop around a body, inside the conditions of the body that do not depend on it. */
static tn_stmt *loop_around(const tn_For *op, tn_stmt *body) {
  if (!body) return NULL;
  const tn_IfThenElse *branch = TN_AS(IfThenElse, body);
  if (!branch || !is_invariant(branch->condition, op->loop_var))
    return tir_for_with(op, op->min, op->extent, body);
  tn_IfThenElse copy = *branch;
  TN_GETP(copy.then_case, loop_around(op, branch->then_case));
  if (branch->else_case) {
    const tn_For *second = fresh_loop(op, branch->else_case);
    if (!second) return NULL;
    TN_GETP(copy.else_case, loop_around(second, second->body));
  }
  return tn_node_copy(&tn_type_IfThenElse, &copy);
}

/* Loops over threads stay what encloses the program of a thread. */
static tn_stmt *hoist(tn_mut *m, tn_For *op) {
  tn_For *r = tn_mut_children(m, op);
  if (!r || r->kind == TIR_FOR_THREAD_BINDING) return (tn_stmt *)r;
  return loop_around(r, r->body);
}

static bool is_branch(const tn_stmt *s, const void *arg) {
  (void)arg;
  return TN_IS(IfThenElse, s);
}

tn_PrimFunc *tir_hoist_if_then_else(tn_PrimFunc *f, const tn_pass_ctx *c) {
  static const tn_mut_case cases[] = {TN_CASE(For, hoist)};
  (void)c;
  if (!tir_has_stmt(f->body, is_branch, NULL)) return f;
  TN_MUT(m, cases, NULL);
  return tir_with_body(f, tn_mut_visit(&m, f->body));
}
