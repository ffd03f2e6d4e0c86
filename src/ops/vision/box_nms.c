/* Boxes of detectors: those with a score that is good enough, and of these the best ones.

     vision.get_valid_counts(%data, %least, id_index=0, score_index=1)
         Tensor[(b, n, e)] -> (Tensor[(b), int32], Tensor[(b, n, e)], Tensor[(b, n), int32])
     vision.non_max_suppression(%data, %count, %indices, %most, %overlap, ...)
         Tensor[(b, n, e)], Tensor[(b), int32], Tensor[(b, n), int32] -> Tensor[(b, n, e)], or
         (Tensor[(b, n), int32], Tensor[(b, 1), int32])

   A box is a row of e numbers, among them its class (maybe), score and four coordinates. The first
   operator moves boxes whose score is above the least one to the front and fills the rest with -1.
   The second sorts the first `count` boxes by score and, where the limit of overlap is positive,
   strikes those out (score and class become -1) that overlap a better one of their class by it. */
#include "ir/imm.h"
#include "ops/ops.h"
#include "ops/vision/boxes.h"

#define TN_FIELDS_GetValidCountsAttrs(F, S)                                                        \
  F(S, I64, , id_index, 0, "place of the class in a box; negative: it has none", "0")              \
  F(S, I64, , score_index, 0, "place of the score", "1")
#define TN_FIELDS_NonMaximumSuppressionAttrs(F, S)                                                 \
  F(S, BOOL, , force_suppress, 0, "may boxes of different classes strike each other out?",         \
    "False")                                                                                       \
  F(S, I64, , top_k, 0, "best boxes that are looked at; not positive: all", "-1")                  \
  F(S, I64, , coord_start, 0, "place of the first of four coordinates", "2")                       \
  F(S, I64, , score_index, 0, "place of the score", "1")                                           \
  F(S, I64, , id_index, 0, "place of the class in a box; negative: it has none", "0")              \
  F(S, BOOL, , return_indices, 0, "indices of the boxes and their number, not the boxes", "True")  \
  F(S, BOOL, , invalid_to_bottom, 0, "boxes that are left first, the others all -1?", "False")
#define BOX_NMS_ATTRS(N)                                                                           \
  N(GetValidCountsAttrs, Attrs, "relay.attrs.GetValidCountsAttrs", NODE, TREE, tn_no_hooks,        \
    "attributes of vision.get_valid_counts")                                                       \
  N(NonMaximumSuppressionAttrs, Attrs, "relay.attrs.NonMaximumSuppressionAttrs", NODE, TREE,       \
    tn_no_hooks, "attributes of vision.non_max_suppression")
TN_NODES_LOCAL(BOX_NMS_ATTRS)

/* ---- relations ---- */

static int check_place(const relay_rel *r, const tn_TensorType *data, const char *what,
                       int64_t place, int64_t more) {
  int64_t n;
  RELAY_CHECK(r, data->shape->len == 3, "data: expected [batch, boxes, numbers], got %s",
              relay_type_text(data));
  bool known = tir_as_int((tn_obj *)relay_dim(data, 2), &n);
  RELAY_CHECK(r, place >= 0 && (!known || (n >= more && place <= n - more)),
              "%s=%lld is not a place in a box of %s", what, (long long)place,
              relay_type_text(data));
  return RELAY_SOLVED;
}

static int check_number(relay_rel *r, int i, const char *what) {
  RELAY_TENSOR(t, r, i);
  RELAY_CHECK(r, t->shape->len == 0, "%s: expected one number, got %s", what, relay_type_text(t));
  return RELAY_SOLVED;
}

#define KNOWN(check)                                                                               \
  do {                                                                                             \
    int known_ = (check);                                                                          \
    if (known_ != RELAY_SOLVED) return known_;                                                     \
  } while (0)

