/* The walk over the program: each expression gets a type, perhaps unknown in parts, and the solver
   is told what has to be equal (see inference.h). Operands come first, with a stack of our own. */
#include "base/alloc.h"
#include "relay/infer/inference.h"
#include "relay/type_text.h"
#include "tenon/runtime.h"

void inference_fini(inference *in) {
  relay_solver_fini(&in->solver);
  tn_pmap_fini(&in->types);
  tn_pmap_fini(&in->vars);
  tn_pmap_fini(&in->signatures);
  tn_pmap_fini(&in->type_args);
  tn_pmap_fini(&in->op_types);
  tn_pmap_fini(&in->failed);
  tn_pmap_fini(&in->fresh);
  tn_vec_fini(&in->todo);
  tn_free(in->frames);
}

tn_Type *inference_type(const inference *in, const void *expr) {
  return tn_pmap_get(&in->types, expr);
}

tn_Type *inference_unify(inference *in, tn_Type *a, tn_Type *b, tn_Span *span) {
  tn_Type *t = relay_unify(&in->solver, a, b, span);
  return t && relay_solve(&in->solver) == 0 ? t : NULL;
}

tn_Type *inference_var(inference *in, const tn_RelayVar *v) {
  tn_Type *known = tn_pmap_get(&in->vars, v->vid), *own = v->type_annotation;
  if (known && own && known != own) known = inference_unify(in, own, known, v->span);
  if (known || tn_error_pending()) return known;
  known = own ? own : (tn_Type *)relay_incomplete_type();
  if (!known || tn_pmap_put(&in->vars, v->vid, known)) return NULL;
  return known;
}

static tn_Type *scalar_bool(void) { return (tn_Type *)relay_scalar_type(TN_BOOL1); }

static tn_Span *let_span(const tn_RelayLet *l) {
  return l->span ? l->span : ((const relay_expr *)l->value)->span;
}

/* A function bound by let may call itself: it is known by its signature before it is visited. */
static int before_let(inference *in, const tn_RelayLet *l, int64_t i) {
  tn_Type *var, *value;
  const tn_RelayFunction *f = TN_AS(RelayFunction, l->value);
  if (i > 1 || tn_pmap_has(&in->failed, l)) return 0;
  TN_GET(var, inference_var(in, l->var));
  if (i == 0 && !f) return 0;
  TN_GET(value, i == 0 ? (tn_Type *)inference_signature(in, f) : inference_type(in, l->value));
  TN_GET(var, inference_unify(in, var, value, let_span(l)));
  return tn_pmap_put(&in->vars, l->var->vid, var);
}

/* What has to be known before operand i is visited. */
static int before(inference *in, const tn_obj *e, int64_t i) {
  if (e->type_index == TN_TI_RelayLet) return before_let(in, (const tn_RelayLet *)e, i);
  if (e->type_index == TN_TI_Match && i > 0) {
    const tn_Match *m = (const tn_Match *)e;
    const tn_Clause *c = (const tn_Clause *)tn_arr_obj(m->clauses, i - 1);
    return inference_pattern(in, (const tn_obj *)c->lhs, inference_type(in, m->data));
  }
  return 0;
}

/* ---- the type of an expression whose operands have theirs ---- */

static tn_Type *constant_type(const tn_Constant *c) {
  const DLTensor *t = tn_tensor_dl(c->data);
  return (tn_Type *)relay_tensor_type_of(t->shape, t->ndim, t->dtype);
}

static tn_Type *tuple_type(const inference *in, const tn_RelayTuple *t) {
  TN_VEC(v);
  for (int64_t i = 0; i < t->fields->len; ++i)
    TN_TRYP(tn_vec_push_obj(&v, inference_type(in, tn_arr_obj(t->fields, i))));
  return (tn_Type *)relay_tuple_type(tn_arr_from(&v));
}

static tn_Type *field_type(inference *in, const tn_TupleGetItem *g) {
  tn_Type *of = relay_follow(&in->solver, inference_type(in, g->tuple_value));
  const tn_TupleType *t = TN_AS(TupleType, of);
  if (t && g->index < t->fields->len) return (tn_Type *)tn_arr_obj(t->fields, g->index);
  tn_Type *field = (tn_Type *)relay_incomplete_type();
  if (!field || relay_relate_field(&in->solver, of, g->index, field, g->span)) return NULL;
  return field;
}

