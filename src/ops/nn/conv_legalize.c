/* Convolutions that kernels do not know, as ones that they know: with more channels, and ordinary
   ones for transposed ones.

   A transposed convolution with step s and a kernel of K rows gives row o of the result from the
   rows x[q - t] with weights w[a + s * t], where q = (o + pad) / s, a = (o + pad) % s: for each a
   that is an ordinary convolution with ceil(K / s) rows of the kernel, turned around. All of them
   are computed at once, as channels (a, b, oc), and laid out by nn.depth_to_space; what lies in the
   padding is cut off.

     nn.conv2d_transpose(%x, %w, channels=8, kernel_size=[2, 2], strides=[2, 2])
   =>
     nn.depth_to_space(nn.conv2d(%x, %w2, channels=32, kernel_size=[1, 1]), block_size=2) */
#include <string.h>

#include "ir/imm.h"
#include "kernels/blocks.h"
#include "ops/layout.h"
#include "ops/nn/conv.h"
#include "relay/evaluate.h"

static int64_t extent_of(const ops_axes *a, char letter) {
  int64_t v = -1;
  const tn_obj *e = (const tn_obj *)OPS_AXIS(a, letter);
  return e && tir_as_int(e, &v) ? v : -1;
}

static void *reshape(void *e, const int64_t *shape, int64_t n) {
  return relay_call("reshape",
                    relay_attrs("reshape", 1, "newshape", tn_any_obj(relay_ints(shape, n))), 1, e);
}

/* `e` with zeros after the elements of each axis, up to `to` of them. */
static void *grown(void *e, tn_dtype t, const int64_t *from, const int64_t *to, int n) {
  TN_VEC(width);
  bool any = false;
  for (int i = 0; i < n; ++i) {
    int64_t pair[2] = {0, to[i] - from[i]};
    any = any || pair[1];
    TN_TRYP(tn_vec_push_obj(&width, relay_ints(pair, 2)));
  }
  if (!any) return e;
  void *attrs = relay_attrs("nn.pad", 1, "pad_width", tn_any_obj(tn_arr_from(&width)));
  return relay_call("nn.pad", attrs, 2, e, relay_const_float(t, 0));
}

/* Elements begin[i] to end[i] along axis axes[i]. */
static void *cut(void *e, const int64_t *axes, const int64_t *begin, const int64_t *end, int n) {
  void *attrs =
      relay_attrs("strided_slice", 3, "begin", tn_any_obj(relay_ints(begin, n)), "end",
                  tn_any_obj(relay_ints(end, n)), "axes", tn_any_obj(relay_ints(axes, n)));
  return relay_call("strided_slice", attrs, 1, e);
}

/* Images of float32 with plain layouts and a weight that is constant; the machine has kernels. */
static bool is_plain(const relay_replace *r, kernel_machine *m) {
  const void *attrs = r->call->attrs;
  const tn_TensorType *data = TN_AS(TensorType, tn_arr_obj(r->types, 0)),
                      *weight = TN_AS(TensorType, tn_arr_obj(r->types, 1)),
                      *out = TN_AS(TensorType, r->out_type);
  const char *out_layout = relay_attr_str(attrs, "out_layout"),
             *layout = relay_attr_str(attrs, "data_layout");
  return data && weight && out && relay_known_depth(relay_arg(r->call, 1)) >= 0 &&
         relay_is_static((const tn_Type *)data) && data->dtype.code == kDLFloat &&
         data->dtype.bits == 32 && tn_dtype_eq(data->dtype, weight->dtype) &&
         tn_dtype_eq(data->dtype, out->dtype) && strlen(layout) == 4 &&
         strlen(relay_attr_str(attrs, "kernel_layout")) == 4 &&
         (!*out_layout || strcmp(out_layout, layout) == 0) &&
         relay_attr_int(attrs, "groups", 1) == 1 && kernels_machine(m);
}

static int axes_of(const relay_replace *r, ops_axes *data, ops_axes *weight) {
  const void *attrs = r->call->attrs;
  TN_TRY(ops_axes_of(relay_attr_str(attrs, "data_layout"),
                     ((tn_TensorType *)tn_arr_obj(r->types, 0))->shape, true, data));
  return ops_axes_of(relay_attr_str(attrs, "kernel_layout"),
                     ((tn_TensorType *)tn_arr_obj(r->types, 1))->shape, true, weight);
}

/* ---- more channels ---- */

void *ops_whole_conv2d(const relay_replace *r) {
  kernel_machine m;
  ops_axes d, w;
  int64_t from[4], to[4], zero = 0;
  if (strcmp(r->row->name, "nn.conv2d") != 0 || !is_plain(r, &m)) return relay_leave(r);
  TN_TRYP(axes_of(r, &d, &w));
  tn_dtype t = ((tn_TensorType *)r->out_type)->dtype;
  int64_t out = extent_of(&w, 'O'), whole = kernels_whole_channels(&m, t, out);
  if (whole == out) return relay_leave(r);
  const char *kernel_layout = relay_attr_str(r->call->attrs, "kernel_layout");
  for (int i = 0; i < 4; ++i) {
    from[i] = extent_of(&w, kernel_layout[i]);
    to[i] = kernel_layout[i] == 'O' ? whole : from[i];
  }
  const char *layout = relay_attr_str(r->call->attrs, "data_layout");
  int64_t axis = strchr(layout, 'C') - layout;
  void *attrs = relay_attrs_with(r->call->attrs, "channels", tn_any_obj(tir_i32((int32_t)whole)));
  void *weight = grown(relay_arg(r->call, 1), t, from, to, 4);
  if (!attrs) return NULL;
  void *y = relay_call("nn.conv2d", attrs, 2, relay_arg(r->call, 0), weight);
  return cut(y, &axis, &zero, &out, 1);
}

