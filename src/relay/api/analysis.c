/* The analyses as global functions: "relay.analysis.free_vars" and so on. */
#include "ir/functor.h"
#include "ir/module.h"
#include "object/functions.h"
#include "relay/analysis/analysis.h"
#include "relay/analysis/count.h"
#include "relay/relay_impl.h"
#include "relay/transforms/transforms.h"

/* Argument i as an object that must be there. */
static int need(const tn_any *args, int32_t n, int32_t i, const tn_type *type, const char *what,
                void *out) {
  tn_obj *o;
  TN_TRY(tn_arg_obj(args, n, i, type, &o));
  TN_CHECK(o, TypeError, NULL, "%s: expected %s, got None", what, type->key);
  *(tn_obj **)out = o;
  return 0;
}

/* Argument i as a module; NULL when it is None or left out. */
static int module_opt(const tn_any *args, int32_t n, int32_t i, tn_IRModule **out) {
  *out = NULL;
  return tn_arg_opt(args, n, i, &tn_type_IRModule, (tn_obj **)out);
}

/* ---- variables ---- */

static int vars(const tn_any *args, int32_t n, tn_any *ret, relay_vars_kind which) {
  tn_obj *o;
  TN_TRY(need(args, n, 0, &tn_type_Object, "variables", &o));
  return tn_ret_obj(ret, relay_vars_of(o, which));
}
static int all_vars(TN_ARGS) { return vars(args, n, ret, RELAY_VARS_ALL); }
static int bound_vars(TN_ARGS) { return vars(args, n, ret, RELAY_VARS_BOUND); }
static int free_vars(TN_ARGS) { return vars(args, n, ret, RELAY_VARS_FREE); }

static int type_vars(const tn_any *args, int32_t n, tn_any *ret, relay_vars_kind which) {
  tn_obj *o;
  tn_IRModule *m;
  TN_TRY(need(args, n, 0, &tn_type_Object, "type variables", &o));
  TN_TRY(module_opt(args, n, 1, &m));
  return tn_ret_obj(ret, relay_type_vars_of(o, m, which));
}
static int all_type_vars(TN_ARGS) { return type_vars(args, n, ret, RELAY_VARS_ALL); }
static int bound_type_vars(TN_ARGS) { return type_vars(args, n, ret, RELAY_VARS_BOUND); }
static int free_type_vars(TN_ARGS) { return type_vars(args, n, ret, RELAY_VARS_FREE); }

/* ---- form ---- */

static int well_formed(TN_ARGS) {
  tn_obj *e;
  TN_TRY(need(args, n, 0, &tn_type_RelayExpr, "well_formed", &e));
  int ok = relay_well_formed(e);
  *ret = tn_any_bool(ok == 1);
  return ok < 0 ? -1 : 0;
}

static int check_kind(TN_ARGS) {
  tn_Type *t;
  tn_IRModule *m;
  TN_TRY(need(args, n, 0, &tn_type_Type, "check_kind", &t));
  TN_TRY(module_opt(args, n, 1, &m));
  int kind = relay_check_kind(t, m);
  *ret = tn_any_int(kind);
  return kind < 0 ? -1 : 0;
}

static int check_constant(TN_ARGS) {
  tn_obj *e;
  TN_TRY(need(args, n, 0, &tn_type_RelayExpr, "check_constant", &e));
  *ret = tn_any_bool(relay_is_constant(e));
  return 0;
}

static int check_basic_blocks(TN_ARGS) {
  tn_obj *e;
  bool ok = false;
  TN_TRY(need(args, n, 0, &tn_type_RelayExpr, "check_basic_block_normal_form", &e));
  const tn_RelayFunction *f = TN_AS(RelayFunction, e);
  if (!f) TN_GET(f, relay_function(tn_arr_of(0), e, NULL, NULL));
  TN_TRY(relay_in_basic_blocks(f, &ok));
  *ret = tn_any_bool(ok);
  return 0;
}

/* ---- walks ---- */

static int visit(void *ctx, tn_obj *e) {
  tn_any arg = tn_any_obj(e), ret;
  if (!TN_IS(RelayExpr, e)) return 0;
  TN_TRY(tn_func_call(ctx, &arg, 1, &ret));
  tn_any_release(&ret);
  return 0;
}

/* (expression, function called with every expression, operands first) */
static int post_order_visit(TN_ARGS) {
  tn_obj *e;
  tn_func *f;
  TN_TRY(need(args, n, 0, &tn_type_RelayExpr, "post_order_visit", &e));
  TN_TRY(need(args, n, 1, &tn_type_Function, "post_order_visit", &f));
  return tn_post_order(e, visit, f) < 0 ? -1 : 0;
}

static int all_dtypes(TN_ARGS) {
  tn_obj *e;
  TN_TRY(need(args, n, 0, &tn_type_RelayExpr, "all_dtypes", &e));
  return tn_ret_obj(ret, relay_dtypes(e));
}

static int mac_number(TN_ARGS) {
  tn_obj *e;
  TN_TRY(need(args, n, 0, &tn_type_RelayExpr, "get_total_mac_number", &e));
  int64_t all = relay_mac_number(e);
  *ret = tn_any_int(all);
  return all < 0 ? -1 : 0;
}

/* (expression, names of operators) */
static int count_layers(TN_ARGS) {
  tn_obj *e;
  tn_arr *ops;
  TN_TRY(need(args, n, 0, &tn_type_RelayExpr, "count_layers", &e));
  TN_TRY(need(args, n, 1, &tn_type_Array, "count_layers", &ops));
  int64_t all = relay_count_layers(e, ops);
  *ret = tn_any_int(all);
  return all < 0 ? -1 : 0;
}

