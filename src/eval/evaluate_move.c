/* The values of operators that only move elements of a constant: a copy by strides, where making a
   kernel would take far longer. Weights of convolutions get their layout here.

     layout_transform(w: OIHW, "OIHW16i16o")   copy of extents O/16, I/16, H, W, 16, 16
                                               with strides  16*o, 16*i, h, w, i, o  of w */
#include <string.h>

#include "base/error.h"
#include "base/scope.h"
#include "eval/evaluate.h"
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

/* @return 1, 0 where it does more than reorder, -1 error */
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
    int64_t axis = axes ? relay_listed(axes, i) : t->ndim - 1 - i;
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

static bool moves(const tn_RelayCall *c) {
  return relay_as_call(c, "layout_transform") || relay_as_call(c, "transpose") ||
         RELAY_ASK(values, c) == RELAY_RESHAPED;
}

static int order_of(const tn_RelayCall *call, const DLTensor *t, order *o) {
  const char *op = relay_called_op(call);
  if (strcmp(op, "layout_transform") == 0) return order_of_layout(call->attrs, t, o);
  if (strcmp(op, "transpose") == 0) return order_of_axes(call->attrs, t, o);
  return order_as_it_is(t, o);
}

/* Into `to`, at a place `offset` elements from its first, whose strides are `strides` (NULL: one
 * after another). */
static int copy_in_order(const DLTensor *from, order *o, tn_tensor *to, int64_t *strides,
                         int64_t offset) {
  DLTensor src = *from, dst = *tn_tensor_dl(to);
  src.ndim = dst.ndim = o->n;
  src.shape = dst.shape = o->extent;
  src.strides = o->stride;
  dst.strides = strides;
  dst.byte_offset += (uint64_t)(offset * (dst.dtype.bits / 8));
  return tn_tensor_copy(&src, &dst);
}

static tn_tensor *result_of(const tn_RelayCall *call, tn_dtype t) {
  const tn_TensorType *type = relay_tensor_type_of_expr(call);
  int64_t dims[MAX_DIMS];
  if (!type || relay_known_ints(type->shape, dims, MAX_DIMS) < 0) return NULL;
  return tn_scope_own(
      tn_tensor_new(dims, (int32_t)type->shape->len, t, (tn_device){kDLCPU, 0}, NULL));
}

/* A border of zeros: the data is copied into its place. @return 1, 0, -1 */
static int pad(const tn_RelayCall *call, const DLTensor *t, tn_tensor *to) {
  const tn_arr *width = relay_attr_obj(call->attrs, "pad_width");
  DLTensor *dst = tn_tensor_dl(to);
  int64_t stride[MAX_DIMS], offset = 0;
  double value;
  order o = {.n = 0};
  if (!relay_as_scalar(relay_arg(call, 1), &value) || value != 0 || !width ||
      width->len != t->ndim || strcmp(relay_attr_str(call->attrs, "pad_mode"), "constant") != 0)
    return 0;
  strides_of(dst, stride);
  for (int i = 0; i < t->ndim; ++i) {
    const tn_arr *pair = TN_AS(Array, tn_arr_obj(width, i));
    int64_t before = pair ? relay_listed(pair, 0) : -1, after = pair ? relay_listed(pair, 1) : -1;
    if (before < 0 || after < 0 || before + t->shape[i] + after != dst->shape[i]) return 0;
    offset += before * stride[i];
  }
  memset((char *)dst->data + dst->byte_offset, 0, (size_t)tn_tensor_nbytes(dst));
  (void)order_as_it_is(t, &o);
  TN_TRY(copy_in_order(t, &o, to, stride, offset));
  return 1;
}

static int reorder(const tn_RelayCall *call, const DLTensor *t, tn_tensor *to) {
  order o = {.n = 0};
  int64_t count = 1;
  int known = order_of(call, t, &o);
  if (known != 1) return known;
  for (int i = 0; i < o.n; ++i) count *= o.extent[i];
  if (count != tn_tensor_count(tn_tensor_dl(to))) return 0;
  TN_TRY(copy_in_order(t, &o, to, NULL, 0));
  return 1;
}

