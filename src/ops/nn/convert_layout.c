/* Operators brought to the layouts that a program asks for (relay.transform.ConvertLayout). */
#include <string.h>

#include "ir/imm.h"
#include "ops/layout.h"
#include "ops/nn/conv.h"

static const char *wanted(const relay_replace *r, int64_t i) {
  const tn_arr *all = r->desired;
  return all && i < all->len ? tn_cstr((const tn_str *)tn_arr_obj(all, i)) : "default";
}

static void *with_text(void *attrs, const char *name, const char *value) {
  tn_str *s = attrs ? tn_str_from(value) : NULL;
  return s ? relay_attrs_with(attrs, name, tn_any_obj(s)) : NULL;
}

void *ops_convert_by_attr(const relay_replace *r) {
  const char *layout = wanted(r, 0);
  void *attrs = r->call->attrs;
  bool has_out = tn_type_field(((const tn_obj *)attrs)->type, "out_layout") != NULL;
  bool has_it = strcmp(layout, relay_attr_str(attrs, "layout")) == 0 &&
                (!has_out || strcmp(layout, relay_attr_str(attrs, "out_layout")) == 0);
  if (strcmp(layout, "default") == 0 || has_it) return relay_leave(r);
  attrs = with_text(attrs, "layout", layout);
  if (has_out) attrs = with_text(attrs, "out_layout", layout);
  return attrs ? relay_call_args(r->row->name, attrs, r->call->args) : NULL;
}

/* ---- convolutions ---- */

/* Which argument is the weight. */
static int64_t weight_at(const relay_replace *r) {
  return strcmp(r->row->name, "nn.deformable_conv2d") == 0 ? 2 : 1;
}

static bool is_depthwise(const relay_replace *r) {
  ops_axes w;
  const void *attrs = r->call->attrs;
  const tn_TensorType *weight = TN_AS(TensorType, tn_arr_obj(r->types, weight_at(r)));
  int64_t out, groups = relay_attr_int(attrs, "groups", 1);
  if (!weight || groups == 1) return false;
  if (ops_axes_of(relay_attr_str(attrs, "kernel_layout"), weight->shape, true, &w)) {
    tn_error_clear();
    return false;
  }
  return tir_as_int((tn_obj *)OPS_AXIS(&w, 'O'), &out) && out == groups &&
         relay_dim_is(OPS_AXIS(&w, 'I'), 1) == 1;
}

/* The kernel's layout that goes with one of data: OIHW with NCHW, HWIO with NHWC and HWCN, HWOI
 * with HWNC and for depthwise convolutions. */
static tn_str *usual_kernel(const char *data, bool is_transposed, bool depthwise) {
  char spatial[8];
  size_t n = 0, len = strlen(data);
  for (size_t i = 0; i < len; ++i) {
    TN_CHECKP(strchr("NCDHW", data[i]) && n < sizeof spatial - 1, ValueError, NULL,
              "Layout %s is not yet supported: tell the layout of the weight too", data);
    if (strchr("DHW", data[i])) spatial[n++] = data[i];
  }
  spatial[n] = 0;
  if (strncmp(data, "NC", 2) == 0) return tn_str_fmt("%s%s", is_transposed ? "IO" : "OI", spatial);
  bool results_first = depthwise || strcmp(data + len - 2, "NC") == 0;
  return tn_str_fmt("%s%s", spatial, results_first ? "OI" : "IO");
}

/* Are the elements along `letter` of an argument, which has layout `own`, whole blocks of layout
 * `to`'s axis `as`? 1, 0, or -1 (error) */
static int fits(const relay_replace *r, int64_t arg, const char *own, char letter, const char *to,
                char as) {
  const tn_TensorType *t = TN_AS(TensorType, tn_arr_obj(r->types, arg));
  const tn_Layout *l;
  int64_t extent;
  ops_axes axes;
  TN_GET(l, tir_layout(to, TN_I32));
  int64_t factor = tir_layout_factor(l, as);
  if (factor <= 0) return 1;
  if (!t || ops_axes_of(own, t->shape, true, &axes)) return t ? -1 : 0;
  const tn_obj *e = (const tn_obj *)OPS_AXIS(&axes, letter);
  return e && tir_as_int(e, &extent) && extent % factor == 0;
}

/* Channels of data, weight and result in blocks of what is wanted? As fits. */
static int channels_fit(const relay_replace *r, const char *data, const char *kernel) {
  const char *own = relay_attr_str(r->call->attrs, "data_layout"),
             *weight = relay_attr_str(r->call->attrs, "kernel_layout");
  int all = fits(r, 0, own, 'C', data, 'C');
  int64_t at = weight_at(r);
  if (all == 1) all = fits(r, at, weight, 'I', kernel, 'I');
  if (all == 1) all = fits(r, at, weight, 'O', kernel, 'O');
  return all == 1 ? fits(r, at, weight, 'O', data, 'C') : all;
}

/* The operator for channels in blocks, where there is one. */
static const char *blocked_op(const relay_replace *r, const char *data) {
  bool is_blocked = strncmp(data, "NCHW", 4) == 0 && data[4];
  bool plain =
      strcmp(r->row->name, "nn.conv2d") == 0 && relay_attr_int(r->call->attrs, "groups", 1) == 1;
  return is_blocked && plain ? "nn.contrib_conv2d_NCHWc" : r->row->name;
}

void *ops_convert_conv(const relay_replace *r) {
  const char *data = wanted(r, 0), *kernel = wanted(r, 1);
  void *attrs = r->call->attrs;
  const char *out = relay_attr_str(attrs, "out_layout");
  if (strcmp(data, "default") == 0) return relay_leave(r);
  TN_CHECKP(strlen(data) >= 2, ValueError, NULL, "Layout %s is not yet supported", data);
  if (strcmp(kernel, "default") == 0) {
    tn_str *usual;
    bool is_transposed = strstr(r->row->name, "transpose") != NULL;
    TN_GETP(usual, usual_kernel(data, is_transposed, is_depthwise(r)));
    kernel = tn_cstr(usual);
  }
  if (strcmp(data, relay_attr_str(attrs, "data_layout")) == 0 &&
      strcmp(kernel, relay_attr_str(attrs, "kernel_layout")) == 0)
    return relay_leave(r);
  int whole = channels_fit(r, data, kernel);
  if (whole != 1) return whole < 0 ? NULL : relay_leave(r);
  if (*out) attrs = with_text(attrs, "out_layout", data);
  attrs = with_text(with_text(attrs, "data_layout", data), "kernel_layout", kernel);
  return attrs ? relay_call_args(blocked_op(r, data), attrs, r->call->args) : NULL;
}
