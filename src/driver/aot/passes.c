/* The steps of an ahead-of-time build one by one, for programs and tools that take the pipeline
   apart: main of a program whose operators are functions of the module already, and what is known
   of the functions of such a module. driver_aot_lower goes the same way. */
#include <string.h>

#include "base/error.h"
#include "base/scope.h"
#include "driver/aot/aot.h"
#include "driver/function_info.h"
#include "driver/relay_build.h"
#include "ir/expr.h"
#include "ir/module.h"
#include "object/functions.h"
#include "relay/infer.h"
#include "tir/analysis.h"

enum { ALIGNMENT = 16 };
typedef enum { BY_NAME, BY_SYMBOL, BARE } call_type; /* CallType: Packed, CPacked, Unpacked */

/* ---- main ---- */

/* "x_handle" -> "x" */
static tn_Var *plain_var(const tn_Var *v) {
  static const char ending[] = "_handle";
  tn_str *name;
  size_t n = tn_str_len(v->name), end = sizeof ending - 1;
  const char *text = tn_cstr(v->name);
  if (n > end && memcmp(text + (n - end), ending, end) == 0) n -= end;
  TN_GETP(name, tn_scope_own(tn_str_new_n(text, n)));
  return tir_var(tn_cstr(name), TN_HANDLE);
}

static tn_PrimFunc *with_vars(tn_PrimFunc *f, const tn_vec *params, int64_t outputs) {
  int64_t first = params->len - outputs;
  for (int which = 0; which < 2; ++which) {
    TN_VEC(list);
    tn_arr *vars;
    for (int64_t i = which ? first : 0; i < (which ? params->len : first); ++i)
      TN_TRYP(tn_vec_push(&list, params->items[i]));
    TN_GETP(vars, tn_arr_from(&list));
    TN_GETP(f, tir_with_attr(f, which ? "output_vars" : "input_vars", (tn_obj *)vars));
  }
  return f;
}

/* main with parameters that are called as in the program, and attributes that name them. */
static tn_PrimFunc *described(const tn_PrimFunc *f, tn_target *t, int64_t outputs) {
  TN_VEC(params);
  tn_map *buffers;
  tn_arr *list, *none;
  TN_GETP(buffers, tn_scope_own(tn_map_new()));
  for (int64_t i = 0; i < f->params->len; ++i) {
    const tn_Var *old = (const tn_Var *)tn_arr_obj(f->params, i);
    tn_any buffer;
    tn_Var *v;
    TN_GETP(v, plain_var(old));
    TN_TRYP(tn_vec_push_obj(&params, v));
    if (tn_map_get(f->buffer_map, tn_any_obj(old), &buffer))
      TN_TRYP(tn_map_set(buffers, tn_any_obj(v), buffer));
  }
  TN_GETP(list, tn_arr_from(&params));
  TN_GETP(none, tn_arr_of(0));
  tn_PrimFunc *r = (tn_PrimFunc *)TN_MAKE(PrimFunc, .params = list, .body = f->body,
                                          .buffer_map = buffers, .attrs = f->attrs);
  r = r ? tir_with_attr(r, "target", (tn_obj *)t) : NULL;
  r = r ? tir_with_attr(r, "devices", (tn_obj *)none) : NULL;
  return r ? with_vars(r, &params, outputs) : NULL;
}

static tn_PrimFunc *make_main(tn_IRModule *m, const char *name, tn_target *t, call_type calls) {
  const aot_options o = {.crt = true,
                         .unpacked = calls == BARE,
                         .by_name = calls == BY_NAME,
                         .link_params = true,
                         .workspace_align = ALIGNMENT};
  tn_RelayFunction *f;
  tn_str *symbol;
  aot_main made;
  graph_program g = {0};
  TN_GETP(f, driver_relay_main(m));
  TN_GETP(symbol, tn_str_fmt("%s___tvm_main__", name));
  int err = graph_make(&g, f, NULL, "", "AOT Executor");
  if (!err) err = aot_make_main(&g, &o, tn_cstr(symbol), NULL, &made);
  int outputs = g.nheads;
  graph_fini(&g);
  return err ? NULL : described(made.func, t, outputs);
}

static tn_target *target_of(const tn_obj *given) {
  const tn_CompilationConfig *c = TN_AS(CompilationConfig, given);
  if (!c) return (tn_target *)(uintptr_t)TN_AS(Target, given);
  if (c->optional_homogeneous_target) return c->optional_homogeneous_target;
  TN_CHECKP(c->primitive_targets->len == 1, NotImplementedError, NULL,
            "AOTLowerMain: the AOT executor takes one target");
  return (tn_target *)tn_arr_obj(c->primitive_targets, 0);
}

/* (module, name of the model, CompilationConfig or Target, call type) -> the module with
   __tvm_main__ */
