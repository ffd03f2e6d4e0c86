/* Images, rows and volumes of another size: image.resize1d, 2d, 3d, nn.upsampling, upsampling3d.

     image.resize2d(%x, size=[4, 4], method="linear")
         Tensor[(1, 3, 2, 2), float32] -> Tensor[(1, 3, 4, 4), float32]

   A place of the result has a coordinate in data (the transformation mode says which), and its
   value comes of the nearest element, of the two beside it or of four along each axis. */
#include <math.h>
#include <string.h>

#include "ir/imm.h"
#include "ops/dynamic.h"
#include "ops/layout.h"
#include "ops/ops.h"
#include "tir/layout.h"

#define RESIZE_FIELDS(F, S, layout_)                                                               \
  F(S, REF, Array, size, 0, "extents of the result")                                               \
  OPEN_RESIZE_FIELDS(F, S, layout_)
#define OPEN_RESIZE_FIELDS(F, S, layout_)                                                          \
  F(S, REF, Array, roi, TN_OPT, "begin and end of the part that is resized, from 0 to 1", "None")  \
  F(S, REF, String, layout, 0, "layout of data", layout_)                                          \
  F(S, REF, String, method, 0, "\"nearest_neighbor\", \"linear\" or \"cubic\"", "\"linear\"")      \
  F(S, REF, String, coordinate_transformation_mode, 0, "which coordinate a place has",             \
    "\"half_pixel\"")                                                                              \
  F(S, REF, String, rounding_method, 0, "which element is the nearest", "\"\"")                    \
  F(S, F64, , cubic_alpha, 0, "coefficient of the spline", "-0.5")                                 \
  F(S, I64, , cubic_exclude, 0, "do elements outside of data have no weight?", "0")                \
  F(S, F64, , extrapolation_value, 0, "what is outside of data", "0.0")                            \
  F(S, DTYPE, , out_dtype, 0, "type of the result, that of data when empty", "\"\"")
#define TN_FIELDS_Resize1DAttrs(F, S)    RESIZE_FIELDS(F, S, "\"NCW\"")
#define TN_FIELDS_Resize2DAttrs(F, S)    RESIZE_FIELDS(F, S, "\"NCHW\"")
#define TN_FIELDS_Resize3DAttrs(F, S)    RESIZE_FIELDS(F, S, "\"NCDHW\"")
#define TN_FIELDS_DynResize2DAttrs(F, S) OPEN_RESIZE_FIELDS(F, S, "\"NCHW\"")
#define TN_FIELDS_UpSamplingAttrs(F, S)                                                            \
  F(S, F64, , scale_h, 0, "factor of the height", "1.0")                                           \
  F(S, F64, , scale_w, 0, "factor of the width", "1.0")                                            \
  TN_FIELDS_DynUpSamplingAttrs(F, S)
#define TN_FIELDS_DynUpSamplingAttrs(F, S)                                                         \
  F(S, REF, String, layout, 0, "layout of data", "\"NCHW\"")                                       \
  F(S, REF, String, method, 0, "\"nearest_neighbor\", \"bilinear\" or \"bicubic\"",                \
    "\"nearest_neighbor\"")                                                                        \
  F(S, BOOL, , align_corners, 0, "do corners stay where they are?", "False")
#define TN_FIELDS_UpSampling3DAttrs(F, S)                                                          \
  F(S, F64, , scale_d, 0, "factor of the depth", "1.0")                                            \
  F(S, F64, , scale_h, 0, "factor of the height", "1.0")                                           \
  F(S, F64, , scale_w, 0, "factor of the width", "1.0")                                            \
  TN_FIELDS_DynUpSampling3DAttrs(F, S)
#define TN_FIELDS_DynUpSampling3DAttrs(F, S)                                                       \
  F(S, REF, String, layout, 0, "layout of data", "\"NCDHW\"")                                      \
  F(S, REF, String, method, 0, "\"nearest_neighbor\" or \"trilinear\"", "\"nearest_neighbor\"")    \
  F(S, REF, String, coordinate_transformation_mode, 0, "which coordinate a place has",             \
    "\"half_pixel\"")
