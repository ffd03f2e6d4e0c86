/* Simplifies expressions with what is known where they stand: ranges of loop variables, conditions,
   values of bindings; drops branches that cannot be taken.

     for i in range(8):                         for i in range(8):
       if i < 10:                          ->     A[i] = 0
         A[(i * 4 + 3) // 4] = 0 */
#include "arith/analyzer.h"
#include "tir/transforms/simplify/known_values.h"

enum { MAX_INLINED = 64 }; /* nodes of a value that replaces its variable */

typedef struct {
  arith_analyzer *known;
  const void *program; /* where bindings may be named by extents */
  bool sides;          /* the sides of a condition tell something of each other */
  bool and_of_ors;     /* conditions become conjunctions of disjunctions */
  tn_pmap lets;        /* conditions that are bound: tn_Var -> value, which reads no memory */
  tn_pmap axes;        /* tn_Var of a thread axis -> 1 inside its attribute, 0 behind it */
  bool looked;         /* in_buffers is filled */
  tn_pmap in_buffers;  /* variables that extents of buffers name: their bindings stay */
} simplifier;

static tn_expr *simple_condition(simplifier *x, tn_expr *e);

/* One side with what the other says: that it holds, or with `negate` that it does not. */
static tn_expr *beside(simplifier *x, tn_expr *e, tn_expr *other, bool negate) {
  tn_expr *fact = negate ? tir_not(other, NULL) : other;
  int64_t mark = fact ? arith_enter(x->known, fact) : -1;
  if (mark < 0) return NULL;
  tn_expr *r = simple_condition(x, e);
  arith_leave(x->known, mark);
  return r;
}

static tn_expr *simple_condition(simplifier *x, tn_expr *e) {
  const tn_BinaryOp *b = TN_AS_BINARY(e);
  bool any = TN_IS(Or, e);
  if (!x->sides || (!any && !TN_IS(And, e))) return arith_simplify(x->known, e);
  tn_expr *l, *r;
  TN_GETP(l, simple_condition(x, b->a));
  TN_GETP(r, beside(x, b->b, l, any));
  TN_GETP(l, beside(x, l, r, any));
  return any ? tir_or(l, r) : tir_and(l, r);
}

static tn_expr *whole_condition(simplifier *x, tn_expr *e) {
  tn_expr *r = simple_condition(x, e);
  return r && x->and_of_ors ? arith_and_of_ors(x->known, r) : r;
}

/* Handles and texts are left alone, but for what calls that give a handle are told; everything else
   is simplified as a whole. */
static tn_obj *simplify(tn_mut *m, tn_obj *o) {
  const tn_expr *e = (const tn_expr *)o;
  if (!TN_IS(PrimExpr, o)) return tn_mut_children(m, o);
  if (e->dtype.code == kDLOpaqueHandle && TN_IS(Call, o)) return tn_mut_children(m, o);
  if (TN_IS(StringImm, o) || e->dtype.code == kDLOpaqueHandle) return o;
  return (tn_obj *)whole_condition(m->ctx, (tn_expr *)o);
}

static tn_obj *leave_alone(tn_mut *m, tn_obj *o) {
  (void)m;
  return o;
}

static tn_stmt *simplify_for(tn_mut *m, tn_For *op) {
  arith_analyzer *a = ((simplifier *)m->ctx)->known;
  tn_expr *min = tn_mut_visit(m, op->min), *extent = tn_mut_visit(m, op->extent);
  tn_Range *r = tir_range(min, extent);
  if (!r || arith_bind_range(a, op->loop_var, r, true)) return NULL;
  /* a loop that is left out says nothing about what follows */
  tn_stmt *body = tn_mut_visit(m, op->body);
  arith_unbind(a, op->loop_var);
  return tir_for_with(op, min, extent, body);
}

/* The one thread of an axis keeps its name, which reductions over the axis need. */
static int bind_axis(arith_analyzer *a, tn_Var *v, tn_expr *extent) {
  if (tir_is_one(extent)) return arith_set_bound(a, v, (arith_bound){0, 0}, true);
  tn_expr *n = tir_cast(v->dtype, extent, NULL);
  tn_Range *r = n ? tir_range(tir_zero(v->dtype), n) : NULL;
  return r ? arith_bind_range(a, v, r, true) : -1;
}

