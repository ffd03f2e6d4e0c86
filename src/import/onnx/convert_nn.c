/* Convolution and normalisation. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "import/onnx/windows.h"
#include "ir/imm.h"
#include "relay/infer.h"
#include "relay/type_text.h"

static void *add_bias(void *y, void *bias, int axis) {
  if (!bias || !y) return y;
  void *a = relay_attrs("nn.bias_add", 1, "axis", tn_any_int(axis));
  return a ? relay_call("nn.bias_add", a, 2, y, bias) : NULL;
}

/* x with the border that is made at run time, of zeros. */
static void *zero_border(const onnx_ctx *c, const onnx_window *w, void *x) {
  if (w->border == ONNX_PADS_KNOWN) return x;
  TN_GETP(x, x ? relay_infer_new(x) : NULL);
  return onnx_window_border(c, w, x, relay_const_int(relay_tensor_type_of_expr(x)->dtype, 0));
}

/* Channels of data, weight [M, C / group, ...] and bias that do not fit together. */
static int check_channels(const onnx_ctx *c, int weight_input, void *bias, int64_t groups) {
  const tn_TensorType *x = onnx_in_type(c, 0), *w = onnx_in_type(c, weight_input);
  const tn_TensorType *b = bias ? relay_tensor_type_of_expr(bias) : NULL;
  int64_t have, each, made, n;
  if (groups < 1) return onnx_fail(c, "group: expected 1 or more, got %" PRId64, groups), -1;
  if (!relay_known_int(w->shape, 0, &made) || !relay_known_int(w->shape, 1, &each)) return 0;
  if (relay_known_int(x->shape, 1, &have) && (have % groups || have / groups != each))
    return onnx_fail(c,
                     "the data has %" PRId64 " channels, the weight (input %d, %s) is for %" PRId64
                     " in each group, group=%" PRId64,
                     have, weight_input, c->node->input[weight_input], each, groups),
           -1;
  if (made % groups)
    return onnx_fail(
               c, "the weight makes %" PRId64 " channels, which group=%" PRId64 " does not divide",
               made, groups),
           -1;
  if (b && (b->shape->len != 1 || (relay_known_int(b->shape, 0, &n) && n != made)))
    return onnx_fail(c, "the bias is %s, expected a vector of %" PRId64 " elements",
                     relay_type_text(b), made),
           -1;
  return 0;
}

void *onnx_conv(const onnx_ctx *c, void *x, void *kernel, int weight_input, void *bias) {
  const tn_TensorType *weight = onnx_in_type(c, weight_input);
  onnx_window w;
  char name[24];
  if (!weight || weight->shape->len != onnx_rank(c, 0))
    return onnx_fail(c, "the weight must have the dimensions of the input's shape");
  TN_TRYP(onnx_read_window(c, weight_input, &w));
  snprintf(name, sizeof name, "nn.conv%dd", w.n);
  int64_t groups = onnx_int(c, "group", 1), channels;
  TN_TRYP(onnx_known_extent(c, weight_input, 0, &channels));
  TN_TRYP(check_channels(c, weight_input, bias, groups));
  x = zero_border(c, &w, x);
  void *a = relay_attrs(
      name, 6, "strides", onnx_list(w.strides, w.n), "padding", onnx_list(w.pads, 2 * w.n),
      "dilation", onnx_list(w.dilations, w.n), "groups", tn_any_int(groups), "channels",
      tn_any_obj(tir_i32((int32_t)channels)), "kernel_size", onnx_list(w.kernel, w.n));
  return add_bias(a && x ? relay_call(name, a, 2, x, kernel) : NULL, bias, 1);
}

/* Offsets of both are pairs (down, right) for each point of the kernel. */
static void *deform_conv(onnx_ctx *c) {
  const tn_TensorType *weight = onnx_in_type(c, 1);
  onnx_window w;
  if (!weight || onnx_rank(c, 0) != 4 || weight->shape->len != 4)
    return onnx_fail(c, "only images are supported: input and weight must have 4 dimensions");
  if (onnx_in(c, 4)) return onnx_fail(c, "the input mask is not supported");
  int64_t groups = onnx_int(c, "group", 1), moving = onnx_int(c, "offset_group", 1), all;
  TN_TRYP(onnx_read_window(c, 1, &w));
  TN_TRYP(onnx_known_extent(c, 1, 0, &all));
  if (groups < 1 || moving < 1) return onnx_fail(c, "group and offset_group must be positive");
  if (w.border != ONNX_PADS_KNOWN)
    return onnx_fail(c, "auto_pad with steps needs a height and width that are known");
  void *channels = tir_i32((int32_t)all);
  void *a = relay_attrs("nn.deformable_conv2d", 7, "strides", onnx_list(w.strides, 2), "padding",
                        onnx_list(w.pads, 4), "dilation", onnx_list(w.dilations, 2),
                        "deformable_groups", tn_any_int(moving), "groups", tn_any_int(groups),
                        "channels", tn_any_obj(channels), "kernel_size", onnx_list(w.kernel, 2));
  void *y =
      a ? relay_call("nn.deformable_conv2d", a, 3, onnx_in(c, 0), onnx_in(c, 2), onnx_in(c, 1))
        : NULL;
  return add_bias(y, onnx_in(c, 3), 1);
}