static tn_Type *function_type(inference *in, const tn_RelayFunction *f) {
  tn_FuncType *s = inference_signature(in, f);
  if (!s) return NULL;
  tn_Type *r = inference_unify(in, s->ret_type, inference_type(in, f->body), f->span);
  if (!r || r == s->ret_type || TN_AS(IncompleteType, s->ret_type))
    return (tn_Type *)(r ? s : NULL);
  return (tn_Type *)TN_NEW(FuncType, .type_params = s->type_params, .arg_types = s->arg_types,
                           .ret_type = r, .type_constraints = s->type_constraints);
}

static tn_Type *if_type(inference *in, const tn_RelayIf *c) {
  tn_Span *at = c->cond->span ? c->cond->span : c->span;
  if (!inference_unify(in, inference_type(in, c->cond), scalar_bool(), at))
    TN_TRYP(relay_note_error(&in->solver, at));
  return inference_unify(in, inference_type(in, c->true_branch),
                         inference_type(in, c->false_branch), c->span);
}

static tn_Type *read_type(inference *in, const tn_RefRead *r) {
  tn_IncompleteType *value = relay_incomplete_type();
  tn_RefType *ref = TN_NEW(RefType, .value = (tn_Type *)value);
  if (!ref || !inference_unify(in, inference_type(in, r->ref), (tn_Type *)ref, r->span))
    return NULL;
  return (tn_Type *)value;
}

static tn_Type *write_type(inference *in, const tn_RefWrite *w) {
  tn_RefType *ref = TN_NEW(RefType, .value = inference_type(in, w->value));
  if (!ref || !inference_unify(in, inference_type(in, w->ref), (tn_Type *)ref, w->span))
    return NULL;
  return (tn_Type *)relay_tuple_type(tn_arr_of(0));
}

static tn_Type *match_type(inference *in, const tn_Match *m) {
  tn_Type *all = (tn_Type *)relay_incomplete_type();
  for (int64_t i = 0; all && i < m->clauses->len; ++i) {
    const tn_Clause *c = (const tn_Clause *)tn_arr_obj(m->clauses, i);
    all = inference_unify(in, all, inference_type(in, c->rhs), m->span);
  }
  if (!all) return NULL;
  if (inference_check_match(in, m)) TN_TRYP(relay_note_error(&in->solver, m->span));
  return all;
}

static tn_Type *op_type(inference *in, const tn_Op *op) {
  if (op->op_type && tn_pmap_put(&in->op_types, op->op_type, op)) return NULL;
  return op->op_type ? (tn_Type *)op->op_type : (tn_Type *)relay_incomplete_type();
}

static tn_Type *type_of(inference *in, const tn_obj *e) {
  switch (e->type_index) {
  case TN_TI_RelayVar: return inference_var(in, (const tn_RelayVar *)e);
  case TN_TI_Constant: return constant_type((const tn_Constant *)e);
  case TN_TI_RelayTuple: return tuple_type(in, (const tn_RelayTuple *)e);
  case TN_TI_TupleGetItem: return field_type(in, (const tn_TupleGetItem *)e);
  case TN_TI_RelayFunction: return function_type(in, (const tn_RelayFunction *)e);
  case TN_TI_RelayCall: return inference_call(in, (const tn_RelayCall *)e);
  case TN_TI_RelayLet: return inference_type(in, ((const tn_RelayLet *)e)->body);
  case TN_TI_RelayIf: return if_type(in, (const tn_RelayIf *)e);
  case TN_TI_RefCreate:
    return (tn_Type *)TN_NEW(RefType,
                             .value = inference_type(in, ((const tn_RefCreate *)e)->value));
  case TN_TI_RefRead: return read_type(in, (const tn_RefRead *)e);
  case TN_TI_RefWrite: return write_type(in, (const tn_RefWrite *)e);
  case TN_TI_Match: return match_type(in, (const tn_Match *)e);
  case TN_TI_Op: return op_type(in, (const tn_Op *)e);
  case TN_TI_GlobalVar: return inference_global(in, (const tn_GlobalVar *)e);
  case TN_TI_Constructor: return inference_constructor(in, (tn_Constructor *)(uintptr_t)e);
  default: break;
  }
  tn_Type *known = TN_IS(RelayExpr, e) ? ((const relay_expr *)e)->_checked_type_ : NULL;
  TN_CHECKP(known, TypeError, NULL, "type inference: no rule for %s", tn_obj_key(e));
  return known;
}

