/* Pooling: the largest, the mean, or the norm of windows; where the largest are, and back.

   With ceil_mode the last window may reach over the end. One that would begin in the border after
   the data is left out; nn.max_pool2d and its kin have it, so it is cut off (windows_left). */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "import/onnx/windows.h"
#include "ir/imm.h"

/* The extent that an axis of x elements gets. */
static int64_t pooled_extent(int64_t x, const onnx_window *w, int i, bool up) {
  int64_t free = x + w->pads[i] + w->pads[i + w->n] - onnx_window_reach(w, i), s = w->strides[i];
  if (!up) return free / s + 1;
  int64_t out = (free + s - 1) / s + 1, begins = (x + w->pads[i] - 1) / s + 1;
  return out < begins ? out : begins;
}

/* What is never the largest of a window. */
static void *least_of(tn_dtype t) {
  int64_t least = 0;
  bool whole = tir_as_int((const tn_obj *)tir_min_value(t), &least);
  return whole ? relay_const_int(t, least) : relay_const_float(t, -INFINITY);
}

/* ---- places of largest elements ---- */

static void *with_border(const onnx_window *w, void *x, void *value) {
  tn_arr *pairs[2 + ONNX_MAX_SPATIAL];
  TN_VEC(widths);
  for (int i = 0; i < w->n + 2; ++i) {
    const int64_t both[] = {i < 2 ? 0 : w->pads[i - 2], i < 2 ? 0 : w->pads[i - 2 + w->n]};
    TN_GETP(pairs[i], relay_ints(both, 2));
    TN_TRYP(tn_vec_push_obj(&widths, pairs[i]));
  }
  void *a = relay_attrs("nn.pad", 1, "pad_width", tn_any_obj(tn_arr_from(&widths)));
  return a ? relay_call("nn.pad", a, 2, x, value) : NULL;
}

/* Windows [N, C, outs..., kernel...] of x, which no border hides the end of: what lies after the
   last window is cut off by the operator. */
static void *windows_of(const onnx_window *w, void *x, const int64_t *outs, const int64_t *dims) {
  int64_t reach[ONNX_MAX_SPATIAL], zeros[ONNX_MAX_SPATIAL] = {0}, axes[ONNX_MAX_SPATIAL];
  onnx_window exact = *w;
  for (int i = 0; i < w->n; ++i) {
    reach[i] = onnx_window_reach(w, i);
    axes[i] = 2 + w->n + i;
    int64_t after = (outs[i] - 1) * w->strides[i] + reach[i] - dims[i] - w->pads[i];
    exact.pads[i + w->n] = after > 0 ? after : 0;
  }
  x = with_border(&exact, x, least_of(relay_tensor_type_of_expr(x)->dtype));
  void *a = relay_attrs("sliding_window", 3, "axis", tn_any_int(2), "window_shape",
                        onnx_list(reach, w->n), "strides", onnx_list(w->strides, w->n));
  x = a && x ? relay_call("sliding_window", a, 1, x) : NULL;
  a = relay_attrs("strided_slice", 4, "begin", onnx_list(zeros, w->n), "end",
                  onnx_list(reach, w->n), "strides", onnx_list(w->dilations, w->n), "axes",
                  onnx_list(axes, w->n));
  return a && x ? relay_call("strided_slice", a, 1, x) : NULL;
}

/* Which elements of their windows, rows first, the largest ones are: int64 [N, C, outs...]. */
static void *places_in_windows(const onnx_window *w, void *windows) {
  int64_t axes[ONNX_MAX_SPATIAL];
  for (int i = 0; i < w->n; ++i) axes[i] = 2 + w->n + i;
  void *a = relay_attrs("argmax", 1, "axis", onnx_list(axes, w->n));
  return a && windows ? onnx_cast(relay_call("argmax", a, 1, windows), TN_I64) : NULL;
}

/* The first element of the windows along axis i that is not of the border. */
static void *first_inside(const onnx_window *w, int i, void *begin) {
  int64_t d = w->dilations[i];
  void *hidden = onnx_binary("subtract", relay_const_int(TN_I64, d - 1), begin);
  void *first = onnx_binary("floor_divide", hidden, relay_const_int(TN_I64, d));
  return onnx_binary("maximum", first, relay_const_int(TN_I64, 0));
}

/* Where in the whole input the largest element of each window is; the first of several. The border
   is never the place: where nothing is larger than its elements, the first other one is.
   @param y the largest elements @param dims extents of input 0 */
