/* Convolution, pooling, normalisation. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "import/onnx/import.h"
#include "ir/imm.h"

enum { MAX_SPATIAL = 3 };

/* What convolutions and pooling share: windows over the spatial axes. */
typedef struct {
  int n; /* spatial axes */
  int64_t kernel[MAX_SPATIAL], strides[MAX_SPATIAL], dilations[MAX_SPATIAL], pads[2 * MAX_SPATIAL];
} window;

static int read_list(const oc *c, const char *name, int64_t n, int64_t absent, int64_t least,
                     int64_t *out) {
  int64_t given;
  const int64_t *v = oc_ints(c, name, &given);
  if (given && given != n)
    return oc_fail(c, "%s: expected %lld numbers, got %lld", name, (long long)n, (long long)given),
           -1;
  for (int64_t i = 0; i < n; ++i) {
    out[i] = given ? v[i] : absent;
    if (out[i] < least || out[i] > INT32_MAX)
      return oc_fail(c, "%s: %lld is not a valid size: at least %lld is expected", name,
                     (long long)out[i], (long long)least),
             -1;
  }
  return 0;
}

/* SAME_UPPER, SAME_LOWER: as many results as x / stride, the odd border after or before. */
static int auto_pads(const oc *c, const char *how, window *w) {
  if (strcmp(how, "NOTSET") == 0) return read_list(c, "pads", 2 * w->n, 0, 0, w->pads);
  bool lower = strcmp(how, "SAME_LOWER") == 0;
  if (strcmp(how, "VALID") == 0) return 0;
  if (!lower && strcmp(how, "SAME_UPPER") != 0)
    return oc_fail(c, "auto_pad: %s is not one of NOTSET, SAME_UPPER, SAME_LOWER, VALID", how), -1;
  const tn_TensorType *t = oc_type(c, 0);
  for (int i = 0; i < w->n; ++i) {
    int64_t x = relay_int_at(t->shape, i + 2), out = (x + w->strides[i] - 1) / w->strides[i];
    int64_t total = (out - 1) * w->strides[i] + (w->kernel[i] - 1) * w->dilations[i] + 1 - x;
    if (total < 0) total = 0;
    int64_t small = total / 2, large = total - small;
    w->pads[i] = lower ? large : small;
    w->pads[i + w->n] = lower ? small : large;
  }
  return 0;
}

static int read_window(const oc *c, const tn_arr *weight, window *w) {
  char how[32];
  int64_t rank = oc_rank(c, 0);
  *w = (window){.n = (int)rank - 2};
  if (rank < 3 || rank > 2 + MAX_SPATIAL)
    return oc_fail(c, "expected 1 to 3 spatial dimensions, got a shape of %lld dimensions",
                   (long long)rank),
           -1;
  for (int i = 0; weight && i < w->n; ++i) w->kernel[i] = relay_int_at(weight, i + 2);
  if (!weight) TN_TRY(read_list(c, "kernel_shape", w->n, 0, 1, w->kernel));
  TN_TRY(read_list(c, "strides", w->n, 1, 1, w->strides));
  TN_TRY(read_list(c, "dilations", w->n, 1, 1, w->dilations));
  return auto_pads(c, oc_text(c, "auto_pad", "NOTSET", how, sizeof how), w);
}

static tn_any list(const int64_t *v, int n) { return tn_any_obj(relay_ints(v, n)); }

static void *add_bias(void *y, void *bias, int axis) {
  if (!bias || !y) return y;
  void *a = relay_attrs("nn.bias_add", 1, "axis", tn_any_int(axis));
  return a ? relay_call("nn.bias_add", a, 2, y, bias) : NULL;
}

void *oc_conv(const oc *c, void *x, void *kernel, int weight_input, void *bias) {
  const tn_TensorType *weight = oc_type(c, weight_input);
  window w;
  char name[24];
  if (!weight || weight->shape->len != oc_rank(c, 0))
    return oc_fail(c, "the weight must have the dimensions of the input's shape");
  TN_TRYP(read_window(c, weight->shape, &w));
  snprintf(name, sizeof name, "nn.conv%dd", w.n);
  int64_t groups = oc_int(c, "group", 1), channels = relay_int_at(weight->shape, 0);
  if (groups < 1) return oc_fail(c, "group: %lld", (long long)groups);
  void *a =
      relay_attrs(name, 6, "strides", list(w.strides, w.n), "padding", list(w.pads, 2 * w.n),
                  "dilation", list(w.dilations, w.n), "groups", tn_any_int(groups), "channels",
                  tn_any_obj(tir_i32((int32_t)channels)), "kernel_size", list(w.kernel, w.n));
  return add_bias(a ? relay_call(name, a, 2, x, kernel) : NULL, bias, 1);
}

