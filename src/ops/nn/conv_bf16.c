/* Convolutions of bfloat16, whose sums are float32.

     nn.conv2d(%x, %w)
   => nn.conv2d(cast(%x, "bfloat16"), cast(%w, "bfloat16"), out_dtype="float32")     RelaxPrecision
   => nn.contrib_conv2d_NCHWc(data NCHW32c, weight OIHW32o2i), result NCHW32c        AlterOpLayout

   Two channels share a lane of the sums, and a row of a matrix register holds 32 channels. Pictures
   of up to four channels get four, the others zeros, and their border: then the channels of a row
   of the kernel lie next to each other, and the weights as these do (OHWI32o2i). */
#include <string.h>

#include "ir/imm.h"
#include "ops/nn/conv.h"
#include "ops/ops.h"
#include "relay/evaluate.h"
#include "relay/expr/call_builder.h"

static const tn_dtype half = {kDLBfloat, 16, 1};

static const tn_TensorType *type_of(const relay_replace *r, int i) {
  return TN_AS(TensorType, tn_arr_obj(r->types, i));
}

static bool is_float(const tn_Type *t) {
  const tn_TensorType *tensor = TN_AS(TensorType, t);
  return tensor && tn_dtype_eq(tensor->dtype, TN_F32);
}

/* Do lines of the result divide into tiles that are not nearly empty? */
static bool has_full_tiles(const relay_replace *r, const kernel_conv2d *p) {
  enum { NCHW_WIDTH = 3, MIN_PIXELS = 3, MAX_PIXELS = 16 };
  int64_t width;
  if (!relay_is_static(r->out_type) ||
      !relay_known_int(TN_AS(TensorType, r->out_type)->shape, NCHW_WIDTH, &width))
    return false;
  return p->groups > 1 || width <= MAX_PIXELS || kernels_tile_pixels(width) >= MIN_PIXELS;
}

/* @return 1, 0 where it is none that the machine has blocks for, -1 error */
static int blocks_of(const relay_replace *r, const target_machine *m, const kernel_conv2d *p,
                     kernel_conv2d_blocks *b) {
  kernel_conv2d bf16 = *p;
  bf16.dtype = half;
  if (!ops_is_oihw(r) || !is_float(r->out_type) || !has_full_tiles(r, p) ||
      relay_known_depth(relay_arg(r->call, 1)) < 0)
    return 0;
  return kernels_conv2d_blocks(m, &bf16, b);
}

/* ---- RelaxPrecision ---- */

/* Zeros around NCHW or OIHW: behind the channels, and a border of the image. */
static void *grown(void *e, int64_t channels, const int64_t before[2], const int64_t after[2]) {
  TN_VEC(width);
  int64_t pairs[4][2] = {{0, 0}, {0, channels}, {before[0], after[0]}, {before[1], after[1]}};
  for (int i = 0; i < 4; ++i) TN_TRYP(tn_vec_push_obj(&width, relay_ints(pairs[i], 2)));
  void *attrs = relay_attrs("nn.pad", 1, "pad_width", tn_any_obj(tn_arr_from(&width)));
  return relay_call("nn.pad", attrs, 2, e, relay_const_float(TN_F32, 0));
}

/* Data, weight and attributes of an image with as many channels as a block has. */
static void *padded_image(const relay_replace *r, const kernel_conv2d *p,
                          const kernel_conv2d_blocks *b, void **x, void **w) {
  int64_t before[2], after[2], none[2] = {0, 0}, more = b->in - p->in, zeros[4] = {0, 0, 0, 0};
  TN_TRYP(ops_get_pads(relay_attr_obj(r->call->attrs, "padding"), 2, before, after, "conv2d"));
  *x = grown(*x, more, before, after);
  if (more) *w = grown(*w, more, none, none);
  return relay_attrs_with(r->call->attrs, "padding", tn_any_obj(relay_ints(zeros, 4)));
}

void *ops_relax_conv2d(const relay_replace *r) {
  target_machine m;
  kernel_conv2d p;
  kernel_conv2d_blocks b;
  if (strcmp(r->row->name, "nn.conv2d") != 0 || !kernels_machine(&m) || !type_of(r, 0) ||
      !is_float((const tn_Type *)type_of(r, 0)) || !is_float((const tn_Type *)type_of(r, 1)))
    return relay_leave(r);
  int known = ops_conv2d_problem(r, &p);
  if (known > 0) known = blocks_of(r, &m, &p, &b);
  if (known > 0) known = kernels_may_relax(&m, r->narrow);
  if (known <= 0) return known < 0 ? NULL : relay_leave(r);
  void *attrs = r->call->attrs, *x = relay_arg(r->call, 0), *w = relay_arg(r->call, 1);
  if (b.image) TN_GETP(attrs, padded_image(r, &p, &b, &x, &w));
  attrs = relay_attrs_with(attrs, "out_dtype", tn_any_dtype(TN_F32));
  x = relay_cast(x, half), w = relay_cast(w, half);
  return attrs && x && w ? relay_call("nn.conv2d", attrs, 2, x, w) : NULL;
}

/* ---- AlterOpLayout ---- */

static tn_str *weight_layout(const kernel_conv2d *p, const kernel_conv2d_blocks *b) {
  long long out = b->kernel_out, group = b->group;
  if (p->groups > 1) return tn_str_fmt("OIHW1i%lldo", out);
  return tn_str_fmt(b->image ? "OHWI%lldo%lldi" : "OIHW%lldo%lldi", out, group);
}

static void *with_text(void *attrs, const char *name, const tn_str *value) {
  return attrs && value ? relay_attrs_with(attrs, name, tn_any_obj(value)) : NULL;
}

void *ops_conv2d_bf16(const relay_replace *r, const target_machine *m, const kernel_conv2d *p) {
  kernel_conv2d_blocks b;
  void *attrs = r->call->attrs;
  const tn_TensorType *weight = type_of(r, 1);
  if (!tn_dtype_eq(p->dtype, half) || !tn_dtype_eq(weight->dtype, half) ||
      blocks_of(r, m, p, &b) <= 0 || (b.image && p->in != b.in))
    return NULL;
  attrs = with_text(attrs, "data_layout", tn_str_fmt("NCHW%lldc", (long long)b.in));
  attrs = with_text(attrs, "kernel_layout", weight_layout(p, &b));
  attrs = with_text(attrs, "out_layout", tn_str_fmt("NCHW%lldc", (long long)b.out));
  const char *op = p->groups > 1 ? "nn.contrib_depthwise_conv2d_NCHWc" : "nn.contrib_conv2d_NCHWc";
  return attrs ? relay_call_args(op, attrs, r->call->args) : NULL;
}