static void *largest_places(const onnx_ctx *c, const onnx_window *w, void *y, const int64_t *outs,
                            const int64_t *dims) {
  const tn_TensorType *t = onnx_in_type(c, 0);
  bool columns = onnx_int(c, "storage_order", 0) != 0;
  void *local = places_in_windows(w, windows_of(w, onnx_in(c, 0), outs, dims + 2));
  void *none = onnx_binary("equal", y, least_of(t->dtype)), *sum = NULL;
  int64_t step[ONNX_MAX_SPATIAL], size = 1, inner = 1;
  for (int k = 0; k < w->n; ++k) {
    int i = columns ? k : w->n - 1 - k;
    step[i] = size;
    if (__builtin_mul_overflow(size, dims[i + 2], &size) || size > INT32_MAX)
      return onnx_fail(c, "indices into planes of so many elements are not supported");
  }
  for (int i = w->n - 1; i >= 0; inner *= w->kernel[i--]) {
    void *begin = onnx_binary("multiply", onnx_count_along(TN_I64, outs[i], i + 2, w->n + 2),
                              relay_const_int(TN_I64, w->strides[i]));
    begin = onnx_binary("subtract", begin, relay_const_int(TN_I64, w->pads[i]));
    void *k = onnx_binary("floor_divide", local, relay_const_int(TN_I64, inner));
    k = onnx_binary("floor_mod", k, relay_const_int(TN_I64, w->kernel[i]));
    k = onnx_where(none, first_inside(w, i, begin), k);
    void *at = onnx_binary("multiply", k, relay_const_int(TN_I64, w->dilations[i]));
    at = onnx_binary("multiply", onnx_binary("add", at, begin), relay_const_int(TN_I64, step[i]));
    sum = sum ? onnx_binary("add", sum, at) : at;
  }
  void *plane = onnx_binary("multiply", onnx_count_along(TN_I64, dims[0], 0, w->n + 2),
                            relay_const_int(TN_I64, dims[1]));
  plane = onnx_binary("add", plane, onnx_count_along(TN_I64, dims[1], 1, w->n + 2));
  return onnx_binary("add", sum, onnx_binary("multiply", plane, relay_const_int(TN_I64, size)));
}

/* Extents that input 2 asks for; *n = 0 where it is left out. */
static int unpooled_shape(const onnx_ctx *c, int64_t *out, int64_t *n) {
  int64_t rank = onnx_rank(c, 0);
  const tn_arr *stated;
  if (!onnx_in(c, 2)) return 0;
  if (!onnx_runs(c, 2)) TN_TRY(onnx_values(c, 2, "the output shape", out, 2 + ONNX_MAX_SPATIAL, n));
  else {
    TN_GET(stated, onnx_expected(c, 2, "the output shape"));
    *n = stated->len;
    for (int64_t i = 0; i < *n && i < 2 + ONNX_MAX_SPATIAL; ++i)
      out[i] = onnx_stated_extent(stated, i);
  }
  if (*n == rank) return 0;
  return onnx_fail(c, "the output shape has %lld numbers, expected %lld", (long long)*n,
                   (long long)rank),
         -1;
}

static void *max_unpool(onnx_ctx *c) {
  const tn_TensorType *t = onnx_in_type(c, 0);
  int64_t dims[2 + ONNX_MAX_SPATIAL], flat = -1, total = 1;
  onnx_window w;
  TN_TRYP(onnx_read_window(c, -1, &w));
  if (onnx_known_shape(c, 0, dims, 2 + ONNX_MAX_SPATIAL) < 0) return NULL;
  int64_t wanted[2 + ONNX_MAX_SPATIAL], n = 0;
  TN_TRYP(unpooled_shape(c, wanted, &n));
  for (int i = 0; i < w.n + 2; ++i) {
    if (dims[i] > INT32_MAX) return onnx_fail(c, "extent %d is out of range", i);
    if (i >= 2)
      dims[i] =
          (dims[i] - 1) * w.strides[i - 2] - w.pads[i - 2] - w.pads[i - 2 + w.n] + w.kernel[i - 2];
    if (dims[i] < 1 || __builtin_mul_overflow(total, dims[i], &total))
      return onnx_fail(c, "extent %d of the result is out of range", i);
  }
  void *a = relay_attrs("zeros", 2, "shape", onnx_list(&total, 1), "dtype", tn_any_dtype(t->dtype));
  void *s = relay_attrs("scatter_elements", 1, "axis", tn_any_obj(tir_i32(0)));
  void *y = a && s ? relay_call("scatter_elements", s, 3, relay_call("zeros", a, 0),
                                onnx_reshape(onnx_in(c, 1), &flat, 1),
                                onnx_reshape(onnx_in(c, 0), &flat, 1))
                   : NULL;
  y = onnx_reshape(y, dims, w.n + 2);
  if (!n) return y;
  onnx_window border = {.n = w.n};
  for (int i = 0; i < w.n; ++i) {
    border.pads[i + w.n] = wanted[i + 2] - dims[i + 2];
    if (border.pads[i + w.n] < 0)
      return onnx_fail(c, "the output shape is smaller than what the windows cover");
  }
  return with_border(&border, y, onnx_scalar(c, 0, 0));
}

