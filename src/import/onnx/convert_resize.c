/* Resize and Upsample, axis by axis.

     c[i]          where place i of the result lies in the data, as a number of elements
     p[k][i]       the elements around it: floor(c[i]) + k - n / 2 + 1
     r[i]          sum over k of data[p[k][i]] * kernel((p[k][i] - c[i]) * stretch)

   What is cut off at the ends counts as the last element. Images in the usual forms are left to
   image.resize2d. Extents that are dynamic, of the data or because sizes or factors are computed at
   run time, are expressions. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "import/onnx/import.h"
#include "import/onnx/shape_values.h"
#include "relay/infer.h"

/* An extent: a number, or -1 and a float64 scalar. */
typedef struct {
  int64_t n;
  void *e;
} extent;

typedef struct {
  onnx_ctx *c;
  char mode[16], place[32], nearest[24], policy[16];
  int roi, scales, sizes;         /* places of the inputs, -1: absent */
  int64_t n, axes[ONNX_MAX_NDIM]; /* axes that are resized */
  extent in[ONNX_MAX_NDIM], out[ONNX_MAX_NDIM];
  bool stays[ONNX_MAX_NDIM];  /* an axis that is only copied */
  void *scale[ONNX_MAX_NDIM]; /* float64 scalars */
  bool antialias, exclude, known;
} resize;

static void *f64(double v) { return relay_const_float(TN_F64, v); }
static void *add(void *a, void *b) { return onnx_binary("add", a, b); }
static void *sub(void *a, void *b) { return onnx_binary("subtract", a, b); }
static void *mul(void *a, void *b) { return onnx_binary("multiply", a, b); }
static void *divide(void *a, void *b) { return onnx_binary("divide", a, b); }
/* No less than 0, no more than `high`. */
static void *limited(void *x, void *high) {
  return onnx_binary("minimum", onnx_binary("maximum", x, f64(0)), high);
}

static void *typed(void *e) { return e ? relay_infer_new(e) : NULL; }
static void *size_of(const extent *x) { return x->n >= 0 ? f64((double)x->n) : x->e; }

/* 0, 1, ... below an extent, along the first of `rank` axes, float64. */
static void *count_to(const extent *x, int64_t rank) {
  if (x->n >= 0) return onnx_count_along(TN_F64, x->n, 0, rank);
  void *from = f64(0), *step = f64(1);
  void *a = relay_attrs("arange", 4, "start", tn_any_obj(from), "stop", tn_any_obj(x->e), "step",
                        tn_any_obj(step), "dtype", tn_any_dtype(TN_F64));
  void *all = a && x->e ? relay_call("arange", a, 3, from, x->e, step) : NULL;
  return rank > 1 ? onnx_expand_dims(typed(all), 1, rank - 1) : all;
}

/* `yes` where the extent is more than 1. */
static void *if_several(const extent *x, void *yes, void *no) {
  if (x->n >= 0) return x->n > 1 ? yes : no;
  return onnx_where(onnx_binary("greater", x->e, f64(1)), yes, no);
}

/* ---- extents and factors ---- */

static int read_axes(resize *z) {
  const tn_TensorType *t = onnx_in_type(z->c, 0);
  int64_t given, rank = t ? t->shape->len : -1;
  const int64_t *axes = onnx_ints(z->c, "axes", &given);
  if (rank < 1 || rank > ONNX_MAX_NDIM || given > rank)
    return onnx_fail(z->c, "expected a shape of 1 to %d dimensions", ONNX_MAX_NDIM), -1;
  z->n = given ? given : rank;
  for (int64_t i = 0; i < z->n; ++i) {
    z->axes[i] = given ? axes[i] + (axes[i] < 0 ? rank : 0) : i;
    if (z->axes[i] < 0 || z->axes[i] >= rank)
      return onnx_fail(z->c, "axis %lld is out of range", (long long)z->axes[i]), -1;
    if (!tir_as_int(tn_arr_obj(t->shape, z->axes[i]), &z->in[i].n)) {
      z->in[i].n = -1;
      TN_GET(z->in[i].e, onnx_cast(onnx_extent(onnx_in(z->c, 0), z->axes[i], TN_I64), TN_F64));
    }
    if (z->in[i].n == 0) return onnx_fail(z->c, "an axis of size zero cannot be resized"), -1;
  }
  return 0;
}

