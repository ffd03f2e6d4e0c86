/* FoldLayerNorm: the arithmetic of a layer norm becomes nn.layer_norm, which is one kernel, that of
   a norm over all but batch and channels nn.instance_norm.

     %0 = subtract(%x, mean(%x, axis=[-1], keepdims=True));
     %1 = mean(multiply(%0, %0), axis=[-1], keepdims=True);
     add(multiply(multiply(%0, rsqrt(add(%1, 1e-5f))), %gamma), %beta)
   =>
     nn.layer_norm(%x, %gamma, %beta, epsilon=1e-5f)

   The inner product is found first; factors and sums that follow it become its gamma and beta where
   nobody else reads what they follow. */
#include "base/error.h"
#include "base/scope.h"
#include "ir/imm.h"
#include "relay/infer.h"
#include "relay/expr/call_builder.h"
#include "relay/expr/expr_info.h"
#include "relay/expr/replace.h"
#include "relay/transforms/transforms.h"

/* ---- the inner product ---- */

enum { MAX_AXES = 31 };

/* The argument of mean(x, axis=..., keepdims=True) and its axes, a bit each; NULL when it is
   something else. */
static void *mean_over(const void *e, uint32_t *axes) {
  const tn_RelayCall *c = relay_as_call(e, "mean");
  const tn_arr *list = c ? relay_attr_obj(c->attrs, "axis") : NULL;
  const tn_TensorType *t = c ? relay_known_type(relay_arg(c, 0)) : NULL;
  if (!t || !list || list->len == 0 || t->shape->len > MAX_AXES ||
      !relay_attr_int(c->attrs, "keepdims", 0) || relay_attr_int(c->attrs, "exclude", 0))
    return NULL;
  *axes = 0;
  for (int64_t i = 0; i < list->len; ++i) {
    int64_t axis = relay_listed(list, i);
    *axes |= 1U << (axis < 0 ? axis + t->shape->len : axis);
  }
  return relay_arg(c, 0);
}

/* Is it d * d? */
static bool is_square(const void *e, const void *d) {
  const tn_RelayCall *product = relay_as_call(e, "multiply"), *power = relay_as_call(e, "power");
  double exponent;
  if (product) return relay_arg(product, 0) == d && relay_arg(product, 1) == d;
  return power && relay_arg(power, 0) == d && relay_as_scalar(relay_arg(power, 1), &exponent) &&
         exponent == 2;
}

typedef struct {
  relay_expr *x;
  uint32_t axes;  /* that it is normalised over */
  const char *op; /* that does so, and its axis of gamma and beta */
  int64_t axis;
  double epsilon;
} normal;

/* d = x - mean(x), deviation = mean(d * d) + epsilon */
static bool is_normal(const void *d, const void *deviation, normal *n) {
  const tn_RelayCall *centred = relay_as_call(d, "subtract"),
                     *sum = relay_as_call(deviation, "add");
  uint32_t axes;
  if (!centred || !sum) return false;
  n->x = relay_arg(centred, 0);
  if (mean_over(relay_arg(centred, 1), &n->axes) != n->x) return false;
  int constant = relay_as_scalar(relay_arg(sum, 1), &n->epsilon) ? 1 : 0;
  if (!constant && !relay_as_scalar(relay_arg(sum, 0), &n->epsilon)) return false;
  const void *square = mean_over(relay_arg(sum, 1 - constant), &axes);
  return square && axes == n->axes && is_square(square, d);
}

/* d * rsqrt(deviation) in either order, d / sqrt(deviation) */
static bool find_normal(const tn_RelayCall *c, normal *n) {
  const tn_RelayCall *root;
  if (relay_as_call(c, "multiply")) {
    for (int i = 0; i < 2; ++i)
      if ((root = relay_as_call(relay_arg(c, i), "rsqrt")) != NULL)
        return is_normal(relay_arg(c, 1 - i), relay_arg(root, 0), n);
  }
  root = relay_as_call(c, "divide") ? relay_as_call(relay_arg(c, 1), "sqrt") : NULL;
  return root && is_normal(relay_arg(c, 0), relay_arg(root, 0), n);
}

/* Is there an operator that normalises over these axes? */
static bool find_op(normal *n, int64_t ndim) {
  uint32_t image = (1U << ndim) - 4; /* all but the first two */
  bool single = (n->axes & (n->axes - 1)) == 0, instance = ndim > 2 && n->axes == image;
  n->op = single ? "nn.layer_norm" : "nn.instance_norm";
  n->axis = single ? __builtin_ctz(n->axes) : 1;
  return single || instance;
}

static void *norm_of(void *x, void *gamma, void *beta, const normal *n, bool scale, bool center) {
  void *attrs =
      relay_attrs(n->op, 4, "axis", tn_any_int(n->axis), "epsilon", tn_any_float(n->epsilon),
                  "scale", tn_any_bool(scale), "center", tn_any_bool(center));
  return relay_call(n->op, attrs, 3, x, gamma, beta);
}

