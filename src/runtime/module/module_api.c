/* Modules as seen from Python and other languages: the functions "runtime.Module*". */
#include <stdio.h>
#include <string.h>

#include "object/functions.h"
#include "runtime/module/module.h"

static int get_function(TN_ARGS) {
  tn_module *m;
  const char *name;
  bool query_imports = false;
  tn_func *f;
  TN_CHECK(n == 2 || n == 3, TypeError, NULL,
           "runtime.ModuleGetFunction: expected 2 or 3 arguments, got %d", n);
  TN_TRY(tn_arg_module(args, n, 0, &m));
  TN_TRY(tn_any_to_cstr(&args[1], &name));
  if (n == 3) TN_TRY(tn_any_to_bool(&args[2], &query_imports));
  TN_TRY(tn_module_get_function(m, name, query_imports, &f));
  *ret = tn_any_obj(f); /* None when there is no such function */
  return 0;
}

static int implements_function(TN_ARGS) {
  TN_TRY(get_function(self, args, n, ret));
  bool found = ret->type_index != TN_NONE;
  tn_any_release(ret);
  *ret = tn_any_bool(found);
  return 0;
}

static int get_source(TN_ARGS) {
  tn_module *m;
  const char *format = "";
  TN_TRY(tn_arg_module(args, n, 0, &m));
  if (n > 1) TN_TRY(tn_any_to_cstr(&args[1], &format));
  return tn_ret_owned(ret, tn_module_source(m, format));
}

static int imports_size(TN_ARGS) {
  tn_module *m;
  TN_TRY(tn_arg_module(args, n, 0, &m));
  tn_arr *imports = tn_module_imports(m);
  if (!imports) return -1;
  *ret = tn_any_int(imports->len);
  tn_release(imports);
  return 0;
}

static int get_import(TN_ARGS) {
  tn_module *m;
  int64_t i;
  TN_NARGS("runtime.ModuleGetImport", 2);
  TN_TRY(tn_arg_module(args, n, 0, &m));
  TN_TRY(tn_any_to_int(&args[1], &i));
  tn_arr *imports = tn_module_imports(m);
  if (!imports) return -1;
  int64_t len = imports->len;
  int err = i < 0 || i >= len ? -1 : tn_ret_obj(ret, imports->items[i].v.obj);
  tn_release(imports);
  TN_CHECK(!err, IndexError, NULL, "module import %lld: there are %lld", (long long)i,
           (long long)len);
  return 0;
}

static int imports(TN_ARGS) {
  tn_module *m;
  TN_TRY(tn_arg_module(args, n, 0, &m));
  return tn_ret_owned(ret, tn_module_imports(m));
}

static int import(TN_ARGS) {
  tn_module *m, *other;
  TN_NARGS("runtime.ModuleImport", 2);
  TN_TRY(tn_arg_module(args, n, 0, &m));
  TN_TRY(tn_arg_module(args, n, 1, &other));
  return tn_module_import(m, other);
}

static int clear_imports(TN_ARGS) {
  tn_module *m;
  TN_TRY(tn_arg_module(args, n, 0, &m));
  tn_module_clear_imports(m);
  return 0;
}

static int type_key(TN_ARGS) {
  tn_module *m;
  TN_TRY(tn_arg_module(args, n, 0, &m));
  return tn_ret_owned(ret, tn_str_new(tn_module_type_key(m)));
}

static int format(TN_ARGS) {
  tn_module *m;
  TN_TRY(tn_arg_module(args, n, 0, &m));
  return tn_ret_owned(ret, tn_str_new(tn_module_format(m)));
}

static int property_mask(TN_ARGS) {
  tn_module *m;
  TN_TRY(tn_arg_module(args, n, 0, &m));
  *ret = tn_any_int(tn_module_properties(m));
  return 0;
}

static int save(TN_ARGS) {
  tn_module *m;
  const char *path, *fmt = "";
  TN_CHECK(n == 2 || n == 3, TypeError, NULL,
           "runtime.ModuleSaveToFile: expected 2 or 3 arguments, got %d", n);
  TN_TRY(tn_arg_module(args, n, 0, &m));
  TN_TRY(tn_any_to_cstr(&args[1], &path));
  if (n == 3) TN_TRY(tn_any_to_cstr(&args[2], &fmt));
  return tn_module_save(m, path, fmt);
}

static int load_file(TN_ARGS) {
  const char *path, *fmt = "";
  TN_CHECK(n == 1 || n == 2, TypeError, NULL,
           "runtime.ModuleLoadFromFile: expected 1 or 2 arguments, got %d", n);
  TN_TRY(tn_any_to_cstr(&args[0], &path));
  if (n == 2) TN_TRY(tn_any_to_cstr(&args[1], &fmt));
  return tn_ret_owned(ret, tn_module_load(path, fmt));
}

/* A device or target by name, options after it ignored: is there what runs its code? */
static int enabled(TN_ARGS) {
  const char *text;
  char name[64];
  TN_NARGS("runtime.RuntimeEnabled", 1);
  TN_TRY(tn_any_to_cstr(&args[0], &text));
  snprintf(name, sizeof name, "%.*s", (int)strcspn(text, " :"), text);
  int type = tn_device_type_find(name);
  bool yes = type > 0 && tn_device_api_of(type, true);
  if (!yes) {
    TN_BUF(builder);
    tn_buf_printf(&builder, "target.build.%s", name);
    TN_TRY(tn_buf_ok(&builder));
    tn_func *f = tn_func_find(builder.data);
    yes = f != NULL;
    tn_release(f);
  }
  *ret = tn_any_bool(yes);
  return 0;
}

static const tn_func_row rows[] = {
    {"runtime.ModuleGetFunction", get_function},
    {"runtime.ModuleImplementsFunction", implements_function},
    {"runtime.ModuleGetSource", get_source},
    {"runtime.ModuleImportsSize", imports_size},
    {"runtime.ModuleGetImport", get_import},
    {"runtime.ModuleImports", imports},
    {"runtime.ModuleImport", import},
    {"runtime.ModuleClearImports", clear_imports},
    {"runtime.ModuleGetTypeKey", type_key},
    {"runtime.ModuleGetFormat", format},
    {"runtime.ModuleGetPropertyMask", property_mask},
    {"runtime.ModuleSaveToFile", save},
    {"runtime.ModuleLoadFromFile", load_file},
    {"runtime.RuntimeEnabled", enabled},
};

int tn_module_api_init(void) { return tn_func_register_rows(rows, TN_COUNT(rows)); }