static void *pool_of(const onnx_window *w, const char *name, bool up, bool count_border, void *x) {
  void *a = relay_attrs(name, 5, "pool_size", onnx_list(w->kernel, w->n), "strides",
                        onnx_list(w->strides, w->n), "padding", onnx_list(w->pads, 2 * w->n),
                        "dilation", onnx_list(w->dilations, w->n), "ceil_mode", tn_any_bool(up));
  if (a && count_border) a = relay_attrs_with(a, "count_include_pad", tn_any_bool(true));
  return a && x ? relay_call(name, a, 1, x) : NULL;
}

/* The mean where the border is made at run time. One that does not count has made the sum no
   larger: the mean of ones with the same border tells how much of the window is data. */
static void *average_same(const onnx_ctx *c, const onnx_window *w, const char *name) {
  void *zero = onnx_scalar(c, 0, 0), *x = onnx_window_border(c, w, onnx_in(c, 0), zero);
  void *y = pool_of(w, name, false, false, x);
  if (onnx_int(c, "count_include_pad", 0)) return y;
  void *ones = onnx_window_border(c, w, onnx_unary("ones_like", onnx_in(c, 0)), zero);
  return onnx_binary("divide", y, pool_of(w, name, false, false, ones));
}

/* Extents rounded up? A border that is made for the windows leaves nothing to round. */
static bool ceils(const onnx_ctx *c, const onnx_window *w) {
  return onnx_int(c, "ceil_mode", 0) != 0 && w->border == ONNX_PADS_KNOWN;
}

static void *i64(int64_t v) { return relay_const_int(TN_I64, v); }

/* The windows that there are with ceil_mode: without the last one along an axis where it begins
   behind the data. One that is longer than its step and the border after the data never does. */
static void *windows_left(const onnx_ctx *c, const onnx_window *w, void *y) {
  for (int i = 0; y && i < w->n; ++i) {
    int64_t x;
    if (w->pads[i + w->n] + w->strides[i] <= onnx_window_reach(w, i)) continue;
    if (relay_known_int(onnx_in_type(c, 0)->shape, i + 2, &x)) {
      y = onnx_part(y, i + 2, 0, pooled_extent(x, w, i, true));
      continue;
    }
    void *last = onnx_binary("add", onnx_extent(onnx_in(c, 0), i + 2, TN_I64), i64(w->pads[i] - 1));
    void *begins =
        onnx_binary("add", onnx_binary("floor_divide", last, i64(w->strides[i])), i64(1));
    y = onnx_open_first(y, i + 2, begins);
  }
  return y;
}

static void *pool(onnx_ctx *c) {
  bool max = strcmp(c->node->op_type, "MaxPool") == 0, up;
  bool count_border = !max && onnx_int(c, "count_include_pad", 0) != 0;
  onnx_window w;
  char name[24];
  TN_TRYP(onnx_read_window(c, -1, &w));
  up = ceils(c, &w);
  if (!onnx_int(c, "ceil_mode", 0)) TN_TRYP(onnx_check_room(c, &w));
  snprintf(name, sizeof name, "nn.%s_pool%dd", max ? "max" : "avg", w.n);
  if (w.border != ONNX_PADS_KNOWN && !max) return average_same(c, &w, name);
  void *x = onnx_window_border(c, &w, onnx_in(c, 0), least_of(onnx_in_type(c, 0)->dtype));
  void *y = pool_of(&w, name, up, count_border, x);
  if (up) y = windows_left(c, &w, y);
  if (!max || c->node->n_output < 2 || !*c->node->output[1]) return y;
  int64_t outs[ONNX_MAX_SPATIAL], dims[2 + ONNX_MAX_SPATIAL];
  if (onnx_known_shape(c, 0, dims, 2 + ONNX_MAX_SPATIAL) < 0) return NULL;
  for (int i = 0; i < w.n; ++i) outs[i] = pooled_extent(dims[i + 2], &w, i, up);
  void *places = y ? largest_places(c, &w, y, outs, dims) : NULL;
  return places ? relay_tuple(tn_arr_of(2, y, places)) : NULL;
}

static void *power(void *x, double p, tn_dtype t) {
  return p == 1   ? x
         : p == 2 ? onnx_binary("multiply", x, x)
                  : onnx_binary("power", x, relay_const_float(t, p));
}

/* Zeros after the data for windows that reach over the end. Where x is not known there are so many
   that the last window may lie in them: windows_left cuts it off. */
static void reach_over(const tn_TensorType *t, onnx_window *w) {
  for (int i = 0; i < w->n; ++i) {
    int64_t x, need = w->pads[i + w->n] + w->strides[i] - 1;
    if (relay_known_int(t->shape, i + 2, &x))
      need = (pooled_extent(x, w, i, true) - 1) * w->strides[i] + onnx_window_reach(w, i) - x -
             w->pads[i];
    if (need > w->pads[i + w->n]) w->pads[i + w->n] = need;
  }
}

