/* Types of functions, and of calls of them and of operators (see inference.h). */
#include "ir/module.h"
#include "relay/infer/inference.h"
#include "relay/type_text.h"

static tn_Type *unknown(void) { return (tn_Type *)relay_incomplete_type(); }

tn_FuncType *inference_signature(inference *in, const tn_RelayFunction *f) {
  tn_FuncType *known = tn_pmap_get(&in->signatures, f);
  TN_VEC(args);
  if (known) return known;
  for (int64_t i = 0; i < f->params->len; ++i) {
    tn_Type *t = inference_var(in, (const tn_RelayVar *)tn_arr_obj(f->params, i));
    TN_TRYP(tn_vec_push_obj(&args, t));
  }
  tn_Type *result = f->ret_type ? f->ret_type : unknown();
  known = TN_NEW(FuncType, .type_params = f->type_params, .arg_types = tn_arr_from(&args),
                 .ret_type = result, .type_constraints = tn_arr_of(0));
  if (!known || tn_pmap_put(&in->signatures, f, known)) return NULL;
  return known;
}

/* ---- names of the module ---- */

tn_Type *inference_global(inference *in, const tn_GlobalVar *v) {
  tn_IRModule *m = in->solver.mod;
  if (!m) {
    if (v->_checked_type_) return v->_checked_type_;
    relay_type_error(v->span, "Cannot do type inference on global variables without a module: @%s",
                     tn_cstr(v->name_hint));
    return NULL;
  }
  const tn_BaseFunc *any =
      ir_module_find_var(m, tn_cstr(v->name_hint)) ? ir_module_lookup(m, v) : NULL;
  const tn_RelayFunction *f = TN_AS(RelayFunction, any);
  if (!any) {
    relay_type_error(v->span, "The module has no function @%s", tn_cstr(v->name_hint));
    return NULL;
  }
  if (f) {
    if (in->shallow && f->_checked_type_) return f->_checked_type_;
    if (!inference_type(in, f)) TN_TRYP(tn_vec_push_obj(&in->todo, f));
    return (tn_Type *)inference_signature(in, f);
  }
  return v->_checked_type_     ? v->_checked_type_
         : any->_checked_type_ ? any->_checked_type_
                               : unknown();
}

tn_TypeData *inference_definition(inference *in, const tn_Constructor *c, tn_Span *span) {
  const tn_IRModule *m = in->solver.mod;
  const char *name = tn_cstr(c->belong_to->name_hint);
  const tn_obj *var = m ? tn_map_find(m->global_type_var_map_, name) : NULL;
  tn_any found;
  if (var && tn_map_get(m->type_definitions, tn_any_obj(var), &found) &&
      TN_AS(TypeData, found.v.obj))
    return (tn_TypeData *)found.v.obj;
  relay_type_error(span, "The module does not define type %s, to which %s belongs", name,
                   tn_cstr(c->name_hint));
  return NULL;
}

tn_Type *inference_constructor(inference *in, tn_Constructor *c) {
  const tn_TypeData *d = inference_definition(in, c, c->span);
  if (!d) return NULL;
  tn_TypeCall *made = TN_MAKE(TypeCall, .func = (tn_Type *)c->belong_to, .args = d->type_vars);
  return (tn_Type *)TN_NEW(FuncType, .type_params = d->type_vars, .arg_types = c->inputs,
                           .ret_type = (tn_Type *)made, .type_constraints = tn_arr_of(0));
}

/* ---- calls of operators ---- */

static int count_error(const tn_RelayCall *c, int64_t want) {
  return relay_type_error(
      c->span, "the function is provided too %s arguments expected %lld, found %lld",
      c->args->len < want ? "few" : "many", (long long)want, (long long)c->args->len);
}

/* Relations, computes and layouts read the attributes as the struct that the operator has. */
static int check_attrs(const tn_RelayCall *c, const tn_Op *op) {
  const relay_op_row *row = relay_op_row_of((const tn_obj *)op);
  const tn_obj *attrs = (const tn_obj *)c->attrs;
  if (!row || !row->attrs || tn_obj_is(attrs, row->attrs)) return 0;
  return relay_type_error(c->span, "%s: expected attributes of type %s, got %s", row->name,
                          row->attrs->key, attrs ? attrs->type->key : "None");
}