/* A thread is one of those that its attribute launches. */
static tn_stmt *simplify_attr(tn_mut *m, tn_AttrStmt *op) {
  simplifier *x = m->ctx;
  const tn_IterVar *axis = TN_AS(IterVar, op->node);
  bool launches = axis && (tn_str_eq(op->attr_key, "thread_extent") ||
                           tn_str_eq(op->attr_key, "virtual_thread"));
  if (!launches || tn_pmap_get_int(&x->axes, axis->var, 0)) return tn_mut_children(m, op);
  tn_AttrStmt copy = *op;
  TN_GETP(copy.value, tn_mut_visit(m, op->value));
  TN_TRYP(bind_axis(x->known, axis->var, copy.value));
  TN_TRYP(tn_pmap_put_int(&x->axes, axis->var, 1));
  TN_GETP(copy.body, tn_mut_visit(m, op->body));
  arith_unbind(x->known, axis->var);
  TN_TRYP(tn_pmap_put_int(&x->axes, axis->var, 0));
  bool same = copy.value == op->value && copy.body == op->body;
  return same ? (tn_stmt *)op : tn_node_copy(&tn_type_AttrStmt, &copy);
}

/* The condition with the values of bound ones in their places. */
static tn_expr *spelled_out(simplifier *x, tn_expr *cond) {
  if (!cond || x->lets.len == 0) return cond;
  tn_expr *r = tir_substitute(cond, &x->lets);
  return r && r != cond ? arith_simplify(x->known, r) : r;
}

static tn_stmt *under(tn_mut *m, tn_expr *cond, tn_stmt *s) {
  arith_analyzer *a = ((simplifier *)m->ctx)->known;
  tn_expr *full = spelled_out(m->ctx, cond);
  if (!full) return NULL;
  int64_t mark = arith_enter(a, cond);
  if (mark < 0 || (full != cond && arith_enter(a, full) < 0)) return NULL;
  tn_stmt *r = tn_mut_visit(m, s);
  arith_leave(a, mark);
  return r;
}

static tn_stmt *simplify_if(tn_mut *m, tn_IfThenElse *op) {
  int64_t known;
  tn_IfThenElse copy = *op;
  TN_GETP(copy.condition, tn_mut_visit(m, op->condition));
  const tn_Call *likely = tir_as_call((tn_obj *)copy.condition, TIR_OP_likely);
  tn_expr *cond = likely ? (tn_expr *)tn_arr_obj(likely->args, 0) : copy.condition;
  tn_expr *full;
  TN_GETP(full, spelled_out(m->ctx, cond));
  if (tir_as_int((tn_obj *)full, &known)) {
    tn_stmt *taken = known ? op->then_case : op->else_case;
    return taken ? tn_mut_visit(m, taken) : tir_nop();
  }
  TN_GETP(copy.then_case, under(m, cond, op->then_case));
  if (op->else_case) TN_GETP(copy.else_case, under(m, tir_not(cond, NULL), op->else_case));
  bool same = copy.condition == op->condition && copy.then_case == op->then_case &&
              copy.else_case == op->else_case;
  return same ? (tn_stmt *)op : tn_node_copy(&tn_type_IfThenElse, &copy);
}

/* An element is not stored where it is. */
static tn_stmt *simplify_store(tn_mut *m, tn_BufferStore *op) {
  tn_BufferStore *r = tn_mut_children(m, op);
  const tn_BufferLoad *l = r ? TN_AS(BufferLoad, r->value) : NULL;
  bool same = l && l->buffer == r->buffer && l->indices->len == r->indices->len;
  for (int64_t i = 0; same && i < l->indices->len; ++i)
    same = arith_same((tn_expr *)tn_arr_obj(l->indices, i), (tn_expr *)tn_arr_obj(r->indices, i));
  return same && tir_side_effect(r->value) <= TIR_EFFECT_READ ? tir_nop() : (tn_stmt *)r;
}

/* ---- bindings ---- */

static int note_var(void *ctx, tn_obj *node) {
  return TN_IS(Var, node) ? tn_pmap_put_int(ctx, node, 1) : 0;
}

static int note_buffer(void *ctx, tn_obj *node) {
  const tn_Buffer *b = TN_AS(Buffer, node);
  if (!b) return 0;
  TN_TRY(tn_post_order(b->shape, note_var, ctx));
  TN_TRY(tn_post_order(b->strides, note_var, ctx));
  return b->elem_offset ? tn_post_order(b->elem_offset, note_var, ctx) : 0;
}

/* May the value stand wherever the variable does? */
static bool is_inlined(const tn_expr *value) {
  if (TN_IS(IntImm, value) || TN_IS(FloatImm, value) || TN_IS(Var, value)) return true;
  return ir_is_int(value->dtype) && value->dtype.lanes == 1 && tir_is_pure(value) &&
         !tir_is_larger(value, MAX_INLINED);
}

/* NULL: nothing is known of it any more. A variable may be bound again inside of its binding. */
static int note_condition(simplifier *x, const tn_Var *v, tn_expr *value) {
  if (!ir_is_bool(v->dtype)) return 0;
  bool known = value && tir_is_pure(value) && !tir_is_larger(value, MAX_INLINED);
  return tn_pmap_put(&x->lets, v, known ? value : (tn_expr *)(uintptr_t)v);
}