/* Offsets of both are pairs (down, right) for each point of the kernel. */
static void *deform_conv(oc *c) {
  const tn_TensorType *weight = oc_type(c, 1);
  window w;
  if (!weight || oc_rank(c, 0) != 4 || weight->shape->len != 4)
    return oc_fail(c, "only images are supported: input and weight must have 4 dimensions");
  if (oc_in(c, 4)) return oc_fail(c, "the input mask is not supported");
  TN_TRYP(read_window(c, weight->shape, &w));
  int64_t groups = oc_int(c, "group", 1), moving = oc_int(c, "offset_group", 1);
  if (groups < 1 || moving < 1) return oc_fail(c, "group and offset_group must be positive");
  void *channels = tir_i32((int32_t)relay_int_at(weight->shape, 0));
  void *a = relay_attrs("nn.deformable_conv2d", 7, "strides", list(w.strides, 2), "padding",
                        list(w.pads, 4), "dilation", list(w.dilations, 2), "deformable_groups",
                        tn_any_int(moving), "groups", tn_any_int(groups), "channels",
                        tn_any_obj(channels), "kernel_size", list(w.kernel, 2));
  void *y =
      a ? relay_call("nn.deformable_conv2d", a, 3, oc_in(c, 0), oc_in(c, 2), oc_in(c, 1)) : NULL;
  return add_bias(y, oc_in(c, 3), 1);
}

static void *conv(oc *c) { return oc_conv(c, oc_in(c, 0), oc_in(c, 1), 1, oc_in(c, 2)); }

/* Given an output shape, the paddings (or the zeros added at the end) follow from it; half of what
   is cut off goes to each side. */
static int transposed_pads(const oc *c, window *w, int64_t *extra) {
  char how[32];
  int64_t n;
  const int64_t *shape = oc_ints(c, "output_shape", &n);
  const char *automatic = oc_text(c, "auto_pad", "NOTSET", how, sizeof how);
  bool lower = strcmp(automatic, "SAME_LOWER") == 0,
       same = lower || strcmp(automatic, "SAME_UPPER") == 0;
  if (n && n != w->n)
    return oc_fail(c, "output_shape: expected %d numbers, got %lld", w->n, (long long)n), -1;
  if (!n && !same)
    return strcmp(automatic, "VALID") == 0 ? 0 : read_list(c, "pads", 2 * w->n, 0, 0, w->pads);
  for (int i = 0; i < w->n; ++i) {
    int64_t x = relay_int_at(oc_type(c, 0)->shape, i + 2), want = n ? shape[i] : x * w->strides[i];
    int64_t cut =
        w->strides[i] * (x - 1) + extra[i] + (w->kernel[i] - 1) * w->dilations[i] + 1 - want;
    if (cut < 0) { /* more than there is: zeros at the end */
      w->pads[i] = w->pads[i + w->n] = 0;
      extra[i] -= cut;
      continue;
    }
    int64_t small = cut / 2, large = cut - small;
    w->pads[i] = same && !lower ? small : large;
    w->pads[i + w->n] = cut - w->pads[i];
  }
  return 0;
}

