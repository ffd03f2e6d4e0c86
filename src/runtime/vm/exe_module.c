/* Executables as modules: what programs call on them, by name. The library of the primitives is
   their import; saved in a library, an executable is its bytecode as in file.c. */
#include <string.h>

#include "base/error.h"
#include "base/reader.h"
#include "runtime/module/module_blob.h"
#include "runtime/module/module.h"
#include "runtime/vm/machine.h"

static tn_vm_exe *exe_of(void *self) { return tn_module_self(self); }

/* ---- text ---- */

static int get_bytecode(TN_ARGS) { return tn_ret_owned(ret, tn_vm_text_bytecode(exe_of(self))); }
static int get_constants(TN_ARGS) { return tn_ret_owned(ret, tn_vm_text_constants(exe_of(self))); }
static int get_devices(TN_ARGS) { return tn_ret_owned(ret, tn_vm_text_devices(exe_of(self))); }
static int get_primitives(TN_ARGS) {
  return tn_ret_owned(ret, tn_vm_text_primitives(exe_of(self)));
}
static int get_stats(TN_ARGS) { return tn_ret_owned(ret, tn_vm_text_stats(exe_of(self))); }

/* ---- parts ---- */

static int get_lib(TN_ARGS) {
  tn_arr *imports = tn_module_imports(self);
  if (!imports) return -1;
  if (imports->len > 0) (void)tn_any_own(&imports->items[0], ret);
  tn_release(imports);
  return 0;
}

static int save(TN_ARGS) { return tn_ret_owned(ret, tn_vm_save(exe_of(self))); }

static int names_of(const char *const *names, int64_t n, tn_any *ret) {
  TN_VEC(v);
  for (int64_t i = 0; i < n; ++i) TN_TRY(tn_vec_push_obj(&v, tn_str_from(names[i])));
  return tn_ret_obj(ret, tn_arr_from(&v));
}

/* Names of the primitives in order. */
static int get_primitive_names(TN_ARGS) {
  const tn_vm_exe *x = exe_of(self);
  return names_of(x->prims, x->nprim, ret);
}

/* Names of the functions in order. */
static int get_globals(TN_ARGS) {
  const tn_vm_exe *x = exe_of(self);
  TN_VEC(v);
  for (int64_t i = 0; i < x->nfunc; ++i) TN_TRY(tn_vec_push_obj(&v, tn_str_from(x->funcs[i].name)));
  return tn_ret_obj(ret, tn_arr_from(&v));
}

static tn_vm_function *function_arg(const tn_vm_exe *x, const tn_any *arg) {
  const char *name;
  TN_TRYP(tn_any_to_cstr(arg, &name));
  int64_t i = tn_vm_find(x, name);
  return i >= 0 ? &x->funcs[i]
                : TN_RAISEP(ValueError, NULL, "Cannot find function %s in executable", name);
}

static int get_function_arity(TN_ARGS) {
  const tn_vm_function *f;
  TN_NARGS("get_function_arity", 1);
  TN_GET(f, function_arg(exe_of(self), &args[0]));
  *ret = tn_any_int(f->nparam);
  return 0;
}

static int get_function_param_name(TN_ARGS) {
  const tn_vm_function *f;
  int64_t i;
  TN_NARGS("get_function_param_name", 2);
  TN_GET(f, function_arg(exe_of(self), &args[0]));
  TN_TRY(tn_any_to_int(&args[1], &i));
  TN_CHECK(i >= 0 && i < f->nparam, IndexError, NULL, "%s has no parameter %lld: it has %d",
           f->name, (long long)i, f->nparam);
  return tn_ret_obj(ret, tn_str_from(f->params[i]));
}

/* (function) -> [types of parameters, types of results]; None where they are not known */
static int get_function_types(TN_ARGS) {
  const tn_vm_function *f;
  tn_arr *params, *results;
  TN_NARGS("get_function_types", 1);
  TN_GET(f, function_arg(exe_of(self), &args[0]));
  if (!f->types) return 0;
  TN_GET(params, tn_vm_list_types(f, false));
  TN_GET(results, tn_vm_list_types(f, true));
  return tn_ret_obj(ret, tn_arr_of(2, params, results));
}

/* ---- late-bound constants ---- */

static int move_consts(TN_ARGS) {
  const char *path;
  int64_t limit;
  TN_NARGS("move_late_bound_consts", 2);
  TN_TRY(tn_any_to_cstr(&args[0], &path) || tn_any_to_int(&args[1], &limit));
  return tn_vm_move_consts(exe_of(self), path, limit);
}

