/* Layouts of convolutions of int8, whose sums are int32.

     nn.conv2d(data NCHW uint8, weight OIHW int8)
   => nn.contrib_conv2d_NCHWc(data NCHW16c, weight OIHW16o4i), result NCHW16c

   Four channels of a pixel share a lane of the sums (tir.DotProducts), or two that are widened to
   16 bits before, where no instruction multiplies int8: what makes the data widens it, too. A
   number of channels that is not a multiple of four, as that of an image, grows by zeros. In C
   code the channels of a pixel lie next to each other. */
#include <math.h>
#include <string.h>

#include "ir/imm.h"
#include "ops/nn/conv.h"
#include "ops/layout.h"
#include "relay/evaluate.h"
#include "relay/expr/call_builder.h"

static const tn_TensorType *type_of(const relay_replace *r, int i) {
  return TN_AS(TensorType, tn_arr_obj(r->types, i));
}

static bool is_byte(const tn_TensorType *t) {
  return t && ir_is_integral(t->dtype) && t->dtype.bits == 8;
}

bool ops_is_conv2d_int8(const relay_replace *r) {
  const tn_TensorType *out = TN_AS(TensorType, r->out_type);
  return is_byte(type_of(r, 0)) && is_byte(type_of(r, 1)) && out && tn_dtype_eq(out->dtype, TN_I32);
}

/* ---- channels last ---- */

/* The border as an operator: what makes the data writes it, or it lies in memory that is planned.
 */
static void *with_border(const relay_replace *r, void **attrs) {
  static const int64_t none[] = {0, 0};
  int64_t pairs[4][2] = {{0}}, before[2], after[2];
  TN_VEC(width);
  TN_TRYP(ops_get_pads(relay_attr_obj(*attrs, "padding"), 2, before, after, r->row->name));
  if (!(before[0] | before[1] | after[0] | after[1])) return relay_arg(r->call, 0);
  for (int i = 0; i < 4; ++i) {
    if (i >= 2) pairs[i][0] = before[i - 2], pairs[i][1] = after[i - 2];
    TN_TRYP(tn_vec_push_obj(&width, relay_ints(pairs[i], 2)));
  }
  void *a = relay_attrs("nn.pad", 1, "pad_width", tn_any_obj(tn_arr_from(&width)));
  *attrs = a ? relay_attrs_with(*attrs, "padding", tn_any_obj(relay_ints(none, 2))) : NULL;
  return *attrs ? relay_call("nn.pad", a, 2, relay_arg(r->call, 0), relay_const_int(TN_I32, 0))
                : NULL;
}

/* Products of bytes are summed up fastest where the channels of a pixel lie next to each other
   (target/c/c_dot.c). */
static void *channels_last(const relay_replace *r) {
  void *attrs = r->call->attrs, *x;
  const tn_TensorType *data = type_of(r, 0), *weight = type_of(r, 1);
  const char *given = relay_attr_str(attrs, "out_layout");
  bool plain = strcmp(relay_attr_str(attrs, "data_layout"), "NCHW") == 0 &&
               strcmp(relay_attr_str(attrs, "kernel_layout"), "OIHW") == 0 &&
               (!*given || strcmp(given, "NCHW") == 0) && TN_AS(Constant, relay_arg(r->call, 1));
  if (!plain) return relay_leave(r);
  int64_t groups = relay_attr_int(attrs, "groups", 1), own, in;
  if (!relay_known_int(weight->shape, 1, &own) || !relay_known_int(data->shape, 1, &in) ||
      (groups > 1 && own > 1 && in == groups))
    return relay_leave(r); /* several results for each channel */
  if (in > 1) {
    attrs = relay_attrs_with(attrs, "data_layout", tn_any_cstr("NHWC"));
    attrs = attrs ? relay_attrs_with(attrs, "kernel_layout", tn_any_cstr("OHWI")) : NULL;
  }
  attrs = attrs ? relay_attrs_with(attrs, "out_layout", tn_any_cstr("NHWC")) : NULL;
  x = attrs ? with_border(r, &attrs) : NULL;
  return x && attrs ? relay_call("nn.conv2d", attrs, 2, x, relay_arg(r->call, 1)) : NULL;
}

/* ---- few channels ---- */

/* Floats hold integers up to 2^24. */
enum { FLOAT_BITS = 24, FEW_CHANNELS = 3 };

/* Three channels make two pairs of which one is half empty, and have to be laid out as such. Floats
   are multiplied as fast as pairs, and images read as they are. */
