/* Tensors that depend on the place of an element: grids and masks.

     meshgrid((%x, %y), indexing="ij")          coordinates of the points of a grid
     image.affine_grid(%m, target_shape=[2, 3]) the same from -1 to 1, mapped by matrices
     trilu(%x, %k)                              the upper or lower triangle of matrices
     sequence_mask(%x, %lengths)                sequences cut off, each at its length */
#include <string.h>

#include "ir/imm.h"
#include "ops/ops.h"

#define TN_FIELDS_MeshgridAttrs(F, S)                                                              \
  F(S, REF, String, indexing, 0, "\"ij\", or \"xy\": the first two axes exchanged", "\"ij\"")
#define TN_FIELDS_AffineGridAttrs(F, S)                                                            \
  F(S, REF, Array, target_shape, TN_INTS, "height and width of the grid")
#define TN_FIELDS_TriluAttrs(F, S)                                                                 \
  F(S, BOOL, , upper, 0, "keep what is above the diagonal, else what is below", "True")
#define TN_FIELDS_SequenceMaskAttrs(F, S)                                                          \
  F(S, F64, , mask_value, 0, "what stands behind the end of a sequence", "0.0")                    \
  F(S, I64, , axis, 0, "axis of the sequences' elements, 0 or 1; the other one is the batch", "0")
#define GRID_ATTRS(N)                                                                              \
  N(MeshgridAttrs, Attrs, "relay.attrs.MeshgridAttrs", NODE, TREE, tn_no_hooks,                    \
    "attributes of meshgrid")                                                                      \
  N(AffineGridAttrs, Attrs, "relay.attrs.AffineGridAttrs", NODE, TREE, tn_no_hooks,                \
    "attributes of image.affine_grid")                                                             \
  N(TriluAttrs, Attrs, "relay.attrs.TriluAttrs", NODE, TREE, tn_no_hooks, "attributes of trilu")   \
  N(SequenceMaskAttrs, Attrs, "relay.attrs.SequenceMaskAttrs", NODE, TREE, tn_no_hooks,            \
    "attributes of sequence_mask")
TN_NODES_LOCAL(GRID_ATTRS)

/* ---- meshgrid ---- */

/* The axis of the grid that vector i lies along. */
static int64_t axis_of(const tn_MeshgridAttrs *a, int64_t i, int64_t n) {
  return i < 2 && n > 1 && tn_str_eq(a->indexing, "xy") ? 1 - i : i;
}

/* @param extents of the vectors, 1 for scalars */
static tn_arr *grid_shape(const tn_MeshgridAttrs *a, tn_expr *const *extents, int64_t n) {
  TN_VEC(v);
  for (int64_t i = 0; i < n; ++i) TN_TRYP(tn_vec_push_obj(&v, extents[axis_of(a, i, n)]));
  return tn_arr_from(&v);
}

static int mesh_relation(relay_rel *r) {
  const tn_MeshgridAttrs *a = r->attrs;
  tn_expr *extents[OPS_MAX_NDIM] = {NULL};
  RELAY_TUPLE_OF(all, r, 0);
  int64_t n = all->fields->len;
  tn_dtype t = TN_F32;
  tn_arr *shape;
  TN_VEC(v);
  RELAY_CHECK(r, n > 0 && n <= OPS_MAX_NDIM, "expected vectors, got %s", relay_type_text(all));
  RELAY_CHECK(r, tn_str_eq(a->indexing, "ij") || tn_str_eq(a->indexing, "xy"),
              "indexing must be \"ij\" or \"xy\", got \"%s\"", tn_cstr(a->indexing));
  for (int64_t i = 0; i < n; ++i) {
    const tn_TensorType *x = (const tn_TensorType *)tn_arr_obj(all->fields, i);
    RELAY_CHECK(r, x->shape->len <= 1 && (i == 0 || tn_dtype_eq(x->dtype, t)),
                "expected vectors of one type, got %s", relay_type_text(all));
    t = x->dtype;
    extents[i] = x->shape->len ? relay_dim(x, 0) : tir_i32(1);
  }
  TN_GET(shape, grid_shape(a, extents, n));
  for (int64_t i = 0; i < n; ++i) TN_TRY(tn_vec_push_obj(&v, relay_tensor_type(shape, t)));
  return relay_rel_result(r, relay_tuple_type(tn_arr_from(&v)));
}

