/* Boxes that overlap better ones left out.

     vision.all_class_non_max_suppression(%boxes, %scores, %most, %overlap, %least)
         (Tensor[(b, n, 4)], Tensor[(b, c, n)], limits: tensors of one element)
         -> (Tensor[(b * c * n, 3), int64], Tensor[(1), int64])

   For each image and class the boxes with a score above the least one are taken by score, the best
   first, unless they overlap one that was taken by more than the limit (as a part of the area of
   both), up to `most` of them. The result has a row (image, class, box) for each, and their number;
   the rows after these are zeros. */
#include "ir/imm.h"
#include "ops/ops.h"
#include "ops/vision/boxes.h"

#define TN_FIELDS_AllClassNonMaximumSuppressionAttrs(F, S)                                         \
  F(S, REF, String, output_format, 0, "form of the result: \"onnx\"", "\"onnx\"")
#define NMS_ATTRS(N)                                                                               \
  N(AllClassNonMaximumSuppressionAttrs, Attrs, "relay.attrs.AllClassNonMaximumSuppressionAttrs",   \
    NODE, TREE, tn_no_hooks, "attributes of vision.all_class_non_max_suppression")
TN_NODES_LOCAL(NMS_ATTRS)

/* ---- relation ---- */

static tn_arr *rows_shape(const tn_arr *boxes, const tn_arr *scores) {
  tn_expr *n = relay_dim_mul((tn_expr *)tn_arr_obj(boxes, 0), (tn_expr *)tn_arr_obj(boxes, 1));
  n = relay_dim_mul(n, (tn_expr *)tn_arr_obj(scores, 1));
  return n ? tn_arr_of(2, n, relay_dim_int(3)) : NULL;
}

static int check_limit(relay_rel *r, int i) {
  RELAY_TENSOR(t, r, i);
  bool one = t->shape->len == 0 ||
             (t->shape->len == 1 && relay_dim_equal(relay_dim(t, 0), tir_i32(1)) != 0);
  RELAY_CHECK(r, one, "a limit must be one number, got %s", relay_type_text(t));
  return RELAY_SOLVED;
}

static int relation(relay_rel *r) {
  const tn_AllClassNonMaximumSuppressionAttrs *a = r->attrs;
  RELAY_TENSOR(boxes, r, 0);
  RELAY_TENSOR(scores, r, 1);
  for (int i = 2; i < 5; ++i) {
    int known = check_limit(r, i);
    if (known != RELAY_SOLVED) return known;
  }
  RELAY_CHECK(r, tn_str_eq(a->output_format, "onnx"), "output_format %s is not supported",
              tn_cstr(a->output_format));
  RELAY_CHECK(r, boxes->shape->len == 3 && scores->shape->len == 3,
              "expected boxes and scores of 3 dimensions, got %s", relay_type_text(boxes));
  RELAY_CHECK(r, relay_dim_equal(relay_dim(boxes, 2), tir_i64(4)) != 0,
              "boxes must have 4 numbers, got %s", relay_type_text(boxes));
  RELAY_CHECK(r,
              relay_dim_equal(relay_dim(boxes, 0), relay_dim(scores, 0)) != 0 &&
                  relay_dim_equal(relay_dim(boxes, 1), relay_dim(scores, 2)) != 0,
              "scores do not fit the boxes: %s", relay_type_text(scores));
  tn_TensorType *rows = relay_tensor_type(rows_shape(boxes->shape, scores->shape), TN_I64);
  tn_TensorType *count = relay_tensor_type(tn_arr_of(1, tir_i32(1)), TN_I64);
  return relay_rel_result(r, rows && count ? relay_tuple_type(tn_arr_of(2, rows, count)) : NULL);
}

/* ---- compute ---- */

enum { BOXES, SCORES, MOST, OVERLAP, LEAST, NINPUTS };

typedef struct {
  tn_Buffer *in[NINPUTS], *rows, *count;
  tn_Buffer *alive, *state; /* boxes that may still be taken; best box, number taken */
  tn_expr *b, *c;           /* image and class */
  tn_expr *n;
} nms;