#define RESIZE_ATTRS(N)                                                                            \
  N(Resize1DAttrs, Attrs, "relay.attrs.Resize1DAttrs", NODE, TREE, tn_no_hooks,                    \
    "attributes of image.resize1d")                                                                \
  N(Resize2DAttrs, Attrs, "relay.attrs.Resize2DAttrs", NODE, TREE, tn_no_hooks,                    \
    "attributes of image.resize2d")                                                                \
  N(Resize3DAttrs, Attrs, "relay.attrs.Resize3DAttrs", NODE, TREE, tn_no_hooks,                    \
    "attributes of image.resize3d")                                                                \
  N(UpSamplingAttrs, Attrs, "relay.attrs.UpSamplingAttrs", NODE, TREE, tn_no_hooks,                \
    "attributes of nn.upsampling")                                                                 \
  N(DynResize2DAttrs, Attrs, "relay.attrs.DynResize2DAttrs", NODE, TREE, tn_no_hooks,              \
    "attributes of dyn.image.resize2d")                                                            \
  N(DynUpSamplingAttrs, Attrs, "relay.attrs.DynUpSamplingAttrs", NODE, TREE, tn_no_hooks,          \
    "attributes of dyn.nn.upsampling")                                                             \
  N(DynUpSampling3DAttrs, Attrs, "relay.attrs.DynUpSampling3DAttrs", NODE, TREE, tn_no_hooks,      \
    "attributes of dyn.nn.upsampling3d")                                                           \
  N(UpSampling3DAttrs, Attrs, "relay.attrs.UpSampling3DAttrs", NODE, TREE, tn_no_hooks,            \
    "attributes of nn.upsampling3d")
TN_NODES_LOCAL(RESIZE_ATTRS)

enum { MAX_SPATIAL = 3, MAX_TAPS = 4, SCALES = 8 };
typedef enum { NEAREST, LINEAR, CUBIC } method;

/* row->which: number of spatial axes, + SCALES where factors are given rather than sizes */
typedef struct {
  int n;
  method method;
  bool exclude;
  double alpha, outside;
  const char *mode, *rounding;
  const tn_arr *roi;
  tn_Tensor *data;
  tn_arr *shape; /* of the result */
  int64_t axis[MAX_SPATIAL];
  tn_dtype out_dtype;
} resize;

static const char *letters(int n) { return &"DHW"[MAX_SPATIAL - n]; }

static int read_method(const char *name, method *out) {
  bool nearest = strcmp(name, "nearest_neighbor") == 0, cubic = strstr(name, "cubic") != NULL;
  *out = nearest ? NEAREST : cubic ? CUBIC : LINEAR;
  TN_CHECK(nearest || cubic || strstr(name, "linear"), ValueError, NULL,
           "unknown method \"%s\": expected nearest_neighbor, linear or cubic", name);
  return 0;
}

static const char *mode_of(const void *attrs, bool scales) {
  const char *mode = relay_attr_str(attrs, "coordinate_transformation_mode");
  if (!scales || *mode) return mode;
  return relay_attr_int(attrs, "align_corners", 0) ? "align_corners" : "asymmetric";
}

static int read_resize(const relay_op_row *row, const void *attrs, resize *z) {
  *z = (resize){.n = (int)(row->which % SCALES),
                .alpha = relay_attr_float(attrs, "cubic_alpha", -0.5),
                .exclude = relay_attr_int(attrs, "cubic_exclude", 0) != 0,
                .outside = relay_attr_float(attrs, "extrapolation_value", 0),
                .mode = mode_of(attrs, row->which > SCALES),
                .rounding = relay_attr_str(attrs, "rounding_method"),
                .roi = relay_attr_obj(attrs, "roi")};
  static const char *const modes[] = {"half_pixel",           "align_corners",
                                      "asymmetric",           "pytorch_half_pixel",
                                      "tf_half_pixel_for_nn", "tf_crop_and_resize"};
  const char *layout = relay_attr_str(attrs, "layout");
  bool known = false;
  tn_Layout *l;
  for (int i = 0; i < TN_COUNT(modes); ++i) known = known || strcmp(z->mode, modes[i]) == 0;
  TN_CHECK(known, ValueError, NULL, "unknown coordinate_transformation_mode \"%s\"", z->mode);
  TN_TRY(read_method(relay_attr_str(attrs, "method"), &z->method));
  if (!*z->rounding) z->rounding = strcmp(z->mode, "align_corners") == 0 ? "round" : "floor";
  TN_CHECK(strcmp(z->mode, "tf_crop_and_resize") != 0 || (z->roi && z->roi->len == 2 * z->n),
           ValueError, NULL, "tf_crop_and_resize needs a roi of %d numbers", 2 * z->n);
  TN_GET(l, tir_layout(layout, TN_I32));
  for (int i = 0; i < z->n; ++i) {
    char letter = letters(z->n)[i];
    z->axis[i] = tir_layout_index(l, letter);
    TN_CHECK(z->axis[i] >= 0 && tir_layout_factor(l, letter) < 0, ValueError, NULL,
             "layout %s: axis %c must be there and not be split", layout, letter);
  }
  return 0;
}

