/* Elements by index.

     take(%x, %i, axis=0)                 rows of x: (Tensor[(5, 3)], Tensor[(2)]) -> Tensor[(2, 3)]
     gather(%x, %i, axis=1)               r[i][j] = x[i][indices[i][j]]
     gather_nd(%x, %i)                    the first axis of the indices holds coordinates
     one_hot(%i, on, off, depth=4)        Tensor[(3), int32] -> Tensor[(3, 4), float32] */
#include <string.h>

#include "ir/imm.h"
#include "ops/gradients.h"
#include "ops/ops.h"

#define TN_FIELDS_TakeAttrs(F, S)                                                                  \
  F(S, REF, PrimExpr, axis, TN_OPT, "axis that is indexed; None: all of data, flat", "None")       \
  F(S, I64, , batch_dims, 0, "axes that data and indices share", "0")                              \
  F(S, REF, String, mode, 0, "indices out of range: \"clip\", \"wrap\", \"fast\" (not checked)",   \
    "\"clip\"")
#define TN_FIELDS_GatherAttrs(F, S) F(S, I64, , axis, 0, "axis that is indexed")
#define TN_FIELDS_GatherNDAttrs(F, S)                                                              \
  F(S, I64, , batch_dims, 0, "axes that data and indices share", "0")                              \
  F(S, REF, PrimExpr, index_rank, TN_OPT, "number of coordinates where it is not known", "None")
#define TN_FIELDS_OneHotAttrs(F, S)                                                                \
  F(S, I64, , depth, 0, "extent of the new axis")                                                  \
  F(S, I64, , axis, 0, "place of the new axis", "-1")                                              \
  F(S, DTYPE, , dtype, 0, "type of the result", "\"\"")
#define TAKE_ATTRS(N)                                                                              \
  N(TakeAttrs, Attrs, "relay.attrs.TakeAttrs", NODE, TREE, tn_no_hooks, "attributes of take")      \
  N(GatherAttrs, Attrs, "relay.attrs.GatherAttrs", NODE, TREE, tn_no_hooks,                        \
    "attributes of gather")                                                                        \
  N(GatherNDAttrs, Attrs, "relay.attrs.GatherNDAttrs", NODE, TREE, tn_no_hooks,                    \
    "attributes of gather_nd")                                                                     \
  N(OneHotAttrs, Attrs, "relay.attrs.OneHotAttrs", NODE, TREE, tn_no_hooks, "attributes of one_hot")
TN_NODES_LOCAL(TAKE_ATTRS)

static int push_range(tn_vec *v, const tn_arr *a, int64_t from, int64_t to) {
  for (int64_t i = from; i < to; ++i) TN_TRY(tn_vec_push_obj(v, tn_arr_obj(a, i)));
  return 0;
}

static int check_integers(const relay_rel *r, const tn_TensorType *t) {
  RELAY_CHECK(r, ir_is_integral(t->dtype), "indices of take must be tensor of integer, got %s",
              TN_DT(t->dtype));
  return 0;
}

/* ---- take ---- */

/* @return the axis, or -1 for flat data; -2: ValueError */
static int64_t take_axis(const tn_TakeAttrs *a, int64_t ndim) {
  int64_t axis;
  if (!a->axis || !tir_as_int((tn_obj *)a->axis, &axis)) return -1;
  if (axis < 0) axis += ndim;
  if (axis >= 0 && axis < ndim) return axis;
  return (void)TN_RAISE(ValueError, NULL, "take: axis %lld is out of range for %lld dimensions",
                        (long long)axis, (long long)ndim),
         -2;
}

static int64_t batch_of(const tn_TakeAttrs *a, int64_t ndim) {
  return a->batch_dims < 0 ? a->batch_dims + ndim : a->batch_dims;
}

static bool take_mode(const tn_TakeAttrs *a) {
  return tn_str_eq(a->mode, "clip") || tn_str_eq(a->mode, "wrap") || tn_str_eq(a->mode, "fast");
}

static tn_arr *taken(const tn_TakeAttrs *a, int64_t axis, const tn_arr *data,
                     const tn_arr *indices) {
  TN_VEC(v);
  int64_t batch = batch_of(a, indices->len);
  if (axis < 0) return (tn_arr *)(uintptr_t)indices;
  TN_TRYP(push_range(&v, data, 0, axis));
  TN_TRYP(push_range(&v, indices, batch, indices->len));
  TN_TRYP(push_range(&v, data, axis + 1, data->len));
  return tn_arr_from(&v);
}

