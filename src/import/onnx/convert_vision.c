/* Boxes and grids of images, and what is cut or padded around the centre. */
#include <string.h>

#include "base/error.h"
#include "import/onnx/import.h"

enum { MAX_NDIM = 32 };

static void *add(void *a, void *b) { return onnx_binary("add", a, b); }
static void *mul(void *a, void *b) { return onnx_binary("multiply", a, b); }

/* The number of the image becomes the first of a box. */
static void *roi_align(onnx_ctx *c) {
  char mode[8], place[32];
  const tn_TensorType *t = onnx_in_type(c, 0);
  const char *how =
      onnx_text(c, "coordinate_transformation_mode",
                c->opset < 16 ? "output_half_pixel" : "half_pixel", place, sizeof place);
  int64_t size[] = {onnx_int(c, "output_height", 1), onnx_int(c, "output_width", 1)};
  if (size[0] < 1 || size[1] < 1 || size[0] > INT32_MAX || size[1] > INT32_MAX)
    return onnx_fail(c, "output_height and output_width must be positive numbers of 32 bits");
  const char *pool = onnx_text(c, "mode", "avg", mode, sizeof mode);
  if (!t || onnx_rank(c, 1) != 2 || onnx_rank(c, 2) != 1)
    return onnx_fail(c, "expected data, boxes and numbers of images of 4, 2 and 1 dimensions");
  void *image = onnx_expand_dims(onnx_cast(onnx_in(c, 2), t->dtype), 1, 1);
  void *rois = onnx_concat(tn_arr_of(2, image, onnx_cast(onnx_in(c, 1), t->dtype)), 1);
  void *a = relay_attrs("vision.roi_align", 5, "pooled_size", tn_any_obj(relay_ints(size, 2)),
                        "spatial_scale", tn_any_float(onnx_float(c, "spatial_scale", 1)),
                        "sample_ratio", tn_any_int(onnx_int(c, "sampling_ratio", 0)), "mode",
                        tn_any_cstr(strcmp(pool, "max") == 0 ? "corner_max" : pool), "aligned",
                        tn_any_bool(strcmp(how, "half_pixel") == 0));
  return a && rois ? relay_call("vision.roi_align", a, 2, onnx_in(c, 0), rois) : NULL;
}

static void *max_roi_pool(onnx_ctx *c) {
  int64_t n;
  const int64_t *size = onnx_ints(c, "pooled_shape", &n);
  if (n != 2 || size[0] < 1 || size[1] < 1 || size[0] > INT32_MAX || size[1] > INT32_MAX)
    return onnx_fail(c, "pooled_shape must be two positive numbers of 32 bits");
  void *a = relay_attrs("vision.roi_pool", 2, "pooled_size", tn_any_obj(relay_ints(size, 2)),
                        "spatial_scale", tn_any_float(onnx_float(c, "spatial_scale", 1)));
  return a ? relay_call("vision.roi_pool", a, 2, onnx_in(c, 0), onnx_in(c, 1)) : NULL;
}

/* ---- AffineGrid ---- */

/* Places from -1 to 1 along an axis of n elements. */
static void *places(const onnx_ctx *c, int64_t n, bool corners, int64_t axis, int64_t rank) {
  void *i = onnx_count_along(onnx_in_type(c, 0)->dtype, n, axis, rank);
  double step = corners ? (n > 1 ? 2.0 / (double)(n - 1) : 0) : 2.0 / (double)n;
  double first = corners ? (n > 1 ? -1 : 0) : -1 + 1.0 / (double)n;
  return add(mul(i, onnx_scalar(c, 0, step)), onnx_scalar(c, 0, first));
}

/* n, c and the extents of the image; those of a size computed at run time are the stated ones. */
static int grid_size(onnx_ctx *c, int64_t *size, int64_t *n) {
  if (!onnx_runs(c, 1)) return onnx_values(c, 1, "size", size, 5, n);
  const tn_arr *shape;
  TN_GET(shape, onnx_expected(c, 1, "size"));
  *n = shape->len;
  for (int64_t i = 0; i < *n && i < 5; ++i)
    size[i] = i == 1 ? 1 : onnx_stated_extent(shape, i > 1 ? i - 1 : 0);
  return 0;
}

/* grid[n, ..., k] = sum over j of theta[n, k, j] * place_j + theta[n, k, last], places of the last
   axis first. */
