/* Global functions of places, types and attributes: "ir.PrimType", "ir.Span", ... */
#include <string.h>

#include "ir/ir_impl.h"
#include "ir/module.h"
#include "ir/span.h"

static int prim_type(TN_ARGS) {
  tn_dtype t;
  TN_NARGS("ir.PrimType", 1);
  TN_TRY(tn_any_to_dtype(&args[0], &t));
  return tn_ret_obj(ret, TN_NEW(PrimType, .dtype = t));
}

static int pointer_type(TN_ARGS) {
  tn_PointerType p = {0};
  const char *scope;
  TN_TRY(tn_arg_obj(args, n, 0, &tn_type_Type, (tn_obj **)&p.element_type));
  TN_TRY(ir_arg_text(args, n, 1, "", &scope));
  p.storage_scope = tn_str_from(scope);
  return tn_ret_obj(ret, ir_node_check(tn_node_copy(&tn_type_PointerType, &p)));
}

static int tuple_type(TN_ARGS) {
  tn_TupleType p = {0};
  TN_TRY(tn_arg_obj(args, n, 0, &tn_type_Array, (tn_obj **)&p.fields));
  TN_TRY(ir_arg_span(args, n, 1, &p.span));
  return tn_ret_obj(ret, tn_node_checked(&tn_type_TupleType, &p));
}

/* Argument i as an array; None and a missing one are empty. */
static int arg_list(const tn_any *args, int32_t n, int32_t i, tn_arr **out) {
  *out = NULL;
  TN_TRY(tn_arg_opt(args, n, i, &tn_type_Array, (tn_obj **)out));
  if (!*out) TN_GET(*out, tn_arr_of(0));
  return 0;
}

/* (arg_types, ret_type, type_params, type_constraints, span) */
static int func_type(TN_ARGS) {
  tn_FuncType p = {0};
  TN_TRY(arg_list(args, n, 0, &p.arg_types));
  TN_TRY(tn_arg_obj(args, n, 1, &tn_type_Type, (tn_obj **)&p.ret_type));
  TN_TRY(arg_list(args, n, 2, &p.type_params));
  TN_TRY(arg_list(args, n, 3, &p.type_constraints));
  TN_TRY(ir_arg_span(args, n, 4, &p.span));
  return tn_ret_obj(ret, tn_node_checked(&tn_type_FuncType, &p));
}

/* self: TypeVar or GlobalTypeVar, which have one layout. (name, kind) */
static int type_var(void *self, const tn_any *args, int32_t n, tn_any *ret) {
  _Static_assert(offsetof(tn_TypeVar, kind) == offsetof(tn_GlobalTypeVar, kind), "one layout");
  tn_TypeVar p = {0};
  const char *name;
  int64_t kind;
  TN_TRY(ir_arg_text(args, n, 0, "", &name));
  TN_TRY(
      ir_arg_int(args, n, 1, self == &tn_type_TypeVar ? IR_KIND_TYPE : IR_KIND_ADT_HANDLE, &kind));
  TN_TRY(ir_arg_span(args, n, 2, &p.span));
  p.kind = (int32_t)kind;
  p.name_hint = tn_str_from(name);
  return tn_ret_obj(ret, tn_node_copy(self, &p));
}

/* (scale, zero_point, dtype, axis) */
static int tensor_affine_type(TN_ARGS) {
  tn_TensorAffineType p = {0};
  TN_CHECK(n >= 3, TypeError, NULL, "TensorAffineType: expected scale, zero_point and dtype");
  TN_TRY(tn_arg_obj(args, n, 0, &tn_type_BaseExpr, (tn_obj **)&p.scale));
  TN_TRY(tn_arg_obj(args, n, 1, &tn_type_BaseExpr, (tn_obj **)&p.zero_point));
  TN_TRY(tn_any_to_dtype(&args[2], &p.dtype));
  TN_TRY(ir_arg_int(args, n, 3, -1, &p.axis));
  return tn_ret_obj(ret, tn_node_copy(&tn_type_TensorAffineType, &p));
}

static int tuple_affine_type(TN_ARGS) {
  tn_TupleAffineType p = {0};
  TN_TRY(arg_list(args, n, 0, &p.types));
  return tn_ret_obj(ret, tn_node_checked(&tn_type_TupleAffineType, &p));
}

static int source_name(TN_ARGS) {
  const char *name;
  TN_TRY(ir_arg_text(args, n, 0, "", &name));
  return tn_ret_obj(ret, ir_source_name(name));
}

/* (source_name, line, end_line, column, end_column) */
static int span(TN_ARGS) {
  tn_SourceName *source;
  int64_t at[4];
  TN_NARGS("ir.Span", 5);
  TN_TRY(tn_arg_obj(args, n, 0, &tn_type_SourceName, (tn_obj **)&source));
  for (int i = 0; i < 4; ++i) TN_TRY(tn_any_to_int(&args[i + 1], &at[i]));
  return tn_ret_obj(ret, ir_span(source, at[0], at[1], at[2], at[3]));
}

