/* Division by the size of what is near: nn.l2_normalize over axes, nn.lrn over neighbouring
   channels.

     nn.lrn(%x, size=5, axis=1)    Tensor[(1, 8, 4, 4), float32] -> the same */
#include "ir/imm.h"
#include "ops/layout.h"
#include "ops/ops.h"

#define TN_FIELDS_L2NormalizeAttrs(F, S)                                                           \
  F(S, F64, , eps, 0, "the least that is divided by, squared")                                     \
  F(S, REF, Array, axis, TN_OPT | TN_INTS, "axes that are summed over, all of them when None",     \
    "None")
#define TN_FIELDS_LRNAttrs(F, S)                                                                   \
  F(S, I64, , size, 0, "number of neighbouring channels, from size / 2 before the element", "5")   \
  F(S, I64, , axis, 0, "axis of channels", "1")                                                    \
  F(S, F64, , bias, 0, "what is added", "2")                                                       \
  F(S, F64, , alpha, 0, "factor of the sum of squares", "0.0001")                                  \
  F(S, F64, , beta, 0, "exponent", "0.75")
#define LOCAL_NORM_ATTRS(N)                                                                        \
  N(L2NormalizeAttrs, Attrs, "relay.attrs.L2NormalizeAttrs", NODE, TREE, tn_no_hooks,              \
    "attributes of nn.l2_normalize")                                                               \
  N(LRNAttrs, Attrs, "relay.attrs.LRNAttrs", NODE, TREE, tn_no_hooks, "attributes of nn.lrn")
TN_NODES_LOCAL(LOCAL_NORM_ATTRS)

static tn_expr *square(void *ctx, tn_arr *at) {
  tn_expr *x = te_at(ctx, at);
  return tir_mul(x, x);
}

/* ---- l2_normalize ---- */

typedef struct {
  tn_Tensor *data, *sum;
  double eps;
  bool reduced[OPS_MAX_NDIM];
} l2;

static int relate_l2(relay_rel *r) {
  bool reduced[OPS_MAX_NDIM];
  int64_t bad = 0;
  const tn_L2NormalizeAttrs *a = r->attrs;
  RELAY_TENSOR(data, r, 0);
  RELAY_CHECK(r, data->shape->len <= OPS_MAX_NDIM, "too many dimensions");
  RELAY_CHECK(r, ops_find_axes(a->axis, false, data->shape->len, reduced, &bad),
              "axis %lld is out of range for %s", (long long)bad, relay_type_text(data));
  return relay_rel_result(r, data);
}

static tn_expr *l2_element(void *ctx, tn_arr *at) {
  const l2 *n = ctx;
  tn_expr *s = te_at(n->sum, ops_kept(at, n->reduced, false));
  if (!s) return NULL;
  s = tir_max(s, tir_const_float(s->dtype, n->eps));
  return s ? tir_div(te_at(n->data, at), tir_call(s->dtype, TIR_OP_sqrt, 1, s)) : NULL;
}

static tn_arr *compute_l2(const relay_compute *c) {
  const tn_L2NormalizeAttrs *a = c->attrs;
  l2 n = {.data = relay_input(c, 0), .eps = a->eps};
  ops_find_axes(a->axis, false, n.data->shape->len, n.reduced, &(int64_t){0});
  TN_GETP(n.sum,
          ops_reduce_over(n.data->shape, n.reduced, false, TE_SUM, square, n.data, "T_squares"));
  return tn_arr_of(1, te_compute(n.data->shape, l2_element, &n, "T_l2_normalize", TE_BROADCAST));
}

/* The axes move with their letters and must be whole. */
static int layouts_l2(relay_layouts *q) {
  tn_Layout *before = relay_layout_at(q->before, 0), *now = relay_layout_now(q, 0);
  const tn_arr *axes = ((const tn_L2NormalizeAttrs *)q->attrs)->axis;
  int64_t moved[OPS_MAX_NDIM], v;
  if (!before) return 0;
  if (relay_layout_equal(before, now)) return relay_layouts_answer(q, now, now);
  for (int64_t i = 0; i < axes->len; ++i) {
    bool known = i < OPS_MAX_NDIM && relay_known_int(axes, i, &v);
    if (known) moved[i] = relay_layout_axis_in(before, v, now);
    if (!known || moved[i] < 0) return relay_layouts_answer(q, before, before);
  }
  tn_any list = tn_any_obj(relay_ints(moved, axes->len));
  TN_GET(q->attrs, relay_attrs_with(q->attrs, "axis", list));
  return relay_layouts_answer(q, now, now);
}

