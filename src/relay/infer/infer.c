/* Type inference of modules and expressions, and the pass InferType (see relay/infer.h).

   Functions of a module are inferred together, with one solver: they may call each other in any
   order, with or without annotations. */
#include "ir/module.h"
#include "relay/infer/inference.h"
#include "relay/relay_impl.h"
#include "relay/transforms/transforms.h"

static tn_obj *function_at(const tn_map *functions, int64_t i) {
  return functions->entries[i].value.v.obj;
}

/* The GlobalVar has the type of its function; it stays the object that the module knows. */
static void set_global_type(tn_any var, const tn_BaseFunc *f) {
  tn_GlobalVar *v = (tn_GlobalVar *)var.v.obj;
  tn_Type *type = f->_checked_type_;
  if (!type || v->_checked_type_ == type) return;
  tn_retain(type);
  tn_release(v->_checked_type_);
  v->_checked_type_ = type;
}

tn_IRModule *relay_infer_module(tn_IRModule *m) {
  TN_SCOPE(s);
  INFERENCE(in, m);
  const tn_map *old = m->functions;
  bool changed = false;
  tn_map *functions;
  TN_GETP(functions, tn_scope_own(tn_map_new()));
  for (int64_t i = 0; i < old->len; ++i) {
    if (TN_AS(RelayFunction, function_at(old, i)))
      TN_TRYP(inference_visit(&in, function_at(old, i)));
  }
  for (int64_t i = 0; i < old->len; ++i) {
    tn_obj *f = function_at(old, i), *r = f;
    if (TN_AS(RelayFunction, f)) TN_GETP(r, inference_result(&in, f));
    changed |= r != f;
    TN_TRYP(tn_map_set(functions, old->entries[i].key, tn_any_obj(r)));
  }
  TN_TRYP(relay_report_errors(&in.solver));
  for (int64_t i = 0; i < functions->len; ++i) {
    tn_obj *f = function_at(functions, i);
    if (TN_AS(RelayFunction, f)) set_global_type(functions->entries[i].key, (const tn_BaseFunc *)f);
  }
  return tn_scope_return(s, changed ? ir_module_with_functions(m, functions) : m);
}

/* The typed expression, when nothing is wrong. */
static void *infer(inference *in, const void *expr) {
  void *typed;
  TN_TRYP(inference_visit(in, expr));
  TN_GETP(typed, inference_result(in, expr));
  TN_TRYP(relay_report_errors(&in->solver));
  return typed;
}

void *relay_infer_expr(const void *expr, tn_IRModule *m) {
  TN_SCOPE(s);
  INFERENCE(in, m);
  return tn_scope_return(s, infer(&in, expr));
}

void *relay_infer_new(const void *expr) {
  TN_SCOPE(s);
  INFERENCE(in, NULL);
  in.shallow = true;
  return tn_scope_return(s, infer(&in, expr));
}

tn_Type *relay_infer_type(const void *expr, tn_IRModule *m) {
  TN_SCOPE(s);
  INFERENCE(in, m);
  in.shallow = true;
  TN_TRYP(inference_visit(&in, expr));
  TN_TRYP(relay_report_errors(&in.solver));
  return tn_scope_return(s, relay_resolve(&in.solver, inference_type(&in, expr)));
}

tn_IRModule *relay_infer_type_pass(tn_IRModule *m, const tn_pass_ctx *c) {
  (void)c;
  return relay_infer_module(m);
}

/* (expression) -> its type, which the expression has from now on where it had none. */
static int infer_type_local(TN_ARGS) {
  TN_NARGS("relay._transform.InferTypeLocal", 1);
  TN_ARG_OBJ(RelayExpr, e, 0);
  tn_Type *type, *none = NULL;
  TN_GET(type, relay_infer_type(e, NULL));
  tn_retain(type);
  if (!__atomic_compare_exchange_n(&e->_checked_type_, &none, type, false, __ATOMIC_RELEASE,
                                   __ATOMIC_RELAXED))
    tn_release(type);
  return tn_ret_obj(ret, type);
}

/* (expression, module or None) -> the expression with types */
static int infer_expr(TN_ARGS) {
  TN_NARGS("relay.analysis.InferExpr", 2);
  TN_ARG_OBJ(RelayExpr, e, 0);
  TN_ARG_OPT(IRModule, m, 1);
  return tn_ret_obj(ret, relay_infer_expr(e, m));
}

/* (match, module or None) -> patterns that no clause handles */
static int unmatched_cases(TN_ARGS) {
  TN_CHECK(n == 1 || n == 2, TypeError, NULL, "unmatched_cases: expected a match and a module");
  TN_ARG_OBJ(Match, match, 0);
  tn_IRModule *m = NULL;
  TN_TRY(tn_arg_opt(args, n, 1, &tn_type_IRModule, (tn_obj **)&m));
  if (!m) TN_GET(m, ir_module_new(NULL, NULL, NULL));
  return tn_ret_obj(ret, relay_unmatched_cases(match, m));
}

static const tn_func_row functions[] = {
    {"relay._transform.InferTypeLocal", infer_type_local},
    {"relay.analysis.InferExpr", infer_expr},
    {"relay.analysis.unmatched_cases", unmatched_cases},
};

int relay_infer_init(void) { return tn_func_register_rows(functions, TN_COUNT(functions)); }