/* ---- transposed ---- */

/* Along height and width. */
typedef struct {
  int64_t in, out, kernel[2], step, taps[2];   /* channels; rows of the kernel, of its parts */
  int64_t pad[2], size[2], result[2], rows[2]; /* before; extents of data, of the result; q */
} transposed;

static bool read_transposed(const relay_replace *r, const ops_axes *d, const ops_axes *w,
                            transposed *p) {
  const void *attrs = r->call->attrs;
  const tn_arr *strides = relay_attr_obj(attrs, "strides"),
               *dilation = relay_attr_obj(attrs, "dilation");
  int64_t after[2];
  ops_axes o;
  *p = (transposed){
      .in = extent_of(w, 'I'), .out = extent_of(w, 'O'), .step = relay_int_at(strides, 0)};
  if (relay_int_at(strides, 1) != p->step || relay_int_at(dilation, 0) != 1 ||
      relay_int_at(dilation, 1) != 1 || p->step > 8 ||
      ops_get_pads(relay_attr_obj(attrs, "padding"), 2, p->pad, after, "padding") ||
      ops_axes_of(relay_attr_str(attrs, "data_layout"), ((tn_TensorType *)r->out_type)->shape, true,
                  &o))
    return false;
  for (int i = 0; i < 2; ++i) {
    p->kernel[i] = extent_of(w, "HW"[i]);
    p->size[i] = extent_of(d, "HW"[i]);
    p->result[i] = extent_of(&o, "HW"[i]);
    p->taps[i] = (p->kernel[i] + p->step - 1) / p->step;
    p->rows[i] = (p->result[i] + p->pad[i] + p->step - 1) / p->step;
    if (p->kernel[i] <= 0 || p->size[i] <= 0 || p->result[i] <= 0 || p->rows[i] < p->size[i])
      return false;
  }
  return p->in > 0 && p->out > 0 && p->out < INT32_MAX / (p->step * p->step);
}

static void *turned_around(void *e, int64_t axis, int64_t extent) {
  if (extent == 1) return e;
  return relay_call("reverse", relay_attrs("reverse", 1, "axis", tn_any_int(axis)), 1, e);
}

/* Weight of layout OIHW to that of the ordinary convolution, channels (a, b, oc). */
static void *parts_of(void *w, tn_dtype t, const transposed *p) {
  int64_t s = p->step, th = p->taps[0], tw = p->taps[1];
  int64_t from[] = {p->out, p->in, p->kernel[0], p->kernel[1]},
          to[] = {p->out, p->in, th * s, tw * s};
  int64_t six[] = {p->out, p->in, th, s, tw, s}, order[] = {3, 5, 0, 1, 2, 4};
  int64_t four[] = {s * s * p->out, p->in, th, tw};
  w = reshape(grown(w, t, from, to, 4), six, 6);
  w = turned_around(turned_around(w, 2, th), 4, tw);
  void *axes = relay_attrs("transpose", 1, "axes", tn_any_obj(relay_ints(order, 6)));
  return reshape(relay_call("transpose", axes, 1, w), four, 4);
}

static void *in_layout(void *e, const char *from, const char *to) {
  if (strcmp(from, to) == 0) return e;
  return relay_call("layout_transform",
                    relay_attrs("layout_transform", 2, "src_layout", tn_any_cstr(from),
                                "dst_layout", tn_any_cstr(to)),
                    1, e);
}

static void *ordinary(const relay_replace *r, void *weight, const transposed *p) {
  int64_t pads[] = {p->taps[0] - 1, p->taps[1] - 1, p->rows[0] - p->size[0],
                    p->rows[1] - p->size[1]};
  int64_t channels = p->step * p->step * p->out;
  const char *layout = relay_attr_str(r->call->attrs, "data_layout");
  void *attrs = relay_attrs("nn.conv2d", 4, "padding", tn_any_obj(relay_ints(pads, 4)), "channels",
                            tn_any_obj(tir_i32((int32_t)channels)), "kernel_size",
                            tn_any_obj(relay_ints(p->taps, 2)), "data_layout", tn_any_cstr(layout));
  return relay_call("nn.conv2d", attrs, 2, relay_arg(r->call, 0), weight);
}

void *ops_legalize_conv2d_transpose(const relay_replace *r) {
  kernel_machine m;
  ops_axes d, w;
  transposed p;
  if (!is_plain(r, &m)) return relay_leave(r);
  TN_TRYP(axes_of(r, &d, &w));
  if (!read_transposed(r, &d, &w, &p)) return tn_error_pending() ? NULL : relay_leave(r);
  const char *layout = relay_attr_str(r->call->attrs, "data_layout");
  void *weight =
      in_layout(relay_arg(r->call, 1), relay_attr_str(r->call->attrs, "kernel_layout"), "OIHW");
  tn_dtype t = ((tn_TensorType *)r->out_type)->dtype;
  void *y = ordinary(r, parts_of(weight, t, &p), &p);
  if (p.step > 1)
    y = relay_call("nn.depth_to_space",
                   relay_attrs("nn.depth_to_space", 2, "block_size", tn_any_int(p.step), "layout",
                               tn_any_cstr(layout)),
                   1, y);
  int64_t axes[2], end[2];
  bool whole = true;
  for (int i = 0; i < 2; ++i) {
    axes[i] = strchr(layout, "HW"[i]) - layout;
    end[i] = p.pad[i] + p.result[i];
    whole = whole && p.pad[i] == 0 && p.rows[i] * p.step == p.result[i];
  }
  return whole ? y : cut(y, axes, p.pad, end, 2);
}
