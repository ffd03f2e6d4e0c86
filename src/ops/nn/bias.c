/* Values given for each channel: bias_add, prelu; and leaky_relu.

     nn.bias_add(%x, %b, axis=1)    Tensor[(1, 4, 8, 8), float32], Tensor[(4), float32]
                                    -> Tensor[(1, 4, 8, 8), float32] */
#include "ir/imm.h"
#include "ops/gradients.h"
#include "ops/layout.h"
#include "ops/ops.h"

#define TN_FIELDS_BiasAddAttrs(F, S)                                                               \
  F(S, I64, , axis, 0, "axis of channels; negative ones count from the end", "1")
#define TN_FIELDS_PReluAttrs(F, S)     F(S, I64, , axis, 0, "axis of channels", "1")
#define TN_FIELDS_LeakyReluAttrs(F, S) F(S, F64, , alpha, 0, "slope of negative numbers", "0.25")
#define BIAS_ATTRS(N)                                                                              \
  N(BiasAddAttrs, Attrs, "relay.attrs.BiasAddAttrs", NODE, TREE, tn_no_hooks,                      \
    "attributes of nn.bias_add")                                                                   \
  N(PReluAttrs, Attrs, "relay.attrs.PReluAttrs", NODE, TREE, tn_no_hooks,                          \
    "attributes of nn.prelu")                                                                      \
  N(LeakyReluAttrs, Attrs, "relay.attrs.LeakyReluAttrs", NODE, TREE, tn_no_hooks,                  \
    "attributes of nn.leaky_relu")
TN_NODES_LOCAL(BIAS_ATTRS)

/* The second argument has a number for each channel; the result is like the first. */
static int relation(relay_rel *r) {
  RELAY_TENSOR(data, r, 0);
  int64_t axis = relay_rel_axis(r, relay_attr_int(r->attrs, "axis", 1), data->shape->len);
  if (axis < 0) return RELAY_FAILED;
  TN_TRY(relay_rel_assign(
      r, 1, (tn_Type *)relay_tensor_type(tn_arr_of(1, relay_dim(data, axis)), data->dtype)));
  return relay_rel_result(r, data);
}

typedef struct {
  const tn_Tensor *data, *channels;
  int64_t axis;
} by_channel;

static by_channel inputs_of(const relay_compute *c) {
  by_channel b = {relay_input(c, 0), relay_input(c, 1), relay_attr_int(c->attrs, "axis", 1)};
  if (b.axis < 0) b.axis += b.data->shape->len;
  return b;
}

static tn_expr *biased(void *ctx, tn_arr *at) {
  const by_channel *b = ctx;
  return tir_add(te_at(b->data, at), te_at_of(b->channels, 1, te_index(at, b->axis)));
}

static tn_expr *sloped(void *ctx, tn_arr *at) {
  const by_channel *b = ctx;
  tn_expr *x = te_at(b->data, at), *slope = te_at_of(b->channels, 1, te_index(at, b->axis));
  if (!x || !slope) return NULL;
  return tir_select(tir_gt(x, tir_zero(x->dtype)), x, tir_mul(x, slope), NULL);
}

static tn_arr *compute_bias_add(const relay_compute *c) {
  by_channel b = inputs_of(c);
  return tn_arr_of(1, te_compute(b.data->shape, biased, &b, "T_nn_bias_add", TE_BROADCAST));
}

static tn_arr *compute_prelu(const relay_compute *c) {
  by_channel b = inputs_of(c);
  return tn_arr_of(1, te_compute(b.data->shape, sloped, &b, "T_nn_prelu", TE_BROADCAST));
}

static tn_expr *leaky(const relay_op_row *row, const void *attrs, tn_expr *const *args) {
  (void)row;
  tn_expr *x = args[0];
  tn_expr *alpha = tir_const_float(x->dtype, ((const tn_LeakyReluAttrs *)attrs)->alpha);
  return tir_select(tir_gt(x, tir_zero(x->dtype)), x, tir_mul(x, alpha), NULL);
}

/* ---- layouts ---- */

/* The axis must not be blocked. */
static int layouts(relay_layouts *q) {
  tn_Layout *channels;
  int known = ops_layouts_axis(q);
  if (known != 1) return known;
  int64_t axis = relay_attr_int(q->attrs, "axis", 1);
  tn_Layout *now = relay_layout_at(q->in, 0);
  char letter[2] = {tir_layout_axis(now, axis < 0 ? axis + now->axes->len : axis), 0};
  TN_GET(channels, tir_layout(letter, TN_I32));
  TN_GET(q->in, tn_arr_of(2, now, channels));
  return 1;
}

static const relay_op_row rows[] = {
    {.name = "nn.bias_add",
     .inputs = "data bias",
     .attrs = &tn_type_BiasAddAttrs,
     .level = 1,
     .pattern = RELAY_BROADCAST,
     .rel_name = "BiasAdd",
     .rel = relation,
     .compute = compute_bias_add,
     .layouts = layouts,
     .shape = relay_shape_same,
     .grad = ops_grad_bias_add,
     .doc = "data plus a number for each channel",
     .precision = RELAY_FOLLOWS,
     .values = RELAY_COMPUTED,
     .apart = RELAY_IMAGES},
    {.name = "nn.prelu",
     .inputs = "data alpha",
     .attrs = &tn_type_PReluAttrs,
     .level = 3,
     .pattern = RELAY_BROADCAST,
     .rel_name = "PRelu",
     .rel = relation,
     .compute = compute_prelu,
     .layouts = layouts,
     .shape = relay_shape_same,
     .doc = "x where it is positive, else x times the channel's slope",
     .precision = RELAY_FOLLOWS,
     .values = RELAY_COMPUTED},
    {.name = "nn.leaky_relu",
     .inputs = "data",
     .attrs = &tn_type_LeakyReluAttrs,
     .level = 3,
     .pattern = RELAY_ELEMWISE,
     .rel_name = "Identity",
     .rel = relay_rel_identity,
     .compute = ops_elementwise,
     .element = leaky,
     .shape = relay_shape_same,
     .grad = ops_grad_leaky_relu,
     .doc = "x where it is positive, else alpha * x",
     .precision = RELAY_FOLLOWS,
     .scaling = RELAY_SCALES_POSITIVE,
     .range = RELAY_FINITE},
};

RELAY_FAMILY(bias, BIAS_ATTRS)
