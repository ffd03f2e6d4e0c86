/* Global functions of modules and functions: "ir.IRModule", "ir.Module_Add", "ir.BaseFuncWithAttr",
 * ... */
#include "ir/ir_impl.h"
#include "ir/module.h"

/* Argument i as an object of a type; None is an error. */
static int need(const tn_any *args, int32_t n, int32_t i, const tn_type *type, void *out) {
  tn_obj *o;
  TN_TRY(tn_arg_obj(args, n, i, type, &o));
  TN_CHECK(o, TypeError, NULL, "argument %d: expected %s, got None", i, type->key);
  *(tn_obj **)out = o;
  return 0;
}
#define NEED(T, name, i)                                                                           \
  tn_##T *name;                                                                                    \
  TN_TRY(need(args, n, i, &tn_type_##T, &name))

static int text_arg(const tn_any *args, int32_t n, int32_t i, const char **out) {
  TN_CHECK(i < n, TypeError, NULL, "missing argument %d: expected str", i);
  return tn_any_to_cstr(&args[i], out);
}

/* Keys given as text become GlobalVar, or stay as they are. */
int ir_functions_arg(tn_map *given, tn_map **out) {
  *out = given;
  bool names = false;
  for (int64_t i = 0; given && i < given->len; ++i)
    names |= given->entries[i].key.type_index == TN_TI_String;
  if (!names) return 0;
  TN_GET(*out, tn_scope_own(tn_map_new()));
  for (int64_t i = 0; i < given->len; ++i) {
    tn_any key = given->entries[i].key;
    if (key.type_index == TN_TI_String) {
      tn_GlobalVar *v = ir_global_var(tn_cstr((const tn_str *)key.v.obj));
      if (!v) return -1;
      key = tn_any_obj(v);
    }
    TN_TRY(tn_map_set(*out, key, given->entries[i].value));
  }
  return 0;
}

/* None, a dictionary or DictAttrs */
static int attrs_arg(const tn_any *args, int32_t n, int32_t i, tn_DictAttrs **out) {
  tn_obj *o = NULL;
  if (i < n) TN_TRY(tn_any_to_obj(&args[i], NULL, &o));
  *out = TN_AS(DictAttrs, o);
  if (!o || *out) return 0;
  TN_CHECK(o->type_index == TN_TI_Map, TypeError, NULL, "attrs: expected a dictionary, got %s",
           tn_obj_key(o));
  TN_GET(*out, ir_attrs_new((tn_map *)o));
  return 0;
}

/* (functions, type_definitions, attrs) */
static int module(TN_ARGS) {
  tn_map *functions = NULL, *types = NULL;
  tn_DictAttrs *attrs;
  TN_TRY(tn_arg_opt(args, n, 0, &tn_type_Map, (tn_obj **)&functions));
  TN_TRY(tn_arg_opt(args, n, 1, &tn_type_Map, (tn_obj **)&types));
  TN_TRY(attrs_arg(args, n, 2, &attrs));
  TN_TRY(ir_functions_arg(functions, &functions));
  return tn_ret_obj(ret, ir_module_new(functions, types, attrs));
}

static int module_copy(TN_ARGS) {
  NEED(IRModule, m, 0);
  return tn_ret_obj(ret, ir_module_copy(m));
}

/* (module, var or name, function, update) */
static int module_add(TN_ARGS) {
  NEED(IRModule, m, 0);
  NEED(GlobalVar, v, 1);
  NEED(BaseFunc, f, 2);
  bool update = false;
  if (n > 3) TN_TRY(tn_any_to_bool(&args[3], &update));
  return ir_module_add(m, v, f, update);
}

static int module_add_def(TN_ARGS) {
  NEED(IRModule, m, 0);
  NEED(GlobalTypeVar, v, 1);
  NEED(Type, def, 2);
  bool update = false;
  if (n > 3) TN_TRY(tn_any_to_bool(&args[3], &update));
  return ir_module_add_type(m, v, def, update);
}

static int module_remove(TN_ARGS) {
  NEED(IRModule, m, 0);
  if (n > 1 && tn_any_is_obj(&args[1]) && args[1].v.obj->type_index == TN_TI_GlobalVar)
    return ir_module_remove(m, tn_cstr(((tn_GlobalVar *)args[1].v.obj)->name_hint));
  const char *name;
  TN_TRY(text_arg(args, n, 1, &name));
  return ir_module_remove(m, name);
}

static int module_lookup(TN_ARGS) {
  NEED(IRModule, m, 0);
  NEED(GlobalVar, v, 1);
  return tn_ret_obj(ret, ir_module_lookup(m, v));
}

static int module_lookup_str(TN_ARGS) {
  NEED(IRModule, m, 0);
  const char *name;
  TN_TRY(text_arg(args, n, 1, &name));
  tn_GlobalVar *v = ir_module_var(m, name);
  return v ? tn_ret_obj(ret, ir_module_lookup(m, v)) : -1;
}

static int contains(const tn_map *names, const char *name, tn_any *ret) {
  *ret = tn_any_bool(tn_map_find(names, name) != NULL);
  return 0;
}

static int module_contains(TN_ARGS) {
  NEED(IRModule, m, 0);
  const char *name;
  TN_TRY(text_arg(args, n, 1, &name));
  return contains(m->global_var_map_, name, ret);
}

static int module_contains_type(TN_ARGS) {
  NEED(IRModule, m, 0);
  const char *name;
  TN_TRY(text_arg(args, n, 1, &name));
  return contains(m->global_type_var_map_, name, ret);
}

static int module_var(TN_ARGS) {
  NEED(IRModule, m, 0);
  const char *name;
  TN_TRY(text_arg(args, n, 1, &name));
  return tn_ret_obj(ret, ir_module_var(m, name));
}

static int module_type_var(TN_ARGS) {
  NEED(IRModule, m, 0);
  const char *name;
  TN_TRY(text_arg(args, n, 1, &name));
  tn_obj *v = tn_map_find(m->global_type_var_map_, name);
  TN_CHECK(v, ValueError, NULL, "Cannot find global type var %s in the Module", name);
  return tn_ret_obj(ret, v);
}

static int values_of(const tn_map *m, tn_any *ret) {
  TN_VEC(v);
  for (int64_t i = 0; i < m->len; ++i) TN_TRY(tn_vec_push(&v, m->entries[i].value));
  return tn_ret_obj(ret, tn_arr_from(&v));
}

static int module_vars(TN_ARGS) {
  NEED(IRModule, m, 0);
  return values_of(m->global_var_map_, ret);
}

static int module_type_vars(TN_ARGS) {
  NEED(IRModule, m, 0);
  return values_of(m->global_type_var_map_, ret);
}

static int module_lookup_def(TN_ARGS) {
  NEED(IRModule, m, 0);
  NEED(GlobalTypeVar, v, 1);
  tn_any def;
  tn_obj *own = tn_map_find(m->global_type_var_map_, tn_cstr(v->name_hint));
  TN_CHECK(own && tn_map_get(m->type_definitions, tn_any_obj(own), &def), ValueError, NULL,
           "There is no definition of %s", tn_cstr(v->name_hint));
  return tn_ret_obj(ret, def.v.obj);
}

/* Adds everything of another module; what it has replaces what is there. */
static int module_update(TN_ARGS) {
  NEED(IRModule, m, 0);
  NEED(IRModule, other, 1);
  const tn_map *f = other->functions, *t = other->type_definitions;
  for (int64_t i = 0; i < f->len; ++i)
    TN_TRY(ir_module_add(m, (tn_GlobalVar *)f->entries[i].key.v.obj,
                         (tn_BaseFunc *)f->entries[i].value.v.obj, true));
  for (int64_t i = 0; i < t->len; ++i)
    TN_TRY(ir_module_add_type(m, (tn_GlobalTypeVar *)t->entries[i].key.v.obj,
                              (tn_Type *)t->entries[i].value.v.obj, true));
  return 0;
}

/* Argument i as containers hold values: numbers as constants; owned by the scope. */
static int boxed(const tn_any *arg, tn_any *out) {
  TN_TRY(tn_any_own(arg, out));
  if (!tn_any_is_obj(out) && out->type_index != TN_NONE) TN_TRY(tn_scalar_box(out, "Object"));
  return !tn_any_is_obj(out) || tn_scope_own(out->v.obj) ? 0 : -1;
}

/* (module, key, value): a copy with the attribute set */
static int module_with_attr(TN_ARGS) {
  NEED(IRModule, m, 0);
  const char *key;
  TN_TRY(text_arg(args, n, 1, &key));
  TN_CHECK(n > 2, TypeError, NULL, "Module_WithAttr: expected module, key and value");
  tn_IRModule proto = *m;
  tn_any value;
  TN_TRY(boxed(&args[2], &value));
  TN_GET(proto.attrs, ir_attrs_with(m->attrs, key, value));
  return tn_ret_obj(ret, tn_node_copy(&tn_type_IRModule, &proto));
}

static int module_without_attr(TN_ARGS) {
  NEED(IRModule, m, 0);
  const char *key;
  TN_TRY(text_arg(args, n, 1, &key));
  tn_IRModule proto = *m;
  TN_GET(proto.attrs, ir_attrs_without(m->attrs, key));
  return tn_ret_obj(ret, tn_node_copy(&tn_type_IRModule, &proto));
}

static int module_get_attr(TN_ARGS) {
  NEED(IRModule, m, 0);
  const char *key;
  tn_any found;
  TN_TRY(text_arg(args, n, 1, &key));
  return ir_attrs_get(m->attrs, key, &found) ? tn_any_own(&found, ret) : 0;
}

/* ---- functions and attributes ---- */

static int func_attrs(TN_ARGS) {
  NEED(BaseFunc, f, 0);
  return f->attrs ? tn_ret_obj(ret, f->attrs) : 0;
}

static int func_copy(TN_ARGS) {
  NEED(BaseFunc, f, 0);
  return tn_ret_obj(ret, tn_node_copy(f->hdr.type, f));
}

static int func_with_attr(TN_ARGS) {
  NEED(BaseFunc, f, 0);
  const char *key;
  TN_TRY(text_arg(args, n, 1, &key));
  TN_CHECK(n > 2, TypeError, NULL, "BaseFuncWithAttr: expected function, key and value");
  tn_any value;
  TN_TRY(boxed(&args[2], &value));
  return tn_ret_obj(ret, ir_func_with_attr(f, key, value));
}

static int func_without_attr(TN_ARGS) {
  NEED(BaseFunc, f, 0);
  const char *key;
  TN_TRY(text_arg(args, n, 1, &key));
  return tn_ret_obj(ret, ir_func_with_attr(f, key, tn_any_none()));
}

static int dict_of_attrs(TN_ARGS) {
  NEED(DictAttrs, a, 0);
  return tn_ret_obj(ret, a->dict);
}

/* The type of a field, as users of attributes read it. */
static const char *type_info_of(const tn_field *f) {
  switch (f->kind) {
  case TN_F_DTYPE: return "DataType";
  case TN_F_I64:
  case TN_F_ENUM: return "int";
  case TN_F_F64: return "double";
  case TN_F_BOOL: return "bool";
  case TN_F_DEVICE: return "Device";
  default: return f->cls && f->cls[0] ? f->cls : "Object";
  }
}

/* Descriptions of the fields of an attribute set. */
static int list_field_info(TN_ARGS) {
  NEED(Attrs, a, 0);
  TN_VEC(v);
  for (int i = 0; i < a->hdr.type->nfield; ++i) {
    const tn_field *f = &a->hdr.type->fields[i];
    const char *cls = type_info_of(f);
    tn_str *type = f->dflt ? tn_str_fmt("%s, default=%s", cls, f->dflt) : tn_str_from(cls);
    tn_AttrFieldInfo *info = TN_NEW(AttrFieldInfo, .name = tn_str_from(f->name), .type_info = type,
                                    .description = tn_str_from(f->doc));
    if (!info) return -1;
    TN_TRY(tn_vec_push_obj(&v, info));
  }
  return tn_ret_obj(ret, tn_arr_from(&v));
}

static const tn_func_row rows[] = {
    {"ir.IRModule", module},
    {"ir.Module_Clone", module_copy},
    {"ir.Module_Add", module_add},
    {"ir.Module_AddDef", module_add_def},
    {"ir.Module_Remove", module_remove},
    {"ir.Module_Lookup", module_lookup},
    {"ir.Module_Lookup_str", module_lookup_str},
    {"ir.Module_LookupDef", module_lookup_def},
    {"ir.Module_ContainGlobalVar", module_contains},
    {"ir.Module_ContainGlobalTypeVar", module_contains_type},
    {"ir.Module_GetGlobalVar", module_var},
    {"ir.Module_GetGlobalTypeVar", module_type_var},
    {"ir.Module_GetGlobalVars", module_vars},
    {"ir.Module_GetGlobalTypeVars", module_type_vars},
    {"ir.Module_Update", module_update},
    {"ir.Module_WithAttr", module_with_attr},
    {"ir.Module_WithoutAttr", module_without_attr},
    {"ir.Module_GetAttr", module_get_attr},
    {"ir.BaseFunc_Attrs", func_attrs},
    {"ir.BaseFuncCopy", func_copy},
    {"ir.BaseFuncWithAttr", func_with_attr},
    {"ir.BaseFuncWithoutAttr", func_without_attr},
    {"ir.DictAttrsGetDict", dict_of_attrs},
    {"ir.AttrsListFieldInfo", list_field_info},
};

int ir_api_module_init(void) { return tn_func_register_rows(rows, TN_COUNT(rows)); }