static void *conv_transpose(oc *c) {
  static const char *const names[] = {"nn.conv1d_transpose", "nn.conv2d_transpose",
                                      "nn.conv3d_transpose"};
  const tn_TensorType *weight = oc_type(c, 1);
  int64_t rank = oc_rank(c, 0), groups = oc_int(c, "group", 1), extra[MAX_SPATIAL];
  window w = {.n = (int)rank - 2};
  if (rank < 3 || rank > 2 + MAX_SPATIAL || !weight || weight->shape->len != rank || groups < 1)
    return oc_fail(c, "the weight must have the dimensions of the input's shape, 3 to 5");
  for (int i = 0; i < w.n; ++i) w.kernel[i] = relay_int_at(weight->shape, i + 2);
  TN_TRYP(read_list(c, "strides", w.n, 1, 1, w.strides));
  TN_TRYP(read_list(c, "dilations", w.n, 1, 1, w.dilations));
  TN_TRYP(read_list(c, "output_padding", w.n, 0, 0, extra));
  TN_TRYP(transposed_pads(c, &w, extra));
  void *a = relay_attrs(names[w.n - 1], 7, "strides", list(w.strides, w.n), "padding",
                        list(w.pads, 2 * w.n), "dilation", list(w.dilations, w.n), "groups",
                        tn_any_int(groups), "output_padding", list(extra, w.n), "kernel_size",
                        list(w.kernel, w.n), "channels",
                        tn_any_obj(tir_i32((int32_t)(relay_int_at(weight->shape, 1) * groups))));
  return add_bias(a ? relay_call(names[w.n - 1], a, 2, oc_in(c, 0), oc_in(c, 1)) : NULL,
                  oc_in(c, 2), 1);
}

static void *subpixel(oc *c) {
  char mode[8];
  bool deep = strcmp(c->node->op_type, "SpaceToDepth") == 0;
  const char *op = deep ? "nn.space_to_depth" : "nn.depth_to_space";
  if (!oc_attr(c, "blocksize")) return oc_fail(c, "the attribute blocksize is missing");
  void *a = relay_attrs(op, 2, "block_size", tn_any_int(oc_int(c, "blocksize", 1)), "mode",
                        tn_any_cstr(oc_text(c, "mode", "DCR", mode, sizeof mode)));
  return a ? relay_call(op, a, 1, oc_in(c, 0)) : NULL;
}

/* Extent i of a pooling: a last window that would begin in the border behind the data is dropped.
 */
static int64_t pooled_extent(const oc *c, const window *w, int i, bool up) {
  int64_t x = relay_int_at(oc_type(c, 0)->shape, i + 2),
          k = (w->kernel[i] - 1) * w->dilations[i] + 1,
          free = x + w->pads[i] + w->pads[i + w->n] - k, stride = w->strides[i];
  int64_t out = (free + (up ? stride - 1 : 0)) / stride + 1;
  return up && (out - 1) * stride >= x + w->pads[i] ? out - 1 : out;
}

/* ---- places of largest elements ---- */

enum { MOST_PLACES = 1024 };

/* The elements that the windows have at one place: padded, then every stride-th. */
static void *at_place(const window *w, void *x, const int64_t *place, const int64_t *outs) {
  int64_t begin[MAX_SPATIAL], end[MAX_SPATIAL], axes[MAX_SPATIAL];
  for (int i = 0; i < w->n; ++i) {
    begin[i] = place[i] * w->dilations[i];
    end[i] = begin[i] + (outs[i] - 1) * w->strides[i] + 1;
    axes[i] = i + 2;
  }
  void *a = relay_attrs("strided_slice", 4, "begin", list(begin, w->n), "end", list(end, w->n),
                        "strides", list(w->strides, w->n), "axes", list(axes, w->n));
  return a ? relay_call("strided_slice", a, 1, x) : NULL;
}

static void *with_border(const window *w, void *x, void *value) {
  tn_arr *pairs[2 + MAX_SPATIAL];
  TN_VEC(widths);
  for (int i = 0; i < w->n + 2; ++i) {
    const int64_t both[] = {i < 2 ? 0 : w->pads[i - 2], i < 2 ? 0 : w->pads[i - 2 + w->n]};
    TN_GETP(pairs[i], relay_ints(both, 2));
    TN_TRYP(tn_vec_push_obj(&widths, pairs[i]));
  }
  void *a = relay_attrs("nn.pad", 1, "pad_width", tn_any_obj(tn_arr_from(&widths)));
  return a ? relay_call("nn.pad", a, 2, x, value) : NULL;
}

/* The number of each element in its plane [1, 1, ...]: rows first, or columns. */
static void *plane_numbers(const oc *c, const window *w, int64_t *size) {
  bool columns = oc_int(c, "storage_order", 0) != 0;
  void *sum = relay_const_int(TN_I64, 0);
  *size = 1;
  for (int k = 0; k < w->n; ++k) {
    int i = columns ? k : w->n - 1 - k;
    int64_t n = relay_int_at(oc_type(c, 0)->shape, i + 2);
    void *step = relay_const_int(TN_I64, *size),
         *count = oc_count_along(TN_I64, n, i + 2, w->n + 2);
    sum = oc_binary("add", sum, oc_binary("multiply", count, step));
    if (__builtin_mul_overflow(*size, n, size) || *size > INT32_MAX)
      return oc_fail(c, "indices into planes of so many elements are not supported");
  }
  return sum;
}

