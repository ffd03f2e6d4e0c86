/* Blocks of places as images of a batch and back.

     nn.space_to_batch_nd(%x, block_shape=[2, 2], paddings=[[0, 0], [1, 1]])
         Tensor[(1, 4, 4, 3), float32] -> Tensor[(4, 2, 3, 3), float32]
     nn.batch_to_space_nd(%y, block_shape=[2, 2], crops=[[0, 0], [1, 1]])     the other way around

   The axes behind the first are divided into blocks; image k * n + i of the result has place k of
   the blocks of image i, of n. */
#include "ir/imm.h"
#include "ops/ops.h"

#define TN_FIELDS_SpaceToBatchNDAttrs(F, S)                                                        \
  F(S, REF, Array, block_shape, TN_INTS, "extents of a block")                                     \
  F(S, REF, Array, paddings, TN_INTS, "elements put before and after each axis: pairs")            \
  F(S, F64, , pad_value, 0, "what they are", "0.0")
#define TN_FIELDS_BatchToSpaceNDAttrs(F, S)                                                        \
  F(S, REF, Array, block_shape, TN_INTS, "extents of a block")                                     \
  F(S, REF, Array, crops, TN_INTS, "elements cut off before and after each axis: pairs")
#define SPACE_BATCH_ATTRS(N)                                                                       \
  N(SpaceToBatchNDAttrs, Attrs, "relay.attrs.SpaceToBatchNDAttrs", NODE, TREE, tn_no_hooks,        \
    "attributes of nn.space_to_batch_nd")                                                          \
  N(BatchToSpaceNDAttrs, Attrs, "relay.attrs.BatchToSpaceNDAttrs", NODE, TREE, tn_no_hooks,        \
    "attributes of nn.batch_to_space_nd")
TN_NODES_LOCAL(SPACE_BATCH_ATTRS)

typedef struct {
  int64_t n, all; /* axes that are divided; places of a block */
  int64_t block[OPS_MAX_NDIM], before[OPS_MAX_NDIM], after[OPS_MAX_NDIM];
} blocks;

static int read_blocks(const void *attrs, int64_t ndim, blocks *b) {
  const tn_arr *block = relay_attr_obj(attrs, "block_shape"),
               *pairs = relay_attr_obj(attrs, "paddings");
  if (!pairs) pairs = relay_attr_obj(attrs, "crops");
  b->n = block->len;
  b->all = 1;
  TN_CHECK(ndim <= OPS_MAX_NDIM && b->n < ndim, ValueError, NULL,
           "block_shape: %lld extents for %lld dimensions", (long long)b->n, (long long)ndim);
  TN_CHECK(pairs->len == b->n, ValueError, NULL, "expected a pair of numbers for each of %lld axes",
           (long long)b->n);
  for (int64_t i = 0; i < b->n; ++i) {
    const tn_arr *pair = TN_AS(Array, tn_arr_obj(pairs, i));
    TN_CHECK(pair && pair->len == 2, ValueError, NULL, "expected a pair of numbers for axis %lld",
             (long long)(i + 1));
    b->block[i] = relay_listed(block, i);
    b->before[i] = relay_listed(pair, 0);
    b->after[i] = relay_listed(pair, 1);
    TN_CHECK(b->block[i] > 0 && b->before[i] >= 0 && b->after[i] >= 0, ValueError, NULL,
             "axis %lld: the block must be positive, and what is added or cut off not negative",
             (long long)(i + 1));
    TN_CHECK(b->before[i] <= INT32_MAX && b->after[i] <= INT32_MAX, ValueError, NULL,
             "axis %lld: too much is added or cut off", (long long)(i + 1));
    TN_CHECK(!__builtin_mul_overflow(b->all, b->block[i], &b->all) && b->all <= INT32_MAX,
             ValueError, NULL, "block_shape: too many places");
  }
  return 0;
}

/* row->which: 1 where images become places */
static tn_arr *out_shape(const relay_op_row *row, const void *attrs, const tn_arr *in) {
  blocks b;
  TN_VEC(out);
  TN_TRYP(read_blocks(attrs, in->len, &b));
  for (int64_t i = 0; i < in->len; ++i) {
    tn_expr *e = (tn_expr *)tn_arr_obj(in, i);
    int64_t more = i && i <= b.n ? b.before[i - 1] + b.after[i - 1] : 0;
    int64_t factor = i == 0 ? b.all : i <= b.n ? b.block[i - 1] : 1, left;
    bool times = (i == 0) != (row->which == 1);
    if (!row->which) TN_GETP(e, relay_dim_plus(e, more));
    TN_GETP(e, times ? relay_dim_times(e, factor) : relay_dim_divided(e, factor));
    if (row->which) TN_GETP(e, relay_dim_plus(e, -more));
    relay_take_least(e, 0);
    TN_CHECKP(!tir_as_int((tn_obj *)e, &left) || left >= 0, ValueError, NULL,
              "crops of axis %lld are more than there is", (long long)i);
    TN_TRYP(tn_vec_push_obj(&out, e));
  }
  return tn_arr_from(&out);
}

