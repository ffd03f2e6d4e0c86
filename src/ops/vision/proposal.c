/* Regions that a detector proposes (Ren et al., Faster R-CNN, 2015).

     vision.proposal(%scores, %moves, %image, scales=[8, 16], ratios=[0.5, 1, 2], rpn_post_nms_top_n=300)
         Tensor[(n, 12, h, w)], Tensor[(n, 24, h, w)], Tensor[(n, 3)] -> Tensor[(n * 300, 5)]

   Each place of a feature map has an anchor for each ratio and scale. Channels of the scores are
   those of the background, then those of what anchors show; moves has four channels for each
   anchor, `image` the height, width and scale of each image. Anchors are moved as the network says
   and cut off at the image. Of the best ones those stay that do not overlap a better one by more
   than the threshold; rows are number of the image, left, top, right, bottom. Where fewer stay than
   there are rows, they are repeated. A box reaches to the end of its last pixel: its width is
   right - left + 1. */
#include <math.h>

#include "ir/imm.h"
#include "ops/ops.h"
#include "ops/vision/boxes.h"

#define TN_FIELDS_ProposalAttrs(F, S)                                                              \
  F(S, REF, Array, scales, 0, "sides of anchors, in strides", "[4.0, 8.0, 16.0, 32.0]")            \
  F(S, REF, Array, ratios, 0, "heights of anchors, in widths", "[0.5, 1.0, 2.0]")                  \
  F(S, I64, , feature_stride, 0, "pixels of the image from one place to the next", "16")           \
  F(S, F64, , threshold, 0, "overlap with a better box beyond which one is dropped", "0.7")        \
  F(S, I64, , rpn_pre_nms_top_n, 0, "best boxes that are looked at; not positive: all", "6000")    \
  F(S, I64, , rpn_post_nms_top_n, 0, "boxes of an image in the result", "300")                     \
  F(S, I64, , rpn_min_size, 0, "least side of a box, in pixels before the image was scaled", "16") \
  F(S, BOOL, , iou_loss, 0, "are moves those of the sides, in pixels?", "False")
#define PROPOSAL_ATTRS(N)                                                                          \
  N(ProposalAttrs, Attrs, "relay.attrs.ProposalAttrs", NODE, TREE, tn_no_hooks,                    \
    "attributes of vision.proposal")
TN_NODES_LOCAL(PROPOSAL_ATTRS)

enum { SCORES, MOVES, IMAGE };
enum { MAX_ANCHORS = 256 }; /* of a place */

/* ---- relation ---- */

static int64_t anchors_of_place(const tn_ProposalAttrs *a) {
  return a->scales->len * a->ratios->len;
}

static int check_attrs(const relay_rel *r, const tn_ProposalAttrs *a) {
  TN_TRY(ops_box_numbers(r, "scales", a->scales, 1, MAX_ANCHORS));
  TN_TRY(ops_box_numbers(r, "ratios", a->ratios, 1, MAX_ANCHORS));
  RELAY_CHECK(r, anchors_of_place(a) <= MAX_ANCHORS, "expected at most %d anchors, got %lld",
              MAX_ANCHORS, (long long)anchors_of_place(a));
  for (int64_t i = 0; i < a->ratios->len; ++i)
    RELAY_CHECK(r, ops_box_number(a->ratios, i) > 0, "ratios: element %lld is not positive",
                (long long)i);
  RELAY_CHECK(r, a->feature_stride > 0 && a->feature_stride <= INT32_MAX,
              "feature_stride must be positive, got %lld", (long long)a->feature_stride);
  RELAY_CHECK(r, a->rpn_post_nms_top_n > 0 && a->rpn_post_nms_top_n <= INT32_MAX,
              "rpn_post_nms_top_n must be positive, got %lld", (long long)a->rpn_post_nms_top_n);
  RELAY_CHECK(r, isfinite(a->threshold), "threshold is not a finite number");
  return 0;
}

static tn_arr *out_shape(const tn_ProposalAttrs *a, tn_expr *images) {
  tn_expr *n = relay_dim_times(images, a->rpn_post_nms_top_n);
  return n ? tn_arr_of(2, n, tir_i32(5)) : NULL;
}