static void *conv(onnx_ctx *c) {
  return onnx_conv(c, onnx_in(c, 0), onnx_in(c, 1), 1, onnx_in(c, 2));
}

/* Extents that the result of a transposed convolution is brought to afterwards, 0: as it is. */
typedef struct {
  int64_t want[ONNX_MAX_SPATIAL];
  bool upper;
} ends;

/* Given an output shape, the paddings (or the zeros added at the end) follow from it; half of what
   is cut off goes to each side. */
static int transposed_pads(const onnx_ctx *c, onnx_window *w, int64_t *extra, ends *e) {
  char how[32];
  int64_t n;
  const int64_t *shape = onnx_ints(c, "output_shape", &n);
  const char *automatic = onnx_text(c, "auto_pad", "NOTSET", how, sizeof how);
  bool lower = strcmp(automatic, "SAME_LOWER") == 0,
       same = lower || strcmp(automatic, "SAME_UPPER") == 0;
  if (n && n != w->n)
    return onnx_fail(c, "output_shape: expected %d numbers, got %lld", w->n, (long long)n), -1;
  if (!n && !same)
    return strcmp(automatic, "VALID") == 0 ? 0
                                           : onnx_read_sizes(c, "pads", 2 * w->n, 0, 0, w->pads);
  e->upper = same && !lower;
  for (int i = 0; i < w->n; ++i) {
    int64_t x = 0; /* of no account where the result is as many times as large */
    if (n && !relay_known_int(onnx_in_type(c, 0)->shape, i + 2, &x)) {
      e->want[i] = shape[i];
      continue;
    }
    int64_t want = n ? shape[i] : x * w->strides[i];
    int64_t cut =
        w->strides[i] * (x - 1) + extra[i] + (w->kernel[i] - 1) * w->dilations[i] + 1 - want;
    if (cut < 0) { /* more than there is: zeros at the end */
      w->pads[i] = w->pads[i + w->n] = 0;
      if (extra[i] - cut < w->strides[i]) extra[i] -= cut;
      else e->want[i] = want;
      continue;
    }
    int64_t small = cut / 2, large = cut - small;
    w->pads[i] = same && !lower ? small : large;
    w->pads[i + w->n] = cut - w->pads[i];
  }
  return 0;
}

/* Axis i of y, as long as output_shape says: what is too much is cut off on both sides, what is
   missing is 0 at the end. */
static void *cut_to(const onnx_ctx *c, void *y, int64_t axis, int64_t want, bool upper) {
  void *zero = relay_const_int(TN_I64, 0), *two = relay_const_int(TN_I64, 2), *have, *begin;
  TN_GETP(y, y ? relay_infer_new(y) : NULL);
  TN_GETP(have, onnx_extent(y, axis, TN_I64));
  begin = onnx_binary("subtract", have, relay_const_int(TN_I64, want));
  if (!upper) begin = onnx_binary("add", begin, relay_const_int(TN_I64, 1));
  begin = onnx_binary("maximum", onnx_binary("floor_divide", begin, two), zero);
  void *at = onnx_binary("add", onnx_count_along(TN_I64, want, 0, 1), begin),
       *inside = onnx_binary("less", at, have);
  at = onnx_binary("minimum", at, onnx_binary("subtract", have, relay_const_int(TN_I64, 1)));
  int64_t after = onnx_rank(c, 0) - 1 - axis;
  if (after > 0) inside = onnx_expand_dims(inside, 1, after);
  return onnx_where(inside, onnx_take(y, at, axis), onnx_scalar(c, 0, 0));
}