/* Where in the whole input the largest element of each window is; the first of several. The border
   has the number -1: it is never the place, though nothing may be larger than its elements. */
static void *largest_places(const oc *c, const window *w, const int64_t *outs) {
  const tn_TensorType *t = oc_type(c, 0);
  int64_t place[MAX_SPATIAL] = {0}, all = 1, size, channels = relay_int_at(t->shape, 1);
  for (int i = 0; i < w->n; ++i) all *= w->kernel[i];
  if (!relay_is_static((const tn_Type *)t) || all > MOST_PLACES)
    return oc_fail(c, "indices of windows of %lld elements, or of open extents", (long long)all);
  int64_t least = 0;
  bool whole = tir_as_int((const tn_obj *)tir_min_value(t->dtype), &least);
  void *x = with_border(w, oc_in(c, 0),
                        whole ? relay_const_int(t->dtype, least)
                              : relay_const_float(t->dtype, -INFINITY));
  void *numbers = with_border(w, plane_numbers(c, w, &size), relay_const_int(TN_I64, -1)),
       *zero = relay_const_int(TN_I64, 0);
  void *best = at_place(w, x, place, outs), *at = at_place(w, numbers, place, outs);
  for (int64_t k = 1; at && k < all; ++k) {
    for (int i = w->n - 1; i >= 0 && ++place[i] == w->kernel[i]; --i) place[i] = 0;
    void *value = at_place(w, x, place, outs);
    void *larger = value ? oc_binary("greater", value, best) : NULL;
    larger = larger ? oc_binary("logical_or", larger, oc_binary("less", at, zero)) : NULL;
    at = larger ? oc_where(larger, at_place(w, numbers, place, outs), at) : NULL;
    best = oc_where(larger, value, best);
  }
  void *plane = oc_binary("add", oc_count_along(TN_I64, channels, 1, w->n + 2),
                          oc_binary("multiply",
                                    oc_count_along(TN_I64, relay_int_at(t->shape, 0), 0, w->n + 2),
                                    relay_const_int(TN_I64, channels)));
  return at ? oc_binary("add", at, oc_binary("multiply", plane, relay_const_int(TN_I64, size)))
            : NULL;
}

/* Extents that input 2 asks for; *n = 0 where it is left out. */
static int unpooled_shape(const oc *c, int64_t *out, int64_t *n) {
  int64_t rank = oc_rank(c, 0);
  const tn_arr *stated;
  if (!oc_in(c, 2)) return 0;
  if (!oc_runs(c, 2)) TN_TRY(oc_values(c, 2, "the output shape", out, 2 + MAX_SPATIAL, n));
  else {
    TN_GET(stated, oc_expected(c, 2, "the output shape"));
    *n = stated->len;
    for (int64_t i = 0; i < *n && i < 2 + MAX_SPATIAL; ++i) out[i] = relay_int_at(stated, i);
  }
  if (*n == rank) return 0;
  return oc_fail(c, "the output shape has %lld numbers, expected %lld", (long long)*n,
                 (long long)rank),
         -1;
}

