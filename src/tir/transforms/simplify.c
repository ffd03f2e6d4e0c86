/* Simplifies expressions with what is known where they stand: ranges of loop variables, conditions,
   values of bindings; drops branches that cannot be taken.

     for i in range(8):                         for i in range(8):
       if i < 10:                          ->     A[i] = 0
         A[(i * 4 + 3) // 4] = 0 */
#include "arith/analyzer.h"
#include "tir/transforms/transforms.h"

/* Handles and texts are left alone; everything else is simplified as a whole. */
static tn_obj *simplify(tn_mut *m, tn_obj *o) {
  const tn_expr *e = (const tn_expr *)o;
  if (!TN_IS(PrimExpr, o)) return tn_mut_children(m, o);
  if (TN_IS(StringImm, o) || e->dtype.code == kDLOpaqueHandle) return o;
  return (tn_obj *)arith_simplify(m->ctx, (tn_expr *)o);
}

static tn_obj *leave_alone(tn_mut *m, tn_obj *o) {
  (void)m;
  return o;
}

static tn_stmt *simplify_for(tn_mut *m, tn_For *op) {
  arith_analyzer *a = m->ctx;
  tn_expr *min = tn_mut_visit(m, op->min), *extent = tn_mut_visit(m, op->extent);
  tn_Range *r = tir_range(min, extent);
  if (!r || arith_bind_range(a, op->loop_var, r, true)) return NULL;
  /* a loop that is left out says nothing about what follows */
  tn_stmt *body = tn_mut_visit(m, op->body);
  arith_unbind(a, op->loop_var);
  return tir_for_with(op, min, extent, body);
}

static tn_stmt *under(tn_mut *m, tn_expr *cond, tn_stmt *s) {
  int64_t mark = arith_enter(m->ctx, cond);
  if (mark < 0) return NULL;
  tn_stmt *r = tn_mut_visit(m, s);
  arith_leave(m->ctx, mark);
  return r;
}

static tn_stmt *simplify_if(tn_mut *m, tn_IfThenElse *op) {
  int64_t known;
  tn_IfThenElse copy = *op;
  TN_GETP(copy.condition, tn_mut_visit(m, op->condition));
  const tn_Call *likely = tir_as_call((tn_obj *)copy.condition, TIR_OP_likely);
  tn_expr *cond = likely ? (tn_expr *)tn_arr_obj(likely->args, 0) : copy.condition;
  if (tir_as_int((tn_obj *)cond, &known)) {
    tn_stmt *taken = known ? op->then_case : op->else_case;
    return taken ? tn_mut_visit(m, taken) : tir_nop();
  }
  TN_GETP(copy.then_case, under(m, cond, op->then_case));
  if (op->else_case) TN_GETP(copy.else_case, under(m, tir_not(cond, NULL), op->else_case));
  bool same = copy.condition == op->condition && copy.then_case == op->then_case &&
              copy.else_case == op->else_case;
  return same ? (tn_stmt *)op : tn_node_copy(&tn_type_IfThenElse, &copy);
}

#define SIMPLIFY_CASE(Name, Base, key, kind, role, hooks, doc) TN_CASE(Name, simplify),

tn_PrimFunc *tir_simplify(tn_PrimFunc *f, const tn_pass_ctx *c) {
  static const tn_mut_case cases[] = {TN_EXPR_NODES(SIMPLIFY_CASE) TN_CASE(BufferLoad, simplify),
                                      TN_CASE(Buffer, leave_alone), TN_CASE(For, simplify_for),
                                      TN_CASE(IfThenElse, simplify_if)};
  (void)c;
  TN_ARITH(a);
  TN_MUT(m, cases, &a);
  return tir_with_body(f, tn_mut_visit(&m, f->body));
}
