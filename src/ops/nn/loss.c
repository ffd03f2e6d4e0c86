/* Losses: nn.cross_entropy, nn.cross_entropy_with_logits, nn.nll_loss.

     nn.cross_entropy(%p, %t)    Tensor[(4, 10), float32], Tensor[(4, 10), float32] -> float32 */
#include <string.h>

#include "ir/imm.h"
#include "ops/gradients.h"
#include "ops/ops.h"

#define TN_FIELDS_NLLLossAttrs(F, S)                                                               \
  F(S, REF, String, reduction, 0, "\"mean\", \"sum\" or \"none\"", "\"mean\"")                     \
  F(S, I64, , ignore_index, 0, "targets that do not count", "-100")
#define LOSS_ATTRS(N)                                                                              \
  N(NLLLossAttrs, Attrs, "relay.attrs.NLLLossAttrs", NODE, TREE, tn_no_hooks,                      \
    "attributes of nn.nll_loss")
TN_NODES_LOCAL(LOSS_ATTRS)

/* ---- cross entropy ---- */

static int relate_entropy(relay_rel *r) {
  RELAY_TENSOR(x, r, 0);
  RELAY_TENSOR(y, r, 1);
  RELAY_CHECK(r, x->shape->len == 2 && y->shape->len == 2,
              "predictions %s and targets %s must have 2 dimensions", relay_type_text(x),
              relay_type_text(y));
  RELAY_CHECK(r,
              relay_dim_equal(relay_dim(x, 0), relay_dim(y, 0)) != 0 &&
                  relay_dim_equal(relay_dim(x, 1), relay_dim(y, 1)) != 0,
              "predictions %s and targets %s differ in shape", relay_type_text(x),
              relay_type_text(y));
  return relay_rel_result(r, relay_scalar_type(x->dtype));
}

typedef struct {
  const tn_Tensor *x, *y, *sum;
  bool logits;
} entropy;

static tn_expr *term(void *ctx, tn_arr *at) {
  const entropy *e = ctx;
  tn_expr *x = te_at(e->x, at);
  if (x && !e->logits) x = tir_call(x->dtype, TIR_OP_log, 1, x);
  return tir_mul(x, te_at(e->y, at));
}

static tn_expr *mean_of_rows(void *ctx, tn_arr *at) {
  const entropy *e = ctx;
  tn_expr *n = tir_cast(e->x->dtype, te_extent(e->x, 0), NULL);
  return n ? tir_neg(ops_mean("nn.cross_entropy", te_at(e->sum, at), n), NULL) : NULL;
}

static tn_arr *compute_entropy(const relay_compute *c) {
  const bool reduced[] = {true, true};
  entropy e = {relay_input(c, 0), relay_input(c, 1), NULL, c->row->which != 0};
  TN_GETP(e.sum, ops_reduce_over(e.x->shape, reduced, false, TE_SUM, term, &e, "T_terms"));
  return tn_arr_of(1, te_compute(tn_arr_of(0), mean_of_rows, &e, "T_cross_entropy", TE_ELEMWISE));
}

static tn_arr *scalar_shape(const relay_shape_query *q) {
  (void)q;
  return tn_arr_of(1, tn_arr_of(0));
}

/* ---- negative log likelihood ---- */

/* Targets (N, d1, ...), predictions (N, C, d1, ...), weights (C). */
static int relate_nll(relay_rel *r) {
  const tn_NLLLossAttrs *a = r->attrs;
  RELAY_TENSOR(predictions, r, 0);
  RELAY_TENSOR(targets, r, 1);
  RELAY_TENSOR(weights, r, 2);
  int64_t extra = predictions->shape->len - targets->shape->len;
  RELAY_CHECK(r, extra == 1 && predictions->shape->len <= OPS_MAX_NDIM,
              "predictions %s must have one dimension more than targets %s",
              relay_type_text(predictions), relay_type_text(targets));
  RELAY_CHECK(r, weights->shape->len == 1, "weights %s must have 1 dimension",
              relay_type_text(weights));
  int64_t channel = targets->shape->len ? 1 : 0;
  RELAY_CHECK(r, relay_dim_equal(relay_dim(predictions, channel), relay_dim(weights, 0)) != 0,
              "predictions %s have another number of classes than weights %s",
              relay_type_text(predictions), relay_type_text(weights));
  for (int64_t i = 0; i < targets->shape->len; ++i)
    RELAY_CHECK(r,
                relay_dim_equal(relay_dim(predictions, i ? i + 1 : 0), relay_dim(targets, i)) != 0,
                "predictions %s and targets %s do not fit", relay_type_text(predictions),
                relay_type_text(targets));
  TN_TRY(ops_rel_takes(r, relay_dim(weights, 0), targets->shape, "the axis of classes"));
  bool mean = tn_str_eq(a->reduction, "mean"), sum = tn_str_eq(a->reduction, "sum");
  RELAY_CHECK(r, mean || sum || tn_str_eq(a->reduction, "none"),
              "reduction must be mean, sum or none, got %s", tn_cstr(a->reduction));
  if (mean || sum) return relay_rel_result(r, relay_scalar_type(predictions->dtype));
  return relay_rel_result(r, relay_tensor_type(targets->shape, predictions->dtype));
}

