/* FakeQuantizationToInteger: what is computed between dequantize and quantize is computed with
   integers.

     quantize(nn.relu(nn.conv2d(dequantize(%x), dequantize(%w)) + dequantize(%b)))
   =>
     requantize(maximum(qnn.conv2d(%x, %w) + %b, 0))

   Every step moves a dequantize behind an operator that reads it, until it meets a quantize:

     f(dequantize(x, s, z))  =>  dequantize(g(x), t, u)        rules
     quantize(f(dequantize(x, s, z)), t, u)  =>  qnn.f(x, s, z, t, u)         finals, which need to
     quantize(dequantize(x, s, z), t, u)     =>  requantize(x, s, z, t, u)    know the result's
                                                                              scale and zero point

   Scales and zero points must be constants, for operators without a channel axis one number.
   Operators without a rule compute with floats, as they did. Programs add rules
   (fake_quantization_hook.c). */
#include <math.h>

#include "base/error.h"
#include "relay/expr/call_builder.h"
#include "relay/expr/expr_info.h"
#include "relay/expr/replace.h"
#include "relay/infer.h"
#include "relay/transforms/fake_quantization.h"
#include "tenon/object.h"

/* ---- what integers stand for ---- */

bool fq_view_of(const void *e, fq_view *v) {
  const tn_RelayCall *c = relay_as_call(e, "qnn.dequantize");
  if (!c) return false;
  *v = (fq_view){.x = relay_arg(c, 0), .scale = relay_arg(c, 1), .zero = relay_arg(c, 2)};
  v->type = relay_known_type(v->x);
  const tn_TensorType *whole = relay_known_type(c);
  if (!v->type || !whole || !TN_AS(Constant, v->scale) || !TN_AS(Constant, v->zero)) return false;
  if (!tn_dtype_eq(whole->dtype, TN_F32)) return false;
  v->axis = relay_attr_int(c->attrs, "axis", -1);
  if (v->axis < 0) v->axis += v->type->shape->len;
  v->one = relay_uniform(v->scale, &v->s) && relay_uniform(v->zero, &v->z);
  return true;
}

static bool single(const void *e, fq_view *v) { return fq_view_of(e, v) && v->one; }

static bool is_8_bits(const fq_view *v) {
  return ir_is_integral(v->type->dtype) && v->type->dtype.bits == 8;
}

void *fq_stands_for(void *x, void *scale, void *zero, int64_t axis) {
  void *a = relay_attrs("qnn.dequantize", 1, "axis", tn_any_int(axis));
  return a && x ? relay_call("qnn.dequantize", a, 3, x, scale, zero) : NULL;
}

static void *same_quanta(void *x, const fq_view *v) {
  return fq_stands_for(x, v->scale, v->zero, v->one ? -1 : v->axis);
}

static void *no_zero(void) { return relay_const_int(TN_I32, 0); }

/* The integer that stands for a number in a view of one scale. */
static double code_of(const fq_view *v, double x) {
  return fmax(-2147483648.0, fmin(2147483647.0, nearbyint(x / v->s) + v->z));
}

/* ---- rules ---- */

/* Operators that only move elements, or choose among them. */
static void *rule_move(const tn_RelayCall *c) {
  fq_view v;
  bool moves = relay_op_only_moves(relay_op_of(c)) && c->args->len == 1 && relay_known_type(c);
  if (!moves || !single(relay_arg(c, 0), &v)) return NULL;
  return same_quanta(relay_call(relay_called_op(c), c->attrs, 1, v.x), &v);
}

static void *rule_transpose(const tn_RelayCall *c) {
  fq_view v;
  if (!fq_view_of(relay_arg(c, 0), &v)) return NULL;
  const tn_arr *axes = relay_attr_obj(c->attrs, "axes");
  int64_t rank = v.type->shape->len, to = rank - 1 - v.axis;
  for (int64_t i = 0; axes && i < axes->len; ++i) {
    int64_t from = relay_listed(axes, i);
    if ((from < 0 ? from + rank : from) == v.axis) to = i;
  }
  return fq_stands_for(relay_call("transpose", c->attrs, 1, v.x), v.scale, v.zero, v.one ? -1 : to);
}

