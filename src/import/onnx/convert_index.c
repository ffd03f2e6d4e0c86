/* Elements by index, and along axes: scatter, running sums, reversals, sums of products by name. */
#include <string.h>

#include "base/error.h"
#include "import/onnx/import.h"

static const char *reduction(const onnx_ctx *c, char *text, size_t size) {
  const char *how = onnx_text(c, "reduction", "none", text, size);
  return strcmp(how, "none") == 0 ? "update" : how;
}

static void *scatter_elements(onnx_ctx *c) {
  char text[16];
  int64_t axis = onnx_int(c, "axis", 0);
  TN_TRYP(onnx_suspect_indices(c, 1, axis < 0 ? axis + onnx_rank(c, 0) : axis, false));
  void *a = relay_attrs("scatter_elements", 2, "axis", tn_any_obj(tir_i32((int32_t)axis)),
                        "reduction", tn_any_cstr(reduction(c, text, sizeof text)));
  return a ? relay_call("scatter_elements", a, 3, onnx_in(c, 0), onnx_in(c, 1), onnx_in(c, 2))
           : NULL;
}

/* Coordinates are the last axis in ONNX, the first in Relay. */
static void *coordinates_first(const onnx_ctx *c, int input) {
  int64_t rank = onnx_rank(c, input), axes[ONNX_MAX_NDIM];
  if (rank < 1 || rank > ONNX_MAX_NDIM)
    return onnx_fail(c, "indices of a shape of %lld dimensions", (long long)rank);
  axes[0] = rank - 1;
  for (int64_t i = 1; i < rank; ++i) axes[i] = i - 1;
  return onnx_transpose(onnx_in(c, input), axes, rank);
}

static void *scatter_nd(onnx_ctx *c) {
  char text[16];
  TN_TRYP(onnx_suspect_indices(c, 1, 0, true));
  void *i = coordinates_first(c, 1);
  void *a = relay_attrs("scatter_nd", 1, "mode", tn_any_cstr(reduction(c, text, sizeof text)));
  return a && i ? relay_call("scatter_nd", a, 3, onnx_in(c, 0), i, onnx_in(c, 2)) : NULL;
}

static void *gather_nd(onnx_ctx *c) {
  int64_t batch = onnx_int(c, "batch_dims", 0);
  TN_TRYP(onnx_suspect_indices(c, 1, batch, true));
  void *i = coordinates_first(c, 1),
       *a = relay_attrs("gather_nd", 1, "batch_dims", tn_any_int(batch));
  return a && i ? relay_call("gather_nd", a, 2, onnx_in(c, 0), i) : NULL;
}

static void *reversed(void *x, int64_t axis) {
  void *a = relay_attrs("reverse", 1, "axis", tn_any_int(axis));
  return a && x ? relay_call("reverse", a, 1, x) : NULL;
}

static void *scan_along(onnx_ctx *c, const char *op, int64_t axis) {
  bool reverse = onnx_int(c, "reverse", 0) != 0;
  void *x = reverse ? reversed(onnx_in(c, 0), axis) : onnx_in(c, 0);
  void *a = relay_attrs(op, 2, "axis", tn_any_obj(tir_i32((int32_t)axis)), "exclusive",
                        tn_any_bool(onnx_int(c, "exclusive", 0) != 0));
  void *y = a && x ? relay_call(op, a, 1, x) : NULL;
  return reverse ? reversed(y, axis) : y;
}

/* An axis that is computed at run time chooses one of the results. */
static void *scan(onnx_ctx *c) {
  const char *op = strcmp(c->node->op_type, "CumSum") == 0 ? "cumsum" : "cumprod";
  int64_t axis, n, rank = onnx_rank(c, 0);
  if (rank < 1) return onnx_fail(c, "expected a shape of at least one dimension");
  if (!onnx_runs(c, 1)) {
    TN_TRYP(onnx_values(c, 1, "axis", &axis, 1, &n));
    if (n != 1 || axis < -rank || axis >= rank)
      return onnx_fail(c, "axis %lld is out of range", (long long)axis);
    return scan_along(c, op, axis < 0 ? axis + rank : axis);
  }
  void *y = NULL, *at = onnx_cast(onnx_reshape(onnx_in(c, 1), NULL, 0), TN_I64);
  for (int64_t j = 0; j < rank; ++j) {
    void *one = scan_along(c, op, j);
    void *chosen = onnx_binary("logical_or", onnx_binary("equal", at, relay_const_int(TN_I64, j)),
                               onnx_binary("equal", at, relay_const_int(TN_I64, j - rank)));
    TN_GETP(y, j ? onnx_where(chosen, one, y) : one);
  }
  return y;
}

static void *reverse_sequence(onnx_ctx *c) {
  void *a = relay_attrs("reverse_sequence", 2, "seq_axis", tn_any_int(onnx_int(c, "time_axis", 0)),
                        "batch_axis", tn_any_int(onnx_int(c, "batch_axis", 1)));
  return a ? relay_call("reverse_sequence", a, 2, onnx_in(c, 0), onnx_in(c, 1)) : NULL;
}

static void *einsum(onnx_ctx *c) {
  char text[128];
  TN_VEC(v);
  const onnx_attr *equation = onnx_node_attr(c, "equation");
  if (!equation || !equation->has_s || equation->s.len >= sizeof text)
    return onnx_fail(c, "the equation is missing, or too large");
  for (int i = 0; i < c->nin; ++i) TN_TRYP(tn_vec_push_obj(&v, onnx_in(c, i)));
  void *a = relay_attrs("einsum", 1, "equation",
                        tn_any_cstr(onnx_text(c, "equation", "", text, sizeof text)));
  void *all = relay_tuple(tn_arr_from(&v));
  return a && all ? relay_call("einsum", a, 1, all) : NULL;
}

/* 1 on diagonal k, in the shape of a matrix. */
static void *eye_like(onnx_ctx *c) {
  const tn_TensorType *t = onnx_in_type(c, 0);
  int64_t k = onnx_int(c, "k", 0);
  tn_dtype type = t ? t->dtype : TN_F32;
  if (!t || t->shape->len != 2)
    return onnx_fail(c, "expected a matrix, got a shape of %lld dimensions",
                     (long long)onnx_rank(c, 0));
  if (onnx_node_attr(c, "dtype"))
    TN_TRYP(onnx_dtype((int32_t)onnx_int(c, "dtype", 0), "EyeLike: dtype", &type));
  void *row = onnx_indices(onnx_in(c, 0), 0, 0, 2), *column = onnx_indices(onnx_in(c, 0), 1, 1, 2);
  void *on = row && column ? onnx_binary("equal", onnx_binary("subtract", column, row),
                                         relay_const_int(TN_I64, k))
                           : NULL;
  return on ? onnx_cast(on, type) : NULL;
}

static const onnx_row rows[] = {
    {"ScatterElements", scatter_elements, 3, 3},
    {"Scatter", scatter_elements, 3, 3},
    {"ScatterND", scatter_nd, 3, 3},
    {"GatherND", gather_nd, 2, 2},
    {"CumSum", scan, 2, 2},
    {"CumProd", scan, 2, 2},
    {"ReverseSequence", reverse_sequence, 2, 2},
    {"Einsum", einsum, 1, -1},
    {"EyeLike", eye_like, 1, 1},
};
const onnx_table onnx_index = {rows, TN_COUNT(rows), ""};