/* Extent of the result for extent `e` of spatial axis i: by size, or by factor, rounded. */
static tn_expr *out_extent(const relay_op_row *row, const void *attrs, const resize *z, int i,
                           tn_expr *e) {
  static const char *const names[] = {"scale_d", "scale_h", "scale_w"};
  if (row->which < SCALES) return (tn_expr *)tn_arr_obj(relay_attr_obj(attrs, "size"), i);
  double scale = relay_attr_float(attrs, names[MAX_SPATIAL - z->n + i], 1);
  TN_CHECKP(scale >= 0 && scale <= INT32_MAX, ValueError, NULL,
            "%s: expected a factor of 32 bits that is not negative, got %g",
            names[MAX_SPATIAL - z->n + i], scale);
  if (scale == (double)(int32_t)scale) return relay_dim_times(e, (int32_t)scale);
  if (relay_dim_is_any(e)) return relay_any();
  int64_t n;
  if (tir_as_int((tn_obj *)e, &n)) return relay_dim_int(llround((double)n * scale));
  tn_expr *x = tir_mul(tir_cast(TN_F64, e, NULL), tir_const_float(TN_F64, scale));
  return tir_cast(e->dtype, tir_rounding(TIR_OP_round, x, NULL), NULL);
}

static tn_arr *out_shape(const relay_op_row *row, const void *attrs, const resize *z,
                         const tn_arr *data) {
  const tn_arr *size = relay_attr_obj(attrs, "size");
  TN_VEC(out);
  TN_CHECKP(row->which > SCALES || (size && size->len == z->n), ValueError, NULL,
            "size must have %d numbers", z->n);
  TN_CHECKP(data->len >= z->n + 2, ValueError, NULL, "data of %lld dimensions has no layout %s",
            (long long)data->len, relay_attr_str(attrs, "layout"));
  for (int64_t k = 0; k < data->len; ++k) {
    tn_expr *e = (tn_expr *)tn_arr_obj(data, k);
    for (int i = 0; i < z->n; ++i) {
      if (z->axis[i] == k) e = out_extent(row, attrs, z, i, e);
    }
    TN_TRYP(tn_vec_push_obj(&out, e));
  }
  return tn_arr_from(&out);
}

static tn_dtype out_dtype(const void *attrs, tn_dtype data) {
  const tn_type *type = ((const tn_obj *)attrs)->type;
  tn_dtype t = {0};
  if (type == &tn_type_Resize1DAttrs) t = ((const tn_Resize1DAttrs *)attrs)->out_dtype;
  if (type == &tn_type_Resize2DAttrs) t = ((const tn_Resize2DAttrs *)attrs)->out_dtype;
  if (type == &tn_type_Resize3DAttrs) t = ((const tn_Resize3DAttrs *)attrs)->out_dtype;
  if (type == &tn_type_DynResize2DAttrs) t = ((const tn_DynResize2DAttrs *)attrs)->out_dtype;
  return t.bits ? t : data;
}

