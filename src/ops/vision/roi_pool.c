/* Regions of feature maps brought to one size by maxima.

     vision.roi_pool(%data, %rois, pooled_size=[5, 5], spatial_scale=0.25)
         Tensor[(n, c, h, w)], Tensor[(r, 5)] -> Tensor[(r, c, 5, 5)]

     with layout="NHWC":
         Tensor[(n, h, w, c)], Tensor[(r, 5)] -> Tensor[(r, 5, 5, c)]

   A row of rois is the number of an image and a box x1, y1, x2, y2, whose corners are rounded and
   belong to it. The box is cut into pooled_size parts, which share the elements that they cut;
   each becomes its greatest element, 0 where it lies outside of the image (Girshick, Fast R-CNN,
   2015). */
#include "ir/imm.h"
#include "ops/layout.h"
#include "ops/ops.h"

#define TN_FIELDS_ROIPoolAttrs(F, S)                                                               \
  F(S, REF, Array, pooled_size, TN_INTS, "height and width of the result")                         \
  F(S, F64, , spatial_scale, 0, "factor from the boxes to the data")                               \
  F(S, REF, String, layout, 0, "\"NCHW\" or \"NHWC\"", "\"NCHW\"")
#define ROI_POOL_ATTRS(N)                                                                          \
  N(ROIPoolAttrs, Attrs, "relay.attrs.ROIPoolAttrs", NODE, TREE, tn_no_hooks,                      \
    "attributes of vision.roi_pool")
TN_NODES_LOCAL(ROI_POOL_ATTRS)

/* Axes of data and of the result: the first is an image or a box, columns follow rows. */
static int channel_axis(const tn_ROIPoolAttrs *a) { return tn_str_eq(a->layout, "NHWC") ? 3 : 1; }
static int row_axis(const tn_ROIPoolAttrs *a) { return tn_str_eq(a->layout, "NHWC") ? 1 : 2; }

static tn_arr *in_order(const tn_ROIPoolAttrs *a, void *box, void *channel, void *row,
                        void *column) {
  void *axes[4] = {box};
  axes[channel_axis(a)] = channel;
  axes[row_axis(a)] = row;
  axes[row_axis(a) + 1] = column;
  return tn_arr_of(4, axes[0], axes[1], axes[2], axes[3]);
}

static tn_arr *out_shape(const tn_ROIPoolAttrs *a, const tn_arr *data, const tn_arr *rois) {
  return in_order(a, tn_arr_obj(rois, 0), tn_arr_obj(data, channel_axis(a)),
                  tn_arr_obj(a->pooled_size, 0), tn_arr_obj(a->pooled_size, 1));
}

static int relation(relay_rel *r) {
  const tn_ROIPoolAttrs *a = r->attrs;
  RELAY_TENSOR(data, r, 0);
  RELAY_TENSOR(rois, r, 1);
  RELAY_CHECK(r, tn_str_eq(a->layout, "NCHW") || tn_str_eq(a->layout, "NHWC"),
              "layout %s is not supported: expected NCHW or NHWC", tn_cstr(a->layout));
  RELAY_CHECK(r, data->shape->len == 4 && rois->shape->len == 2,
              "expected data of 4 dimensions and rois of 2, got %s and %s", relay_type_text(data),
              relay_type_text(rois));
  RELAY_CHECK(r, relay_dim_equal(relay_dim(rois, 1), tir_i64(5)) != 0,
              "a row of rois must have 5 numbers, got %s", relay_type_text(rois));
  RELAY_CHECK(r, a->pooled_size->len == 2, "pooled_size must be two positive numbers");
  for (int i = 0; i < 2; ++i)
    RELAY_CHECK(r,
                relay_listed(a->pooled_size, i) > 0 && relay_listed(a->pooled_size, i) <= INT32_MAX,
                "pooled_size must be two positive numbers, got %lld",
                (long long)relay_listed(a->pooled_size, i));
  RELAY_CHECK(r, ir_is_floating(data->dtype) && tn_dtype_eq(data->dtype, rois->dtype),
              "data and rois must be of one floating point type, got %s and %s",
              relay_type_text(data), relay_type_text(rois));
  tn_arr *shape;
  TN_GET(shape, out_shape(a, data->shape, rois->shape));
  TN_TRY(ops_rel_takes(r, relay_dim(data, 0), shape, "the axis of images"));
  return relay_rel_result(r, relay_tensor_type(shape, data->dtype));
}

typedef struct {
  const tn_ROIPoolAttrs *a;
  tn_Buffer *data, *rois, *out;
  tn_arr *at; /* of the result */
} pool;

static tn_expr *of_box(const pool *p, int i) {
  return tir_load(p->rois, tn_arr_of(2, te_index(p->at, 0), tir_i32(i)));
}

/* A corner of the box in elements. What is far outside, and NaN, is brought to where sums and
   products of parts stay exact. */
