/* PadChannelsToVector: convolutions compute as many channels as fill the vectors of the target.

     nn.conv2d(%x, %w: Tensor[(116, ...)], channels=116)
   =>
     strided_slice(nn.conv2d(%x, nn.pad(%w), channels=128), begin=[0], end=[116], axes=[1])

   How many, the row of the operator says (`whole`). The slice then moves behind what treats
   channels alike, whose constants grow by zeros, and ends in the weights of the next convolution:

     nn.conv2d(nn.relu(strided_slice(%y)), %w) -> nn.conv2d(nn.relu(%y), nn.pad(%w))

   What is in the channels that were added is never used, or multiplied by zeros; it is finite,
   since it comes of zeros by operators that keep numbers finite. Slices of the program stay: what
   they leave out may be infinite. So do those where channels are told apart: before concatenations,
   reshapes and results. */
#include <string.h>

#include "base/error.h"
#include "base/scope.h"
#include "ir/imm.h"
#include "relay/evaluate.h"
#include "relay/infer.h"
#include "relay/layouts.h"
#include "relay/transforms/float_rules.h"
#include "relay/expr/call_builder.h"
#include "relay/expr/expr_info.h"
#include "relay/expr/replace.h"
#include "relay/expr/typed_builder.h"
#include "relay/transforms/transforms.h"

enum { NDIM = 4, CHANNELS = 1, WEIGHT_OUT = 0, WEIGHT_IN = 1 };

/* The slices that the pass made: expression -> the same. */
typedef tn_map cuts;

/* The first `few` of the `many` channels of NCHW images. */
typedef struct {
  const tn_RelayCall *call;
  relay_expr *whole;
  int64_t few, many;
} cut;

static bool is_one_number(const tn_arr *a, int64_t value) {
  return a && a->len == 1 && relay_int_is(a, 0, value);
}

static bool is_cut(const void *e, cut *out) {
  const tn_RelayCall *c = relay_as_call(e, "strided_slice");
  if (!c) return false;
  const tn_arr *axes = relay_attr_obj(c->attrs, "axes"), *begin = relay_attr_obj(c->attrs, "begin"),
               *end = relay_attr_obj(c->attrs, "end"),
               *strides = relay_attr_obj(c->attrs, "strides");
  const tn_TensorType *t = relay_known_type(relay_arg(c, 0));
  if (!t || t->shape->len != NDIM || !is_one_number(axes, CHANNELS) || !is_one_number(begin, 0) ||
      !end || end->len != 1 || (strides && strides->len && !is_one_number(strides, 1)) ||
      strcmp(relay_attr_str(c->attrs, "slice_mode"), "end") != 0)
    return false;
  *out = (cut){c, relay_arg(c, 0), 0, 0};
  return relay_known_int(end, 0, &out->few) && relay_known_int(t->shape, CHANNELS, &out->many) &&
         out->few > 0 && out->few < out->many;
}

static bool as_cut(cuts *made, const void *e, cut *out) {
  tn_any found;
  return tn_map_get(made, tn_any_obj(e), &found) && is_cut(e, out);
}

static relay_expr *cut_again(const cut *c, relay_expr *whole) {
  return whole ? relay_call("strided_slice", c->call->attrs, 1, whole) : NULL;
}

/* `e` with zeros behind the elements of an axis. */
static relay_expr *grown(relay_expr *e, const tn_TensorType *t, int64_t axis, int64_t by) {
  TN_VEC(width);
  for (int64_t i = 0; i < t->shape->len; ++i) {
    int64_t pair[2] = {0, i == axis ? by : 0};
    TN_TRYP(tn_vec_push_obj(&width, relay_ints(pair, 2)));
  }
  void *attrs = relay_attrs("nn.pad", 1, "pad_width", tn_any_obj(tn_arr_from(&width)));
  relay_expr *more = relay_call("nn.pad", attrs, 2, e, relay_const_float(t->dtype, 0));
  return relay_typed(more, relay_known_type(more)); /* its depth is asked for */
}

/* ---- operators ---- */