static tn_Type *call_op(inference *in, const tn_RelayCall *c, const tn_Op *op) {
  enum { MANY = 16 };
  tn_Type *few[MANY], *out = unknown();
  int64_t n = c->args->len;
  if (!out) return NULL;
  if (op->num_inputs >= 0 && n != op->num_inputs) return (void)count_error(c, op->num_inputs), NULL;
  TN_CHECKP(n < MANY, ValueError, c->span, "%s: too many arguments (%lld)", tn_cstr(op->name),
            (long long)n);
  TN_TRYP(check_attrs(c, op));
  for (int64_t i = 0; i < n; ++i) few[i] = inference_type(in, tn_arr_obj(c->args, i));
  few[n] = out;
  TN_TRYP(relay_relate(&in->solver, op, c->attrs, few, (int)n + 1, c->span));
  return relay_follow(&in->solver, out);
}

/* ---- calls of functions ---- */

/* The type of a polymorphic function with fresh types for its parameters, or those the call names.
 */
static const tn_FuncType *instance(inference *in, const tn_FuncType *f, const tn_RelayCall *c) {
  TN_PMAP(vars);
  TN_VEC(given);
  const tn_arr *params = f->type_params;
  if (params->len == 0) return f;
  if (c->type_args->len > params->len)
    return (void)relay_type_error(
               c->span, "Incorrect number of type args in the call: expected %lld but got %lld",
               (long long)params->len, (long long)c->type_args->len),
           NULL;
  for (int64_t i = 0; i < params->len; ++i) {
    tn_Type *t = i < c->type_args->len ? (tn_Type *)tn_arr_obj(c->type_args, i) : unknown();
    TN_TRYP(tn_vec_push_obj(&given, t));
    TN_TRYP(tn_pmap_put(&vars, tn_arr_obj(params, i), t));
  }
  tn_arr *all = tn_arr_from(&given);
  tn_FuncType *open = TN_NEW(FuncType, .type_params = tn_arr_of(0), .arg_types = f->arg_types,
                             .ret_type = f->ret_type, .type_constraints = tn_arr_of(0));
  if (!all || !open || tn_pmap_put(&in->type_args, c, all)) return NULL;
  return (const tn_FuncType *)relay_type_bind(relay_resolve(&in->solver, open), &vars);
}

/* What is called is not known yet: it is a function of these arguments. */
static tn_Type *call_unknown(inference *in, const tn_RelayCall *c, tn_Type *callee) {
  TN_VEC(args);
  tn_Type *result = unknown();
  for (int64_t i = 0; i < c->args->len; ++i)
    TN_TRYP(tn_vec_push_obj(&args, inference_type(in, tn_arr_obj(c->args, i))));
  tn_FuncType *f = TN_NEW(FuncType, .type_params = tn_arr_of(0), .arg_types = tn_arr_from(&args),
                          .ret_type = result, .type_constraints = tn_arr_of(0));
  return inference_unify(in, callee, (tn_Type *)f, c->span) ? result : NULL;
}

static tn_Type *call_function(inference *in, const tn_RelayCall *c, const tn_FuncType *f) {
  TN_GETP(f, instance(in, f, c));
  if (f->arg_types->len != c->args->len) return (void)count_error(c, f->arg_types->len), NULL;
  for (int64_t i = 0; i < c->args->len; ++i) {
    const relay_expr *arg = (const relay_expr *)tn_arr_obj(c->args, i);
    tn_Span *at = arg->span ? arg->span : c->span;
    tn_Type *want = (tn_Type *)tn_arr_obj(f->arg_types, i);
    if (!inference_unify(in, want, inference_type(in, arg), at))
      TN_TRYP(relay_note_error(&in->solver, at));
  }
  return f->ret_type;
}

tn_Type *inference_call(inference *in, const tn_RelayCall *c) {
  const tn_Op *op = TN_AS(Op, c->op);
  if (op) return call_op(in, c, op);
  tn_Type *callee = relay_follow(&in->solver, inference_type(in, c->op));
  const tn_FuncType *f = TN_AS(FuncType, callee);
  if (TN_AS(IncompleteType, callee)) return call_unknown(in, c, callee);
  if (!f) {
    relay_type_error(c->span, "only expressions with function types can be called, found %s",
                     relay_type_text(callee));
    return NULL;
  }
  op = tn_pmap_get(&in->op_types, f);
  return op ? call_op(in, c, op) : call_function(in, c, f);
}
