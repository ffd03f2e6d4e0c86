/* Type relations as the rest of the system sees them: global functions for Python, types of
   operators, and the type of one call whose arguments are known. */
#include <stdio.h>
#include <string.h>

#include "ir/functor.h"
#include "ir/module.h"
#include "relay/op.h"
#include "relay/relay_impl.h"
#include "relay/type_text.h"
#include "tenon/object.h"

/* A relation of the library called from outside; self is its function. (types, number of inputs,
   attributes, reporter) -> is it solved */
static int call_relation(void *self, const tn_any *args, int32_t n, tn_any *ret) {
  TN_NARGS("type relation", 4);
  TN_ARG_OPT(TypeReporter, reporter, 3);
  TN_CHECK(reporter && reporter->rel, RuntimeError, NULL,
           "type relation: it can only be called by type inference");
  relay_rel *r = (relay_rel *)(uintptr_t)reporter->rel;
  relay_rel_fn fn = ((const relay_op_row *)self)->rel;
  int known = fn(r);
  if (known < 0) return -1;
  *ret = tn_any_bool(known == RELAY_SOLVED);
  return 0;
}

/* The type of an operator: fn [a, b, out] (a, b) -> out where Rel(a, b, out). */
static int set_op_type(tn_Op *op, tn_EnvFunc *rel) {
  TN_VEC(vars);
  for (int64_t i = 0; i <= op->num_inputs; ++i) {
    tn_str *name = i < op->num_inputs ? tn_str_fmt("in%lld", (long long)i) : tn_str_from("out");
    TN_TRY(tn_vec_push_obj(&vars, TN_NEW(TypeVar, .name_hint = name, .kind = IR_KIND_TYPE)));
  }
  tn_arr *all = tn_arr_from(&vars);
  tn_Type *out = (tn_Type *)vars.items[--vars.len].v.obj;
  tn_TypeRelation *c =
      TN_MAKE(TypeRelation, .func = rel, .args = all, .num_inputs = op->num_inputs);
  tn_FuncType *t = TN_NEW(FuncType, .type_params = all, .arg_types = tn_arr_from(&vars),
                          .ret_type = out, .type_constraints = tn_arr_of(1, c));
  if (!t) return -1;
  tn_retain(t);
  tn_release(op->op_type);
  op->op_type = t;
  return 0;
}

int relay_rel_register(tn_Op *op, const relay_op_row *row) {
  tn_str *name = tn_str_fmt("tvm.relay.type_relation.%s", row->rel_name);
  tn_func *known = name ? tn_scope_own(tn_func_find(tn_cstr(name))) : NULL;
  if (!known && (!name || tn_error_pending())) return -1;
  if (!known) {
    TN_TRY(tn_func_register(tn_cstr(name), call_relation, (void *)(uintptr_t)row, NULL, 0));
    TN_GET(known, tn_scope_own(tn_func_find(tn_cstr(name))));
  }
  tn_EnvFunc *f = TN_NEW(EnvFunc, .name = name, .func = known);
  return f ? set_op_type(op, f) : -1;
}

/* (op, name of the relation, function) */
static int add_type_rel(TN_ARGS) {
  TN_NARGS("ir.OpAddTypeRel", 3);
  TN_ARG_OBJ(Op, op, 0);
  TN_ARG_OBJ(Function, f, 2);
  const char *name;
  TN_TRY(tn_any_to_cstr(&args[1], &name));
  TN_CHECK(op->num_inputs >= 0, ValueError, NULL,
           "add_type_rel: set the number of inputs of %s first (set_num_inputs)",
           tn_cstr(op->name));
  tn_EnvFunc *e =
      TN_NEW(EnvFunc, .name = tn_str_fmt("tvm.relay.type_relation.%s", name), .func = f);
  return e ? set_op_type(op, e) : -1;
}

/* ---- what a relation written outside reports ---- */

static int reporter_arg(const tn_any *args, int32_t n, relay_rel **out) {
  TN_ARG_OBJ(TypeReporter, r, 0);
  TN_CHECK(r && r->rel, RuntimeError, NULL, "TypeReporter: the relation has been left already");
  *out = (relay_rel *)(uintptr_t)r->rel;
  return 0;
}

