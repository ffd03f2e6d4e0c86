/* What needs no inference: an expression that has a type which follows from those of its operands.

   A type is found once and stays with its expression; passes share what they do not change, and
   copies of what they do keep the type of the original, right or wrong. So each type is checked
   against the operands', which is much less than to find it: a call of an operator has noted the
   types of its arguments (type_args) when its relation was asked, and while they are the same the
   answer is.

   What is not here (match, references, constructors, calls of polymorphic functions) is inferred
   each time. */
#include "relay/infer/inference.h"
#include "tenon/object.h"
#include "tenon/runtime.h"

static bool same(const tn_Type *a, const tn_Type *b) {
  return a == b || (a && b && tn_equal(a, b, 0) == 1);
}

/* The type of an operand that is settled, else NULL. */
static tn_Type *type_at(const inference *in, const void *e) {
  return tn_pmap_has(&in->fresh, e) ? NULL : inference_type(in, e);
}

/* A variable keeps the type of its annotation wherever it occurs. */
static bool var(inference *in, const tn_RelayVar *v, const tn_Type *t) {
  const tn_Type *known = tn_pmap_get(&in->vars, v->vid);
  return v->type_annotation && same(v->type_annotation, t) && (!known || same(known, t)) &&
         inference_var(in, v);
}

static bool constant(const tn_Constant *c, const tn_Type *type) {
  const DLTensor *dl = tn_tensor_dl(c->data);
  const tn_TensorType *t = TN_AS(TensorType, type);
  int64_t extent;
  if (!t || !tn_dtype_eq(t->dtype, dl->dtype) || t->shape->len != dl->ndim) return false;
  for (int i = 0; i < dl->ndim; ++i)
    if (!tir_as_int(tn_arr_obj(t->shape, i), &extent) || extent != dl->shape[i]) return false;
  return true;
}

/* Are the types in the array those of the expressions? */
static bool all(const inference *in, const tn_arr *types, const tn_arr *exprs) {
  if (types->len != exprs->len) return false;
  for (int64_t i = 0; i < exprs->len; ++i)
    if (!same(type_at(in, tn_arr_obj(exprs, i)), (const tn_Type *)tn_arr_obj(types, i)))
      return false;
  return true;
}

static bool field(const inference *in, const tn_TupleGetItem *e, const tn_Type *t) {
  const tn_TupleType *tuple = TN_AS(TupleType, type_at(in, e->tuple_value));
  return tuple && e->index < tuple->fields->len &&
         same((const tn_Type *)tn_arr_obj(tuple->fields, e->index), t);
}

static bool call(const inference *in, const tn_RelayCall *c, const tn_Type *t) {
  if (TN_AS(Op, c->op)) return all(in, c->type_args, c->args);
  const tn_FuncType *f = TN_AS(FuncType, type_at(in, c->op));
  return f && f->type_params->len == 0 && same(f->ret_type, t) && all(in, f->arg_types, c->args);
}

static bool function(const inference *in, const tn_RelayFunction *f, const tn_Type *type) {
  const tn_FuncType *t = TN_AS(FuncType, type);
  return t && t->type_params->len == 0 && f->type_params->len == 0 &&
         all(in, t->arg_types, f->params) && same(f->ret_type, t->ret_type) &&
         same(type_at(in, f->body), t->ret_type);
}

static bool choice(const inference *in, const tn_RelayIf *e, const tn_Type *t) {
  const tn_TensorType *cond = TN_AS(TensorType, type_at(in, e->cond));
  return cond && cond->shape->len == 0 && ir_is_bool(cond->dtype) && cond->dtype.lanes == 1 &&
         same(type_at(in, e->true_branch), t) && same(type_at(in, e->false_branch), t);
}

/* The value has given its type to the variable before. */
static bool let(const inference *in, const tn_RelayLet *l, const tn_Type *t) {
  const tn_Type *value = type_at(in, l->value);
  return !tn_pmap_has(&in->failed, l) && same(type_at(in, l->body), t) && value &&
         same(type_at(in, l->var), value);
}

static bool holds(inference *in, const tn_obj *e, const tn_Type *t) {
  const tn_TupleType *tuple = TN_AS(TupleType, t);
  switch (e->type_index) {
  case TN_TI_RelayVar: return var(in, (const tn_RelayVar *)e, t);
  case TN_TI_Constant: return constant((const tn_Constant *)e, t);
  case TN_TI_RelayTuple: return tuple && all(in, tuple->fields, ((const tn_RelayTuple *)e)->fields);
  case TN_TI_TupleGetItem: return field(in, (const tn_TupleGetItem *)e, t);
  case TN_TI_RelayCall: return call(in, (const tn_RelayCall *)e, t);
  case TN_TI_RelayFunction: return function(in, (const tn_RelayFunction *)e, t);
  case TN_TI_RelayIf: return choice(in, (const tn_RelayIf *)e, t);
  case TN_TI_RelayLet: return let(in, (const tn_RelayLet *)e, t);
  default: return false;
  }
}

tn_Type *inference_settled(inference *in, const tn_obj *e) {
  tn_Type *t = TN_IS(RelayExpr, e) ? ((const relay_expr *)e)->_checked_type_ : NULL;
  return t && holds(in, e, t) ? t : NULL;
}