static int relation(relay_rel *r) {
  RELAY_TENSOR(data, r, 0);
  tn_arr *shape = out_shape(relay_op_row_of((const tn_obj *)r->op), r->attrs, data->shape);
  return shape ? relay_rel_result(r, relay_tensor_type(shape, data->dtype)) : ops_rel_failed(r);
}

/* ---- compute ---- */

typedef struct {
  blocks b;
  const tn_Tensor *data;
} divided_data;

/* Image k * n + i: place k, the last axis innermost, of image i. */
static tn_expr *to_batch(void *ctx, tn_arr *at) {
  const divided_data *d = ctx;
  tn_expr *image = te_index(at, 0), *n = te_extent(d->data, 0);
  tn_expr *place = tir_floordiv(image, n);
  tn_arr *index = ops_with_index(at, 0, tir_floormod(image, n));
  for (int64_t i = d->b.n; i-- > 0 && index;) {
    tn_expr *x = te_index(at, i + 1), *size = tir_const_int(x->dtype, d->b.block[i]);
    tn_expr *own = i ? tir_floormod(place, size) : place;
    place = tir_floordiv(place, size);
    index = ops_with_index(index, i + 1, tir_add(tir_mul(x, size), own));
  }
  return index ? te_at(d->data, index) : NULL;
}

static tn_expr *to_space(void *ctx, tn_arr *at) {
  const divided_data *d = ctx;
  tn_expr *image = te_index(at, 0), *place = tir_zero(image->dtype);
  tn_expr *n = tir_floordiv(te_extent(d->data, 0), tir_const_int(image->dtype, d->b.all));
  tn_arr *index = at;
  for (int64_t i = 0; i < d->b.n && index; ++i) {
    tn_expr *x = te_index(at, i + 1), *size = tir_const_int(x->dtype, d->b.block[i]);
    x = tir_add(x, tir_const_int(x->dtype, d->b.before[i]));
    place = tir_add(tir_mul(place, size), tir_floormod(x, size));
    index = ops_with_index(index, i + 1, tir_floordiv(x, size));
  }
  if (index) index = ops_with_index(index, 0, tir_add(tir_mul(place, n), image));
  return index ? te_at(d->data, index) : NULL;
}

static tn_arr *compute(const relay_compute *c) {
  divided_data d;
  int64_t before[OPS_MAX_NDIM] = {0}, after[OPS_MAX_NDIM] = {0};
  tn_Tensor *data = relay_input(c, 0);
  tn_arr *shape;
  TN_TRYP(read_blocks(c->attrs, data->shape->len, &d.b));
  TN_GETP(shape, out_shape(c->row, c->attrs, data->shape));
  d.data = data;
  if (c->row->which)
    return tn_arr_of(1, te_compute(shape, to_space, &d, "T_batch_to_space_nd", TE_INJECTIVE));
  for (int64_t i = 0; i < d.b.n; ++i) {
    before[i + 1] = d.b.before[i];
    after[i + 1] = d.b.after[i];
  }
  tn_expr *value = tir_const_float(data->dtype, relay_attr_float(c->attrs, "pad_value", 0));
  TN_GETP(d.data, ops_pad(data, before, after, value, "T_pad"));
  return tn_arr_of(1, te_compute(shape, to_batch, &d, "T_space_to_batch_nd", TE_INJECTIVE));
}

static tn_arr *shape_function(const relay_shape_query *q) {
  return tn_arr_of(1, out_shape(q->row, q->attrs, relay_shape_of(q, 0)));
}

#define ROW(name_, attrs_, rel_name_, which_, ...)                                                 \
  {                                                                                                \
    .name = name_, .inputs = "data", .attrs = &tn_type_##attrs_, .level = 5,                       \
    .pattern = RELAY_INJECTIVE, .rel_name = rel_name_, .rel = relation, .compute = compute,        \
    .shape = shape_function, .which = which_, .doc = __VA_ARGS__                                   \
  }
static const relay_op_row rows[] = {
    ROW("nn.space_to_batch_nd", SpaceToBatchNDAttrs, "SpaceToBatchND", 0,
        "places of blocks as images of the batch", .values = RELAY_FILLED),
    ROW("nn.batch_to_space_nd", BatchToSpaceNDAttrs, "BatchToSpaceND", 1,
        "images of the batch as places of blocks", .values = RELAY_MOVED),
};

RELAY_FAMILY(space_batch, SPACE_BATCH_ATTRS)
