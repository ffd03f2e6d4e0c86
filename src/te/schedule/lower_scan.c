/* Scans as loops: each step computes the update, and all that reads the state for it.

     for t in range(steps):
       <stages at the loop, the update last>, at scan_axis = first + t

   Results, first values, update and state are one buffer, so there is nothing to copy. */
#include "te/schedule/lower_impl.h"

static bool reads(const tn_arr *tensors, const tn_Operation *op) {
  for (int64_t i = 0; i < tensors->len; ++i) {
    if (((const tn_Tensor *)tn_arr_obj(tensors, i))->op == op) return true;
  }
  return false;
}

/* Only where nobody else reads them: that could come before the scan. */
bool te_is_inside_scan(const te_lowerer *l, const tn_Operation *op) {
  bool found = false;
  for (int64_t i = 0; i < l->s->stages->len; ++i) {
    const tn_TeStage *st = te_stage_at(l->s, i);
    const tn_ScanOp *scan = TN_AS(ScanOp, st->op);
    const tn_arr *inputs = te_inputs(st->op);
    if (!inputs || !reads(inputs, op)) continue;
    if (found || !scan || !st->env_threads->len || !reads(scan->init, op)) return false;
    found = true;
  }
  return found;
}

static int first_values(te_lowerer *l, const tn_ScanOp *scan, tn_vec *stmts) {
  for (int64_t i = 0; i < l->s->stages->len; ++i) {
    const tn_TeStage *st = te_stage_at(l->s, i);
    if (reads(scan->init, st->op) && te_is_inside_scan(l, st->op))
      TN_TRY(tn_vec_push_obj(stmts, te_lower_stage(l, st)));
  }
  return 0;
}

/* Which step it is, over the loops, and where that is one. */
static int set_step(te_lowerer *l, const tn_TeStage *st, tn_vec *conditions) {
  TN_PMAP(value);
  const tn_IterVar *axis = ((const tn_ScanOp *)st->op)->scan_axis;
  const tn_expr *step;
  for (int64_t i = 0; i < st->leaf_iter_vars->len; ++i)
    TN_TRY(tn_pmap_put(&value, te_iv(st->leaf_iter_vars, i), te_iv(st->leaf_iter_vars, i)->var));
  TN_TRY(te_pass_up_index(st, &l->b.dom, &value, false));
  TN_TRY(te_bound_checks(st, &l->b.dom, &value, false, NULL, conditions));
  TN_GET(step, te_lower_expr(l, tn_pmap_get(&value, axis)));
  return tn_pmap_put(&l->vars, axis->var, step);
}

static tn_stmt *steps(te_lowerer *l, const tn_TeStage *st, int64_t at) {
  TN_VEC(stmts);
  TN_VEC(allocs);
  TN_VEC(conditions);
  te_loop f;
  bool last = at + 1 == st->leaf_iter_vars->len;
  if (te_enter_loop(l, st, te_iv(st->leaf_iter_vars, at), false, &f)) return NULL;
  if (last) TN_TRYP(set_step(l, st, &conditions));
  TN_TRYP(te_producers_at(l, st, at, &stmts, &allocs));
  if (!last) TN_TRYP(tn_vec_push_obj(&stmts, steps(l, st, at + 1)));
  tn_stmt *body = te_allocating(l, &allocs, tir_seq(&stmts));
  return te_leave_loop(l, &f, body ? te_guarded(l, &conditions, NULL, body) : NULL);
}

tn_stmt *te_lower_scan(te_lowerer *l, const tn_TeStage *st) {
  TN_VEC(stmts);
  TN_TRYP(first_values(l, (const tn_ScanOp *)st->op, &stmts));
  TN_TRYP(tn_vec_push_obj(&stmts, steps(l, st, 0)));
  return tir_seq(&stmts);
}
