/* Gradients of operators for neural networks (gradients.h). */
#include "ops/gradients.h"

#include <string.h>

#include "base/error.h"
#include "ops/ops.h"
#include "relay/expr/call_builder.h"
#include "relay/expr/expr_info.h"

/* ---- softmax ---- */

/* softmax: y (d - sum(y d));  log_softmax: d - exp(y) sum(d) */
tn_arr *ops_grad_softmax(const relay_grad *g) {
  int64_t axis = relay_attr_int(g->call->attrs, "axis", -1);
  void *r;
  if (strcmp(relay_called_op(g->call), "nn.log_softmax") == 0) {
    void *p = relay_call("exp", NULL, 1, g->y);
    r = relay_binary("subtract", g->d, relay_binary("multiply", p, ops_sum_axis(g->d, axis)));
  } else {
    void *all = ops_sum_axis(relay_binary("multiply", g->y, g->d), axis);
    r = relay_binary("multiply", g->y, relay_binary("subtract", g->d, all));
  }
  return r ? tn_arr_of(1, r) : NULL;
}

tn_arr *ops_grad_cross_entropy(const relay_grad *g) {
  bool logits = strcmp(relay_called_op(g->call), "nn.cross_entropy_with_logits") == 0;
  void *x = relay_grad_arg(g, 0), *t = relay_grad_arg(g, 1), *minus, *a, *b;
  int64_t dims[2];
  TN_CHECKP(relay_static_shape(relay_grad_type(g, 0), dims, 2) == 2, ValueError, g->call->span,
            "gradient of %s: extents must be known", relay_called_op(g->call));
  minus = relay_binary("divide", g->d,
                       relay_const_float(relay_grad_type(g, 0)->dtype, -(double)dims[0]));
  a = relay_binary("multiply", minus, logits ? t : relay_binary("divide", t, x));
  b = relay_binary("multiply", minus, logits ? x : relay_call("log", NULL, 1, x));
  return a && b ? tn_arr_of(2, a, b) : NULL;
}

/* ---- products ---- */

static void *product(const char *op, void *a, bool turn_a, void *b, bool turn_b) {
  void *attrs =
      relay_attrs(op, 2, "transpose_a", tn_any_bool(turn_a), "transpose_b", tn_any_bool(turn_b));
  return a && b && attrs ? relay_call(op, attrs, 2, a, b) : NULL;
}

/* y = A B, where A and B may be given transposed: dA = d B', dB = A' d, transposed like they. */
static void products(const relay_grad *g, const char *op, bool ta, bool tb, void **a, void **b) {
  void *x = relay_grad_arg(g, 0), *w = relay_grad_arg(g, 1);
  *a = ta ? product(op, w, tb, g->d, true) : product(op, g->d, false, w, !tb);
  *b = tb ? product(op, g->d, true, x, ta) : product(op, x, !ta, g->d, false);
}

static void *flat_rows(void *e, const tn_TensorType *t) {
  int64_t shape[2] = {-1, 0};
  if (t->shape->len == 2) return e;
  if (!tir_as_int((tn_obj *)relay_dim(t, -1), &shape[1]))
    return TN_RAISEP(ValueError, NULL, "gradient of nn.dense: the last extent must be known");
  return ops_call_ints("reshape", e, "newshape", shape, 2);
}

tn_arr *ops_grad_dense(const relay_grad *g) {
  void *x = flat_rows(relay_grad_arg(g, 0), relay_grad_type(g, 0));
  void *d = flat_rows(g->d, relay_tensor_type_of_expr(g->call));
  void *a = product("nn.matmul", d, false, relay_grad_arg(g, 1), false);
  void *b = product("nn.matmul", d, true, x, false);
  if (relay_grad_type(g, 0)->shape->len != 2)
    a = relay_binary("reshape_like", a, relay_grad_arg(g, 0));
  return a && b ? tn_arr_of(2, a, b) : NULL;
}

tn_arr *ops_grad_matmul(const relay_grad *g) {
  const void *attrs = g->call->attrs;
  void *a, *b;
  TN_CHECKP(relay_grad_type(g, 0)->shape->len == 2, OpNotImplemented, g->call->span,
            "gradient of nn.matmul: expected matrices");
  products(g, "nn.matmul", relay_attr_int(attrs, "transpose_a", 0) != 0,
           relay_attr_int(attrs, "transpose_b", 0) != 0, &a, &b);
  return a && b ? tn_arr_of(2, a, b) : NULL;
}