static int relation(relay_rel *r) {
  const relay_op_row *row = relay_op_row_of((const tn_obj *)r->op);
  resize z;
  RELAY_TENSOR(data, r, 0);
  if (read_resize(row, r->attrs, &z)) return ops_rel_failed(r);
  tn_arr *shape = out_shape(row, r->attrs, &z, data->shape);
  if (!shape) return ops_rel_failed(r);
  for (int i = 0; i < z.n; ++i)
    TN_TRY(ops_rel_takes(r, relay_dim(data, z.axis[i]), shape, "a spatial axis of data"));
  return relay_rel_result(r, relay_tensor_type(shape, out_dtype(r->attrs, data->dtype)));
}

/* ---- coordinates ---- */

static tn_expr *real(tn_expr *e) { return tir_cast(TN_F32, e, NULL); }
static bool is(const char *a, const char *b) { return strcmp(a, b) == 0; }

/* Coordinate of place `o` in the part of data that is cropped. */
static tn_expr *cropped(const resize *z, int i, tn_expr *o, tn_expr *from, tn_expr *to) {
  tn_expr *start = real((tn_expr *)tn_arr_obj(z->roi, i)),
          *end = real((tn_expr *)tn_arr_obj(z->roi, z->n + i));
  tn_expr *one = tir_one(from->dtype), *last = real(tir_sub(from, one));
  tn_expr *middle = tir_mul(tir_mul(tir_f32(0.5), tir_add(start, end)), last);
  tn_expr *step =
      tir_div(tir_mul(tir_sub(end, start), last), real(tir_sub(to, tir_one(to->dtype))));
  return relay_if_one(to, middle, tir_add(tir_mul(start, last), tir_mul(real(o), step)));
}

/* Coordinate in data of place `o` of the result, float32. */
static tn_expr *coordinate(const resize *z, int i, tn_expr *o) {
  tn_expr *from = te_extent(z->data, z->axis[i]);
  tn_expr *to = (tn_expr *)tn_arr_obj(z->shape, z->axis[i]), *half = tir_f32(0.5);
  tn_expr *scale = tir_div(real(from), real(to)), *x = real(o);
  if (is(z->mode, "asymmetric")) return tir_mul(scale, x);
  if (is(z->mode, "tf_half_pixel_for_nn")) return tir_mul(tir_add(x, half), scale);
  if (is(z->mode, "tf_crop_and_resize")) return cropped(z, i, o, from, to);
  if (is(z->mode, "align_corners")) {
    tn_expr *last = tir_sub(from, tir_one(from->dtype));
    tn_expr *step = tir_div(real(last), real(tir_sub(to, tir_one(to->dtype))));
    return relay_if_one(to, tir_f32(0), tir_mul(step, x));
  }
  x = tir_sub(tir_mul(tir_add(x, half), scale), half);
  return is(z->mode, "pytorch_half_pixel") ? relay_if_one(to, tir_f32(0), x) : x;
}

/* ---- elements ---- */

/* A bit is added or taken so that coordinates that are whole but for rounding stay whole. */
static tn_expr *nearest(const resize *z, tn_expr *x) {
  tn_expr *half = tir_f32(0.5), *bit = tir_f32(1e-5);
  if (is(z->rounding, "round")) x = tir_rounding(TIR_OP_round, x, NULL);
  else if (is(z->rounding, "round_prefer_floor"))
    x = tir_rounding(TIR_OP_ceil, tir_sub(x, half), NULL);
  else if (is(z->rounding, "round_prefer_ceil"))
    x = tir_rounding(TIR_OP_floor, tir_add(x, half), NULL);
  else if (is(z->rounding, "ceil")) x = tir_rounding(TIR_OP_ceil, tir_sub(x, bit), NULL);
  else x = tir_rounding(TIR_OP_floor, tir_add(x, bit), NULL);
  return tir_cast(TN_I32, x, NULL);
}

/* Weights of four neighbours of a place at distance t behind the second. */
static void spline(double a, tn_expr *t, tn_expr **w) {
  tn_expr *t2 = tir_mul(t, t), *t3 = tir_mul(t2, t);
  w[0] = tir_mul(tir_f32(a), tir_add(tir_sub(t3, tir_mul(tir_f32(2), t2)), t));
  w[1] = tir_add(tir_sub(tir_mul(tir_f32(a + 2), t3), tir_mul(tir_f32(a + 3), t2)), tir_f32(1));
  w[2] = tir_sub(tir_sub(tir_mul(tir_f32(2 * a + 3), t2), tir_mul(tir_f32(a + 2), t3)),
                 tir_mul(tir_f32(a), t));
  w[3] = tir_mul(tir_f32(a), tir_sub(t2, t3));
}

