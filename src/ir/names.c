/* Supplies of unique names (see names.h). A supply's maps belong to it alone and are changed in
 * place. */
#include "ir/names.h"

#include <string.h>

#include "ir/ir_impl.h"
#include "ir/module.h"

tn_NameSupply *ir_name_supply(const char *prefix) {
  return TN_NEW(NameSupply, .prefix = tn_str_from(prefix), .names = tn_scope_own(tn_map_new()));
}

static tn_str *prefixed(const tn_NameSupply *s, const char *name, bool add_prefix) {
  if (!add_prefix || s->prefix->len == 0) return tn_str_from(name);
  return tn_str_fmt("%s_%s", tn_cstr(s->prefix), name);
}

static bool in_use(const tn_NameSupply *s, const tn_str *name, int64_t *last) {
  tn_any v;
  if (!tn_map_get(s->names, tn_any_obj(name), &v)) return false;
  *last = v.v.i64;
  return true;
}

static tn_str *take(tn_NameSupply *s, tn_str *name) {
  return name && tn_map_set(s->names, tn_any_obj(name), tn_any_int(0)) == 0 ? name : NULL;
}

static tn_str *without_dots(tn_str *name) {
  if (!name || !strchr(tn_cstr(name), '.')) return name;
  TN_BUF(b);
  for (const char *p = tn_cstr(name); *p; ++p) tn_buf_putc(&b, *p == '.' ? '_' : *p);
  return tn_scope_own(tn_buf_str(&b));
}

tn_str *ir_name_fresh(tn_NameSupply *s, const char *name, bool add_prefix, bool underscore) {
  int64_t last, other;
  tn_str *base = without_dots(prefixed(s, name, add_prefix));
  if (!base) return NULL;
  if (!in_use(s, base, &last)) return take(s, base);
  tn_str *unique = base;
  while (unique && in_use(s, unique, &other))
    unique = tn_str_fmt("%s%s%lld", tn_cstr(base), underscore ? "_" : "", (long long)++last);
  if (!unique || tn_map_set(s->names, tn_any_obj(base), tn_any_int(last))) return NULL;
  return take(s, unique);
}

tn_str *ir_name_reserve(tn_NameSupply *s, const char *name, bool add_prefix) {
  return take(s, prefixed(s, name, add_prefix));
}

int ir_name_taken(const tn_NameSupply *s, const char *name, bool add_prefix) {
  int64_t last;
  tn_str *full = prefixed(s, name, add_prefix);
  return full ? in_use(s, full, &last) : -1;
}

/* ---- GlobalVars ---- */

static int know_module(tn_GlobalVarSupply *s, const tn_IRModule *m) {
  for (int64_t i = 0; m && i < m->functions->len; ++i)
    TN_TRY(ir_global_var_reserve(s, (tn_GlobalVar *)m->functions->entries[i].key.v.obj, true));
  return 0;
}

tn_GlobalVarSupply *ir_global_var_supply(tn_NameSupply *names, const tn_IRModule *m) {
  if (!names) names = ir_name_supply("");
  tn_GlobalVarSupply *s =
      TN_NEW(GlobalVarSupply, .name_supply = names, .vars = tn_scope_own(tn_map_new()));
  return s && know_module(s, m) == 0 ? s : NULL;
}

static tn_GlobalVar *make_var(tn_GlobalVarSupply *s, tn_str *name) {
  tn_GlobalVar *v = name ? TN_NEW(GlobalVar, .name_hint = name) : NULL;
  return v && tn_map_set(s->vars, tn_any_obj(name), tn_any_obj(v)) == 0 ? v : NULL;
}

tn_GlobalVar *ir_global_var_fresh(tn_GlobalVarSupply *s, const char *name, bool add_prefix) {
  return make_var(s, ir_name_fresh(s->name_supply, name, add_prefix, true));
}

tn_GlobalVar *ir_global_var_unique(tn_GlobalVarSupply *s, const char *name, bool add_prefix) {
  tn_str *full = ir_name_reserve(s->name_supply, name, add_prefix);
  tn_obj *known = full ? tn_map_find(s->vars, tn_cstr(full)) : NULL;
  return known ? (tn_GlobalVar *)known : make_var(s, full);
}

int ir_global_var_reserve(tn_GlobalVarSupply *s, tn_GlobalVar *v, bool allow_conflict) {
  TN_SCOPE(scope);
  const tn_obj *known = tn_map_find(s->vars, tn_cstr(v->name_hint));
  TN_CHECK(allow_conflict || !known, ValueError, v->span,
           "GlobalVar %s conflicts by name in this supply", tn_cstr(v->name_hint));
  if (!ir_name_reserve(s->name_supply, tn_cstr(v->name_hint), false)) return -1;
  return tn_map_set(s->vars, tn_any_obj(v->name_hint), tn_any_obj(v));
}