/* Number i of a vector of floats that is constant. */
static bool float_at(const void *e, int64_t i, double *out) {
  const tn_Constant *k = TN_AS(Constant, e);
  const DLTensor *t = k ? tn_tensor_dl(k->data) : NULL;
  if (!t || i >= tn_tensor_count(t) || t->dtype.code != kDLFloat) return false;
  if (t->dtype.bits == 32) *out = (double)((const float *)t->data)[i];
  else if (t->dtype.bits == 64) *out = ((const double *)t->data)[i];
  else return false;
  return true;
}

static int64_t length_of(const resize *z, int input) {
  const tn_TensorType *t = onnx_in_type(z->c, input);
  int64_t n;
  return t && t->shape->len == 1 && relay_known_int(t->shape, 0, &n) ? n : -1;
}

static int check_extent(const resize *z, double scale, double out) {
  if (isfinite(scale) && scale > 0 && out >= 0 && out <= 2147483647.0) return 0;
  return onnx_fail(z->c, "scales: %g is not a positive number that gives a valid shape", scale), -1;
}

/* Factors that are constant, from an input or (Upsample) an attribute. The product is one of
   float32, so that 1.3 times 10 is 13. */
static int known_scales(resize *z, const onnx_attr *list) {
  for (int64_t i = 0; i < z->n; ++i) {
    double s = 0;
    if (list) s = i < (int64_t)list->n_floats ? (double)list->floats[i] : 0;
    else if (!float_at(onnx_in(z->c, z->scales), i, &s))
      return onnx_fail(z->c, "scales must be floats"), -1;
    bool known = z->in[i].n >= 0;
    double out = known ? (double)floorf((float)z->in[i].n * (float)s) : 1;
    TN_TRY(check_extent(z, s, out));
    z->out[i].n = known ? (int64_t)out : -1;
    z->stays[i] = s == 1;
    TN_GET(z->scale[i], f64(s));
    if (!known)
      TN_GET(z->out[i].e, onnx_unary("floor", onnx_cast(mul(onnx_cast(z->in[i].e, TN_F32),
                                                            relay_const_float(TN_F32, s)),
                                                        TN_F64)));
  }
  return 0;
}

/* Sizes that are constant; with a policy one factor for all axes, the least or greatest. */
static int known_sizes(resize *z) {
  int64_t sizes[ONNX_MAX_NDIM], n;
  double all = 0;
  TN_TRY(onnx_values(z->c, z->sizes, "sizes", sizes, ONNX_MAX_NDIM, &n));
  bool keep = strcmp(z->policy, "stretch") != 0, least = strcmp(z->policy, "not_larger") == 0;
  for (int64_t i = 0; i < z->n; ++i) {
    double s = (double)sizes[i] / (double)z->in[i].n;
    TN_TRY(check_extent(z, s > 0 ? s : -1, (double)sizes[i]));
    if (i == 0 || (least ? s < all : s > all)) all = s;
  }
  for (int64_t i = 0; i < z->n; ++i) {
    double s = keep ? all : (double)sizes[i] / (double)z->in[i].n;
    z->out[i].n = keep ? (int64_t)floor(s * (double)z->in[i].n + 0.5) : sizes[i];
    z->stays[i] = s == 1 && z->in[i].n == z->out[i].n;
    TN_GET(z->scale[i], f64(s));
  }
  return 0;
}

/* Number i of a vector as a float64 scalar. */
static void *element(const resize *z, int input, int64_t i) {
  return onnx_squeeze(onnx_part(onnx_cast(onnx_in(z->c, input), TN_F64), 0, i, i + 1), 0);
}

/* Sizes as far as they are known: numbers, and extents of the data as they are. */
static int open_sizes(resize *z) {
  onnx_number all[ONNX_MAX_NUMBERS];
  int64_t n = onnx_numbers(onnx_in(z->c, z->sizes), all);
  for (int64_t i = 0; i < z->n; ++i) {
    const onnx_number *k = n == z->n && n <= ONNX_MAX_NUMBERS ? &all[i] : NULL;
    z->out[i].n = k && k->kind == ONNX_NUMBER ? k->value : -1;
    z->stays[i] =
        (k && k->kind == ONNX_EXTENT && k->of == onnx_in(z->c, 0) && k->value == z->axes[i]) ||
        (z->out[i].n >= 0 && z->out[i].n == z->in[i].n);
    if (z->out[i].n < 0) TN_GET(z->out[i].e, typed(element(z, z->sizes, i)));
    TN_GET(z->scale[i], typed(divide(size_of(&z->out[i]), size_of(&z->in[i]))));
  }
  return 0;
}

