/* Modules and attribute dictionaries. */
#include "ir/module.h"

#include "ir/ir_impl.h"

/* Replaces a map field of a module under its owner. */
static int set_map(tn_map **field, tn_map *value) {
  if (!value) return -1;
  tn_retain(value);
  tn_release(*field);
  *field = value;
  return 0;
}

/* The map itself while nobody else holds it, else a copy that takes its place: adding n functions
   to a module that is being built costs O(n). */
static tn_map *own_map(tn_map **field) {
  if (tn_use_count(*field) == 1) return *field;
  tn_map *copy = tn_scope_own(tn_map_new());
  if (!copy) return NULL;
  for (int64_t i = 0; i < (*field)->len; ++i)
    TN_TRYP(tn_map_set(copy, (*field)->entries[i].key, (*field)->entries[i].value));
  return set_map(field, copy) ? NULL : copy;
}

/* Fills the name tables from the definitions; names must be unique and values functions. */
/* Definitions are nodes of a layer above: known here by the name of their class. */
static int check_definition(const tn_any *def) {
  tn_any own;
  TN_TRY(tn_any_own(def, &own));
  int err = own.type_index == TN_NONE ? TN_RAISE(TypeError, NULL, "expected TypeData, got None")
                                      : tn_class_convert(&own, "TypeData");
  tn_any_release(&own);
  return err ? tn_error_prefix("IRModule: type definition: ") : 0;
}

int ir_module_check(tn_obj *self) {
  tn_IRModule *m = (tn_IRModule *)self;
  tn_map *vars = tn_scope_own(tn_map_new()), *types = tn_scope_own(tn_map_new());
  if (!vars || !types) return -1;
  for (int64_t i = 0; i < m->functions->len; ++i) {
    const tn_map_entry *e = &m->functions->entries[i];
    const tn_GlobalVar *v = tn_any_is_obj(&e->key) ? TN_AS(GlobalVar, e->key.v.obj) : NULL;
    TN_CHECK(v && tn_any_is_obj(&e->value) && TN_IS(BaseFunc, e->value.v.obj), TypeError, NULL,
             "IRModule: functions maps GlobalVar to functions, got %s to %s",
             tn_type_key((uint32_t)e->key.type_index), tn_type_key((uint32_t)e->value.type_index));
    TN_CHECK(!tn_map_find(vars, tn_cstr(v->name_hint)), ValueError, NULL,
             "IRModule: Duplicate global function name %s", tn_cstr(v->name_hint));
    TN_TRY(tn_map_set(vars, tn_any_obj(v->name_hint), e->key));
  }
  for (int64_t i = 0; i < m->type_definitions->len; ++i) {
    const tn_map_entry *e = &m->type_definitions->entries[i];
    const tn_GlobalTypeVar *v = tn_any_is_obj(&e->key) ? TN_AS(GlobalTypeVar, e->key.v.obj) : NULL;
    TN_CHECK(v, TypeError, NULL, "IRModule: type_definitions maps GlobalTypeVar to types, got %s",
             tn_type_key((uint32_t)e->key.type_index));
    TN_TRY(check_definition(&e->value));
    TN_CHECK(!tn_map_find(types, tn_cstr(v->name_hint)), ValueError, NULL,
             "IRModule: Duplicate global type definition name %s", tn_cstr(v->name_hint));
    TN_TRY(tn_map_set(types, tn_any_obj(v->name_hint), e->key));
  }
  TN_TRY(set_map(&m->global_var_map_, vars));
  return set_map(&m->global_type_var_map_, types);
}

static tn_map *or_empty(tn_map *m) { return m ? m : tn_scope_own(tn_map_new()); }

tn_IRModule *ir_module_new(tn_map *functions, tn_map *type_definitions, tn_DictAttrs *attrs) {
  tn_map *empty = tn_scope_own(tn_map_new());
  return TN_MAKE(IRModule, .functions = or_empty(functions),
                 .type_definitions = or_empty(type_definitions), .global_var_map_ = empty,
                 .global_type_var_map_ = empty, .attrs = attrs);
}

tn_IRModule *ir_module_copy(const tn_IRModule *m) { return tn_node_copy(&tn_type_IRModule, m); }

tn_IRModule *ir_module_with_functions(const tn_IRModule *m, tn_map *functions) {
  tn_IRModule copy = *m;
  copy.functions = functions;
  return ir_node_check(tn_node_copy(&tn_type_IRModule, &copy));
}

tn_GlobalVar *ir_global_var(const char *name) {
  return TN_NEW(GlobalVar, .name_hint = tn_str_from(name));
}

tn_GlobalVar *ir_module_find_var(const tn_IRModule *m, const char *name) {
  return (tn_GlobalVar *)tn_map_find(m->global_var_map_, name);
}

tn_GlobalVar *ir_module_var(const tn_IRModule *m, const char *name) {
  tn_GlobalVar *v = ir_module_find_var(m, name);
  if (v) return v;
  TN_BUF(names);
  for (int64_t i = 0; i < m->global_var_map_->len; ++i)
    tn_buf_printf(&names, "%s\"%s\"", i ? ", " : "",
                  tn_cstr((const tn_str *)m->global_var_map_->entries[i].key.v.obj));
  return TN_RAISEP(ValueError, NULL,
                   "Cannot find global var \"%s\" in the Module; candidates are: [%s]", name,
                   names.data ? names.data : "");
}

