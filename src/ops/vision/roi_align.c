/* Regions of feature maps brought to one size.

     vision.roi_align(%data, %rois, pooled_size=[5, 5], spatial_scale=0.25)
         Tensor[(n, c, h, w)], Tensor[(r, 5)] -> Tensor[(r, c, 5, 5)]
     with layout="NHWC":
         Tensor[(n, h, w, c)], Tensor[(r, 5)] -> Tensor[(r, 5, 5, c)]

   A row of rois is the number of an image and a box x1, y1, x2, y2. The box is cut into
   pooled_size parts; each becomes the mean, or the greatest, of samples at sample_ratio places
   along each axis (as many as the part has elements when that is not positive), which are
   interpolated linearly and 0 outside of the image (He et al., Mask R-CNN, 2017). */
#include "ir/imm.h"
#include "ops/layout.h"
#include "ops/ops.h"

#define TN_FIELDS_ROIAlignAttrs(F, S)                                                              \
  F(S, REF, Array, pooled_size, TN_INTS, "height and width of the result")                         \
  F(S, F64, , spatial_scale, 0, "factor from the boxes to the data")                               \
  F(S, I64, , sample_ratio, 0, "samples along each axis of a part; not positive: as it needs",     \
    "-1")                                                                                          \
  F(S, REF, String, layout, 0, "\"NCHW\" or \"NHWC\"", "\"NCHW\"")                                 \
  F(S, REF, String, mode, 0,                                                                       \
    "\"avg\", \"max\", or \"corner_max\": of the four elements around a place, each times its "    \
    "weight",                                                                                      \
    "\"avg\"")                                                                                     \
  F(S, BOOL, , aligned, 0,                                                                         \
    "are centres of elements at halves? Boxes may then be smaller than an element", "False")
#define ROI_ALIGN_ATTRS(N)                                                                         \
  N(ROIAlignAttrs, Attrs, "relay.attrs.ROIAlignAttrs", NODE, TREE, tn_no_hooks,                    \
    "attributes of vision.roi_align")
TN_NODES_LOCAL(ROI_ALIGN_ATTRS)

enum { MAX_SAMPLES = 1024 }; /* along an axis, whatever a box says */

/* ---- relation ---- */

/* Axes of data and of the result: the first is an image or a box, columns follow rows. */
static int channel_axis(const tn_ROIAlignAttrs *a) { return tn_str_eq(a->layout, "NHWC") ? 3 : 1; }
static int row_axis(const tn_ROIAlignAttrs *a) { return tn_str_eq(a->layout, "NHWC") ? 1 : 2; }

static tn_arr *out_shape(const tn_ROIAlignAttrs *a, const tn_arr *data, const tn_arr *rois) {
  tn_obj *axes[4] = {tn_arr_obj(rois, 0)};
  axes[channel_axis(a)] = tn_arr_obj(data, channel_axis(a));
  for (int i = 0; i < 2; ++i) axes[row_axis(a) + i] = tn_arr_obj(a->pooled_size, i);
  return tn_arr_of(4, axes[0], axes[1], axes[2], axes[3]);
}

static int relation(relay_rel *r) {
  const tn_ROIAlignAttrs *a = r->attrs;
  RELAY_TENSOR(data, r, 0);
  RELAY_TENSOR(rois, r, 1);
  RELAY_CHECK(r, data->shape->len == 4 && rois->shape->len == 2,
              "expected data of 4 dimensions and rois of 2, got %s", relay_type_text(data));
  RELAY_CHECK(r, relay_dim_equal(relay_dim(rois, 1), tir_i64(5)) != 0,
              "a row of rois must have 5 numbers, got %s", relay_type_text(rois));
  RELAY_CHECK(r,
              a->pooled_size->len == 2 && relay_listed(a->pooled_size, 0) > 0 &&
                  relay_listed(a->pooled_size, 1) > 0,
              "pooled_size must be two positive numbers");
  RELAY_CHECK(r, tn_str_eq(a->layout, "NCHW") || tn_str_eq(a->layout, "NHWC"),
              "layout %s is not supported: expected NCHW or NHWC", tn_cstr(a->layout));
  RELAY_CHECK(
      r, tn_str_eq(a->mode, "avg") || tn_str_eq(a->mode, "max") || tn_str_eq(a->mode, "corner_max"),
      "unknown mode %s", tn_cstr(a->mode));
  RELAY_CHECK(r, ir_is_floating(data->dtype) && tn_dtype_eq(data->dtype, rois->dtype),
              "data and rois must be of one floating point type");
  tn_arr *shape;
  TN_GET(shape, out_shape(a, data->shape, rois->shape));
  for (int i = 0; i < 4; ++i)
    if (i != channel_axis(a))
      TN_TRY(ops_rel_takes(r, relay_dim(data, i), shape, "an axis of data"));
  return relay_rel_result(r, relay_tensor_type(shape, data->dtype));
}

