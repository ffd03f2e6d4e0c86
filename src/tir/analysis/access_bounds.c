/* Walking over accesses (see access_bounds.h). */
#include "tir/analysis/access_bounds.h"

#include "base/error.h"
#include "ir/expr.h"
#include "ir/functor.h"
#include "tir/rewrite.h"

void tir_access_fini(access_bounds *x) {
  arith_fini(&x->known);
  tn_pmap_fini(&x->values);
  tn_vec_fini(&x->conditions);
}

static tn_expr *seen(access_bounds *x, tn_expr *e) { return e && x->see ? x->see(x, e) : e; }

static tn_obj *at_load(tn_mut *m, tn_BufferLoad *op) {
  access_bounds *x = m->ctx;
  TN_TRYP(x->access(x, op->buffer, op->indices));
  return tn_mut_children(m, op);
}
static tn_obj *at_store(tn_mut *m, tn_BufferStore *op) {
  access_bounds *x = m->ctx;
  TN_TRYP(x->access(x, op->buffer, op->indices));
  tn_obj *r = tn_mut_children(m, op);
  if (x->changed) x->changed(x);
  return r;
}

/* Visits a part under a condition; NULL is not part. */
static int visit_under(tn_mut *m, tn_expr *cond, const void *part) {
  access_bounds *x = m->ctx;
  if (!part) return 0;
  int64_t mark = cond ? arith_enter(&x->known, cond) : -1;
  if (mark < 0) return -1;
  bool good = tn_vec_push_obj(&x->conditions, cond) == 0 && tn_mut_visit(m, part) != NULL;
  if (x->conditions.len) --x->conditions.len;
  arith_leave(&x->known, mark);
  return good ? 0 : -1;
}

static tn_obj *under_if(tn_mut *m, tn_IfThenElse *op) {
  access_bounds *x = m->ctx;
  tn_expr *cond;
  if (!tn_mut_visit(m, op->condition)) return NULL;
  TN_GETP(cond, seen(x, op->condition));
  TN_TRYP(visit_under(m, cond, op->then_case));
  TN_TRYP(visit_under(m, tir_not(cond, NULL), op->else_case));
  return (tn_obj *)op;
}

static tn_obj *under_call(tn_mut *m, tn_Call *op) {
  access_bounds *x = m->ctx;
  if (!tir_as_call((tn_obj *)op, TIR_OP_if_then_else) || op->args->len != 3)
    return tn_mut_children(m, op);
  tn_expr *cond;
  if (!tn_mut_visit(m, tn_arr_obj(op->args, 0))) return NULL;
  TN_GETP(cond, seen(x, (tn_expr *)tn_arr_obj(op->args, 0)));
  TN_TRYP(visit_under(m, cond, tn_arr_obj(op->args, 1)));
  TN_TRYP(visit_under(m, tir_not(cond, NULL), tn_arr_obj(op->args, 2)));
  return (tn_obj *)op;
}

static tn_obj *under_for(tn_mut *m, tn_For *op) {
  access_bounds *x = m->ctx;
  tn_Range *r;
  tn_expr *min, *extent;
  if (!tn_mut_visit(m, op->min) || !tn_mut_visit(m, op->extent)) return NULL;
  if (tir_is_zero(op->extent)) return (tn_obj *)op;
  TN_GETP(min, seen(x, op->min));
  TN_GETP(extent, seen(x, op->extent));
  TN_GETP(r, tir_range(op->min, op->extent));
  TN_TRYP(arith_bind_range(&x->known, op->loop_var, r, true));
  if (x->loop) TN_TRYP(x->loop(x, op->loop_var, min, extent));
  if (x->changed) x->changed(x);
  bool good = tn_mut_visit(m, op->body) != NULL;
  arith_unbind(&x->known, op->loop_var);
  return good ? (tn_obj *)op : NULL;
}

/* The variable stands for a value until `forget`. */
static int define(access_bounds *x, tn_Var *v, tn_expr *value) {
  TN_GET(value, seen(x, value));
  if (x->see) return tn_pmap_put(&x->values, v, value);
  return arith_bind(&x->known, v, value, true);
}

/* An iterator takes the values that it is given, which may be fewer than its domain has. */
static tn_obj *under_block(tn_mut *m, tn_BlockRealize *op) {
  access_bounds *x = m->ctx;
  const tn_arr *iters = op->block->iter_vars;
  tn_expr *cond;
  for (int64_t i = 0; i < iters->len; ++i) {
    tn_Var *v = ((tn_IterVar *)tn_arr_obj(iters, i))->var;
    TN_TRYP(define(x, v, (tn_expr *)tn_arr_obj(op->iter_values, i)));
  }
  TN_GETP(cond, seen(x, op->predicate));
  TN_TRYP(visit_under(m, cond, op->block->init));
  TN_TRYP(visit_under(m, cond, op->block->body));
  for (int64_t i = 0; i < iters->len; ++i)
    arith_unbind(&x->known, ((tn_IterVar *)tn_arr_obj(iters, i))->var);
  return (tn_obj *)op;
}

static tn_obj *under_let(tn_mut *m, tn_LetStmt *op) {
  access_bounds *x = m->ctx;
  tn_expr *value;
  if (!tn_mut_visit(m, op->value)) return NULL;
  TN_GETP(value, seen(x, op->value));
  bool index = ir_is_int(op->var->dtype) && op->var->dtype.lanes == 1 && tir_is_pure(value);
  if (index) TN_TRYP(define(x, op->var, value));
  bool good = tn_mut_visit(m, op->body) != NULL;
  if (index) arith_unbind(&x->known, op->var);
  return good ? (tn_obj *)op : NULL;
}

static tn_obj *leave(tn_mut *m, tn_obj *o) {
  (void)m;
  return o;
}

int tir_walk_accesses(access_bounds *x, const tn_stmt *s) {
  static const tn_mut_case cases[] = {
      TN_CASE(BufferLoad, at_load),  TN_CASE(BufferStore, at_store),
      TN_CASE(IfThenElse, under_if), TN_CASE(Call, under_call),
      TN_CASE(For, under_for),       TN_CASE(BlockRealize, under_block),
      TN_CASE(LetStmt, under_let),   TN_CASE(Buffer, leave)};
  TN_MUT(m, cases, x);
  return tn_mut_visit(&m, s) ? 0 : -1;
}