static int counts_relation(relay_rel *r) {
  const tn_GetValidCountsAttrs *a = r->attrs;
  RELAY_TENSOR(data, r, 0);
  KNOWN(check_number(r, 1, "score_threshold"));
  KNOWN(check_place(r, data, "score_index", a->score_index, 1));
  if (a->id_index > 0) KNOWN(check_place(r, data, "id_index", a->id_index, 1));
  tn_expr *b = relay_dim(data, 0), *n = relay_dim(data, 1);
  tn_TensorType *count = relay_tensor_type(tn_arr_of(1, b), TN_I32),
                *places = relay_tensor_type(tn_arr_of(2, b, n), TN_I32);
  return relay_rel_result(r, relay_tuple_type(tn_arr_of(3, count, data, places)));
}

static int nms_relation(relay_rel *r) {
  const tn_NonMaximumSuppressionAttrs *a = r->attrs;
  RELAY_TENSOR(data, r, 0);
  RELAY_TENSOR(count, r, 1);
  RELAY_TENSOR(indices, r, 2);
  KNOWN(check_number(r, 3, "max_output_size"));
  KNOWN(check_number(r, 4, "iou_threshold"));
  KNOWN(check_place(r, data, "score_index", a->score_index, 1));
  KNOWN(check_place(r, data, "coord_start", a->coord_start, 4));
  if (a->id_index > 0) KNOWN(check_place(r, data, "id_index", a->id_index, 1));
  tn_expr *b = relay_dim(data, 0), *n = relay_dim(data, 1);
  RELAY_CHECK(r,
              count->shape->len == 1 && relay_dim_equal(relay_dim(count, 0), b) != 0 &&
                  tn_dtype_eq(count->dtype, TN_I32),
              "valid_count: expected int32 of each of the batch, got %s", relay_type_text(count));
  if (!a->return_indices) return relay_rel_result(r, data); /* indices are not looked at */
  RELAY_CHECK(r,
              indices->shape->len == 2 && relay_dim_equal(relay_dim(indices, 0), b) != 0 &&
                  relay_dim_equal(relay_dim(indices, 1), n) != 0 &&
                  tn_dtype_eq(indices->dtype, TN_I32),
              "indices: expected int32 of each box, got %s", relay_type_text(indices));
  tn_TensorType *left = relay_tensor_type(tn_arr_of(2, b, tir_i32(1)), TN_I32);
  return relay_rel_result(r, relay_tuple_type(tn_arr_of(2, indices, left)));
}

/* ---- statements ---- */

static tn_expr *i32(int64_t v) { return tir_i32((int32_t)v); }
static tn_stmt *then(tn_stmt *a, tn_stmt *b) { return tir_seq2(a, b); }
static tn_expr *at1(tn_Buffer *b, tn_expr *i) { return tir_load(b, tn_arr_of(1, i)); }
static tn_expr *at2(tn_Buffer *b, tn_expr *i, tn_expr *j) {
  return tir_load(b, tn_arr_of(2, i, j));
}
static tn_stmt *set1(tn_Buffer *b, tn_expr *i, tn_expr *v) {
  return tir_store(b, v, tn_arr_of(1, i));
}
static tn_stmt *set2(tn_Buffer *b, tn_expr *i, tn_expr *j, tn_expr *v) {
  return tir_store(b, v, tn_arr_of(2, i, j));
}

static tn_expr *number(tn_Buffer *b, tn_expr *image, tn_expr *box, int64_t k) {
  return tir_load(b, tn_arr_of(3, image, box, i32(k)));
}

/* Row `to` of a buffer from row `from` of another, -1 where that is NULL. */
static tn_stmt *set_row(tn_Buffer *out, tn_Buffer *in, tn_expr *image, tn_expr *to, tn_expr *from) {
  tn_Var *k = tir_var("k", TN_I32);
  tn_expr *v = in ? tir_load(in, tn_arr_of(3, image, from, (tn_expr *)k))
                  : tir_cast(out->dtype, i32(-1), NULL);
  tn_stmt *s = v ? tir_store(out, v, tn_arr_of(3, image, to, (tn_expr *)k)) : NULL;
  return ops_loop(k, (tn_expr *)tn_arr_obj(out->shape, 2), s);
}

