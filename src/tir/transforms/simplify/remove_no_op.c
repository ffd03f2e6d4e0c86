/* Drops statements without effect: empty loops and conditions, loops without an iteration, bindings
   and allocations that nothing uses, evaluations of pure expressions, stores of what is there
   already; where the option asks for it, stores that are overwritten unread.

     for i in range(8):
       T.evaluate(0)                       ->   B[0] = 1
     B[0] = 1 */
#include "tir/transforms/simplify/known_values.h"

#include "arith/analyzer.h"

static tn_stmt *eval(tn_expr *e) {
  if (!e) return NULL;
  if (tir_side_effect(e) <= TIR_EFFECT_READ) return tir_nop();
  return (tn_stmt *)TN_NEW(Evaluate, .value = e);
}
static tn_stmt *eval2(tn_expr *a, tn_expr *b) { return tir_seq2(eval(a), eval(b)); }

/* The variables that the function uses, found when the first binding is met. */
typedef struct {
  const void *program;
  tn_pmap used;
  bool looked;
  arith_analyzer *known; /* ranges, values and conditions around */
} remover;

static bool is_use(const tn_obj *parent, const tn_field *field, const tn_obj *child) {
  (void)child;
  bool binds = TN_IS(LetStmt, parent) || TN_IS(Let, parent) || TN_IS(For, parent);
  return !(binds && field && (field->flags & TN_DEF));
}

static int note_var(void *ctx, tn_obj *node) {
  return TN_IS(Var, node) ? tn_pmap_put_int(ctx, node, 1) : 0;
}

/* A binding that nothing uses goes; the effect of its value stays. */
static tn_stmt *drop_let(tn_mut *m, tn_LetStmt *op) {
  remover *x = m->ctx;
  bool integer = ir_is_integral(op->var->dtype) && op->var->dtype.lanes == 1;
  bool known = integer && tir_is_pure(op->value);
  if (known) TN_TRYP(arith_bind(x->known, op->var, op->value, true));
  tn_LetStmt *r = tn_mut_children(m, op);
  if (known) arith_unbind(x->known, op->var);
  if (!r) return NULL;
  if (tir_is_nop(r->body)) return eval(r->value);
  if (!x->looked) TN_TRYP(tn_post_order_if(x->program, is_use, note_var, &x->used));
  x->looked = true;
  if (tn_pmap_has(&x->used, r->var)) return (tn_stmt *)r;
  return tir_side_effect(r->value) <= TIR_EFFECT_READ ? r->body : tir_seq2(eval(r->value), r->body);
}
static tn_stmt *drop_attr(tn_mut *m, tn_AttrStmt *op) {
  if (tn_str_eq(op->attr_key, "pragma_debug_skip_region")) return tir_nop();
  tn_AttrStmt *r = tn_mut_children(m, op);
  return r && tir_is_nop(r->body) ? eval(r->value) : (tn_stmt *)r;
}
/* A branch, knowing that its condition holds. */
static tn_stmt *under(tn_mut *m, tn_expr *cond, tn_stmt *s) {
  arith_analyzer *a = ((remover *)m->ctx)->known;
  int64_t mark = cond ? arith_enter(a, cond) : -1;
  if (mark < 0) return NULL;
  tn_stmt *r = tn_mut_visit(m, s);
  arith_leave(a, mark);
  return r;
}

/* What is left of a condition whose parts were visited. */
static tn_stmt *without_idle_branches(tn_IfThenElse *r) {
  int64_t c;
  if (tir_as_int((tn_obj *)r->condition, &c))
    return c ? r->then_case : r->else_case ? r->else_case : tir_nop();
  if (r->else_case && tir_is_nop(r->else_case)) {
    tn_IfThenElse copy = *r;
    copy.else_case = NULL;
    TN_GETP(r, tn_node_copy(&tn_type_IfThenElse, &copy));
  }
  if (!tir_is_nop(r->then_case)) return (tn_stmt *)r;
  if (!r->else_case) return eval(r->condition);
  return (tn_stmt *)TN_MAKE(IfThenElse, .condition = tir_not(r->condition, NULL),
                            .then_case = r->else_case);
}

static tn_stmt *drop_if(tn_mut *m, tn_IfThenElse *op) {
  tn_IfThenElse copy = *op;
  TN_GETP(copy.condition, tn_mut_visit(m, op->condition));
  TN_GETP(copy.then_case, under(m, copy.condition, op->then_case));
  if (op->else_case)
    TN_GETP(copy.else_case, under(m, tir_not(copy.condition, NULL), op->else_case));
  bool same = copy.condition == op->condition && copy.then_case == op->then_case &&
              copy.else_case == op->else_case;
  tn_IfThenElse *r = op;
  if (!same) TN_GETP(r, tn_node_copy(&tn_type_IfThenElse, &copy));
  return without_idle_branches(r);
}

