/* Boxes cut out of images and brought to one size.

     image.crop_and_resize(%data, %boxes, %box_indices, crop_size=[7, 7])
         Tensor[(n, c, h, w)], Tensor[(b, 4)], Tensor[(b)] -> Tensor[(b, c, 7, 7)]

   A box is top, left, bottom, right as parts of the image: 0 is the centre of the first element, 1
   that of the last. Points outside of the image have the value `extrapolation_value`. */
#include "ir/imm.h"
#include "ops/ops.h"

#define TN_FIELDS_CropAndResizeAttrs(F, S)                                                         \
  F(S, REF, Array, crop_size, TN_INTS, "height and width of the result")                           \
  F(S, REF, String, layout, 0, "\"NCHW\" or \"NHWC\"", "\"NCHW\"")                                 \
  F(S, REF, String, method, 0, "\"bilinear\" or \"nearest_neighbor\"", "\"bilinear\"")             \
  F(S, F64, , extrapolation_value, 0, "what is outside of the image", "0.0")                       \
  F(S, DTYPE, , out_dtype, 0, "type of the result, that of data when empty", "\"\"")
#define CROP_ATTRS(N)                                                                              \
  N(CropAndResizeAttrs, Attrs, "relay.attrs.CropAndResizeAttrs", NODE, TREE, tn_no_hooks,          \
    "attributes of image.crop_and_resize")
TN_NODES_LOCAL(CROP_ATTRS)

static int height_axis(const tn_CropAndResizeAttrs *a) {
  return tn_str_eq(a->layout, "NCHW") ? 2 : 1;
}
static int channel_axis(const tn_CropAndResizeAttrs *a) {
  return tn_str_eq(a->layout, "NCHW") ? 1 : 3;
}

static tn_arr *out_shape(const tn_CropAndResizeAttrs *a, const tn_arr *data, const tn_arr *boxes) {
  tn_expr *size[2];
  for (int i = 0; i < 2; ++i) size[i] = tir_i32((int32_t)relay_listed(a->crop_size, i));
  void *b = tn_arr_obj(boxes, 0), *c = tn_arr_obj(data, channel_axis(a));
  return channel_axis(a) == 1 ? tn_arr_of(4, b, c, size[0], size[1])
                              : tn_arr_of(4, b, size[0], size[1], c);
}

static int relation(relay_rel *r) {
  const tn_CropAndResizeAttrs *a = r->attrs;
  RELAY_TENSOR(data, r, 0);
  RELAY_TENSOR(boxes, r, 1);
  RELAY_TENSOR(indices, r, 2);
  RELAY_CHECK(r, tn_str_eq(a->layout, "NCHW") || tn_str_eq(a->layout, "NHWC"),
              "layout must be NCHW or NHWC, got %s", tn_cstr(a->layout));
  RELAY_CHECK(r, tn_str_eq(a->method, "bilinear") || tn_str_eq(a->method, "nearest_neighbor"),
              "method must be bilinear or nearest_neighbor, got %s", tn_cstr(a->method));
  RELAY_CHECK(r, data->shape->len == 4, "data must have 4 dimensions, got %s",
              relay_type_text(data));
  RELAY_CHECK(r, boxes->shape->len == 2 && relay_dim_equal(relay_dim(boxes, 1), tir_i64(4)) != 0,
              "boxes must have the shape (boxes, 4), got %s", relay_type_text(boxes));
  RELAY_CHECK(r,
              indices->shape->len == 1 &&
                  relay_dim_equal(relay_dim(indices, 0), relay_dim(boxes, 0)) != 0,
              "box_indices must have one number for each box, got %s", relay_type_text(indices));
  RELAY_CHECK(r, ir_is_integral(indices->dtype) && ir_is_floating(boxes->dtype),
              "boxes must be floats and box_indices integers, got %s and %s", TN_DT(boxes->dtype),
              TN_DT(indices->dtype));
  RELAY_CHECK(r,
              a->crop_size->len == 2 && relay_listed(a->crop_size, 0) > 0 &&
                  relay_listed(a->crop_size, 1) > 0 && relay_listed(a->crop_size, 0) <= INT32_MAX &&
                  relay_listed(a->crop_size, 1) <= INT32_MAX,
              "crop_size must be two positive numbers of 32 bits");
  tn_arr *shape = out_shape(a, data->shape, boxes->shape);
  return relay_rel_result(r,
                          relay_tensor_type(shape, a->out_dtype.bits ? a->out_dtype : data->dtype));
}

/* Where a point of the result is in the image, along one axis. */
typedef struct {
  tn_expr *at, *inside, *last; /* `last`: the largest coordinate */
} place;