static tn_expr *corner(const pool *p, int i) {
  enum { FAR = 1 << 28 };
  tn_expr *x = tir_cast(TN_F64, of_box(p, i), NULL), *far = tir_const_float(TN_F64, FAR),
          *low = tir_const_float(TN_F64, -FAR);
  tn_dtype t = p->rois->dtype;
  x = tir_mul(tir_cast(t, x, NULL), tir_const_float(t, p->a->spatial_scale));
  x = tir_rounding(TIR_OP_round, tir_cast(TN_F64, x, NULL), NULL);
  x = tir_select(tir_ge(x, low), tir_select(tir_le(x, far), x, far, NULL), low, NULL);
  return tir_cast(TN_I64, x, NULL);
}

/* Rows (axis 0) or columns (1) of the data that a part covers: from begin to before end. */
typedef struct {
  tn_expr *begin, *end, *extent;
} span;

static span span_of(const pool *p, int axis) {
  tn_expr *first = corner(p, 2 - axis), *last = corner(p, 4 - axis), *one = tir_i64(1);
  tn_expr *size = tir_max(tir_add(tir_sub(last, first), one), one);
  tn_expr *parts = tir_i64(relay_listed(p->a->pooled_size, axis)),
          *i = tir_cast(TN_I64, te_index(p->at, row_axis(p->a) + axis), NULL);
  span s = {.extent = (tn_expr *)tn_arr_obj(p->data->shape, row_axis(p->a) + axis)};
  tn_expr *most = tir_cast(TN_I64, s.extent, NULL), *none = tir_i64(0);
  tn_expr *begin = tir_floordiv(tir_mul(i, size), parts);
  tn_expr *end = tir_ceildiv(tir_mul(tir_add(i, one), size), parts, NULL);
  s.begin = tir_min(tir_max(tir_add(first, begin), none), most);
  s.end = tir_min(tir_max(tir_add(first, end), none), most);
  s.begin = tir_cast(TN_I32, s.begin, NULL), s.end = tir_cast(TN_I32, s.end, NULL);
  return s;
}

static tn_stmt *part(const pool *p) {
  span rows = span_of(p, 0), columns = span_of(p, 1);
  tn_Var *i = tir_var("i", TN_I32), *j = tir_var("j", TN_I32);
  tn_expr *inside = tir_and(tir_lt(rows.begin, rows.end), tir_lt(columns.begin, columns.end));
  tn_expr *image = ops_place_index(of_box(p, 0), (tn_expr *)tn_arr_obj(p->data->shape, 0));
  tn_expr *row = ops_data_index(tir_add(rows.begin, (tn_expr *)i), rows.extent, OPS_CLIP),
          *column = ops_data_index(tir_add(columns.begin, (tn_expr *)j), columns.extent, OPS_CLIP);
  tn_expr *x =
      tir_load(p->data, in_order(p->a, image, te_index(p->at, channel_axis(p->a)), row, column));
  tn_expr *none = tir_const_float(p->out->dtype, 0), *least = ops_least(p->out->dtype);
  tn_stmt *first = tir_store(p->out, tir_select(inside, least, none, NULL), p->at);
  tn_stmt *next = tir_store(p->out, tir_max(tir_load(p->out, p->at), x), p->at);
  tn_stmt *all = ops_loop(i, tir_sub(rows.end, rows.begin),
                          ops_loop(j, tir_sub(columns.end, columns.begin), next));
  return tir_seq2(first, ops_either(inside, all, NULL));
}

static tn_arr *compute(const relay_compute *c) {
  tn_Tensor *data = relay_input(c, 0), *rois = relay_input(c, 1);
  tn_arr *shape = out_shape(c->attrs, data->shape, rois->shape);
  pool p = {.a = c->attrs, .at = ops_loop_vars("i", 4)};
  if (!shape || !p.at) return NULL;
  TN_GETP(p.data, tir_buffer(data->shape, data->dtype, "data", ""));
  TN_GETP(p.rois, tir_buffer(rois->shape, rois->dtype, "rois", ""));
  TN_GETP(p.out, tir_buffer(shape, data->dtype, "pooled", ""));
  return ops_extern("roi_pool", tn_arr_of(2, data, rois), tn_arr_of(2, p.data, p.rois),
                    tn_arr_of(1, p.out), ops_loops(p.at, shape, part(&p)));
}

static tn_arr *shape_function(const relay_shape_query *q) {
  const tn_ROIPoolAttrs *a = q->attrs;
  return tn_arr_of(1, in_order(a, tn_arr_obj(relay_shape_of(q, 1), 0),
                               tn_arr_obj(relay_shape_of(q, 0), channel_axis(a)),
                               tir_i64(relay_listed(a->pooled_size, 0)),
                               tir_i64(relay_listed(a->pooled_size, 1))));
}

static const relay_op_row rows[] = {
    {.name = "vision.roi_pool",
     .inputs = "data rois",
     .attrs = &tn_type_ROIPoolAttrs,
     .level = 5,
     .pattern = RELAY_OPAQUE,
     .rel_name = "ROIPool",
     .rel = relation,
     .compute = compute,
     .shape = shape_function,
     .layouts = ops_layouts_regions,
     .convert = ops_convert_by_attr,
     .doc = "boxes of images brought to one size, by maxima of their parts"},
};

RELAY_FAMILY(roi_pool, ROI_POOL_ATTRS)