/* A list of one matrix is multiplied with all of the other. */
tn_arr *ops_grad_batch_matmul(const relay_grad *g) {
  const void *attrs = g->call->attrs;
  void *a, *b;
  products(g, "nn.batch_matmul", relay_attr_int(attrs, "transpose_a", 0) != 0,
           relay_attr_int(attrs, "transpose_b", 1) != 0, &a, &b);
  a = relay_binary("collapse_sum_like", a, relay_grad_arg(g, 0));
  b = relay_binary("collapse_sum_like", b, relay_grad_arg(g, 1));
  return a && b ? tn_arr_of(2, a, b) : NULL;
}

/* ---- bias, relu ---- */

tn_arr *ops_grad_bias_add(const relay_grad *g) {
  int64_t axis = relay_attr_int(g->call->attrs, "axis", 1);
  tn_arr *axes;
  TN_GETP(axes, relay_ints(&axis, 1));
  void *attrs = relay_attrs("sum", 2, "axis", tn_any_obj(axes), "exclude", tn_any_bool(true));
  void *b = attrs ? relay_call("sum", attrs, 1, g->d) : NULL;
  return b ? tn_arr_of(2, g->d, b) : NULL;
}

tn_arr *ops_grad_leaky_relu(const relay_grad *g) {
  void *x = relay_grad_arg(g, 0);
  void *slope = relay_const_float(relay_grad_type(g, 0)->dtype,
                                  relay_attr_float(g->call->attrs, "alpha", 0.25));
  void *is = relay_binary("greater", x, relay_call("zeros_like", NULL, 1, x));
  void *less = relay_binary("multiply", g->d, slope);
  void *d = is && less ? relay_call("where", NULL, 3, is, g->d, less) : NULL;
  return d ? tn_arr_of(1, d) : NULL;
}

/* ---- pooling ---- */

tn_arr *ops_grad_pool2d(const relay_grad *g) {
  bool most = strcmp(relay_called_op(g->call), "nn.max_pool2d") == 0;
  void *d = relay_call(most ? "nn.max_pool2d_grad" : "nn.avg_pool2d_grad", g->call->attrs, 2, g->d,
                       relay_grad_arg(g, 0));
  return d ? tn_arr_of(1, d) : NULL;
}

/* Of the mean each element has its part; the largest ones share. */
tn_arr *ops_grad_global_pool(const relay_grad *g) {
  void *x = relay_grad_arg(g, 0), *d = relay_binary("broadcast_to_like", g->d, x), *is, *parts;
  tn_dtype t = relay_grad_type(g, 0)->dtype;
  if (strcmp(relay_called_op(g->call), "nn.global_avg_pool2d") == 0)
    is = relay_call("ones_like", NULL, 1, x);
  else is = relay_cast(relay_binary("equal", x, g->y), t);
  parts = is ? relay_binary("collapse_sum_like", is, g->y) : NULL;
  d = relay_binary("divide", relay_binary("multiply", d, is), parts);
  return d ? tn_arr_of(1, d) : NULL;
}

/* ---- convolutions ---- */

typedef struct {
  int64_t data[4], weight[4], out[4], pad[4], stride[2], dilation[2], groups;
} conv;