static int lower_main(TN_ARGS) {
  TN_NARGS("driver.aot_lower_main", 4);
  TN_ARG_OBJ(IRModule, m, 0);
  TN_ARG_OBJ(Object, config, 2);
  const char *name;
  int64_t calls;
  tn_target *t;
  tn_PrimFunc *main;
  tn_IRModule *out;
  tn_GlobalVar *v;
  TN_TRY(tn_any_to_cstr(&args[1], &name));
  TN_TRY(tn_any_to_int(&args[3], &calls));
  TN_CHECK(calls >= BY_NAME && calls <= BARE, ValueError, NULL,
           "AOTLowerMain: expected a CallType, got %lld", (long long)calls);
  t = target_of(config);
  TN_CHECK(t || tn_error_pending(), TypeError, NULL,
           "AOTLowerMain: expected a CompilationConfig, got %s", tn_obj_key(config));
  if (!t) return -1;
  TN_GET(m, relay_infer_module(m));
  TN_GET(main, make_main(m, name, t, (call_type)calls));
  TN_GET(out, ir_module_copy(m));
  TN_GET(v, ir_global_var(DRIVER_MAIN_INFO));
  TN_TRY(ir_module_add(out, v, (tn_BaseFunc *)main, true));
  return tn_ret_obj(ret, out);
}

/* ---- what is known ---- */

static tn_map *bytes_for(tn_target *t, int64_t bytes) {
  return tn_map_with(NULL, tn_any_obj(t), tn_any_obj(tir_i64(bytes)));
}

/* What the module's attribute pool_args, pools that main takes, says is in use: bytes of tensors
 * and of constants. */
static int pool_bytes(const tn_IRModule *m, int64_t *tensors, int64_t *constants) {
  tn_any found;
  if (!ir_attrs_get(m->attrs, "pool_args", &found)) return 0;
  const tn_arr *pools = tn_any_is_obj(&found) ? TN_AS(Array, found.v.obj) : NULL;
  for (int64_t i = 0; pools && i < pools->len; ++i) {
    const tn_AllocatedPoolInfo *p = TN_AS(AllocatedPoolInfo, tn_arr_obj(pools, i));
    TN_CHECK(p && p->allocated_size->value >= 0, ValueError, NULL,
             "CreateFunctionMetadata: pool_args: expected an AllocatedPoolInfo at %lld, with 0 "
             "bytes or more in use",
             (long long)i);
    int64_t *sum = TN_AS(ConstantPoolInfo, p->pool_info) ? constants : tensors;
    TN_CHECK(!__builtin_add_overflow(*sum, p->allocated_size->value, sum), ValueError, NULL,
             "CreateFunctionMetadata: pool_args: too many bytes");
  }
  TN_CHECK(pools, TypeError, NULL, "CreateFunctionMetadata: pool_args: expected a list of pools");
  return 0;
}

static tn_FunctionInfo *info_of(const tn_IRModule *m, const tn_GlobalVar *v, tn_PrimFunc *f,
                                const int64_t aligns[2]) {
  const tn_obj *attr = tir_func_attr(f, "target");
  tn_target *t = attr ? (tn_target *)(uintptr_t)TN_AS(Target, attr) : target_current();
  int64_t constants, workspace = tir_workspace_bytes(f, aligns[0]);
  TN_CHECKP(t, ValueError, f->span,
            "CreateFunctionMetadata: expected the attribute target at each function, or a target "
            "around");
  TN_TRYP(tir_constant_bytes(f, aligns[1], &constants));
  if (strcmp(tn_cstr(v->name_hint), DRIVER_MAIN_INFO) == 0)
    TN_TRYP(pool_bytes(m, &workspace, &constants));
  return (tn_FunctionInfo *)TN_NEW(FunctionInfo, .workspace_sizes = bytes_for(t, workspace),
                                   .io_sizes = bytes_for(t, driver_io_bytes(f)),
                                   .constant_sizes = bytes_for(t, constants),
                                   .tir_primfuncs = tn_map_with(NULL, tn_any_obj(t), tn_any_obj(f)),
                                   .relay_primfuncs = tn_scope_own(tn_map_new()));
}

/* (module, workspace alignment, constant alignment) -> name -> FunctionInfo */
static int function_metadata(TN_ARGS) {
  TN_NARGS("driver.aot_function_metadata", 3);
  TN_ARG_OBJ(IRModule, m, 0);
  int64_t aligns[2];
  tn_map *out;
  tn_any key, value;
  for (int i = 0; i < 2; ++i) TN_TRY(tn_any_to_int(&args[i + 1], &aligns[i]));
  TN_CHECK(aligns[0] > 0 && aligns[1] > 0, ValueError, NULL,
           "CreateFunctionMetadata: expected alignments of 1 byte or more");
  TN_GET(out, tn_scope_own(tn_map_new()));
  for (int64_t i = 0; tn_map_at(m->functions, i, &key, &value); ++i) {
    tn_PrimFunc *f = (tn_PrimFunc *)(uintptr_t)TN_AS(PrimFunc, value.v.obj);
    tn_FunctionInfo *info;
    if (!f) continue;
    const tn_GlobalVar *v = (const tn_GlobalVar *)key.v.obj;
    TN_GET(info, info_of(m, v, f, aligns));
    TN_TRY(tn_map_set(out, tn_any_obj(v->name_hint), tn_any_obj(info)));
  }
  return tn_ret_obj(ret, out);
}