static int take_relation(relay_rel *r) {
  const tn_TakeAttrs *a = r->attrs;
  RELAY_TENSOR(data, r, 0);
  RELAY_TENSOR(indices, r, 1);
  TN_TRY(check_integers(r, indices));
  int64_t axis = take_axis(a, data->shape->len);
  if (axis == -2) return RELAY_FAILED;
  int64_t batch = batch_of(a, indices->shape->len);
  RELAY_CHECK(
      r, batch >= 0 && batch <= indices->shape->len && (axis < 0 ? batch == 0 : batch <= axis),
      "batch_dims=%lld: expected at most the axis, %lld, and the dimensions of the indices, "
      "%lld",
      (long long)a->batch_dims, (long long)(axis < 0 ? 0 : axis), (long long)indices->shape->len);
  for (int64_t i = 0; i < batch; ++i)
    RELAY_CHECK(r, relay_dim_equal(relay_dim(data, i), relay_dim(indices, i)) != 0,
                "batch_dims=%lld: axis %lld of data %s and of indices %s differ",
                (long long)a->batch_dims, (long long)i, relay_type_text(data),
                relay_type_text(indices));
  RELAY_CHECK(r, take_mode(a), "mode must be \"clip\", \"wrap\" or \"fast\", got \"%s\"",
              tn_cstr(a->mode));
  tn_arr *shape = taken(a, axis, data->shape, indices->shape);
  tn_expr *from = axis < 0 ? relay_dim_product(data->shape) : relay_dim(data, axis);
  if (!shape || !from || ops_rel_takes(r, from, shape, "the axis of data")) return RELAY_FAILED;
  return relay_rel_result(r, relay_tensor_type(shape, data->dtype));
}

/* What "fast" leaves undefined is the nearest element. */
static ops_outside outside(const tn_TakeAttrs *a) {
  return tn_str_eq(a->mode, "wrap") ? OPS_WRAP : OPS_CLIP;
}

/* Coordinates in row-major order of a flat index. */
static int flat_index(const tn_arr *shape, tn_expr *place, tn_vec *out) {
  tn_expr *index[32];
  TN_CHECK(shape->len <= 32, ValueError, NULL, "take: too many dimensions");
  for (int64_t i = shape->len; i-- > 0;) {
    tn_expr *extent = tir_cast(place->dtype, (tn_expr *)tn_arr_obj(shape, i), NULL);
    index[i] = i ? tir_floormod(place, extent) : place;
    place = i ? tir_floordiv(place, extent) : place;
  }
  for (int64_t i = 0; i < shape->len; ++i) TN_TRY(tn_vec_push_obj(out, index[i]));
  return 0;
}

static tn_expr *take_element(void *ctx, tn_arr *at) {
  const relay_compute *c = ctx;
  const tn_TakeAttrs *a = c->attrs;
  const tn_Tensor *data = relay_input(c, 0), *indices = relay_input(c, 1);
  int64_t axis = take_axis(a, data->shape->len), n = indices->shape->len;
  int64_t batch = batch_of(a, n);
  TN_VEC(where);
  TN_VEC(v);
  if (axis < 0) {
    tn_expr *size = tir_i32(1);
    for (int64_t i = 0; i < data->shape->len; ++i) size = tir_mul(size, te_extent(data, i));
    tn_expr *place = ops_data_index(te_at(indices, at), size, outside(a));
    if (!place || flat_index(data->shape, place, &v)) return NULL;
    return te_at(data, tn_arr_from(&v));
  }
  TN_TRYP(push_range(&where, at, 0, batch));
  TN_TRYP(push_range(&where, at, axis, axis + n - batch));
  tn_expr *i = te_at(indices, tn_arr_from(&where));
  TN_TRYP(push_range(&v, at, 0, axis));
  TN_TRYP(tn_vec_push_obj(&v, ops_data_index(i, te_extent(data, axis), outside(a))));
  TN_TRYP(push_range(&v, at, axis + n - batch, at->len));
  return te_at(data, tn_arr_from(&v));
}

static tn_arr *take(const relay_compute *c) {
  const tn_Tensor *data = relay_input(c, 0);
  int64_t axis = take_axis(c->attrs, data->shape->len);
  tn_arr *shape = taken(c->attrs, axis, data->shape, relay_input(c, 1)->shape);
  return tn_arr_of(1,
                   te_compute(shape, take_element, (void *)(uintptr_t)c, "T_take", TE_INJECTIVE));
}

/* ---- gather ---- */

static int gather_relation(relay_rel *r) {
  RELAY_TENSOR(data, r, 0);
  RELAY_TENSOR(indices, r, 1);
  TN_TRY(check_integers(r, indices));
  int64_t axis = relay_rel_axis(r, ((const tn_GatherAttrs *)r->attrs)->axis, data->shape->len);
  if (axis < 0) return RELAY_FAILED;
  RELAY_CHECK(r, indices->shape->len == data->shape->len,
              "indices must have the dimensions of data: %s and %s", relay_type_text(indices),
              relay_type_text(data));
  for (int64_t i = 0; i < data->shape->len; ++i)
    RELAY_CHECK(r, i == axis || relay_dim_equal(relay_dim(data, i), relay_dim(indices, i)) != 0,
                "dimension %lld of the indices does not equal that of data", (long long)i);
  TN_TRY(ops_rel_takes(r, relay_dim(data, axis), indices->shape, "the axis of data"));
  return relay_rel_result(r, relay_tensor_type(indices->shape, data->dtype));
}