static int relation(relay_rel *r) {
  const tn_ProposalAttrs *a = r->attrs;
  RELAY_TENSOR(scores, r, SCORES);
  RELAY_TENSOR(moves, r, MOVES);
  RELAY_TENSOR(image, r, IMAGE);
  if (check_attrs(r, a)) return RELAY_FAILED;
  RELAY_CHECK(r, scores->shape->len == 4 && moves->shape->len == 4 && image->shape->len == 2,
              "expected scores and moves of 4 dimensions and images of 2, got %s, %s and %s",
              relay_type_text(scores), relay_type_text(moves), relay_type_text(image));
  RELAY_CHECK(r,
              ir_is_floating(scores->dtype) && tn_dtype_eq(scores->dtype, moves->dtype) &&
                  tn_dtype_eq(scores->dtype, image->dtype),
              "scores, moves and images must be of one floating point type, got %s, %s and %s",
              TN_DT(scores->dtype), TN_DT(moves->dtype), TN_DT(image->dtype));
  int64_t n = anchors_of_place(a);
  RELAY_CHECK(r,
              relay_dim_equal(relay_dim(scores, 1), relay_dim_int(2 * n)) != 0 &&
                  relay_dim_equal(relay_dim(moves, 1), relay_dim_int(4 * n)) != 0,
              "%lld anchors need %lld channels of scores and %lld of moves, got %s and %s",
              (long long)n, (long long)(2 * n), (long long)(4 * n), relay_type_text(scores),
              relay_type_text(moves));
  RELAY_CHECK(r,
              relay_dim_equal(relay_dim(scores, 0), relay_dim(moves, 0)) != 0 &&
                  relay_dim_equal(relay_dim(scores, 0), relay_dim(image, 0)) != 0 &&
                  relay_dim_equal(relay_dim(scores, 2), relay_dim(moves, 2)) != 0 &&
                  relay_dim_equal(relay_dim(scores, 3), relay_dim(moves, 3)) != 0,
              "%s, %s and %s are not scores, moves and images of one batch and feature map",
              relay_type_text(scores), relay_type_text(moves), relay_type_text(image));
  RELAY_CHECK(r, relay_dim_equal(relay_dim(image, 1), tir_i32(3)) != 0,
              "expected height, width and scale of each image, got %s", relay_type_text(image));
  tn_arr *shape;
  TN_GET(shape, out_shape(a, relay_dim(scores, 0)));
  return relay_rel_result(r, relay_tensor_type(shape, scores->dtype));
}

/* ---- anchors where the network moves them ---- */

typedef struct {
  const tn_ProposalAttrs *a;
  const tn_Tensor *scores, *moves, *image, *ends; /* ends: left, top, right, bottom of boxes */
  tn_dtype t;
  tn_expr *b, *h, *w, *k; /* image, place, anchor of the place */
} mover;

static tn_expr *real(const mover *m, double v) { return tir_const_float(m->t, v); }

/* Width (axis 0) or height of anchor k: as large as a place times its scale, of whole pixels before
   it is scaled. */
static double anchor_side(const tn_ProposalAttrs *a, int64_t k, int axis) {
  double ratio = ops_box_number(a->ratios, k / a->scales->len),
         scale = ops_box_number(a->scales, k % a->scales->len), stride = (double)a->feature_stride;
  double width = floor(sqrt(floor(stride * stride / ratio)) + 0.5);
  return scale * (axis == 0 ? width : floor(width * ratio + 0.5));
}

static tn_expr *side_of(const mover *m, int axis) {
  tn_expr *v = NULL;
  for (int64_t k = anchors_of_place(m->a); k-- > 0;) {
    tn_expr *own = real(m, anchor_side(m->a, k, axis));
    v = v ? tir_select(tir_eq(m->k, tir_const_int(m->k->dtype, k)), own, v, NULL) : own;
  }
  return v;
}

/* Middle of the anchors of a place. */
static tn_expr *middle_of(const mover *m, int axis) {
  double stride = (double)m->a->feature_stride;
  tn_expr *place = tir_cast(m->t, axis == 0 ? m->w : m->h, NULL);
  return tir_add(tir_mul(place, real(m, stride)), real(m, (stride - 1) / 2));
}

static tn_expr *move(const mover *m, int i) {
  tn_dtype t = m->k->dtype;
  tn_expr *channel = tir_add(tir_mul(m->k, tir_const_int(t, 4)), tir_const_int(t, i));
  return te_at(m->moves, tn_arr_of(4, m->b, channel, m->h, m->w));
}

static tn_expr *image_number(const mover *m, int i) {
  return te_at(m->image, tn_arr_of(2, m->b, tir_i32(i)));
}

