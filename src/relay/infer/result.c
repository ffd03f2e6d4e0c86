/* The typed program: each expression with its type, itself where it has it already (see
 * inference.h). */
#include "ir/functor.h"
#include "relay/infer/inference.h"
#include "relay/type_text.h"
#include "tenon/object.h"

static int set(void *field, const void *value) {
  tn_retain(value);
  tn_release(*(void **)field);
  *(const void **)field = value;
  return 0;
}

static bool same(const tn_Type *a, const tn_Type *b) {
  return a == b || (a && b && tn_equal(a, b, 0) == 1);
}

/* An expression that may be changed: `post` itself where it is a new copy of `pre`. */
static tn_obj *own(const tn_obj *pre, tn_obj *post) {
  return post == pre ? tn_node_copy(pre->type, pre) : post;
}

/* Notes the error; what follows from a type that nothing determines is not its own error. */
static int unresolved(inference *in, const tn_obj *pre, const tn_Type *t) {
  const tn_RelayVar *v = TN_AS(RelayVar, pre);
  tn_Span *span = ((const relay_expr *)pre)->span;
  if (v)
    relay_type_error(span,
                     "Cannot resolve type of the variable %%%s: nothing determines it; give it a "
                     "type annotation",
                     tn_cstr(v->vid->name_hint));
  else
    relay_type_error(span, "Cannot resolve type of a %s: nothing determines it", tn_obj_key(pre));
  TN_TRY(relay_note_error(&in->solver, span));
  TN_TRY(relay_give_up(&in->solver, t));
  return relay_solve(&in->solver);
}

static tn_Type *type_for(inference *in, const tn_obj *pre) {
  const tn_RelayVar *v = TN_AS(RelayVar, pre);
  tn_Type *t = v ? tn_pmap_get(&in->vars, v->vid) : inference_type(in, pre);
  TN_CHECKP(t, InternalError, NULL, "type inference has not seen a %s", tn_obj_key(pre));
  TN_GETP(t, relay_resolve(&in->solver, t));
  if (TN_AS(IncompleteType, t) && t != in->solver.wrong) TN_TRYP(unresolved(in, pre, t));
  return t;
}

/* The expression with its type; in *type, what it is. */
static tn_obj *typed(inference *in, const tn_obj *pre, tn_obj *post, tn_Type **type) {
  TN_GETP(*type, type_for(in, pre));
  if (same(((relay_expr *)post)->_checked_type_, *type)) return post;
  relay_expr *r = (relay_expr *)own(pre, post);
  if (r) set(&r->_checked_type_, *type);
  return (tn_obj *)r;
}

static tn_obj *rewrite_expr(void *ctx, tn_obj *pre, tn_obj *post) {
  tn_Type *type;
  return typed(ctx, pre, post, &type);
}

/* A variable's annotation says all that is known. */
static tn_obj *rewrite_var(void *ctx, tn_obj *pre, tn_obj *post) {
  inference *in = ctx;
  tn_Type *type;
  const tn_RelayVar *v = (const tn_RelayVar *)pre;
  tn_RelayVar *r = (tn_RelayVar *)typed(in, pre, post, &type);
  if (!r) return NULL;
  tn_Type *annotation = v->type_annotation ? relay_resolve(&in->solver, v->type_annotation) : type;
  if (!annotation || annotation == v->type_annotation) return annotation ? (tn_obj *)r : NULL;
  r = (tn_RelayVar *)own(pre, (tn_obj *)r);
  if (r) set(&r->type_annotation, annotation);
  return (tn_obj *)r;
}

static tn_obj *rewrite_function(void *ctx, tn_obj *pre, tn_obj *post) {
  inference *in = ctx;
  tn_Type *type;
  tn_RelayFunction *r = (tn_RelayFunction *)typed(in, pre, post, &type);
  if (!r || !TN_AS(FuncType, type)) return (tn_obj *)r; /* it is wrong */
  tn_Type *result = ((const tn_FuncType *)type)->ret_type, *had = r->ret_type;
  if (had) TN_GETP(had, relay_resolve(&in->solver, had));
  if (had && (had == r->ret_type || !TN_AS(IncompleteType, r->ret_type))) {
    if (had == r->ret_type) return (tn_obj *)r;
    result = had;
  }
  r = (tn_RelayFunction *)own(pre, (tn_obj *)r);
  if (r) set(&r->ret_type, result);
  return (tn_obj *)r;
}

