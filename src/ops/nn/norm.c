/* Normalisation: (x - mean) / sqrt(variance + epsilon) * gamma + beta over axes, or with the mean
   and variance that training has found.

     nn.layer_norm(%x, %gamma, %beta, axis=-1)
         Tensor[(2, 8), float32], Tensor[(8), float32], Tensor[(8), float32]
         -> Tensor[(2, 8), float32] */
#include "ir/imm.h"
#include "ops/layout.h"
#include "ops/ops.h"

#define NORM_FIELDS(F, S)                                                                          \
  F(S, F64, , epsilon, 0, "added to the variance", "1e-05")                                        \
  F(S, BOOL, , center, 0, "is beta added?", "True")                                                \
  F(S, BOOL, , scale, 0, "is gamma multiplied?", "True")
#define TN_FIELDS_BatchNormAttrs(F, S)                                                             \
  F(S, I64, , axis, 0, "axis of channels", "1") NORM_FIELDS(F, S)
#define TN_FIELDS_LayerNormAttrs(F, S)                                                             \
  F(S, I64, , axis, 0, "axis that is normalised", "-1") NORM_FIELDS(F, S)
#define TN_FIELDS_InstanceNormAttrs(F, S) TN_FIELDS_BatchNormAttrs(F, S)
#define TN_FIELDS_GroupNormAttrs(F, S)                                                             \
  F(S, I64, , num_groups, 0, "groups of channels", "0")                                            \
  F(S, I64, , axis, 0, "axis of channels", "1") NORM_FIELDS(F, S)
#define NORM_ATTRS(N)                                                                              \
  N(BatchNormAttrs, Attrs, "relay.attrs.BatchNormAttrs", NODE, TREE, tn_no_hooks,                  \
    "attributes of nn.batch_norm")                                                                 \
  N(LayerNormAttrs, Attrs, "relay.attrs.LayerNormAttrs", NODE, TREE, tn_no_hooks,                  \
    "attributes of nn.layer_norm")                                                                 \
  N(InstanceNormAttrs, Attrs, "relay.attrs.InstanceNormAttrs", NODE, TREE, tn_no_hooks,            \
    "attributes of nn.instance_norm")                                                              \
  N(GroupNormAttrs, Attrs, "relay.attrs.GroupNormAttrs", NODE, TREE, tn_no_hooks,                  \
    "attributes of nn.group_norm")
TN_NODES_LOCAL(NORM_ATTRS)

/* ---- relations ---- */

/* The arguments after data have a number for each channel. */
static tn_TensorType *channel_types(relay_rel *r, const tn_TensorType *data) {
  int64_t axis = relay_rel_axis(r, relay_attr_int(r->attrs, "axis", 1), data->shape->len);
  if (axis < 0) return NULL;
  tn_TensorType *t = relay_tensor_type(tn_arr_of(1, relay_dim(data, axis)), data->dtype);
  for (int i = 1; t && i < relay_rel_nargs(r); ++i) TN_TRYP(relay_rel_assign(r, i, (tn_Type *)t));
  return t;
}

static int relation(relay_rel *r) {
  RELAY_TENSOR(data, r, 0);
  RELAY_CHECK(r, data->shape->len <= OPS_MAX_NDIM, "too many dimensions");
  return channel_types(r, data) ? relay_rel_result(r, data) : RELAY_FAILED;
}

static int relate_batch_norm(relay_rel *r) {
  RELAY_TENSOR(data, r, 0);
  tn_TensorType *t = channel_types(r, data);
  return t ? relay_rel_result(r, relay_tuple_type(tn_arr_of(3, data, t, t))) : RELAY_FAILED;
}

static int relate_group_norm(relay_rel *r) {
  int64_t groups = ((const tn_GroupNormAttrs *)r->attrs)->num_groups, channels;
  RELAY_TENSOR(data, r, 0);
  RELAY_CHECK(r, groups > 0, "num_groups must be positive, got %lld", (long long)groups);
  tn_TensorType *t = channel_types(r, data);
  if (!t) return RELAY_FAILED;
  RELAY_CHECK(r, !tir_as_int((tn_obj *)relay_dim(t, 0), &channels) || channels % groups == 0,
              "%lld channels do not make %lld groups", (long long)channels, (long long)groups);
  relay_take_multiple(relay_dim(t, 0), groups);
  return relay_rel_result(r, data);
}

/* ---- computes ---- */

typedef struct {
  tn_Tensor *data, *gamma, *beta, *mean, *variance;
  int64_t axis; /* of channels */
  double epsilon;
  bool center, scale;
  bool reduced[OPS_MAX_NDIM];
  tn_expr *count;   /* of elements that are normalised together */
  tn_arr *shape;    /* of data with channels as groups of them, for group_norm; else of data */
  int64_t in_group; /* axis of the channels in a group, -1 when there are no groups */
} norm;

