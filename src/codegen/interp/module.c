/* Modules of kind "stackvm": they keep the programs and interpret them. */
#include <string.h>

#include "base/alloc.h"
#include "codegen/interp/interp.h"

int in_run(in_module *m, const tn_PrimFunc *func, const char *name, in_value *args, int64_t n,
           in_value *result) {
  in_frame f = {.m = m, .name = name};
  int err = 0;
  TN_CHECK(n == func->params->len, CodegenError, func->span,
           "stackvm: %s: expected %d arguments, got %d", name, (int)func->params->len, (int)n);
  for (int64_t i = 0; !err && i < n; ++i)
    err = tn_pmap_put(&f.vars, tn_arr_obj(func->params, i), &args[i]);
  if (!err) err = in_exec(&f, func->body);
  for (size_t i = 0; i < f.stack.cap; ++i)
    if (f.stack.slots[i].key) tn_free(f.stack.slots[i].v.ptr);
  tn_pmap_fini(&f.stack);
  tn_pmap_fini(&f.vars);
  *result = f.result;
  return err ? -1 : 0;
}

int in_run_packed(in_module *m, const tn_PrimFunc *func, const char *name, TVMValue *values,
                  int *codes, int n, TVMValue *ret, int *ret_code) {
  in_value result,
      args[6] = {{.p = values}, {.p = codes}, {.i = n}, {.p = ret}, {.p = ret_code}, {.p = NULL}};
  TN_TRY(in_run(m, func, name, args, 6, &result));
  return result.i != 0 ? tn_legacy_unpark() : 0;
}

const tn_PrimFunc *in_find(const in_module *m, const char *symbol) {
  tn_any key, value;
  for (int64_t i = 0; tn_map_at(m->ir->functions, i, &key, &value); ++i) {
    const tn_PrimFunc *f = TN_AS(PrimFunc, value.v.obj);
    const char *s = f ? ir_attrs_str(f->attrs, "global_symbol") : NULL;
    bool entry = strcmp(symbol, TN_MODULE_MAIN) == 0 && f && tir_func_attr(f, "tir.is_entry_func");
    if (s && (entry || strcmp(s, symbol) == 0)) return f;
  }
  return NULL;
}

/* ---- the kind of module ---- */

/* A function of the module that was asked for. */
typedef struct {
  tn_module *module; /* retained */
  const tn_PrimFunc *func;
} entry;

static int call_entry(void *self, const tn_any *args, int32_t n, tn_any *ret) {
  const entry *e = self;
  tn_legacy_args a;
  TVMValue value = {0};
  int code = kTVMNullptr;
  const char *name = ir_attrs_str(e->func->attrs, "global_symbol");
  TN_TRY(tn_legacy_args_init(&a, args, n, true));
  int err =
      in_run_packed(tn_module_self(e->module), e->func, name, a.values, a.codes, n, &value, &code);
  if (tn_legacy_args_end(&a, err)) return -1;
  return code == kTVMNullptr ? 0 : tn_legacy_take_result(&value, code, ret);
}

static void entry_fini(void *self) {
  entry *e = self;
  tn_release(e->module);
  tn_free(e);
}

static int get_function(tn_module *m, const char *name, tn_func **out) {
  const tn_PrimFunc *func = in_find(tn_module_self(m), name);
  entry *e;
  if (!func) return 0;
  TN_GET(e, tn_alloc_zero(1, sizeof *e));
  tn_retain(e->module = m);
  e->func = func;
  *out = tn_func_new(call_entry, e, entry_fini);
  if (*out) return 0;
  entry_fini(e);
  return -1;
}

static void module_free(in_module *m) {
  tn_release(m->lib.env);
  tn_release(m->ir);
  tn_free(m);
}
static void fini(tn_module *m) { module_free(tn_module_self(m)); }

static const tn_module_ops ops = {
    .type_key = "stackvm",
    .format = "stackvm",
    .properties = TN_MODULE_RUNNABLE | TN_MODULE_BINARY,
    .get_function = get_function,
    .save_file = in_save_file,
    .save_binary = in_save_binary,
    .fini = fini,
};

static int check_functions(const tn_IRModule *ir) {
  tn_any key, value;
  for (int64_t i = 0; tn_map_at(ir->functions, i, &key, &value); ++i)
    TN_CHECK(TN_AS(PrimFunc, value.v.obj), CodegenError, NULL,
             "stackvm: %s is not a tensor program but a %s",
             tn_cstr(((const tn_GlobalVar *)key.v.obj)->name_hint), tn_obj_key(value.v.obj));
  return 0;
}

tn_module *in_module_new(tn_IRModule *ir) {
  in_module *m;
  TN_TRYP(check_functions(ir));
  TN_GETP(m, tn_alloc_zero(1, sizeof *m));
  tn_retain(m->ir = ir);
  tn_module *out = tn_module_new(&ops, m);
  if (!out) {
    module_free(m);
    return NULL;
  }
  m->self[0] = out;
  m->lib.modules = m->self;
  m->lib.nmodule = m->lib.cap = 1;
  return out;
}

static int build_stackvm(TN_ARGS) {
  TN_NARGS("target.build.stackvm", 2);
  TN_ARG_OBJ(IRModule, ir, 0);
  return tn_ret_owned(ret, in_module_new(ir));
}

static const tn_func_row rows[] = {{"target.build.stackvm", build_stackvm}};

int interp_init(void) {
  TN_TRY(in_file_init());
  return tn_func_register_rows(rows, TN_COUNT(rows));
}