static void *rule_relu(const tn_RelayCall *c) {
  fq_view v;
  double z;
  if (!fq_view_of(relay_arg(c, 0), &v) || !relay_uniform(v.zero, &z)) return NULL;
  double least = ir_is_uint(v.type->dtype) ? 0 : -ldexp(1, v.type->dtype.bits - 1);
  if (z <= least) return relay_arg(c, 0); /* none is negative */
  void *floor = relay_const_float(v.type->dtype, z);
  return same_quanta(relay_binary("maximum", v.x, floor), &v);
}

static void *rule_clip(const tn_RelayCall *c) {
  fq_view v;
  if (!single(relay_arg(c, 0), &v)) return NULL;
  double low = code_of(&v, relay_attr_float(c->attrs, "a_min", 0)),
         high = code_of(&v, relay_attr_float(c->attrs, "a_max", 0));
  void *a = relay_attrs("clip", 2, "a_min", tn_any_float(low), "a_max", tn_any_float(high));
  return same_quanta(a ? relay_call("clip", a, 1, v.x) : NULL, &v);
}

static void *rule_pad(const tn_RelayCall *c) {
  fq_view v;
  double value;
  if (!single(relay_arg(c, 0), &v) || !relay_uniform(relay_arg(c, 1), &value)) return NULL;
  double code = code_of(&v, value);
  if (fabs((code - v.z) * v.s - value) > 1e-6 * fabs(value)) return NULL;
  void *with = relay_const_float(v.type->dtype, code);
  return same_quanta(with ? relay_call("nn.pad", c->attrs, 2, v.x, with) : NULL, &v);
}

/* Sums of products: data in one quantum, weights perhaps in one for each channel. `axis`: of the
   weights, where their channels lie. */
static void *product(const tn_RelayCall *c, const char *op, int64_t axis, int64_t out_axis) {
  fq_view x, w;
  if (!single(relay_arg(c, 0), &x) || !fq_view_of(relay_arg(c, 1), &w)) return NULL;
  if (!is_8_bits(&x) || !is_8_bits(&w) || !(w.one || w.axis == axis)) return NULL;
  void *scale = relay_fold_expr(relay_binary("multiply", x.scale, w.scale));
  void *attrs = relay_attrs_with(c->attrs, "out_dtype", tn_any_dtype(TN_I32));
  if (!scale || !attrs) return NULL;
  void *sum = relay_call(op, attrs, 6, x.x, w.x, x.zero, w.zero, x.scale, w.scale);
  return fq_stands_for(sum, scale, no_zero(), out_axis);
}

static int64_t place(const char *layout, char letter) {
  const char *at = strlen(layout) == 4 ? strchr(layout, letter) : NULL;
  return at ? at - layout : -1;
}

static void *rule_conv2d(const tn_RelayCall *c) {
  const char *out = relay_attr_str(c->attrs, "out_layout");
  int64_t o = place(relay_attr_str(c->attrs, "kernel_layout"), 'O'),
          to = place(*out ? out : relay_attr_str(c->attrs, "data_layout"), 'C');
  return o < 0 || to < 0 ? NULL : product(c, "qnn.conv2d", o, to);
}

static void *rule_dense(const tn_RelayCall *c) {
  const tn_TensorType *t = relay_known_type(c);
  return t ? product(c, "qnn.dense", 0, t->shape->len - 1) : NULL;
}

static void *rule_batch_matmul(const tn_RelayCall *c) {
  fq_view w;
  if (!single(relay_arg(c, 1), &w)) return NULL;
  return product(c, "qnn.batch_matmul", 0, 0);
}

/* Are two scales the same, up to how they were rounded? */
static bool same_scale(const void *a, const void *b) {
  double x, y;
  if (a == b || tn_equal(a, b, 0) == 1) return true;
  return relay_uniform(a, &x) && relay_uniform(b, &y) && fabs(x - y) <= 1e-5 * fabs(x);
}

