/* Layouts of convolutions: which ones they take, and which ones are fastest.

     nn.conv2d(data NCHW, weight OIHW)
   => nn.contrib_conv2d_NCHWc(data NCHW16c, weight OIHW16i16o), result NCHW16c

   How long the blocks are is the business of the kernels (kernels/layout_choice.h). Images of few channels
   stay as they are, and only the result is in blocks. Lines and volumes (nn.conv1d, nn.conv3d) take
   blocks as images do: NCW16c, NCDHW16c. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "ir/imm.h"
#include "ir/pass.h"
#include "kernels/layout_choice.h"
#include "ops/layout.h"
#include "ops/nn/conv.h"
#include "relay/evaluate.h"

int ops_layouts_conv(relay_layouts *q) {
  tn_Layout *data, *kernel, *out;
  const char *out_name = relay_attr_str(q->attrs, "out_layout");
  if (q->types->len != 2) return 0;
  TN_GET(data, tir_layout(relay_attr_str(q->attrs, "data_layout"), TN_I32));
  TN_GET(kernel, tir_layout(relay_attr_str(q->attrs, "kernel_layout"), TN_I32));
  TN_GET(out, *out_name ? tir_layout(out_name, TN_I32) : data);
  TN_GET(q->in, tn_arr_of(2, data, kernel));
  TN_GET(q->out, tn_arr_of(1, out));
  return 1;
}

/* ---- what a convolution computes ---- */

static int64_t extent(const ops_axes *a, char letter) {
  int64_t v = -1;
  const tn_obj *e = (const tn_obj *)OPS_AXIS(a, letter);
  return e && tir_as_int(e, &v) ? v : -1;
}

static bool is_plain(const char *layout) { return strlen(layout) == 4; /* no blocks */ }

/* Does each group have whole channels, or is each channel a group? @param each channels of data
   that a kernel reads */
static bool has_whole_groups(const kernel_conv2d *p, int64_t each) {
  if (p->in <= 0 || p->out <= 0) return false;
  if (p->groups == p->in && p->in > 1) return p->groups == p->out && each == 1;
  return p->in % p->groups == 0 && p->out % p->groups == 0 && each == p->in / p->groups;
}

int ops_conv2d_problem(const relay_replace *r, kernel_conv2d *p) {
  const void *attrs = r->call->attrs;
  const tn_TensorType *data = TN_AS(TensorType, tn_arr_obj(r->types, 0)),
                      *weight = TN_AS(TensorType, tn_arr_obj(r->types, 1));
  const char *data_layout = relay_attr_str(attrs, "data_layout"),
             *kernel_layout = relay_attr_str(attrs, "kernel_layout"),
             *out = relay_attr_str(attrs, "out_layout");
  ops_axes d, w;
  if (!data || !weight || !is_plain(data_layout) || !is_plain(kernel_layout)) return 0;
  if (*out && strcmp(out, data_layout) != 0) return 0;
  const tn_arr *strides = relay_attr_obj(attrs, "strides"),
               *dilation = relay_attr_obj(attrs, "dilation");
  TN_TRY(ops_axes_of(data_layout, data->shape, true, &d));
  TN_TRY(ops_axes_of(kernel_layout, weight->shape, true, &w));
  *p = (kernel_conv2d){
      .dtype = data->dtype,
      .batch = extent(&d, 'N'),
      .in = extent(&d, 'C'),
      .out = extent(&w, 'O'),
      .groups = relay_attr_int(attrs, "groups", 1),
      .size = {extent(&d, 'H'), extent(&d, 'W')},
      .kernel = {extent(&w, 'H'), extent(&w, 'W')},
      .stride = {relay_listed(strides, 0), relay_listed(strides, 1)},
      .dilation = {relay_listed(dilation, 0), relay_listed(dilation, 1)},
  };
  return has_whole_groups(p, extent(&w, 'I'));
}

/* ---- the call in blocks ---- */

static void *with_text(void *attrs, const char *name, const tn_str *value) {
  return attrs && value ? relay_attrs_with(attrs, name, tn_any_obj(value)) : NULL;
}

/* ---- by tiles ---- */

/* Largest tile that the option relay.backend.winograd allows; -1 with an error. */
static int largest_tile(void) {
  const tn_PassContext *ctx = ir_pass_ctx_current();
  if (!ctx) return -1;
  const tn_str *s = TN_AS(String, ir_config_get(ctx, "relay.backend.winograd"));
  if (!s || tn_str_eq(s, "auto")) return 4;
  if (tn_str_eq(s, "f2")) return 2;
  TN_CHECK(tn_str_eq(s, "off"), ValueError, NULL,
           "relay.backend.winograd: expected \"auto\", \"f2\" or \"off\", got \"%s\"", tn_cstr(s));
  return 0;
}