/* (reporter, one of the types the relation was given, type) */
static int report_assign(TN_ARGS) {
  relay_rel *r;
  TN_NARGS("TypeReporter.assign", 3);
  TN_TRY(reporter_arg(args, n, &r));
  TN_ARG_OPT(Type, dst, 1);
  TN_ARG_OPT(Type, src, 2);
  for (int i = 0; dst && src && i < r->n; ++i) {
    if (r->types[i] == dst) return relay_rel_assign(r, i, src);
  }
  return TN_RAISE(ValueError, NULL,
                  "TypeReporter.assign: the first type is none of those the relation was given");
}

/* (reporter, condition): does it hold, as far as is known? */
static int report_assert(TN_ARGS) {
  TN_CHECK(n == 2, TypeError, NULL, "TypeReporter.assert_: expected a condition");
  tn_expr *e;
  int64_t v;
  TN_GET(e, ir_expr_from(&args[1]));
  *ret = tn_any_bool(!tir_as_int((tn_obj *)e, &v) || v != 0);
  return 0;
}

static int report_assert_eq(TN_ARGS) {
  tn_expr *a, *b;
  TN_NARGS("TypeReporter.assert_eq", 3);
  TN_GET(a, ir_expr_from(&args[1]));
  TN_GET(b, ir_expr_from(&args[2]));
  *ret = tn_any_bool(relay_dim_equal(a, b) != 0);
  return 0;
}

/* ---- one call ---- */

/* r->solver collects references: a type may come from a callback whose scope is gone by the time
   the relation is solved. */
static int unify_one(relay_rel *r, int i, tn_Type *type) {
  tn_Type *had = r->types[i];
  if (TN_AS(IncompleteType, had)) {
    TN_TRY(tn_vec_push_obj(r->solver, type));
    tn_retain(type);
    r->types[i] = type;
    return 0;
  }
  const tn_TensorType *x = TN_AS(TensorType, had), *y = TN_AS(TensorType, type);
  bool fits = x && y && x->shape->len == y->shape->len && tn_dtype_eq(x->dtype, y->dtype);
  for (int64_t k = 0; fits && k < x->shape->len; ++k)
    fits = relay_dim_equal(relay_dim(x, k), relay_dim(y, k)) != 0;
  if (fits || tn_equal(had, type, 0) == 1) return 0;
  return relay_rel_fail(
      r, "The Relay type checker is unable to show the following types match: %s and %s",
      relay_type_text(had), relay_type_text(type));
}

/* An error of a helper that does not know whose it is gets the operator's name, and the call's
 * place.
 */
static int named(const relay_rel *r, int known) {
  char text[512];
  const tn_error *e = known < 0 ? tn_error_get() : NULL;
  const char *name = tn_cstr(r->op->name), *dot = strrchr(name, '.'), *own = dot ? dot + 1 : name;
  tn_error_kind kind = tn_error_get_kind();
  if (!e || !e->message || (kind != TN_ValueError && kind != TN_OpError)) return known;
  if (strstr(e->message, own)) return known;
  snprintf(text, sizeof text, "%s", e->message);
  tn_error_clear();
  return TN_RAISE(ValueError, r->span, "%s: %s", name, text);
}