static tn_expr *gather_element(void *ctx, tn_arr *at) {
  const relay_compute *c = ctx;
  const tn_Tensor *data = relay_input(c, 0);
  int64_t axis = ((const tn_GatherAttrs *)c->attrs)->axis;
  if (axis < 0) axis += data->shape->len;
  TN_VEC(v);
  TN_TRYP(push_range(&v, at, 0, axis));
  TN_TRYP(tn_vec_push_obj(
      &v, ops_data_index(te_at(relay_input(c, 1), at), te_extent(data, axis), OPS_FROM_END)));
  TN_TRYP(push_range(&v, at, axis + 1, at->len));
  return te_at(data, tn_arr_from(&v));
}

static tn_arr *gather(const relay_compute *c) {
  return tn_arr_of(1, te_compute(relay_input(c, 1)->shape, gather_element, (void *)(uintptr_t)c,
                                 "T_gather", TE_INJECTIVE));
}

/* ---- gather_nd ---- */

/* Number of coordinates: the first extent of the indices, which must be known. */
static int64_t coordinates(const void *attrs, const tn_arr *indices) {
  const tn_GatherNDAttrs *a = attrs;
  int64_t n;
  if (indices->len && tir_as_int(tn_arr_obj(indices, 0), &n)) return n;
  return a->index_rank && tir_as_int((tn_obj *)a->index_rank, &n) ? n : -1;
}

static tn_arr *gathered_nd(const tn_GatherNDAttrs *a, const tn_arr *data, const tn_arr *indices,
                           int64_t n) {
  TN_VEC(v);
  TN_TRYP(push_range(&v, indices, 1, indices->len));
  TN_TRYP(push_range(&v, data, n + a->batch_dims, data->len));
  return tn_arr_from(&v);
}

static int gather_nd_relation(relay_rel *r) {
  const tn_GatherNDAttrs *a = r->attrs;
  RELAY_TENSOR(data, r, 0);
  RELAY_TENSOR(indices, r, 1);
  if (!ir_is_floating(indices->dtype)) TN_TRY(check_integers(r, indices));
  int64_t n = coordinates(a, indices->shape);
  RELAY_CHECK(r, n >= 0,
              "the number of coordinates (first dimension of the indices) must be known");
  RELAY_CHECK(r, a->batch_dims >= 0 && a->batch_dims < indices->shape->len,
              "batch_dims=%lld for indices %s", (long long)a->batch_dims, relay_type_text(indices));
  RELAY_CHECK(r, n + a->batch_dims <= data->shape->len, "%lld coordinates for %lld dimensions",
              (long long)(n + a->batch_dims), (long long)data->shape->len);
  for (int64_t i = 0; i < a->batch_dims; ++i)
    RELAY_CHECK(r, relay_dim_equal(relay_dim(data, i), relay_dim(indices, i + 1)) != 0,
                "batch_dims=%lld: axis %lld of data %s and %lld of indices %s differ",
                (long long)a->batch_dims, (long long)i, relay_type_text(data), (long long)i + 1,
                relay_type_text(indices));
  tn_arr *shape;
  TN_GET(shape, gathered_nd(a, data->shape, indices->shape, n));
  for (int64_t i = 0; i < n; ++i)
    TN_TRY(ops_rel_takes(r, relay_dim(data, a->batch_dims + i), shape, "an axis of data"));
  return relay_rel_result(r, relay_tensor_type(shape, data->dtype));
}

static tn_expr *gather_nd_element(void *ctx, tn_arr *at) {
  const relay_compute *c = ctx;
  const tn_GatherNDAttrs *a = c->attrs;
  const tn_Tensor *data = relay_input(c, 0), *indices = relay_input(c, 1);
  int64_t n = coordinates(a, indices->shape), own = indices->shape->len - 1;
  TN_VEC(v);
  TN_TRYP(push_range(&v, at, 0, a->batch_dims));
  for (int64_t k = 0; k < n; ++k) {
    TN_VEC(where);
    TN_TRYP(tn_vec_push_obj(&where, tir_i32((int32_t)k)));
    TN_TRYP(push_range(&where, at, 0, own));
    tn_expr *i = te_at(indices, tn_arr_from(&where));
    if (!i) return NULL;
    if (!ir_is_integral(i->dtype)) i = tir_cast(TN_I64, i, NULL); /* floats are cut off */
    TN_TRYP(
        tn_vec_push_obj(&v, ops_data_index(i, te_extent(data, k + a->batch_dims), OPS_FROM_END)));
  }
  TN_TRYP(push_range(&v, at, own, at->len));
  return te_at(data, tn_arr_from(&v));
}

