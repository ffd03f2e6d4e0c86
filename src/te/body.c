/* Bodies of operations as statements: combining the elements of a reduction, extern statements. */
#include "ir/expr.h"
#include "te/te_impl.h"

static tn_obj *put_operands(void *ctx, tn_obj *o) {
  tn_obj *r = tn_pmap_get(ctx, o);
  if (r) return r;
  return o->type_index == TN_TI_Buffer || o->type_index == TN_TI_Op
             ? o
             : tn_map_children(o, put_operands, ctx);
}

int te_combine(const tn_Reduce *r, const tn_arr *result, const tn_vec *old, const tn_vec *incoming,
               tn_vec *out) {
  TN_PMAP(operands);
  const tn_CommReducer *c = r->combiner;
  for (int64_t i = 0; i < c->lhs->len; ++i) {
    TN_TRY(tn_pmap_put(&operands, tn_arr_obj(c->lhs, i), old->items[i].v.obj));
    TN_TRY(tn_pmap_put(&operands, tn_arr_obj(c->rhs, i), incoming->items[i].v.obj));
  }
  for (int64_t i = 0; result && i < result->len; ++i) {
    tn_obj *e = put_operands(&operands, tn_arr_obj(result, i));
    if (!e || tn_vec_push_obj(out, e)) return -1;
  }
  return result ? 0 : -1;
}

tn_stmt *te_store_all(const tn_vec *buffers, const tn_vec *values, tn_arr *at) {
  TN_VEC(stores);
  TN_VEC(vars);
  int64_t n = buffers->len;
  for (int64_t i = 0; i < n; ++i) {
    tn_Buffer *b = (tn_Buffer *)buffers->items[i].v.obj;
    tn_expr *value = (tn_expr *)values->items[i].v.obj;
    tn_Var *v = n > 1 ? tir_var(tn_cstr(tn_str_fmt("v_%s", tn_cstr(b->name))), b->dtype) : NULL;
    if (tn_vec_push_obj(&vars, v) ||
        tn_vec_push_obj(&stores, tir_store(b, v ? (tn_expr *)v : value, at)))
      return NULL;
  }
  tn_stmt *s = tir_seq(&stores);
  for (int64_t i = n > 1 ? n : 0; i-- > 0 && s;) {
    s = (tn_stmt *)TN_NEW(LetStmt, .var = (tn_Var *)vars.items[i].v.obj,
                          .value = (tn_expr *)values->items[i].v.obj, .body = s);
  }
  return s;
}

/* The body was written for `given`; it uses `b`, its pointer and its offset now. */
static int rename_buffer(tn_pmap *renamed, const tn_Buffer *given, const tn_Buffer *b) {
  if (b == given) return 0;
  TN_TRY(tn_pmap_put(renamed, given, b));
  TN_TRY(tn_pmap_put(renamed, given->data, b->data));
  if (!TN_AS(Var, given->elem_offset)) return 0;
  tn_expr *offset = b->elem_offset ? b->elem_offset : tir_zero(given->elem_offset->dtype);
  return offset ? tn_pmap_put(renamed, given->elem_offset, offset) : -1;
}

tn_stmt *te_extern_body(tn_ExternOp *op, tn_Buffer *(*find)(void *ctx, const tn_Tensor *t),
                        void *ctx) {
  TN_PMAP(renamed);
  for (int64_t i = 0; i < op->inputs->len; ++i) {
    const tn_Buffer *b = find(ctx, (tn_Tensor *)tn_arr_obj(op->inputs, i));
    TN_CHECKP(b, ValueError, NULL, "extern %s: input %lld is not computed by anything",
              tn_cstr(op->name), (long long)i);
    TN_TRYP(rename_buffer(&renamed, (tn_Buffer *)tn_arr_obj(op->input_placeholders, i), b));
  }
  for (int64_t i = 0; i < op->output_placeholders->len; ++i) {
    const tn_Tensor *t = te_output((tn_Operation *)op, i);
    const tn_Buffer *b = t ? find(ctx, t) : NULL;
    TN_CHECKP(b, InternalError, NULL, "extern %s: result %lld has no buffer", tn_cstr(op->name),
              (long long)i);
    TN_TRYP(rename_buffer(&renamed, (tn_Buffer *)tn_arr_obj(op->output_placeholders, i), b));
  }
  return (tn_stmt *)put_operands(&renamed, (tn_obj *)op->body);
}