static void *max_unpool(oc *c) {
  const tn_TensorType *t = oc_type(c, 0);
  int64_t dims[2 + MAX_SPATIAL], flat = -1, total = 1;
  window w;
  TN_TRYP(read_window(c, NULL, &w));
  if (!relay_is_static((const tn_Type *)t)) return oc_fail(c, "extents that are open");
  int64_t wanted[2 + MAX_SPATIAL], n = 0;
  TN_TRYP(unpooled_shape(c, wanted, &n));
  for (int i = 0; i < w.n + 2; ++i) {
    dims[i] = relay_int_at(t->shape, i);
    if (dims[i] > INT32_MAX) return oc_fail(c, "extent %d is out of range", i);
    if (i >= 2)
      dims[i] =
          (dims[i] - 1) * w.strides[i - 2] - w.pads[i - 2] - w.pads[i - 2 + w.n] + w.kernel[i - 2];
    if (dims[i] < 1 || __builtin_mul_overflow(total, dims[i], &total))
      return oc_fail(c, "extent %d of the result is out of range", i);
  }
  void *a = relay_attrs("zeros", 2, "shape", list(&total, 1), "dtype", tn_any_dtype(t->dtype));
  void *s = relay_attrs("scatter_elements", 1, "axis", tn_any_obj(tir_i32(0)));
  void *y = a && s
                ? relay_call("scatter_elements", s, 3, relay_call("zeros", a, 0),
                             oc_reshape(oc_in(c, 1), &flat, 1), oc_reshape(oc_in(c, 0), &flat, 1))
                : NULL;
  y = oc_reshape(y, dims, w.n + 2);
  if (!n) return y;
  window border = {.n = w.n};
  for (int i = 0; i < w.n; ++i) {
    border.pads[i + w.n] = wanted[i + 2] - dims[i + 2];
    if (border.pads[i + w.n] < 0)
      return oc_fail(c, "the output shape is smaller than what the windows cover");
  }
  return with_border(&border, y, oc_scalar(c, 0, 0));
}

static void *pool(oc *c) {
  bool max = strcmp(c->node->op_type, "MaxPool") == 0, up = oc_int(c, "ceil_mode", 0) != 0;
  window w;
  char name[24];
  TN_TRYP(read_window(c, NULL, &w));
  snprintf(name, sizeof name, "nn.%s_pool%dd", max ? "max" : "avg", w.n);
  void *a = relay_attrs(name, 5, "pool_size", list(w.kernel, w.n), "strides", list(w.strides, w.n),
                        "padding", list(w.pads, 2 * w.n), "dilation", list(w.dilations, w.n),
                        "ceil_mode", tn_any_bool(up));
  if (a && !max)
    a = relay_attrs_with(a, "count_include_pad",
                         tn_any_bool(oc_int(c, "count_include_pad", 0) != 0));
  void *y = a ? relay_call(name, a, 1, oc_in(c, 0)) : NULL;
  for (int i = 0; y && up && i < w.n; ++i) {
    int64_t n = pooled_extent(c, &w, i, true), x;
    bool known = tir_as_int(tn_arr_obj(oc_type(c, 0)->shape, i + 2), &x);
    if (known && n > 0) y = oc_part(y, i + 2, 0, n);
  }
  if (!max || c->node->n_output < 2 || !*c->node->output[1]) return y;
  int64_t outs[MAX_SPATIAL];
  for (int i = 0; i < w.n; ++i) outs[i] = pooled_extent(c, &w, i, up);
  void *places =
      up ? oc_fail(c, "indices with ceil_mode are not supported") : largest_places(c, &w, outs);
  return y && places ? relay_tuple(tn_arr_of(2, y, places)) : NULL;
}

static void *power(void *x, double p, tn_dtype t) {
  return p == 1   ? x
         : p == 2 ? oc_binary("multiply", x, x)
                  : oc_binary("power", x, relay_const_float(t, p));
}

/* The sum of |x| ** p over windows, as a convolution with ones that sees one channel each. */
static void *lp_pool(oc *c) {
  const tn_TensorType *t = oc_type(c, 0);
  window w;
  char name[24];
  int64_t ones[2 + MAX_SPATIAL], channels;
  double p = c->opset < 2 ? oc_float(c, "p", 2) : (double)oc_int(c, "p", 2);
  TN_TRYP(read_window(c, NULL, &w));
  if (!tir_as_int(tn_arr_obj(t->shape, 1), &channels) || channels < 1 || p <= 0)
    return oc_fail(c, "p or the number of channels is not positive, or not known");
  bool up = oc_int(c, "ceil_mode", 0) != 0;
  for (int i = 0; up && i < w.n; ++i) {
    int64_t n = pooled_extent(c, &w, i, true), k = (w.kernel[i] - 1) * w.dilations[i] + 1;
    int64_t need = (n - 1) * w.strides[i] + k - relay_int_at(t->shape, i + 2) - w.pads[i];
    if (need > w.pads[i + w.n]) w.pads[i + w.n] = need;
  }
  ones[0] = channels, ones[1] = 1;
  for (int i = 0; i < w.n; ++i) ones[i + 2] = w.kernel[i];
  void *init =
      relay_attrs("ones", 2, "shape", list(ones, w.n + 2), "dtype", tn_any_dtype(t->dtype));
  void *weight = init ? relay_call("ones", init, 0) : NULL;
  snprintf(name, sizeof name, "nn.conv%dd", w.n);
  void *a =
      relay_attrs(name, 6, "strides", list(w.strides, w.n), "padding", list(w.pads, 2 * w.n),
                  "dilation", list(w.dilations, w.n), "groups", tn_any_int(channels), "channels",
                  tn_any_obj(tir_i32((int32_t)channels)), "kernel_size", list(w.kernel, w.n));
  void *x = power(oc_unary("abs", oc_in(c, 0)), p, t->dtype);
  void *y = a && x && weight ? relay_call(name, a, 2, x, weight) : NULL;
  return p == 1 || !y ? y : oc_binary("power", y, relay_const_float(t->dtype, 1 / p));
}