static norm norm_of(const relay_compute *c) {
  norm n = {.data = relay_input(c, 0),
            .gamma = relay_input(c, 1),
            .beta = relay_input(c, 2),
            .axis = relay_attr_int(c->attrs, "axis", 1),
            .epsilon = relay_attr_float(c->attrs, "epsilon", 1e-5),
            .center = relay_attr_int(c->attrs, "center", 1) != 0,
            .scale = relay_attr_int(c->attrs, "scale", 1) != 0,
            .in_group = -1};
  if (n.axis < 0) n.axis += n.data->shape->len;
  n.shape = n.data->shape;
  return n;
}

/* Index of data for an index of n->shape. */
static tn_arr *to_data(const norm *n, tn_arr *at) {
  if (n->in_group < 0) return at;
  TN_VEC(v);
  for (int64_t i = 0; i < at->len; ++i) {
    if (i == n->in_group) continue;
    tn_expr *e = te_index(at, i);
    if (i == n->axis)
      e = tir_add(tir_mul(e, (tn_expr *)tn_arr_obj(n->shape, n->in_group)),
                  te_index(at, n->in_group));
    TN_TRYP(tn_vec_push_obj(&v, e));
  }
  return tn_arr_from(&v);
}

/* Index of mean and variance for an index of data. */
static tn_arr *to_moment(const norm *n, tn_arr *at) {
  if (n->in_group < 0) return ops_kept(at, n->reduced, false);
  TN_VEC(v);
  for (int64_t i = 0; i < at->len; ++i) {
    tn_expr *e = te_index(at, i);
    if (i == n->axis) e = tir_floordiv(e, (tn_expr *)tn_arr_obj(n->shape, n->in_group));
    TN_TRYP(tn_vec_push_obj(&v, e));
    if (i == n->axis) TN_TRYP(tn_vec_push_obj(&v, tir_zero(e->dtype)));
  }
  tn_arr *grouped = tn_arr_from(&v);
  return grouped ? ops_kept(grouped, n->reduced, false) : NULL;
}

static tn_expr *value(void *ctx, tn_arr *at) {
  const norm *n = ctx;
  return te_at(n->data, to_data(n, at));
}

static tn_expr *squared_distance(void *ctx, tn_arr *at) {
  const norm *n = ctx;
  tn_expr *d = tir_sub(value(ctx, at), te_at(n->mean, ops_kept(at, n->reduced, false)));
  return tir_mul(d, d);
}

typedef struct {
  const norm *n;
  const tn_Tensor *sum;
} quotient;

static tn_expr *divided(void *ctx, tn_arr *at) {
  const quotient *q = ctx;
  return ops_mean("a norm", te_at(q->sum, at), q->n->count);
}

static tn_Tensor *mean_of(const norm *n, te_element_fn element, const char *sum, const char *mean) {
  norm copy = *n;
  tn_Tensor *t = ops_reduce_over(n->shape, n->reduced, false, TE_SUM, element, &copy, sum);
  quotient q = {n, t};
  return t ? te_compute(t->shape, divided, &q, mean, TE_ELEMWISE) : NULL;
}

/* x times the channel's gamma plus its beta */
static tn_expr *scaled(const norm *n, tn_expr *x, const tn_arr *at) {
  tn_expr *channel = te_index(at, n->axis);
  if (n->scale) x = tir_mul(x, te_at_of(n->gamma, 1, channel));
  if (n->center) x = tir_add(x, te_at_of(n->beta, 1, channel));
  return x;
}

static tn_expr *normalised(void *ctx, tn_arr *at) {
  const norm *n = ctx;
  tn_arr *m = to_moment(n, at);
  tn_expr *x = tir_sub(te_at(n->data, at), te_at(n->mean, m)), *v = te_at(n->variance, m);
  if (!x || !v) return NULL;
  v = tir_add(v, tir_const_float(v->dtype, n->epsilon));
  return scaled(n, tir_mul(x, tir_call(x->dtype, TIR_OP_rsqrt, 1, v)), at);
}

/* Mean and variance of what is reduced, then the result. */
static tn_arr *normalise(norm *n, const char *name) {
  TN_GETP(n->count, ops_count(n->shape, n->reduced, n->data->dtype));
  TN_GETP(n->mean, mean_of(n, value, "T_sum", "T_mean"));
  TN_GETP(n->variance, mean_of(n, squared_distance, "T_squares", "T_variance"));
  return tn_arr_of(1, te_compute(n->data->shape, normalised, n, name, TE_BROADCAST));
}

static tn_arr *compute_layer_norm(const relay_compute *c) {
  norm n = norm_of(c);
  n.reduced[n.axis] = true;
  return normalise(&n, "T_layer_norm");
}

static tn_arr *compute_instance_norm(const relay_compute *c) {
  norm n = norm_of(c);
  for (int64_t i = 1; i < n.data->shape->len; ++i) n.reduced[i] = i != n.axis;
  return normalise(&n, "T_instance_norm");
}