/* ---- get_valid_counts ---- */

static tn_Buffer *buffer_of(const tn_Tensor *t, const char *name, tn_vec *all) {
  tn_Buffer *b = t ? tir_buffer(t->shape, t->dtype, name, "") : NULL;
  return b && tn_vec_push_obj(all, b) == 0 ? b : NULL;
}

static tn_arr *counts(const relay_compute *c) {
  const tn_GetValidCountsAttrs *a = c->attrs;
  const tn_Tensor *t = relay_input(c, 0);
  tn_Buffer *data, *least, *count, *out, *places;
  TN_VEC(read);
  TN_GETP(data, buffer_of(t, "data", &read));
  TN_GETP(least, buffer_of(relay_input(c, 1), "least", &read));
  TN_GETP(count, tir_buffer(tn_arr_of(1, te_extent(t, 0)), TN_I32, "count", ""));
  TN_GETP(out, tir_buffer(t->shape, t->dtype, "boxes", ""));
  TN_GETP(places, tir_buffer(tn_arr_of(2, te_extent(t, 0), te_extent(t, 1)), TN_I32, "places", ""));
  tn_Var *b = tir_var("b", TN_I32), *j = tir_var("j", TN_I32), *r = tir_var("r", TN_I32);
  tn_expr *i = (tn_expr *)b, *box = (tn_expr *)j, *rest = (tn_expr *)r, *to = at1(count, i);
  tn_expr *score = number(data, i, box, a->score_index), *good;
  TN_GETP(score, score);
  TN_GETP(good, tir_gt(score, tir_cast(score->dtype, tir_load(least, tn_arr_of(0)), NULL)));
  if (a->id_index >= 0) {
    tn_expr *id = number(data, i, box, a->id_index);
    good = id ? tir_and(good, tir_ge(id, tir_zero(id->dtype))) : NULL;
  }
  tn_stmt *keep = then(then(set_row(out, data, i, to, box), set2(places, i, to, box)),
                       set1(count, i, tir_add(to, i32(1))));
  tn_stmt *fill = then(set_row(out, NULL, i, rest, NULL), set2(places, i, rest, i32(-1)));
  tn_expr *n = te_extent(t, 1);
  tn_stmt *body = then(set1(count, i, i32(0)), ops_loop(j, n, ops_either(good, keep, NULL)));
  body = then(body, ops_loop(r, n, ops_either(tir_ge(rest, to), fill, NULL)));
  return ops_extern("get_valid_counts", c->inputs, tn_arr_from(&read),
                    tn_arr_of(3, count, out, places), ops_loop(b, te_extent(t, 0), body));
}

/* ---- non_max_suppression ---- */

typedef struct {
  const tn_NonMaximumSuppressionAttrs *a;
  tn_Buffer *data, *count, *indices, *most, *overlap; /* inputs */
  tn_Buffer *out, *box;          /* boxes by score; which ones they are, -1 for those struck out */
  tn_Buffer *left, *kept, *rows; /* number of boxes left, indices of these, these */
  tn_Buffer *alive, *state;      /* not sorted yet; the best of them, the number taken */
  tn_expr *b, *n, *valid;        /* image, boxes there are, boxes to look at */
} nms;

enum { BEST, TAKEN, NSTATE };

static tn_expr *state(const nms *s, int which) { return at1(s->state, i32(which)); }
static tn_stmt *set_state(const nms *s, int which, tn_expr *v) {
  return set1(s->state, i32(which), v);
}
static tn_expr *score(const nms *s, tn_Buffer *of, tn_expr *i) {
  return number(of, s->b, i, s->a->score_index);
}
static tn_expr *limit(const nms *s) {
  return tir_cast(s->data->dtype, tir_load(s->overlap, tn_arr_of(0)), NULL);
}

