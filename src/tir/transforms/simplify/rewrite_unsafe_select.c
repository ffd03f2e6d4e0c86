/* Of `a and b`, `a or b` and Select, code generators may evaluate both sides. Where a side must not
   be evaluated, since it reads memory that may not be there, they become choices of which only one
   side is:

     T.Select(0 < i, A[i - 1], 0)          ->   T.if_then_else(0 < i, A[i - 1], 0)
     0 <= I[i] and A[I[i]] < 3             ->   T.if_then_else(0 <= I[i], A[I[i]] < 3, False)

   A read is harmless when its indices are known to lie in the buffer, or when the operand that is
   evaluated anyway reads the same element. Runs while buffers have their shapes, where indices are
   easy to compare with extents. Vectors stay: they have no branches. */
#include "arith/analyzer.h"
#include "tir/transforms/transforms.h"

typedef struct {
  arith_analyzer known;
  const tn_expr *anyway; /* evaluated in any case */
  const tn_BufferLoad *load;
} rewriter;

/* ---- what is harmless ---- */

static bool same_element(const tn_BufferLoad *a, const tn_BufferLoad *b) {
  if (a->buffer != b->buffer || a->indices->len != b->indices->len) return false;
  for (int64_t i = 0; i < a->indices->len; ++i)
    if (tn_equal(tn_arr_obj(a->indices, i), tn_arr_obj(b->indices, i), 0) != 1) return false;
  return true;
}

/* Choices inside may leave a read out. */
static int reads_it(void *ctx, tn_obj *node) {
  const rewriter *x = ctx;
  if (TN_IS(And, node) || TN_IS(Or, node) || tir_as_call(node, TIR_OP_if_then_else)) return 1;
  const tn_BufferLoad *load = TN_AS(BufferLoad, node);
  return load && same_element(load, x->load) ? 2 : 0;
}

static bool is_inside(rewriter *x, const tn_BufferLoad *load) {
  const tn_arr *shape = load->buffer->shape;
  if (shape->len != load->indices->len) return false;
  for (int64_t i = 0; i < shape->len; ++i) {
    tn_expr *at = (tn_expr *)tn_arr_obj(load->indices, i), *n = (tn_expr *)tn_arr_obj(shape, i);
    if (at->dtype.lanes != 1 || !arith_prove_ge(&x->known, at, 0) ||
        !arith_prove(&x->known, tir_lt(at, n)))
      return false;
  }
  return true;
}

static bool harmless(rewriter *x, const tn_expr *e);

/* Sides of a choice are protected by its condition, as far as that tells something. */
static bool harmless_choice(rewriter *x, const tn_Call *c) {
  tn_expr *cond = (tn_expr *)tn_arr_obj(c->args, 0);
  if (!harmless(x, cond)) return false;
  for (int i = 1; i <= 2; ++i) {
    bool tells = tir_is_pure(cond);
    int64_t mark = tells ? arith_enter(&x->known, i == 1 ? cond : tir_not(cond, NULL)) : 0;
    if (mark < 0) return false;
    bool good = harmless(x, (tn_expr *)tn_arr_obj(c->args, i));
    if (tells) arith_leave(&x->known, mark);
    if (!good) return false;
  }
  return true;
}

static int look(void *ctx, tn_obj *node) {
  rewriter *x = ctx;
  const tn_Call *call = TN_AS(Call, node);
  x->load = TN_AS(BufferLoad, node);
  if (tir_as_call(node, TIR_OP_address_of)) return 1;
  if (tir_as_call(node, TIR_OP_if_then_else)) return harmless_choice(x, call) ? 1 : 2;
  if (call) return tir_call_effect((tn_obj *)call->op) > TIR_EFFECT_PURE ? 2 : 0;
  if (!x->load || is_inside(x, x->load)) return 0;
  return x->anyway && tn_pre_order(x->anyway, reads_it, x) == 2 ? 0 : 2;
}

static bool harmless(rewriter *x, const tn_expr *e) { return tn_pre_order(e, look, x) == 0; }

static bool is_safe(rewriter *x, const tn_expr *e, const tn_expr *anyway) {
  x->anyway = anyway;
  return harmless(x, e) && !tn_error_pending();
}

/* ---- rewriting ---- */