static int open_scales(resize *z) {
  for (int64_t i = 0; i < z->n; ++i) {
    TN_GET(z->scale[i], typed(element(z, z->scales, i)));
    z->out[i].n = -1;
    void *product = mul(onnx_cast(size_of(&z->in[i]), TN_F32), onnx_cast(z->scale[i], TN_F32));
    TN_GET(z->out[i].e, typed(onnx_unary("floor", onnx_cast(product, TN_F64))));
  }
  return 0;
}

/* One factor for all axes: extents follow from it. */
static int keep_aspect(resize *z) {
  bool least = strcmp(z->policy, "not_larger") == 0;
  void *all = NULL;
  if (strcmp(z->policy, "stretch") == 0) return 0;
  for (int64_t i = 0; i < z->n; ++i)
    all = all ? onnx_binary(least ? "minimum" : "maximum", all, z->scale[i]) : z->scale[i];
  TN_GET(all, typed(all));
  for (int64_t i = 0; i < z->n; ++i) {
    void *size = add(mul(all, size_of(&z->in[i])), f64(0.5));
    z->scale[i] = all;
    z->stays[i] = false;
    z->out[i].n = -1;
    TN_GET(z->out[i].e, typed(onnx_unary("floor", size)));
  }
  return 0;
}

/* Numbers computed at run time, or sizes for dynamic extents: those that the model states are used.
   */
static int open_factors(resize *z, bool by_size) {
  const tn_arr *shape = onnx_is_stated(z->c) ? onnx_declared_shape(z->c, 0) : NULL;
  TN_TRY(by_size ? open_sizes(z) : open_scales(z));
  if (by_size) TN_TRY(keep_aspect(z));
  for (int64_t i = 0; shape && i < z->n; ++i) {
    if (z->axes[i] >= shape->len) return onnx_fail(z->c, "the stated extents do not fit"), -1;
    z->out[i].n = onnx_stated_extent(shape, z->axes[i]);
  }
  return 0;
}

static bool all_known(const resize *z) {
  for (int64_t i = 0; i < z->n; ++i)
    if (z->in[i].n < 0) return false;
  return true;
}

static int read_factors(resize *z) {
  const onnx_attr *list = onnx_node_attr(z->c, "scales");
  bool by_size = onnx_in(z->c, z->sizes) && length_of(z, z->sizes) != 0;
  int input = by_size ? z->sizes : z->scales;
  if (list) return z->known = true, known_scales(z, list);
  if (!onnx_in(z->c, input) || length_of(z, input) != z->n)
    return onnx_fail(z->c, "scales or sizes: expected %lld numbers, as the shape has dimensions",
                     (long long)z->n),
           -1;
  z->known = !onnx_runs(z->c, input) && (!by_size || all_known(z));
  if (!z->known) return open_factors(z, by_size);
  return by_size ? known_sizes(z) : known_scales(z, NULL);
}

/* ---- places ---- */

static bool is(const char *a, const char *b) { return strcmp(a, b) == 0; }

/* Begin and end of the part that is resized, as fractions. */
static void *roi_at(const resize *z, int64_t i) {
  void *v = onnx_cast(onnx_in(z->c, z->roi), TN_F64);
  return onnx_squeeze(onnx_part(v, 0, i, i + 1), 0);
}