typedef struct {
  const tn_Tensor *predictions, *targets, *weights, *losses, *sum, *weight;
  int64_t ignored;
} nll;

static tn_expr *chosen_weight(const nll *l, tn_expr *class) {
  tn_expr *skip = tir_eq(class, tir_const_int(class->dtype, l->ignored));
  tn_dtype t = l->predictions->dtype;
  tn_expr *i = ops_data_index(class, te_extent(l->weights, 0), OPS_CLIP);
  return tir_if_then_else(skip, tir_zero(t), tir_cast(t, te_at_of(l->weights, 1, i), NULL), NULL);
}

static tn_expr *weight_at(void *ctx, tn_arr *at) {
  const nll *l = ctx;
  tn_expr *class = te_at(l->targets, at);
  return class ? chosen_weight(l, class) : NULL;
}

static tn_expr *loss_at(void *ctx, tn_arr *at) {
  const nll *l = ctx;
  tn_expr *class = te_at(l->targets, at), *chosen;
  TN_VEC(index);
  TN_GETP(chosen, ops_data_index(class, te_extent(l->weights, 0), OPS_CLIP));
  if (at->len == 0) TN_TRYP(tn_vec_push_obj(&index, chosen));
  for (int64_t i = 0; i < at->len; ++i) {
    TN_TRYP(tn_vec_push_obj(&index, te_index(at, i)));
    if (i == 0) TN_TRYP(tn_vec_push_obj(&index, chosen));
  }
  tn_expr *skip = tir_eq(class, tir_const_int(class->dtype, l->ignored));
  tn_expr *p = te_at(l->predictions, tn_arr_from(&index));
  tn_expr *loss = tir_neg(
      tir_mul(p, tir_cast(p ? p->dtype : TN_F32, te_at_of(l->weights, 1, chosen), NULL)), NULL);
  return loss ? tir_if_then_else(skip, tir_zero(loss->dtype), loss, NULL) : NULL;
}

static tn_expr *mean_loss(void *ctx, tn_arr *at) {
  const nll *l = ctx;
  return tir_div(te_at(l->sum, at), te_at(l->weight, at));
}

static tn_arr *compute_nll(const relay_compute *c) {
  const tn_NLLLossAttrs *a = c->attrs;
  bool reduced[OPS_MAX_NDIM];
  nll l = {.predictions = relay_input(c, 0),
           .targets = relay_input(c, 1),
           .weights = relay_input(c, 2),
           .ignored = a->ignore_index};
  tn_arr *shape = l.targets->shape;
  for (int64_t i = 0; i < shape->len; ++i) reduced[i] = true;
  if (tn_str_eq(a->reduction, "none"))
    return tn_arr_of(1, te_compute(shape, loss_at, &l, "T_nll_loss", TE_INJECTIVE));
  TN_GETP(l.sum, ops_reduce_over(shape, reduced, false, TE_SUM, loss_at, &l, "T_nll_sum"));
  if (tn_str_eq(a->reduction, "sum")) return tn_arr_of(1, l.sum);
  TN_GETP(l.weight, ops_reduce_over(shape, reduced, false, TE_SUM, weight_at, &l, "T_nll_weight"));
  return tn_arr_of(1, te_compute(tn_arr_of(0), mean_loss, &l, "T_nll_mean", TE_ELEMWISE));
}

static tn_arr *shape_of_nll(const relay_shape_query *q) {
  const tn_NLLLossAttrs *a = q->attrs;
  if (tn_str_eq(a->reduction, "none")) return tn_arr_of(1, relay_shape_of(q, 1));
  return scalar_shape(q);
}

#define ENTROPY(name_, which_, ...)                                                                \
  {                                                                                                \
    .name = name_, .inputs = "predictions targets", .level = 10, .pattern = RELAY_OPAQUE,          \
    .rel_name = "CrossEntropy", .rel = relate_entropy, .compute = compute_entropy,                 \
    .shape = scalar_shape, .which = which_, .grad = ops_grad_cross_entropy, .doc = __VA_ARGS__     \
  }

static const relay_op_row rows[] = {
    ENTROPY("nn.cross_entropy", 0, "mean over rows of -targets * log(predictions)",
            .precision = RELAY_FULL),
    ENTROPY("nn.cross_entropy_with_logits", 1, "mean over rows of -targets * predictions",
            .precision = RELAY_FULL),
    {.name = "nn.nll_loss",
     .inputs = "predictions targets weights",
     .attrs = &tn_type_NLLLossAttrs,
     .level = 10,
     .pattern = RELAY_OUT_ELEMWISE_FUSABLE,
     .rel_name = "NLLLoss",
     .rel = relate_nll,
     .compute = compute_nll,
     .shape = shape_of_nll,
     .doc = "negative log likelihood of the target classes, weighted"},
};

RELAY_FAMILY(loss, LOSS_ATTRS)
