/* Losses, masks, layer normalisation, and activations put together from others. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/scope.h"
#include "import/onnx/import.h"
#include "relay/infer.h"

enum { MAX_NDIM = 32 };

/* ---- losses ---- */

typedef struct {
  void *loss, *weight; /* of each element; weight NULL: all 1 */
} terms;

/* The class of each element as an axis of extent 1: what gather takes. */
static void *chosen_scores(void *scores, void *target) {
  const int64_t one = 1;
  void *a = relay_attrs("expand_dims", 1, "axis", tn_any_int(1)),
       *b = relay_attrs("gather", 1, "axis", tn_any_int(1));
  void *q = relay_attrs("squeeze", 1, "axis", tn_any_obj(relay_ints(&one, 1)));
  if (!a || !b || !q || !target) return NULL;
  void *chosen = relay_call("gather", b, 2, scores, relay_call("expand_dims", a, 1, target));
  return chosen ? relay_call("squeeze", q, 1, chosen) : NULL;
}

/* -scores[n, target[n], ...], and its weights. */
static int loss_terms(onnx_ctx *c, void *scores, terms *out) {
  const tn_TensorType *t = onnx_in_type(c, 1);
  if (!onnx_in_type(c, 0) || !t) return onnx_fail(c, "the inputs are not tensors"), -1;
  void *target = onnx_in(c, 1), *ignored = NULL;
  if (onnx_node_attr(c, "ignore_index")) {
    TN_GET(ignored,
           onnx_binary("equal", target, relay_const_int(t->dtype, onnx_int(c, "ignore_index", 0))));
    target = onnx_where(ignored, relay_const_int(t->dtype, 0), target);
  }
  void *chosen = chosen_scores(scores, target),
       *k = relay_attrs("take", 1, "axis", tn_any_obj(tir_i32(0)));
  TN_GET(out->loss, chosen && k ? onnx_unary("negative", chosen) : NULL);
  out->weight = NULL;
  if (onnx_in(c, 2)) TN_GET(out->weight, relay_call("take", k, 2, onnx_in(c, 2), target));
  if (!ignored) return 0;
  TN_GET(out->weight, onnx_where(ignored, onnx_scalar(c, 0, 0),
                                 out->weight ? out->weight : onnx_scalar(c, 0, 1)));
  return 0;
}

static void *loss_of(onnx_ctx *c, void *scores) {
  char text[16];
  terms t;
  const char *how = onnx_text(c, "reduction", "mean", text, sizeof text);
  if (!scores) return NULL;
  TN_TRYP(loss_terms(c, scores, &t));
  void *x = t.weight ? onnx_binary("multiply", t.loss, t.weight) : t.loss;
  if (strcmp(how, "none") == 0) {
    /* weights of ignored elements have the shape of the target already */
    return x;
  }
  if (strcmp(how, "sum") == 0) return onnx_reduce("sum", x, NULL, 0, false);
  if (strcmp(how, "mean") != 0) return onnx_fail(c, "reduction: %s", how);
  if (!t.weight) return onnx_reduce("mean", x, NULL, 0, false);
  const tn_TensorType *target = onnx_in_type(c, 1);
  void *a = relay_attrs("broadcast_to", 1, "shape", tn_any_obj(target->shape));
  void *weights = a ? relay_call("broadcast_to", a, 1, t.weight) : NULL;
  return onnx_binary("divide", onnx_reduce("sum", x, NULL, 0, false),
                     onnx_reduce("sum", weights, NULL, 0, false));
}

static void *negative_log_likelihood(onnx_ctx *c) { return loss_of(c, onnx_in(c, 0)); }

static void *cross_entropy(onnx_ctx *c) {
  void *a = relay_attrs("nn.log_softmax", 1, "axis", tn_any_int(1)),
       *p = a ? relay_call("nn.log_softmax", a, 1, onnx_in(c, 0)) : NULL;
  void *loss = loss_of(c, p);
  return loss && c->node->n_output > 1 ? relay_tuple(tn_arr_of(2, loss, p)) : loss;
}

/* ---- masks ---- */

/* The part of the last two axes above or below a diagonal. */
static void *triangle(onnx_ctx *c) {
  const tn_TensorType *t = onnx_in_type(c, 0);
  int64_t rank = onnx_rank(c, 0);
  bool upper = onnx_int(c, "upper", 1) != 0;
  if (rank < 2) return onnx_fail(c, "expected a shape of at least two dimensions");
  void *k = onnx_in(c, 1) ? onnx_cast(onnx_reshape(onnx_in(c, 1), NULL, 0), TN_I64)
                          : relay_const_int(TN_I64, 0);
  void *row = onnx_indices(onnx_in(c, 0), rank - 2, 0, 2),
       *column = onnx_indices(onnx_in(c, 0), rank - 1, 1, 2);
  void *at = row && column ? onnx_binary("subtract", column, row) : NULL;
  void *mask = at ? onnx_binary(upper ? "greater_equal" : "less_equal", at, k) : NULL;
  return onnx_where(mask, onnx_in(c, 0), relay_const_int(t->dtype, 0));
}

