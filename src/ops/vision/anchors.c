/* Boxes of single-shot detectors (Liu et al., SSD, 2016).

     vision.multibox_prior(%data, sizes=[0.5], ratios=[1, 2])     Tensor[(n, c, h, w)]
                                                                  -> Tensor[(1, h * w * 2, 4)]
     vision.multibox_transform_loc(%scores, %locations, %anchors)
         Tensor[(n, classes, boxes)], Tensor[(n, boxes * 4)], Tensor[(1, boxes, 4)]
         -> Tensor[(n, boxes, 6)], Tensor[(n), int32]

   The first gives each place of a feature map boxes around its centre, in parts of the image: one
   of each size, and those of the first size with each ratio but the first. The second moves them
   (those of row 0, for all images) as the network says and keeps those that show something: rows of
   class, score and box, and how many there are; rows behind them hold -1. */
#include <math.h>

#include "ir/imm.h"
#include "ops/ops.h"
#include "ops/vision/boxes.h"

#define TN_FIELDS_MultiBoxPriorAttrs(F, S)                                                         \
  F(S, REF, Array, sizes, 0, "sides of boxes, in parts of the image", "[1.0]")                     \
  F(S, REF, Array, ratios, 0, "roots of these widen boxes of the first size", "[1.0]")             \
  F(S, REF, Array, steps, 0,                                                                       \
    "distances of places along y and x, in parts of the image; not positive: even ones",           \
    "[-1.0, -1.0]")                                                                                \
  F(S, REF, Array, offsets, 0, "of centres along y and x, in distances", "[0.5, 0.5]")             \
  F(S, BOOL, , clip, 0, "cut boxes off at the image?", "False")
#define TN_FIELDS_MultiBoxTransformLocAttrs(F, S)                                                  \
  F(S, BOOL, , clip, 0, "cut boxes off at the image?", "True")                                     \
  F(S, F64, , threshold, 0, "least score of what shows something", "0.01")                         \
  F(S, REF, Array, variances, 0, "factors of the moves along x, y, width, height",                 \
    "[0.1, 0.1, 0.2, 0.2]")                                                                        \
  F(S, BOOL, , keep_background, 0, "keep boxes of class 0, with its number?", "False")
#define ANCHORS_ATTRS(N)                                                                           \
  N(MultiBoxPriorAttrs, Attrs, "relay.attrs.MultiBoxPriorAttrs", NODE, TREE, tn_no_hooks,          \
    "attributes of vision.multibox_prior")                                                         \
  N(MultiBoxTransformLocAttrs, Attrs, "relay.attrs.MultiBoxTransformLocAttrs", NODE, TREE,         \
    tn_no_hooks, "attributes of vision.multibox_transform_loc")
TN_NODES_LOCAL(ANCHORS_ATTRS)

enum { MAX_BOXES = 256 }; /* of a place */

/* ---- priors ---- */

static int64_t boxes_of_place(const tn_MultiBoxPriorAttrs *a) {
  return a->sizes->len + a->ratios->len - 1;
}

static tn_arr *prior_shape(const tn_MultiBoxPriorAttrs *a, const tn_arr *data) {
  tn_expr *n = relay_dim_mul((tn_expr *)tn_arr_obj(data, 2), (tn_expr *)tn_arr_obj(data, 3));
  n = n ? relay_dim_times(n, boxes_of_place(a)) : NULL;
  return n ? tn_arr_of(3, tir_i32(1), n, tir_i32(4)) : NULL;
}

static int relate_prior(relay_rel *r) {
  const tn_MultiBoxPriorAttrs *a = r->attrs;
  RELAY_TENSOR(data, r, 0);
  RELAY_CHECK(r, data->shape->len == 4 && ir_is_floating(data->dtype),
              "data must be floats of 4 dimensions, got %s", relay_type_text(data));
  if (ops_box_numbers(r, "sizes", a->sizes, 1, MAX_BOXES) ||
      ops_box_numbers(r, "ratios", a->ratios, 1, MAX_BOXES) ||
      ops_box_numbers(r, "steps", a->steps, 2, 2) ||
      ops_box_numbers(r, "offsets", a->offsets, 2, 2))
    return RELAY_FAILED;
  for (int64_t i = 0; i < a->ratios->len; ++i)
    RELAY_CHECK(r, ops_box_number(a->ratios, i) > 0, "ratios: element %lld is not positive",
                (long long)i);
  tn_arr *shape;
  TN_GET(shape, prior_shape(a, data->shape));
  return relay_rel_result(r, relay_tensor_type(shape, data->dtype));
}

