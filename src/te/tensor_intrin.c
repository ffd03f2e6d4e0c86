/* Intrinsics of tensor expressions: what one computes, and the statements that do so.

     gemv = te.decl_tensor_intrin(c.op, intrin_func)       s[C].tensorize(yi, gemv)

   The inputs are placeholders; buffers are those of the inputs, then those of the results. */
#include "te/te_impl.h"

int te_init_intrin(tn_obj *self) {
  tn_TeTensorIntrin *in = (tn_TeTensorIntrin *)self;
  const char *name = tn_cstr(in->name);
  int64_t n = in->inputs->len;
  TN_CHECK(TN_AS(ComputeOp, in->op), TypeError, NULL,
           "tensor intrinsic %s: expected a compute operation, got %s", name, tn_obj_key(in->op));
  TN_CHECK(in->buffers->len == n + te_num_outputs(in->op), ValueError, NULL,
           "tensor intrinsic %s: expected %lld buffers, for inputs and results, got %lld", name,
           (long long)(n + te_num_outputs(in->op)), (long long)in->buffers->len);
  for (int64_t i = 0; i < in->buffers->len; ++i) {
    const tn_Tensor *t =
        i < n ? TN_AS(Tensor, tn_arr_obj(in->inputs, i)) : te_output(in->op, i - n);
    const tn_Buffer *b = TN_AS(Buffer, tn_arr_obj(in->buffers, i));
    TN_CHECK(t && b, TypeError, NULL, "tensor intrinsic %s: %lld: expected a Tensor and a Buffer",
             name, (long long)i);
    TN_CHECK(i >= n || TN_AS(PlaceholderOp, t->op), ValueError, NULL,
             "tensor intrinsic %s: input %s: expected a placeholder; operations that are composed "
             "of others are not supported",
             name, tn_cstr(t->op->name));
    TN_CHECK(tn_dtype_eq(t->dtype, b->dtype) && t->shape->len == b->shape->len, ValueError, NULL,
             "tensor intrinsic %s: the buffer of %s has another type or number of dimensions", name,
             tn_cstr(t->op->name));
  }
  return 0;
}