/* Side i of the anchor where it is moved to, cut off at the image. */
static tn_expr *moved(const mover *m, int i) {
  int axis = i % 2;
  tn_expr *size = side_of(m, axis), *middle = middle_of(m, axis), *one = real(m, 1);
  if (!m->a->iou_loss) {
    middle = tir_add(tir_mul(move(m, axis), size), middle);
    size = tir_mul(tir_call(m->t, TIR_OP_exp, 1, move(m, axis + 2)), size);
  }
  tn_expr *half = tir_div(tir_sub(size, one), real(m, 2));
  tn_expr *end = i < 2 ? tir_sub(middle, half) : tir_add(middle, half);
  if (m->a->iou_loss) end = tir_add(end, move(m, i));
  tn_expr *border = tir_sub(image_number(m, axis == 0 ? 1 : 0), one);
  return tir_max(tir_min(end, border), real(m, 0));
}

/* Where box n of an image comes from. */
static int find_place(mover *m, tn_arr *at) {
  tn_expr *n = te_index(at, 1), *each, *width, *place;
  TN_GET(each, tir_const_int(n->dtype, anchors_of_place(m->a)));
  TN_GET(width, tir_cast(n->dtype, te_extent(m->scores, 3), NULL));
  TN_GET(place, tir_floordiv(n, each));
  m->b = te_index(at, 0);
  TN_GET(m->k, tir_floormod(n, each));
  TN_GET(m->h, tir_floordiv(place, width));
  TN_GET(m->w, tir_floormod(place, width));
  return 0;
}

static tn_expr *end_element(void *ctx, tn_arr *at) {
  mover m = *(const mover *)ctx;
  tn_expr *which = te_index(at, 2), *value;
  TN_TRYP(find_place(&m, at));
  TN_GETP(value, moved(&m, 3));
  for (int i = 3; i-- > 0;)
    value = tir_select(tir_eq(which, tir_const_int(which->dtype, i)), moved(&m, i), value, NULL);
  return value;
}

static tn_expr *least_size(const mover *m) {
  return tir_mul(image_number(m, 2), real(m, (double)m->a->rpn_min_size));
}

static tn_expr *end(const mover *m, tn_arr *at, int i) {
  return te_at(m->ends, tn_arr_of(3, tn_arr_obj(at, 0), tn_arr_obj(at, 1), tir_i32(i)));
}

static tn_expr *is_small(const mover *m, tn_arr *at) {
  tn_expr *any = tir_bool(false);
  for (int axis = 0; axis < 2; ++axis) {
    tn_expr *size = tir_add(tir_sub(end(m, at, axis + 2), end(m, at, axis)), real(m, 1));
    any = tir_or(any, tir_lt(size, least_size(m)));
  }
  return any;
}

/* Is the place beyond the image, whose feature map may be smaller than that of others? */
static tn_expr *is_beyond(const mover *m, int axis) {
  tn_expr *extent = image_number(m, axis == 0 ? 1 : 0);
  tn_expr *places = tir_div(extent, real(m, (double)m->a->feature_stride));
  tn_expr *place = tir_cast(m->t, axis == 0 ? m->w : m->h, NULL);
  return tir_ge(place, tir_call(m->t, TIR_OP_floor, 1, places));
}

/* A box that is too small is made larger, and is the last choice. */
static tn_expr *box_element(void *ctx, tn_arr *at) {
  mover m = *(const mover *)ctx;
  tn_expr *which = te_index(at, 2), *small, *more;
  TN_TRYP(find_place(&m, at));
  TN_GETP(small, is_small(&m, at));
  TN_GETP(more, tir_select(small, tir_div(least_size(&m), real(&m, 2)), real(&m, 0), NULL));
  tn_expr *channel = tir_add(m.k, tir_const_int(m.k->dtype, anchors_of_place(m.a)));
  tn_expr *score = te_at(m.scores, tn_arr_of(4, m.b, channel, m.h, m.w));
  tn_expr *bad = tir_or(small, tir_or(is_beyond(&m, 0), is_beyond(&m, 1)));
  tn_expr *value = tir_select(bad, real(&m, -1), score, NULL);
  for (int i = 4; i-- > 0;) {
    tn_expr *e = i >= 2 ? tir_add(end(&m, at, i), more) : tir_sub(end(&m, at, i), more);
    value = tir_select(tir_eq(which, tir_const_int(which->dtype, i)), e, value, NULL);
  }
  return value;
}