static void *affine_grid(onnx_ctx *c) {
  int64_t size[5], n, axes[5] = {0};
  bool corners = onnx_int(c, "align_corners", 0) != 0;
  TN_TRYP(grid_size(c, size, &n));
  if (n < 4 || n > 5 || onnx_rank(c, 0) != 3)
    return onnx_fail(c, "expected theta of 3 dimensions and a size of 4 or 5 numbers");
  int64_t d = n - 2, rank = n - 1;
  TN_VEC(coordinates);
  for (int64_t k = 0; k < d; ++k) {
    void *sum = NULL;
    for (int64_t j = 0; j <= d; ++j) { /* a factor [n, 1, ..., 1] for each place */
      void *f = onnx_part(onnx_part(onnx_in(c, 0), 1, k, k + 1), 2, j, j + 1);
      axes[0] = size[0];
      for (int64_t i = 1; i < rank; ++i) axes[i] = 1;
      f = f ? onnx_reshape(f, axes, rank) : NULL;
      void *p = j < d ? places(c, size[n - 1 - j], corners, rank - 1 - j, rank) : NULL;
      void *term = j < d ? mul(f, p) : f;
      if (!term) return NULL;
      sum = sum ? add(sum, term) : term;
    }
    TN_TRYP(tn_vec_push_obj(&coordinates, onnx_expand_dims(sum, rank, 1)));
  }
  return onnx_concat(tn_arr_from(&coordinates), rank);
}

/* ---- CenterCropPad ---- */

/* Along one axis: what is too much is cut off on both sides, what is missing is 0. */
static void *centred(const onnx_ctx *c, void *x, int64_t axis, int64_t have, int64_t want) {
  if (have > want) {
    int64_t begin = (have - want) / 2;
    return onnx_part(x, axis, begin, begin + want);
  }
  if (have == want) return x;
  int64_t rank = onnx_rank(c, 0), before = (want - have) / 2;
  TN_VEC(widths);
  for (int64_t i = 0; i < rank; ++i) {
    int64_t pair[] = {i == axis ? before : 0, i == axis ? want - have - before : 0};
    TN_TRYP(tn_vec_push_obj(&widths, relay_ints(pair, 2)));
  }
  void *a = relay_attrs("nn.pad", 1, "pad_width", tn_any_obj(tn_arr_from(&widths)));
  return a && x ? relay_call("nn.pad", a, 2, x, onnx_scalar(c, 0, 0)) : NULL;
}

/* The extents that are wanted, in place of those that are there; those computed at run time are the
   stated ones. */
static int centred_extents(onnx_ctx *c, int64_t rank, int64_t *want) {
  int64_t axes[MAX_NDIM], given[MAX_NDIM], n, m;
  const int64_t *list = onnx_ints(c, "axes", &n);
  if (onnx_runs(c, 1)) {
    const tn_arr *shape;
    TN_GET(shape, onnx_expected(c, 1, "shape"));
    if (shape->len != rank) return onnx_fail(c, "the stated extents do not fit the input"), -1;
    for (int64_t i = 0; i < rank; ++i) want[i] = onnx_stated_extent(shape, i);
    return 0;
  }
  TN_TRY(onnx_values(c, 1, "shape", given, MAX_NDIM, &m));
  if (!n) n = rank;
  if (n != m || n > rank) return onnx_fail(c, "shape and axes differ in length"), -1;
  for (int64_t i = 0; i < n; ++i) {
    axes[i] = list && rank ? (list[i] < 0 ? list[i] + rank : list[i]) : i;
    if (axes[i] < 0 || axes[i] >= rank || given[i] < 0 || given[i] > INT32_MAX)
      return onnx_fail(c, "axis or extent %lld is out of range", (long long)i), -1;
    want[axes[i]] = given[i];
  }
  return 0;
}

static void *center_crop_pad(onnx_ctx *c) {
  int64_t have[MAX_NDIM], want[MAX_NDIM], rank = onnx_known_shape(c, 0, have, MAX_NDIM);
  void *x = onnx_in(c, 0);
  if (rank < 0) return NULL;
  memcpy(want, have, sizeof want);
  TN_TRYP(centred_extents(c, rank, want));
  for (int64_t i = 0; x && i < rank; ++i) x = centred(c, x, i, have[i], want[i]);
  return x;
}

static const onnx_row rows[] = {
    {"RoiAlign", roi_align, 3, 3},
    {"MaxRoiPool", max_roi_pool, 2, 2},
    {"AffineGrid", affine_grid, 2, 2},
    {"CenterCropPad", center_crop_pad, 2, 2},
};
const onnx_table onnx_place = {rows, TN_COUNT(rows), ""};
