/* The windows of a tensor as further axes.

     sliding_window(%x, axis=1, window_shape=[3], strides=[2])
         Tensor[(2, 7), float32] -> Tensor[(2, 3, 3), float32]     r[a][i][k] = x[a][i * 2 + k]

   Windows are of all axes from `axis` on; with Any an extent stays dynamic. */
#include "ir/imm.h"
#include "ops/ops.h"

#define TN_FIELDS_SlidingWindowAttrs(F, S)                                                         \
  F(S, I64, , axis, 0, "first axis of the windows; the others follow it")                          \
  F(S, REF, Array, window_shape, TN_INTS, "extents of a window")                                   \
  F(S, REF, Array, strides, TN_INTS, "distance of windows along each of its axes")
#define SLIDING_WINDOW_ATTRS(N)                                                                    \
  N(SlidingWindowAttrs, Attrs, "relay.attrs.SlidingWindowAttrs", NODE, TREE, tn_no_hooks,          \
    "attributes of sliding_window")
TN_NODES_LOCAL(SLIDING_WINDOW_ATTRS)

static int64_t first_axis(const tn_SlidingWindowAttrs *a, int64_t ndim) {
  return a->axis < 0 ? a->axis + ndim : a->axis;
}

static tn_arr *out_shape(const tn_SlidingWindowAttrs *a, const tn_arr *shape) {
  TN_VEC(out);
  int64_t axis = first_axis(a, shape->len), n = shape->len - axis;
  for (int64_t i = 0; i < axis; ++i) TN_TRYP(tn_vec_push_obj(&out, tn_arr_obj(shape, i)));
  for (int64_t i = 0; i < n; ++i) {
    tn_expr *e = (tn_expr *)tn_arr_obj(shape, axis + i);
    tn_expr *window = relay_dim_int(relay_listed(a->window_shape, i));
    int64_t stride = relay_listed(a->strides, i);
    TN_TRYP(tn_vec_push_obj(&out, ops_window_extent(e, window, 0, stride, 1)));
  }
  for (int64_t i = 0; i < n; ++i)
    TN_TRYP(tn_vec_push_obj(&out, relay_dim_int(relay_listed(a->window_shape, i))));
  return tn_arr_from(&out);
}

static int check_windows(const relay_rel *r, const tn_TensorType *data) {
  const tn_SlidingWindowAttrs *a = r->attrs;
  int64_t axis = first_axis(a, data->shape->len), n = data->shape->len - axis, extent;
  RELAY_CHECK(
      r, a->window_shape->len == n && a->strides->len == n,
      "window_shape and strides must have %lld numbers (the axes from axis on), got %lld and "
      "%lld",
      (long long)n, (long long)a->window_shape->len, (long long)a->strides->len);
  for (int64_t i = 0; i < n; ++i) {
    int64_t window = relay_listed(a->window_shape, i);
    RELAY_CHECK(r, window > 0 && relay_listed(a->strides, i) > 0,
                "window_shape and strides must be positive");
    RELAY_CHECK(r, !tir_as_int((tn_obj *)relay_dim(data, axis + i), &extent) || extent >= window,
                "the window of %lld along axis %lld is larger than data %s", (long long)window,
                (long long)(axis + i), relay_type_text(data));
  }
  return 0;
}

static int relation(relay_rel *r) {
  const tn_SlidingWindowAttrs *a = r->attrs;
  RELAY_TENSOR(data, r, 0);
  if (relay_rel_axis(r, a->axis, data->shape->len) < 0) return RELAY_FAILED;
  TN_TRY(check_windows(r, data));
  return relay_rel_result(r, relay_tensor_type(out_shape(a, data->shape), data->dtype));
}

static tn_expr *element(void *ctx, tn_arr *at) {
  const relay_compute *c = ctx;
  const tn_SlidingWindowAttrs *a = c->attrs;
  const tn_Tensor *data = relay_input(c, 0);
  int64_t ndim = data->shape->len, axis = first_axis(a, ndim), n = ndim - axis;
  TN_VEC(index);
  for (int64_t i = 0; i < ndim; ++i) {
    tn_expr *x = te_index(at, i);
    if (i >= axis) {
      x = tir_mul(x, tir_const_int(x->dtype, relay_listed(a->strides, i - axis)));
      x = tir_add(x, te_index(at, i + n));
    }
    TN_TRYP(tn_vec_push_obj(&index, x));
  }
  return te_at(data, tn_arr_from(&index));
}

static tn_arr *compute(const relay_compute *c) {
  return tn_arr_of(1, te_compute(out_shape(c->attrs, relay_input(c, 0)->shape), element,
                                 (void *)(uintptr_t)c, "T_sliding_window", TE_INJECTIVE));
}

static tn_arr *shape_function(const relay_shape_query *q) {
  return tn_arr_of(1, out_shape(q->attrs, relay_shape_of(q, 0)));
}

static const relay_op_row rows[] = {
    {.name = "sliding_window",
     .inputs = "data",
     .attrs = &tn_type_SlidingWindowAttrs,
     .level = 3,
     .pattern = RELAY_INJECTIVE,
     .rel_name = "SlidingWindow",
     .rel = relation,
     .compute = compute,
     .shape = shape_function,
     .doc = "windows over the last axes as further axes",
     .values = RELAY_MOVED},
};

RELAY_FAMILY(sliding_window, SLIDING_WINDOW_ATTRS)