/* ---- samples ---- */

typedef struct {
  const tn_ROIAlignAttrs *a;
  tn_Buffer *data, *rois, *out;
  tn_dtype t;
  tn_arr *at; /* of the result */
} align;

static tn_expr *number(const align *x, double v) { return tir_const_float(x->t, v); }
static tn_expr *real(const align *x, tn_expr *e) { return tir_cast(x->t, e, NULL); }
static tn_expr *extent(const tn_Buffer *b, int i) { return (tn_expr *)tn_arr_obj(b->shape, i); }

static tn_expr *of_box(const align *x, int i) {
  return tir_load(x->rois, tn_arr_of(2, te_index(x->at, 0), tir_i32(i)));
}

/* One axis of a box: 0 rows, 1 columns. */
typedef struct {
  tn_expr *begin, *part, *samples; /* of the data; extent of a part; how many (int32) */
} side;

static side side_of(const align *x, int axis) {
  const tn_ROIAlignAttrs *a = x->a;
  tn_expr *scale = number(x, a->spatial_scale), *half = number(x, a->aligned ? 0.5 : 0);
  tn_expr *begin = tir_sub(tir_mul(of_box(x, 2 - axis), scale), half),
          *end = tir_sub(tir_mul(of_box(x, 4 - axis), scale), half), *span = tir_sub(end, begin);
  if (!a->aligned) span = tir_max(span, number(x, 1));
  tn_expr *parts = number(x, (double)relay_listed(a->pooled_size, axis));
  side s = {begin, tir_div(span, parts), tir_i32((int32_t)a->sample_ratio)};
  if (a->sample_ratio <= 0) {
    tn_expr *n = tir_rounding(TIR_OP_ceil, s.part, NULL);
    n = tir_min(tir_max(n, number(x, 1)), number(x, MAX_SAMPLES));
    s.samples = tir_cast(TN_I32, n, NULL);
  }
  return s;
}

/* Where sample i of the part of the result lies. */
static tn_expr *place_of(const align *x, const side *s, int axis, tn_expr *i) {
  tn_expr *part = real(x, te_index(x->at, row_axis(x->a) + axis)),
          *step = tir_div(s->part, real(x, s->samples));
  tn_expr *inside = tir_mul(tir_add(real(x, i), number(x, 0.5)), step);
  return tir_add(tir_add(s->begin, tir_mul(part, s->part)), inside);
}

/* The two elements around a place, and the weight of the second. */
typedef struct {
  tn_expr *low, *high, *weight, *inside;
} around;

static around around_of(const align *x, tn_expr *p, tn_expr *n) {
  tn_expr *last = tir_sub(n, tir_i32(1)), *end = real(x, last);
  around r;
  r.inside = tir_and(tir_ge(p, number(x, -1)), tir_le(p, real(x, n)));
  p = tir_min(tir_max(p, number(x, 0)), end);
  r.low = ops_place_index(p, n);
  r.high = ops_data_index(tir_add(r.low, tir_i32(1)), n, OPS_CLIP);
  r.weight = tir_sub(p, real(x, r.low));
  return r;
}

static tn_expr *element(const align *x, tn_expr *row, tn_expr *column) {
  tn_expr *image = ops_place_index(of_box(x, 0), extent(x->data, 0));
  tn_expr *at[4] = {image};
  at[channel_axis(x->a)] = te_index(x->at, channel_axis(x->a));
  at[row_axis(x->a)] = row;
  at[row_axis(x->a) + 1] = column;
  return tir_load(x->data, tn_arr_of(4, at[0], at[1], at[2], at[3]));
}

static tn_expr *mixed(const align *x, tn_expr *a, tn_expr *b, tn_expr *w) {
  return tir_add(tir_mul(a, tir_sub(number(x, 1), w)), tir_mul(b, w));
}

