/* FlattenAtrousConv: a convolution of the places of blocks is one with dilation.

     %0 = nn.space_to_batch_nd(%x, block_shape=[2, 2], paddings=[[2, 3], [2, 3]]);
     %1 = nn.conv2d(%0, %w, data_layout="NHWC");
     nn.batch_to_space_nd(%1, block_shape=[2, 2], crops=[[0, 1], [0, 1]])
   =>
     nn.conv2d(%x, %w, padding=[2, 2, 2, 2], dilation=[2, 2], data_layout="NHWC")

   The same for qnn.conv2d, whose border is the zero point of its data: space_to_batch_nd must have
   padded with that number. */
#include "base/error.h"
#include "relay/expr/expr_info.h"
#include "relay/infer.h"
#include "relay/expr/replace.h"
#include "relay/transforms/transforms.h"

/* Numbers of axis i, as the lists of paddings and crops have them. */
static int64_t pair_at(const tn_arr *pairs, int64_t i, int64_t k) {
  return relay_listed(pairs ? TN_AS(Array, tn_arr_obj(pairs, i)) : NULL, k);
}

/* Padding of the convolution itself: one number, one for each axis, or before and after. */
static int64_t own_pad(const tn_arr *pad, int64_t i, int64_t k) {
  int64_t n = pad ? pad->len : 0;
  return n == 0 ? 0 : n == 1 ? relay_listed(pad, 0) : relay_listed(pad, n == 2 ? i : 2 * k + i);
}

/* What a convolution pads its data with; false: only a run tells. */
static bool border_of(const tn_RelayCall *conv, double *value) {
  *value = 0;
  return relay_as_call(conv, "nn.conv2d") || relay_uniform(relay_arg(conv, 2), value);
}

/* Padding and dilation of the one convolution; false: there is none. */
static bool combine(const void *to, const void *conv, const void *back, double border,
                    int64_t *pads, int64_t *dilations) {
  const tn_arr *block = relay_attr_obj(to, "block_shape"),
               *again = relay_attr_obj(back, "block_shape"),
               *strides = relay_attr_obj(conv, "strides"), *dil = relay_attr_obj(conv, "dilation"),
               *pad = relay_attr_obj(conv, "padding");
  bool plain = strcmp(relay_attr_str(conv, "data_layout"), "NHWC") == 0 &&
               relay_attr_float(to, "pad_value", 0) == border && block->len == 2 && again->len == 2;
  const char *out = relay_attr_str(conv, "out_layout");
  if (!plain || (*out && strcmp(out, "NHWC") != 0)) return false;
  for (int64_t i = 0; i < 2; ++i) {
    int64_t size = relay_listed(block, i);
    if (size != relay_listed(again, i) || relay_listed(strides, i) != 1) return false;
    for (int64_t k = 0; k < 2; ++k) {
      int64_t p = pair_at(relay_attr_obj(to, "paddings"), i, k) + own_pad(pad, i, k) * size -
                  pair_at(relay_attr_obj(back, "crops"), i, k);
      if (p < 0 || p > INT32_MAX) return false;
      pads[2 * k + i] = p;
    }
    if (__builtin_mul_overflow(size, relay_listed(dil, i), &dilations[i])) return false;
  }
  return true;
}

static const tn_RelayCall *as_conv(const void *e) {
  const tn_RelayCall *conv = relay_as_call(e, "nn.conv2d");
  return conv ? conv : relay_as_call(e, "qnn.conv2d");
}

static tn_obj *flatten(void *ctx, tn_obj *pre, tn_obj *post) {
  (void)ctx;
  const tn_RelayCall *back = relay_as_call(post, "nn.batch_to_space_nd");
  const tn_RelayCall *conv = back ? as_conv(relay_arg(back, 0)) : NULL;
  const tn_RelayCall *to = conv ? relay_as_call(relay_arg(conv, 0), "nn.space_to_batch_nd") : NULL;
  int64_t pads[4], dilations[2];
  double border;
  tn_Attrs *attrs;
  TN_VEC(args);
  if (!to || !border_of(conv, &border) ||
      !combine(to->attrs, conv->attrs, back->attrs, border, pads, dilations))
    return post;
  TN_GETP(attrs, relay_attrs_with(conv->attrs, "padding", tn_any_obj(relay_ints(pads, 4))));
  TN_GETP(attrs, relay_attrs_with(attrs, "dilation", tn_any_obj(relay_ints(dilations, 2))));
  for (int i = 0; i < (int)conv->args->len; ++i)
    TN_TRYP(tn_vec_push_obj(&args, i == 0 ? relay_arg(to, 0) : relay_arg(conv, i)));
  void *made = relay_call_new(conv->op, tn_arr_from(&args), attrs);
  return relay_replaced("FlattenAtrousConv", made, post, pre);
}

static const tn_rewrite_case cases[] = {TN_REWRITE(RelayCall, flatten)};

tn_RelayFunction *relay_flatten_atrous_conv(tn_RelayFunction *f, const tn_pass_ctx *c) {
  TN_GETP(f, relay_infer_expr(f, c->mod));
  return tn_rewrite(f, cases, TN_COUNT(cases), NULL);
}