/* Coordinates of the places of axis i: float64 [out]. */
static void *coordinates(const resize *z, int64_t i) {
  const extent *out = &z->out[i];
  void *in = size_of(&z->in[i]), *o = count_to(out, 1), *s = z->scale[i], *half = f64(0.5),
       *one = f64(1);
  void *centre = sub(divide(add(o, half), s), half), *zeros = mul(o, f64(0));
  if (is(z->place, "asymmetric")) return divide(o, s);
  if (is(z->place, "half_pixel")) return centre;
  if (is(z->place, "pytorch_half_pixel")) return if_several(out, centre, zeros);
  if (is(z->place, "tf_half_pixel_for_nn")) return divide(add(o, half), s);
  if (is(z->place, "half_pixel_symmetric")) {
    void *offset = sub(one, divide(size_of(out), mul(s, in)));
    return add(mul(offset, mul(in, half)), centre);
  }
  if (is(z->place, "align_corners")) {
    void *last = sub(mul(s, in), one); /* of the result, whose size may be a fraction */
    return if_several(out, divide(mul(o, sub(in, one)), last), zeros);
  }
  if (!is(z->place, "tf_crop_and_resize"))
    return onnx_fail(z->c, "coordinate_transformation_mode: %s is not known", z->place);
  if (!onnx_in(z->c, z->roi) || length_of(z, z->roi) != 2 * z->n)
    return onnx_fail(z->c, "roi: expected %lld numbers", (long long)(2 * z->n));
  void *from = roi_at(z, i), *to = roi_at(z, i + z->n), *last = sub(in, one);
  void *middle = add(zeros, mul(add(from, to), mul(half, last)));
  void *step = divide(mul(sub(to, from), last), sub(size_of(out), one));
  return if_several(out, add(mul(from, last), mul(o, step)), middle);
}

static void *nearest_place(const resize *z, void *at) {
  if (is(z->nearest, "floor")) return onnx_unary("floor", at);
  if (is(z->nearest, "ceil")) return onnx_unary("ceil", at);
  if (is(z->nearest, "round_prefer_ceil")) return onnx_unary("floor", add(at, f64(0.5)));
  if (is(z->nearest, "round_prefer_floor")) return onnx_unary("ceil", sub(at, f64(0.5)));
  return onnx_fail(z->c, "nearest_mode: %s is not known", z->nearest);
}

/* ---- kernels ---- */

static void *linear_kernel(void *d) {
  return onnx_binary("maximum", sub(f64(1), onnx_unary("abs", d)), f64(0));
}

/* Keys' cubic with coefficient a, 0 from a distance of 2 on. */
static void *cubic_kernel(void *d, double a) {
  void *x = onnx_unary("abs", d), *xx = mul(x, x), *xxx = mul(xx, x);
  void *inner = add(sub(mul(xxx, f64(a + 2)), mul(xx, f64(a + 3))), f64(1));
  void *outer = sub(mul(xxx, f64(a)), mul(xx, f64(5 * a)));
  outer = sub(add(outer, mul(x, f64(8 * a))), f64(4 * a));
  void *far = onnx_where(onnx_binary("less", x, f64(2)), outer, f64(0));
  return onnx_where(onnx_binary("less_equal", x, f64(1)), inner, far);
}

/* Weights of elements p [n, out] around places at [out]; each column has the sum 1. */
static void *weights(const resize *z, int64_t i, void *p, void *at) {
  bool cubic = is(z->mode, "cubic");
  void *d = sub(p, at);
  if (z->antialias) d = mul(d, onnx_binary("minimum", z->scale[i], f64(1)));
  void *w = cubic ? cubic_kernel(d, onnx_float(z->c, "cubic_coeff_a", -0.75)) : linear_kernel(d);
  if (z->exclude) {
    void *in = onnx_binary("logical_and", onnx_binary("greater_equal", p, f64(0)),
                           onnx_binary("less_equal", p, sub(size_of(&z->in[i]), f64(1))));
    w = onnx_where(in, w, f64(0));
  }
  if (!z->exclude && !z->antialias) return w;
  return divide(w, onnx_reduce("sum", w, (int64_t[]){0}, 1, true));
}

/* How many elements around a place are looked at: more than two or four when data is shrunk. */
static extent reach(const resize *z, int64_t i) {
  int64_t n = is(z->mode, "cubic") ? 4 : 2, in = z->in[i].n, out = z->out[i].n;
  if (!z->antialias || (in >= 0 && out >= in) || out == 0) return (extent){n, NULL};
  if (in >= 0 && out > 0) return (extent){2 * ((n / 2 * in + out - 1) / out + 1), NULL};
  void *each = divide(mul(f64((double)(n / 2)), size_of(&z->in[i])), size_of(&z->out[i]));
  void *least = onnx_binary("maximum", onnx_unary("ceil", each), f64((double)(n / 2)));
  return (extent){-1, typed(mul(f64(2), add(least, f64(1))))};
}