tn_BaseFunc *ir_module_lookup(const tn_IRModule *m, const tn_GlobalVar *v) {
  tn_any found;
  if (tn_map_get(m->functions, tn_any_obj(v), &found)) return (tn_BaseFunc *)found.v.obj;
  tn_GlobalVar *own = ir_module_var(m, tn_cstr(v->name_hint));
  if (!own) return NULL;
  TN_ICHECKP(tn_map_get(m->functions, tn_any_obj(own), &found));
  return (tn_BaseFunc *)found.v.obj;
}

int ir_module_add(tn_IRModule *m, tn_GlobalVar *v, tn_BaseFunc *f, bool update) {
  TN_SCOPE(s);
  tn_GlobalVar *had = ir_module_find_var(m, tn_cstr(v->name_hint));
  TN_CHECK(!had || update, ValueError, v->span, "IRModule: Duplicate global function name %s",
           tn_cstr(v->name_hint));
  if (had && had != v) TN_TRY(ir_module_remove(m, tn_cstr(v->name_hint)));
  tn_map *functions = own_map(&m->functions), *vars = own_map(&m->global_var_map_);
  if (!functions || !vars) return -1;
  TN_TRY(tn_map_set(functions, tn_any_obj(v), tn_any_obj(f)));
  return tn_map_set(vars, tn_any_obj(v->name_hint), tn_any_obj(v));
}

int ir_module_remove(tn_IRModule *m, const char *name) {
  TN_SCOPE(s);
  tn_GlobalVar *v = ir_module_var(m, name);
  if (!v) return -1;
  tn_map *functions = tn_map_without(m->functions, tn_any_obj(v));
  tn_map *vars = tn_map_without(m->global_var_map_, tn_any_cstr(name));
  TN_TRY(set_map(&m->functions, functions));
  return set_map(&m->global_var_map_, vars);
}

int ir_module_add_type(tn_IRModule *m, tn_GlobalTypeVar *v, tn_Type *def, bool update) {
  TN_SCOPE(s);
  const char *name = tn_cstr(v->name_hint);
  tn_any value = tn_any_obj(def);
  TN_TRY(check_definition(&value));
  tn_obj *had = tn_map_find(m->global_type_var_map_, name);
  TN_CHECK(!had || update, ValueError, v->span,
           "IRModule: Duplicate global type definition name %s", name);
  if (had && had != (tn_obj *)v)
    TN_TRY(set_map(&m->type_definitions, tn_map_without(m->type_definitions, tn_any_obj(had))));
  tn_map *defs = own_map(&m->type_definitions), *vars = own_map(&m->global_type_var_map_);
  if (!defs || !vars) return -1;
  TN_TRY(tn_map_set(defs, tn_any_obj(v), tn_any_obj(def)));
  return tn_map_set(vars, tn_any_obj(v->name_hint), tn_any_obj(v));
}

/* ---- attributes ---- */

tn_DictAttrs *ir_attrs_new(tn_map *dict) { return TN_NEW(DictAttrs, .dict = or_empty(dict)); }

bool ir_attrs_get(const tn_DictAttrs *a, const char *key, tn_any *out) {
  *out = tn_any_none();
  return a && tn_map_get(a->dict, tn_any_cstr(key), out);
}

tn_DictAttrs *ir_attrs_with(const tn_DictAttrs *a, const char *key, tn_any value) {
  return TN_NEW(DictAttrs, .dict = tn_map_with(a ? a->dict : NULL, tn_any_cstr(key), value));
}

tn_DictAttrs *ir_attrs_without(const tn_DictAttrs *a, const char *key) {
  if (!a) return ir_attrs_new(NULL);
  return TN_NEW(DictAttrs, .dict = tn_map_without(a->dict, tn_any_cstr(key)));
}

bool ir_attrs_flag(const tn_DictAttrs *a, const char *key) {
  tn_any v;
  if (!ir_attrs_get(a, key, &v)) return false;
  if (tn_any_is_obj(&v) && v.v.obj->type->hooks->scalar) v.v.obj->type->hooks->scalar(v.v.obj, &v);
  return (v.type_index == TN_INT || v.type_index == TN_BOOL) && v.v.i64 != 0;
}

const char *ir_attrs_str(const tn_DictAttrs *a, const char *key) {
  tn_any v;
  if (!ir_attrs_get(a, key, &v) || !tn_any_is_obj(&v)) return NULL;
  if (v.v.obj->type_index == TN_TI_StringImm) return tn_cstr(((tn_StringImm *)v.v.obj)->value);
  return v.v.obj->type_index == TN_TI_String ? tn_cstr((tn_str *)v.v.obj) : NULL;
}

tn_BaseFunc *ir_func_with_attr(const tn_BaseFunc *f, const char *key, tn_any value) {
  tn_BaseFunc *copy = tn_node_copy(f->hdr.type, f);
  tn_DictAttrs *attrs = value.type_index == TN_NONE ? ir_attrs_without(f->attrs, key)
                                                    : ir_attrs_with(f->attrs, key, value);
  if (!copy || !attrs) return NULL;
  tn_retain(attrs);
  tn_release(copy->attrs);
  copy->attrs = attrs;
  return copy;
}

/* ---- functions saved by name ---- */

const char *ir_env_func_name(const tn_obj *self) {
  return tn_cstr(((const tn_EnvFunc *)self)->name);
}

tn_obj *ir_env_func_from_name(const char *name) {
  TN_SCOPE(s);
  tn_func *f = tn_scope_own(tn_func_find(name));
  if (!f && tn_error_pending()) return NULL;
  TN_CHECKP(f, ValueError, NULL, "Cannot find global function '%s'", name);
  tn_EnvFunc *e = TN_NEW(EnvFunc, .name = tn_str_from(name), .func = f);
  tn_retain(e);
  return (tn_obj *)e;
}
