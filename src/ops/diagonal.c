/* Diagonals of matrices replaced.

     matrix_set_diag(%x, %d)                  the main diagonal of each matrix, from a row of %d
     matrix_set_diag(%x, %d, k=[-1, 1])       three diagonals: rows of %d, the uppermost first

   Diagonals that are shorter than the longest one are at the left or at the right of their rows. */
#include "ir/imm.h"
#include "ops/ops.h"

#define TN_FIELDS_MatrixSetDiagAttrs(F, S)                                                         \
  F(S, I64, , k1, 0, "lowest diagonal, negative below the main one")                               \
  F(S, I64, , k2, 0, "uppermost diagonal")                                                         \
  F(S, BOOL, , super_diag_right_align, 0, "are those above the main one at the right?")            \
  F(S, BOOL, , sub_diag_right_align, 0, "are those below it at the right?")
#define DIAGONAL_ATTRS(N)                                                                          \
  N(MatrixSetDiagAttrs, Attrs, "relay.attrs.MatrixSetDiagAttrs", NODE, TREE, tn_no_hooks,          \
    "attributes of matrix_set_diag")
TN_NODES_LOCAL(DIAGONAL_ATTRS)

/* The same where they are known at run time. */
static int take_extents(const relay_rel *r, const tn_TensorType *data, const tn_TensorType *diag) {
  const tn_MatrixSetDiagAttrs *a = r->attrs;
  tn_expr *rows = relay_dim(data, -2), *columns = relay_dim(data, -1);
  relay_take_least(rows, 1 - a->k1);
  relay_take_least(columns, a->k2 + 1);
  if (relay_dim_is_any(rows) || relay_dim_is_any(columns)) return 0;
  tn_expr *high = tir_add(tir_cast(TN_I64, rows, NULL), tir_i64(a->k2 < 0 ? a->k2 : 0)),
          *wide = tir_sub(tir_cast(TN_I64, columns, NULL), tir_i64(a->k1 > 0 ? a->k1 : 0));
  tn_expr *want = tir_min(high, wide);
  RELAY_CHECK(r, want && relay_dim_equal(relay_dim(diag, -1), want) != 0,
              "diagonal: its rows, %s, do not fit data %s", relay_type_text(diag),
              relay_type_text(data));
  return 0;
}

static int check_extents(const relay_rel *r, const tn_TensorType *data, const tn_TensorType *diag) {
  const tn_MatrixSetDiagAttrs *a = r->attrs;
  bool one = a->k1 == a->k2;
  int64_t batch = data->shape->len - 2, rows, columns;
  RELAY_CHECK(r, diag->shape->len == batch + (one ? 1 : 2),
              "diagonal: expected %lld dimensions, got %s", (long long)batch + (one ? 1 : 2),
              relay_type_text(diag));
  for (int64_t i = 0; i < batch; ++i)
    RELAY_CHECK(r, relay_dim_equal(relay_dim(data, i), relay_dim(diag, i)) != 0,
                "extent %lld of data %s is not that of diagonal %s", (long long)i,
                relay_type_text(data), relay_type_text(diag));
  RELAY_CHECK(r, one || relay_dim_equal(relay_dim(diag, batch), tir_i64(a->k2 - a->k1 + 1)) != 0,
              "diagonal: expected %lld diagonals, got %s", (long long)(a->k2 - a->k1 + 1),
              relay_type_text(diag));
  if (!tir_as_int((tn_obj *)relay_dim(data, batch), &rows) ||
      !tir_as_int((tn_obj *)relay_dim(data, batch + 1), &columns))
    return take_extents(r, data, diag);
  RELAY_CHECK(r, a->k1 > -rows && a->k2 < columns,
              "k: %lld to %lld: a matrix of %s has %lld to %lld", (long long)a->k1,
              (long long)a->k2, relay_type_text(data), (long long)(1 - rows),
              (long long)(columns - 1));
  int64_t high = rows + (a->k2 < 0 ? a->k2 : 0), wide = columns - (a->k1 > 0 ? a->k1 : 0);
  RELAY_CHECK(r, relay_dim_equal(relay_dim(diag, -1), tir_i64(high < wide ? high : wide)) != 0,
              "diagonal: expected rows of %lld, got %s", (long long)(high < wide ? high : wide),
              relay_type_text(diag));
  return 0;
}