/* ---- lrn ---- */

typedef struct {
  const tn_LRNAttrs *attrs;
  tn_Tensor *data, *padded, *sum;
  int64_t axis;
} lrn;

static int relate_lrn(relay_rel *r) {
  const tn_LRNAttrs *a = r->attrs;
  RELAY_TENSOR(data, r, 0);
  RELAY_CHECK(r, a->size > 0, "size must be positive, got %lld", (long long)a->size);
  RELAY_CHECK(r, data->shape->len <= OPS_MAX_NDIM, "too many dimensions");
  if (relay_rel_axis(r, a->axis, data->shape->len) < 0) return RELAY_FAILED;
  return relay_rel_result(r, data);
}

static tn_expr *squares(void *ctx, tn_arr *at) {
  const lrn *n = ctx;
  tn_IterVar *k = te_reduce_axis(tir_i32((int32_t)n->attrs->size), "rxs");
  TN_VEC(v);
  for (int64_t i = 0; k && i < at->len; ++i) {
    tn_expr *e = te_index(at, i);
    TN_TRYP(tn_vec_push_obj(&v, i == n->axis ? tir_add(e, (tn_expr *)k->var) : e));
  }
  if (!k) return NULL;
  tn_expr *x = te_at(n->padded, tn_arr_from(&v));
  return te_reduce(TE_SUM, tir_mul(x, x), tn_arr_of(1, k), NULL);
}

/* data / (bias + alpha / size * sum) ** beta */
static tn_expr *lrn_element(void *ctx, tn_arr *at) {
  const lrn *n = ctx;
  const tn_LRNAttrs *a = n->attrs;
  tn_dtype t = n->data->dtype;
  tn_expr *s = tir_mul(te_at(n->sum, at), tir_const_float(t, a->alpha / (double)a->size));
  s = tir_float_binary(TIR_OP_pow, tir_add(s, tir_const_float(t, a->bias)),
                       tir_const_float(t, a->beta), NULL);
  return tir_div(te_at(n->data, at), s);
}

static tn_arr *compute_lrn(const relay_compute *c) {
  lrn n = {.attrs = c->attrs, .data = relay_input(c, 0)};
  int64_t pads[OPS_MAX_NDIM] = {0};
  n.axis = n.attrs->axis < 0 ? n.attrs->axis + n.data->shape->len : n.attrs->axis;
  pads[n.axis] = n.attrs->size / 2; /* of an even size the last one is not read */
  TN_GETP(n.padded, ops_pad(n.data, pads, pads, tir_zero(n.data->dtype), "pad_temp"));
  TN_GETP(n.sum, te_compute(n.data->shape, squares, &n, "T_squares", TE_COMM_REDUCE));
  return tn_arr_of(1, te_compute(n.data->shape, lrn_element, &n, "T_lrn", TE_ELEMWISE));
}

static const relay_op_row rows[] = {
    {.name = "nn.l2_normalize",
     .inputs = "data",
     .attrs = &tn_type_L2NormalizeAttrs,
     .level = 2,
     .pattern = RELAY_OUT_ELEMWISE_FUSABLE,
     .rel_name = "L2Normalize",
     .rel = relate_l2,
     .compute = compute_l2,
     .layouts = layouts_l2,
     .shape = relay_shape_same,
     .doc = "data over the square root of the sum of its squares along axes",
     .precision = RELAY_FULL,
     .values = RELAY_COMPUTED},
    {.name = "nn.lrn",
     .inputs = "data",
     .attrs = &tn_type_LRNAttrs,
     .level = 2,
     .pattern = RELAY_OPAQUE,
     .rel_name = "LRN",
     .rel = relate_lrn,
     .compute = compute_lrn,
     .layouts = ops_layouts_axis,
     .shape = relay_shape_same,
     .doc = "data over (bias + alpha / size * sum of squares of neighbouring channels) ** beta",
     .precision = RELAY_FULL,
     .values = RELAY_COMPUTED},
};

RELAY_FAMILY(local_norm, LOCAL_NORM_ATTRS)
