/* Pointers that packed functions are given become tensors on the stack, which is what they take.

     T.tvm_call_cpacked("f", sid, ctx)     ->   T.tvm_call_cpacked("f",
                                                  T.tvm_stack_make_array(sid, ...), ctx)

   Parameters of the function are tensors already. The last argument is the resource handle. */
#include "tir/transforms/transforms.h"

static tn_expr *tensor_of(tn_expr *data) {
  const tn_PointerType *t = TN_AS(PointerType, ((tn_Var *)data)->type_annotation);
  const tn_PrimType *element = t ? TN_AS(PrimType, t->element_type) : NULL;
  tn_dtype dtype = element && element->dtype.code != kDLOpaqueHandle ? element->dtype : TN_F32;
  tn_expr *shape = tir_call(TN_HANDLE, TIR_OP_tvm_stack_make_shape, 1, tir_i64(1));
  return tir_call(TN_HANDLE, TIR_OP_tvm_stack_make_array, 6, data, shape, tir_i32(0), tir_i32(1),
                  tir_const_int(dtype, 0), tir_i32(0));
}

static tn_obj *legalize(tn_mut *m, tn_Call *op) {
  const tn_pmap *inputs = m->ctx;
  TN_VEC(v);
  bool same = true;
  if (!tir_as_call((tn_obj *)op, TIR_OP_tvm_call_cpacked)) return tn_mut_children(m, op);
  for (int64_t i = 0; i < op->args->len; ++i) {
    tn_expr *e = (tn_expr *)tn_arr_obj(op->args, i);
    bool pointer = e && TN_IS(Var, e) && e->dtype.code == kDLOpaqueHandle;
    if (pointer && i > 0 && i + 1 < op->args->len && !tn_pmap_has(inputs, e)) {
      TN_GETP(e, tensor_of(e));
      same = false;
    }
    TN_TRYP(tn_vec_push_obj(&v, e));
  }
  if (same) return (tn_obj *)op;
  tn_Call copy = *op;
  TN_GETP(copy.args, tn_arr_from(&v));
  return tn_node_copy(&tn_type_Call, &copy);
}

tn_PrimFunc *tir_legalize_packed_calls(tn_PrimFunc *f, const tn_pass_ctx *c) {
  static const tn_mut_case cases[] = {TN_CASE(Call, legalize)};
  (void)c;
  TN_PMAP(inputs);
  TN_MUT(m, cases, &inputs);
  for (int64_t i = 0; i < f->params->len; ++i)
    TN_TRYP(tn_pmap_put_int(&inputs, tn_arr_obj(f->params, i), 1));
  return tir_with_body(f, tn_mut_visit(&m, f->body));
}