typedef struct {
  const tn_MultiBoxPriorAttrs *a;
  const tn_Tensor *data;
  tn_dtype t;
} prior;

/* Half of a side of box `k`: of its height, or of what its width is where the image is square. */
static tn_expr *half_side(const prior *p, tn_expr *k, bool width) {
  const tn_MultiBoxPriorAttrs *a = p->a;
  tn_expr *value = NULL;
  for (int64_t i = boxes_of_place(a); i-- > 0;) {
    bool shaped = i >= a->sizes->len;
    double side = ops_box_number(a->sizes, shaped ? 0 : i) / 2;
    double root = shaped ? sqrt(ops_box_number(a->ratios, i - a->sizes->len + 1)) : 1;
    tn_expr *own = tir_const_float(p->t, width ? side * root : side / root);
    value = value ? tir_select(tir_eq(k, tir_i64(i)), own, value, NULL) : own;
  }
  return value;
}

/* Centre along y (0) or x (1) of place i. */
static tn_expr *centre(const prior *p, int axis, tn_expr *i) {
  double step = ops_box_number(p->a->steps, axis);
  tn_expr *x =
      tir_add(tir_cast(p->t, i, NULL), tir_const_float(p->t, ops_box_number(p->a->offsets, axis)));
  if (step > 0) return tir_mul(x, tir_const_float(p->t, step));
  return tir_div(x, tir_cast(p->t, te_extent(p->data, 2 + axis), NULL));
}

static tn_expr *prior_element(void *ctx, tn_arr *at) {
  const prior *p = ctx;
  tn_expr *h = te_extent(p->data, 2), *w = tir_cast(TN_I64, te_extent(p->data, 3), NULL);
  tn_expr *count = tir_cast(TN_I64, te_index(at, 1), NULL), *each = tir_i64(boxes_of_place(p->a));
  tn_expr *k = tir_floormod(count, each), *place = tir_floordiv(count, each);
  tn_expr *y = centre(p, 0, tir_floordiv(place, w)), *x = centre(p, 1, tir_floormod(place, w));
  tn_expr *aspect = tir_div(tir_cast(p->t, h, NULL), tir_cast(p->t, w, NULL));
  tn_expr *half_w = tir_mul(half_side(p, k, true), aspect), *half_h = half_side(p, k, false);
  tn_expr *which = te_index(at, 2), *zero = tir_zero(which->dtype), *one = tir_one(which->dtype);
  tn_expr *two = tir_add(one, one);
  tn_expr *rest = tir_select(tir_eq(which, two), tir_add(x, half_w), tir_add(y, half_h), NULL);
  rest = tir_select(tir_eq(which, one), tir_sub(y, half_h), rest, NULL);
  rest = tir_select(tir_eq(which, zero), tir_sub(x, half_w), rest, NULL);
  if (!p->a->clip) return rest;
  return tir_min(tir_max(rest, tir_const_float(p->t, 0)), tir_const_float(p->t, 1));
}

static tn_arr *compute_prior(const relay_compute *c) {
  prior p = {.a = c->attrs, .data = relay_input(c, 0)};
  tn_arr *shape;
  p.t = p.data->dtype;
  TN_GETP(shape, prior_shape(p.a, p.data->shape));
  return tn_arr_of(1, te_compute(shape, prior_element, &p, "T_prior", TE_INJECTIVE));
}

/* ---- boxes that show something ---- */

enum { SCORES, LOCATIONS, ANCHORS };