/* Names and types of the variables that an attribute of main lists. */
static int tensors_of(const tn_PrimFunc *f, const char *attr, tn_arr **names, tn_arr **types) {
  const tn_obj *vars = tir_func_attr(f, attr);
  TN_VEC(n);
  TN_VEC(t);
  TN_CHECK(vars && vars->type_index == TN_TI_Array, ValueError, f->span,
           "CreateExecutorMetadata: %s has no attribute %s", DRIVER_MAIN_INFO, attr);
  const tn_arr *list = (const tn_arr *)vars;
  for (int64_t i = 0; i < list->len; ++i) {
    const tn_Var *v = TN_AS(Var, tn_arr_obj(list, i));
    tn_any found;
    TN_CHECK(v && tn_map_get(f->buffer_map, tn_any_obj(v), &found), ValueError, f->span,
             "CreateExecutorMetadata: %s lists what is not a tensor at %lld", attr, (long long)i);
    const tn_Buffer *b = (const tn_Buffer *)found.v.obj;
    TN_TRY(tn_vec_push_obj(&n, v->name));
    TN_TRY(tn_vec_push_obj(&t, TN_NEW(TensorType, .shape = b->shape, .dtype = b->dtype)));
  }
  TN_GET(*names, tn_arr_from(&n));
  TN_GET(*types, tn_arr_from(&t));
  return 0;
}

static const tn_PrimFunc *main_of(const tn_IRModule *m) {
  tn_GlobalVar *v = ir_module_find_var(m, DRIVER_MAIN_INFO);
  const tn_PrimFunc *f = v ? TN_AS(PrimFunc, ir_module_lookup(m, v)) : NULL;
  TN_CHECKP(f, ValueError, NULL, "CreateExecutorMetadata: the module has no tensor program %s",
            DRIVER_MAIN_INFO);
  return f;
}

/* Names of devices in main's attribute; none where it has none. */
static tn_arr *devices_of(const tn_PrimFunc *f) {
  const tn_obj *attr = tir_func_attr(f, "devices");
  const tn_arr *vars = attr && attr->type_index == TN_TI_Array ? (const tn_arr *)attr : NULL;
  TN_VEC(names);
  for (int64_t i = 0; vars && i < vars->len; ++i) {
    const tn_Var *v = TN_AS(Var, tn_arr_obj(vars, i));
    if (v) TN_TRYP(tn_vec_push_obj(&names, v->name));
  }
  return tn_arr_from(&names);
}

/* (module, name of the model, executor, workspace alignment, constant alignment) ->
   ExecutorCodegenMetadata */
static int executor_metadata(TN_ARGS) {
  TN_NARGS("driver.aot_executor_metadata", 5);
  TN_ARG_OBJ(IRModule, m, 0);
  TN_ARG_OBJ(Executor, executor, 2);
  const tn_PrimFunc *f;
  const char *name;
  int64_t aligns[2], constants;
  tn_arr *names[2], *types[2];
  TN_TRY(tn_any_to_cstr(&args[1], &name));
  for (int i = 0; i < 2; ++i) TN_TRY(tn_any_to_int(&args[i + 3], &aligns[i]));
  TN_CHECK(aligns[0] > 0 && aligns[1] > 0, ValueError, NULL,
           "CreateExecutorMetadata: expected alignments of 1 byte or more");
  TN_GET(f, main_of(m));
  TN_TRY(tensors_of(f, "input_vars", &names[0], &types[0]));
  TN_TRY(tensors_of(f, "output_vars", &names[1], &types[1]));
  TN_TRY(tir_constant_bytes(f, aligns[1], &constants));
  const char *api = ir_attrs_str(executor->attrs, "interface-api");
  int64_t workspace = tir_workspace_bytes(f, aligns[0]);
  tn_arr *none = tn_arr_of(0);
  return tn_ret_obj(
      ret, TN_NEW(ExecutorCodegenMetadata, .inputs = names[0], .input_tensor_types = types[0],
                  .outputs = names[1], .output_tensor_types = types[1], .pools = none,
                  .constant_pools = none, .io_pool_allocations = tn_scope_own(tn_map_new()),
                  .devices = devices_of(f), .executor = executor->name,
                  .mod_name = tn_str_from(name), .interface_api = tn_str_from(api ? api : "packed"),
                  .unpacked_api = ir_attrs_flag(executor->attrs, "unpacked-api"),
                  .workspace_alignment = aligns[0], .constant_alignment = aligns[1],
                  .workspace_bytes = workspace, .live_bytes = workspace,
                  .constant_bytes = constants, .io_bytes = driver_io_bytes(f)));
}

static const tn_func_row rows[] = {
    {"driver.aot_lower_main", lower_main},
    {"driver.aot_function_metadata", function_metadata},
    {"driver.aot_executor_metadata", executor_metadata},
};

int aot_passes_init(void) { return tn_func_register_rows(rows, TN_COUNT(rows)); }