static void *conv_transpose(onnx_ctx *c) {
  static const char *const names[] = {"nn.conv1d_transpose", "nn.conv2d_transpose",
                                      "nn.conv3d_transpose"};
  const tn_TensorType *weight = onnx_in_type(c, 1);
  int64_t rank = onnx_rank(c, 0), groups = onnx_int(c, "group", 1), extra[ONNX_MAX_SPATIAL],
          channels;
  onnx_window w = {.n = (int)rank - 2};
  ends e = {{0}, false};
  if (rank < 3 || rank > 2 + ONNX_MAX_SPATIAL || !weight || weight->shape->len != rank ||
      groups < 1)
    return onnx_fail(c, "the weight must have the dimensions of the input's shape, 3 to 5");
  int64_t have, taken;
  if (relay_known_int(onnx_in_type(c, 0)->shape, 1, &have) &&
      relay_known_int(weight->shape, 0, &taken) && have != taken)
    return onnx_fail(c,
                     "the data has %" PRId64 " channels, the weight (input 1, %s) is for %" PRId64,
                     have, c->node->input[1], taken);
  for (int i = 0; i < w.n; ++i) TN_TRYP(onnx_known_extent(c, 1, i + 2, &w.kernel[i]));
  TN_TRYP(onnx_suspect_kernel(c, 1, &w));
  TN_TRYP(onnx_known_extent(c, 1, 1, &channels));
  TN_TRYP(onnx_read_sizes(c, "strides", w.n, 1, 1, w.strides));
  TN_TRYP(onnx_read_sizes(c, "dilations", w.n, 1, 1, w.dilations));
  TN_TRYP(onnx_read_sizes(c, "output_padding", w.n, 0, 0, extra));
  TN_TRYP(transposed_pads(c, &w, extra, &e));
  void *a = relay_attrs(names[w.n - 1], 7, "strides", onnx_list(w.strides, w.n), "padding",
                        onnx_list(w.pads, 2 * w.n), "dilation", onnx_list(w.dilations, w.n),
                        "groups", tn_any_int(groups), "output_padding", onnx_list(extra, w.n),
                        "kernel_size", onnx_list(w.kernel, w.n), "channels",
                        tn_any_obj(tir_i32((int32_t)(channels * groups))));
  void *y = a ? relay_call(names[w.n - 1], a, 2, onnx_in(c, 0), onnx_in(c, 1)) : NULL;
  for (int i = 0; y && i < w.n; ++i)
    if (e.want[i]) y = cut_to(c, y, i + 2, e.want[i], e.upper);
  return add_bias(y, onnx_in(c, 2), 1);
}

static void *subpixel(onnx_ctx *c) {
  char mode[8];
  bool deep = strcmp(c->node->op_type, "SpaceToDepth") == 0;
  const char *op = deep ? "nn.space_to_depth" : "nn.depth_to_space";
  if (!onnx_node_attr(c, "blocksize")) return onnx_fail(c, "the attribute blocksize is missing");
  void *a = relay_attrs(op, 2, "block_size", tn_any_int(onnx_int(c, "blocksize", 1)), "mode",
                        tn_any_cstr(onnx_text(c, "mode", "DCR", mode, sizeof mode)));
  return a ? relay_call(op, a, 1, onnx_in(c, 0)) : NULL;
}

static void *batch_norm(onnx_ctx *c) {
  void *a =
      relay_attrs("nn.batch_norm", 1, "epsilon", tn_any_float(onnx_float(c, "epsilon", 1e-5)));
  if (onnx_int(c, "training_mode", 0))
    return onnx_fail(c, "training_mode: only inference is supported");
  void *y = a ? relay_call("nn.batch_norm", a, 5, onnx_in(c, 0), onnx_in(c, 1), onnx_in(c, 2),
                           onnx_in(c, 3), onnx_in(c, 4))
              : NULL;
  return y ? relay_get_item(y, 0) : NULL;
}

static void *instance_norm(onnx_ctx *c) {
  void *a =
      relay_attrs("nn.instance_norm", 1, "epsilon", tn_any_float(onnx_float(c, "epsilon", 1e-5)));
  return a ? relay_call("nn.instance_norm", a, 3, onnx_in(c, 0), onnx_in(c, 1), onnx_in(c, 2))
           : NULL;
}

/* An even number of channels has one more after the element here, and before it in nn.lrn. */
static void *lrn(onnx_ctx *c) {
  int64_t size = onnx_int(c, "size", 1);
  void *a = relay_attrs("nn.lrn", 5, "size", tn_any_int(size), "axis", tn_any_int(1), "bias",
                        tn_any_float(onnx_float(c, "bias", 1)), "alpha",
                        tn_any_float(onnx_float(c, "alpha", 1e-4)), "beta",
                        tn_any_float(onnx_float(c, "beta", 0.75)));
  if (!a || size % 2) return a ? relay_call("nn.lrn", a, 1, onnx_in(c, 0)) : NULL;
  void *back = relay_attrs("reverse", 1, "axis", tn_any_int(1));
  void *x = back ? relay_call("reverse", back, 1, onnx_in(c, 0)) : NULL;
  x = x ? relay_call("nn.lrn", a, 1, x) : NULL;
  return x ? relay_call("reverse", back, 1, x) : NULL;
}