static tn_arr *idx(tn_expr *i) { return tn_arr_of(1, i); }
static tn_expr *limit(const nms *s, int which) {
  tn_Buffer *b = s->in[which];
  return tir_load(b, b->shape->len ? idx(tir_i32(0)) : tn_arr_of(0));
}
static tn_expr *score(const nms *s, tn_expr *i) {
  return tir_load(s->in[SCORES], tn_arr_of(3, s->b, s->c, i));
}
static tn_expr *corner(const nms *s, tn_expr *i, int k) {
  return tir_load(s->in[BOXES], tn_arr_of(3, s->b, i, tir_i32(k)));
}
static tn_expr *best(const nms *s) { return tir_load(s->state, idx(tir_i32(0))); }
static tn_expr *taken(const nms *s) { return tir_load(s->state, idx(tir_i32(1))); }
static tn_expr *alive(const nms *s, tn_expr *i) {
  return tir_ne(tir_load(s->alive, idx(i)), tir_i32(0));
}
static tn_stmt *set(tn_Buffer *b, int32_t at, tn_expr *v) {
  return tir_store(b, v, idx(tir_i32(at)));
}

/* Extent of box i along an axis, whichever corner is first: from `low` to `high`. */
static void side(const void *ctx, tn_expr *i, int axis, tn_expr **low, tn_expr **high) {
  const nms *s = ctx;
  tn_expr *a = corner(s, i, axis), *b = corner(s, i, axis + 2);
  *low = tir_min(a, b), *high = tir_max(a, b);
}

/* Does what boxes i and j share come to more than the limit of the area of both? */
static tn_expr *overlaps(const nms *s, tn_expr *i, tn_expr *j) {
  tn_expr *shared, *both;
  TN_TRYP(ops_box_areas(side, s, i, j, &shared, &both));
  tn_expr *most = tir_cast(both->dtype, limit(s, OVERLAP), NULL), *zero = tir_zero(both->dtype);
  return tir_and(tir_gt(both, zero), tir_gt(tir_div(shared, both), most));
}

/* The best box that may still be taken; -1 when there is none. */
static tn_stmt *find_best(const nms *s) {
  tn_Var *i = tir_var("i", TN_I32);
  tn_expr *first = tir_lt(best(s), tir_i32(0)), *e = (tn_expr *)i;
  tn_expr *better = tir_if_then_else(
      first, tir_bool(true), tir_gt(score(s, e), score(s, tir_max(best(s), tir_i32(0)))), NULL);
  tn_expr *wanted = tir_if_then_else(alive(s, e), better, tir_bool(false), NULL);
  return tir_seq2(set(s->state, 0, tir_i32(-1)),
                  ops_loop(i, s->n, ops_either(wanted, set(s->state, 0, e), NULL)));
}

static tn_stmt *write_row(const nms *s) {
  tn_expr *at = tir_cast(TN_I32, tir_load(s->count, idx(tir_i32(0))), NULL);
  tn_expr *values[] = {s->b, s->c, best(s)};
  tn_stmt *all = NULL;
  for (int k = 0; k < 3; ++k) {
    tn_stmt *one =
        tir_store(s->rows, tir_cast(TN_I64, values[k], NULL), tn_arr_of(2, at, tir_i32(k)));
    all = k ? tir_seq2(all, one) : one;
  }
  tn_expr *more = tir_add(tir_load(s->count, idx(tir_i32(0))), tir_i64(1));
  return tir_seq2(tir_seq2(all, set(s->count, 0, more)),
                  set(s->state, 1, tir_add(taken(s), tir_i32(1))));
}

/* Takes the best box and strikes those out that overlap it. */
static tn_stmt *take_best(const nms *s) {
  tn_Var *j = tir_var("j", TN_I32);
  tn_expr *e = (tn_expr *)j, *chosen = tir_max(best(s), tir_i32(0));
  tn_expr *gone = tir_if_then_else(alive(s, e), overlaps(s, chosen, e), tir_bool(false), NULL);
  tn_stmt *strike =
      ops_loop(j, s->n, ops_either(gone, tir_store(s->alive, tir_i32(0), idx(e)), NULL));
  tn_stmt *out = tir_store(s->alive, tir_i32(0), idx(chosen));
  return ops_either(tir_ge(best(s), tir_i32(0)), tir_seq2(write_row(s), tir_seq2(out, strike)),
                    NULL);
}