static tn_stmt *drop_for(tn_mut *m, tn_For *op) {
  arith_analyzer *a = ((remover *)m->ctx)->known;
  tn_Range *range;
  TN_GETP(range, tir_range(op->min, op->extent));
  if (arith_prove_lt(a, op->extent, 1) && tir_is_pure(op->extent)) return tir_nop();
  TN_TRYP(arith_bind_range(a, op->loop_var, range, true));
  tn_For *r = tn_mut_children(m, op);
  arith_unbind(a, op->loop_var);
  if (!r) return NULL;
  return tir_is_nop(r->body) ? eval2(r->min, r->extent) : (tn_stmt *)r;
}
static tn_stmt *drop_while(tn_mut *m, tn_While *op) {
  tn_While *r = tn_mut_children(m, op);
  return r && tir_is_zero(r->condition) ? tir_nop() : (tn_stmt *)r;
}
static tn_stmt *drop_allocate(tn_mut *m, tn_Allocate *op) {
  tn_Allocate *r = tn_mut_children(m, op);
  return r && tir_is_nop(r->body) ? tir_nop() : (tn_stmt *)r;
}
static tn_stmt *drop_const(tn_mut *m, tn_AllocateConst *op) {
  tn_AllocateConst *r = tn_mut_children(m, op);
  return r && tir_is_nop(r->body) ? tir_nop() : (tn_stmt *)r;
}
static tn_stmt *drop_decl(tn_mut *m, tn_DeclBuffer *op) {
  tn_DeclBuffer *r = tn_mut_children(m, op);
  return r && tir_is_nop(r->body) ? tir_nop() : (tn_stmt *)r;
}
static tn_stmt *drop_evaluate(tn_mut *m, tn_Evaluate *op) {
  (void)m;
  return tir_is_nop((tn_stmt *)op) || tir_side_effect(op->value) > TIR_EFFECT_READ ? (tn_stmt *)op
                                                                                   : tir_nop();
}
static tn_stmt *drop_store(tn_mut *m, tn_BufferStore *op) {
  arith_analyzer *a = ((remover *)m->ctx)->known;
  const tn_BufferLoad *l = TN_AS(BufferLoad, op->value);
  bool same = l && l->buffer == op->buffer && tir_side_effect(op->value) <= TIR_EFFECT_READ;
  for (int64_t i = 0; same && i < op->indices->len; ++i) {
    tn_expr *x = (tn_expr *)tn_arr_obj(l->indices, i), *y = (tn_expr *)tn_arr_obj(op->indices, i);
    bool scalar = x->dtype.lanes == 1 && tn_dtype_eq(x->dtype, y->dtype);
    same = arith_same(x, y) || (scalar && arith_prove(a, tir_eq(x, y)));
  }
  return same ? tir_nop() : (tn_stmt *)op;
}
static tn_stmt *drop_in_sequence(tn_mut *m, tn_SeqStmt *op) {
  TN_VEC(items);
  bool changed = false;
  for (int64_t i = 0; i < op->seq->len; ++i) {
    tn_stmt *s;
    TN_GETP(s, tn_mut_visit(m, tn_arr_obj(op->seq, i)));
    changed |= s != (tn_stmt *)tn_arr_obj(op->seq, i) || tir_is_nop(s);
    if (!tir_is_nop(s)) TN_TRYP(tn_vec_push_obj(&items, s));
  }
  return changed ? tir_seq(&items) : (tn_stmt *)op;
}

static tn_stmt *remove_in(const void *program, tn_stmt *s) {
  static const tn_mut_case cases[] = {
      TN_CASE(LetStmt, drop_let),         TN_CASE(AttrStmt, drop_attr),
      TN_CASE(IfThenElse, drop_if),       TN_CASE(For, drop_for),
      TN_CASE(While, drop_while),         TN_CASE(Allocate, drop_allocate),
      TN_CASE(AllocateConst, drop_const), TN_CASE(DeclBuffer, drop_decl),
      TN_CASE(Evaluate, drop_evaluate),   TN_CASE(BufferStore, drop_store),
      TN_CASE(SeqStmt, drop_in_sequence)};
  TN_ARITH(known);
  remover x = {.program = program, .known = &known};
  TN_MUT(m, cases, &x);
  tn_stmt *body = tn_mut_visit(&m, s);
  tn_pmap_fini(&x.used);
  return body;
}

tn_stmt *tir_remove_no_op_stmt(tn_stmt *s) { return s ? remove_in(s, s) : NULL; }

/* Without stores of what is there already, as far as earlier statements say. */
static tn_stmt *without_known_stores(tn_stmt *s) {
  TN_ARITH(a);
  tir_known x = {.a = &a, .use = TIR_KNOWN_STORES};
  s = tir_known_follow(&x, s);
  tn_vec_fini(&x.facts);
  return s;
}

tn_PrimFunc *tir_remove_no_op(tn_PrimFunc *f, const tn_pass_ctx *c) {
  const tn_RemoveNoOpConfig *o =
      ir_config_node(c->node, "tir.RemoveNoOp", &tn_type_RemoveNoOpConfig);
  if (!o) return NULL;
  tn_stmt *body = f->body;
  if (o->use_dataflow_analysis) body = tir_without_overwritten(without_known_stores(body));
  return body ? tir_with_body(f, remove_in(f, body)) : NULL;
}