/* Boxes that there are; a count that is too large reads nothing beyond them. */
static tn_expr *valid_boxes(const nms *s) {
  return tir_max(tir_min(at1(s->count, s->b), s->n), i32(0));
}
/* Of these the ones that are sorted. */
static tn_expr *sorted_boxes(const nms *s) {
  return s->a->top_k > 0 ? tir_min(s->valid, i32(s->a->top_k < INT32_MAX ? s->a->top_k : INT32_MAX))
                         : s->valid;
}

/* The best box that was not taken yet is the next one; of equal ones the first. */
static tn_stmt *sort_boxes(const nms *s) {
  tn_Var *k = tir_var("k", TN_I32), *i = tir_var("i", TN_I32), *to = tir_var("to", TN_I32);
  tn_expr *e = (tn_expr *)i, *at = (tn_expr *)to, *best = state(s, BEST);
  tn_expr *first = tir_lt(best, i32(0)),
          *more = tir_gt(score(s, s->data, e), score(s, s->data, tir_max(best, i32(0))));
  tn_expr *better = tir_if_then_else(first, tir_bool(true), more, NULL);
  tn_expr *wanted =
      tir_if_then_else(tir_ne(at1(s->alive, e), i32(0)), better, tir_bool(false), NULL);
  tn_stmt *find = then(set_state(s, BEST, i32(-1)),
                       ops_loop(i, s->valid, ops_either(wanted, set_state(s, BEST, e), NULL)));
  tn_expr *chosen = tir_max(best, i32(0));
  tn_stmt *take =
      then(then(set_row(s->out, s->data, s->b, at, chosen), set2(s->box, s->b, at, chosen)),
           set1(s->alive, chosen, i32(0)));
  tn_stmt *start = ops_loop(k, s->valid, set1(s->alive, (tn_expr *)k, i32(1)));
  return then(start, ops_loop(to, sorted_boxes(s), then(find, take)));
}

static tn_stmt *copy_boxes(const nms *s) {
  tn_Var *i = tir_var("i", TN_I32);
  tn_expr *e = (tn_expr *)i;
  return ops_loop(i, s->valid,
                  then(set_row(s->out, s->data, s->b, e, e), set2(s->box, s->b, e, e)));
}

static tn_stmt *clear_box(const nms *s, tn_expr *i) {
  return then(set_row(s->out, NULL, s->b, i, NULL), set2(s->box, s->b, i, i32(-1)));
}

/* A side of box i, whichever corner comes first. */
static void side(const void *ctx, tn_expr *i, int axis, tn_expr **low, tn_expr **high) {
  const nms *s = ctx;
  int64_t k = s->a->coord_start + axis;
  tn_expr *x = number(s->out, s->b, i, k), *y = number(s->out, s->b, i, k + 2);
  *low = tir_min(x, y), *high = tir_max(x, y);
}

static tn_expr *overlaps(const nms *s, tn_expr *i, tn_expr *j) {
  tn_expr *shared, *both;
  TN_TRYP(ops_box_areas(side, s, i, j, &shared, &both));
  tn_expr *zero = tir_zero(both->dtype), *part = tir_div(shared, both);
  part = tir_if_then_else(tir_gt(both, zero), part, zero, NULL);
  return part ? tir_ge(part, limit(s)) : NULL;
}

static tn_stmt *strike(const nms *s, tn_expr *i) {
  tn_expr *minus = tir_cast(s->out->dtype, i32(-1), NULL);
  tn_stmt *all = tir_store(s->out, minus, tn_arr_of(3, s->b, i, i32(s->a->score_index)));
  if (s->a->id_index >= 0)
    all = then(all, tir_store(s->out, minus, tn_arr_of(3, s->b, i, i32(s->a->id_index))));
  return then(all, set2(s->box, s->b, i, i32(-1)));
}