static tn_stmt *one_class(const nms *s) {
  tn_Var *i = tir_var("k", TN_I32), *turn = tir_var("turn", TN_I32);
  tn_expr *e = (tn_expr *)i, *sc = score(s, e);
  if (!sc) return NULL;
  tn_expr *good = tir_gt(sc, tir_cast(sc->dtype, limit(s, LEAST), NULL));
  tn_expr *flag = tir_select(good, tir_i32(1), tir_i32(0), NULL);
  tn_stmt *start = ops_loop(i, s->n, tir_store(s->alive, flag, idx(e)));
  tn_expr *most = tir_cast(TN_I64, limit(s, MOST), NULL);
  tn_expr *room = tir_or(tir_lt(most, tir_i64(0)), tir_lt(tir_cast(TN_I64, taken(s), NULL), most));
  tn_stmt *body = ops_either(room, tir_seq2(find_best(s), take_best(s)), NULL);
  return tir_seq2(tir_seq2(start, set(s->state, 1, tir_i32(0))), ops_loop(turn, s->n, body));
}

static tn_stmt *clear_rows(const nms *s) {
  tn_arr *at;
  TN_GETP(at, ops_loop_vars("z", 2));
  return tir_seq2(ops_loops(at, s->rows->shape, tir_store(s->rows, tir_i64(0), at)),
                  set(s->count, 0, tir_i64(0)));
}

static tn_arr *compute(const relay_compute *c) {
  static const char *const names[] = {"boxes", "scores", "most", "overlap", "least"};
  nms s = {.n = te_extent(relay_input(c, 0), 1)};
  TN_VEC(read);
  for (int i = 0; i < NINPUTS; ++i) {
    const tn_Tensor *t = relay_input(c, i);
    TN_GETP(s.in[i], tir_buffer(t->shape, t->dtype, names[i], ""));
    TN_TRYP(tn_vec_push_obj(&read, s.in[i]));
  }
  tn_arr *shape = rows_shape(s.in[BOXES]->shape, s.in[SCORES]->shape);
  TN_GETP(s.rows, shape ? tir_buffer(shape, TN_I64, "rows", "") : NULL);
  TN_GETP(s.count, tir_buffer(tn_arr_of(1, tir_i32(1)), TN_I64, "count", ""));
  TN_GETP(s.alive, tir_buffer(tn_arr_of(1, s.n), TN_I32, "alive", ""));
  TN_GETP(s.state, tir_buffer(tn_arr_of(1, tir_i32(2)), TN_I32, "state", ""));
  tn_Var *b = tir_var("b", TN_I32), *k = tir_var("c", TN_I32);
  s.b = (tn_expr *)b, s.c = (tn_expr *)k;
  tn_stmt *body = ops_loop(k, te_extent(relay_input(c, 1), 1), one_class(&s));
  body = tir_seq2(clear_rows(&s), ops_loop(b, te_extent(relay_input(c, 0), 0), body));
  tn_arr *all = ops_extern("nms", c->inputs, tn_arr_from(&read),
                           tn_arr_of(4, s.rows, s.count, s.alive, s.state), body);
  return all ? tn_arr_of(2, tn_arr_obj(all, 0), tn_arr_obj(all, 1)) : NULL;
}

static tn_arr *shape_function(const relay_shape_query *q) {
  tn_arr *rows = rows_shape(relay_shape_of(q, 0), relay_shape_of(q, 1));
  return rows ? tn_arr_of(2, rows, tn_arr_of(1, tir_i64(1))) : NULL;
}

static const relay_op_row rows[] = {
    {.name = "vision.all_class_non_max_suppression",
     .inputs = "boxes scores max_output_boxes_per_class iou_threshold score_threshold",
     .attrs = &tn_type_AllClassNonMaximumSuppressionAttrs,
     .level = 5,
     .pattern = RELAY_OPAQUE,
     .rel_name = "AllClassNMS",
     .rel = relation,
     .compute = compute,
     .shape = shape_function,
     .doc = "boxes that overlap better ones of their class left out"},
};

RELAY_FAMILY(nms, NMS_ATTRS)
