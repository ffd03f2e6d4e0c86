/* Global functions of the analyzer for Python (python/tenon/arith). An analyzer is an opaque object
   that each function takes first. */
#include "arith/arith_impl.h"
#include "arith/rules.h"
#include "base/alloc.h"
#include "object/functions.h"

static const char analyzer_key[] = "arith.AnalyzerHandle";

static void drop_analyzer(void *p) {
  arith_fini(p);
  tn_free(p);
}

static int analyzer_new(TN_ARGS) {
  arith_analyzer *a;
  TN_GET(a, tn_alloc_zero(1, sizeof *a));
  tn_obj *o = tn_opaque_new(analyzer_key, a, drop_analyzer);
  if (!o) tn_free(a);
  return tn_ret_owned(ret, o);
}

/* Arguments 0 and 1: an analyzer and an expression (any object that stands for one). */
static int take(const char *name, const tn_any *args, int32_t n, arith_analyzer **a, tn_expr **e) {
  *a = n > 0 && tn_any_is_obj(&args[0]) ? tn_opaque_get(args[0].v.obj, analyzer_key) : NULL;
  TN_CHECK(*a, TypeError, NULL, "%s: expected an Analyzer as the first argument", name);
  if (!e) return 0;
  *e = NULL;
  if (n > 1 && args[1].type_index != TN_NONE) TN_GET(*e, ir_expr_from(&args[1]));
  TN_CHECK(*e, TypeError, NULL, "%s: expected an expression", name);
  return 0;
}

static int take_var(const tn_any *args, int32_t n, tn_Var **v) {
  TN_TRY(tn_arg_obj(args, n, 1, &tn_type_Var, (tn_obj **)v));
  TN_CHECK(*v, TypeError, NULL, "Analyzer: expected a Var, got None");
  return 0;
}

static int take_flag(const tn_any *args, int32_t n, int32_t i, bool *out) {
  *out = false;
  return i < n ? tn_any_to_bool(&args[i], out) : 0;
}

static int const_int_bound(TN_ARGS) {
  arith_analyzer *a;
  tn_expr *e;
  TN_TRY(take("const_int_bound", args, n, &a, &e));
  a->zero_divisor = false;
  arith_bound b = arith_const_bound(a, e);
  TN_CHECK(!a->zero_divisor, TenonError, e->span, "const_int_bound: division by zero");
  return tn_ret_obj(ret, TN_NEW(ConstIntBound, .min_value = b.min, .max_value = b.max));
}

static int modular_set(TN_ARGS) {
  arith_analyzer *a;
  tn_expr *e;
  TN_TRY(take("modular_set", args, n, &a, &e));
  arith_modular m = arith_modular_set(a, e);
  return tn_ret_obj(ret, TN_NEW(ModularSet, .coeff = m.coeff, .base = m.base));
}

static int simplify(TN_ARGS) {
  arith_analyzer *a;
  tn_expr *e;
  int64_t steps = 2;
  TN_TRY(take("simplify", args, n, &a, &e));
  if (n > 2) TN_TRY(tn_any_to_int(&args[2], &steps));
  return tn_ret_obj(ret, arith_simplify_steps(a, e, steps > 100 ? 100 : (int)steps));
}

static int rewrite_simplify(TN_ARGS) {
  arith_analyzer *a;
  tn_expr *e;
  TN_TRY(take("rewrite_simplify", args, n, &a, &e));
  return tn_ret_obj(ret, arith_rewrite_simplify(a, e));
}

static int canonical_simplify(TN_ARGS) {
  arith_analyzer *a;
  tn_expr *e;
  TN_TRY(take("canonical_simplify", args, n, &a, &e));
  return tn_ret_obj(ret, arith_canonical_simplify(a, e));
}

/* (analyzer, condition, strength) */
static int can_prove(TN_ARGS) {
  arith_analyzer *a;
  tn_expr *e;
  int64_t strength = ARITH_PROVE_DEFAULT;
  TN_TRY(take("can_prove", args, n, &a, &e));
  if (n > 2) TN_TRY(tn_any_to_int(&args[2], &strength));
  *ret = tn_any_bool(arith_prove_with(a, e, (arith_strength)strength));
  return 0;
}

static int can_prove_equal(TN_ARGS) {
  arith_analyzer *a;
  tn_expr *x, *y = NULL;
  TN_TRY(take("can_prove_equal", args, n, &a, &x));
  if (n > 2 && args[2].type_index != TN_NONE) TN_GET(y, ir_expr_from(&args[2]));
  TN_CHECK(y, TypeError, NULL, "can_prove_equal: expected two expressions");
  *ret = tn_any_bool(arith_prove_equal(a, x, y));
  return 0;
}

/* (analyzer, var, expression or range, override) */
static int bind(TN_ARGS) {
  arith_analyzer *a;
  tn_Var *v;
  tn_expr *e = NULL;
  bool override;
  TN_TRY(take("bind", args, n, &a, NULL));
  TN_TRY(take_var(args, n, &v));
  TN_TRY(take_flag(args, n, 3, &override));
  if (n > 2 && tn_any_is_obj(&args[2]) && args[2].v.obj->type_index == TN_TI_Range)
    return arith_bind_range(a, v, (tn_Range *)args[2].v.obj, override);
  if (n > 2 && args[2].type_index != TN_NONE) TN_GET(e, ir_expr_from(&args[2]));
  TN_CHECK(e, TypeError, NULL, "Analyzer.bind: expected an expression or a Range");
  return arith_bind(a, v, e, override);
}

