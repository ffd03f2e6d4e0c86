/* FoldScaleAxis: factors for channels become part of the weights of the layer before or after.

     multiply(nn.conv2d(%x, %w), %s)  ->  nn.conv2d(%x, multiply(%w, %s'))        backward
     nn.conv2d(multiply(%x, %s), %w)  ->  nn.conv2d(%x, multiply(%w, %s''))       forward

   In between there may be sums, bias_add, padding with zeros, and operators that factors pass through
   (`scaling` of their rows: relu and maxima of positive ones, means of all), each with a single
   reader. Pooling is passed forward only. Runs after SimplifyInference, which leaves
   batch normalisation as a product and a sum; the weights are computed by FoldConstant. */
#include "base/error.h"
#include "base/scope.h"
#include "relay/expr/call_builder.h"
#include "relay/expr/expr_info.h"
#include "relay/expr/replace.h"
#include "relay/infer.h"
#include "relay/transforms/scale_axis.h"
#include "relay/transforms/transforms.h"

/* A scale is not looked for further away. */
enum { MAX_DEPTH = 64 };

static bool is_elementwise(const tn_RelayCall *c) {
  return relay_op_pattern((const tn_obj *)c->op) == RELAY_ELEMWISE;
}

/* Is f(x * s) = f(x) * s? Operators with a layout leave the scale where it is if it lies along the
   channels. */
static bool passes(const tn_RelayCall *c, const scale *s) {
  relay_scaling how = RELAY_ASK(scaling, c);
  bool any = how == RELAY_SCALES || (how == RELAY_SCALES_POSITIVE && s->positive);
  if (!any || c->args->len != 1) return false;
  return s->axis < 0 || is_elementwise(c) ||
         layer_axis_of(relay_attr_str(c->attrs, "layout"), 'C') == s->axis;
}

/* @param axis that of the scale, which must not grow; -1: any */
static bool pads_zeros(const tn_RelayCall *c, int64_t axis) {
  double value;
  const tn_arr *width = relay_as_call(c, "nn.pad") ? relay_attr_obj(c->attrs, "pad_width") : NULL;
  const tn_arr *own = width && axis >= 0 ? TN_AS(Array, tn_arr_obj(width, axis)) : NULL;
  if (own && (relay_listed(own, 0) != 0 || relay_listed(own, 1) != 0)) return false;
  return relay_as_call(c, "nn.pad") && c->args->len == 2 &&
         relay_as_scalar(relay_arg(c, 1), &value) && value == 0 &&
         strcmp(relay_attr_str(c->attrs, "pad_mode"), "constant") == 0;
}

static bool is_sum(const tn_RelayCall *c) {
  return relay_as_call(c, "add") || relay_as_call(c, "subtract");
}

/* Does the bias lie along the axis of the scale? */
static bool is_bias_along(const tn_RelayCall *c, const scale *s) {
  const tn_TensorType *t = relay_known_type(c);
  if (!t || !relay_as_call(c, "nn.bias_add")) return false;
  int64_t axis = relay_attr_int(c->attrs, "axis", 1);
  return s->axis < 0 || (axis < 0 ? axis + t->shape->len : axis) == s->axis;
}

/* ---- backward ---- */

static relay_expr *absorb(const folding *f, relay_expr *e, const scale *s, int depth);

static relay_expr *absorb_layer(const tn_RelayCall *c, const layer *l, const scale *s) {
  if (s->axis >= 0 && s->axis != l->out_axis) return NULL;
  return folding_call(c, 2, relay_arg(c, 0),
                      scale_apply("multiply", relay_arg(c, 1), s, l->weight_out));
}

/* Operands as large as the sum take the scale in, small ones are multiplied. */
static relay_expr *absorb_sum(const folding *f, const tn_RelayCall *c, const scale *s, int depth) {
  relay_expr *args[2];
  bool any = false;
  const tn_TensorType *t = relay_known_type(c);
  for (int i = 0; i < 2; ++i) {
    relay_expr *e = relay_arg(c, i);
    args[i] = relay_same_type(e, c) ? absorb(f, e, s, depth) : NULL;
    any = any || args[i];
    if (!args[i] && !tn_error_pending() && t && scale_is_small(e, t, s)) {
      const tn_TensorType *own = relay_known_type(e);
      int64_t behind = s->axis < 0 ? 0 : t->shape->len - 1 - s->axis;
      args[i] = scale_apply("multiply", e, s, own->shape->len - 1 - behind);
    }
    if (!args[i]) return NULL;
  }
  return any ? folding_call(c, 2, args[0], args[1]) : NULL;
}

/* `e` times the scale with the scale inside of it; NULL (without an error): impossible */
static relay_expr *absorb(const folding *f, relay_expr *e, const scale *s, int depth) {
  const tn_RelayCall *c = TN_AS(RelayCall, e);
  layer l;
  if (!c || !folding_single(f, e) || depth > MAX_DEPTH) return NULL;
  if (layer_match(c, &l)) return absorb_layer(c, &l, s);
  if (is_sum(c)) return absorb_sum(f, c, s, depth + 1);
  bool bias = is_bias_along(c, s);
  if (!bias && !pads_zeros(c, s->axis) && !(is_elementwise(c) && passes(c, s))) return NULL;
  relay_expr *x = absorb(f, relay_arg(c, 0), s, depth + 1);
  if (!x) return NULL;
  return bias ? folding_call(c, 2, x, relay_binary("multiply", relay_arg(c, 1), s->value))
              : folding_call(c, 1, x);
}