static void *global_lp_pool(oc *c) {
  const tn_TensorType *t = oc_type(c, 0);
  int64_t axes[OC_MAX_NDIM], n = 0, rank = oc_rank(c, 0);
  double p = c->opset < 2 ? oc_float(c, "p", 2) : (double)oc_int(c, "p", 2);
  if (rank < 3 || rank > OC_MAX_NDIM || p <= 0)
    return oc_fail(c, "expected a shape of at least 3 dimensions, and a positive p");
  for (int64_t i = 2; i < rank; ++i) axes[n++] = i;
  void *x = power(oc_unary("abs", oc_in(c, 0)), p, t->dtype);
  void *y = x ? oc_reduce("sum", x, axes, n, true) : NULL;
  return y ? oc_binary("power", y, relay_const_float(t->dtype, 1 / p)) : NULL;
}

static void *global_pool(oc *c) {
  static const char *const names[2][3] = {
      {"nn.adaptive_avg_pool1d", "nn.global_avg_pool2d", "nn.adaptive_avg_pool3d"},
      {"nn.adaptive_max_pool1d", "nn.global_max_pool2d", "nn.adaptive_max_pool3d"},
  };
  static const int64_t ones[] = {1, 1, 1};
  int64_t n = oc_rank(c, 0) - 2;
  if (n < 1 || n > 3)
    return oc_fail(c, "expected 1 to 3 spatial dimensions, got a shape of %lld dimensions",
                   (long long)n + 2);
  const char *name = names[strcmp(c->node->op_type, "GlobalMaxPool") == 0][n - 1];
  if (n == 2) return relay_call(name, NULL, 1, oc_in(c, 0));
  void *a = relay_attrs(name, 1, "output_size", tn_any_obj(relay_ints(ones, n)));
  return a ? relay_call(name, a, 1, oc_in(c, 0)) : NULL;
}

static void *batch_norm(oc *c) {
  void *a = relay_attrs("nn.batch_norm", 1, "epsilon", tn_any_float(oc_float(c, "epsilon", 1e-5)));
  if (oc_int(c, "training_mode", 0))
    return oc_fail(c, "training_mode: only inference is supported");
  void *y = a ? relay_call("nn.batch_norm", a, 5, oc_in(c, 0), oc_in(c, 1), oc_in(c, 2),
                           oc_in(c, 3), oc_in(c, 4))
              : NULL;
  return y ? relay_get_item(y, 0) : NULL;
}

static void *instance_norm(oc *c) {
  void *a =
      relay_attrs("nn.instance_norm", 1, "epsilon", tn_any_float(oc_float(c, "epsilon", 1e-5)));
  return a ? relay_call("nn.instance_norm", a, 3, oc_in(c, 0), oc_in(c, 1), oc_in(c, 2)) : NULL;
}

static void *lrn(oc *c) {
  void *a = relay_attrs("nn.lrn", 5, "size", tn_any_int(oc_int(c, "size", 1)), "axis",
                        tn_any_int(1), "bias", tn_any_float(oc_float(c, "bias", 1)), "alpha",
                        tn_any_float(oc_float(c, "alpha", 1e-4)), "beta",
                        tn_any_float(oc_float(c, "beta", 0.75)));
  return a ? relay_call("nn.lrn", a, 1, oc_in(c, 0)) : NULL;
}