int relay_rel_run(relay_rel *r) {
  const relay_op_row *row = relay_op_row_of((const tn_obj *)r->op);
  const tn_FuncType *t = r->op->op_type;
  const tn_TypeRelation *c = t && t->type_constraints->len
                                 ? TN_AS(TypeRelation, tn_arr_obj(t->type_constraints, 0))
                                 : NULL;
  if (row) {
    TN_TRY(relay_check_attrs(row->name, r->attrs, r->span));
    return named(r, row->rel(r));
  }
  TN_CHECK(c && c->func, TypeError, r->span, "operator %s has no type relation",
           tn_cstr(r->op->name));
  TN_VEC(types);
  for (int i = 0; i < r->n; ++i) TN_TRY(tn_vec_push_obj(&types, r->types[i]));
  tn_TypeReporter *reporter = TN_NEW(TypeReporter, .rel = (int64_t)(uintptr_t)r);
  tn_arr *all = tn_arr_from(&types);
  if (!reporter || !all) return -1;
  tn_any args[4] = {tn_any_obj(all), tn_any_int(r->n - 1), tn_any_obj(r->attrs),
                    tn_any_obj(reporter)};
  tn_any ret;
  bool solved = false;
  int err = tn_func_call(c->func->func, args, 4, &ret);
  reporter->rel = 0; /* whoever kept it finds it closed */
  if (err) return -1;
  err = tn_any_to_bool(&ret, &solved);
  tn_any_release(&ret);
  return err ? -1 : solved ? RELAY_SOLVED : RELAY_WAIT;
}

tn_Type *relay_op_result_type(const tn_Op *op, const void *attrs, tn_arr *arg_types,
                              tn_Span *span) {
  enum { MANY = 32 };
  tn_Type *types[MANY];
  int n = (int)arg_types->len;
  TN_CHECKP(n < MANY, ValueError, span, "%s: too many arguments (%d)", tn_cstr(op->name), n);
  TN_CHECKP(op->num_inputs < 0 || op->num_inputs == n, DiagnosticError, span,
            "the function is provided too %s arguments: operator %s expects %lld, but got %d",
            n < op->num_inputs ? "few" : "many", tn_cstr(op->name), (long long)op->num_inputs, n);
  for (int i = 0; i < n; ++i) types[i] = (tn_Type *)tn_arr_obj(arg_types, i);
  if (!(types[n] = (tn_Type *)relay_incomplete_type())) return NULL;
  TN_VEC(found);
  relay_rel r = {.op = op,
                 .attrs = attrs,
                 .types = types,
                 .n = n + 1,
                 .span = span,
                 .unify = unify_one,
                 .solver = &found};
  int known = relay_rel_run(&r);
  for (int64_t i = 0; i < found.len; ++i) {
    if (!tn_scope_own(found.items[i].v.obj)) known = RELAY_FAILED;
  }
  if (known < 0) return NULL;
  TN_CHECKP(known == RELAY_SOLVED && !TN_AS(IncompleteType, types[n]), DiagnosticError, span,
            "%s: the types of the arguments do not determine that of the result",
            tn_cstr(op->name));
  return types[n];
}

/* (op, attributes, types of the arguments) -> type of the result */
static int result_type(TN_ARGS) {
  TN_NARGS("relay.op.ResultType", 3);
  TN_ARG_OBJ(Op, op, 0);
  TN_ARG_OPT(Attrs, attrs, 1);
  TN_ARG_ITEMS(Array(Type), types, 2);
  return tn_ret_obj(ret, relay_op_result_type(op, attrs, types, NULL));
}

/* (op, attributes, inputs, type of the result) -> list of tensors */
static int compute(TN_ARGS) {
  TN_CHECK(n >= 4, TypeError, NULL, "Compute: expected operator, attributes, inputs and type");
  TN_ARG_OBJ(Op, op, 0);
  TN_ARG_OPT(Attrs, attrs, 1);
  TN_ARG_ITEMS(Array(Tensor), inputs, 2);
  TN_ARG_OBJ(Type, type, 3);
  TN_CHECK(inputs->len >= op->num_inputs, TypeError, NULL, "%s: expected %lld inputs, got %lld",
           tn_cstr(op->name), (long long)op->num_inputs, (long long)inputs->len);
  return tn_ret_obj(ret, relay_op_compute(op, attrs, inputs, type, NULL));
}

static const tn_func_row functions[] = {
    {"ir.OpAddTypeRel", add_type_rel},          {"relay.ty.ReporterAssign", report_assign},
    {"relay.ty.ReporterAssert", report_assert}, {"relay.ty.ReporterAssertEq", report_assert_eq},
    {"relay.op.ResultType", result_type},       {"relay.op.Compute", compute},
};

int relay_op_type_init(void) { return tn_func_register_rows(functions, TN_COUNT(functions)); }
