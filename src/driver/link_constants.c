/* Parameters of lowered programs that are constants become storage in the code:

     def f(x, c, y): body      with c a constant
   =>
     def f(x, y): c = T.allocate_const(...); body */
#include "base/error.h"
#include "driver/primitive.h"
#include "object/functions.h"
#include "ir/imm.h"
#include "ir/module.h"
#include "runtime/tensor/tensor.h"
#include "tenon/runtime.h"
#include "tir/tir.h"

static tn_stmt *store(const tn_Buffer *b, tn_NDArray *data, tn_stmt *body) {
  const DLTensor *t = tn_tensor_dl((const tn_tensor *)data);
  return (tn_stmt *)TN_NEW(AllocateConst, .buffer_var = b->data, .data = data, .dtype = t->dtype,
                           .extents = tn_arr_of(1, tir_i64(tn_tensor_count(t))), .body = body,
                           .annotations = tn_scope_own(tn_map_new()));
}

static tn_PrimFunc *link_all(const tn_PrimFunc *f, const tn_arr *constants) {
  tn_PrimFunc copy = *f;
  tn_map *buffers;
  TN_VEC(params);
  TN_GETP(buffers, tn_scope_own(tn_map_new()));
  for (int64_t i = 0; i < f->params->len; ++i) {
    tn_any key = f->params->items[i], buffer;
    tn_NDArray *data = TN_AS(NDArray, tn_arr_obj(constants, i));
    bool mapped = tn_map_get(f->buffer_map, key, &buffer);
    if (data && mapped) {
      TN_GETP(copy.body, store((const tn_Buffer *)buffer.v.obj, data, copy.body));
      continue;
    }
    TN_TRYP(tn_vec_push(&params, key));
    if (mapped) TN_TRYP(tn_map_set(buffers, key, buffer));
  }
  TN_GETP(copy.params, tn_arr_from(&params));
  TN_GETP(copy.attrs, ir_attrs_without(f->attrs, DRIVER_LINKED));
  copy.buffer_map = buffers;
  return tn_node_copy(&tn_type_PrimFunc, &copy);
}

tn_PrimFunc *driver_link_constants(tn_PrimFunc *f, const tn_target *t) {
  const tn_obj *attr = tir_func_attr(f, DRIVER_LINKED);
  const tn_arr *constants = attr && attr->type_index == TN_TI_Array ? (const tn_arr *)attr : NULL;
  if (!constants || constants->len != f->params->len) return f;
  TN_CHECKP(target_device_type(t) == kDLCPU, NotImplementedError, NULL,
            "link-params: code for target %s cannot hold constants, only that of the host: build "
            "without link-params",
            tn_cstr(t->kind->name));
  return link_all(f, constants);
}
