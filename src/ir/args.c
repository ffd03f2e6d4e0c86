/* Reading the arguments of the layer's global functions. */
#include "ir/ir_impl.h"

int ir_arg_expr(const tn_any *args, int32_t n, int32_t i, tn_expr **out) {
  *out = NULL;
  if (i >= n || args[i].type_index == TN_NONE) return 0;
  TN_GET(*out, ir_expr_from(&args[i]));
  return 0;
}

int ir_arg_need(const char *func, const tn_any *args, int32_t n, int32_t i, tn_expr **out) {
  TN_TRY(ir_arg_expr(args, n, i, out));
  TN_CHECK(*out, TypeError, NULL, "%s: argument %d: expected PrimExpr, got %s", func, i,
           i < n ? "None" : "nothing");
  return 0;
}

int ir_arg_exprs(const tn_any *args, int32_t n, int32_t i, tn_arr **out) {
  TN_VEC(v);
  tn_arr *list = NULL;
  TN_TRY(tn_arg_opt(args, n, i, &tn_type_Array, (tn_obj **)&list));
  bool same = list != NULL;
  for (int64_t k = 0; list && k < list->len; ++k) {
    tn_expr *e;
    e = ir_expr_from(&list->items[k]);
    TN_CHECK(e || tn_error_pending(), TypeError, NULL,
             "argument %d, element %lld: expected PrimExpr, got None", (int)i, (long long)k);
    if (!e) return -1;
    same = same && (const tn_obj *)e == list->items[k].v.obj;
    TN_TRY(tn_vec_push_obj(&v, e));
  }
  if (same) *out = list;
  else TN_GET(*out, tn_arr_from(&v));
  return 0;
}

int ir_arg_span(const tn_any *args, int32_t n, int32_t i, tn_Span **out) {
  *out = NULL;
  return tn_arg_opt(args, n, i, &tn_type_Span, (tn_obj **)out);
}

int ir_arg_text(const tn_any *args, int32_t n, int32_t i, const char *absent, const char **out) {
  *out = absent;
  if (i >= n || args[i].type_index == TN_NONE) return 0;
  if (tn_any_is_obj(&args[i]) && args[i].v.obj->type_index == TN_TI_StringImm) {
    *out = tn_cstr(((tn_StringImm *)args[i].v.obj)->value);
    return 0;
  }
  return tn_any_to_cstr(&args[i], out);
}

int ir_arg_int(const tn_any *args, int32_t n, int32_t i, int64_t absent, int64_t *out) {
  *out = absent;
  if (i >= n || args[i].type_index == TN_NONE) return 0;
  return tn_any_to_int(&args[i], out);
}
