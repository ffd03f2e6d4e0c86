/* Kinds of types: what may stand where. */
#include "base/stack.h"
#include "relay/analysis/analysis.h"
#include "relay/type_text.h"

static int expect(const tn_Type *t, const tn_IRModule *m, int want, const char *where) {
  int kind = relay_check_kind(t, m);
  if (kind < 0 || kind == want) return kind < 0 ? -1 : 0;
  return TN_RAISE(DiagnosticError, t->span, "Incorrect kind for %s: %s is not a type of values",
                  where, relay_type_text(t));
}

static int expect_all(const tn_arr *types, const tn_IRModule *m, const char *where) {
  for (int64_t i = 0; i < types->len; ++i)
    TN_TRY(expect((const tn_Type *)tn_arr_obj(types, i), m, IR_KIND_TYPE, where));
  return 0;
}

static int function_kind(const tn_FuncType *f, const tn_IRModule *m) {
  TN_TRY(expect_all(f->arg_types, m, "argument of a function type"));
  TN_TRY(expect(f->ret_type, m, IR_KIND_TYPE, "result of a function type"));
  for (int64_t i = 0; i < f->type_constraints->len; ++i)
    TN_TRY(expect((const tn_Type *)tn_arr_obj(f->type_constraints, i), m, IR_KIND_CONSTRAINT,
                  "constraint of a function type"));
  return IR_KIND_TYPE;
}

static int call_kind(const tn_TypeCall *c, const tn_IRModule *m) {
  const tn_GlobalTypeVar *v = TN_AS(GlobalTypeVar, c->func);
  tn_any found;
  TN_CHECK(v, TypeError, c->span, "the callee in the type call %s must be a GlobalTypeVar",
           relay_type_text(c));
  TN_TRY(expect(c->func, m, IR_KIND_ADT_HANDLE, "callee of a type call"));
  TN_TRY(expect_all(c->args, m, "argument of a type call"));
  const tn_obj *var = m ? tn_map_find(m->global_type_var_map_, tn_cstr(v->name_hint)) : NULL;
  if (!var || !tn_map_get(m->type_definitions, tn_any_obj(var), &found)) return IR_KIND_TYPE;
  int64_t want = ((const tn_TypeData *)found.v.obj)->type_vars->len;
  TN_CHECK(want == c->args->len, TypeError, c->span, "%s: expected %lld type arguments, got %lld",
           relay_type_text(c), (long long)want, (long long)c->args->len);
  return IR_KIND_TYPE;
}

static int definition_kind(const tn_TypeData *d, const tn_IRModule *m) {
  TN_TRY(expect_all(d->type_vars, m, "parameter of a type definition"));
  TN_TRY(expect((const tn_Type *)d->header, m, IR_KIND_ADT_HANDLE, "header of a type definition"));
  for (int64_t i = 0; i < d->constructors->len; ++i) {
    const tn_Constructor *c = (const tn_Constructor *)tn_arr_obj(d->constructors, i);
    TN_CHECK(tn_str_eq(c->belong_to->name_hint, tn_cstr(d->header->name_hint)), TypeError, d->span,
             "constructor %s belongs to %s, not to %s", tn_cstr(c->name_hint),
             tn_cstr(c->belong_to->name_hint), tn_cstr(d->header->name_hint));
    TN_TRY(expect_all(c->inputs, m, "field of a constructor"));
  }
  return IR_KIND_TYPE_DATA;
}

int relay_check_kind(const tn_Type *t, const tn_IRModule *m) {
  TN_TRY(tn_stack_check("a type"));
  switch (((const tn_obj *)t)->type_index) {
  case TN_TI_TupleType:
    return expect_all(((const tn_TupleType *)t)->fields, m, "field of a tuple type") ? -1
                                                                                     : IR_KIND_TYPE;
  case TN_TI_FuncType: return function_kind((const tn_FuncType *)t, m);
  case TN_TI_RefType:
    return expect(((const tn_RefType *)t)->value, m, IR_KIND_TYPE, "value of a reference type")
               ? -1
               : IR_KIND_TYPE;
  case TN_TI_TypeCall: return call_kind((const tn_TypeCall *)t, m);
  case TN_TI_TypeData: return definition_kind((const tn_TypeData *)t, m);
  case TN_TI_TypeRelation:
    return expect_all(((const tn_TypeRelation *)t)->args, m, "argument of a type relation")
               ? -1
               : IR_KIND_CONSTRAINT;
  case TN_TI_TypeVar: return ((const tn_TypeVar *)t)->kind;
  case TN_TI_GlobalTypeVar: return ((const tn_GlobalTypeVar *)t)->kind;
  case TN_TI_IncompleteType: return ((const tn_IncompleteType *)t)->kind;
  default: return IR_KIND_TYPE;
  }
}