static int sequential_span(TN_ARGS) {
  tn_SequentialSpan p = {0};
  TN_TRY(arg_list(args, n, 0, &p.spans));
  const tn_Span *first = TN_AS(Span, p.spans->len ? tn_arr_obj(p.spans, 0) : NULL);
  TN_CHECK(first, ValueError, NULL, "SequentialSpan: expected at least one Span");
  p.source_name = first->source_name;
  p.line = first->line, p.end_line = first->end_line;
  p.column = first->column, p.end_column = first->end_column;
  return tn_ret_obj(ret, tn_node_checked(&tn_type_SequentialSpan, &p));
}

static int global_var(TN_ARGS) {
  const char *name;
  tn_Type *type = NULL;
  TN_TRY(ir_arg_text(args, n, 0, "", &name));
  TN_TRY(tn_arg_opt(args, n, 1, &tn_type_Type, (tn_obj **)&type));
  return tn_ret_obj(ret, TN_NEW(GlobalVar, .name_hint = tn_str_from(name), ._checked_type_ = type));
}

static int dict_attrs(TN_ARGS) {
  tn_map *dict = NULL;
  TN_TRY(tn_arg_opt(args, n, 0, &tn_type_Map, (tn_obj **)&dict));
  return tn_ret_obj(ret, ir_attrs_new(dict));
}

static int env_func_get(TN_ARGS) {
  const char *name;
  TN_NARGS("ir.EnvFuncGet", 1);
  TN_TRY(tn_any_to_cstr(&args[0], &name));
  return tn_ret_owned(ret, ir_env_func_from_name(name));
}

static int env_func_call(TN_ARGS) {
  tn_EnvFunc *f;
  TN_TRY(tn_arg_obj(args, n, 0, &tn_type_EnvFunc, (tn_obj **)&f));
  TN_CHECK(f, TypeError, NULL, "EnvFuncCall: expected EnvFunc, got None");
  return tn_func_call(f->func, args + 1, n - 1, ret);
}

/* ---- types that programs register ---- */

/* (name, code) */
static int datatype_register(TN_ARGS) {
  const char *name;
  int64_t code;
  TN_NARGS("_datatype_register", 2);
  TN_TRY(tn_any_to_cstr(&args[0], &name));
  TN_TRY(tn_any_to_int(&args[1], &code));
  *ret = tn_any_none();
  return tn_dtype_register(name, code);
}

static int datatype_code(TN_ARGS) {
  const char *name;
  TN_NARGS("_datatype_get_type_code", 1);
  TN_TRY(tn_any_to_cstr(&args[0], &name));
  int code = tn_dtype_custom_code(name, strlen(name));
  TN_CHECK(code >= 0, ValueError, NULL, "no type is registered as %.60s", name);
  *ret = tn_any_int(code);
  return 0;
}

static int datatype_name(TN_ARGS) {
  int64_t code;
  TN_NARGS("_datatype_get_type_name", 1);
  TN_TRY(tn_any_to_int(&args[0], &code));
  const char *name = tn_dtype_custom_name(code);
  TN_CHECK(name, ValueError, NULL, "no type is registered with code %lld", (long long)code);
  return tn_ret_obj(ret, tn_str_from(name));
}

static int datatype_registered(TN_ARGS) {
  int64_t code;
  TN_NARGS("_datatype_get_type_registered", 1);
  TN_TRY(tn_any_to_int(&args[0], &code));
  *ret = tn_any_bool(tn_dtype_custom_name(code) != NULL);
  return 0;
}

static const tn_func_row rows[] = {
    {"runtime._datatype_register", datatype_register},
    {"runtime._datatype_get_type_code", datatype_code},
    {"runtime._datatype_get_type_name", datatype_name},
    {"runtime._datatype_get_type_registered", datatype_registered},
    {"ir.PrimType", prim_type},
    {"ir.PointerType", pointer_type},
    {"ir.TupleType", tuple_type},
    {"ir.FuncType", func_type},
    {"ir.TensorAffineType", tensor_affine_type},
    {"ir.TupleAffineType", tuple_affine_type},
    {"ir.SourceName", source_name},
    {"ir.Span", span},
    {"ir.SequentialSpan", sequential_span},
    {"ir.GlobalVar", global_var},
    {"ir.DictAttrs", dict_attrs},
    {"ir.EnvFuncGet", env_func_get},
    {"ir.EnvFuncCall", env_func_call},
};

int ir_api_types_init(void) {
  TN_TRY(tn_func_register("ir.TypeVar", type_var, (void *)(uintptr_t)&tn_type_TypeVar, NULL, 0));
  TN_TRY(tn_func_register("ir.GlobalTypeVar", type_var, (void *)(uintptr_t)&tn_type_GlobalTypeVar,
                          NULL, 0));
  return tn_func_register_rows(rows, TN_COUNT(rows));
}
