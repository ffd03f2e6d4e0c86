/* A condition that is the whole body of a loop and does not depend on it is decided before the
   loop, from the innermost loop outwards.

     for i in range(8):                         for i in range(8):
       for j in range(8):                         if i < n:
         if i < n:                        ->        for j in range(8):
           A[j] = 1                                   A[j] = 1

   A loop that is written out for both branches has another variable in the second. Conditions with
   indices of threads stay, unless the pass was made with "threads", as in builds. With the option
   support_block_scope_hosting they move too, over the attributes of threads in their way as well,
   and so do parts of conjunctions. */
#include <string.h>

#include "tir/device.h"
#include "tir/transforms/transforms.h"

typedef struct {
  bool threads; /* conditions with indices of threads move */
  bool blocks;  /* the option */
  tn_pmap axes; /* variables of threads */
} hoister;

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

static int is_axis(void *axes, tn_obj *node) { return tn_pmap_has(axes, node); }

static bool uses_threads(hoister *x, const tn_expr *cond) {
  return tn_post_order(cond, is_axis, &x->axes) != 0;
}

static bool is_invariant(hoister *x, const tn_expr *cond, const tn_Var *v) {
  if (!tir_is_pure(cond) || (v && tir_uses_var(cond, v))) return false;
  if (!x->threads && uses_threads(x, cond)) return false;
  return !tn_post_order(cond, may_fail, NULL);
}

/* Parts the condition into what may move in front of the loop and what stays, NULL for none. */
static int divide(hoister *x, tn_expr *cond, const tn_Var *v, tn_expr **moves, tn_expr **stays) {
  const tn_BinaryOp *both = TN_AS(And, cond) ? TN_AS_BINARY(cond) : NULL;
  tn_expr **side = is_invariant(x, cond, v) ? moves : stays;
  if (side == stays && both) {
    TN_TRY(divide(x, both->a, v, moves, stays));
    return divide(x, both->b, v, moves, stays);
  }
  *side = *side ? tir_and(*side, cond) : cond;
  return *side ? 0 : -1;
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

static tn_stmt *loop_around(hoister *x, const tn_For *op, tn_stmt *body);

/* The loop around a branch, behind the parts of its condition that may move. */
static tn_stmt *loop_behind_parts(hoister *x, const tn_For *op, const tn_IfThenElse *branch) {
  tn_IfThenElse outer = {.span = branch->span}, inner = *branch;
  tn_expr *stays = NULL;
  TN_TRYP(divide(x, branch->condition, op->loop_var, &outer.condition, &stays));
  if (!outer.condition) return tir_for_with(op, op->min, op->extent, (tn_stmt *)(uintptr_t)branch);
  inner.condition = stays;
  TN_GETP(outer.then_case, tn_node_copy(&tn_type_IfThenElse, &inner));
  TN_GETP(outer.then_case, tir_for_with(op, op->min, op->extent, outer.then_case));
  return (tn_stmt *)TN_MAKE(IfThenElse, .condition = outer.condition, .then_case = outer.then_case,
                            .span = outer.span);
}

/* The loop around a body, inside the conditions of the body that do not depend on it. */
static tn_stmt *loop_around(hoister *x, const tn_For *op, tn_stmt *body) {
  if (!body) return NULL;
  const tn_IfThenElse *branch = TN_AS(IfThenElse, body);
  if (branch && x->blocks && !branch->else_case &&
      !is_invariant(x, branch->condition, op->loop_var))
    return loop_behind_parts(x, op, branch);
  if (!branch || !is_invariant(x, branch->condition, op->loop_var))
    return tir_for_with(op, op->min, op->extent, body);
  tn_IfThenElse copy = *branch;
  TN_GETP(copy.then_case, loop_around(x, op, branch->then_case));
  if (branch->else_case) {
    const tn_For *second = fresh_loop(op, branch->else_case);
    if (!second) return NULL;
    TN_GETP(copy.else_case, loop_around(x, second, second->body));
  }
  return tn_node_copy(&tn_type_IfThenElse, &copy);
}

/* Loops over threads stay what encloses the program of a thread. */
static tn_stmt *hoist(tn_mut *m, tn_For *op) {
  hoister *x = m->ctx;
  bool thread = op->kind == TIR_FOR_THREAD_BINDING;
  if (thread) TN_TRYP(tn_pmap_put_int(&x->axes, op->loop_var, 1));
  tn_For *r = tn_mut_children(m, op);
  return !r || thread ? (tn_stmt *)r : loop_around(x, r, r->body);
}

/* A condition with the index of another thread axis moves over the attribute of one. */
static tn_stmt *hoist_over(tn_mut *m, tn_AttrStmt *op) {
  hoister *x = m->ctx;
  const tn_IterVar *axis = tir_launched_axis(op);
  if (!axis) return tn_mut_children(m, op);
  TN_TRYP(tn_pmap_put_int(&x->axes, axis->var, 1));
  tn_AttrStmt *r = tn_mut_children(m, op);
  const tn_IfThenElse *branch = r ? TN_AS(IfThenElse, r->body) : NULL;
  if (!branch || !x->blocks || !is_invariant(x, branch->condition, axis->var) ||
      !uses_threads(x, branch->condition))
    return (tn_stmt *)r;
  tn_AttrStmt yes = *r, no = *r;
  tn_IfThenElse copy = *branch;
  yes.body = branch->then_case, no.body = branch->else_case;
  TN_GETP(copy.then_case, tn_node_copy(&tn_type_AttrStmt, &yes));
  if (no.body) TN_GETP(copy.else_case, tn_node_copy(&tn_type_AttrStmt, &no));
  return tn_node_copy(&tn_type_IfThenElse, &copy);
}

static bool is_branch(const tn_stmt *s, const void *arg) {
  (void)arg;
  return TN_IS(IfThenElse, s);
}

tn_PrimFunc *tir_hoist_if_then_else(tn_PrimFunc *f, const tn_pass_ctx *c) {
  static const tn_mut_case cases[] = {TN_CASE(For, hoist), TN_CASE(AttrStmt, hoist_over)};
  const char *which = NULL;
  TN_CHECKP(c->nargs == 0 ||
                (tn_any_to_cstr(&c->args[0], &which) == 0 && !strcmp(which, "threads")),
            ValueError, NULL, "HoistIfThenElse: expected no argument or \"threads\"");
  const tn_HoistIfThenElseConfig *o =
      ir_config_node(c->node, "tir.HoistIfThenElse", &tn_type_HoistIfThenElseConfig);
  if (!o) return NULL;
  if (!tir_has_stmt(f->body, is_branch, NULL)) return f;
  bool blocks = o->support_block_scope_hosting != 0;
  hoister x = {.threads = blocks || which, .blocks = blocks};
  TN_MUT(m, cases, &x);
  tn_stmt *body = tn_mut_visit(&m, f->body);
  tn_pmap_fini(&x.axes);
  return tir_with_body(f, body);
}