static tn_arr *gather_nd(const relay_compute *c) {
  const tn_arr *data = relay_input(c, 0)->shape, *indices = relay_input(c, 1)->shape;
  tn_arr *shape = gathered_nd(c->attrs, data, indices, coordinates(c->attrs, indices));
  return tn_arr_of(
      1, te_compute(shape, gather_nd_element, (void *)(uintptr_t)c, "T_gather_nd", TE_INJECTIVE));
}

/* ---- one_hot ---- */

static tn_arr *one_hot_shape(const tn_OneHotAttrs *a, const tn_arr *indices) {
  TN_VEC(v);
  int64_t axis = a->axis < 0 ? a->axis + indices->len + 1 : a->axis;
  TN_TRYP(push_range(&v, indices, 0, axis));
  TN_TRYP(tn_vec_push_obj(&v, a->depth == (int32_t)a->depth ? tir_i32((int32_t)a->depth)
                                                            : tir_i64(a->depth)));
  TN_TRYP(push_range(&v, indices, axis, indices->len));
  return tn_arr_from(&v);
}

static int one_hot_relation(relay_rel *r) {
  const tn_OneHotAttrs *a = r->attrs;
  RELAY_TENSOR(indices, r, 0);
  RELAY_CHECK(r, a->depth > 0, "Depth must be positive");
  if (relay_rel_axis(r, a->axis, indices->shape->len + 1) < 0) return RELAY_FAILED;
  return relay_rel_result(r, relay_tensor_type(one_hot_shape(a, indices->shape), a->dtype));
}

static tn_expr *one_hot_element(void *ctx, tn_arr *at) {
  const relay_compute *c = ctx;
  const tn_OneHotAttrs *a = c->attrs;
  int64_t axis = a->axis < 0 ? a->axis + at->len : a->axis;
  TN_VEC(v);
  TN_TRYP(push_range(&v, at, 0, axis));
  TN_TRYP(push_range(&v, at, axis + 1, at->len));
  tn_expr *i = te_at(relay_input(c, 0), tn_arr_from(&v)), *none = NULL;
  if (!i) return none;
  tn_expr *on = tir_cast(a->dtype, te_at(relay_input(c, 1), tn_arr_of(0)), NULL);
  tn_expr *off = tir_cast(a->dtype, te_at(relay_input(c, 2), tn_arr_of(0)), NULL);
  return tir_select(tir_eq(i, tir_cast(i->dtype, te_index(at, axis), NULL)), on, off, NULL);
}

static tn_arr *one_hot(const relay_compute *c) {
  tn_arr *shape = one_hot_shape(c->attrs, relay_input(c, 0)->shape);
  return tn_arr_of(
      1, te_compute(shape, one_hot_element, (void *)(uintptr_t)c, "T_one_hot", TE_INJECTIVE));
}

#define TAKE(name_, inputs_, attrs_, level_, pattern_, rel_name_, function, grad_, ...)            \
  {                                                                                                \
    .name = name_, .inputs = inputs_, .attrs = &tn_type_##attrs_, .level = level_,                 \
    .pattern = pattern_, .rel_name = rel_name_, .rel = function##_relation, .compute = function,   \
    .grad = grad_, .doc = __VA_ARGS__                                                              \
  }
static const relay_op_row rows[] = {
    TAKE("take", "data indices", TakeAttrs, 3, RELAY_INJECTIVE, "Take", take, ops_grad_take,
         "elements or slices by index", .precision = RELAY_FOLLOWS, .values = RELAY_MOVED),
    TAKE("gather", "data indices", GatherAttrs, 3, RELAY_INJECTIVE, "Gather", gather, NULL,
         "elements of an axis by index, one for each index", .precision = RELAY_FOLLOWS,
         .values = RELAY_MOVED),
    TAKE("gather_nd", "data indices", GatherNDAttrs, 3, RELAY_INJECTIVE, "GatherND", gather_nd,
         ops_grad_gather_nd, "elements or slices by their coordinates", .precision = RELAY_FOLLOWS,
         .values = RELAY_MOVED),
    TAKE("one_hot", "indices on_value off_value", OneHotAttrs, 10, RELAY_OUT_ELEMWISE_FUSABLE,
         "OneHot", one_hot, NULL, "one value where the index says, another one elsewhere",
         .precision = RELAY_FULL, .values = RELAY_COMPUTED),
};

RELAY_FAMILY(take, TAKE_ATTRS)