/* Left, top, right, bottom and score of all boxes. */
static tn_Tensor *boxes_of(const relay_compute *c) {
  mover m = {.a = c->attrs,
             .scores = relay_input(c, SCORES),
             .moves = relay_input(c, MOVES),
             .image = relay_input(c, IMAGE)};
  tn_expr *n, *images = te_extent(m.scores, 0);
  m.t = m.scores->dtype;
  TN_GETP(n, tir_mul(te_extent(m.scores, 2), te_extent(m.scores, 3)));
  TN_GETP(n, tir_mul(n, tir_const_int(n->dtype, anchors_of_place(m.a))));
  TN_GETP(m.ends,
          te_compute(tn_arr_of(3, images, n, tir_i32(4)), end_element, &m, "T_ends", TE_INJECTIVE));
  return te_compute(tn_arr_of(3, images, n, tir_i32(5)), box_element, &m, "T_boxes", TE_INJECTIVE);
}

/* ---- the best of them ---- */

static tn_expr *score_element(void *ctx, tn_arr *at) {
  return te_at(ctx, tn_arr_of(3, tn_arr_obj(at, 0), tn_arr_obj(at, 1), tir_i32(4)));
}

/* Numbers of boxes, the best first; equal ones in their order. */
static tn_Tensor *order_of(tn_Tensor *boxes, tn_obj *target) {
  tn_Tensor *scores;
  tn_Op *op;
  tn_arr *shape = tn_arr_of(2, te_extent(boxes, 0), te_extent(boxes, 1)), *made;
  TN_GETP(scores, shape ? te_compute(shape, score_element, boxes, "T_scores", TE_INJECTIVE) : NULL);
  TN_GETP(op, ir_op_get("argsort"));
  void *attrs = relay_attrs("argsort", 2, "axis", tn_any_int(1), "is_ascend", tn_any_bool(false));
  if (!attrs) return NULL;
  made = relay_op_compute(op, attrs, tn_arr_of(1, scores),
                          (tn_Type *)relay_tensor_type(shape, TN_I32), target);
  return made ? (tn_Tensor *)tn_arr_obj(made, 0) : NULL;
}

typedef struct {
  const tn_ProposalAttrs *a;
  tn_Buffer *boxes, *order;      /* inputs */
  tn_Buffer *out, *alive, *kept; /* results; not dropped yet, numbers of boxes that stay */
  tn_Buffer *count;              /* how many these are */
  tn_expr *b, *n;                /* image, boxes of it that are looked at */
} choice;

static tn_expr *at1(tn_Buffer *b, tn_expr *i) { return tir_load(b, tn_arr_of(1, i)); }
static tn_stmt *set1(tn_Buffer *b, tn_expr *i, tn_expr *v) {
  return tir_store(b, v, tn_arr_of(1, i));
}
static tn_expr *count(const choice *c) { return at1(c->count, tir_i32(0)); }

/* Number k of the i-th best box. */
static tn_expr *number(const choice *c, tn_expr *i, int k) {
  tn_expr *all = (tn_expr *)tn_arr_obj(c->boxes->shape, 1);
  tn_expr *box = ops_data_index(tir_load(c->order, tn_arr_of(2, c->b, i)), all, OPS_CLIP);
  return tir_load(c->boxes, tn_arr_of(3, c->b, box, tir_i32(k)));
}

static void side(const void *ctx, tn_expr *i, int axis, tn_expr **low, tn_expr **high) {
  const choice *c = ctx;
  *low = number(c, i, axis);
  *high = tir_add(number(c, i, axis + 2), tir_const_float(c->boxes->dtype, 1));
}

/* The i-th best box stays, and drops those behind it that overlap it too much. */
static tn_stmt *keep(const choice *c, tn_expr *i) {
  tn_Var *v = tir_var("j", TN_I32);
  tn_expr *j = (tn_expr *)v, *shared, *both, *gone;
  TN_TRYP(ops_box_areas(side, c, i, j, &shared, &both));
  tn_expr *most = tir_const_float(both->dtype, c->a->threshold);
  TN_GETP(gone, tir_and(tir_gt(j, i), tir_gt(tir_div(shared, both), most)));
  tn_stmt *drop = ops_loop(v, c->n, ops_either(gone, set1(c->alive, j, tir_i32(0)), NULL));
  tn_stmt *take = tir_seq2(set1(c->kept, count(c), i),
                           set1(c->count, tir_i32(0), tir_add(count(c), tir_i32(1))));
  return tir_seq2(take, drop);
}