/* `value` for each channel */
static void *filled(const tn_TensorType *t, int64_t axis, double value) {
  tn_arr *shape = tn_arr_of(1, relay_dim(t, axis));
  void *attrs = relay_attrs("full", 2, "shape", tn_any_obj(shape), "dtype", tn_any_dtype(t->dtype));
  return relay_call("full", attrs, 1, relay_const_float(t->dtype, value));
}

/* ---- gamma and beta ---- */

/* Numbers for the elements of `axis` that broadcast to `t`, as one axis; NULL. */
static void *numbers_along(void *e, const tn_TensorType *t, int64_t axis) {
  const tn_TensorType *own = TN_AS(Constant, e) ? relay_known_type(e) : NULL;
  int64_t at = own ? axis - t->shape->len + own->shape->len : -1;
  if (!own || at < 0 || own->shape->len > t->shape->len ||
      relay_dim_equal(relay_dim(own, at), relay_dim(t, axis)) != 1)
    return NULL;
  for (int64_t i = 0; i < own->shape->len; ++i)
    if (i != at && relay_dim_is(relay_dim(own, i), 1) != 1) return NULL;
  return own->shape->len == 1 ? e : relay_reshape(e, tn_arr_of(1, relay_dim(own, at)));
}

static const tn_RelayCall *as_norm(const void *e, const char **op) {
  *op = relay_as_call(e, "nn.instance_norm") ? "nn.instance_norm" : "nn.layer_norm";
  return relay_as_call(e, *op);
}

/* `norm` times, or plus, numbers: with these in it; NULL when it is something else. */
static void *absorb(const tn_RelayCall *c, bool product) {
  for (int i = 0; i < 2; ++i) {
    normal n = {.x = NULL};
    const tn_RelayCall *norm = as_norm(relay_arg(c, i), &n.op);
    const tn_TensorType *t = norm ? relay_known_type(relay_arg(norm, 0)) : NULL;
    if (!t) continue;
    n.axis = relay_attr_int(norm->attrs, "axis", -1);
    n.epsilon = relay_attr_float(norm->attrs, "epsilon", 1e-5);
    bool scale = relay_attr_int(norm->attrs, "scale", 1) != 0,
         center = relay_attr_int(norm->attrs, "center", 1) != 0;
    if (center || (product && scale)) return NULL;
    if (n.axis < 0) n.axis += t->shape->len;
    void *v = numbers_along(relay_arg(c, 1 - i), t, n.axis);
    if (!v) return NULL;
    void *x = relay_arg(norm, 0), *gamma = relay_arg(norm, 1), *beta = relay_arg(norm, 2);
    return product ? norm_of(x, v, beta, &n, true, false) : norm_of(x, gamma, v, &n, scale, true);
  }
  return NULL;
}

/* ---- the pass ---- */

/* Is `x` of the type of its norm? All that is subtracted and multiplied has the extents of x or 1,
   also where they are dynamic; an epsilon of more axes adds some. */
static bool keeps_type(const relay_expr *x, const tn_TensorType *t) {
  const tn_TensorType *own = relay_known_type(x);
  return own && own->shape->len == t->shape->len && tn_dtype_eq(own->dtype, t->dtype);
}

/* ctx: numbers of readers */
static tn_obj *fold(void *ctx, tn_obj *pre, tn_obj *post) {
  const tn_RelayCall *c = (const tn_RelayCall *)post, *before = (const tn_RelayCall *)pre;
  const tn_TensorType *t = relay_tensor_type_of_expr(pre);
  bool product = relay_as_call(c, "multiply") != NULL, sum = relay_as_call(c, "add") != NULL;
  normal n;
  int64_t channels;
  if (!relay_stands_for(post, pre)) return NULL;
  if (!t || !ir_is_floating(t->dtype) || !(product || sum || relay_as_call(c, "divide")))
    return post;
  if (find_normal(c, &n) && keeps_type(n.x, t) && find_op(&n, t->shape->len) &&
      relay_known_int(t->shape, n.axis, &channels))
    return relay_replaced(
        "FoldLayerNorm", norm_of(n.x, filled(t, n.axis, 1), filled(t, n.axis, 0), &n, false, false),
        post, pre);
  bool alone = (product || sum) && tn_pmap_get_int(ctx, relay_arg(before, 0), 0) <= 1 &&
               tn_pmap_get_int(ctx, relay_arg(before, 1), 0) <= 1;
  void *e = alone ? absorb(c, product) : NULL;
  return relay_replaced("FoldLayerNorm", e, post, pre);
}

static const tn_rewrite_case cases[] = {TN_REWRITE(RelayCall, fold)};

tn_RelayFunction *relay_fold_layer_norm(tn_RelayFunction *f, const tn_pass_ctx *c) {
  TN_PMAP(readers);
  TN_GETP(f, relay_infer_expr(f, c->mod));
  TN_TRYP(relay_count_readers(f, &readers));
  return tn_rewrite(f, cases, TN_COUNT(cases), &readers);
}
