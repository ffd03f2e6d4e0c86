/* A condition goes where doing its work anyway changes nothing: where one branch, with what is
   known when the other is taken, comes down to the other.

     for i in range(16):                        for i in range(16):
       if i > 0:                          ->      A[0] = A[0] + i * i
         A[0] = A[0] + i * i

   What is computed in vain must not fail: its accesses stay inside of their buffers and nothing is
   divided by what may be zero, or the condition stays. So it does where iterations run at the same
   time: what one stores in vain another may have changed meanwhile. */
#include "tir/transforms/simplify/known_values.h"

/* ---- may it be done when its condition does not hold? ---- */

typedef struct {
  arith_analyzer *known;
  bool fails;
} safety;

static bool inside(arith_analyzer *known, const tn_Buffer *b, const tn_arr *indices) {
  for (int64_t i = 0; i < indices->len; ++i) {
    tn_expr *at = (tn_expr *)tn_arr_obj(indices, i), *extent = (tn_expr *)tn_arr_obj(b->shape, i);
    const tn_Ramp *ramp = TN_AS(Ramp, at);
    if (ramp && !tir_is_const((tn_obj *)ramp->stride, 1)) return false;
    tn_expr *first = ramp ? ramp->base : at, *last = first;
    if (first->dtype.lanes != 1) return false;
    if (ramp) last = tir_add(first, tir_lanes(first->dtype, ramp->lanes, -1));
    if (!arith_prove(known, tir_ge(first, tir_zero(first->dtype)))) return false;
    if (!arith_prove(known, tir_lt(last, extent))) return false;
  }
  return true;
}

static tn_obj *look_load(tn_mut *m, tn_BufferLoad *op) {
  safety *s = m->ctx;
  s->fails = s->fails || !inside(s->known, op->buffer, op->indices);
  return tn_mut_children(m, op);
}
static tn_obj *look_store(tn_mut *m, tn_BufferStore *op) {
  safety *s = m->ctx;
  s->fails = s->fails || !inside(s->known, op->buffer, op->indices);
  return tn_mut_children(m, op);
}
static tn_obj *look_division(tn_mut *m, tn_obj *o) {
  safety *s = m->ctx;
  const tn_BinaryOp *op = TN_AS_BINARY(o);
  if (ir_is_integral(op->dtype) &&
      !(op->dtype.lanes == 1 && arith_prove(s->known, tir_ne(op->b, tir_zero(op->b->dtype)))))
    s->fails = true;
  return tn_mut_children(m, o);
}
static tn_obj *look_call(tn_mut *m, tn_Call *op) {
  safety *s = m->ctx;
  if (tir_call_effect((tn_obj *)op->op) > TIR_EFFECT_PURE) s->fails = true;
  return tn_mut_children(m, op);
}
static tn_obj *look_for(tn_mut *m, tn_For *op) {
  safety *s = m->ctx;
  tn_Range *r = tir_range(op->min, op->extent);
  if (!r || arith_bind_range(s->known, op->loop_var, r, true)) return NULL;
  tn_obj *good = tn_mut_visit(m, op->body);
  arith_unbind(s->known, op->loop_var);
  return good ? (tn_obj *)op : NULL;
}
static int look_under(tn_mut *m, tn_expr *cond, const tn_stmt *s) {
  safety *x = m->ctx;
  if (!s) return 0;
  int64_t mark = cond ? arith_enter(x->known, cond) : -1;
  if (mark < 0) return -1;
  bool good = tn_mut_visit(m, s) != NULL;
  arith_leave(x->known, mark);
  return good ? 0 : -1;
}
static tn_obj *look_if(tn_mut *m, tn_IfThenElse *op) {
  if (!tn_mut_visit(m, op->condition) || look_under(m, op->condition, op->then_case) ||
      look_under(m, tir_not(op->condition, NULL), op->else_case))
    return NULL;
  return (tn_obj *)op;
}
static tn_obj *look_while(tn_mut *m, tn_While *op) {
  ((safety *)m->ctx)->fails = true; /* it may not end */
  return tn_mut_children(m, op);
}
static tn_obj *skip(tn_mut *m, tn_obj *o) {
  (void)m;
  return o;
}

/* 1 when nothing of the statement can fail with what is known, 0, or -1 with an error. */
static int is_safe(arith_analyzer *known, tn_stmt *s) {
  static const tn_mut_case cases[] = {TN_CASE(BufferLoad, look_load),
                                      TN_CASE(BufferStore, look_store),
                                      TN_CASE(Div, look_division),
                                      TN_CASE(Mod, look_division),
                                      TN_CASE(FloorDiv, look_division),
                                      TN_CASE(FloorMod, look_division),
                                      TN_CASE(Call, look_call),
                                      TN_CASE(For, look_for),
                                      TN_CASE(IfThenElse, look_if),
                                      TN_CASE(While, look_while),
                                      TN_CASE(Buffer, skip)};
  safety x = {.known = known};
  TN_MUT(m, cases, &x);
  return tn_mut_visit(&m, s) ? !x.fails : -1;
}

/* ---- conditions ---- */

typedef struct {
  arith_analyzer *known;
  int together;        /* loops around whose iterations run at the same time */
  const tn_vec *facts; /* of earlier stores; NULL: not asked for */
} reducer;

typedef struct {
  arith_analyzer *known;
  tn_pmap values; /* variables that can have one value only */
} settled;

static int note_settled(void *ctx, tn_obj *o) {
  settled *x = ctx;
  const tn_Var *v = (const tn_Var *)o;
  if (!TN_IS(Var, o) || !ir_is_int(v->dtype) || v->dtype.lanes != 1) return 0;
  arith_bound b = arith_const_bound(x->known, (const tn_expr *)v);
  return b.min == b.max ? tn_pmap_put(&x->values, v, tir_int(v->dtype, b.min)) : 0;
}