/* Sum over k of x[p[k][o]] * w[k][o] along the axis. */
static void *weighted(void *x, void *p, void *w, int64_t axis, int64_t rank) {
  void *picked = onnx_take(x, p, axis);
  if (rank - 1 - axis > 0) w = onnx_expand_dims(w, 2, rank - 1 - axis);
  return onnx_reduce("sum", mul(picked, w), &axis, 1, false);
}

static void *resize_axis(const resize *z, void *x, int64_t i) {
  int64_t rank = onnx_rank(z->c, 0), axis = z->axes[i];
  void *at = coordinates(z, i), *p, *last = sub(size_of(&z->in[i]), f64(1));
  TN_GETP(at, typed(at));
  if (is(z->mode, "nearest")) {
    p = nearest_place(z, at);
    x = p ? onnx_take(x, onnx_cast(limited(p, last), TN_I32), axis) : NULL;
  } else {
    extent n = reach(z, i);
    void *before = n.n >= 0 ? f64((double)(n.n / 2 - 1)) : sub(mul(n.e, f64(0.5)), f64(1));
    p = add(onnx_unary("floor", at), sub(count_to(&n, 2), before));
    void *w = p ? onnx_cast(weights(z, i, p, at), TN_F32) : NULL;
    x = w ? weighted(x, onnx_cast(limited(p, last), TN_I32), w, axis, rank) : NULL;
  }
  if (!x || !is(z->place, "tf_crop_and_resize")) return x;
  void *outside =
      onnx_binary("logical_or", onnx_binary("less", at, f64(0)), onnx_binary("greater", at, last));
  if (axis + 1 < rank) outside = onnx_expand_dims(outside, 1, rank - 1 - axis);
  return onnx_where(outside, relay_const_float(TN_F32, onnx_float(z->c, "extrapolation_value", 0)),
                    x);
}

/* ---- images ---- */

/* Batch and channels as they are, two axes resized by factors that give whole extents. */
static bool is_image(const resize *z) {
  if (!z->known || onnx_rank(z->c, 0) != 4 || z->antialias || z->exclude ||
      is(z->policy, "not_larger") || is(z->policy, "not_smaller"))
    return false;
  if (!is(z->place, "half_pixel") && !is(z->place, "asymmetric") && !is(z->place, "align_corners"))
    return false;
  if (is(z->mode, "nearest") && is(z->place, "align_corners")) return false;
  const tn_arr *shape = onnx_in_type(z->c, 0)->shape;
  int64_t height, width;
  if (!relay_known_int(shape, 2, &height) || !relay_known_int(shape, 3, &width)) return false;
  for (int64_t i = 0; i < z->n; ++i) {
    double s;
    if (z->axes[i] < 2 && !z->stays[i]) return false;
    if (z->axes[i] < 2) continue;
    bool known = z->in[i].n >= 0 && relay_as_scalar(z->scale[i], &s);
    if (!known || (double)z->in[i].n * s != (double)z->out[i].n) return false;
  }
  return true;
}

static void *resize_image(const resize *z, void *x) {
  static const char *const methods[][2] = {
      {"nearest", "nearest_neighbor"}, {"linear", "linear"}, {"cubic", "cubic"}};
  const char *method = "linear";
  int64_t size[2];
  for (int i = 0; i < 2; ++i) TN_TRYP(onnx_known_extent(z->c, 0, i + 2, &size[i]));
  for (int i = 0; i < TN_COUNT(methods); ++i)
    if (is(z->mode, methods[i][0])) method = methods[i][1];
  for (int64_t i = 0; i < z->n; ++i)
    if (z->axes[i] >= 2) size[z->axes[i] - 2] = z->out[i].n;
  void *a =
      relay_attrs("image.resize2d", 5, "size", tn_any_obj(relay_ints(size, 2)), "method",
                  tn_any_cstr(method), "coordinate_transformation_mode", tn_any_cstr(z->place),
                  "rounding_method", tn_any_cstr(is(z->mode, "nearest") ? z->nearest : ""),
                  "cubic_alpha", tn_any_float(onnx_float(z->c, "cubic_coeff_a", -0.75)));
  return a ? relay_call("image.resize2d", a, 1, x) : NULL;
}