static tn_expr *in_range(tn_expr *i, tn_expr *extent) {
  return tir_max(tir_min(i, tir_sub(extent, tir_one(extent->dtype))), tir_zero(i->dtype));
}

/* Elements outside of data weigh nothing, the others as much more. */
static void leave_out(tn_expr *const *index, tn_expr **w, tn_expr *extent) {
  tn_expr *sum = tir_f32(0);
  for (int k = 0; k < MAX_TAPS; ++k) {
    tn_expr *inside = tir_and(tir_ge(index[k], tir_zero(TN_I32)), tir_lt(index[k], extent));
    w[k] = tir_select(inside, w[k], tir_f32(0), NULL);
    sum = tir_add(sum, w[k]);
  }
  for (int k = 0; k < MAX_TAPS; ++k) w[k] = tir_div(w[k], sum);
}

/* The elements along spatial axis i that make the value at place `o`, and their weights. */
static int taps(const resize *z, int i, tn_expr *o, tn_expr **index, tn_expr **weight) {
  tn_expr *x, *extent = te_extent(z->data, z->axis[i]);
  int64_t from, to;
  const tn_obj *wide = tn_arr_obj(z->shape, z->axis[i]);
  bool times = z->method == NEAREST && is(z->mode, "asymmetric") && is(z->rounding, "floor") &&
               tir_as_int((tn_obj *)extent, &from) && tir_as_int(wide, &to) && from > 0 &&
               to % from == 0;
  if (times) {
    TN_GET(index[0], tir_floordiv(o, tir_const_int(o->dtype, to / from)));
    return 1;
  }
  TN_GET(x, coordinate(z, i, o));
  if (z->method == NEAREST) {
    TN_GET(index[0], in_range(nearest(z, x), extent));
    return 1;
  }
  int n = z->method == CUBIC ? 4 : 2, first = z->method == CUBIC ? -1 : 0;
  tn_expr *below = tir_rounding(TIR_OP_floor, x, NULL), *t = tir_sub(x, below);
  tn_expr *base = tir_cast(TN_I32, below, NULL);
  for (int k = 0; k < n; ++k) TN_GET(index[k], tir_add(base, tir_i32(first + k)));
  if (n == 2) weight[0] = tir_sub(tir_f32(1), t), weight[1] = t;
  else spline(z->alpha, t, weight);
  if (n == 4 && z->exclude) leave_out(index, weight, extent);
  for (int k = 0; k < n; ++k) TN_GET(index[k], in_range(index[k], extent));
  return n;
}

/* The value with the indices of spatial axes before `i` chosen. */
static tn_expr *value(const resize *z, int i, const tn_arr *at, tn_expr **chosen) {
  if (i == z->n) {
    TN_VEC(v);
    for (int64_t k = 0; k < at->len; ++k) {
      tn_expr *e = te_index(at, k);
      for (int s = 0; s < z->n; ++s) e = z->axis[s] == k ? chosen[s] : e;
      TN_TRYP(tn_vec_push_obj(&v, e));
    }
    tn_expr *x = te_at(z->data, tn_arr_from(&v));
    return !x || z->method == NEAREST || z->data->dtype.code == kDLFloat ? x : real(x);
  }
  tn_expr *index[MAX_TAPS], *weight[MAX_TAPS] = {NULL}, *sum = NULL;
  int n = taps(z, i, te_index(at, z->axis[i]), index, weight);
  if (n < 0) return NULL;
  for (int k = 0; k < n; ++k) {
    chosen[i] = index[k];
    tn_expr *e = value(z, i + 1, at, chosen);
    if (!e) return NULL;
    if (weight[k]) e = tir_mul(e, tir_cast(e->dtype, weight[k], NULL));
    sum = sum ? tir_add(sum, e) : e;
  }
  return sum;
}