static int read_conv(const relay_grad *g, conv *c) {
  const void *a = g->call->attrs;
  const char *out = relay_attr_str(a, "out_layout");
  bool plain = strcmp(relay_attr_str(a, "data_layout"), "NCHW") == 0 &&
               strcmp(relay_attr_str(a, "kernel_layout"), "OIHW") == 0 &&
               (!*out || strcmp(out, "NCHW") == 0);
  TN_CHECK(plain, OpNotImplemented, g->call->span,
           "gradient of nn.conv2d: expected layouts NCHW and OIHW, got %s and %s",
           relay_attr_str(a, "data_layout"), relay_attr_str(a, "kernel_layout"));
  bool known = relay_static_shape(relay_grad_type(g, 0), c->data, 4) == 4 &&
               relay_static_shape(relay_grad_type(g, 1), c->weight, 4) == 4 &&
               relay_static_shape(relay_tensor_type_of_expr(g->call), c->out, 4) == 4;
  TN_CHECK(known, ValueError, g->call->span, "gradient of nn.conv2d: extents must be known");
  TN_TRY(ops_get_pads(relay_attr_obj(a, "padding"), 2, c->pad, c->pad + 2, "padding"));
  for (int i = 0; i < 2; ++i) {
    c->stride[i] = relay_listed(relay_attr_obj(a, "strides"), i);
    c->dilation[i] = relay_listed(relay_attr_obj(a, "dilation"), i);
  }
  c->groups = relay_attr_int(a, "groups", 1);
  TN_CHECK(c->groups > 0 && c->data[1] == c->weight[1] * c->groups, OpNotImplemented, g->call->span,
           "gradient of nn.conv2d: there is none for weights that multiply channels");
  return 0;
}

/* What no window reached is behind the others. */
static void *of_data(const relay_grad *g, const conv *c) {
  int64_t more[2];
  for (int i = 0; i < 2; ++i)
    more[i] = c->data[2 + i] + c->pad[i] + c->pad[2 + i] - c->dilation[i] * (c->weight[2 + i] - 1) -
              1 - (c->out[2 + i] - 1) * c->stride[i];
  void *attrs = relay_attrs(
      "nn.conv2d_transpose", 7, "channels", tn_any_obj(tir_i32((int32_t)c->data[1])), "kernel_size",
      tn_any_obj(relay_ints(c->weight + 2, 2)), "strides", tn_any_obj(relay_ints(c->stride, 2)),
      "output_padding", tn_any_obj(relay_ints(more, 2)), "padding",
      tn_any_obj(relay_ints(c->pad, 4)), "dilation", tn_any_obj(relay_ints(c->dilation, 2)),
      "groups", tn_any_int(c->groups));
  return attrs ? relay_call("nn.conv2d_transpose", attrs, 2, g->d, relay_grad_arg(g, 1)) : NULL;
}

/* [a, g * b, h, w] -> [b, g * a, h, w]: what is summed up over is what channels are. */
static void *swapped(void *e, const int64_t *s, int64_t groups) {
  const int64_t apart[] = {s[0], groups, s[1] / groups, s[2], s[3]}, order[] = {2, 1, 0, 3, 4},
                joined[] = {s[1] / groups, groups * s[0], s[2], s[3]};
  e = ops_call_ints("transpose", ops_call_ints("reshape", e, "newshape", apart, 5), "axes", order,
                    5);
  return ops_call_ints("reshape", e, "newshape", joined, 4);
}

/* A convolution of the data with the adjoint, images and channels exchanged. */
static void *of_weight(const relay_grad *g, const conv *c) {
  const int64_t order[] = {1, 0, 2, 3}, begin[4] = {0};
  void *x = swapped(relay_grad_arg(g, 0), c->data, c->groups);
  void *d = ops_call_ints("transpose", g->d, "axes", order, 4);
  void *attrs = relay_attrs("nn.conv2d", 6, "channels", tn_any_obj(tir_i32((int32_t)c->out[1])),
                            "kernel_size", tn_any_obj(relay_ints(c->out + 2, 2)), "strides",
                            tn_any_obj(relay_ints(c->dilation, 2)), "padding",
                            tn_any_obj(relay_ints(c->pad, 4)), "dilation",
                            tn_any_obj(relay_ints(c->stride, 2)), "groups", tn_any_int(c->groups));
  void *w = attrs && x && d ? relay_call("nn.conv2d", attrs, 2, x, d) : NULL;
  w = ops_call_ints("transpose", w, "axes", order, 4);
  attrs = relay_attrs("strided_slice", 2, "begin", tn_any_obj(relay_ints(begin, 4)), "end",
                      tn_any_obj(relay_ints(c->weight, 4)));
  return w && attrs ? relay_call("strided_slice", attrs, 1, w) : NULL;
}

tn_arr *ops_grad_conv2d(const relay_grad *g) {
  conv c;
  void *x, *w;
  TN_TRYP(read_conv(g, &c));
  TN_GETP(x, of_data(g, &c));
  TN_GETP(w, of_weight(g, &c));
  return tn_arr_of(2, x, w);
}