static tn_stmt *choose(const choice *c) {
  tn_Var *v = tir_var("i", TN_I32), *k = tir_var("k", TN_I32);
  tn_expr *i = (tn_expr *)v, *rows = tir_i32((int32_t)c->a->rpn_post_nms_top_n);
  tn_expr *wanted = tir_and(tir_lt(count(c), rows), tir_ne(at1(c->alive, i), tir_i32(0)));
  tn_stmt *start = tir_seq2(set1(c->count, tir_i32(0), tir_i32(0)),
                            ops_loop(k, c->n, set1(c->alive, (tn_expr *)k, tir_i32(1))));
  return tir_seq2(start, ops_loop(v, c->n, ops_either(wanted, keep(c, i), NULL)));
}

/* The rows of an image: boxes that stay, again and again; zeros where it has no boxes. */
static tn_stmt *fill(const choice *c) {
  tn_Var *v = tir_var("row", TN_I32);
  tn_expr *rows = tir_i32((int32_t)c->a->rpn_post_nms_top_n), *i = (tn_expr *)v;
  tn_expr *row = tir_add(tir_mul(tir_cast(TN_I32, c->b, NULL), rows), i);
  tn_expr *box = at1(c->kept, tir_floormod(i, tir_max(count(c), tir_i32(1))));
  tn_expr *some = tir_gt(count(c), tir_i32(0)), *zero = tir_const_float(c->out->dtype, 0);
  box = ops_data_index(box, (tn_expr *)tn_arr_obj(c->order->shape, 1), OPS_CLIP);
  tn_stmt *all =
      tir_store(c->out, tir_cast(c->out->dtype, c->b, NULL), tn_arr_of(2, row, tir_i32(0)));
  for (int k = 0; k < 4; ++k) {
    tn_expr *value = tir_if_then_else(some, number(c, box, k), zero, NULL);
    all = tir_seq2(all, tir_store(c->out, value, tn_arr_of(2, row, tir_i32(k + 1))));
  }
  return ops_loop(v, rows, all);
}

static tn_arr *compute(const relay_compute *r) {
  choice c = {.a = r->attrs};
  tn_Tensor *boxes, *order;
  tn_Var *image = tir_var("image", TN_I32);
  TN_GETP(boxes, boxes_of(r));
  TN_GETP(order, order_of(boxes, r->target));
  tn_expr *n = te_extent(boxes, 1), *top = tir_i32((int32_t)c.a->rpn_post_nms_top_n);
  tn_arr *shape;
  TN_GETP(shape, out_shape(c.a, te_extent(boxes, 0)));
  TN_GETP(c.boxes, tir_buffer(boxes->shape, boxes->dtype, "boxes", ""));
  TN_GETP(c.order, tir_buffer(order->shape, TN_I32, "order", ""));
  TN_GETP(c.out, tir_buffer(shape, boxes->dtype, "regions", ""));
  TN_GETP(c.alive, tir_buffer(tn_arr_of(1, n), TN_I32, "alive", ""));
  TN_GETP(c.kept, tir_buffer(tn_arr_of(1, top), TN_I32, "kept", ""));
  TN_GETP(c.count, tir_buffer(tn_arr_of(1, tir_i32(1)), TN_I32, "count", ""));
  c.b = (tn_expr *)image;
  c.n = tir_cast(TN_I32, n, NULL);
  if (c.a->rpn_pre_nms_top_n > 0 && c.a->rpn_pre_nms_top_n < INT32_MAX)
    c.n = tir_min(c.n, tir_i32((int32_t)c.a->rpn_pre_nms_top_n));
  tn_stmt *body = ops_loop(image, te_extent(boxes, 0), tir_seq2(choose(&c), fill(&c)));
  tn_arr *made = ops_extern("proposal", tn_arr_of(2, boxes, order), tn_arr_of(2, c.boxes, c.order),
                            tn_arr_of(4, c.out, c.alive, c.kept, c.count), body);
  return made ? tn_arr_of(1, tn_arr_obj(made, 0)) : NULL;
}

static tn_arr *shape_function(const relay_shape_query *q) {
  return tn_arr_of(1, out_shape(q->attrs, (tn_expr *)tn_arr_obj(relay_shape_of(q, SCORES), 0)));
}

static const relay_op_row rows[] = {
    {.name = "vision.proposal",
     .inputs = "cls_prob bbox_pred im_info",
     .attrs = &tn_type_ProposalAttrs,
     .level = 5,
     .pattern = RELAY_OPAQUE,
     .rel_name = "Proposal",
     .rel = relation,
     .compute = compute,
     .shape = shape_function,
     .doc = "regions of images that show something, the best first"},
};

RELAY_FAMILY(proposal, PROPOSAL_ATTRS)