static tn_expr *element(void *ctx, tn_arr *at) {
  const resize *z = ctx;
  tn_expr *chosen[MAX_SPATIAL], *inside = tir_bool(true);
  tn_expr *e = tir_cast(z->out_dtype, value(z, 0, at, chosen), NULL);
  if (!e || !is(z->mode, "tf_crop_and_resize")) return e;
  for (int i = 0; i < z->n; ++i) {
    tn_expr *x = coordinate(z, i, te_index(at, z->axis[i])), *n = te_extent(z->data, z->axis[i]);
    tn_expr *last = real(tir_sub(n, tir_one(n->dtype)));
    inside = tir_and(inside, tir_and(tir_ge(x, tir_f32(0)), tir_le(x, last)));
  }
  return tir_if_then_else(inside, e, tir_const_float(z->out_dtype, z->outside), NULL);
}

static tn_arr *compute(const relay_compute *c) {
  resize z;
  TN_TRYP(read_resize(c->row, c->attrs, &z));
  z.data = relay_input(c, 0);
  z.out_dtype = out_dtype(c->attrs, z.data->dtype);
  TN_GETP(z.shape, out_shape(c->row, c->attrs, &z, z.data->shape));
  return tn_arr_of(1, te_compute(z.shape, element, &z, "resize", TE_INJECTIVE));
}

static tn_arr *shape_function(const relay_shape_query *q) {
  resize z;
  TN_TRYP(read_resize(q->row, q->attrs, &z));
  return tn_arr_of(1, out_shape(q->row, q->attrs, &z, relay_shape_of(q, 0)));
}

/* ---- sizes or factors that are tensors ---- */

static bool is_spatial(const resize *z, int64_t axis) {
  for (int i = 0; i < z->n; ++i)
    if (z->axis[i] == axis) return true;
  return false;
}

/* A vector of sizes, or a scalar factor for each axis: RELAY_SOLVED, or what else there is. */
static int check_sizes(relay_rel *r, const relay_op_row *row, const resize *z) {
  int64_t len;
  if (row->which < SCALES) {
    int known = ops_vector_length(r, 1, &len);
    RELAY_CHECK(r, known != RELAY_SOLVED || len == z->n, "size must have %d numbers, got %lld",
                z->n, (long long)len);
    return known;
  }
  for (int i = 1; i <= z->n; ++i) {
    RELAY_TENSOR(scale, r, i);
    bool number = ir_is_floating(scale->dtype) || ir_is_integral(scale->dtype);
    RELAY_CHECK(r, scale->shape->len == 0 && number && scale->dtype.bits > 1,
                "argument %d: expected a factor, one number, got %s", i, relay_type_text(scale));
  }
  return RELAY_SOLVED;
}

static int open_relation(relay_rel *r) {
  const relay_op_row *row = relay_op_row_of((const tn_obj *)r->op);
  resize z;
  RELAY_TENSOR(data, r, 0);
  if (read_resize(row, r->attrs, &z)) return ops_rel_failed(r);
  int known = check_sizes(r, row, &z);
  if (known != RELAY_SOLVED) return known;
  RELAY_CHECK(r, data->shape->len >= z.n + 2, "data %s has no layout %s", relay_type_text(data),
              relay_attr_str(r->attrs, "layout"));
  TN_VEC(shape);
  for (int64_t k = 0; k < data->shape->len; ++k)
    TN_TRY(tn_vec_push_obj(&shape, is_spatial(&z, k) ? relay_any() : relay_dim(data, k)));
  return relay_rel_result(r,
                          relay_tensor_type(tn_arr_from(&shape), out_dtype(r->attrs, data->dtype)));
}

static tn_arr *open_compute(const relay_compute *c) {
  resize z;
  TN_TRYP(read_resize(c->row, c->attrs, &z));
  z.data = relay_input(c, 0);
  z.out_dtype = out_dtype(c->attrs, z.data->dtype);
  TN_GETP(z.shape, ops_open_extents(relay_out(c)));
  return tn_arr_of(1, te_compute(z.shape, element, &z, "resize", TE_INJECTIVE));
}