static tn_stmt *simplify_let(tn_mut *m, tn_LetStmt *op) {
  simplifier *x = m->ctx;
  tn_LetStmt copy = *op;
  TN_GETP(copy.value, tn_mut_visit(m, op->value));
  bool integer = ir_is_integral(op->var->dtype) && op->var->dtype.lanes == 1;
  bool inlined = is_inlined(copy.value) && tn_dtype_eq(copy.value->dtype, op->var->dtype) &&
                 op->var->dtype.code != kDLOpaqueHandle;
  if (!x->looked) TN_TRYP(tn_post_order(x->program, note_buffer, &x->in_buffers));
  x->looked = true;
  if (inlined) {
    TN_TRYP(arith_bind(x->known, op->var, copy.value, true));
  } else if (integer) {
    TN_TRYP(arith_know_value(x->known, op->var, copy.value));
  }
  TN_TRYP(note_condition(x, op->var, copy.value));
  TN_GETP(copy.body, tn_mut_visit(m, op->body));
  arith_unbind(x->known, op->var);
  TN_TRYP(note_condition(x, op->var, NULL));
  if (inlined && !tn_pmap_has(&x->in_buffers, op->var)) return copy.body;
  bool same = copy.value == op->value && copy.body == op->body;
  return same ? (tn_stmt *)op : tn_node_copy(&tn_type_LetStmt, &copy);
}

#define SIMPLIFY_CASE(Name, Base, key, kind, role, hooks, doc) TN_CASE(Name, simplify),

static tn_stmt *simplify_in(simplifier *x, tn_stmt *s) {
  static const tn_mut_case cases[] = {TN_EXPR_NODES(SIMPLIFY_CASE) TN_CASE(BufferLoad, simplify),
                                      TN_CASE(Buffer, leave_alone),
                                      TN_CASE(BufferStore, simplify_store),
                                      TN_CASE(For, simplify_for),
                                      TN_CASE(AttrStmt, simplify_attr),
                                      TN_CASE(IfThenElse, simplify_if),
                                      TN_CASE(LetStmt, simplify_let)};
  TN_MUT(m, cases, x);
  tn_stmt *r = tn_mut_visit(&m, s);
  tn_pmap_fini(&x->in_buffers);
  tn_pmap_fini(&x->lets);
  tn_pmap_fini(&x->axes);
  return r;
}

tn_stmt *tir_simplify_stmt(arith_analyzer *known, tn_stmt *s) {
  simplifier x = {.known = known, .program = s};
  return simplify_in(&x, s);
}

/* What earlier stores say, where the options ask for it. */
static tn_stmt *with_knowns(const tn_SimplifyConfig *o, tn_stmt *s) {
  TN_ARITH(a);
  tir_known x = {.a = &a};
  if (o->propagate_knowns_to_prove_conditional) x.use |= TIR_KNOWN_CONDITIONS;
  if (o->propagate_knowns_to_simplify_expressions) x.use |= TIR_KNOWN_VALUES;
  if (!x.use) return s;
  s = tir_known_follow(&x, s);
  tn_vec_fini(&x.facts);
  return s;
}

/* Tensors have extents of 0 and more. */
static int know_extents(arith_analyzer *a, const tn_PrimFunc *f) {
  for (int64_t i = 0; i < f->params->len; ++i) {
    tn_any found;
    if (!tn_map_get(f->buffer_map, f->params->items[i], &found)) continue;
    const tn_arr *shape = ((const tn_Buffer *)found.v.obj)->shape;
    for (int64_t k = 0; k < shape->len; ++k) {
      tn_expr *n = (tn_expr *)tn_arr_obj(shape, k);
      if (!TN_IS(IntImm, n) && arith_enter(a, tir_ge(n, tir_zero(n->dtype))) < 0) return -1;
    }
  }
  return 0;
}

tn_PrimFunc *tir_simplify(tn_PrimFunc *f, const tn_pass_ctx *c) {
  TN_ARITH(known);
  const tn_SimplifyConfig *o = ir_config_node(c->node, "tir.Simplify", &tn_type_SimplifyConfig);
  if (!o) return NULL;
  known.narrow = true;
  simplifier x = {.known = &known,
                  .program = f,
                  .sides = o->apply_constraints_to_boolean_branches,
                  .and_of_ors = o->convert_boolean_to_and_of_ors};
  TN_TRYP(know_extents(&known, f));
  tn_stmt *body = with_knowns(o, f->body);
  return body ? tir_with_body(f, simplify_in(&x, body)) : NULL;
}