/* The types of a call's arguments, for operators; else those put in for the type parameters. NULL
   without an error where there are none. */
static tn_arr *type_args(inference *in, const tn_obj *pre, const tn_RelayCall *call) {
  const tn_arr *given = tn_pmap_get(&in->type_args, pre);
  bool op = TN_AS(Op, call->op) != NULL;
  TN_VEC(v);
  if (!op && !given) return NULL;
  for (int64_t i = 0; i < (op ? call->args->len : given->len); ++i) {
    const tn_Type *t =
        op ? relay_type_of(relay_arg(call, i)) : relay_resolve(&in->solver, tn_arr_obj(given, i));
    if (!t && op) t = relay_type_of(relay_arg((const tn_RelayCall *)pre, i));
    if (!t) return NULL;
    TN_TRYP(tn_vec_push_obj(&v, t));
  }
  return tn_arr_from(&v);
}

/* Are they written down already? */
static bool has_types(const tn_arr *known, const tn_RelayCall *call) {
  bool all = TN_AS(Op, call->op) && known->len == call->args->len;
  for (int64_t i = 0; all && i < known->len; ++i)
    all = same((tn_Type *)tn_arr_obj(known, i), relay_type_of(relay_arg(call, i)));
  return all;
}

static tn_obj *rewrite_call(void *ctx, tn_obj *pre, tn_obj *post) {
  tn_Type *type;
  tn_RelayCall *r = (tn_RelayCall *)typed(ctx, pre, post, &type);
  if (!r || has_types(r->type_args, r)) return (tn_obj *)r;
  tn_arr *all = type_args(ctx, pre, r);
  if (!all) return tn_error_pending() ? NULL : (tn_obj *)r;
  if (tn_equal(all, r->type_args, 0) == 1) return (tn_obj *)r;
  r = (tn_RelayCall *)own(pre, (tn_obj *)r);
  if (r) set(&r->type_args, all);
  return (tn_obj *)r;
}

/* Constructors stay the objects that the type definition holds. */
static tn_obj *rewrite_constructor(void *ctx, tn_obj *pre, tn_obj *post) {
  const inference *in = ctx;
  tn_Type *type = inference_type(in, pre);
  if (type && !in->solver.errors && !((relay_expr *)pre)->_checked_type_)
    set(&((relay_expr *)pre)->_checked_type_, type);
  return post == pre ? pre : NULL;
}

/* What was visited and is not fresh stays as it is: it is settled, or a shallow inference trusts
   the type it has. */
static bool changes(void *ctx, const tn_obj *o) {
  const inference *in = ctx;
  return !tn_pmap_has(&in->types, o) || tn_pmap_has(&in->fresh, o);
}

void *inference_result(inference *in, const void *expr) {
  static const tn_rewrite_case cases[] = {
      TN_REWRITE(Constant, rewrite_expr),
      TN_REWRITE(RelayTuple, rewrite_expr),
      TN_REWRITE(RelayVar, rewrite_var),
      TN_REWRITE(RelayFunction, rewrite_function),
      TN_REWRITE(RelayCall, rewrite_call),
      TN_REWRITE(RelayLet, rewrite_expr),
      TN_REWRITE(RelayIf, rewrite_expr),
      TN_REWRITE(TupleGetItem, rewrite_expr),
      TN_REWRITE(RefCreate, rewrite_expr),
      TN_REWRITE(RefRead, rewrite_expr),
      TN_REWRITE(RefWrite, rewrite_expr),
      TN_REWRITE(Match, rewrite_expr),
      TN_REWRITE(Constructor, rewrite_constructor),
  };
  if (!changes(in, expr)) return (void *)(uintptr_t)expr;
  return tn_rewrite_if(expr, changes, cases, TN_COUNT(cases), in);
}
