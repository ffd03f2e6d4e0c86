/* Elements chosen by their values: how many there are is known at run time. Where the model states
   it they are brought to the front in order, and the rest is cut off; else the extent stays
   dynamic.
 */
#include <string.h>

#include "base/error.h"
#include "import/onnx/import.h"

static void *limit(const onnx_ctx *c, int i, tn_dtype t, double absent) {
  void *none = ir_is_integral(t) ? (void *)relay_const_int(t, (int64_t)absent)
                                 : (void *)relay_const_float(t, absent);
  return onnx_in(c, i) ? onnx_reshape(onnx_in(c, i), NULL, 0) : none;
}

/* Boxes by centre and size made boxes by corners. */
static void *corners(void *boxes) {
  void *at = onnx_part(boxes, 2, 0, 2), *size = onnx_part(boxes, 2, 2, 4);
  void *half = onnx_binary("multiply", size, relay_const_float(TN_F32, 0.5));
  void *low = onnx_binary("subtract", at, half), *high = onnx_binary("add", at, half);
  return low && high ? onnx_concat(tn_arr_of(2, low, high), 2) : NULL;
}

static void *non_max_suppression(onnx_ctx *c) {
  const char *op = "vision.all_class_non_max_suppression";
  const tn_arr *shape = onnx_is_stated(c) ? onnx_expected(c, 1, "scores") : NULL;
  void *boxes = onnx_int(c, "center_point_box", 0) ? corners(onnx_in(c, 0)) : onnx_in(c, 0);
  if (!boxes) return NULL;
  if (shape && shape->len != 2) return onnx_fail(c, "the stated extents do not fit");
  void *all = relay_call(op, NULL, 5, boxes, onnx_in(c, 1), limit(c, 2, TN_I64, 0),
                         limit(c, 3, TN_F32, 0), limit(c, 4, TN_F32, -3.4028234663852886e38));
  if (!shape) return onnx_open_rows(all, 0, 1);
  return all ? onnx_part(relay_get_item(all, 0), 0, 0, onnx_stated_extent(shape, 0)) : NULL;
}

/* Indices of the elements of a flat condition that are true, in order, `count` of them. */
static void *places_of(void *flat, int64_t count) {
  void *a = relay_attrs("argsort", 3, "axis", tn_any_int(0), "is_ascend", tn_any_bool(false),
                        "dtype", tn_any_dtype(TN_I64));
  void *order = a && flat ? relay_call("argsort", a, 1, onnx_cast(flat, TN_I32)) : NULL;
  return onnx_part(order, 0, 0, count);
}

/* A row of coordinates for each axis. */
static void *non_zero(onnx_ctx *c) {
  const tn_TensorType *t = onnx_in_type(c, 0);
  const tn_arr *shape = onnx_is_stated(c) ? onnx_expected(c, 0, "the number of elements") : NULL;
  TN_VEC(rows_);
  if (!shape) return onnx_transpose(onnx_open_places(onnx_in(c, 0)), (int64_t[]){1, 0}, 2);
  int64_t dims[ONNX_MAX_NDIM], rank = onnx_known_shape(c, 0, dims, ONNX_MAX_NDIM), stride = 1;
  if (rank < 0) return NULL;
  if (rank < 1 || shape->len != 2) return onnx_fail(c, "expected at least one dimension");
  void *on = ir_is_bool(t->dtype)
                 ? onnx_in(c, 0)
                 : onnx_binary("not_equal", onnx_in(c, 0), relay_const_int(t->dtype, 0));
  void *at = places_of(onnx_reshape(on, (int64_t[]){-1}, 1), onnx_stated_extent(shape, 1));
  if (!relay_known_product(t->shape, 0, rank, &stride) || stride < 1)
    return onnx_fail(c, "a shape without elements");
  for (int64_t i = 0; at && i < rank; ++i) {
    stride /= dims[i];
    void *k = onnx_binary("floor_divide", at, relay_const_int(TN_I64, stride));
    k = onnx_binary("floor_mod", k, relay_const_int(TN_I64, dims[i]));
    TN_TRYP(tn_vec_push_obj(&rows_, onnx_expand_dims(k, 0, 1)));
  }
  return at ? onnx_concat(tn_arr_from(&rows_), 0) : NULL;
}

/* Those where the condition is true, of the flat input without an axis. */
static void *compress(onnx_ctx *c) {
  const tn_arr *shape = onnx_is_stated(c) ? onnx_expected(c, 1, "condition") : NULL;
  int64_t axis = onnx_int(c, "axis", 0), rank = onnx_rank(c, 0);
  void *x = onnx_in(c, 0);
  if (!onnx_node_attr(c, "axis")) x = onnx_reshape(x, (int64_t[]){-1}, 1), axis = 0, rank = 1;
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank || (shape && shape->len != rank))
    return onnx_fail(c, "axis %lld is out of range", (long long)axis);
  if (!shape) {
    void *places = onnx_reshape(onnx_open_places(onnx_in(c, 1)), (int64_t[]){-1}, 1);
    return places && x ? onnx_take(x, places, axis) : NULL;
  }
  void *at = places_of(onnx_in(c, 1), onnx_stated_extent(shape, axis));
  return at && x ? onnx_take(x, at, axis) : NULL;
}

static const onnx_row rows[] = {
    {"NonMaxSuppression", non_max_suppression, 2, 5},
    {"NonZero", non_zero, 1, 1},
    {"Compress", compress, 2, 2},
};
const onnx_table onnx_choice = {rows, TN_COUNT(rows), ""};
