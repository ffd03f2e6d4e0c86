/* Broadcasting backwards: what was repeated is summed up.

     collapse_sum_like(%x, %y)           Tensor[(2, 3, 4)] and Tensor[(3, 1)] -> Tensor[(3, 1)]
     collapse_sum_to(%x, shape=[3, 1])   the same with a shape that is given */
#include "ir/imm.h"
#include "ops/ops.h"

#define TN_FIELDS_CollapseSumToAttrs(F, S)                                                         \
  F(S, REF, Array, shape, 0, "extents of the result; an axis of extent 1 is summed up")
#define COLLAPSE_ATTRS(N)                                                                          \
  N(CollapseSumToAttrs, Attrs, "relay.attrs.CollapseSumToAttrs", NODE, TREE, tn_no_hooks,          \
    "attributes of collapse_sum_to")
TN_NODES_LOCAL(COLLAPSE_ATTRS)

static int collapse(relay_rel *r, const tn_TensorType *data, tn_arr *shape) {
  int64_t more = data->shape->len - shape->len;
  RELAY_CHECK(r, more >= 0 && data->shape->len <= OPS_MAX_NDIM,
              "cannot collapse %s to %lld dimensions", relay_type_text(data),
              (long long)shape->len);
  for (int64_t i = 0; i < shape->len; ++i)
    RELAY_CHECK(
        r, relay_dim_broadcasts((tn_expr *)tn_arr_obj(shape, i), relay_dim(data, i + more)) != 0,
        "cannot collapse %s: dimension %lld does not fit the shape asked for",
        relay_type_text(data), (long long)(i + more));
  return relay_rel_result(r, relay_tensor_type(shape, data->dtype));
}

static int like_relation(relay_rel *r) {
  RELAY_TENSOR(data, r, 0);
  RELAY_TENSOR(like, r, 1);
  return collapse(r, data, like->shape);
}

static int to_relation(relay_rel *r) {
  RELAY_TENSOR(data, r, 0);
  return collapse(r, data, ((const tn_CollapseSumToAttrs *)r->attrs)->shape);
}

typedef struct {
  const tn_Tensor *data;
  const tn_arr *shape;
} collapsed;

/* Is an axis of the result, of extent `to`, the one of data? 1: yes, 0: that is summed up, -1: that
   shows at run time. */
static int is_kept(tn_expr *from, tn_expr *to) {
  if (relay_dim_is(from, 1) == 1 || relay_dim_equal(from, to) == 1) return 1;
  int one = relay_dim_is(to, 1);
  return one < 0 ? -1 : !one;
}

/* Appends the index of data along axis i, and the axis that is summed over if there is one. Where
   it shows at run time whether there is, one element is summed when there is not. */
static int add_index(const collapsed *c, int64_t i, tn_arr *at, tn_vec *index, tn_vec *axes) {
  int64_t own = i - (c->data->shape->len - c->shape->len);
  tn_expr *extent = te_extent(c->data, i),
          *to = own < 0 ? NULL : (tn_expr *)tn_arr_obj(c->shape, own);
  int kept = to ? is_kept(extent, to) : 0;
  if (kept == 1) return tn_vec_push_obj(index, te_index(at, own));
  tn_str *name;
  tn_IterVar *k;
  if (kept < 0) TN_GET(extent, relay_if_one(to, extent, tir_one(extent->dtype)));
  TN_GET(name, tn_str_fmt("k%lld", (long long)i));
  TN_GET(k, te_reduce_axis(extent, tn_cstr(name)));
  TN_TRY(tn_vec_push_obj(axes, k));
  tn_expr *place = (tn_expr *)k->var;
  if (kept < 0) TN_GET(place, relay_if_one(to, place, te_index(at, own)));
  return tn_vec_push_obj(index, place);
}

/* An axis of extent 1 is summed up, and one that the result does not have. */
static tn_expr *element(void *ctx, tn_arr *at) {
  const collapsed *c = ctx;
  TN_VEC(index);
  TN_VEC(axes);
  for (int64_t i = 0; i < c->data->shape->len; ++i) TN_TRYP(add_index(c, i, at, &index, &axes));
  tn_expr *e = te_at(c->data, tn_arr_from(&index));
  return e && axes.len ? te_reduce(TE_SUM, e, tn_arr_from(&axes), NULL) : e;
}

static tn_arr *compute(const relay_compute *c) {
  const tn_CollapseSumToAttrs *a = c->attrs;
  tn_arr *shape = a ? a->shape : relay_input(c, 1)->shape;
  collapsed s = {relay_input(c, 0), shape};
  return tn_arr_of(1, te_compute(shape, element, &s, "T_collapse_sum", TE_COMM_REDUCE));
}

static tn_arr *like_shape(const relay_shape_query *q) { return tn_arr_of(1, relay_shape_of(q, 1)); }

static const relay_op_row rows[] = {
    {.name = "collapse_sum_like",
     .inputs = "data collapse_type",
     .level = 10,
     .pattern = RELAY_COMM_REDUCE,
     .rel_name = "CollapseSumLike",
     .rel = like_relation,
     .compute = compute,
     .shape = like_shape,
     .grads = "(broadcast_to_like(%d, %a), ())",
     .doc = "the sum of what broadcasting to the shape of data repeats of another tensor"},
    {.name = "collapse_sum_to",
     .inputs = "data",
     .attrs = &tn_type_CollapseSumToAttrs,
     .level = 4,
     .pattern = RELAY_COMM_REDUCE,
     .rel_name = "CollapseSumTo",
     .rel = to_relation,
     .compute = compute,
     .grads = "(broadcast_to_like(%d, %a),)",
     .doc = "the sum of what broadcasting to the shape of data repeats of a smaller one"},
};

RELAY_FAMILY(collapse, COLLAPSE_ATTRS)