/* ---- global functions ---- */

typedef struct {
  tn_obj *supply;
  const char *name;
  bool flag[2]; /* the arguments after the name, `true` when missing */
} call;

static int read_call(const tn_type *type, const tn_any *args, int32_t n, call *c) {
  TN_TRY(tn_arg_obj(args, n, 0, type, &c->supply));
  TN_CHECK(c->supply && n >= 2, TypeError, NULL, "expected %s and a name", type->key);
  TN_TRY(tn_any_to_cstr(&args[1], &c->name));
  for (int i = 0; i < 2; ++i) {
    c->flag[i] = true;
    if (i + 2 < n) TN_TRY(tn_any_to_bool(&args[i + 2], &c->flag[i]));
  }
  return 0;
}

static int name_supply(TN_ARGS) {
  const char *prefix;
  TN_TRY(ir_arg_text(args, n, 0, "", &prefix));
  return tn_ret_obj(ret, ir_name_supply(prefix));
}

static int fresh_name(TN_ARGS) {
  call c;
  TN_TRY(read_call(&tn_type_NameSupply, args, n, &c));
  return tn_ret_obj(ret, ir_name_fresh((tn_NameSupply *)c.supply, c.name, c.flag[0], c.flag[1]));
}

static int reserve_name(TN_ARGS) {
  call c;
  TN_TRY(read_call(&tn_type_NameSupply, args, n, &c));
  return tn_ret_obj(ret, ir_name_reserve((tn_NameSupply *)c.supply, c.name, c.flag[0]));
}

static int contains_name(TN_ARGS) {
  call c;
  TN_TRY(read_call(&tn_type_NameSupply, args, n, &c));
  int taken = ir_name_taken((tn_NameSupply *)c.supply, c.name, c.flag[0]);
  *ret = tn_any_bool(taken > 0);
  return taken < 0 ? -1 : 0;
}

static int supply_from_names(TN_ARGS) {
  tn_NameSupply *names = NULL;
  TN_TRY(tn_arg_opt(args, n, 0, &tn_type_NameSupply, (tn_obj **)&names));
  return tn_ret_obj(ret, ir_global_var_supply(names, NULL));
}

static int supply_from_module(TN_ARGS) {
  TN_ARG_OBJ(IRModule, m, 0);
  return tn_ret_obj(ret, ir_global_var_supply(NULL, m));
}

static int supply_from_modules(TN_ARGS) {
  TN_ARG_OPT(Array, list, 0);
  tn_GlobalVarSupply *s = ir_global_var_supply(NULL, NULL);
  for (int64_t i = 0; s && list && i < list->len; ++i) {
    const tn_IRModule *m = TN_AS(IRModule, tn_arr_obj(list, i));
    TN_CHECK(m, TypeError, NULL, "expected modules, got %s", tn_obj_key(tn_arr_obj(list, i)));
    TN_TRY(know_module(s, m));
  }
  return tn_ret_obj(ret, s);
}

static int fresh_global(TN_ARGS) {
  call c;
  TN_TRY(read_call(&tn_type_GlobalVarSupply, args, n, &c));
  return tn_ret_obj(ret, ir_global_var_fresh((tn_GlobalVarSupply *)c.supply, c.name, c.flag[0]));
}

static int unique_global(TN_ARGS) {
  call c;
  TN_TRY(read_call(&tn_type_GlobalVarSupply, args, n, &c));
  return tn_ret_obj(ret, ir_global_var_unique((tn_GlobalVarSupply *)c.supply, c.name, c.flag[0]));
}

/* (supply, var, allow_conflict) */
static int reserve_global(TN_ARGS) {
  TN_ARG_OBJ(GlobalVarSupply, s, 0);
  TN_ARG_OBJ(GlobalVar, v, 1);
  bool allow = false;
  if (n > 2) TN_TRY(tn_any_to_bool(&args[2], &allow));
  return ir_global_var_reserve(s, v, allow);
}

static const tn_func_row rows[] = {
    {"ir.NameSupply", name_supply},
    {"ir.NameSupply_FreshName", fresh_name},
    {"ir.NameSupply_ReserveName", reserve_name},
    {"ir.NameSupply_ContainsName", contains_name},
    {"ir.GlobalVarSupply_NameSupply", supply_from_names},
    {"ir.GlobalVarSupply_IRModule", supply_from_module},
    {"ir.GlobalVarSupply_IRModules", supply_from_modules},
    {"ir.GlobalVarSupply_FreshGlobal", fresh_global},
    {"ir.GlobalVarSupply_UniqueGlobalFor", unique_global},
    {"ir.GlobalVarSupply_ReserveGlobalVar", reserve_global},
};

int ir_names_init(void) { return tn_func_register_rows(rows, TN_COUNT(rows)); }