/* A vector of groups repeated to as many channels as there are at run time. */
static void *repeated_groups(const oc *c, int i, int64_t groups) {
  void *n = oc_extent(oc_in(c, 0), 1, TN_I64), *g = relay_const_int(TN_I64, groups), *shape;
  void *each = n && g ? oc_reshape(oc_binary("floor_divide", n, g), (int64_t[]){1}, 1) : NULL;
  TN_GETP(g, relay_const_ints(TN_I64, &groups, 1));
  TN_GETP(shape, each ? oc_concat(tn_arr_of(2, g, each), 0) : NULL);
  void *column = oc_expand_dims(oc_in(c, i), 1, 1);
  void *all = column ? relay_call("dyn.broadcast_to", NULL, 2, column, shape) : NULL;
  return all ? oc_reshape(all, (int64_t[]){-1}, 1) : NULL;
}

/* Scale and bias are those of groups before operator set 21, of channels since. */
static void *of_channels(const oc *c, int i, int64_t groups) {
  const tn_TensorType *t = oc_type(c, 0), *own = oc_type(c, i);
  if (!t || !own || t->shape->len < 2 || own->shape->len != 1)
    return oc_fail(c, "expected an input [N, C, ...] and a scale and bias of one dimension");
  int64_t channels;
  bool known = tir_as_int((tn_obj *)relay_dim(t, 1), &channels);
  if (c->opset >= 21 || groups < 1 || (known && channels % groups)) return oc_in(c, i);
  if (!known) return repeated_groups(c, i, groups);
  void *a =
      relay_attrs("repeat", 2, "repeats", tn_any_int(channels / groups), "axis", tn_any_int(0));
  return a ? relay_call("repeat", a, 1, oc_in(c, i)) : NULL;
}

static void *group_norm(oc *c) {
  int64_t groups = oc_int(c, "num_groups", 0);
  void *scale = of_channels(c, 1, groups), *bias = scale ? of_channels(c, 2, groups) : NULL;
  void *a = relay_attrs("nn.group_norm", 2, "num_groups", tn_any_int(groups), "epsilon",
                        tn_any_float(oc_float(c, "epsilon", 1e-5)));
  return a && bias ? relay_call("nn.group_norm", a, 3, oc_in(c, 0), scale, bias) : NULL;
}

/* Nothing is dropped; the mask says so. */
static void *dropout(oc *c) {
  if (c->node->n_output < 2) return oc_in(c, 0);
  void *ones = oc_unary("ones_like", oc_in(c, 0));
  void *mask = ones && c->opset >= 10 ? oc_cast(ones, TN_BOOL1) : ones;
  return mask ? relay_tuple(tn_arr_of(2, oc_in(c, 0), mask)) : NULL;
}

static void *flatten(oc *c) {
  const tn_TensorType *t = oc_type(c, 0);
  int64_t axis = oc_int(c, "axis", 1), dims[2] = {1, -1};
  if (!t || axis > t->shape->len || axis < -t->shape->len)
    return oc_fail(c, "axis %lld is out of range of the shape", (long long)axis);
  if (axis < 0) axis += t->shape->len;
  if (axis == 1) return relay_call("nn.batch_flatten", NULL, 1, oc_in(c, 0));
  for (int64_t i = 0; i < axis; ++i) dims[0] *= relay_int_at(t->shape, i);
  return oc_reshape(oc_in(c, 0), dims, 2);
}

static const onnx_row rows[] = {
    {"Conv", conv, 2, 3},
    {"ConvTranspose", conv_transpose, 2, 3},
    {"DeformConv", deform_conv, 3, 5},
    {"DepthToSpace", subpixel, 1, 1},
    {"SpaceToDepth", subpixel, 1, 1},
    {"MaxPool", pool, 1, 1},
    {"MaxUnpool", max_unpool, 2, 3},
    {"AveragePool", pool, 1, 1},
    {"LpPool", lp_pool, 1, 1},
    {"GlobalLpPool", global_lp_pool, 1, 1},
    {"GlobalAveragePool", global_pool, 1, 1},
    {"GlobalMaxPool", global_pool, 1, 1},
    {"BatchNormalization", batch_norm, 5, 5},
    {"InstanceNormalization", instance_norm, 3, 3},
    {"GroupNormalization", group_norm, 3, 3},
    {"LRN", lrn, 1, 1},
    {"Dropout", dropout, 1, 3},
    {"Flatten", flatten, 1, 1},
};
const onnx_table onnx_nn = {rows, TN_COUNT(rows), ""};