static int op_freqs(TN_ARGS) {
  tn_IRModule *m;
  TN_TRY(need(args, n, 0, &tn_type_IRModule, "list_op_freqs", &m));
  return tn_ret_obj(ret, relay_op_freqs(m));
}

/* Features of the functions of a module. */
static int64_t module_features(const tn_IRModule *m) {
  int64_t all = 0;
  for (int64_t i = 0; i < m->functions->len; ++i) {
    const tn_obj *f = m->functions->entries[i].value.v.obj;
    int64_t found = TN_AS(RelayFunction, f) ? relay_features(f) : 0;
    if (found < 0) return -1;
    all |= found;
  }
  return all;
}

/* (expression or module) -> numbers of the features */
static int detect_feature(TN_ARGS) {
  tn_obj *o;
  TN_VEC(v);
  TN_TRY(need(args, n, 0, &tn_type_Object, "detect_feature", &o));
  const tn_IRModule *m = TN_AS(IRModule, o);
  int64_t all = m ? module_features(m) : relay_features(o);
  if (all < 0) return -1;
  for (int i = 0; i <= RELAY_F_LET_REC; ++i) {
    if (all >> i & 1) TN_TRY(tn_vec_push(&v, tn_any_int(i)));
  }
  return tn_ret_obj(ret, tn_arr_from(&v));
}

static int fc_transposes(TN_ARGS) {
  tn_obj *e;
  TN_TRY(need(args, n, 0, &tn_type_RelayExpr, "search_fc_transpose", &e));
  return tn_ret_obj(ret, relay_fc_transposes(e));
}

/* (module, number) */
static int intermediate(TN_ARGS) {
  tn_IRModule *m;
  int64_t at;
  TN_NARGS("relay.analysis.ExtractIntermediateExpr", 2);
  TN_TRY(need(args, n, 0, &tn_type_IRModule, "extract_intermdeiate_expr", &m));
  TN_TRY(tn_any_to_int(&args[1], &at));
  return tn_ret_obj(ret, relay_intermediate(m, at));
}

static int kernels(TN_ARGS) {
  tn_IRModule *m;
  TN_TRY(need(args, n, 0, &tn_type_IRModule, "extract_fused_functions", &m));
  return tn_ret_obj(ret, relay_kernels(m));
}

/* (expression, more functions, type definitions); a module is itself */
static int module_from_expr(TN_ARGS) {
  tn_obj *e;
  tn_map *functions = NULL, *types = NULL;
  TN_TRY(need(args, n, 0, &tn_type_Object, "IRModule.from_expr", &e));
  if (TN_AS(IRModule, e)) return tn_ret_obj(ret, e);
  TN_CHECK(TN_IS(RelayExpr, e), TypeError, NULL,
           "IRModule.from_expr: expected an expression, got %s", tn_obj_key(e));
  TN_TRY(tn_arg_opt(args, n, 1, &tn_type_Map, (tn_obj **)&functions));
  TN_TRY(tn_arg_opt(args, n, 2, &tn_type_Map, (tn_obj **)&types));
  TN_TRY(ir_functions_arg(functions, &functions));
  return tn_ret_obj(ret, relay_module_from_expr(e, functions, types));
}

static int fake_quantized_ops(TN_ARGS) {
  tn_IRModule *m;
  TN_TRY(need(args, n, 0, &tn_type_IRModule, "list_fake_quantized_op_freqs", &m));
  return tn_ret_obj(ret, relay_fake_quantized_ops(m));
}

static int call_graph(TN_ARGS) {
  tn_IRModule *m;
  TN_TRY(need(args, n, 0, &tn_type_IRModule, "CallGraph", &m));
  return tn_ret_obj(ret, relay_call_graph(m));
}

static int calibration(TN_ARGS) {
  tn_IRModule *m;
  TN_TRY(need(args, n, 0, &tn_type_IRModule, "get_calibration_data", &m));
  return tn_ret_obj(ret, relay_calibration(m));
}

static const tn_func_row rows[] = {
    {"relay.analysis.list_fake_quantized_op_freqs", fake_quantized_ops},
    {"relay.analysis.CallGraph", call_graph},
    {"relay.analysis.Calibration", calibration},
    {"relay.analysis.all_vars", all_vars},
    {"relay.analysis.bound_vars", bound_vars},
    {"relay.analysis.free_vars", free_vars},
    {"relay.analysis.all_type_vars", all_type_vars},
    {"relay.analysis.bound_type_vars", bound_type_vars},
    {"relay.analysis.free_type_vars", free_type_vars},
    {"relay.analysis.well_formed", well_formed},
    {"relay.analysis.check_kind", check_kind},
    {"relay.analysis.check_basic_block_normal_form", check_basic_blocks},
    {"relay.analysis.check_constant", check_constant},
    {"relay.analysis.post_order_visit", post_order_visit},
    {"relay.analysis.all_dtypes", all_dtypes},
    {"relay.analysis.GetTotalMacNumber", mac_number},
    {"relay.analysis.CountLayers", count_layers},
    {"relay.analysis.ListOpFreqs", op_freqs},
    {"relay.analysis.detect_feature", detect_feature},
    {"relay.analysis.search_fc_transpose", fc_transposes},
    {"relay.analysis.ExtractIntermediateExpr", intermediate},
    {"relay.analysis.FusedFunctions", kernels},
    {"ir.Module_FromExpr", module_from_expr},
};

int relay_analysis_init(void) { return tn_func_register_rows(rows, TN_COUNT(rows)); }