static tn_expr *is_there(const nms *s, tn_expr *i) {
  tn_expr *v = score(s, s->out, i);
  return v ? tir_gt(v, tir_zero(v->dtype)) : NULL;
}

/* The best box that is left strikes out those behind it. */
static tn_stmt *suppress(const nms *s) {
  tn_Var *v = tir_var("i", TN_I32), *w = tir_var("j", TN_I32);
  tn_expr *i = (tn_expr *)v, *j = (tn_expr *)w;
  tn_expr *other = tir_and(tir_gt(j, i), is_there(s, j)), *gone;
  if (!s->a->force_suppress && s->a->id_index >= 0)
    other = tir_and(other, tir_eq(number(s->out, s->b, i, s->a->id_index),
                                  number(s->out, s->b, j, s->a->id_index)));
  TN_GETP(gone, tir_if_then_else(other, overlaps(s, i, j), tir_bool(false), NULL));
  tn_stmt *turn = then(set_state(s, TAKEN, tir_add(state(s, TAKEN), i32(1))),
                       ops_loop(w, sorted_boxes(s), ops_either(gone, strike(s, j), NULL)));
  tn_expr *full = tir_eq(tir_cast(TN_I64, state(s, TAKEN), NULL),
                         tir_cast(TN_I64, tir_load(s->most, tn_arr_of(0)), NULL));
  tn_stmt *one = ops_either(full, clear_box(s, i), ops_either(is_there(s, i), turn, NULL));
  return then(set_state(s, TAKEN, i32(0)), ops_loop(v, sorted_boxes(s), one));
}

/* What is left, to the front of the results. */
static tn_stmt *gather(const nms *s) {
  tn_Var *v = tir_var("i", TN_I32), *w = tir_var("rest", TN_I32);
  tn_expr *i = (tn_expr *)v, *rest = (tn_expr *)w, *to = at2(s->left, s->b, i32(0));
  tn_expr *which = at2(s->box, s->b, i), *safe = tir_max(which, i32(0));
  tn_stmt *keep, *fill;
  if (s->rows) {
    keep = set_row(s->rows, s->out, s->b, to, i);
    fill = set_row(s->rows, NULL, s->b, rest, NULL);
  } else {
    keep = set2(s->kept, s->b, to, at2(s->indices, s->b, safe));
    fill = set2(s->kept, s->b, rest, i32(-1));
  }
  keep = then(keep, set2(s->left, s->b, i32(0), tir_add(to, i32(1))));
  tn_stmt *all = ops_loop(v, s->n, ops_either(tir_ge(which, i32(0)), keep, NULL));
  all = then(set2(s->left, s->b, i32(0), i32(0)), all);
  return then(all, ops_loop(w, s->n, ops_either(tir_ge(rest, to), fill, NULL)));
}

static tn_stmt *image(const nms *s) {
  tn_Var *z = tir_var("z", TN_I32);
  tn_stmt *clear = ops_loop(z, s->n, clear_box(s, (tn_expr *)z));
  tn_expr *strikes, *most;
  TN_GETP(most, limit(s));
  TN_GETP(strikes, tir_gt(most, tir_zero(most->dtype)));
  tn_stmt *all = then(clear, ops_either(strikes, then(sort_boxes(s), suppress(s)), copy_boxes(s)));
  bool moves = s->a->return_indices || s->a->invalid_to_bottom;
  return moves ? then(all, gather(s)) : all;
}