/* One operand, channel by channel. */
static relay_expr *behind_unary(cuts *made, const tn_RelayCall *c) {
  cut d;
  if (c->args->len != 1 || !as_cut(made, relay_arg(c, 0), &d)) return NULL;
  return cut_again(&d, relay_call(relay_called_op(c), c->attrs, 1, d.whole));
}

static relay_expr *behind_pool(cuts *made, const tn_RelayCall *c) {
  const char *layout = relay_attr_str(c->attrs, "layout"),
             *out = relay_attr_str(c->attrs, "out_layout");
  if (strcmp(layout, "NCHW") != 0 || (*out && strcmp(out, layout) != 0)) return NULL;
  return behind_unary(made, c);
}

static relay_expr *behind_mean(cuts *made, const tn_RelayCall *c) {
  const tn_arr *axes = relay_attr_obj(c->attrs, "axis");
  if (!axes || axes->len == 0 || !relay_attr_int(c->attrs, "keepdims", 0) ||
      relay_attr_int(c->attrs, "exclude", 0))
    return NULL;
  for (int64_t i = 0; i < axes->len; ++i) {
    int64_t axis = relay_listed(axes, i);
    if (axis != CHANNELS + 1 && axis != CHANNELS + 2) return NULL;
  }
  return behind_unary(made, c);
}

/* The other operand for more channels; NULL without error where it has none. What is the same for
   all channels reaches those that were added, which must stay finite: the numbers must be known. */
static relay_expr *operand_for(cuts *made, const cut *d, relay_expr *e) {
  cut same;
  const tn_TensorType *t = relay_known_type(e);
  if (!t) return NULL;
  if (as_cut(made, e, &same)) return same.few == d->few && same.many == d->many ? same.whole : NULL;
  int64_t axis = t->shape->len - NDIM + CHANNELS;
  if (t->shape->len > NDIM || axis < 0 || relay_int_is(t->shape, axis, 1))
    return relay_is_moderate(e) ? e : NULL;
  if (!relay_int_is(t->shape, axis, d->few) || relay_known_depth((tn_obj *)e) < 0) return NULL;
  return grown(e, t, axis, d->many - d->few);
}

static relay_expr *behind_binary(cuts *made, const tn_RelayCall *c) {
  cut d;
  int at = as_cut(made, relay_arg(c, 0), &d) ? 0 : 1;
  if (at && !as_cut(made, relay_arg(c, 1), &d)) return NULL;
  relay_expr *other = operand_for(made, &d, relay_arg(c, 1 - at));
  if (!other) return NULL;
  return cut_again(&d,
                   relay_binary(relay_called_op(c), at ? other : d.whole, at ? d.whole : other));
}

static relay_expr *behind_division(cuts *made, const tn_RelayCall *c) {
  cut d;
  double by;
  if (!as_cut(made, relay_arg(c, 0), &d) || !relay_as_scalar(relay_arg(c, 1), &by) || by == 0 ||
      !relay_is_moderate(relay_arg(c, 1)))
    return NULL;
  return cut_again(&d, relay_binary("divide", d.whole, relay_arg(c, 1)));
}

/* ---- convolutions ---- */

static relay_expr *with_weight(const tn_RelayCall *c, const cut *d, const tn_TensorType *weight,
                               int axis, void *attrs) {
  relay_expr *w = grown(relay_arg(c, 1), weight, axis, d->many - d->few);
  return attrs ? relay_call("nn.conv2d", attrs, 2, d->whole, w) : NULL;
}