/* A constant, or what is one in quanta, as integers in the quanta of sums `v`. */
static void *bias_in(const void *e, const fq_view *v, int64_t axis) {
  fq_view own;
  double z;
  bool constant = TN_AS(Constant, e) != NULL;
  if (!constant && !fq_view_of(e, &own)) return NULL;
  if (!constant && !TN_AS(Constant, own.x)) return NULL;
  if (!constant && tn_dtype_eq(own.type->dtype, TN_I32) && same_scale(own.scale, v->scale) &&
      relay_uniform(own.zero, &z) && z == 0)
    return own.x;
  void *a =
      relay_attrs("qnn.quantize", 2, "axis", tn_any_int(axis), "out_dtype", tn_any_dtype(TN_I32));
  return a ? relay_call("qnn.quantize", a, 3, e, v->scale, no_zero()) : NULL;
}

static bool is_sum(const fq_view *v) {
  double z;
  return tn_dtype_eq(v->type->dtype, TN_I32) && relay_uniform(v->zero, &z) && z == 0;
}

static void *rule_bias(const tn_RelayCall *c) {
  fq_view v;
  if (!fq_view_of(relay_arg(c, 0), &v) || !is_sum(&v)) return NULL;
  void *b = bias_in(relay_arg(c, 1), &v, 0);
  return b ? same_quanta(relay_call("nn.bias_add", c->attrs, 2, v.x, b), &v) : NULL;
}

/* Sums and a constant along the last axis, or in one quantum. */
static void *rule_add(const tn_RelayCall *c) {
  fq_view v;
  for (int i = 0; i < 2; ++i) {
    void *other = relay_arg(c, 1 - i);
    if (!fq_view_of(relay_arg(c, i), &v) || !is_sum(&v)) continue;
    const tn_TensorType *t = relay_known_type(other), *sum = relay_known_type(c);
    int64_t last = v.type->shape->len - 1;
    if (!t || !sum || t->shape->len == 0 || (!v.one && v.axis != last)) return NULL;
    bool along =
        v.one || relay_dim_equal(relay_dim(t, t->shape->len - 1), relay_dim(v.type, last)) == 1;
    void *b = along ? bias_in(other, &v, t->shape->len - 1) : NULL;
    v.axis = sum->shape->len - 1; /* the sum may have more axes */
    return b ? same_quanta(relay_binary("add", v.x, b), &v) : NULL;
  }
  return NULL;
}

/* Products with a positive number change the scale only. */
static void *rule_factor(const tn_RelayCall *c) {
  fq_view v;
  double by;
  bool divide = relay_as_call(c, "divide") != NULL;
  for (int i = 0; i < (divide ? 1 : 2); ++i) {
    const tn_TensorType *t = relay_known_type(relay_arg(c, 1 - i));
    if (!single(relay_arg(c, i), &v) || !t || relay_count_elements(t) != 1) continue;
    if (!relay_as_scalar(relay_arg(c, 1 - i), &by) || !(by > 0) || !isfinite(by)) continue;
    if (!relay_same_type(relay_arg(c, i), c)) continue;
    void *scale = relay_const_float(TN_F32, divide ? v.s / by : v.s * by);
    return scale ? fq_stands_for(v.x, scale, v.zero, 0) : NULL;
  }
  return NULL;
}

/* The mean of n integers is their sum in quanta of scale / n. */
static void *mean_over(const fq_view *v, void *attrs, const tn_TensorType *out) {
  int64_t all = relay_count_elements(v->type), kept = relay_count_elements(out);
  if (all <= 0 || kept <= 0 || all / kept > 1 << 20 || !is_8_bits(v)) return NULL;
  double n = (double)(all / kept);
  void *sum = attrs ? relay_call("sum", attrs, 1, relay_cast(v->x, TN_I32)) : NULL;
  void *scale = relay_const_float(TN_F32, v->s / n), *zero = relay_const_float(TN_I32, v->z * n);
  return scale && zero ? fq_stands_for(sum, scale, zero, 0) : NULL;
}

