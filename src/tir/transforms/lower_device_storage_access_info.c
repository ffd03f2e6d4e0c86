/* Pointers into buffers become addresses of elements.

     T.tvm_access_ptr(T.type_annotation("float32"), A, 8, 16, 1)   ->   T.address_of(A_1[8])

   Of vectors the offset counts vectors. Last of the passes, for host and device. */
#include "tir/transforms/device_impl.h"

static tn_expr *address(tn_Var *data, tn_dtype t, tn_expr *offset) {
  tn_dtype scalar = ir_with_lanes(t, 1);
  tn_expr *at = offset;
  if (t.lanes > 1) {
    at = tir_mul(offset, tir_const_int(offset->dtype, t.lanes));
    at = (tn_expr *)TN_MAKE(Ramp, .base = at, .stride = tir_one(offset->dtype),
                            .lanes = tn_dtype_lanes(t));
  }
  tn_Buffer *b = TN_NEW(Buffer, .data = data, .dtype = scalar,
                        .shape = tn_arr_of(1, tir_add(offset, tir_one(offset->dtype))),
                        .axis_separators = tn_arr_of(0), .strides = tn_arr_of(0),
                        .elem_offset = tir_zero(offset->dtype), .name = data->name,
                        .data_alignment = TIR_ALIGNMENT, .offset_factor = 1,
                        .buffer_type = TIR_BUFFER_DEFAULT);
  tn_expr *element = b && at ? tir_load(b, tn_arr_of(1, at)) : NULL;
  return element ? tir_call(TN_HANDLE, TIR_OP_address_of, 1, element) : NULL;
}

static tn_expr *lower_call(tn_mut *m, tn_Call *op) {
  tn_Call *call = tn_mut_children(m, op);
  if (!call || !tir_as_call((tn_obj *)call, TIR_OP_tvm_access_ptr)) return (tn_expr *)call;
  TN_CHECKP(call->args->len == 5, ValueError, call->span,
            "tvm_access_ptr: expected 5 arguments, got %lld", (long long)call->args->len);
  tn_Var *data = (tn_Var *)tn_arr_obj(call->args, 1);
  TN_CHECKP(TN_IS(Var, data), ValueError, call->span,
            "tvm_access_ptr: expected the data pointer of a buffer");
  tn_dtype t = ((tn_expr *)tn_arr_obj(call->args, 0))->dtype;
  return address(data, t, (tn_expr *)tn_arr_obj(call->args, 2));
}

tn_PrimFunc *tir_lower_device_storage_access_info(tn_PrimFunc *f, const tn_pass_ctx *c) {
  static const tn_mut_case cases[] = {TN_CASE(Call, lower_call)};
  (void)c;
  TN_MUT(m, cases, NULL);
  return tir_with_body(f, tn_mut_visit(&m, f->body));
}