int ops_largest_sum(const relay_replace *r, double *out) {
  const tn_TensorType *data = TN_AS(TensorType, tn_arr_obj(r->types, 0)),
                      *weight = TN_AS(TensorType, tn_arr_obj(r->types, 1));
  TN_AUTOFREE double *w = NULL;
  double largest = ir_is_uint(data->dtype) ? 255 : 128, sum = 0;
  int64_t n = 0, channels;
  if (!relay_known_int(weight->shape, 0, &channels)) return 0;
  int known = relay_const_numbers(relay_arg(r->call, 1), &w, &n);
  if (known <= 0 || channels <= 0) return known < 0 ? -1 : 0;
  for (int64_t o = 0; o < channels; ++o) {
    double of_channel = 0;
    for (int64_t i = o * (n / channels); i < (o + 1) * (n / channels); ++i)
      of_channel += fabs(w[i]);
    sum = fmax(sum, of_channel);
  }
  *out = sum * largest;
  return 1;
}

enum { BITS = 32, LARGE_TILE = 4 };

/* The largest tile that gives exact sums of int8: of 32 bits 2 are taken up by what comes out of
   tiles of 2 x 2 as a multiple of the result, and 6 by that of 4 x 4. */
static int exact_tile(const relay_replace *r, int most) {
  static const struct { int tile, bits; } taken[] = {{LARGE_TILE, 6}, {2, 2}};
  double sum;
  int known = ops_largest_sum(r, &sum);
  for (int i = 0; i < TN_COUNT(taken) && known > 0; ++i)
    if (taken[i].tile <= most && sum < ldexp(1, BITS - 1 - taken[i].bits)) return taken[i].tile;
  return known < 0 ? -1 : 0;
}

int ops_conv2d_tile(const relay_replace *r, const target_machine *m, const kernel_conv2d *p,
                    const kernel_conv2d_blocks *b) {
  const tn_TensorType *out = TN_AS(TensorType, r->out_type);
  ops_axes o;
  int most = largest_tile();
  if (most <= 0 || !b->in || b->in != b->out || relay_known_depth(relay_arg(r->call, 1)) < 0)
    return most < 0 ? -1 : 0;
  if (!ops_is_oihw(r)) return 0;
  if (ir_is_integral(p->dtype)) most = exact_tile(r, most);
  if (most <= 0) return most;
  TN_TRY(ops_axes_of("NCHW", out->shape, true, &o));
  int64_t size[2] = {extent(&o, 'H'), extent(&o, 'W')};
  return kernels_conv2d_tile(m, p, size, most);
}

static bool has_one_type(const relay_replace *r) {
  const tn_TensorType *data = TN_AS(TensorType, tn_arr_obj(r->types, 0)),
                      *weight = TN_AS(TensorType, tn_arr_obj(r->types, 1));
  return data && weight && tn_dtype_eq(data->dtype, weight->dtype) &&
         tn_dtype_eq(data->dtype, ((const tn_TensorType *)r->out_type)->dtype);
}

void *ops_conv2d_by_tiles(const relay_replace *r, int tile, int64_t block) {
  const void *attrs = r->call->attrs;
  tn_dtype t = TN_AS(TensorType, r->out_type)->dtype;
  tn_str *data = tn_str_fmt("NCHW%lldc", (long long)block),
         *weight = tn_str_fmt(ir_is_integral(t) ? "HWOI%lldo2i" : "HWOI%lldo", (long long)block);
  if (!data || !weight) return NULL;
  void *transform =
      relay_attrs("nn.contrib_conv2d_winograd_weight_transform", 1, "tile_size", tn_any_int(tile));
  void *u = relay_call("nn.contrib_conv2d_winograd_weight_transform", transform, 1,
                       relay_arg(r->call, 1));
  u = relay_call("layout_transform",
                 relay_attrs("layout_transform", 2, "src_layout", tn_any_cstr("HWOI"), "dst_layout",
                             tn_any_obj(weight)),
                 1, u);
  void *new_attrs =
      relay_attrs("nn.contrib_conv2d_winograd_NCHWc", 7, "tile_size", tn_any_int(tile), "padding",
                  tn_any_obj(relay_attr_obj(attrs, "padding")), "channels",
                  tn_any_obj(relay_attr_obj(attrs, "channels")), "data_layout", tn_any_obj(data),
                  "kernel_layout", tn_any_obj(weight), "out_layout", tn_any_obj(data), "out_dtype",
                  tn_any_dtype(t));
  return relay_call("nn.contrib_conv2d_winograd_NCHWc", new_attrs, 2, relay_arg(r->call, 0), u);
}