/* 1 at the first greatest element of the axis, 0 elsewhere. */
static void *hardmax(onnx_ctx *c) {
  const tn_TensorType *t = onnx_in_type(c, 0);
  int64_t rank = onnx_rank(c, 0), axis = onnx_int(c, "axis", c->opset >= 13 ? -1 : 1);
  if (axis < 0) axis += rank;
  if (rank < 1 || axis < 0 || axis >= rank)
    return onnx_fail(c, "axis %lld is out of range", (long long)axis);
  bool flat = c->opset < 13 && axis != rank - 1; /* the axes from `axis` on are one */
  void *x = flat ? onnx_flatten(onnx_in(c, 0), t, axis) : onnx_in(c, 0);
  x = flat && x ? relay_infer_new(x) : x;
  int64_t at = flat ? 1 : axis;
  void *best = x ? onnx_cast(onnx_reduce("argmax", x, &at, 1, true), TN_I64) : NULL,
       *index = onnx_indices(x, at, at, flat ? 2 : rank);
  void *y = best && index ? onnx_cast(onnx_binary("equal", index, best), t->dtype) : NULL;
  return flat ? onnx_reshape_like(y, onnx_in(c, 0), t) : y;
}

/* ---- reductions ---- */

void *onnx_layer_norm(void *x, const int64_t *axes, int64_t n, void *epsilon, void *scale,
                      void *bias, void **mean, void **inverse) {
  void *d = NULL, *var = NULL;
  *inverse = NULL;
  *mean = x ? onnx_reduce("mean", x, axes, n, true) : NULL;
  if (*mean) d = onnx_binary("subtract", x, *mean);
  if (d) var = onnx_reduce("mean", onnx_binary("multiply", d, d), axes, n, true);
  if (var) *inverse = onnx_unary("rsqrt", onnx_binary("add", var, epsilon));
  if (!*inverse) return NULL;
  void *y = onnx_binary("multiply", onnx_binary("multiply", d, *inverse), scale);
  return y && bias ? onnx_binary("add", y, bias) : y;
}

/* Over the axes from `axis` on. */
static void *layer_norm(onnx_ctx *c) {
  int64_t rank = onnx_rank(c, 0), axis = onnx_int(c, "axis", -1), axes[MAX_NDIM], n = 0;
  if (axis < 0) axis += rank;
  if (rank < 1 || rank > MAX_NDIM || axis < 0 || axis >= rank)
    return onnx_fail(c, "axis %lld is out of range", (long long)axis);
  for (int64_t i = axis; i < rank; ++i) axes[n++] = i;
  void *mean, *inverse, *epsilon = onnx_scalar(c, 0, onnx_float(c, "epsilon", 1e-5));
  void *y = onnx_layer_norm(onnx_in(c, 0), axes, n, epsilon, onnx_in(c, 1), onnx_in(c, 2), &mean,
                            &inverse);
  return y && c->node->n_output > 1 ? relay_tuple(tn_arr_of(3, y, mean, inverse)) : y;
}

/* The greatest element is taken off before exp and added after log. */
static void *log_sum_exp_at_run_time(onnx_ctx *c, bool keep) {
  void *x = onnx_in(c, 0), *top;
  if (keep) { /* the extents that are left tell the axes, and there may be none to reduce */
    TN_GETP(top, onnx_reduce_at_run_time(c, "max", x, true));
    void *rest = onnx_unary("exp", onnx_binary("subtract", x, top));
    void *all = rest ? onnx_reduce_at_run_time(c, "sum", rest, true) : NULL;
    return all ? onnx_binary("add", onnx_unary("log", all), top) : NULL;
  }
  top = onnx_reduce_in_place(c, "max", x);
  void *sum =
      top ? onnx_reduce_in_place(c, "sum", onnx_unary("exp", onnx_binary("subtract", x, top)))
          : NULL;
  return sum ? onnx_keep_elements(c, onnx_binary("add", onnx_unary("log", sum), top), keep) : NULL;
}

static void *log_sum_exp(onnx_ctx *c) {
  int64_t axes[MAX_NDIM], n;
  bool keep = onnx_int(c, "keepdims", 1) != 0;
  if (onnx_axes_run(c)) return log_sum_exp_at_run_time(c, keep);
  TN_TRYP(onnx_reduced_axes(c, axes, &n));
  if (n == 0 && onnx_int(c, "noop_with_empty_axes", 0)) return onnx_in(c, 0);
  void *x = onnx_in(c, 0), *top = onnx_reduce("max", x, axes, n, true);
  void *sum =
      top ? onnx_reduce("sum", onnx_unary("exp", onnx_binary("subtract", x, top)), axes, n, keep)
          : NULL;
  return sum ? onnx_binary("add", onnx_unary("log", sum), onnx_reduce("max", x, axes, n, keep))
             : NULL;
}

/* ---- element by element ---- */

static void *cast_like(onnx_ctx *c) {
  return relay_call("cast_like", NULL, 2, onnx_in(c, 0), onnx_in(c, 1));
}

