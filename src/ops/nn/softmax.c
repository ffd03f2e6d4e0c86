/* Softmax along an axis, each step its own stage.

     nn.softmax(%x, axis=-1)    Tensor[(2, 10), float32] -> Tensor[(2, 10), float32]

   The largest number of a row is taken away first, so that no exponential overflows. */
#include "ir/imm.h"
#include "ops/gradients.h"
#include "ops/layout.h"
#include "ops/ops.h"
#include "ops/qnn.h"

#define TN_FIELDS_SoftmaxAttrs(F, S) F(S, I64, , axis, 0, "axis along which results sum to 1", "-1")
#define SOFTMAX_ATTRS(N)                                                                           \
  N(SoftmaxAttrs, Attrs, "relay.attrs.SoftmaxAttrs", NODE, TREE, tn_no_hooks,                      \
    "attributes of nn.softmax")
TN_NODES_LOCAL(SOFTMAX_ATTRS)

static int relation(relay_rel *r) {
  RELAY_TENSOR(data, r, 0);
  int64_t axis = relay_rel_axis(r, ((const tn_SoftmaxAttrs *)r->attrs)->axis, data->shape->len);
  RELAY_CHECK(r, axis < 0 || data->shape->len <= OPS_MAX_NDIM, "too many dimensions");
  return axis < 0 ? RELAY_FAILED : relay_rel_result(r, data);
}

typedef struct {
  tn_Tensor *data, *max, *exp, *sum, *inverse;
  bool reduced[OPS_MAX_NDIM];
} softmax;

/* Element of one of the stages that have one number for each row. */
static tn_expr *of_row(const softmax *s, const tn_Tensor *t, const tn_arr *at) {
  return te_at(t, ops_kept(at, s->reduced, false));
}

static tn_expr *shifted(const softmax *s, tn_arr *at) {
  return tir_sub(te_at(s->data, at), of_row(s, s->max, at));
}

static tn_expr *exponential(void *ctx, tn_arr *at) {
  tn_expr *e = shifted(ctx, at);
  return e ? tir_call(e->dtype, TIR_OP_exp, 1, e) : NULL;
}

/* One division for a row: the sum is between 1 and the length of the row. */
static tn_expr *inverse(void *ctx, tn_arr *at) {
  tn_expr *sum = te_at(((const softmax *)ctx)->sum, at);
  return sum ? tir_div(tir_one(sum->dtype), sum) : NULL;
}

static tn_expr *normalised(void *ctx, tn_arr *at) {
  const softmax *s = ctx;
  return tir_mul(te_at(s->exp, at), of_row(s, s->inverse, at));
}

static tn_expr *log_normalised(void *ctx, tn_arr *at) {
  const softmax *s = ctx;
  tn_expr *e = shifted(s, at), *sum = of_row(s, s->sum, at);
  return e && sum ? tir_sub(e, tir_call(sum->dtype, TIR_OP_log, 1, sum)) : NULL;
}

static int start(const relay_compute *c, softmax *s) {
  int64_t axis = ((const tn_SoftmaxAttrs *)c->attrs)->axis;
  *s = (softmax){.data = relay_input(c, 0)};
  s->reduced[axis < 0 ? axis + s->data->shape->len : axis] = true;
  TN_GET(s->max, ops_reduce_over(s->data->shape, s->reduced, false, TE_MAX, ops_element, s->data,
                                 "T_softmax_maxelem"));
  return 0;
}

static tn_arr *compute_softmax(const relay_compute *c) {
  softmax s;
  TN_TRYP(start(c, &s));
  TN_GETP(s.exp, te_compute(s.data->shape, exponential, &s, "T_softmax_exp", TE_ELEMWISE));
  TN_GETP(s.sum, ops_reduce_over(s.data->shape, s.reduced, false, TE_SUM, ops_element, s.exp,
                                 "T_softmax_expsum"));
  TN_GETP(s.inverse, te_compute(s.sum->shape, inverse, &s, "T_softmax_inverse", TE_ELEMWISE));
  return tn_arr_of(1,
                   te_compute(s.data->shape, normalised, &s, "T_softmax_norm", "softmax_output"));
}

static tn_arr *compute_log_softmax(const relay_compute *c) {
  softmax s;
  TN_TRYP(start(c, &s));
  TN_GETP(s.sum, ops_reduce_over(s.data->shape, s.reduced, false, TE_SUM, exponential, &s,
                                 "T_softmax_expsum"));
  return tn_arr_of(
      1, te_compute(s.data->shape, log_normalised, &s, "T_log_softmax_norm", "log_softmax_output"));
}

#define SOFTMAX(name_, compute_, ...)                                                              \
  {                                                                                                \
    .name = name_, .inputs = "data", .attrs = &tn_type_SoftmaxAttrs, .level = 1,                   \
    .pattern = RELAY_OUT_ELEMWISE_FUSABLE, .flags = RELAY_FLOATS, .rel_name = "Softmax",           \
    .rel = relation, .compute = compute_, .shape = relay_shape_same, .layouts = ops_layouts_axis,  \
    .grad = ops_grad_softmax, .doc = __VA_ARGS__                                                   \
  }

static const relay_op_row rows[] = {
    {.name = "qnn.softmax",
     .inputs = "data scale zero_point output_scale output_zero_point",
     .attrs = &tn_type_SoftmaxAttrs,
     .level = 11,
     .pattern = RELAY_OUT_ELEMWISE_FUSABLE,
     .rel_name = "QnnSoftmax",
     .rel = qnn_rel_unary,
     .legalize = qnn_lower_softmax,
     .doc = "softmax of a quantized tensor"},
    SOFTMAX("nn.softmax", compute_softmax, "exp(x) over the sum of exp(x) along an axis",
            .precision = RELAY_FULL, .values = RELAY_COMPUTED, .quantized = "qnn.softmax",
            .fast = "nn.fast_softmax"),
    SOFTMAX("nn.fast_softmax", compute_softmax, "softmax that may round more",
            .precision = RELAY_FOLLOWS, .values = RELAY_COMPUTED),
    SOFTMAX("nn.log_softmax", compute_log_softmax, "logarithm of softmax", .precision = RELAY_FULL,
            .values = RELAY_COMPUTED),
};

RELAY_FAMILY(softmax, SOFTMAX_ATTRS)