static tn_obj *fold_backward(void *ctx, tn_obj *pre, tn_obj *post) {
  scale s;
  relay_expr *x;
  if (!relay_stands_for(post, pre)) return NULL;
  if (scale_match((const tn_RelayCall *)post, &x, &s)) {
    relay_expr *folded = absorb(ctx, x, &s, 0);
    if (folded) post = (tn_obj *)folded;
  }
  return tn_error_pending() ? NULL : folding_done(ctx, pre, (relay_expr *)post);
}

/* ---- forward ---- */

static relay_expr *extract(const folding *f, relay_expr *e, scale *s, int depth);

/* (x * s + b) = (x + b / s) * s */
static relay_expr *extract_sum(const folding *f, const tn_RelayCall *c, scale *s, int depth) {
  const tn_TensorType *t = relay_known_type(c);
  for (int i = 0; i < 2; ++i) {
    relay_expr *large = relay_arg(c, i), *small = relay_arg(c, 1 - i);
    relay_expr *x = relay_same_type(large, c) ? extract(f, large, s, depth) : NULL;
    if (tn_error_pending()) return NULL;
    if (!x || !s->positive || !scale_is_small(small, t, s)) continue;
    const tn_TensorType *own = relay_known_type(small);
    int64_t behind = s->axis < 0 ? 0 : t->shape->len - 1 - s->axis;
    small = scale_apply("divide", small, s, own->shape->len - 1 - behind);
    return i == 0 ? folding_call(c, 2, x, small) : folding_call(c, 2, small, x);
  }
  return NULL;
}

/* What times *s is `e`; NULL (without an error): no scale found */
static relay_expr *extract(const folding *f, relay_expr *e, scale *s, int depth) {
  const tn_RelayCall *c = TN_AS(RelayCall, e);
  relay_expr *x;
  if (!c || !folding_single(f, e) || depth > MAX_DEPTH) return NULL;
  if (scale_match(c, &x, s)) return x;
  if (tn_error_pending()) return NULL;
  if (is_sum(c)) return extract_sum(f, c, s, depth + 1);
  bool bias = relay_as_call(c, "nn.bias_add") != NULL;
  const scale easiest = {.axis = -1, .positive = true};
  if (!bias && !pads_zeros(c, -1) && !passes(c, &easiest)) return NULL;
  x = extract(f, relay_arg(c, 0), s, depth + 1);
  if (!x) return NULL;
  if (bias)
    return s->positive && is_bias_along(c, s)
               ? folding_call(c, 2, x, relay_binary("divide", relay_arg(c, 1), s->value))
               : NULL;
  return pads_zeros(c, s->axis) || passes(c, s) ? folding_call(c, 1, x) : NULL;
}

static tn_obj *fold_forward(void *ctx, tn_obj *pre, tn_obj *post) {
  const tn_RelayCall *c = (const tn_RelayCall *)post;
  layer l;
  scale s;
  if (!relay_stands_for(post, pre)) return NULL;
  if (layer_match(c, &l) && l.weight_in >= 0) {
    relay_expr *x = extract(ctx, relay_arg(c, 0), &s, 0);
    relay_expr *made = NULL;
    if (x && (s.axis < 0 || s.axis == l.data_axis))
      made = folding_call(c, 2, x, scale_apply("multiply", relay_arg(c, 1), &s, l.weight_in));
    if (made) post = (tn_obj *)made;
  }
  return tn_error_pending() ? NULL : folding_done(ctx, pre, (relay_expr *)post);
}

/* ---- passes ---- */

static const tn_rewrite_case backward[] = {TN_REWRITE(RelayCall, fold_backward)},
                             forward[] = {TN_REWRITE(RelayCall, fold_forward)};

static tn_RelayFunction *run(tn_RelayFunction *f, const tn_pass_ctx *c,
                             const tn_rewrite_case *cases) {
  TN_PMAP(readers);
  folding state = {.readers = &readers};
  TN_GETP(f, relay_infer_expr(f, c->mod));
  TN_TRYP(relay_count_readers(f, &readers));
  tn_RelayFunction *r = tn_rewrite(f, cases, TN_TI_RelayCall + 1, &state);
  tn_pmap_fini(&state.now);
  return r;
}

tn_RelayFunction *relay_backward_fold_scale_axis(tn_RelayFunction *f, const tn_pass_ctx *c) {
  return run(f, c, backward);
}

tn_RelayFunction *relay_forward_fold_scale_axis(tn_RelayFunction *f, const tn_pass_ctx *c) {
  return run(f, c, forward);
}

/* Both, and then what has become of the weights is computed; with an argument only where they are
   not larger (in bytes), for a FoldConstant that comes later. */
tn_IRModule *relay_fold_scale_axis(tn_IRModule *m, const tn_pass_ctx *c) {
  tn_any fold[] = {tn_any_bool(false), c->nargs > 0 ? c->args[0] : tn_any_int(-1)};
  const ir_pass_row *row;
  tn_Pass *pass;
  TN_GETP(m, relay_run_pass("BackwardFoldScaleAxis", m, c->node));
  TN_GETP(m, relay_run_pass("ForwardFoldScaleAxis", m, c->node));
  TN_GETP(row, ir_pass_named("FoldConstant"));
  TN_GETP(pass, ir_pass_new(row, fold, 2));
  return ir_pass_run(pass, m, c->node);
}