static int find_place(const tn_CropAndResizeAttrs *a, const relay_compute *c, tn_arr *at, int i,
                      place *p) {
  const tn_Tensor *data = relay_input(c, 0), *boxes = relay_input(c, 1);
  tn_expr *box = te_index(at, 0), *x = te_index(at, height_axis(a) + i);
  tn_expr *low = te_at_of(boxes, 2, box, tir_i32(i)),
          *high = te_at_of(boxes, 2, box, tir_i32(i + 2));
  int64_t n = relay_listed(a->crop_size, i);
  tn_dtype t = boxes->dtype;
  tn_expr *extent = te_extent(data, height_axis(a) + i);
  p->last = tir_cast(t, tir_sub(extent, tir_one(extent->dtype)), NULL);
  if (n > 1) {
    tn_expr *step =
        tir_div(tir_mul(tir_sub(high, low), p->last), tir_const_float(t, (double)n - 1));
    p->at = tir_add(tir_mul(low, p->last), tir_mul(tir_cast(t, x, NULL), step));
  } else {
    p->at = tir_mul(tir_mul(tir_const_float(t, 0.5), tir_add(low, high)), p->last);
  }
  p->inside = tir_and(tir_ge(p->at, tir_zero(t)), tir_le(p->at, p->last));
  return p->inside ? 0 : -1;
}

/* An element of the box's image; coordinates may be outside, there the nearest one is meant. */
static tn_expr *pixel(const relay_compute *c, tn_arr *at, tn_expr *y, tn_expr *x) {
  const tn_CropAndResizeAttrs *a = c->attrs;
  const tn_Tensor *data = relay_input(c, 0);
  tn_expr *image = te_at_of(relay_input(c, 2), 1, te_index(at, 0)), *want[2] = {y, x};
  tn_arr *index;
  TN_GETP(index, ops_with_index(at, 0, ops_data_index(image, te_extent(data, 0), OPS_CLIP)));
  for (int i = 0; i < 2; ++i) {
    tn_expr *kept = ops_place_index(want[i], te_extent(data, height_axis(a) + i));
    TN_GETP(index, ops_with_index(index, height_axis(a) + i, kept));
  }
  return tir_cast(relay_input(c, 1)->dtype, te_at(data, index), NULL);
}

static tn_expr *between(tn_expr *a, tn_expr *b, tn_expr *part) {
  return tir_add(a, tir_mul(tir_sub(b, a), part));
}

static tn_expr *bilinear(const relay_compute *c, tn_arr *at, const place *p) {
  tn_expr *low[2], *next[2], *part[2];
  for (int i = 0; i < 2; ++i) {
    low[i] = tir_rounding(TIR_OP_floor, p[i].at, NULL);
    if (!low[i]) return NULL;
    next[i] = tir_add(low[i], tir_one(low[i]->dtype));
    part[i] = tir_sub(p[i].at, low[i]);
  }
  tn_expr *top = between(pixel(c, at, low[0], low[1]), pixel(c, at, low[0], next[1]), part[1]);
  tn_expr *below = between(pixel(c, at, next[0], low[1]), pixel(c, at, next[0], next[1]), part[1]);
  return between(top, below, part[0]);
}

static tn_expr *element(void *ctx, tn_arr *at) {
  const relay_compute *c = ctx;
  const tn_CropAndResizeAttrs *a = c->attrs;
  place p[2];
  tn_expr *value;
  for (int i = 0; i < 2; ++i) TN_TRYP(find_place(a, c, at, i, &p[i]));
  if (tn_str_eq(a->method, "bilinear")) {
    value = bilinear(c, at, p);
  } else {
    tn_expr *y = tir_rounding(TIR_OP_nearbyint, p[0].at, NULL);
    tn_expr *x = tir_rounding(TIR_OP_nearbyint, p[1].at, NULL);
    if (!y || !x) return NULL;
    value = pixel(c, at, y, x);
  }
  if (!value) return NULL;
  tn_expr *none = tir_const_float(value->dtype, a->extrapolation_value);
  tn_expr *images = te_extent(relay_input(c, 0), 0); /* of none there is nothing to read */
  tn_expr *inside =
      tir_and(tir_gt(images, tir_zero(images->dtype)), tir_and(p[0].inside, p[1].inside));
  value = tir_if_then_else(inside, value, none, NULL);
  return tir_cast(relay_out(c)->dtype, value, NULL);
}

static tn_arr *compute(const relay_compute *c) {
  tn_arr *shape = out_shape(c->attrs, relay_input(c, 0)->shape, relay_input(c, 1)->shape);
  return tn_arr_of(
      1, te_compute(shape, element, (void *)(uintptr_t)c, "T_crop_and_resize", TE_INJECTIVE));
}

static tn_arr *shape_function(const relay_shape_query *q) {
  return tn_arr_of(1, out_shape(q->attrs, relay_shape_of(q, 0), relay_shape_of(q, 1)));
}

static const relay_op_row rows[] = {
    {.name = "image.crop_and_resize",
     .inputs = "data boxes box_indices",
     .attrs = &tn_type_CropAndResizeAttrs,
     .level = 5,
     .pattern = RELAY_INJECTIVE,
     .rel_name = "CropAndResize",
     .rel = relation,
     .compute = compute,
     .shape = shape_function,
     .doc = "boxes of images, brought to one size",
     .values = RELAY_COMPUTED},
};

RELAY_FAMILY(crop_and_resize, CROP_ATTRS)
