/* Executors and runtimes as nodes: their options are checked against a table. */
#include "driver/executor.h"

#include <string.h>

#include "base/error.h"
#include "base/scope.h"
#include "ir/imm.h"
#include "ir/module.h"
#include "object/functions.h"

TN_NODES_DEFINE(TN_EXECUTOR_NODES, executor_types)

typedef struct {
  const char *kind, *option, *type;
  const char *dflt; /* literal, or NULL: not set */
} option_row;

static const option_row executor_options[] = {
    {"graph", "link-params", "IntImm", "False"},
    {"aot", "link-params", "IntImm", "True"},
    {"aot", "unpacked-api", "IntImm", NULL},
    {"aot", "interface-api", "runtime.String", NULL},
    {"aot", "workspace-byte-alignment", "IntImm", NULL},
    {"aot", "constant-byte-alignment", "IntImm", NULL},
};
static const option_row runtime_options[] = {
    {"cpp", "system-lib", "IntImm", NULL},
    {"crt", "system-lib", "IntImm", NULL},
};

typedef struct {
  const char *what; /* "Executor" */
  const option_row *rows;
  int n;
} registry;
static const registry executors = {"Executor", executor_options, TN_COUNT(executor_options)};
static const registry runtimes = {"Runtime", runtime_options, TN_COUNT(runtime_options)};

static bool is_known(const registry *r, const char *name) {
  for (int i = 0; i < r->n; ++i)
    if (strcmp(r->rows[i].kind, name) == 0) return true;
  return false;
}

static const option_row *find_option(const registry *r, const char *name, const char *option) {
  for (int i = 0; i < r->n; ++i)
    if (strcmp(r->rows[i].kind, name) == 0 && strcmp(r->rows[i].option, option) == 0)
      return &r->rows[i];
  return NULL;
}

/* A given value in its node form, of the option's type. */
static int check_option(const registry *r, const option_row *o, tn_any *value) {
  tn_expr *e = NULL;
  bool text = tn_any_is_obj(value) && value->v.obj->type_index == TN_TI_String;
  if (!text) TN_GET(e, ir_expr_from(value));
  const char *found = text ? "runtime.String" : tn_obj_key(e);
  TN_CHECK(strcmp(found, o->type) == 0, TenonError, NULL,
           "Attribute \"%s\" should have type \"%s\" but instead found \"%s\"", o->option, o->type,
           found);
  (void)r;
  if (e) *value = tn_any_obj(e);
  return 0;
}

static int check_given(const registry *r, const char *name, const tn_map *given, tn_map *out) {
  for (int64_t i = 0; given && i < given->len; ++i) {
    const char *key;
    TN_TRY(tn_any_to_cstr(&given->entries[i].key, &key));
    const option_row *o = find_option(r, name, key);
    TN_CHECK(o, TenonError, NULL, "Attribute \"%s\" is not available on this %s", key, r->what);
    tn_any value = given->entries[i].value;
    if (value.type_index == TN_NONE) continue;
    TN_TRY(check_option(r, o, &value));
    TN_TRY(tn_map_set(out, tn_any_cstr(key), value));
  }
  return 0;
}

static tn_DictAttrs *make_attrs(const registry *r, const char *name, const tn_map *given) {
  tn_map *out;
  TN_CHECKP(is_known(r, name), TenonError, NULL, "%s \"%s\" is not defined", r->what, name);
  TN_GETP(out, tn_scope_own(tn_map_new()));
  TN_TRYP(check_given(r, name, given, out));
  for (int i = 0; i < r->n; ++i) {
    tn_any value;
    const option_row *o = &r->rows[i];
    if (strcmp(o->kind, name) != 0 || !o->dflt || tn_map_get(out, tn_any_cstr(o->option), &value))
      continue;
    TN_TRYP(tn_map_set(out, tn_any_cstr(o->option), tn_any_obj(tir_bool(o->dflt[0] == 'T'))));
  }
  return ir_attrs_new(out);
}

/* (name, options) */
static int create(const registry *r, const tn_type *type, const tn_any *args, int32_t n,
                  tn_any *ret) {
  const char *name;
  TN_NARGS(r->what, 2);
  TN_TRY(tn_any_to_cstr(&args[0], &name));
  TN_ARG_ITEMS(Map(String, Object), given, 1);
  tn_DictAttrs *attrs;
  TN_GET(attrs, make_attrs(r, name, given));
  const char *names[] = {"name", "attrs"};
  tn_any values[] = {tn_any_obj(tn_str_from(name)), tn_any_obj(attrs)};
  return tn_ret_owned(ret, tn_node_make(type, 2, names, values));
}

static int list_kinds(const registry *r, tn_any *ret) {
  TN_VEC(v);
  for (int i = 0; i < r->n; ++i)
    if (i == 0 || strcmp(r->rows[i].kind, r->rows[i - 1].kind) != 0)
      TN_TRY(tn_vec_push_obj(&v, tn_str_from(r->rows[i].kind)));
  return tn_ret_obj(ret, tn_arr_from(&v));
}

/* Name of each option to the key of its type. */
static int list_options(const registry *r, const tn_any *args, int32_t n, tn_any *ret) {
  const char *name;
  TN_NARGS(r->what, 1);
  TN_TRY(tn_any_to_cstr(&args[0], &name));
  TN_CHECK(is_known(r, name), TenonError, NULL, "%s \"%s\" is not defined", r->what, name);
  tn_map *m;
  TN_GET(m, tn_scope_own(tn_map_new()));
  for (int i = 0; i < r->n; ++i)
    if (strcmp(r->rows[i].kind, name) == 0)
      TN_TRY(
          tn_map_set(m, tn_any_cstr(r->rows[i].option), tn_any_obj(tn_str_from(r->rows[i].type))));
  return tn_ret_obj(ret, m);
}

static int create_executor(TN_ARGS) { return create(&executors, &tn_type_Executor, args, n, ret); }
static int create_runtime(TN_ARGS) { return create(&runtimes, &tn_type_Runtime, args, n, ret); }
static int list_executors(TN_ARGS) { return list_kinds(&executors, ret); }
static int list_runtimes(TN_ARGS) { return list_kinds(&runtimes, ret); }
static int list_executor_options(TN_ARGS) { return list_options(&executors, args, n, ret); }
static int list_runtime_options(TN_ARGS) { return list_options(&runtimes, args, n, ret); }

static const tn_func_row rows[] = {
    {"relay.backend.CreateExecutor", create_executor},
    {"relay.backend.CreateRuntime", create_runtime},
    {"relay.backend.ListExecutors", list_executors},
    {"relay.backend.ListRuntimes", list_runtimes},
    {"relay.backend.ListExecutorOptions", list_executor_options},
    {"relay.backend.ListRuntimeOptions", list_runtime_options},
};

int driver_executor_init(void) {
  TN_TRY(tn_type_register_table(executor_types, TN_COUNT(executor_types)));
  return tn_func_register_rows(rows, TN_COUNT(rows));
}