static int relate_transform(relay_rel *r) {
  const tn_MultiBoxTransformLocAttrs *a = r->attrs;
  RELAY_TENSOR(scores, r, SCORES);
  RELAY_TENSOR(moves, r, LOCATIONS);
  RELAY_TENSOR(anchors, r, ANCHORS);
  RELAY_CHECK(r, scores->shape->len == 3 && moves->shape->len == 2 && anchors->shape->len == 3,
              "expected scores of 3 dimensions, locations of 2 and anchors of 3, got %s, %s and %s",
              relay_type_text(scores), relay_type_text(moves), relay_type_text(anchors));
  tn_expr *boxes = relay_dim(anchors, 1), *numbers = relay_dim_times(boxes, 4);
  RELAY_CHECK(r,
              relay_dim_equal(relay_dim(scores, 0), relay_dim(moves, 0)) != 0 &&
                  relay_dim_equal(relay_dim(scores, 2), boxes) != 0 &&
                  relay_dim_equal(relay_dim(moves, 1), numbers) != 0 &&
                  relay_dim_equal(relay_dim(anchors, 2), tir_i32(4)) != 0,
              "%s, %s and %s are not scores, locations and anchors of as many boxes",
              relay_type_text(scores), relay_type_text(moves), relay_type_text(anchors));
  RELAY_CHECK(r,
              ir_is_floating(scores->dtype) && tn_dtype_eq(scores->dtype, moves->dtype) &&
                  tn_dtype_eq(scores->dtype, anchors->dtype),
              "scores, locations and anchors must be of one floating point type, got %s, %s and %s",
              TN_DT(scores->dtype), TN_DT(moves->dtype), TN_DT(anchors->dtype));
  if (ops_box_numbers(r, "variances", a->variances, 4, 4)) return RELAY_FAILED;
  tn_arr *boxes_of_all = tn_arr_of(2, relay_dim(scores, 0), boxes);
  TN_TRY(!boxes_of_all);
  TN_TRY(ops_rel_takes(r, relay_dim(anchors, 0), boxes_of_all, "the first axis of anchors"));
  tn_arr *rows = tn_arr_of(3, relay_dim(scores, 0), boxes, tir_i32(6));
  tn_TensorType *count = relay_tensor_type(tn_arr_of(1, relay_dim(scores, 0)), TN_I32);
  return relay_rel_result(
      r, relay_tuple_type(tn_arr_of(2, relay_tensor_type(rows, scores->dtype), count)));
}

typedef struct {
  const tn_MultiBoxTransformLocAttrs *a;
  tn_Buffer *scores, *moves, *anchors, *out, *count, *best; /* best: class and score so far */
  tn_expr *image, *box;
  tn_dtype t;
} transform;

static tn_expr *real(const transform *x, double v) { return tir_const_float(x->t, v); }
static tn_expr *best(const transform *x, int i) {
  return tir_load(x->best, tn_arr_of(1, tir_i32(i)));
}
static tn_stmt *set_best(const transform *x, int i, tn_expr *v) {
  return tir_store(x->best, v, tn_arr_of(1, tir_i32(i)));
}

/* The class with the greatest score, the first of equal ones; the background is not asked unless it
   is kept. What has too small a score is background. */
static tn_stmt *find_class(const transform *x) {
  tn_Var *v = tir_var("class", TN_I32);
  tn_expr *from = tir_i32(x->a->keep_background ? 0 : 1), *k = tir_add((tn_expr *)v, from);
  tn_expr *n = tir_cast(TN_I32, (tn_expr *)tn_arr_obj(x->scores->shape, 1), NULL);
  tn_expr *score = tir_load(x->scores, tn_arr_of(3, x->image, k, x->box));
  tn_stmt *take = tir_seq2(set_best(x, 0, tir_cast(x->t, k, NULL)), set_best(x, 1, score));
  tn_stmt *look = ops_loop(v, tir_max(tir_sub(n, from), tir_i32(0)),
                           ops_either(tir_gt(score, best(x, 1)), take, NULL));
  tn_stmt *start = tir_seq2(set_best(x, 0, real(x, 0)), set_best(x, 1, real(x, -1)));
  tn_stmt *drop =
      ops_either(tir_lt(best(x, 1), real(x, x->a->threshold)), set_best(x, 0, real(x, 0)), NULL);
  return tir_seq2(tir_seq2(start, look), drop);
}

static tn_expr *anchor(const transform *x, int i) {
  return tir_load(x->anchors, tn_arr_of(3, tir_i32(0), x->box, tir_i32(i)));
}
static tn_expr *move(const transform *x, int i) {
  tn_expr *at = tir_add(tir_mul(x->box, tir_i32(4)), tir_i32(i));
  return tir_mul(tir_load(x->moves, tn_arr_of(2, x->image, at)),
                 real(x, ops_box_number(x->a->variances, i)));
}

/* Side `i` of the box where it is moved to: left, top, right, bottom. */
static tn_expr *moved(const transform *x, int i) {
  int axis = i % 2;
  tn_expr *low = anchor(x, axis), *high = anchor(x, axis + 2), *size = tir_sub(high, low);
  tn_expr *middle = tir_add(tir_mul(move(x, axis), size), tir_div(tir_add(low, high), real(x, 2)));
  tn_expr *grown = tir_call(x->t, TIR_OP_exp, 1, move(x, axis + 2));
  tn_expr *half = tir_div(tir_mul(grown, size), real(x, 2));
  tn_expr *side = i < 2 ? tir_sub(middle, half) : tir_add(middle, half);
  return x->a->clip ? tir_max(real(x, 0), tir_min(real(x, 1), side)) : side;
}