/* x - bias above lambd, x + bias below -lambd, 0 between */
static void *shrink(onnx_ctx *c) {
  const tn_TensorType *t = onnx_in_type(c, 0);
  if (!t) return onnx_fail(c, "the input is not a tensor");
  void *x = onnx_in(c, 0), *bias = onnx_scalar(c, 0, onnx_float(c, "bias", 0)),
       *zero = relay_const_int(t->dtype, 0);
  double lambd = onnx_float(c, "lambd", 0.5);
  void *below = onnx_where(onnx_binary("less", x, onnx_scalar(c, 0, -lambd)),
                           onnx_binary("add", x, bias), zero);
  return onnx_where(onnx_binary("greater", x, onnx_scalar(c, 0, lambd)),
                    onnx_binary("subtract", x, bias), below);
}

static void *thresholded(onnx_ctx *c) {
  void *x = onnx_in(c, 0);
  return onnx_where(onnx_binary("greater", x, onnx_scalar(c, 0, onnx_float(c, "alpha", 1))), x,
                    onnx_scalar(c, 0, 0));
}

static void *is_infinite(onnx_ctx *c) {
  void *x = onnx_in(c, 0), *zero = onnx_scalar(c, 0, 0), *y = onnx_unary("isinf", x);
  if (y && !onnx_int(c, "detect_negative", 1))
    y = onnx_binary("logical_and", y, onnx_binary("greater", x, zero));
  if (y && !onnx_int(c, "detect_positive", 1))
    y = onnx_binary("logical_and", y, onnx_binary("less", x, zero));
  return y;
}

/* x * tanh(log(1 + exp(x))) */
static void *mish(onnx_ctx *c) {
  void *x = onnx_in(c, 0),
       *tail = onnx_unary(
           "log",
           onnx_binary("add", onnx_unary("exp", onnx_unary("negative", onnx_unary("abs", x))),
                       onnx_scalar(c, 0, 1)));
  return onnx_binary("multiply", x,
                     onnx_unary("tanh", onnx_binary("add", onnx_unary("nn.relu", x), tail)));
}

static void *celu(onnx_ctx *c) {
  double alpha = onnx_float(c, "alpha", 1);
  void *x = onnx_in(c, 0), *low = onnx_binary("minimum", x, onnx_scalar(c, 0, 0));
  void *e = onnx_binary("subtract",
                        onnx_unary("exp", onnx_binary("divide", low, onnx_scalar(c, 0, alpha))),
                        onnx_scalar(c, 0, 1));
  return onnx_binary("add", onnx_unary("nn.relu", x),
                     onnx_binary("multiply", e, onnx_scalar(c, 0, alpha)));
}

/* By less than nothing, or by as many bits as there are or more: nothing is left but the sign of
   what is shifted to the right. */
static void *shift(onnx_ctx *c) {
  char text[16];
  const char *way = onnx_text(c, "direction", "", text, sizeof text);
  const tn_TensorType *t = onnx_in_type(c, 0), *u = onnx_in_type(c, 1);
  bool left = strcmp(way, "LEFT") == 0;
  if (!left && strcmp(way, "RIGHT") != 0)
    return onnx_fail(c, "direction: expected LEFT or RIGHT, got \"%s\"", way);
  if (!ir_is_integral(t->dtype) || !tn_dtype_eq(t->dtype, u->dtype))
    return onnx_fail(c, "expected integers of one type, got %s and %s", TN_DT(t->dtype),
                     TN_DT(u->dtype));
  void *zero = relay_const_int(t->dtype, 0), *most = relay_const_int(t->dtype, t->dtype.bits - 1);
  void *by = onnx_in(c, 1), *far = onnx_binary("greater", by, most);
  if (ir_is_int(t->dtype)) far = onnx_binary("logical_or", far, onnx_binary("less", by, zero));
  if (!left && ir_is_int(t->dtype)) /* what is left is the sign */
    return onnx_binary("right_shift", onnx_in(c, 0), onnx_where(far, most, by));
  void *y =
      onnx_binary(left ? "left_shift" : "right_shift", onnx_in(c, 0), onnx_where(far, zero, by));
  return y ? onnx_where(far, zero, y) : NULL;
}

static const onnx_row rows[] = {
    {"NegativeLogLikelihoodLoss", negative_log_likelihood, 2, 3},
    {"SoftmaxCrossEntropyLoss", cross_entropy, 2, 3},
    {"Trilu", triangle, 1, 2},
    {"Hardmax", hardmax, 1, 1},
    {"LayerNormalization", layer_norm, 2, 3},
    {"ReduceLogSumExp", log_sum_exp, 1, 2},
    {"CastLike", cast_like, 2, 2},
    {"Shrink", shrink, 1, 1},
    {"ThresholdedRelu", thresholded, 1, 1},
    {"IsInf", is_infinite, 1, 1},
    {"Mish", mish, 1, 1},
    {"Celu", celu, 1, 1},
    {"BitShift", shift, 2, 2},
};
const onnx_table onnx_more = {rows, TN_COUNT(rows), ""};
