/* Calls in scripts that give neither a number nor an intrinsic: targets, calls within the module,
   and names that only the host language knows. */
#include <string.h>

#include "tir/script/build_impl.h"
#include "target/target.h"
#include "tir/script/const_data.h"

static int give(builder *b, const ast *call, void *obj, val *out) {
  *out = PLAIN_OBJ(obj);
  return obj ? 0 : place_error(b, call);
}

/* T.target("llvm -mcpu=x", host="c"), T.target({"kind": "llvm", ...}) */
static int call_target(builder *b, const ast *call, val *out) {
  const ast *config = arg_of(call, 0, "target_config"), *host = arg_of(call, 1, "host");
  val v, h = {.kind = VAL_PLAIN, .v = tn_any_none()};
  tn_target *t = NULL, *on = NULL;
  if (!config) return ast_error(b->src, call, "T.target: expected a text or a dictionary");
  TN_TRY(eval(b, config, &v));
  if (host) TN_TRY(eval(b, host, &h));
  if (v.kind != VAL_PLAIN || h.kind != VAL_PLAIN)
    return ast_error(b->src, call, "T.target: expected a text or a dictionary");
  bool bare = h.v.type_index == TN_NONE;
  if ((t = target_from(&v.v)) && !bare && (on = target_from(&h.v))) t = target_with_host(t, on);
  return give(b, call, bare || on ? t : NULL, out);
}

/* T.NDArray([1, 2], "int32", (2,)): a tensor */
static int call_tensor(builder *b, const ast *call, val *out) {
  const ast *data = arg_of(call, 0, "data"), *type = arg_of(call, 1, "dtype"),
            *extents = arg_of(call, 2, "shape");
  tn_dtype t;
  val v;
  if (!data || !type || !extents)
    return ast_error(b->src, call, "T.NDArray: expected data, a data type and a shape");
  TN_TRY(eval(b, data, &v));
  TN_TRY(eval_dtype(b, type, &t));
  const tn_arr *shape = eval_exprs(b, extents);
  if (!shape) return -1;
  if (v.kind != VAL_PLAIN) return ast_error(b->src, data, "T.NDArray: expected a list of numbers");
  return give(b, call, tir_const_data(v.v, t, shape), out);
}

/* T.call_tir(cls.f, a, b) is cls.f(a, b) */
static int call_tir(builder *b, const ast *call, val *out) {
  TN_VEC(args);
  TN_TRY(eval_args(b, call, &args));
  const tn_GlobalVar *gv = args.len ? TN_AS(GlobalVar, args.items[0].v.obj) : NULL;
  if (!gv) return ast_error(b->src, call, "T.call_tir: expected a function of the module");
  tn_vec rest = {args.items + 1, args.len - 1, 0};
  return give(b, call, call_global(gv, &rest), out);
}

static int call_not(builder *b, const ast *call, val *out) {
  const ast *a = arg_of(call, 0, "a");
  tn_expr *e = a ? eval_expr(b, a) : NULL;
  if (!e) return a ? -1 : ast_error(b->src, call, "T.Not: expected a condition");
  return give(b, call, TN_MAKE(Not, .dtype = e->dtype, .a = e), out);
}

/* T.var("int32"): a new variable, as older scripts write it */
static int call_var(builder *b, const ast *call, val *out) {
  const ast *type = arg_of(call, 0, "dtype");
  tn_dtype t = TN_I32;
  if (type) TN_TRY(eval_dtype(b, type, &t));
  tn_Var *v = tir_var("v", t);
  if (!v || tn_pmap_put_int(&b->declared, v, 1)) return -1;
  return give(b, call, v, out);
}