/* What ONNX takes the greatest of: each of the four elements times its weight. */
static tn_expr *greatest_corner(const align *x, const around *r, const around *c) {
  tn_expr *one = number(x, 1), *most = NULL;
  for (int i = 0; i < 4; ++i) {
    tn_expr *v = element(x, i & 2 ? r->high : r->low, i & 1 ? c->high : c->low);
    v = tir_mul(v, i & 2 ? r->weight : tir_sub(one, r->weight));
    v = tir_mul(v, i & 1 ? c->weight : tir_sub(one, c->weight));
    most = most ? tir_max(most, v) : v;
  }
  return most;
}

static tn_expr *sample(const align *x, tn_expr *y, tn_expr *z) {
  int rows = row_axis(x->a);
  around r = around_of(x, y, extent(x->data, rows)), c = around_of(x, z, extent(x->data, rows + 1));
  tn_expr *top = mixed(x, element(x, r.low, c.low), element(x, r.low, c.high), c.weight),
          *bottom = mixed(x, element(x, r.high, c.low), element(x, r.high, c.high), c.weight);
  tn_expr *v = tn_str_eq(x->a->mode, "corner_max") ? greatest_corner(x, &r, &c)
                                                   : mixed(x, top, bottom, r.weight);
  return tir_if_then_else(tir_and(r.inside, c.inside), v, number(x, 0), NULL);
}

/* ---- compute ---- */

static tn_stmt *part_of(const align *x) {
  side rows = side_of(x, 0), columns = side_of(x, 1);
  tn_Var *i = tir_var("i", TN_I32), *j = tir_var("j", TN_I32);
  tn_expr *so_far = tir_load(x->out, x->at);
  tn_expr *v =
      sample(x, place_of(x, &rows, 0, (tn_expr *)i), place_of(x, &columns, 1, (tn_expr *)j));
  bool most = !tn_str_eq(x->a->mode, "avg");
  tn_stmt *first = tir_store(x->out, number(x, most ? -3.4e38 : 0), x->at);
  tn_stmt *next = tir_store(x->out, most ? tir_max(so_far, v) : tir_add(so_far, v), x->at);
  tn_stmt *all = ops_loop(i, rows.samples, ops_loop(j, columns.samples, next));
  if (most) return tir_seq2(first, all);
  tn_expr *n = real(x, tir_mul(rows.samples, columns.samples));
  return tir_seq2(first, tir_seq2(all, tir_store(x->out, tir_div(so_far, n), x->at)));
}

static tn_arr *compute(const relay_compute *c) {
  tn_Tensor *data = relay_input(c, 0), *rois = relay_input(c, 1);
  tn_arr *shape = out_shape(c->attrs, data->shape, rois->shape);
  align x = {.a = c->attrs, .t = data->dtype, .at = ops_loop_vars("i", 4)};
  if (!shape || !x.at) return NULL;
  TN_GETP(x.data, tir_buffer(data->shape, data->dtype, "data", ""));
  TN_GETP(x.rois, tir_buffer(rois->shape, rois->dtype, "rois", ""));
  TN_GETP(x.out, tir_buffer(shape, data->dtype, "pooled", ""));
  return ops_extern("roi_align", tn_arr_of(2, data, rois), tn_arr_of(2, x.data, x.rois),
                    tn_arr_of(1, x.out), ops_loops(x.at, shape, part_of(&x)));
}

static tn_arr *shape_function(const relay_shape_query *q) {
  const tn_ROIAlignAttrs *a = q->attrs;
  tn_obj *axes[4] = {tn_arr_obj(relay_shape_of(q, 1), 0)};
  axes[channel_axis(a)] = tn_arr_obj(relay_shape_of(q, 0), channel_axis(a));
  for (int i = 0; i < 2; ++i)
    axes[row_axis(a) + i] = (tn_obj *)tir_i64(relay_listed(a->pooled_size, i));
  return tn_arr_of(1, tn_arr_of(4, axes[0], axes[1], axes[2], axes[3]));
}

static const relay_op_row rows[] = {
    {.name = "vision.roi_align",
     .inputs = "data rois",
     .attrs = &tn_type_ROIAlignAttrs,
     .level = 5,
     .pattern = RELAY_OPAQUE,
     .rel_name = "ROIAlign",
     .rel = relation,
     .compute = compute,
     .shape = shape_function,
     .layouts = ops_layouts_regions,
     .convert = ops_convert_by_attr,
     .doc = "boxes of images brought to one size, by means or maxima of interpolated samples"},
};

RELAY_FAMILY(roi_align, ROI_ALIGN_ATTRS)