/* A size, or an extent times a factor: -1 where the product does not fit 32 bits. */
static tn_expr *open_extent(const relay_shape_query *q, int i, tn_expr *e) {
  if (q->row->which < SCALES) return ops_number_at(q, 1, i);
  const tn_Tensor *scale = q->values ? TN_AS(Tensor, tn_arr_obj(q->values, 1 + i)) : NULL;
  TN_CHECKP(scale, OpNotImplemented, NULL, "%s: its shape function reads the factors",
            q->row->name);
  tn_expr *x = tir_cast(TN_F64, te_at(scale, tn_arr_of(0)), NULL);
  x = tir_rounding(TIR_OP_round, tir_mul(tir_cast(TN_F64, e, NULL), x), NULL);
  tn_expr *fits =
      tir_and(tir_ge(x, tir_const_float(TN_F64, 0)), tir_le(x, tir_const_float(TN_F64, INT32_MAX)));
  return tir_cast(TN_I64, tir_select(fits, x, tir_const_float(TN_F64, -1), NULL), NULL);
}

static tn_arr *open_shape(const relay_shape_query *q) {
  const tn_arr *in = relay_shape_of(q, 0);
  resize z;
  TN_VEC(shape);
  TN_TRYP(read_resize(q->row, q->attrs, &z));
  for (int64_t k = 0; k < in->len; ++k) {
    tn_expr *e = (tn_expr *)tn_arr_obj(in, k), *to = e;
    for (int i = 0; i < z.n; ++i)
      if (z.axis[i] == k) TN_GETP(to, open_extent(q, i, e));
    if (is_spatial(&z, k)) /* of nothing, nothing is taken */
      relay_take_for_granted(tir_or(tir_lt(tir_i64(0), e), tir_eq(to, tir_i64(0))));
    TN_TRYP(tn_vec_push_obj(&shape, to));
  }
  return tn_arr_of(1, tn_arr_from(&shape));
}

#define OPEN(name_, inputs_, Attrs, mask_, which_, rel_name_, doc_)                                \
  OPS_DYNAMIC(name_, inputs_, &tn_type_##Attrs, mask_, rel_name_, open_relation, open_shape,       \
              open_compute, doc_, .which = which_)

#define RESIZE(name_, Attrs, level_, which_, rel_name_, ...)                                       \
  {                                                                                                \
    .name = name_, .inputs = "data", .attrs = &tn_type_##Attrs, .level = level_,                   \
    .pattern = RELAY_INJECTIVE, .rel_name = rel_name_, .rel = relation, .compute = compute,        \
    .shape = shape_function, .layouts = relay_layouts_by_attr, .convert = ops_convert_by_attr,     \
    .which = which_, .doc = __VA_ARGS__                                                            \
  }

static const relay_op_row rows[] = {
    RESIZE("image.resize1d", Resize1DAttrs, 5, 1, "Resize1d", "rows made as long as wanted",
           .values = RELAY_COMPUTED),
    RESIZE("image.resize2d", Resize2DAttrs, 5, 2, "Resize2d", "images made as large as wanted",
           .precision = RELAY_FOLLOWS, .values = RELAY_COMPUTED),
    RESIZE("image.resize3d", Resize3DAttrs, 5, 3, "Resize3d", "volumes made as large as wanted",
           .values = RELAY_COMPUTED),
    RESIZE("nn.upsampling", UpSamplingAttrs, 2, 2 + SCALES, "UpSampling",
           "images enlarged by factors", .precision = RELAY_FOLLOWS, .values = RELAY_COMPUTED),
    RESIZE("nn.upsampling3d", UpSampling3DAttrs, 2, 3 + SCALES, "UpSampling3D",
           "volumes enlarged by factors", .values = RELAY_COMPUTED),
    OPEN("dyn.image.resize2d", "data size", DynResize2DAttrs, 2, 2, "DynResize2D",
         "images made as large as a tensor says"),
    OPEN("dyn.nn.upsampling", "data scale_h scale_w", DynUpSamplingAttrs, 6, 2 + SCALES,
         "DynamicUpSampling", "images enlarged by factors that are tensors"),
    OPEN("dyn.nn.upsampling3d", "data scale_d scale_h scale_w", DynUpSampling3DAttrs, 14,
         3 + SCALES, "DynamicUpSampling3D", "volumes enlarged by factors that are tensors"),
};

RELAY_FAMILY(resize, RESIZE_ATTRS)
