/* Elements chosen by their values: how many there are is known at run time. Where the model states
   it they are brought to the front in order, and the rest is cut off; else the extent stays
   dynamic.
 */
#include <string.h>

#include "base/error.h"
#include "import/onnx/import.h"

static void *limit(const oc *c, int i, tn_dtype t, double absent) {
  void *none = ir_is_integral(t) ? (void *)relay_const_int(t, (int64_t)absent)
                                 : (void *)relay_const_float(t, absent);
  return oc_in(c, i) ? oc_reshape(oc_in(c, i), NULL, 0) : none;
}

/* Boxes by centre and size made boxes by corners. */
static void *corners(void *boxes) {
  void *at = oc_part(boxes, 2, 0, 2), *size = oc_part(boxes, 2, 2, 4);
  void *half = oc_binary("multiply", size, relay_const_float(TN_F32, 0.5));
  void *low = oc_binary("subtract", at, half), *high = oc_binary("add", at, half);
  return low && high ? oc_concat(tn_arr_of(2, low, high), 2) : NULL;
}

static void *non_max_suppression(oc *c) {
  const char *op = "vision.all_class_non_max_suppression";
  const tn_arr *shape = oc_is_stated(c) ? oc_expected(c, 1, "scores") : NULL;
  void *boxes = oc_int(c, "center_point_box", 0) ? corners(oc_in(c, 0)) : oc_in(c, 0);
  if (!boxes) return NULL;
  if (shape && shape->len != 2) return oc_fail(c, "the stated extents do not fit");
  void *all = relay_call(op, NULL, 5, boxes, oc_in(c, 1), limit(c, 2, TN_I64, 0),
                         limit(c, 3, TN_F32, 0), limit(c, 4, TN_F32, -3.4028234663852886e38));
  if (!shape) return oc_open_rows(all, 0, 1);
  return all ? oc_part(relay_get_item(all, 0), 0, 0, oc_stated_extent(shape, 0)) : NULL;
}

/* Indices of the elements of a flat condition that are true, in order, `count` of them. */
static void *places_of(void *flat, int64_t count) {
  void *a = relay_attrs("argsort", 3, "axis", tn_any_int(0), "is_ascend", tn_any_bool(false),
                        "dtype", tn_any_dtype(TN_I64));
  void *order = a && flat ? relay_call("argsort", a, 1, oc_cast(flat, TN_I32)) : NULL;
  return oc_part(order, 0, 0, count);
}

/* A row of coordinates for each axis. */
static void *non_zero(oc *c) {
  const tn_TensorType *t = oc_type(c, 0);
  const tn_arr *shape = oc_is_stated(c) ? oc_expected(c, 0, "the number of elements") : NULL;
  TN_VEC(rows_);
  if (!shape) return oc_transpose(oc_open_places(oc_in(c, 0)), (int64_t[]){1, 0}, 2);
  int64_t dims[OC_MAX_NDIM], rank = oc_known_shape(c, 0, dims, OC_MAX_NDIM), stride = 1;
  if (rank < 0) return NULL;
  if (rank < 1 || shape->len != 2) return oc_fail(c, "expected at least one dimension");
  void *on = ir_is_bool(t->dtype)
                 ? oc_in(c, 0)
                 : oc_binary("not_equal", oc_in(c, 0), relay_const_int(t->dtype, 0));
  void *at = places_of(oc_reshape(on, (int64_t[]){-1}, 1), oc_stated_extent(shape, 1));
  if (!relay_known_product(t->shape, 0, rank, &stride) || stride < 1)
    return oc_fail(c, "a shape without elements");
  for (int64_t i = 0; at && i < rank; ++i) {
    stride /= dims[i];
    void *k = oc_binary("floor_divide", at, relay_const_int(TN_I64, stride));
    k = oc_binary("floor_mod", k, relay_const_int(TN_I64, dims[i]));
    TN_TRYP(tn_vec_push_obj(&rows_, oc_expand_dims(k, 0, 1)));
  }
  return at ? oc_concat(tn_arr_from(&rows_), 0) : NULL;
}

/* Those where the condition is true, of the flat input without an axis. */
static void *compress(oc *c) {
  const tn_arr *shape = oc_is_stated(c) ? oc_expected(c, 1, "condition") : NULL;
  int64_t axis = oc_int(c, "axis", 0), rank = oc_rank(c, 0);
  void *x = oc_in(c, 0);
  if (!oc_attr(c, "axis")) x = oc_reshape(x, (int64_t[]){-1}, 1), axis = 0, rank = 1;
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank || (shape && shape->len != rank))
    return oc_fail(c, "axis %lld is out of range", (long long)axis);
  if (!shape) {
    void *places = oc_reshape(oc_open_places(oc_in(c, 1)), (int64_t[]){-1}, 1);
    return places && x ? oc_take(x, places, axis) : NULL;
  }
  void *at = places_of(oc_in(c, 1), oc_stated_extent(shape, axis));
  return at && x ? oc_take(x, at, axis) : NULL;
}

static const onnx_row rows[] = {
    {"NonMaxSuppression", non_max_suppression, 2, 5},
    {"NonZero", non_zero, 1, 1},
    {"Compress", compress, 2, 2},
};
const onnx_table onnx_choice = {rows, TN_COUNT(rows), ""};
