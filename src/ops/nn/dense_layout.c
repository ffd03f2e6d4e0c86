/* Layouts of weights of dense layers.

     nn.dense(data, weight NC)  =>  nn.contrib_dense_pack(data, weight NC16n, weight_layout="NC16n")

   Only weights that are constant are packed: packing others takes as long as a product with few
   rows. */
#include <string.h>

#include "ir/imm.h"
#include "kernels/blocks.h"
#include "ops/layout.h"
#include "ops/nn/dense.h"

/* Layout of the second argument as the attributes have it. */
static const char *weight_layout(const char *op, const void *attrs) {
  if (strcmp(op, "nn.contrib_dense_pack") == 0) return relay_attr_str(attrs, "weight_layout");
  bool matmul = strcmp(op, "nn.matmul") == 0;
  return !matmul || relay_attr_int(attrs, "transpose_b", 0) ? "NC" : "CN";
}

int ops_layouts_weight(relay_layouts *q) {
  tn_Layout *weight;
  if (q->types->len != 2) return 0;
  TN_GET(weight, tir_layout(weight_layout(tn_cstr(q->op->name), q->attrs), TN_I32));
  TN_GET(q->in, tn_arr_of(2, NULL, weight));
  TN_GET(q->out, tn_arr_of(1, NULL));
  return 1;
}

void *ops_alter_dense(const relay_replace *r) {
  kernel_machine m;
  const void *attrs = r->call->attrs;
  const tn_TensorType *data = TN_AS(TensorType, tn_arr_obj(r->types, 0)),
                      *weight = TN_AS(TensorType, tn_arr_obj(r->types, 1)),
                      *out = TN_AS(TensorType, r->out_type);
  ops_axes w;
  int64_t units, features, rows = -1;
  if (!data || !weight || !out || data->shape->len != 2 || weight->shape->len != 2 ||
      !TN_AS(Constant, relay_arg(r->call, 1)) || relay_attr_int(attrs, "transpose_a", 0) ||
      !tn_dtype_eq(data->dtype, weight->dtype) || !tn_dtype_eq(data->dtype, out->dtype) ||
      !kernels_machine(&m))
    return relay_leave(r);
  TN_TRYP(ops_axes_of(weight_layout(r->row->name, attrs), weight->shape, true, &w));
  (void)tir_as_int((tn_obj *)relay_dim(data, 0), &rows);
  if (!tir_as_int((tn_obj *)OPS_AXIS(&w, 'N'), &units) ||
      !tir_as_int((tn_obj *)OPS_AXIS(&w, 'C'), &features))
    return relay_leave(r);
  int64_t block = kernels_dense_block(&m, data->dtype, rows, units, features);
  if (!block) return relay_leave(r);
  void *packed =
      relay_attrs("nn.contrib_dense_pack", 3, "units", tn_any_obj(tir_i32((int32_t)units)),
                  "out_dtype", tn_any_dtype(out->dtype), "weight_layout",
                  tn_any_obj(tn_str_fmt("NC%lldn", (long long)block)));
  return packed ? relay_call_args("nn.contrib_dense_pack", packed, r->call->args) : NULL;
}