static relay_expr *into_conv(cuts *made, const tn_RelayCall *c) {
  cut d;
  const char *out = relay_attr_str(c->attrs, "out_layout");
  if (!as_cut(made, relay_arg(c, 0), &d) || relay_known_depth(relay_arg(c, 1)) < 0 ||
      strcmp(relay_attr_str(c->attrs, "data_layout"), "NCHW") != 0 ||
      strcmp(relay_attr_str(c->attrs, "kernel_layout"), "OIHW") != 0 ||
      (*out && strcmp(out, "NCHW") != 0))
    return NULL;
  const tn_TensorType *w = relay_known_type(relay_arg(c, 1));
  if (!w || w->shape->len != NDIM) return NULL;
  int64_t groups = relay_attr_int(c->attrs, "groups", 1);
  if (groups == 1) return with_weight(c, &d, w, WEIGHT_IN, c->attrs);
  bool depthwise = groups == d.few && relay_int_is(w->shape, WEIGHT_OUT, groups);
  if (!depthwise) return NULL;
  tn_obj *many = (tn_obj *)tir_i32((int32_t)d.many);
  void *attrs = many ? relay_attrs_with(c->attrs, "channels", tn_any_obj(many)) : NULL;
  if (attrs) attrs = relay_attrs_with(attrs, "groups", tn_any_int(d.many));
  return cut_again(&d, with_weight(c, &d, w, WEIGHT_OUT, attrs));
}

/* ---- the pass ---- */

typedef struct {
  const char *op;
  relay_expr *(*move)(cuts *made, const tn_RelayCall *c);
} move_row;

static const move_row moves[] = {
    {"nn.conv2d", into_conv}, {"mean", behind_mean}, {"divide", behind_division}};

/* What treats each channel by itself, and keeps numbers finite. */
static relay_expr *moved_channels(cuts *made, const tn_RelayCall *c) {
  const tn_obj *op = relay_op_of(c);
  if (!relay_op_treats_apart(op, RELAY_CHANNELS) || relay_op_range(op) != RELAY_FINITE) return NULL;
  if (*relay_attr_str(c->attrs, "layout")) return behind_pool(made, c);
  return c->args->len == 2 ? behind_binary(made, c) : behind_unary(made, c);
}

static relay_expr *moved(cuts *made, const tn_RelayCall *c) {
  const char *op = relay_called_op(c);
  for (int i = 0; op && i < TN_COUNT(moves); ++i)
    if (strcmp(op, moves[i].op) == 0) return moves[i].move(made, c);
  return op ? moved_channels(made, c) : NULL;
}

/* What the row of the operator says; the call itself where it says nothing. */
static relay_expr *widened(relay_expr *e) {
  TN_VEC(types);
  const tn_RelayCall *c = TN_AS(RelayCall, e);
  const relay_op_row *row = c && TN_AS(Op, c->op) ? relay_op_row_of((tn_obj *)c->op) : NULL;
  if (!row || !row->whole) return e;
  relay_replace r = {.row = row, .call = c, .out_type = (tn_Type *)relay_known_type(e)};
  if (!r.out_type) return e;
  for (int64_t i = 0; i < c->args->len; ++i) {
    tn_TensorType *t = relay_known_type(relay_arg(c, i));
    if (!t) return e;
    TN_TRYP(tn_vec_push_obj(&types, t));
  }
  TN_GETP(r.types, tn_arr_from(&types));
  return row->whole(&r);
}

static tn_obj *rewrite(void *ctx, tn_obj *pre, tn_obj *post) {
  cuts *made = ctx;
  cut d;
  relay_expr *own = relay_stands_for(post, pre), *e = own,
             *other = e ? moved(made, (tn_RelayCall *)e) : NULL;
  if (!e || (!other && tn_error_pending())) return NULL;
  if (other) e = relay_stands_for(other, pre);
  TN_GETP(e, widened(e));
  bool is_new = e != own;
  TN_GETP(e, relay_stands_for(e, pre));
  if (is_new && is_cut(e, &d)) TN_TRYP(tn_map_set(made, tn_any_obj(e), tn_any_obj(e)));
  return (tn_obj *)e;
}

tn_RelayFunction *relay_pad_channels_to_vector(tn_RelayFunction *f, const tn_pass_ctx *c) {
  static const tn_rewrite_case cases[] = {TN_REWRITE(RelayCall, rewrite)};
  cuts *made;
  TN_GETP(f, relay_infer_expr(f, c->mod));
  TN_GETP(made, tn_scope_own(tn_map_new()));
  return tn_rewrite(f, cases, TN_COUNT(cases), made);
}
