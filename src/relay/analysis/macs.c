/* Multiplications with addition that a program takes (see count.h). */
#include <string.h>

#include "ir/functor.h"
#include "relay/analysis/count.h"
#include "relay/op.h"

/* Product of the extents; 0 where one is not known. */
static int64_t product(const tn_TensorType *t) {
  int64_t all = 1, v;
  for (int64_t i = 0; i < t->shape->len; ++i)
    all = tir_as_int(tn_arr_obj(t->shape, i), &v) ? all * v : 0;
  return all;
}

static int64_t extent(const tn_TensorType *t, int64_t i) {
  int64_t v = 0;
  return t && i < t->shape->len && tir_as_int((tn_obj *)relay_dim(t, i), &v) ? v : 0;
}

static const tn_TensorType *arg_type(const tn_RelayCall *c, int64_t i) {
  return i < c->args->len ? relay_tensor_type_of_expr(relay_arg(c, i)) : NULL;
}

/* The place of an axis in a layout such as NCHW4c. */
static int64_t axis_of(const char *layout, char axis) {
  int64_t at = 0;
  for (; *layout; ++layout) {
    if (*layout >= '0' && *layout <= '9') continue;
    if (*layout == axis) return at;
    ++at;
  }
  return -1;
}

/* Channels of the data, both parts of them where they are divided. */
static int64_t channels(const tn_RelayCall *c) {
  const char *layout = relay_attr_str(c->attrs, "data_layout");
  const tn_TensorType *data = arg_type(c, 0);
  int64_t outer = axis_of(layout, 'C'), inner = axis_of(layout, 'c');
  return (outer < 0 ? 0 : extent(data, outer)) * (inner < 0 ? 1 : extent(data, inner));
}

static int64_t kernel_size(const tn_RelayCall *c) {
  const tn_arr *size = relay_attr_obj(c->attrs, "kernel_size");
  int64_t all = 1;
  for (int64_t i = 0; size && i < size->len; ++i) all *= relay_listed(size, i);
  return all;
}

static int64_t conv_macs(const tn_RelayCall *c, const tn_TensorType *out) {
  return product(out) * channels(c) * kernel_size(c) / relay_attr_int(c->attrs, "groups", 1);
}

/* Every element of the data meets all weights of its group. */
static int64_t conv_transpose_macs(const tn_RelayCall *c, const tn_TensorType *out) {
  return product(out) * channels(c) * kernel_size(c);
}

static int64_t dense_macs(const tn_RelayCall *c, const tn_TensorType *out) {
  const tn_TensorType *weight = arg_type(c, 1);
  return weight && weight->shape->len > 0 ? product(out) * extent(weight, weight->shape->len - 1)
                                          : 0;
}

static int64_t batch_matmul_macs(const tn_RelayCall *c, const tn_TensorType *out) {
  bool transposed = relay_attr_int(c->attrs, "transpose_a", 0) != 0;
  return product(out) * extent(arg_type(c, 0), transposed ? 1 : 2);
}

static const struct {
  const char *op;
  int64_t (*macs)(const tn_RelayCall *c, const tn_TensorType *out);
} kinds[] = {
    {"nn.conv1d", conv_macs},
    {"nn.conv2d", conv_macs},
    {"nn.conv3d", conv_macs},
    {"nn.contrib_conv2d_NCHWc", conv_macs},
    {"nn.conv2d_transpose", conv_transpose_macs},
    {"nn.dense", dense_macs},
    {"nn.batch_matmul", batch_matmul_macs},
};

static int add_macs(void *ctx, tn_obj *e) {
  const tn_RelayCall *c = TN_AS(RelayCall, e);
  const char *name = relay_called_op(e);
  for (int i = 0; name && i < TN_COUNT(kinds); ++i) {
    if (strcmp(name, kinds[i].op) != 0) continue;
    const tn_TensorType *out = relay_tensor_type_of_expr(e);
    TN_CHECK(out, ValueError, c->span,
             "get_total_mac_number: run InferType before: a call of %s has no type", name);
    *(int64_t *)ctx += kinds[i].macs(c, out);
  }
  return 0;
}

int64_t relay_mac_number(const void *expr) {
  int64_t all = 0;
  return tn_post_order(expr, add_macs, &all) ? -1 : all;
}
