/* Tensors made of one value, of a sequence, or of a smaller tensor.

     broadcast_to(%x, shape=[2, 3])        Tensor[(3), float32] -> Tensor[(2, 3), float32]
     full(1f, shape=[2, 3])                one value everywhere; zeros, ones, full_like
     arange(0, 10, 2, dtype="int32")       start, start + step, ... before stop */
#include <math.h>

#include "ir/imm.h"
#include "ops/ops.h"

#define TN_FIELDS_InitOpAttrs(F, S)                                                                \
  F(S, REF, Array, shape, 0, "extents of the result")                                              \
  F(S, DTYPE, , dtype, 0, "type of its elements", "\"\"")
#define TN_FIELDS_ArangeAttrs(F, S)                                                                \
  F(S, REF, RelayExpr, start, TN_OPT, "first value", "None")                                       \
  F(S, REF, RelayExpr, stop, TN_OPT, "end, not reached", "None")                                   \
  F(S, REF, RelayExpr, step, TN_OPT, "distance of values", "None")                                 \
  F(S, DTYPE, , dtype, 0, "type of the values", "\"float32\"")
#define FILL_ATTRS(N)                                                                              \
  N(InitOpAttrs, Attrs, "relay.attrs.InitOpAttrs", NODE, TREE, tn_no_hooks,                        \
    "attributes of broadcast_to and of tensors made of one value")                                 \
  N(ArangeAttrs, Attrs, "relay.attrs.ArangeAttrs", NODE, TREE, tn_no_hooks, "attributes of arange")
TN_NODES_LOCAL(FILL_ATTRS)

/* ---- broadcast_to ---- */

static int check_broadcast(relay_rel *r, const tn_TensorType *data, const tn_arr *shape) {
  RELAY_CHECK(r, data->shape->len <= shape->len, "cannot broadcast %s to %lld dimensions",
              relay_type_text(data), (long long)shape->len);
  for (int64_t i = 0; i < data->shape->len; ++i) {
    tn_expr *from = relay_dim(data, i),
            *to = (tn_expr *)tn_arr_obj(shape, shape->len - data->shape->len + i);
    RELAY_CHECK(r, relay_dim_broadcasts(from, to) != 0,
                "cannot broadcast %s: dimension %lld does not fit the shape asked for",
                relay_type_text(data), (long long)i);
  }
  return 0;
}

static int broadcast_relation(relay_rel *r) {
  const tn_InitOpAttrs *a = r->attrs;
  RELAY_TENSOR(data, r, 0);
  TN_TRY(check_broadcast(r, data, a->shape));
  return relay_rel_result(r, relay_tensor_type(a->shape, data->dtype));
}

static int broadcast_like_relation(relay_rel *r) {
  RELAY_TENSOR(data, r, 0);
  RELAY_TENSOR(like, r, 1);
  TN_TRY(check_broadcast(r, data, like->shape));
  return relay_rel_result(r, relay_tensor_type(like->shape, data->dtype));
}

typedef struct {
  const tn_Tensor *data;
  const tn_arr *shape;
} spread;

static tn_expr *spread_element(void *ctx, tn_arr *at) {
  const spread *s = ctx;
  return ops_broadcast_at(s->data, s->shape, at);
}

static tn_arr *broadcast(const relay_compute *c) {
  const tn_InitOpAttrs *a = c->attrs;
  tn_arr *shape = a ? a->shape : relay_input(c, 1)->shape;
  spread s = {relay_input(c, 0), shape};
  return tn_arr_of(1, te_compute(shape, spread_element, &s, "T_broadcast_to", TE_BROADCAST));
}

/* ---- one value ---- */

/* zeros and ones: row->which is the value. */
static int init_relation(relay_rel *r) {
  const tn_InitOpAttrs *a = r->attrs;
  return relay_rel_result(r, relay_tensor_type(a->shape, a->dtype));
}