/* A vector of groups repeated to as many channels as there are at run time. */
static void *repeated_groups(const onnx_ctx *c, int i, int64_t groups) {
  void *n = onnx_extent(onnx_in(c, 0), 1, TN_I64), *g = relay_const_int(TN_I64, groups), *shape;
  void *each = n && g ? onnx_reshape(onnx_binary("floor_divide", n, g), (int64_t[]){1}, 1) : NULL;
  TN_GETP(g, relay_const_ints(TN_I64, &groups, 1));
  TN_GETP(shape, each ? onnx_concat(tn_arr_of(2, g, each), 0) : NULL);
  void *column = onnx_expand_dims(onnx_in(c, i), 1, 1);
  void *all = column ? relay_call("dyn.broadcast_to", NULL, 2, column, shape) : NULL;
  return all ? onnx_reshape(all, (int64_t[]){-1}, 1) : NULL;
}

/* Scale and bias are those of groups before operator set 21, of channels since. */
static void *of_channels(const onnx_ctx *c, int i, int64_t groups) {
  const tn_TensorType *t = onnx_in_type(c, 0), *own = onnx_in_type(c, i);
  if (!t || !own || t->shape->len < 2 || own->shape->len != 1)
    return onnx_fail(c, "expected an input [N, C, ...] and a scale and bias of one dimension");
  int64_t channels;
  bool known = tir_as_int((tn_obj *)relay_dim(t, 1), &channels);
  if (c->opset >= 21 || groups < 1 || (known && channels % groups)) return onnx_in(c, i);
  if (!known) return repeated_groups(c, i, groups);
  void *a =
      relay_attrs("repeat", 2, "repeats", tn_any_int(channels / groups), "axis", tn_any_int(0));
  return a ? relay_call("repeat", a, 1, onnx_in(c, i)) : NULL;
}

static void *group_norm(onnx_ctx *c) {
  int64_t groups = onnx_int(c, "num_groups", 0);
  void *scale = of_channels(c, 1, groups), *bias = scale ? of_channels(c, 2, groups) : NULL;
  void *a = relay_attrs("nn.group_norm", 2, "num_groups", tn_any_int(groups), "epsilon",
                        tn_any_float(onnx_float(c, "epsilon", 1e-5)));
  return a && bias ? relay_call("nn.group_norm", a, 3, onnx_in(c, 0), scale, bias) : NULL;
}

/* Nothing is dropped; the mask says so. */
static void *dropout(onnx_ctx *c) {
  if (c->node->n_output < 2) return onnx_in(c, 0);
  void *ones = onnx_unary("ones_like", onnx_in(c, 0));
  void *mask = ones && c->opset >= 10 ? onnx_cast(ones, TN_BOOL1) : ones;
  return mask ? relay_tuple(tn_arr_of(2, onnx_in(c, 0), mask)) : NULL;
}

static void *flatten(onnx_ctx *c) {
  const tn_TensorType *t = onnx_in_type(c, 0);
  int64_t axis = onnx_int(c, "axis", 1);
  if (!t || axis > t->shape->len || axis < -t->shape->len)
    return onnx_fail(c, "axis %lld is out of range of the shape", (long long)axis);
  if (axis < 0) axis += t->shape->len;
  if (axis == 1) return relay_call("nn.batch_flatten", NULL, 1, onnx_in(c, 0));
  return onnx_flatten(onnx_in(c, 0), t, axis);
}

static const onnx_row rows[] = {
    {"Conv", conv, 2, 3},
    {"ConvTranspose", conv_transpose, 2, 3},
    {"DeformConv", deform_conv, 3, 5},
    {"DepthToSpace", subpixel, 1, 1},
    {"SpaceToDepth", subpixel, 1, 1},
    {"BatchNormalization", batch_norm, 5, 5},
    {"InstanceNormalization", instance_norm, 3, 3},
    {"GroupNormalization", group_norm, 3, 3},
    {"LRN", lrn, 1, 1},
    {"Dropout", dropout, 1, 3},
    {"Flatten", flatten, 1, 1},
};
const onnx_table onnx_nn = {rows, TN_COUNT(rows), ""};