/* ---- going on after an error ---- */

static tn_Span *span_of(const tn_obj *e) {
  return TN_IS(RelayExpr, e) ? ((const relay_expr *)e)->span : NULL;
}

/* Operand i is visited although it, or a pattern before it, does not fit the expression. */
static int before_failed(inference *in, const tn_obj *e, int64_t i) {
  TN_TRY(relay_note_error(&in->solver, span_of(e)));
  if (e->type_index == TN_TI_RelayLet) {
    const tn_RelayLet *l = (const tn_RelayLet *)e;
    TN_TRY(relay_give_up(&in->solver, tn_pmap_get(&in->vars, l->var->vid)));
    TN_TRY(relay_give_up(&in->solver, tn_pmap_get(&in->signatures, l->value)));
    TN_TRY(relay_give_up(&in->solver, inference_type(in, l->value)));
    TN_TRY(tn_pmap_put(&in->failed, l, l));
  } else {
    const tn_Clause *c = (const tn_Clause *)tn_arr_obj(((const tn_Match *)e)->clauses, i - 1);
    TN_TRY(inference_pattern_failed(in, (const tn_obj *)c->lhs));
  }
  return relay_solve(&in->solver);
}

/* The type that an expression goes on with: a function still has what it declares. */
static tn_Type *type_failed(inference *in, const tn_obj *e) {
  TN_TRYP(relay_note_error(&in->solver, span_of(e)));
  const tn_obj *operand;
  for (int64_t i = 0; (operand = relay_operand(e, i)); ++i)
    TN_TRYP(relay_give_up(&in->solver, inference_type(in, operand)));
  tn_Type *t = tn_pmap_get(&in->signatures, e);
  TN_TRYP(relay_give_up(&in->solver, t));
  TN_TRYP(relay_solve(&in->solver));
  return t ? t : in->solver.wrong;
}

/* ---- the walk ---- */

static bool is_known(const inference *in, const tn_obj *e) { return tn_pmap_has(&in->types, e); }

static int enter(inference *in, const tn_obj *e) {
  if (is_known(in, e)) return 0;
  const tn_Type *trusted = in->shallow && in->depth > 0 && TN_IS(RelayExpr, e)
                               ? ((const relay_expr *)e)->_checked_type_
                               : NULL;
  if (trusted) return tn_pmap_put(&in->types, e, trusted);
  TN_GROW(in->frames, in->frames_cap, in->depth + 1, return -1);
  in->frames[in->depth++] = (inference_frame){e, 0};
  return 0;
}

/* The callee of an operator's call needs no type of its own. */
static bool skips(const tn_obj *e, int64_t i, const tn_obj *child) {
  return i == 0 && e->type_index == TN_TI_RelayCall && child->type_index == TN_TI_Op;
}

/* The operands have their types. A GlobalVar is never changed, but its type may not be known yet.
 */
static int finish(inference *in, const tn_obj *e) {
  tn_Type *t = inference_settled(in, e);
  if (!t) {
    bool fresh = !TN_AS(GlobalVar, e);
    TN_TRY(tn_error_pending() || (fresh && tn_pmap_put_int(&in->fresh, e, 1)));
    if (!(t = type_of(in, e))) TN_GET(t, type_failed(in, e));
  }
  return tn_pmap_put(&in->types, e, t);
}

static int walk(inference *in, const void *expr) {
  TN_TRY(enter(in, expr));
  while (in->depth > 0) {
    inference_frame *top = &in->frames[in->depth - 1];
    const tn_obj *e = top->expr, *child = relay_operand(e, top->next);
    if (child) {
      if (before(in, e, top->next)) TN_TRY(before_failed(in, e, top->next));
      if (!skips(e, top->next++, child)) TN_TRY(enter(in, child));
      continue;
    }
    TN_TRY(finish(in, e));
    --in->depth;
  }
  return 0;
}

int inference_visit(inference *in, const void *expr) {
  TN_TRY(walk(in, expr));
  for (int64_t i = 0; i < in->todo.len; ++i) TN_TRY(walk(in, in->todo.items[i].v.obj));
  in->todo.len = 0;
  return relay_solve(&in->solver);
}
