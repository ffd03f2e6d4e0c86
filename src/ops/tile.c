/* Elements repeated.

     tile(%x, reps=[2, 1])                 Tensor[(3), float32] -> Tensor[(2, 3), float32]
     repeat(%x, repeats=2, axis=0)         each element of the axis twice */
#include "ir/imm.h"
#include "ops/gradients.h"
#include "ops/ops.h"

#define TN_FIELDS_TileAttrs(F, S)                                                                  \
  F(S, REF, Array, reps, TN_INTS, "number of repetitions along each axis")
#define TN_FIELDS_RepeatAttrs(F, S)                                                                \
  F(S, I64, , repeats, 0, "number of times each element is repeated")                              \
  F(S, I64, , axis, 0, "along which axis")
#define TILE_ATTRS(N)                                                                              \
  N(TileAttrs, Attrs, "relay.attrs.TileAttrs", NODE, TREE, tn_no_hooks, "attributes of tile")      \
  N(RepeatAttrs, Attrs, "relay.attrs.RepeatAttrs", NODE, TREE, tn_no_hooks, "attributes of repeat")
TN_NODES_LOCAL(TILE_ATTRS)

/* ---- tile ---- */

static tn_arr *tiled(const tn_TileAttrs *a, const tn_arr *shape) {
  TN_VEC(v);
  int64_t ndim = shape->len, nrep = a->reps->len, n = ndim > nrep ? ndim : nrep;
  for (int64_t i = 0; i < n; ++i) {
    int64_t rep = i - (n - nrep) < 0 ? 1 : relay_listed(a->reps, i - (n - nrep));
    TN_CHECKP(rep >= 0, ValueError, NULL,
              "tile: reps: %lld repeats along axis %lld: expected none or more", (long long)rep,
              (long long)i);
    tn_expr *e = i - (n - ndim) < 0 ? tir_i32(1) : (tn_expr *)tn_arr_obj(shape, i - (n - ndim));
    TN_TRYP(tn_vec_push_obj(&v, relay_dim_times(e, rep)));
  }
  return tn_arr_from(&v);
}

static int tile_relation(relay_rel *r) {
  RELAY_TENSOR(data, r, 0);
  RELAY_CHECK(r, ((const tn_TileAttrs *)r->attrs)->reps->len > 0,
              "repetition array cannot be empty");
  return relay_rel_result(r, relay_tensor_type(tiled(r->attrs, data->shape), data->dtype));
}

static tn_expr *tile_element(void *ctx, tn_arr *at) {
  const tn_Tensor *data = ctx;
  TN_VEC(v);
  int64_t ndim = data->shape->len, skip = at->len - ndim;
  for (int64_t i = 0; i < ndim; ++i)
    TN_TRYP(tn_vec_push_obj(&v, tir_floormod(te_index(at, i + skip), te_extent(data, i))));
  return te_at(data, tn_arr_from(&v));
}

static tn_arr *tile(const relay_compute *c) {
  tn_Tensor *data = relay_input(c, 0);
  return tn_arr_of(
      1, te_compute(tiled(c->attrs, data->shape), tile_element, data, "T_tile", TE_BROADCAST));
}

/* ---- repeat ---- */

static tn_arr *repeated(const tn_RepeatAttrs *a, const tn_arr *shape) {
  TN_VEC(v);
  int64_t axis = a->axis < 0 ? a->axis + shape->len : a->axis;
  for (int64_t i = 0; i < shape->len; ++i) {
    tn_expr *e = (tn_expr *)tn_arr_obj(shape, i);
    TN_TRYP(tn_vec_push_obj(&v, i == axis ? relay_dim_times(e, a->repeats) : e));
  }
  return tn_arr_from(&v);
}

static int repeat_relation(relay_rel *r) {
  const tn_RepeatAttrs *a = r->attrs;
  RELAY_TENSOR(data, r, 0);
  RELAY_CHECK(r, a->repeats >= 1, "only accepts `repeats >= 1`, but got repeats = %lld",
              (long long)a->repeats);
  if (relay_rel_axis(r, a->axis, data->shape->len) < 0) return RELAY_FAILED;
  return relay_rel_result(r, relay_tensor_type(repeated(a, data->shape), data->dtype));
}

static tn_expr *repeat_element(void *ctx, tn_arr *at) {
  const relay_compute *c = ctx;
  const tn_RepeatAttrs *a = c->attrs;
  TN_VEC(v);
  int64_t axis = a->axis < 0 ? a->axis + at->len : a->axis;
  for (int64_t i = 0; i < at->len; ++i) {
    tn_expr *x = te_index(at, i);
    TN_TRYP(
        tn_vec_push_obj(&v, i == axis ? tir_floordiv(x, tir_const_int(x->dtype, a->repeats)) : x));
  }
  return te_at(relay_input(c, 0), tn_arr_from(&v));
}

static tn_arr *repeat(const relay_compute *c) {
  return tn_arr_of(1, te_compute(repeated(c->attrs, relay_input(c, 0)->shape), repeat_element,
                                 (void *)(uintptr_t)c, "T_repeat", TE_BROADCAST));
}

static const relay_op_row rows[] = {
    {.name = "tile",
     .inputs = "data",
     .attrs = &tn_type_TileAttrs,
     .level = 3,
     .pattern = RELAY_BROADCAST,
     .rel_name = "Tile",
     .rel = tile_relation,
     .compute = tile,
     .grad = ops_grad_tile,
     .doc = "the tensor repeated along its axes",
     .precision = RELAY_FOLLOWS,
     .values = RELAY_MOVED},
    {.name = "repeat",
     .inputs = "data",
     .attrs = &tn_type_RepeatAttrs,
     .level = 3,
     .pattern = RELAY_BROADCAST,
     .rel_name = "Repeat",
     .rel = repeat_relation,
     .compute = repeat,
     .grad = ops_grad_repeat,
     .doc = "each element of an axis repeated",
     .precision = RELAY_FOLLOWS,
     .values = RELAY_MOVED},
};

RELAY_FAMILY(tile, TILE_ATTRS)