typedef struct {
  const tn_Tensor *vector;
  int64_t axis;
} coordinate;

static tn_expr *mesh_element(void *ctx, tn_arr *at) {
  const coordinate *c = ctx;
  bool scalar = c->vector->shape->len == 0;
  return te_at(c->vector, scalar ? tn_arr_of(0) : tn_arr_of(1, te_index(at, c->axis)));
}

static tn_arr *meshgrid(const relay_compute *c) {
  tn_expr *extents[OPS_MAX_NDIM] = {NULL};
  int64_t n = c->inputs->len;
  tn_arr *shape;
  TN_VEC(v);
  for (int64_t i = 0; i < n; ++i)
    extents[i] = relay_input(c, i)->shape->len ? te_extent(relay_input(c, i), 0) : tir_i32(1);
  TN_GETP(shape, grid_shape(c->attrs, extents, n));
  for (int64_t i = 0; i < n; ++i) {
    coordinate own = {relay_input(c, i), axis_of(c->attrs, i, n)};
    TN_TRYP(tn_vec_push_obj(&v, te_compute(shape, mesh_element, &own, "T_meshgrid", TE_INJECTIVE)));
  }
  return tn_arr_from(&v);
}

/* ---- affine_grid ---- */

static int affine_relation(relay_rel *r) {
  const tn_AffineGridAttrs *a = r->attrs;
  RELAY_TENSOR(data, r, 0);
  RELAY_CHECK(r,
              data->shape->len == 3 && ir_is_floating(data->dtype) &&
                  relay_dim_equal(relay_dim(data, 1), tir_i32(2)) != 0 &&
                  relay_dim_equal(relay_dim(data, 2), tir_i32(3)) != 0,
              "expected matrices of 2 rows and 3 columns, got %s", relay_type_text(data));
  RELAY_CHECK(r,
              a->target_shape && a->target_shape->len == 2 &&
                  relay_listed(a->target_shape, 0) > 0 && relay_listed(a->target_shape, 1) > 0,
              "target_shape must be a height and a width");
  return relay_rel_result(r, relay_tensor_type(tn_arr_of(4, relay_dim(data, 0), tir_i32(2),
                                                         tn_arr_obj(a->target_shape, 0),
                                                         tn_arr_obj(a->target_shape, 1)),
                                               data->dtype));
}

/* -1 for the first, 1 for the last of n. */
static tn_expr *place(tn_expr *i, int64_t n, tn_dtype t) {
  tn_expr *step = tir_const_float(t, n > 1 ? 2.0 / (double)(n - 1) : 0);
  return tir_add(tir_const_float(t, -1), tir_mul(tir_cast(t, i, NULL), step));
}

static tn_expr *affine_element(void *ctx, tn_arr *at) {
  const relay_compute *c = ctx;
  const tn_arr *size = ((const tn_AffineGridAttrs *)c->attrs)->target_shape;
  const tn_Tensor *m = relay_input(c, 0);
  tn_expr *w[3], *y = place(te_index(at, 2), relay_listed(size, 0), m->dtype),
                 *x = place(te_index(at, 3), relay_listed(size, 1), m->dtype);
  for (int i = 0; i < 3; ++i)
    w[i] = te_at(m, tn_arr_of(3, te_index(at, 0), te_index(at, 1), tir_i32(i)));
  return tir_add(tir_add(tir_mul(w[0], x), tir_mul(w[1], y)), w[2]);
}

static tn_arr *affine_grid(const relay_compute *c) {
  const tn_arr *size = ((const tn_AffineGridAttrs *)c->attrs)->target_shape;
  tn_arr *shape = tn_arr_of(4, te_extent(relay_input(c, 0), 0), tir_i32(2), tn_arr_obj(size, 0),
                            tn_arr_obj(size, 1));
  return tn_arr_of(
      1, te_compute(shape, affine_element, (void *)(uintptr_t)c, "T_affine_grid", TE_INJECTIVE));
}

/* ---- trilu ---- */

static int trilu_relation(relay_rel *r) {
  RELAY_TENSOR(data, r, 0);
  RELAY_TENSOR(k, r, 1);
  RELAY_CHECK(r, data->shape->len >= 2, "expected matrices, got %s", relay_type_text(data));
  RELAY_CHECK(r, k->shape->len == 0 && ir_is_integral(k->dtype), "k must be an integer, got %s",
              relay_type_text(k));
  return relay_rel_result(r, data);
}