static void *rule_mean(const tn_RelayCall *c) {
  fq_view v;
  const tn_TensorType *out = relay_known_type(c);
  if (!out || !single(relay_arg(c, 0), &v)) return NULL;
  void *axis = relay_attr_obj(c->attrs, "axis");
  void *a = relay_attrs("sum", 3, "axis", axis ? tn_any_obj(axis) : tn_any_none(), "keepdims",
                        tn_any_bool(relay_attr_int(c->attrs, "keepdims", 0)), "exclude",
                        tn_any_bool(relay_attr_int(c->attrs, "exclude", 0)));
  return mean_over(&v, a, out);
}

static void *rule_global_mean(const tn_RelayCall *c) {
  fq_view v;
  const char *layout = relay_attr_str(c->attrs, "layout");
  const tn_TensorType *out = relay_known_type(c);
  int64_t axes[2] = {place(layout, 'H'), place(layout, 'W')};
  if (!out || axes[0] < 0 || !single(relay_arg(c, 0), &v)) return NULL;
  void *a =
      relay_attrs("sum", 2, "axis", tn_any_obj(relay_ints(axes, 2)), "keepdims", tn_any_bool(true));
  return mean_over(&v, a, out);
}

/* Rows of tensors that are all in the same quanta. */
static void *rule_concatenate(const tn_RelayCall *c) {
  fq_view first, v;
  TN_VEC(parts);
  const tn_RelayTuple *t = TN_AS(RelayTuple, relay_arg(c, 0));
  if (!t || t->fields->len == 0 || !single(tn_arr_obj(t->fields, 0), &first)) return NULL;
  for (int64_t i = 0; i < t->fields->len; ++i) {
    if (!single(tn_arr_obj(t->fields, i), &v) || v.z != first.z || v.s != first.s ||
        !tn_dtype_eq(v.type->dtype, first.type->dtype))
      return NULL;
    TN_TRYP(tn_vec_push_obj(&parts, v.x));
  }
  void *all = relay_tuple(tn_arr_from(&parts));
  return same_quanta(all ? relay_call("concatenate", c->attrs, 1, all) : NULL, &first);
}

typedef void *(*fq_rule)(const tn_RelayCall *c); /* NULL without an error: it does not apply */

/* What is done with operators that do more than that. */
static const struct {
  const char *op;
  fq_rule rule;
} rules[] = {
    {"add", rule_add},
    {"clip", rule_clip},
    {"concatenate", rule_concatenate},
    {"divide", rule_factor},
    {"mean", rule_mean},
    {"multiply", rule_factor},
    {"nn.batch_matmul", rule_batch_matmul},
    {"nn.bias_add", rule_bias},
    {"nn.conv2d", rule_conv2d},
    {"nn.dense", rule_dense},
    {"nn.global_avg_pool2d", rule_global_mean},
    {"nn.pad", rule_pad},
    {"nn.relu", rule_relu},
    {"transpose", rule_transpose},
};

static fq_rule rule_of(const char *op) {
  for (int i = 0; i < TN_COUNT(rules); ++i)
    if (strcmp(op, rules[i].op) == 0) return rules[i].rule;
  return rule_move;
}

/* ---- the pass ---- */

static tn_obj *rewrite(void *ctx, tn_obj *pre, tn_obj *post) {
  (void)ctx;
  const tn_RelayCall *c = (const tn_RelayCall *)post;
  const char *op = relay_called_op(c);
  void *made = NULL;
  if (!op) return post;
  relay_stands_for(post, pre);
  int asked = fq_ask_hook(c, &made);
  if (asked < 0) return NULL;
  if (!asked) made = strcmp(op, "qnn.quantize") == 0 ? fq_finish(c) : rule_of(op)(c);
  return relay_replaced("FakeQuantizationToInteger", made, post, pre);
}

static const tn_rewrite_case cases[] = {TN_REWRITE(RelayCall, rewrite)};

tn_RelayFunction *relay_fake_quantization(tn_RelayFunction *f, const tn_pass_ctx *c) {
  TN_GETP(f, relay_infer_expr(f, c->mod));
  return tn_rewrite(f, cases, TN_COUNT(cases), NULL);
}