static tn_expr *select(tn_mut *m, tn_Select *op) {
  rewriter *x = m->ctx;
  tn_Select *s = tn_mut_children(m, op);
  if (!s || s->dtype.lanes > 1 || s->condition->dtype.lanes > 1) return (tn_expr *)s;
  if (is_safe(x, s->true_value, s->condition) && is_safe(x, s->false_value, s->condition))
    return (tn_expr *)s;
  if (tn_error_pending()) return NULL;
  return tir_if_then_else(s->condition, s->true_value, s->false_value, s->span);
}

static tn_expr *logic(tn_mut *m, tn_expr *op) {
  tn_expr *e = tn_mut_children(m, op);
  const tn_BinaryOp *b = e ? TN_AS_BINARY(e) : NULL;
  if (!b || e->dtype.lanes > 1 || is_safe(m->ctx, b->b, b->a)) return e;
  if (tn_error_pending()) return NULL;
  if (TN_IS(And, e)) return tir_if_then_else(b->a, b->b, tir_bool(false), e->span);
  return tir_if_then_else(b->a, tir_bool(true), b->b, e->span);
}

/* ---- what is known ---- */

static tn_stmt *for_loop(tn_mut *m, tn_For *op) {
  rewriter *x = m->ctx;
  tn_expr *min = tn_mut_visit(m, op->min), *extent = tn_mut_visit(m, op->extent);
  tn_Range *r = tir_range(op->min, op->extent);
  if (!r || !min || !extent || arith_bind_range(&x->known, op->loop_var, r, true)) return NULL;
  tn_stmt *body = tn_mut_visit(m, op->body);
  arith_unbind(&x->known, op->loop_var);
  return tir_for_with(op, min, extent, body);
}

/* Visits a statement under a condition, which has to hold as long as the statement runs. */
static tn_stmt *under(tn_mut *m, tn_expr *cond, tn_stmt *s) {
  rewriter *x = m->ctx;
  if (!s || !cond || !tir_is_pure(cond)) return s && cond ? tn_mut_visit(m, s) : NULL;
  int64_t mark = arith_enter(&x->known, cond);
  if (mark < 0) return NULL;
  s = tn_mut_visit(m, s);
  arith_leave(&x->known, mark);
  return s;
}

static tn_stmt *if_stmt(tn_mut *m, tn_IfThenElse *op) {
  tn_IfThenElse copy = *op;
  TN_GETP(copy.condition, tn_mut_visit(m, op->condition));
  TN_GETP(copy.then_case, under(m, op->condition, op->then_case));
  if (op->else_case) TN_GETP(copy.else_case, under(m, tir_not(op->condition, NULL), op->else_case));
  bool same = copy.condition == op->condition && copy.then_case == op->then_case &&
              copy.else_case == op->else_case;
  return same ? (tn_stmt *)op : tn_node_copy(&tn_type_IfThenElse, &copy);
}

static tn_stmt *let_stmt(tn_mut *m, tn_LetStmt *op) {
  rewriter *x = m->ctx;
  tn_LetStmt copy = *op;
  bool index = ir_is_int(op->var->dtype) && op->var->dtype.lanes == 1 && tir_is_pure(op->value);
  TN_GETP(copy.value, tn_mut_visit(m, op->value));
  if (index) TN_TRYP(arith_bind(&x->known, op->var, op->value, true));
  copy.body = tn_mut_visit(m, op->body);
  if (index) arith_unbind(&x->known, op->var);
  if (!copy.body) return NULL;
  bool same = copy.value == op->value && copy.body == op->body;
  return same ? (tn_stmt *)op : tn_node_copy(&tn_type_LetStmt, &copy);
}

tn_PrimFunc *tir_rewrite_unsafe_select(tn_PrimFunc *f, const tn_pass_ctx *c) {
  static const tn_mut_case cases[] = {TN_CASE(Select, select),    TN_CASE(And, logic),
                                      TN_CASE(Or, logic),         TN_CASE(For, for_loop),
                                      TN_CASE(LetStmt, let_stmt), TN_CASE(IfThenElse, if_stmt)};
  (void)c;
  rewriter x = {.anyway = NULL};
  TN_MUT(m, cases, &x);
  tn_stmt *body = tn_mut_visit(&m, f->body);
  arith_fini(&x.known);
  return tir_with_body(f, body);
}