/* The row that comes next. */
static tn_stmt *add_row(const transform *x) {
  tn_arr *at = tn_arr_of(1, x->image);
  tn_expr *row = tir_load(x->count, at);
  tn_expr *id = tir_sub(best(x, 0), real(x, x->a->keep_background ? 0 : 1));
  tn_stmt *all = tir_seq2(tir_store(x->out, id, tn_arr_of(3, x->image, row, tir_i32(0))),
                          tir_store(x->out, best(x, 1), tn_arr_of(3, x->image, row, tir_i32(1))));
  for (int i = 0; i < 4; ++i)
    all =
        tir_seq2(all, tir_store(x->out, moved(x, i), tn_arr_of(3, x->image, row, tir_i32(2 + i))));
  return tir_seq2(all, tir_store(x->count, tir_add(row, tir_i32(1)), at));
}

static tn_stmt *image_rows(const transform *x, tn_Var *box) {
  tn_Var *row = tir_var("row", TN_I32), *k = tir_var("k", TN_I32);
  tn_arr *at = tn_arr_of(1, x->image);
  tn_expr *n = (tn_expr *)tn_arr_obj(x->out->shape, 1);
  tn_stmt *blank = tir_store(x->out, real(x, -1), tn_arr_of(3, x->image, row, k));
  tn_stmt *start = tir_seq2(tir_store(x->count, tir_i32(0), at),
                            ops_loop(row, n, ops_loop(k, tir_i32(6), blank)));
  tn_stmt *keep = add_row(x);
  if (!x->a->keep_background) keep = ops_either(tir_gt(best(x, 0), real(x, 0)), keep, NULL);
  return tir_seq2(start, ops_loop(box, n, tir_seq2(find_class(x), keep)));
}

static tn_arr *compute_transform(const relay_compute *c) {
  tn_Tensor *scores = relay_input(c, SCORES), *moves = relay_input(c, LOCATIONS),
            *anchors = relay_input(c, ANCHORS);
  tn_Var *image = tir_var("image", TN_I32), *box = tir_var("box", TN_I32);
  transform x = {
      .a = c->attrs, .t = scores->dtype, .image = (tn_expr *)image, .box = (tn_expr *)box};
  tn_arr *rows = tn_arr_of(3, te_extent(scores, 0), te_extent(anchors, 1), tir_i32(6));
  TN_GETP(x.scores, tir_buffer(scores->shape, x.t, "scores", ""));
  TN_GETP(x.moves, tir_buffer(moves->shape, x.t, "moves", ""));
  TN_GETP(x.anchors, tir_buffer(anchors->shape, x.t, "anchors", ""));
  TN_GETP(x.out, rows ? tir_buffer(rows, x.t, "rows", "") : NULL);
  TN_GETP(x.count, tir_buffer(tn_arr_of(1, te_extent(scores, 0)), TN_I32, "count", ""));
  TN_GETP(x.best, tir_buffer(tn_arr_of(1, tir_i32(2)), x.t, "best", ""));
  tn_stmt *body = ops_loop(image, te_extent(scores, 0), image_rows(&x, box));
  tn_arr *made =
      ops_extern("multibox_transform_loc", c->inputs, tn_arr_of(3, x.scores, x.moves, x.anchors),
                 tn_arr_of(3, x.out, x.count, x.best), body);
  return made ? tn_arr_of(2, tn_arr_obj(made, 0), tn_arr_obj(made, 1)) : NULL;
}

static const relay_op_row rows[] = {
    {.name = "vision.multibox_prior",
     .inputs = "data",
     .attrs = &tn_type_MultiBoxPriorAttrs,
     .level = 5,
     .pattern = RELAY_INJECTIVE,
     .rel_name = "MultiBoxPrior",
     .rel = relate_prior,
     .compute = compute_prior,
     .doc = "boxes of several sizes and ratios around each place of a feature map",
     .values = RELAY_FROM_SHAPE},
    {.name = "vision.multibox_transform_loc",
     .inputs = "cls_prob loc_pred anchor",
     .attrs = &tn_type_MultiBoxTransformLocAttrs,
     .level = 5,
     .pattern = RELAY_OPAQUE,
     .rel_name = "MultiBoxTransformLoc",
     .rel = relate_transform,
     .compute = compute_transform,
     .doc = "boxes that show something, moved as predicted, and how many there are"},
};

RELAY_FAMILY(anchors, ANCHORS_ATTRS)