/* ---- lines and volumes ---- */

/* @return 1, 0 where no kernel has its channels in blocks, -1 */
static int blocks_of_others(const relay_replace *r, kernel_conv2d *p, kernel_conv2d_blocks *b) {
  target_machine m;
  ops_axes d, w;
  const tn_TensorType *data = TN_AS(TensorType, tn_arr_obj(r->types, 0)),
                      *weight = TN_AS(TensorType, tn_arr_obj(r->types, 1));
  const char *layout = relay_attr_str(r->call->attrs, "data_layout"),
             *kernel_layout = relay_attr_str(r->call->attrs, "kernel_layout"),
             *out = relay_attr_str(r->call->attrs, "out_layout");
  size_t n = (size_t)r->row->which + 2;
  if (!kernels_machine(&m) || strlen(layout) != n || strlen(kernel_layout) != n ||
      (*out && strcmp(out, layout) != 0) || !has_one_type(r))
    return 0;
  TN_TRY(ops_axes_of(layout, data->shape, true, &d));
  TN_TRY(ops_axes_of(kernel_layout, weight->shape, true, &w));
  *p = (kernel_conv2d){.dtype = data->dtype,
                       .in = extent(&d, 'C'),
                       .out = extent(&w, 'O'),
                       .groups = relay_attr_int(r->call->attrs, "groups", 1)};
  return data->dtype.code == kDLFloat && has_whole_groups(p, extent(&w, 'I')) &&
         kernels_conv2d_blocks(&m, p, b);
}

static void *alter_others(const relay_replace *r) {
  const char *axes = r->row->which == 1 ? "W" : "DHW";
  kernel_conv2d p;
  kernel_conv2d_blocks b;
  void *attrs = r->call->attrs;
  int known = blocks_of_others(r, &p, &b);
  if (known <= 0) return known < 0 ? NULL : relay_leave(r);
  bool depthwise = p.groups > 1 && p.groups == p.in;
  int64_t inner = depthwise ? 1 : b.in ? b.in : p.in;
  tn_str *plain = tn_str_fmt("NC%s", axes);
  tn_str *data = b.in ? tn_str_fmt("NC%s%lldc", axes, (long long)b.in) : plain;
  attrs = with_text(attrs, "data_layout", data);
  attrs = with_text(attrs, "kernel_layout",
                    tn_str_fmt("OI%s%lldi%lldo", axes, (long long)inner, (long long)b.kernel_out));
  attrs = with_text(attrs, "out_layout", tn_str_fmt("NC%s%lldc", axes, (long long)b.out));
  return attrs ? relay_call_args(r->row->name, attrs, r->call->args) : NULL;
}

void *ops_alter_conv(const relay_replace *r) {
  target_machine m;
  kernel_conv2d p;
  kernel_conv2d_blocks b;
  void *attrs = r->call->attrs;
  if (r->row->which != 2) return alter_others(r);
  if (strcmp(r->row->name, "nn.conv2d") != 0) return relay_leave(r);
  if (ops_is_conv2d_int8(r)) return ops_alter_conv2d_int8(r);
  if (!kernels_machine(&m)) return relay_leave(r);
  int known = ops_conv2d_problem(r, &p);
  if (known < 0) return NULL;
  void *bf16 = known ? ops_conv2d_bf16(r, &m, &p) : NULL;
  if (bf16 || tn_error_pending()) return bf16;
  if (!known || !has_one_type(r) || !kernels_conv2d_blocks(&m, &p, &b)) return relay_leave(r);
  int tile = ops_conv2d_tile(r, &m, &p, &b);
  if (tile) return tile < 0 ? NULL : ops_conv2d_by_tiles(r, tile, b.in);
  bool depthwise = p.groups > 1 && p.groups == p.in;
  int64_t inner = depthwise ? 1 : b.in ? b.in : p.in;
  if (b.in) attrs = with_text(attrs, "data_layout", tn_str_fmt("NCHW%lldc", (long long)b.in));
  attrs = with_text(attrs, "kernel_layout",
                    tn_str_fmt("OIHW%lldi%lldo", (long long)inner, (long long)b.kernel_out));
  attrs = with_text(attrs, "out_layout", tn_str_fmt("NCHW%lldc", (long long)b.out));
  const char *op = depthwise ? "nn.contrib_depthwise_conv2d_NCHWc" : "nn.contrib_conv2d_NCHWc";
  return attrs ? relay_call_args(op, attrs, r->call->args) : NULL;
}