static int relation(relay_rel *r) {
  const tn_MatrixSetDiagAttrs *a = r->attrs;
  RELAY_TENSOR(data, r, 0);
  RELAY_TENSOR(diag, r, 1);
  RELAY_CHECK(r, data->shape->len >= 2, "data must be matrices, got %s", relay_type_text(data));
  RELAY_CHECK(r, tn_dtype_eq(data->dtype, diag->dtype), "data is %s, diagonal is %s",
              TN_DT(data->dtype), TN_DT(diag->dtype));
  RELAY_CHECK(r, a->k1 > -INT32_MAX && a->k2 < INT32_MAX, "k: %lld to %lld is too far",
              (long long)a->k1, (long long)a->k2);
  RELAY_CHECK(r, a->k1 <= a->k2, "k: the first, %lld, is above the second, %lld", (long long)a->k1,
              (long long)a->k2);
  TN_TRY(check_extents(r, data, diag));
  return relay_rel_result(r, data);
}

/* How far diagonal d stands from the left end of its row. */
static tn_expr *move_of(const tn_MatrixSetDiagAttrs *a, tn_expr *d, tn_expr *rows, tn_expr *columns,
                        tn_expr *length) {
  tn_expr *zero = tir_zero(d->dtype);
  tn_expr *high = tir_add(rows, tir_min(d, zero)), *wide = tir_sub(columns, tir_max(d, zero));
  tn_expr *right = tir_sub(length, tir_min(high, wide));
  if (a->super_diag_right_align && a->sub_diag_right_align) return right;
  if (!a->super_diag_right_align && !a->sub_diag_right_align) return zero;
  tn_expr *at_left = a->super_diag_right_align ? tir_le(d, zero) : tir_ge(d, zero);
  return tir_select(at_left, zero, right, NULL);
}

static tn_expr *element(void *ctx, tn_arr *at) {
  const relay_compute *c = ctx;
  const tn_MatrixSetDiagAttrs *a = c->attrs;
  const tn_Tensor *data = relay_input(c, 0), *diag = relay_input(c, 1);
  tn_expr *i = te_index(at, at->len - 2), *j = te_index(at, at->len - 1), *d = tir_sub(j, i);
  TN_VEC(index);
  if (!d) return NULL;
  for (int64_t n = 0; n + 2 < at->len; ++n) TN_TRYP(tn_vec_push_obj(&index, te_index(at, n)));
  tn_expr *low = tir_const_int(d->dtype, a->k1), *high = tir_const_int(d->dtype, a->k2);
  tn_expr *place = tir_min(i, j);
  if (a->k1 != a->k2) {
    tn_expr *rows = te_extent(data, -2), *columns = te_extent(data, -1);
    place = tir_add(place, move_of(a, d, rows, columns, te_extent(diag, -1)));
    TN_TRYP(tn_vec_push_obj(&index, tir_sub(high, d)));
  }
  TN_TRYP(tn_vec_push_obj(&index, place));
  tn_expr *inside = tir_and(tir_ge(d, low), tir_le(d, high));
  return tir_if_then_else(inside, te_at(diag, tn_arr_from(&index)), te_at(data, at), NULL);
}

static tn_arr *compute(const relay_compute *c) {
  return tn_arr_of(1, te_compute(relay_input(c, 0)->shape, element, (void *)(uintptr_t)c,
                                 "T_matrix_set_diag", TE_INJECTIVE));
}

static const relay_op_row rows[] = {
    {.name = "matrix_set_diag",
     .inputs = "data diagonal",
     .attrs = &tn_type_MatrixSetDiagAttrs,
     .level = 10,
     .pattern = RELAY_INJECTIVE,
     .rel_name = "MatrixSetDiag",
     .rel = relation,
     .compute = compute,
     .shape = relay_shape_same,
     .doc = "matrices with diagonals replaced",
     .values = RELAY_MOVED},
};

RELAY_FAMILY(diagonal, DIAGONAL_ATTRS)