static tn_expr *init_element(void *ctx, tn_arr *at) {
  const relay_compute *c = ctx;
  (void)at;
  return tir_const_int(((const tn_InitOpAttrs *)c->attrs)->dtype, c->row->which);
}

static tn_arr *init(const relay_compute *c) {
  const tn_InitOpAttrs *a = c->attrs;
  return tn_arr_of(
      1, te_compute(a->shape, init_element, (void *)(uintptr_t)c, "T_full", TE_BROADCAST));
}

static int full_relation(relay_rel *r) {
  const tn_InitOpAttrs *a = r->attrs;
  RELAY_TENSOR(value, r, 0);
  RELAY_CHECK(r, value->shape->len == 0, "fill_value should be a scalar, got %s",
              relay_type_text(value));
  return relay_rel_result(r, relay_tensor_type(a->shape, a->dtype.bits ? a->dtype : value->dtype));
}

static int full_like_relation(relay_rel *r) {
  RELAY_TENSOR(data, r, 0);
  RELAY_TENSOR(value, r, 1);
  RELAY_CHECK(r, value->shape->len == 0,
              "The fill value should be a scalar but here it has dimension %lld.",
              (long long)value->shape->len);
  return relay_rel_result(r, data);
}

typedef struct {
  const tn_Tensor *value;
  tn_dtype dtype;
} filled;

static tn_expr *full_element(void *ctx, tn_arr *at) {
  const filled *f = ctx;
  (void)at;
  return tir_cast(f->dtype, te_at(f->value, tn_arr_of(0)), NULL);
}

static tn_arr *full(const relay_compute *c) {
  const tn_InitOpAttrs *a = c->attrs;
  const tn_Tensor *value = relay_input(c, a ? 0 : 1);
  filled f = {value, a ? (a->dtype.bits ? a->dtype : value->dtype) : relay_input(c, 0)->dtype};
  return tn_arr_of(1, te_compute(a ? a->shape : relay_input(c, 0)->shape, full_element, &f,
                                 "T_full", TE_BROADCAST));
}

/* ---- arange ---- */

/* The number of values where start, stop and step are constants; Any where they are not. */
static tn_expr *arange_length(const tn_ArangeAttrs *a) {
  double start = 0, stop, step = 1;
  bool known = relay_as_scalar(a->stop, &stop) &&
               (!a->start || relay_as_scalar(a->start, &start)) &&
               (!a->step || relay_as_scalar(a->step, &step));
  if (!known) return relay_any();
  TN_CHECKP(step != 0 && isfinite(step), ValueError, NULL,
            "arange: the step is zero or not finite");
  double n = ceil((stop - start) / step);
  TN_CHECKP(isfinite(n) && n < 9e15, ValueError, NULL,
            "arange: the size %g is too large or not finite", n);
  int64_t count = n > 0 ? (int64_t)n : 0;
  return count == (int32_t)count ? tir_i32((int32_t)count) : tir_i64(count);
}

static int arange_relation(relay_rel *r) {
  const tn_ArangeAttrs *a = r->attrs;
  tn_expr *n;
  TN_GET(n, arange_length(a));
  return relay_rel_result(r, relay_tensor_type(tn_arr_of(1, n), a->dtype));
}

static tn_expr *value_of(const relay_shape_query *q, int64_t i) {
  const tn_Tensor *t = TN_AS(Tensor, tn_arr_obj(q->values, i));
  return t ? te_at(t, tn_arr_of(0)) : NULL;
}

/* The smallest whole number that is not below (stop - start) / step, at least 0. */
static tn_arr *arange_shape(const relay_shape_query *q) {
  tn_expr *start = value_of(q, 0), *stop = value_of(q, 1), *step = value_of(q, 2);
  TN_CHECKP(start && stop && step, OpNotImplemented, NULL,
            "arange: the shape function reads start, stop and step");
  tn_expr *span = tir_sub(stop, start), *n;
  if (ir_is_integral(span->dtype)) {
    span = tir_cast(TN_I64, span, NULL);
    step = tir_cast(TN_I64, step, NULL);
    n = tir_sub(tir_i64(0), tir_floordiv(tir_sub(tir_i64(0), span), step));
  } else n = tir_cast(TN_I64, tir_rounding(TIR_OP_ceil, tir_div(span, step), NULL), NULL);
  return tn_arr_of(1, tn_arr_of(1, tir_max(n, tir_i64(0))));
}