static tn_expr *trilu_element(void *ctx, tn_arr *at) {
  const relay_compute *c = ctx;
  const tn_Tensor *data = relay_input(c, 0);
  tn_expr *row = tir_cast(TN_I64, te_index(at, at->len - 2), NULL),
          *column = tir_cast(TN_I64, te_index(at, at->len - 1), NULL),
          *k = tir_cast(TN_I64, te_at(relay_input(c, 1), tn_arr_of(0)), NULL);
  tn_expr *diagonal = tir_add(row, k);
  bool upper = ((const tn_TriluAttrs *)c->attrs)->upper;
  tn_expr *kept = upper ? tir_ge(column, diagonal) : tir_le(column, diagonal);
  return tir_select(kept, te_at(data, at), tir_zero(data->dtype), NULL);
}

static tn_arr *trilu(const relay_compute *c) {
  return tn_arr_of(1, te_compute(relay_input(c, 0)->shape, trilu_element, (void *)(uintptr_t)c,
                                 "T_trilu", TE_INJECTIVE));
}

/* ---- sequence_mask ---- */

static int mask_relation(relay_rel *r) {
  const tn_SequenceMaskAttrs *a = r->attrs;
  RELAY_TENSOR(data, r, 0);
  RELAY_TENSOR(lengths, r, 1);
  RELAY_CHECK(r, data->shape->len >= 2, "expected at least 2 dimensions, got %s",
              relay_type_text(data));
  RELAY_CHECK(r, a->axis == 0 || a->axis == 1, "axis must be 0 or 1, got %lld", (long long)a->axis);
  RELAY_CHECK(r,
              lengths->shape->len == 1 &&
                  relay_dim_equal(relay_dim(lengths, 0), relay_dim(data, 1 - a->axis)) != 0,
              "expected a length for each sequence of %s, got %s", relay_type_text(data),
              relay_type_text(lengths));
  return relay_rel_result(r, data);
}

static tn_expr *mask_element(void *ctx, tn_arr *at) {
  const relay_compute *c = ctx;
  const tn_SequenceMaskAttrs *a = c->attrs;
  const tn_Tensor *data = relay_input(c, 0);
  tn_expr *length = te_at(relay_input(c, 1), tn_arr_of(1, te_index(at, 1 - a->axis)));
  if (length && ir_is_integral(length->dtype)) length = tir_cast(TN_I64, length, NULL);
  if (!length) return NULL;
  tn_expr *inside = tir_lt(tir_cast(length->dtype, te_index(at, a->axis), NULL), length);
  return tir_select(inside, te_at(data, at), tir_const_float(data->dtype, a->mask_value), NULL);
}

static tn_arr *sequence_mask(const relay_compute *c) {
  return tn_arr_of(1, te_compute(relay_input(c, 0)->shape, mask_element, (void *)(uintptr_t)c,
                                 "T_sequence_mask", TE_INJECTIVE));
}

#define ROW(name_, inputs_, attrs_, level_, rel_name_, rel_, compute_, shape_, ...)                \
  {                                                                                                \
    .name = name_, .inputs = inputs_, .attrs = &tn_type_##attrs_, .level = level_,                 \
    .pattern = RELAY_INJECTIVE, .rel_name = rel_name_, .rel = rel_, .compute = compute_,           \
    .shape = shape_, .doc = __VA_ARGS__                                                            \
  }
static const relay_op_row rows[] = {
    ROW("meshgrid", "data", MeshgridAttrs, 3, "Meshgrid", mesh_relation, meshgrid, NULL,
        "coordinates of the points of the grid that vectors span", .values = RELAY_MOVED),
    ROW("image.affine_grid", "data", AffineGridAttrs, 5, "AffineGrid", affine_relation, affine_grid,
        NULL, "points of a grid from -1 to 1, mapped by affine matrices", .values = RELAY_COMPUTED),
    ROW("trilu", "data k", TriluAttrs, 3, "Trilu", trilu_relation, trilu, relay_shape_same,
        "the triangle above or below diagonal k of matrices, zeros elsewhere",
        .values = RELAY_FILLED),
    ROW("sequence_mask", "data valid_length", SequenceMaskAttrs, 10, "SequenceMask", mask_relation,
        sequence_mask, relay_shape_same, "sequences with a value in place of what is too long",
        .values = RELAY_FILLED),
};

RELAY_FAMILY(grid, GRID_ATTRS)
