/* Statements for computations that no formula of an element expresses. */
#include "ops/ops.h"
#include "tir/tir.h"

tn_stmt *ops_loop(tn_Var *v, tn_expr *extent, tn_stmt *body) {
  if (!v || !extent || !body) return NULL;
  return (tn_stmt *)TN_MAKE(For, .loop_var = v, .min = tir_zero(v->dtype),
                            .extent = tir_cast(v->dtype, extent, NULL), .kind = TIR_FOR_SERIAL,
                            .body = body, .annotations = tn_scope_own(tn_map_new()));
}

tn_stmt *ops_either(tn_expr *cond, tn_stmt *a, tn_stmt *b) {
  if (!cond || !a) return NULL;
  return (tn_stmt *)TN_MAKE(IfThenElse, .condition = cond, .then_case = a, .else_case = b);
}

tn_arr *ops_loop_vars(const char *prefix, int64_t n) {
  TN_VEC(v);
  for (int64_t i = 0; i < n; ++i) {
    tn_str *name = tn_str_fmt("%s%lld", prefix, (long long)i);
    TN_TRYP(tn_vec_push_obj(&v, name ? tir_var(tn_cstr(name), TN_I32) : NULL));
  }
  return tn_arr_from(&v);
}

tn_stmt *ops_loops(const tn_arr *vars, const tn_arr *shape, tn_stmt *body) {
  for (int64_t i = vars->len; body && i-- > 0;)
    body = ops_loop((tn_Var *)tn_arr_obj(vars, i), (tn_expr *)tn_arr_obj(shape, i), body);
  return body;
}

tn_arr *ops_with_index(const tn_arr *indices, int64_t axis, void *e) {
  TN_VEC(v);
  for (int64_t i = 0; i < indices->len; ++i)
    TN_TRYP(tn_vec_push_obj(&v, i == axis ? e : (void *)tn_arr_obj(indices, i)));
  return tn_arr_from(&v);
}

tn_arr *ops_extern(const char *name, tn_arr *inputs, tn_arr *read, tn_arr *written, tn_stmt *body) {
  if (!inputs || !read || !written || !body) return NULL;
  tn_ExternOp *op =
      TN_MAKE(ExternOp, .name = tn_str_from(name), .tag = tn_str_from("extern"),
              .attrs = tn_scope_own(tn_map_new()), .inputs = inputs, .input_placeholders = read,
              .output_placeholders = written, .body = body);
  TN_VEC(results);
  for (int64_t i = 0; op && i < written->len; ++i)
    TN_TRYP(tn_vec_push_obj(&results, te_output((tn_Operation *)op, i)));
  return op ? tn_arr_from(&results) : NULL;
}