/* Channels c become c // size, c % size; size: channels in a group. */
static tn_arr *compute_group_norm(const relay_compute *c) {
  norm n = norm_of(c);
  tn_expr *groups = tir_i32((int32_t)((const tn_GroupNormAttrs *)c->attrs)->num_groups);
  TN_VEC(shape);
  TN_CHECKP(n.data->shape->len < OPS_MAX_NDIM, ValueError, NULL,
            "nn.group_norm: too many dimensions");
  n.in_group = n.axis + 1;
  for (int64_t i = 0; i < n.data->shape->len; ++i) {
    tn_expr *e = te_extent(n.data, i);
    TN_TRYP(tn_vec_push_obj(&shape, i == n.axis ? groups : e));
    if (i == n.axis) TN_TRYP(tn_vec_push_obj(&shape, tir_floordiv(e, groups)));
  }
  TN_GETP(n.shape, tn_arr_from(&shape));
  for (int64_t i = 1; i < n.shape->len; ++i) n.reduced[i] = i != n.axis;
  return normalise(&n, "T_group_norm");
}

static tn_expr *batch_normalised(void *ctx, tn_arr *at) {
  const norm *n = ctx;
  tn_expr *channel = te_index(at, n->axis), *v = te_at_of(n->variance, 1, channel);
  tn_expr *x = tir_sub(te_at(n->data, at), te_at_of(n->mean, 1, channel));
  if (!x || !v) return NULL;
  v = tir_add(v, tir_const_float(v->dtype, n->epsilon));
  return scaled(n, tir_div(x, tir_call(v->dtype, TIR_OP_sqrt, 1, v)), at);
}

static tn_arr *compute_batch_norm(const relay_compute *c) {
  norm n = norm_of(c);
  n.mean = relay_input(c, 3);
  n.variance = relay_input(c, 4);
  return tn_arr_of(
      3, te_compute(n.data->shape, batch_normalised, &n, "T_batch_norm", TE_BROADCAST),
      te_compute(n.mean->shape, ops_element, n.mean, "T_moving_mean", TE_ELEMWISE),
      te_compute(n.variance->shape, ops_element, n.variance, "T_moving_var", TE_ELEMWISE));
}

static tn_arr *shape_of_batch_norm(const relay_shape_query *q) {
  return tn_arr_of(3, relay_shape_of(q, 0), relay_shape_of(q, 3), relay_shape_of(q, 4));
}

/* Images are normalised one by one: they stay the first axis. */
static int layouts_of_images(relay_layouts *q) {
  const tn_Layout *before = relay_layout_at(q->before, 0), *now = relay_layout_now(q, 0);
  if (!before || relay_layout_axis_in(before, 0, now) == 0) return ops_layouts_channels(q);
  q->given = NULL;
  return ops_layouts_channels(q);
}

static const relay_op_row rows[] = {
    {.name = "nn.batch_norm",
     .inputs = "data gamma beta moving_mean moving_var",
     .attrs = &tn_type_BatchNormAttrs,
     .level = 1,
     .pattern = RELAY_OUT_ELEMWISE_FUSABLE,
     .rel_name = "BatchNorm",
     .rel = relate_batch_norm,
     .compute = compute_batch_norm,
     .shape = shape_of_batch_norm,
     .layouts = ops_layouts_channels,
     .doc = "data normalised with the mean and variance of each channel, and these",
     .precision = RELAY_FOLLOWS,
     .values = RELAY_COMPUTED},
    {.name = "nn.layer_norm",
     .inputs = "data gamma beta",
     .attrs = &tn_type_LayerNormAttrs,
     .level = 1,
     .pattern = RELAY_OUT_ELEMWISE_FUSABLE,
     .rel_name = "LayerNorm",
     .rel = relation,
     .compute = compute_layer_norm,
     .layouts = ops_layouts_channels,
     .shape = relay_shape_same,
     .doc = "data normalised along an axis",
     .precision = RELAY_FULL,
     .values = RELAY_COMPUTED},
    {.name = "nn.instance_norm",
     .inputs = "data gamma beta",
     .attrs = &tn_type_InstanceNormAttrs,
     .level = 1,
     .pattern = RELAY_OUT_ELEMWISE_FUSABLE,
     .rel_name = "InstanceNorm",
     .rel = relation,
     .compute = compute_instance_norm,
     .layouts = layouts_of_images,
     .shape = relay_shape_same,
     .doc = "each channel of each image normalised",
     .precision = RELAY_FULL,
     .values = RELAY_COMPUTED},
    {.name = "nn.group_norm",
     .inputs = "data gamma beta",
     .attrs = &tn_type_GroupNormAttrs,
     .level = 1,
     .pattern = RELAY_OUT_ELEMWISE_FUSABLE,
     .rel_name = "GroupNorm",
     .rel = relate_group_norm,
     .compute = compute_group_norm,
     .layouts = layouts_of_images,
     .shape = relay_shape_same,
     .doc = "each group of channels of each image normalised",
     .precision = RELAY_FULL,
     .values = RELAY_COMPUTED},
};

RELAY_FAMILY(norm, NORM_ATTRS)