static tn_tensor *data_of(tn_obj *e) {
  const tn_Constant *c = TN_AS(Constant, e);
  return c ? (tn_tensor *)c->data : NULL;
}

/* Can whole elements of it be copied? */
static bool is_plain(const DLTensor *t) {
  return t->ndim <= MAX_DIMS && t->dtype.lanes == 1 && t->dtype.bits >= 8;
}

/* Tensors that follow one another along an axis: each is copied into its place. @return 1, 0, -1 */
static int join(const tn_RelayTuple *parts, int64_t axis, tn_tensor *to) {
  DLTensor *dst = tn_tensor_dl(to);
  int64_t stride[MAX_DIMS], at = 0;
  if (axis < 0) axis += dst->ndim;
  if (axis < 0 || axis >= dst->ndim) return 0;
  strides_of(dst, stride);
  for (int64_t i = 0; i < parts->fields->len; ++i) {
    const DLTensor *t = tn_tensor_dl(data_of(tn_arr_obj(parts->fields, i)));
    order o = {.n = 0};
    (void)order_as_it_is(t, &o);
    TN_TRY(copy_in_order(t, &o, to, stride, at * stride[axis]));
    at += t->shape[axis];
  }
  return 1;
}

/* Are they constants that fill the result? */
static bool may_join(const tn_RelayTuple *parts, int64_t axis, const DLTensor *dst) {
  int64_t sum = 0;
  if (axis < 0) axis += dst->ndim;
  for (int64_t i = 0; i < parts->fields->len; ++i) {
    const tn_tensor *data = data_of(tn_arr_obj(parts->fields, i));
    const DLTensor *t = data ? tn_tensor_dl(data) : NULL;
    if (!t || !is_plain(t) || t->ndim != dst->ndim || !tn_dtype_eq(t->dtype, dst->dtype))
      return false;
    for (int k = 0; k < t->ndim; ++k)
      if (k != axis && t->shape[k] != dst->shape[k]) return false;
    if (axis >= 0 && axis < t->ndim) sum += t->shape[axis];
  }
  return axis >= 0 && axis < dst->ndim && sum == dst->shape[axis];
}

static int move_tuple(const tn_RelayCall *call, const tn_RelayTuple *parts, relay_expr **out) {
  const tn_TensorType *type = relay_tensor_type_of_expr(call);
  int64_t axis = relay_attr_int(call->attrs, "axis", 0);
  if (strcmp(relay_called_op(call), "concatenate") != 0 || !type) return 0;
  tn_tensor *to = result_of(call, type->dtype);
  if (!to) return tn_error_pending() ? -1 : 0;
  if (!may_join(parts, axis, tn_tensor_dl(to))) return 0;
  int known = join(parts, axis, to);
  if (known != 1) return known;
  TN_GET(*out, (relay_expr *)relay_constant((tn_NDArray *)to));
  return 1;
}

int eval_move(const tn_RelayCall *call, relay_expr **out) {
  const char *op = relay_called_op(call);
  tn_obj *arg = call->args->len ? relay_arg(call, 0) : NULL;
  const tn_RelayTuple *parts = TN_AS(RelayTuple, arg);
  tn_tensor *data = parts ? NULL : data_of(arg);
  bool pads = strcmp(op, "nn.pad") == 0;
  *out = NULL;
  if (parts) return move_tuple(call, parts, out);
  if (!data || (!pads && !moves(call))) return 0;
  const DLTensor *t = tn_tensor_dl(data);
  if (!is_plain(t)) return 0;
  tn_tensor *to = result_of(call, t->dtype);
  if (!to) return tn_error_pending() ? -1 : 0;
  int known = pads ? pad(call, t, to) : reorder(call, t, to);
  if (known != 1) return known;
  TN_GET(*out, (relay_expr *)relay_constant((tn_NDArray *)to));
  return 1;
}