/* T.call_intrin("float32", "tir.exp", x) */
static int call_intrin(builder *b, const ast *call, val *out) {
  const ast *type = arg_of(call, 0, "dtype"), *func = arg_of(call, 1, "func_name");
  tn_dtype t;
  val f;
  TN_VEC(args);
  if (!type || !func)
    return ast_error(b->src, call, "T.call_intrin: expected a data type and an operator");
  TN_TRY(eval_dtype(b, type, &t));
  TN_TRY(eval(b, func, &f));
  TN_TRY(eval_args(b, call, &args));
  const char *name = NULL;
  tn_Op *op = TN_AS(Op, val_obj(&f));
  if (!op && f.kind == VAL_PLAIN && tn_any_to_cstr(&f.v, &name) == 0) op = ir_op_get(name);
  if (!op) return place_error(b, func);
  int given = arg_of(call, 0, NULL) ? 1 : 0;
  given += arg_of(call, 1, NULL) ? 1 : 0;
  tn_vec rest = {args.items + given, args.len - given, 0};
  return give(b, call,
              TN_MAKE(Call, .dtype = t, .op = (tn_BaseExpr *)op, .args = tn_arr_from(&rest)), out);
}

tn_Call *call_global(const tn_GlobalVar *gv, const tn_vec *args) {
  const tn_FuncType *type = TN_AS(FuncType, gv->_checked_type_);
  const tn_PrimType *ret = type ? TN_AS(PrimType, type->ret_type) : NULL;
  return TN_NEW(Call, .dtype = ret ? ret->dtype : TN_VOID, .op = (tn_BaseExpr *)(uintptr_t)gv,
                .args = tn_arr_from(args));
}

int call_named(builder *b, const ast *call, const char *name, val *out) {
  static const struct {
    const char *name;
    int (*call)(builder *, const ast *, val *);
  } rows[] = {{"target", call_target}, {"NDArray", call_tensor}, {"call_tir", call_tir},
              {"Not", call_not},       {"var", call_var},        {"call_intrin", call_intrin}};
  for (int i = 0; i < TN_COUNT(rows); ++i) {
    if (strcmp(rows[i].name, name) == 0) return rows[i].call(b, call, out);
  }
  return 1;
}

int name_llvm_intrinsic(builder *b, const ast *call, tn_vec *args) {
  const tn_StringImm *text = args->len ? TN_AS(StringImm, args->items[0].v.obj) : NULL;
  tn_any name = tn_any_obj(text ? text->value : NULL), ret = tn_any_none();
  if (!text) return 0;
  /* asking for the version opens the code generator, where there is one */
  tn_func *version = tn_scope_own(tn_func_find("target.llvm_version_major")), *lookup = NULL;
  if (version) TN_TRY(tn_func_call(version, NULL, 0, &ret));
  if (version) lookup = tn_scope_own(tn_func_find("target.llvm_lookup_intrinsic_id"));
  if (lookup) TN_TRY(tn_func_call(lookup, &name, 1, &ret));
  if (!lookup || ret.v.i64 == 0)
    return ast_error(b->src, call, "Unknown llvm intrinsic function %s%s", text->value->data,
                     lookup ? "" : ": the code generator of LLVM is not there");
  args->items[0] = tn_any_obj(tir_int(tn_dtype_of(kDLUInt, 32, 1), ret.v.i64));
  return args->items[0].v.obj ? 0 : -1;
}

/* Does the host have a function for T.name? */
static bool host_knows(builder *b, const char *name) {
  tn_map *none = tn_scope_own(tn_map_new());
  tn_str *query = tn_str_fmt("?T.%s", name);
  tn_any ret;
  if (!b->opt->host || !none || !query) return false;
  tn_any args[] = {tn_any_obj(query), tn_any_obj(none)};
  if (tn_func_call(b->opt->host, args, 2, &ret)) return tn_error_clear(), false;
  if (tn_any_is_obj(&ret) && !tn_scope_own(ret.v.obj)) return false;
  return ret.type_index == TN_NONE;
}

int call_unknown(builder *b, const ast *call, const val *f, val *out) {
  if (f->kind == VAL_T && host_knows(b, f->name)) return host_eval(b, call, out);
  return ast_error(b->src, call->a, "%c.%s is not known here", f->kind == VAL_T ? 'T' : 'I',
                   f->name);
}