void *ops_conv2d_int8_in_floats(const relay_replace *r) {
  target_machine m;
  double sum;
  int64_t channels;
  if (!kernels_machine(&m) || !kernels_widens_int8(&m) || !ops_is_oihw(r) ||
      relay_attr_int(r->call->attrs, "groups", 1) != 1 ||
      !relay_known_int(type_of(r, 0)->shape, 1, &channels) || channels > FEW_CHANNELS)
    return relay_leave(r);
  int known = ops_largest_sum(r, &sum);
  if (known <= 0 || sum >= ldexp(1, FLOAT_BITS)) return known < 0 ? NULL : relay_leave(r);
  void *attrs = relay_attrs_with(r->call->attrs, "out_dtype", tn_any_dtype(TN_F32));
  void *x = relay_cast(relay_arg(r->call, 0), TN_F32),
       *w = relay_cast(relay_arg(r->call, 1), TN_F32);
  return attrs && x && w ? relay_cast(relay_call("nn.conv2d", attrs, 2, x, w), TN_I32) : NULL;
}

/* ---- in blocks ---- */

/* `e` of four axes with zeros behind the channels, so that there are `to` of them. */
static void *grown(void *e, int64_t axis, int64_t n, int64_t to) {
  TN_VEC(width);
  for (int64_t i = 0; i < 4; ++i) {
    int64_t pair[2] = {0, i == axis ? to - n : 0};
    TN_TRYP(tn_vec_push_obj(&width, relay_ints(pair, 2)));
  }
  void *attrs = relay_attrs("nn.pad", 1, "pad_width", tn_any_obj(tn_arr_from(&width)));
  return relay_call("nn.pad", attrs, 2, e, relay_const_int(TN_I32, 0));
}

static void *with_text(void *attrs, const char *name, const tn_str *value) {
  return attrs && value ? relay_attrs_with(attrs, name, tn_any_obj(value)) : NULL;
}

bool ops_is_oihw(const relay_replace *r) {
  return strcmp(relay_attr_str(r->call->attrs, "data_layout"), "NCHW") == 0 &&
         strcmp(relay_attr_str(r->call->attrs, "kernel_layout"), "OIHW") == 0;
}

enum { PAIR = 2, GROUP = 4 /* channels that an image has at least */ };

static void *in_blocks(const relay_replace *r, int64_t in, const kernel_conv2d *p,
                       const kernel_conv2d_blocks *b) {
  void *attrs = r->call->attrs, *x = relay_arg(r->call, 0), *w = relay_arg(r->call, 1);
  if (p->in != in) {
    x = grown(x, 1, in, p->in);
    w = grown(w, 1, in, p->in);
  }
  if (b->group == PAIR) {
    x = relay_cast(x, tn_dtype_of(kDLInt, 16, 1));
    w = relay_cast(w, tn_dtype_of(kDLInt, 16, 1));
  }
  attrs = with_text(attrs, "data_layout", tn_str_fmt("NCHW%lldc", (long long)b->in));
  attrs = with_text(
      attrs, "kernel_layout",
      b->group == 1 ? tn_str_fmt("OIHW1i%lldo", (long long)b->kernel_out)
                    : tn_str_fmt("OIHW%lldo%lldi", (long long)b->kernel_out, (long long)b->group));
  attrs = with_text(attrs, "out_layout", tn_str_fmt("NCHW%lldc", (long long)b->out));
  const char *op = b->group == 1 ? "nn.contrib_depthwise_conv2d_NCHWc" : "nn.contrib_conv2d_NCHWc";
  return attrs ? relay_call(op, attrs, 2, x, w) : NULL;
}

void *ops_alter_conv2d_int8(const relay_replace *r) {
  target_machine m;
  kernel_conv2d p;
  kernel_conv2d_blocks b;
  if (kernels_machine_is_scalar()) return channels_last(r);
  if (!kernels_machine(&m) || !ops_is_oihw(r) || relay_known_depth(relay_arg(r->call, 1)) < 0)
    return relay_leave(r);
  int known = ops_conv2d_problem(r, &p);
  if (known < 0) return NULL;
  const int64_t in = p.in;
  if (p.groups == 1) p.in = (p.in + GROUP - 1) / GROUP * GROUP;
  if (!known || !kernels_conv2d_blocks(&m, &p, &b)) return relay_leave(r);
  bool whole = p.in == in; /* tiles know no zeros behind them */
  int tile = whole ? ops_conv2d_tile(r, &m, &p, &b) : 0;
  if (tile) return tile < 0 ? NULL : ops_conv2d_by_tiles(r, tile, b.in);
  return in_blocks(r, in, &p, &b);
}