static tn_expr *arange_element(void *ctx, tn_arr *at) {
  const relay_compute *c = ctx;
  const tn_Tensor *start = relay_input(c, 0), *step = relay_input(c, 2);
  tn_dtype t = relay_out(c)->dtype;
  tn_expr *i = tir_cast(step->dtype, te_index(at, 0), NULL);
  return tir_cast(t, tir_add(te_at(start, tn_arr_of(0)), tir_mul(i, te_at(step, tn_arr_of(0)))),
                  NULL);
}

static tn_arr *arange(const relay_compute *c) {
  tn_expr *n = relay_dim(relay_out(c), 0);
  if (relay_dim_is_any(n))
    TN_GETP(n, (tn_expr *)TN_MAKE(SizeVar, .name = tn_str_from("n"), .dtype = TN_I64));
  return tn_arr_of(1, te_compute(tn_arr_of(1, n), arange_element, (void *)(uintptr_t)c, "T_arange",
                                 TE_INJECTIVE));
}

#define FILL(name_, inputs_, attrs_, level_, rel_name_, rel_, compute_, which_, grads_, ...)       \
  {                                                                                                \
    .name = name_, .inputs = inputs_, .attrs = attrs_, .level = level_,                            \
    .pattern = RELAY_BROADCAST, .rel_name = rel_name_, .rel = rel_, .compute = compute_,           \
    .which = which_, .grads = grads_, .doc = __VA_ARGS__                                           \
  }
static const relay_op_row rows[] = {
    FILL("broadcast_to", "data", &tn_type_InitOpAttrs, 4, "BroadCastTo", broadcast_relation,
         broadcast, 0, "(collapse_sum_like(%d, %a),)",
         "the tensor with axes of extent 1 repeated up to a shape", .precision = RELAY_FOLLOWS,
         .values = RELAY_MOVED),
    FILL("broadcast_to_like", "data broadcast_type", NULL, 10, "BroadCastToLike",
         broadcast_like_relation, broadcast, 0, "(collapse_sum_like(%d, %a), ())",
         "the tensor broadcast to the shape of another one", .values = RELAY_MOVED),
    FILL("zeros", "", &tn_type_InitOpAttrs, 3, "InitOp", init_relation, init, 0, "()",
         "a tensor of zeros", .precision = RELAY_FULL, .values = RELAY_FROM_SHAPE),
    FILL("ones", "", &tn_type_InitOpAttrs, 3, "InitOp", init_relation, init, 1, "()",
         "a tensor of ones", .precision = RELAY_FULL, .values = RELAY_FROM_SHAPE),
    FILL("full", "fill_value", &tn_type_InitOpAttrs, 3, "Full", full_relation, full, 0,
         "(cast_like(sum(%d), %a),)", "a tensor of one value", .precision = RELAY_FULL,
         .values = RELAY_MOVED),
    FILL("full_like", "data fill_value", NULL, 3, "FullLike", full_like_relation, full, 0,
         "((), cast_like(sum(%d), %b))",
         "a tensor of one value, with the shape and type of another", .precision = RELAY_FULL,
         .values = RELAY_MOVED),
    {.name = "arange",
     .inputs = "start stop step",
     .attrs = &tn_type_ArangeAttrs,
     .level = 3,
     .pattern = RELAY_INJECTIVE,
     .rel_name = "Arange",
     .rel = arange_relation,
     .compute = arange,
     .data_mask = 7,
     .shape = arange_shape,
     .doc = "evenly spaced values from start to before stop",
     .precision = RELAY_FULL,
     .values = RELAY_COMPUTED},
};

RELAY_FAMILY(fill, FILL_ATTRS)