/* The sum of |x| ** p over windows, as a convolution with ones that sees one channel each. */
static void *lp_pool(onnx_ctx *c) {
  const tn_TensorType *t = onnx_in_type(c, 0);
  onnx_window w, wide;
  char name[24];
  int64_t ones[2 + ONNX_MAX_SPATIAL], channels;
  double p = c->opset < 2 ? onnx_float(c, "p", 2) : (double)onnx_int(c, "p", 2);
  TN_TRYP(onnx_read_window(c, -1, &w));
  if (!onnx_int(c, "ceil_mode", 0)) TN_TRYP(onnx_check_room(c, &w));
  TN_TRYP(onnx_known_extent(c, 0, 1, &channels));
  if (channels < 1 || p <= 0)
    return onnx_fail(c, "p (%g) and the number of channels (%" PRId64 ") must be positive", p,
                     channels);
  bool up = ceils(c, &w);
  wide = w;
  if (up) reach_over(t, &wide);
  ones[0] = channels, ones[1] = 1;
  for (int i = 0; i < w.n; ++i) ones[i + 2] = w.kernel[i];
  void *init =
      relay_attrs("ones", 2, "shape", onnx_list(ones, w.n + 2), "dtype", tn_any_dtype(t->dtype));
  void *weight = init ? relay_call("ones", init, 0) : NULL;
  snprintf(name, sizeof name, "nn.conv%dd", w.n);
  void *a = relay_attrs(
      name, 6, "strides", onnx_list(w.strides, w.n), "padding", onnx_list(wide.pads, 2 * w.n),
      "dilation", onnx_list(w.dilations, w.n), "groups", tn_any_int(channels), "channels",
      tn_any_obj(tir_i32((int32_t)channels)), "kernel_size", onnx_list(w.kernel, w.n));
  void *x = onnx_window_border(c, &w, onnx_in(c, 0), onnx_scalar(c, 0, 0));
  x = power(onnx_unary("abs", x), p, t->dtype);
  void *y = a && x && weight ? relay_call(name, a, 2, x, weight) : NULL;
  if (up) y = windows_left(c, &w, y);
  return p == 1 || !y ? y : onnx_binary("power", y, relay_const_float(t->dtype, 1 / p));
}

static void *global_lp_pool(onnx_ctx *c) {
  const tn_TensorType *t = onnx_in_type(c, 0);
  int64_t axes[ONNX_MAX_NDIM], n = 0, rank = onnx_rank(c, 0);
  double p = c->opset < 2 ? onnx_float(c, "p", 2) : (double)onnx_int(c, "p", 2);
  if (rank < 3 || rank > ONNX_MAX_NDIM || p <= 0)
    return onnx_fail(c, "expected a shape of at least 3 dimensions, and a positive p");
  for (int64_t i = 2; i < rank; ++i) axes[n++] = i;
  void *x = power(onnx_unary("abs", onnx_in(c, 0)), p, t->dtype);
  void *y = x ? onnx_reduce("sum", x, axes, n, true) : NULL;
  return y ? onnx_binary("power", y, relay_const_float(t->dtype, 1 / p)) : NULL;
}

static void *global_pool(onnx_ctx *c) {
  static const char *const names[2][3] = {
      {"nn.adaptive_avg_pool1d", "nn.global_avg_pool2d", "nn.adaptive_avg_pool3d"},
      {"nn.adaptive_max_pool1d", "nn.global_max_pool2d", "nn.adaptive_max_pool3d"},
  };
  static const int64_t ones[] = {1, 1, 1};
  int64_t n = onnx_rank(c, 0) - 2;
  if (n < 1 || n > 3)
    return onnx_fail(c, "expected 1 to 3 spatial dimensions, got a shape of %lld dimensions",
                     (long long)n + 2);
  const char *name = names[strcmp(c->node->op_type, "GlobalMaxPool") == 0][n - 1];
  if (n == 2) return relay_call(name, NULL, 1, onnx_in(c, 0));
  void *a = relay_attrs(name, 1, "output_size", tn_any_obj(relay_ints(ones, n)));
  return a ? relay_call(name, a, 1, onnx_in(c, 0)) : NULL;
}

static const onnx_row rows[] = {
    {"MaxPool", pool, 1, 1},
    {"MaxUnpool", max_unpool, 2, 3},
    {"AveragePool", pool, 1, 1},
    {"LpPool", lp_pool, 1, 1},
    {"GlobalLpPool", global_lp_pool, 1, 1},
    {"GlobalAveragePool", global_pool, 1, 1},
    {"GlobalMaxPool", global_pool, 1, 1},
};
const onnx_table onnx_pool = {rows, TN_COUNT(rows), ""};