static void *resized(resize *z) {
  const tn_TensorType *t = onnx_in_type(z->c, 0);
  TN_TRYP(read_axes(z));
  TN_TRYP(read_factors(z));
  bool nearest = is(z->mode, "nearest");
  if (!nearest && !is(z->mode, "linear") && !is(z->mode, "cubic"))
    return onnx_fail(z->c, "mode: %s is not known", z->mode);
  bool floats = tn_dtype_eq(t->dtype, TN_F32),
       plain = nearest && !is(z->place, "tf_crop_and_resize");
  void *x = floats || plain ? onnx_in(z->c, 0) : onnx_cast(onnx_in(z->c, 0), TN_F32);
  bool simple_rounding = is(z->nearest, "floor") || is(z->nearest, "ceil");
  if (is_image(z) && floats && (!nearest || simple_rounding)) return resize_image(z, x);
  for (int64_t i = 0; x && i < z->n; ++i)
    if (!z->stays[i] || is(z->place, "tf_crop_and_resize")) x = resize_axis(z, x, i);
  if (!x || floats || plain) return x;
  return onnx_cast(ir_is_integral(t->dtype) ? onnx_round_even(x, TN_F32) : x, t->dtype);
}

static void text_of(const onnx_ctx *c, const char *name, const char *absent, char *out,
                    size_t size) {
  char own[40];
  const char *v = onnx_text(c, name, absent, own, sizeof own);
  size_t n = strlen(v);
  if (n >= size) n = size - 1;
  memcpy(out, v, n);
  out[n] = '\0';
}

static void *convert_resize(onnx_ctx *c) {
  resize z = {.c = c, .roi = 1, .scales = 2, .sizes = 3};
  if (c->opset < 11) z.roi = z.sizes = -1, z.scales = 1;
  text_of(c, "mode", "nearest", z.mode, sizeof z.mode);
  text_of(c, "coordinate_transformation_mode", c->opset < 11 ? "asymmetric" : "half_pixel", z.place,
          sizeof z.place);
  text_of(c, "nearest_mode", c->opset < 11 ? "floor" : "round_prefer_floor", z.nearest,
          sizeof z.nearest);
  text_of(c, "keep_aspect_ratio_policy", "stretch", z.policy, sizeof z.policy);
  z.antialias = onnx_int(c, "antialias", 0) != 0;
  z.exclude = onnx_int(c, "exclude_outside", 0) != 0;
  return resized(&z);
}

static void *upsample(onnx_ctx *c) {
  resize z = {.c = c,
              .roi = -1,
              .scales = 1,
              .sizes = -1,
              .place = "asymmetric",
              .nearest = "floor",
              .policy = "stretch"};
  text_of(c, "mode", "nearest", z.mode, sizeof z.mode);
  if (is(z.mode, "bilinear")) memcpy(z.mode, "linear", sizeof "linear");
  return resized(&z);
}

/* ---- places from a grid ---- */

static void *grid_sample(onnx_ctx *c) {
  static const char *const methods[][2] = {{"linear", "bilinear"}, {"cubic", "bicubic"}};
  char mode[16], padding[16];
  int64_t rank = onnx_rank(c, 0), axes[5] = {0};
  const char *method =
      onnx_text(c, "mode", c->opset < 20 ? "bilinear" : "linear", mode, sizeof mode);
  for (int i = 0; i < TN_COUNT(methods); ++i)
    if (is(method, methods[i][0])) method = methods[i][1];
  if (rank < 4 || rank > 5 || onnx_rank(c, 1) != rank)
    return onnx_fail(c, "expected shapes of 4 or 5 dimensions, got %lld", (long long)rank);
  axes[1] = rank - 1;
  for (int64_t i = 2; i < rank; ++i) axes[i] = i - 1;
  void *grid = onnx_transpose(onnx_in(c, 1), axes, rank);
  void *a = relay_attrs("image.grid_sample", 4, "method", tn_any_cstr(method), "layout",
                        tn_any_cstr(rank == 4 ? "NCHW" : "NCDHW"), "padding_mode",
                        tn_any_cstr(onnx_text(c, "padding_mode", "zeros", padding, sizeof padding)),
                        "align_corners", tn_any_bool(onnx_int(c, "align_corners", 0) != 0));
  return a && grid ? relay_call("image.grid_sample", a, 2, onnx_in(c, 0), grid) : NULL;
}

static const onnx_row rows[] = {
    {"Resize", convert_resize, 1, 4},
    {"Upsample", upsample, 1, 2},
    {"GridSample", grid_sample, 2, 2},
};
const onnx_table onnx_resize = {rows, TN_COUNT(rows), ""};
