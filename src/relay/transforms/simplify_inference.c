/* SimplifyInference: operators of training become plain arithmetic.

     nn.batch_norm(%x, %gamma, %beta, %mean, %var).0
   =>
     %x * (gamma / sqrt(var + epsilon)) + (beta - mean * that)      one number for each channel

   What is computed of parameters only is folded afterwards. nn.dropout is its input; nn.layer_norm
   and the like become their formulas. */
#include "base/error.h"
#include "base/scope.h"
#include "ir/module.h"
#include "relay/infer.h"
#include "relay/expr/call_builder.h"
#include "relay/transforms/transforms.h"

static void *scalar_like(const tn_TensorType *t, double value) {
  return relay_const_float(t->dtype, value);
}

/* Numbers for channels, with axes of extent 1 after them, so that they broadcast to data. */
static void *spread(void *e, int64_t axis, int64_t ndim) {
  return relay_spread(e, ndim - axis - 1);
}

/* (data - mean) * scale + shift in two operations. */
static void *scale_and_shift(const tn_RelayCall *c, const tn_TensorType *t) {
  void *gamma = relay_arg(c, 1), *beta = relay_arg(c, 2), *mean = relay_arg(c, 3),
       *var = relay_arg(c, 4);
  int64_t ndim = t->shape->len, axis = relay_attr_int(c->attrs, "axis", 1);
  if (axis < 0) axis += ndim;
  double epsilon = relay_attr_float(c->attrs, "epsilon", 1e-5);
  void *std = relay_call("sqrt", NULL, 1, relay_binary("add", var, scalar_like(t, epsilon)));
  void *scale = relay_binary("divide", scalar_like(t, 1), std);
  if (relay_attr_int(c->attrs, "scale", 1)) scale = relay_binary("multiply", scale, gamma);
  void *shift = relay_binary("multiply", relay_call("negative", NULL, 1, mean), scale);
  if (relay_attr_int(c->attrs, "center", 1)) shift = relay_binary("add", shift, beta);
  void *x = relay_binary("multiply", relay_arg(c, 0), spread(scale, axis, ndim));
  return relay_binary("add", x, spread(shift, axis, ndim));
}

static void *mean_of(void *x, void *axes, bool variance, void *mean) {
  if (variance) {
    void *d = relay_binary("subtract", x, mean);
    x = relay_binary("multiply", d, d);
  }
  void *attrs = relay_attrs("mean", 2, "axis", tn_any_obj(axes), "keepdims", tn_any_bool(true));
  return relay_call("mean", attrs, 1, x);
}

/* Normalised over axes, then scaled and shifted by numbers that lie along `axis`. */
static void *normalised(const tn_RelayCall *c, const tn_TensorType *t, tn_arr *axes, int64_t axis) {
  int64_t ndim = t->shape->len;
  void *x = relay_arg(c, 0), *mean = mean_of(x, axes, false, NULL),
       *var = mean_of(x, axes, true, mean);
  double epsilon = relay_attr_float(c->attrs, "epsilon", 1e-5);
  void *inverse = relay_call("rsqrt", NULL, 1, relay_binary("add", var, scalar_like(t, epsilon)));
  void *y = relay_binary("multiply", relay_binary("subtract", x, mean), inverse);
  if (relay_attr_int(c->attrs, "scale", 1))
    y = relay_binary("multiply", y, spread(relay_arg(c, 1), axis, ndim));
  if (relay_attr_int(c->attrs, "center", 1))
    y = relay_binary("add", y, spread(relay_arg(c, 2), axis, ndim));
  return y;
}

static void *layer_norm(const tn_RelayCall *c, const tn_TensorType *t) {
  int64_t axis = relay_attr_int(c->attrs, "axis", -1);
  if (axis < 0) axis += t->shape->len;
  return normalised(c, t, relay_ints(&axis, 1), axis);
}

/* All axes but the batch and the channels. */
static void *instance_norm(const tn_RelayCall *c, const tn_TensorType *t) {
  int64_t axes[32], n = 0, axis = relay_attr_int(c->attrs, "axis", 1);
  if (axis < 0) axis += t->shape->len;
  for (int64_t i = 1; i < t->shape->len && i < 32; ++i)
    if (i != axis) axes[n++] = i;
  return normalised(c, t, relay_ints(axes, n), axis);
}

static tn_obj *rewrite_call(void *ctx, tn_obj *pre, tn_obj *post) {
  (void)ctx;
  const tn_RelayCall *c = (const tn_RelayCall *)post;
  const char *op = relay_called_op(c);
  const tn_RelayCall *before = (const tn_RelayCall *)pre;
  if (!op || before->args->len == 0) return post;
  const tn_TensorType *t = relay_tensor_type_of_expr(relay_arg(before, 0));
  if (!t || strncmp(op, "nn.", 3) != 0) return post;
  if (strcmp(op, "nn.layer_norm") == 0) return layer_norm(c, t);
  if (strcmp(op, "nn.instance_norm") == 0) return instance_norm(c, t);
  return post;
}

/* The first result of the operators that have several. */
static tn_obj *rewrite_get_item(void *ctx, tn_obj *pre, tn_obj *post) {
  (void)ctx;
  const tn_TupleGetItem *e = (const tn_TupleGetItem *)post;
  const tn_RelayCall *before = TN_AS(RelayCall, ((const tn_TupleGetItem *)pre)->tuple_value);
  const tn_RelayCall *c = TN_AS(RelayCall, e->tuple_value);
  if (!c || !before || e->index != 0) return post;
  if (relay_as_call(c, "nn.dropout")) return relay_arg(c, 0);
  const tn_TensorType *t = relay_tensor_type_of_expr(relay_arg(before, 0));
  return relay_as_call(c, "nn.batch_norm") && t ? scale_and_shift(c, t) : post;
}

static const tn_rewrite_case cases[] = {
    TN_REWRITE(RelayCall, rewrite_call),
    TN_REWRITE(TupleGetItem, rewrite_get_item),
};

tn_RelayFunction *relay_simplify_inference(tn_RelayFunction *f, const tn_pass_ctx *c) {
  tn_RelayFunction *typed;
  TN_GETP(typed, relay_infer_expr(f, c->mod));
  return tn_rewrite(typed, cases, TN_COUNT(cases), NULL);
}