/* The statement with what was stored before it. */
static tn_stmt *with_facts(const reducer *y, tn_stmt *s) {
  tir_known x = {.a = y->known, .use = TIR_KNOWN_CONDITIONS | TIR_KNOWN_VALUES | TIR_KNOWN_STORES};
  s = tir_known_copy(y->facts, &x.facts) ? NULL : tir_known_follow(&x, s);
  tn_vec_fini(&x.facts);
  return s;
}

/* What remains of a statement with what is known, which the condition is part of. */
static tn_stmt *remainder_of(const reducer *y, const tn_expr *cond, tn_stmt *s) {
  settled x = {.known = y->known};
  int err = tn_post_order(cond, note_settled, &x);
  tn_stmt *r = err ? NULL : tir_substitute(s, &x.values);
  tn_pmap_fini(&x.values);
  if (r && y->facts) r = with_facts(y, r);
  return r ? tir_remove_no_op_stmt(tir_simplify_stmt(y->known, r)) : NULL;
}

static int note_buffer(void *ctx, tn_obj *o) {
  return TN_AS(Buffer, o) ? tn_vec_push_obj(ctx, o) : 0;
}

/* Are the statements equal, and over the same buffers? Structural equality takes two buffers that
   look alike for one. */
static int same_stmt(const tn_stmt *a, const tn_stmt *b) {
  TN_VEC(x);
  TN_VEC(y);
  int same = tn_equal(a, b, 0);
  if (same != 1) return same;
  TN_TRY(tn_post_order(a, note_buffer, &x) || tn_post_order(b, note_buffer, &y));
  if (x.len != y.len) return 0;
  for (int64_t i = 0; i < x.len; ++i)
    if (x.items[i].v.obj != y.items[i].v.obj) return 0;
  return 1;
}

/* Is `all`, done where `cond` holds, nothing but `part`? 1, 0, or -1 with an error. */
static int comes_down_to(const reducer *x, tn_expr *cond, tn_stmt *all, tn_stmt *part) {
  int64_t mark = cond ? arith_enter(x->known, cond) : -1;
  if (mark < 0) return -1;
  tn_stmt *a = remainder_of(x, cond, all), *b = a ? remainder_of(x, cond, part) : NULL;
  int same = b ? same_stmt(a, b) : -1;
  if (same == 1) same = is_safe(x->known, all);
  arith_leave(x->known, mark);
  return same;
}

static tn_stmt *reduced(const reducer *x, tn_IfThenElse *r) {
  if (x->together || !tir_is_pure(r->condition)) return (tn_stmt *)r;
  tn_stmt *other = r->else_case ? r->else_case : tir_nop();
  tn_expr *no = tir_not(r->condition, NULL);
  if (!other || !no) return NULL;
  int then_covers = comes_down_to(x, no, r->then_case, other);
  if (then_covers) return then_covers < 0 ? NULL : r->then_case;
  if (!r->else_case) return (tn_stmt *)r;
  int else_covers = comes_down_to(x, r->condition, r->else_case, r->then_case);
  if (else_covers < 0) return NULL;
  return else_covers ? r->else_case : (tn_stmt *)r;
}

static tn_stmt *reduce_if(tn_mut *m, tn_IfThenElse *op) {
  tn_IfThenElse *r = tn_mut_children(m, op);
  return r ? reduced(m->ctx, r) : NULL;
}

static tn_stmt *reduce_known(tir_known *k, tn_IfThenElse *op) {
  reducer x = {.known = k->a, .together = k->together + k->opaque, .facts = &k->facts};
  return reduced(&x, op);
}

static tn_stmt *in_loop(tn_mut *m, tn_For *op) {
  reducer *x = m->ctx;
  bool together = op->kind != TIR_FOR_SERIAL && op->kind != TIR_FOR_UNROLLED;
  tn_Range *r = tir_range(op->min, op->extent);
  if (!r || arith_bind_range(x->known, op->loop_var, r, true)) return NULL;
  x->together += together;
  tn_stmt *body = tn_mut_visit(m, op->body);
  x->together -= together;
  arith_unbind(x->known, op->loop_var);
  return tir_for_with(op, op->min, op->extent, body);
}

static tn_stmt *in_threads(tn_mut *m, tn_AttrStmt *op) {
  reducer *x = m->ctx;
  bool threads = TN_IS(IterVar, op->node);
  x->together += threads;
  tn_stmt *s = tn_mut_children(m, op);
  x->together -= threads;
  return s;
}

tn_PrimFunc *tir_reduce_branching(tn_PrimFunc *f, const tn_pass_ctx *c) {
  static const tn_mut_case cases[] = {TN_CASE(IfThenElse, reduce_if), TN_CASE(For, in_loop),
                                      TN_CASE(AttrStmt, in_threads)};
  TN_ARITH(known);
  const tn_ReduceBranchingThroughOvercomputeConfig *o =
      ir_config_node(c->node, "tir.ReduceBranchingThroughOvercompute",
                     &tn_type_ReduceBranchingThroughOvercomputeConfig);
  if (!o) return NULL;
  if (o->use_dataflow_analysis) {
    tir_known k = {.a = &known, .on_if = reduce_known};
    tn_stmt *body = tir_known_follow(&k, f->body);
    tn_vec_fini(&k.facts);
    return tir_with_body(f, body);
  }
  reducer x = {.known = &known};
  TN_MUT(m, cases, &x);
  return tir_with_body(f, tn_mut_visit(&m, f->body));
}
