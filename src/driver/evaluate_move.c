/* The values of operators that only move elements of a constant: a copy by strides, where making a
   kernel would take far longer. Weights of convolutions get their layout here.

     layout_transform(w: OIHW, "OIHW16i16o")   copy of extents O/16, I/16, H, W, 16, 16
                                               with strides  16*o, 16*i, h, w, i, o  of w */
#include <string.h>

#include "base/error.h"
#include "base/scope.h"
#include "driver/evaluate.h"
#include "relay/op.h"
#include "tenon/runtime.h"
#include "tir/layout.h"

enum { MAX_DIMS = 64 };

/* Elements of a tensor in the order in which they are to be. */
typedef struct {
  int64_t extent[MAX_DIMS], stride[MAX_DIMS];
  int n;
} order;

static bool add_dim(order *o, int64_t extent, int64_t stride) {
  if (o->n == MAX_DIMS) return false;
  o->extent[o->n] = extent;
  o->stride[o->n++] = stride;
  return true;
}

static void strides_of(const DLTensor *t, int64_t *stride) {
  int64_t step = 1;
  for (int i = t->ndim - 1; i >= 0; --i) {
    stride[i] = t->strides ? t->strides[i] : step;
    step *= t->shape[i];
  }
}

/* Axis `letter` of `dst`, as axes of a tensor of layout `src`. */
static bool add_axis(order *o, const DLTensor *t, const int64_t *stride, const tn_Layout *src,
                     const tn_Layout *dst, char letter) {
  bool inner = letter >= 'a' && letter <= 'z';
  char whole = inner ? (char)(letter - 'a' + 'A') : letter, part = (char)(whole - 'A' + 'a');
  int64_t from = tir_layout_factor(src, letter), to = tir_layout_factor(dst, letter);
  int64_t i = tir_layout_index(src, whole), k = tir_layout_index(src, part);
  if (i < 0 || i >= t->ndim || k >= t->ndim) return false;
  if (from > 0 && to > 0)
    return from == to && add_dim(o, inner ? to : t->shape[i], stride[inner ? k : i]);
  if (from > 0) return add_dim(o, t->shape[i], stride[i]) && add_dim(o, from, stride[k]);
  if (to < 0) return add_dim(o, t->shape[i], stride[i]);
  if (t->shape[i] % to != 0) return false;
  return inner ? add_dim(o, to, stride[i]) : add_dim(o, t->shape[i] / to, stride[i] * to);
}

/* @return 1, 0 where it is no mere order, -1 error */
static int order_of_layout(const void *attrs, const DLTensor *t, order *o) {
  const tn_Layout *src, *dst;
  int64_t stride[MAX_DIMS];
  TN_GET(src, tir_layout(relay_attr_str(attrs, "src_layout"), TN_I32));
  TN_GET(dst, tir_layout(relay_attr_str(attrs, "dst_layout"), TN_I32));
  if (src->axes->len != t->ndim) return 0;
  strides_of(t, stride);
  for (int64_t i = 0; i < dst->axes->len; ++i)
    if (!add_axis(o, t, stride, src, dst, tir_layout_axis(dst, i))) return 0;
  return 1;
}

static int order_of_axes(const void *attrs, const DLTensor *t, order *o) {
  const tn_arr *axes = relay_attr_obj(attrs, "axes");
  int64_t stride[MAX_DIMS];
  if (axes && axes->len != t->ndim) return 0;
  strides_of(t, stride);
  for (int i = 0; i < t->ndim; ++i) {
    int64_t axis = axes ? relay_int_at(axes, i) : t->ndim - 1 - i;
    if (axis < 0) axis += t->ndim;
    if (axis < 0 || axis >= t->ndim || !add_dim(o, t->shape[axis], stride[axis])) return 0;
  }
  return 1;
}

static int order_as_it_is(const DLTensor *t, order *o) {
  int64_t stride[MAX_DIMS];
  strides_of(t, stride);
  for (int i = 0; i < t->ndim; ++i) (void)add_dim(o, t->shape[i], stride[i]);
  return 1;
}

static int order_of(const tn_RelayCall *call, const DLTensor *t, order *o) {
  static const char *const same[] = {"reshape", "expand_dims", "squeeze", "nn.batch_flatten"};
  const char *op = relay_called_op(call);
  if (strcmp(op, "layout_transform") == 0) return order_of_layout(call->attrs, t, o);
  if (strcmp(op, "transpose") == 0) return order_of_axes(call->attrs, t, o);
  for (int i = 0; i < TN_COUNT(same); ++i)
    if (strcmp(op, same[i]) == 0) return order_as_it_is(t, o);
  return 0;
}

static int copy_in_order(const DLTensor *from, order *o, tn_tensor *to) {
  DLTensor src = *from, dst = *tn_tensor_dl(to);
  src.ndim = dst.ndim = o->n;
  src.shape = dst.shape = o->extent;
  src.strides = o->stride;
  dst.strides = NULL;
  return tn_tensor_copy(&src, &dst);
}

int driver_evaluate_move(const tn_RelayCall *call, relay_expr **out) {
  const tn_Constant *data = call->args->len == 1 ? TN_AS(Constant, relay_arg(call, 0)) : NULL;
  const tn_TensorType *type = relay_tensor_type_of_expr(call);
  order o = {.n = 0};
  tn_tensor *result;
  int64_t dims[MAX_DIMS], count = 1;
  *out = NULL;
  if (!data || !type || type->shape->len > MAX_DIMS) return 0;
  const DLTensor *t = tn_tensor_dl((const tn_tensor *)data->data);
  if (t->ndim > MAX_DIMS || t->dtype.lanes != 1 || t->dtype.bits < 8) return 0;
  int known = order_of(call, t, &o);
  if (known != 1) return known;
  for (int64_t i = 0; i < type->shape->len; ++i) dims[i] = relay_int_at(type->shape, i);
  for (int i = 0; i < o.n; ++i) count *= o.extent[i];
  TN_GET(result, tn_scope_own(tn_tensor_new(dims, (int32_t)type->shape->len, t->dtype,
                                            (tn_device){kDLCPU, 0}, NULL)));
  if (count != tn_tensor_count(tn_tensor_dl(result))) return 0;
  TN_TRY(copy_in_order(t, &o, result));
  TN_GET(*out, (relay_expr *)relay_constant((tn_NDArray *)result));
  return 1;
}