static int get_consts(TN_ARGS) {
  int64_t limit;
  TN_NARGS("get_late_bound_consts", 1);
  TN_TRY(tn_any_to_int(&args[0], &limit));
  return tn_ret_owned(ret, tn_vm_large_consts(exe_of(self), limit));
}

static int load_consts(TN_ARGS) {
  const char *path;
  tn_map *values;
  TN_NARGS("load_late_bound_consts", 1);
  TN_TRY(tn_any_to_cstr(&args[0], &path));
  TN_GET(values, tn_params_load_file(path, false));
  int err = tn_vm_bind_consts(exe_of(self), values);
  tn_release(values);
  return err;
}

static int load_consts_map(TN_ARGS) {
  TN_NARGS("load_late_bound_consts_from_map", 1);
  TN_ARG_ITEMS(Map(String, NDArray), values, 0);
  return tn_vm_bind_consts(exe_of(self), values);
}

static int load_machine(TN_ARGS) { return tn_ret_owned(ret, tn_vm_machine_module(self)); }

/* ---- the module ---- */

static const tn_func_row methods[] = {
    {"get_lib", get_lib},
    {"get_bytecode", get_bytecode},
    {"get_constants", get_constants},
    {"get_virtual_devices", get_devices},
    {"get_primitives", get_primitives},
    {"get_stats", get_stats},
    {"save", save},
    {"get_primitive_names", get_primitive_names},
    {"get_globals", get_globals},
    {"get_function_arity", get_function_arity},
    {"get_function_param_name", get_function_param_name},
    {"get_function_types", get_function_types},
    {"vm_load_executable", load_machine},
    {"move_late_bound_consts", move_consts},
    {"get_late_bound_consts", get_consts},
    {"load_late_bound_consts", load_consts},
    {"load_late_bound_consts_from_map", load_consts_map},
};

static int get_function(tn_module *m, const char *name, tn_func **out) {
  for (int i = 0; i < TN_COUNT(methods); ++i) {
    if (strcmp(methods[i].name, name)) continue;
    TN_GET(*out, tn_module_bind(m, methods[i].call, m));
    return 0;
  }
  return 0;
}

static tn_bytes *save_binary(tn_module *m) {
  tn_bytes *code;
  TN_GETP(code, tn_vm_save(tn_module_self(m)));
  TN_BUF(out);
  tn_bytes_view v = tn_bytes_get(code);
  tn_buf_u64(&out, v.size);
  tn_buf_put(&out, v.data, v.size);
  tn_release(code);
  TN_TRYP(tn_buf_ok(&out));
  return tn_bytes_new(out.data, out.len);
}

static void fini(tn_module *m) { tn_vm_exe_free(tn_module_self(m)); }

static const tn_module_ops exe_ops = {
    .type_key = "VMExecutable",
    .properties = TN_MODULE_BINARY | TN_MODULE_RUNNABLE,
    .get_function = get_function,
    .save_binary = save_binary,
    .fini = fini,
};

tn_vm_exe *tn_vm_exe_of(const tn_module *m) {
  return tn_module_get_ops(m) == &exe_ops ? tn_module_self(m) : NULL;
}

tn_module *tn_vm_module_new(tn_vm_exe *x, tn_module *lib) {
  tn_module *m = tn_module_new(&exe_ops, x);
  if (!m) {
    tn_vm_exe_free(x);
    return NULL;
  }
  if (!lib || tn_module_import(m, lib) == 0) return m;
  tn_release(m);
  return NULL;
}

/* (bytes, library or None) */
static int load_executable(TN_ARGS) {
  tn_bytes_view code;
  tn_module *lib = NULL;
  tn_vm_exe *x;
  TN_NARGS("runtime.Load_Executable", 2);
  TN_TRY(tn_any_to_bytes(&args[0], &code));
  if (args[1].type_index != TN_NONE) TN_TRY(tn_arg_module(args, n, 1, &lib));
  TN_GET(x, tn_vm_load(code.data, code.size));
  return tn_ret_owned(ret, tn_vm_module_new(x, lib));
}

static int load_binary(TN_ARGS) {
  tn_reader *r;
  tn_bytes_view code;
  tn_vm_exe *x;
  TN_NARGS("loadbinary_VMExecutable", 1);
  TN_TRY(tn_arg_reader(args, &r));
  TN_TRY(tn_read_text(r, &code));
  TN_GET(x, tn_vm_load(code.data, code.size));
  return tn_ret_owned(ret, tn_vm_module_new(x, NULL));
}

static const tn_func_row rows[] = {
    {"runtime.Load_Executable", load_executable},
    {"runtime.module.loadbinary_VMExecutable", load_binary},
};

int tn_vm_exe_init(void) { return tn_func_register_rows(rows, TN_COUNT(rows)); }