static tn_arr *suppressed(const relay_compute *c) {
  const tn_Tensor *t = relay_input(c, 0);
  nms s = {.a = c->attrs, .n = te_extent(t, 1)};
  tn_Var *b = tir_var("b", TN_I32);
  TN_VEC(read);
  TN_GETP(s.data, buffer_of(t, "data", &read));
  TN_GETP(s.count, buffer_of(relay_input(c, 1), "count", &read));
  TN_GETP(s.indices, buffer_of(relay_input(c, 2), "indices", &read));
  TN_GETP(s.most, buffer_of(relay_input(c, 3), "most", &read));
  TN_GETP(s.overlap, buffer_of(relay_input(c, 4), "overlap", &read));
  tn_arr *places = tn_arr_of(2, te_extent(t, 0), s.n),
         *ones = tn_arr_of(2, te_extent(t, 0), i32(1));
  TN_GETP(s.out, tir_buffer(t->shape, t->dtype, "boxes", ""));
  TN_GETP(s.box, tir_buffer(places, TN_I32, "box", ""));
  TN_GETP(s.left, tir_buffer(ones, TN_I32, "left", ""));
  TN_GETP(s.kept, tir_buffer(places, TN_I32, "kept", ""));
  TN_GETP(s.alive, tir_buffer(tn_arr_of(1, s.n), TN_I32, "alive", ""));
  TN_GETP(s.state, tir_buffer(tn_arr_of(1, i32(NSTATE)), TN_I32, "state", ""));
  if (!s.a->return_indices && s.a->invalid_to_bottom)
    TN_GETP(s.rows, tir_buffer(t->shape, t->dtype, "rows", ""));
  s.b = (tn_expr *)b;
  TN_GETP(s.valid, valid_boxes(&s));
  tn_arr *written = s.rows ? tn_arr_of(6, s.rows, s.left, s.out, s.box, s.alive, s.state)
                    : s.a->return_indices
                        ? tn_arr_of(6, s.kept, s.left, s.out, s.box, s.alive, s.state)
                        : tn_arr_of(4, s.out, s.box, s.alive, s.state);
  tn_arr *all = ops_extern("non_max_suppression", c->inputs, tn_arr_from(&read), written,
                           ops_loop(b, te_extent(t, 0), image(&s)));
  if (!all) return NULL;
  return s.a->return_indices ? tn_arr_of(2, tn_arr_obj(all, 0), tn_arr_obj(all, 1))
                             : tn_arr_of(1, tn_arr_obj(all, 0));
}

/* ---- shapes ---- */

static tn_arr *counts_shapes(const relay_shape_query *q) {
  tn_arr *data = relay_shape_of(q, 0);
  tn_obj *b = tn_arr_obj(data, 0), *n = tn_arr_obj(data, 1);
  return tn_arr_of(3, tn_arr_of(1, b), data, tn_arr_of(2, b, n));
}

static tn_arr *nms_shapes(const relay_shape_query *q) {
  const tn_NonMaximumSuppressionAttrs *a = q->attrs;
  tn_arr *data = relay_shape_of(q, 0);
  if (!a->return_indices) return tn_arr_of(1, data);
  return tn_arr_of(2, relay_shape_of(q, 2), tn_arr_of(2, tn_arr_obj(data, 0), tir_i64(1)));
}

static const relay_op_row rows[] = {
    {.name = "vision.get_valid_counts",
     .inputs = "data score_threshold",
     .attrs = &tn_type_GetValidCountsAttrs,
     .level = 5,
     .pattern = RELAY_OPAQUE,
     .rel_name = "GetValidCount",
     .rel = counts_relation,
     .compute = counts,
     .shape = counts_shapes,
     .doc = "boxes with a score above a limit, in front, with their number and places"},
    {.name = "vision.non_max_suppression",
     .inputs = "data valid_count indices max_output_size iou_threshold",
     .attrs = &tn_type_NonMaximumSuppressionAttrs,
     .level = 5,
     .pattern = RELAY_OPAQUE,
     .rel_name = "NMS",
     .rel = nms_relation,
     .compute = suppressed,
     .shape = nms_shapes,
     .doc = "boxes by score, without those that overlap better ones of their class"},
};

RELAY_FAMILY(box_nms, BOX_NMS_ATTRS)