/* (analyzer, var, ConstIntBound, ModularSet or IntervalSet, override) */
static int update(TN_ARGS) {
  arith_analyzer *a;
  tn_Var *v;
  bool override;
  TN_TRY(take("update", args, n, &a, NULL));
  TN_TRY(take_var(args, n, &v));
  TN_TRY(take_flag(args, n, 3, &override));
  tn_obj *info = n > 2 && tn_any_is_obj(&args[2]) ? args[2].v.obj : NULL;
  const tn_ConstIntBound *b = TN_AS(ConstIntBound, info);
  const tn_ModularSet *m = TN_AS(ModularSet, info);
  if (b) return arith_set_bound(a, v, (arith_bound){b->min_value, b->max_value}, override);
  if (m) return arith_set_modular(a, v, (arith_modular){m->coeff, m->base}, override);
  TN_CHECK(TN_AS(IntervalSet, info), TypeError, NULL,
           "Analyzer.update: expected ConstIntBound, ModularSet or IntervalSet, got %s",
           info ? tn_obj_key(info) : "a plain value");
  return arith_set_interval(a, v, TN_AS(IntervalSet, info), override);
}

static int enter_constraint(TN_ARGS) {
  arith_analyzer *a;
  tn_expr *e;
  TN_TRY(take("constraint_scope", args, n, &a, &e));
  TN_CHECK(ir_is_bool(e->dtype), TypeError, e->span, "constraint_scope: expected a bool, got %s",
           TN_DT(e->dtype));
  int64_t mark = arith_enter(a, e);
  if (mark < 0) return -1;
  *ret = tn_any_int(mark);
  return 0;
}

static int exit_constraint(TN_ARGS) {
  arith_analyzer *a;
  int64_t mark = 0;
  TN_TRY(take("constraint_scope", args, n, &a, NULL));
  if (n > 1) TN_TRY(tn_any_to_int(&args[1], &mark));
  TN_CHECK(mark >= 0, ValueError, NULL, "constraint_scope: not entered");
  arith_leave(a, mark);
  return 0;
}

static int rewrites(TN_ARGS) {
  arith_analyzer *a;
  TN_TRY(take("rewrite_simplify_stats", args, n, &a, NULL));
  *ret = tn_any_int(a->rewrites);
  return 0;
}

static int reset_rewrites(TN_ARGS) {
  arith_analyzer *a;
  TN_TRY(take("reset_rewrite_simplify_stats", args, n, &a, NULL));
  a->rewrites = 0;
  return 0;
}

static int new_bound(TN_ARGS) {
  tn_ConstIntBound p = {0};
  TN_NARGS("arith.ConstIntBound", 2);
  TN_TRY(tn_any_to_int(&args[0], &p.min_value));
  TN_TRY(tn_any_to_int(&args[1], &p.max_value));
  return tn_ret_obj(ret, tn_node_copy(&tn_type_ConstIntBound, &p));
}

static int new_modular(TN_ARGS) {
  tn_ModularSet p = {0};
  TN_NARGS("arith.ModularSet", 2);
  TN_TRY(tn_any_to_int(&args[0], &p.coeff));
  TN_TRY(tn_any_to_int(&args[1], &p.base));
  return tn_ret_obj(ret, tn_node_copy(&tn_type_ModularSet, &p));
}

/* (expression, threshold) -> {expression: count} */
static int common_subexpr(TN_ARGS) {
  int64_t threshold;
  TN_NARGS("arith.DetectCommonSubExpr", 2);
  TN_ARG_OBJ(PrimExpr, e, 0);
  TN_TRY(tn_any_to_int(&args[1], &threshold));
  return tn_ret_obj(ret, arith_common_subexpr(e, threshold));
}

static const tn_func_row rows[] = {
    {"arith.DetectCommonSubExpr", common_subexpr},
    {"arith.ConstIntBound", new_bound},
    {"arith.ModularSet", new_modular},
    {"arith.AnalyzerNew", analyzer_new},
    {"arith.AnalyzerConstIntBound", const_int_bound},
    {"arith.AnalyzerModularSet", modular_set},
    {"arith.AnalyzerSimplify", simplify},
    {"arith.AnalyzerRewriteSimplify", rewrite_simplify},
    {"arith.AnalyzerCanonicalSimplify", canonical_simplify},
    {"arith.AnalyzerCanProve", can_prove},
    {"arith.AnalyzerCanProveEqual", can_prove_equal},
    {"arith.AnalyzerBind", bind},
    {"arith.AnalyzerUpdate", update},
    {"arith.AnalyzerEnterConstraint", enter_constraint},
    {"arith.AnalyzerExitConstraint", exit_constraint},
    {"arith.AnalyzerRewrites", rewrites},
    {"arith.AnalyzerResetRewrites", reset_rewrites},
};

int arith_api_init(void) { return tn_func_register_rows(rows, TN_COUNT(rows)); }
