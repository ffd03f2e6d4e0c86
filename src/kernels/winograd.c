/* Convolutions with the Winograd algorithm (ops/nn/winograd.c): each part of the work goes through
   all the steps while its tiles are in cache.

     for chunk of channels, image, rows of tiles (parallel):
       border: the rows of data that the tiles need
       for channel block, tile:  rows of B' data B in registers, V = those
       for place (e, f), vectors of the chunk, tiles:  product, as in a direct convolution
       for channel block, tile:  rows of A' product A in registers, the result with what follows

   How many rows of tiles: where the weights stay in the second level of cache as few as fill the
   registers, so that V and the products stay there too; else all of them, so that the weights are
   read once. */
#include "base/error.h"
#include "ir/imm.h"
#include "kernels/conv_impl.h"
#include "object/functions.h"
#include "tir/schedule/blocks.h"

enum { AXIS_TY = 4, AXIS_TX = 5, AXIS_OUT = 3, AXIS_LANE = 6, UNROLLED_CHANNELS = 4 };

typedef struct {
  kernel_stage *st; /* of the product */
  tn_BlockRV *border, *rows, *data, *sums, *last;
  const tn_BufferLoad *weight;
  int64_t dot;              /* channels that share a lane of a sum: 2 of integers, else 1 */
  int64_t m, height, width; /* results along an axis of a tile; rows and columns of tiles */
  int64_t band, chunks;     /* rows of tiles in a part; parts of the channels */
  tn_LoopRV *part;          /* what is done for one part is below it */
} winograd;

static bool is_marked(const tn_Block *b, const char *part) {
  const tn_str *s = TN_AS(String, tn_map_find(b->annotations, KERNEL_CLASS));
  return s && tn_str_eq(s, part);
}

/* The only producer or reader of a block, NULL when there are none or several; *err is set. */
static tn_BlockRV *neighbour(const winograd *w, const tn_BlockRV *rv, bool producer, int *err) {
  tn_arr *list = sch_get_neighbours(w->st->sch, rv, producer);
  if (!list) *err = -1;
  return list && list->len == 1 ? (tn_BlockRV *)list->items[0].v.obj : NULL;
}

/* Stages of the kernel; what follows it is put into the last one. @return 1, 0, -1 */
static int find_stages(winograd *w) {
  tn_TirSchedule *s = w->st->sch;
  int err = 0;
  w->data = neighbour(w, w->st->rv, true, &err);
  if (w->data) w->rows = neighbour(w, w->data, true, &err);
  if (w->rows) w->border = neighbour(w, w->rows, true, &err);
  w->sums = neighbour(w, w->st->rv, false, &err);
  if (w->sums) w->last = neighbour(w, w->sums, false, &err);
  if (err || !w->rows || !w->last) return err;
  kernel_stage last = {.sch = s, .rv = w->last};
  tn_BlockRV *reader;
  TN_GET(last.block, (const tn_Block *)sch_get(s, (tn_obj *)w->last));
  int r = kernel_only_reader(&last, &reader);
  if (r <= 0) return r < 0 ? -1 : 1;
  TN_TRY(sch_compute_inline(s, w->last));
  w->last = reader;
  return 1;
}

/* ---- how much at a time ---- */

/* Its weights, the second factor. */
static bool find_weight(winograd *w) {
  const kernel_stage *st = w->st;
  const tn_BufferStore *store = TN_AS(BufferStore, st->block->body);
  const tn_Add *add = store ? TN_AS(Add, store->value) : NULL;
  const tn_Mul *mul = add ? TN_AS(Mul, add->b) : NULL;
  w->weight = mul ? kernel_loaded(mul->b) : NULL;
  w->dot =
      w->weight ? kernel_dot_group(w->weight, &st->axis[AXIS_LANE], &st->axis[st->nspatial]) : 1;
  return w->weight;
}

/* The product of one part, as the choice of tiles sees convolutions. */
static kernel_conv product_of(const winograd *w, kernel_stage *part) {
  *part = *w->st;
  part->axis[AXIS_TY].extent = w->band;
  part->spatial = part->spatial / w->height * w->band;
  return (kernel_conv){.st = part,
                       .weight = w->weight,
                       .dot = w->dot,
                       .lane = AXIS_LANE,
                       .vectors = AXIS_OUT,
                       .row = AXIS_TY,
                       .col = AXIS_TX,
                       .channel = part->nspatial};
}

static void choose_parts(winograd *w) {
  const kernel_axis *axis = w->st->axis;
  const target_machine *m = w->st->machine;
  int64_t side = w->m + 2, vector = w->st->lanes * w->weight->buffer->dtype.bits / 8;
  int64_t weights = side * side * axis[w->st->nspatial].extent * axis[AXIS_OUT].extent * vector;
  int64_t images = axis[2].extent, pixels = m->vector_registers > 16 ? 14 : 6;
  w->band = w->height;
  w->chunks = 1;
  if (weights <= m->l2 / 2)
    for (int64_t b = w->height; b >= 1; --b)
      if (w->height % b == 0 && (b * w->width >= pixels || b == w->height)) w->band = b;
  if (w->height / w->band * images < m->threads) /* too few parts for all threads */
    for (int64_t n = 2; n <= m->threads; ++n)
      if (axis[AXIS_OUT].extent % n == 0) w->chunks = n;
}

/* ---- loops ---- */

/* Unrolls the loops of a block from number `first` on, the last one a vector. */
static int unroll_from(const winograd *w, const tn_BlockRV *rv, int64_t first) {
  tn_arr *loops;
  TN_GET(loops, sch_get_loops(w->st->sch, rv));
  for (int64_t i = first; i < loops->len; ++i)
    TN_TRY(sch_set_kind(w->st->sch, (tn_LoopRV *)loops->items[i].v.obj,
                        i == loops->len - 1 ? TIR_FOR_VECTORIZED : TIR_FOR_UNROLLED, NULL));
  return 0;
}

static int partition(const winograd *w, tn_LoopRV *loop) {
  tn_expr *one;
  TN_GET(one, tir_i32(1));
  return sch_annotate(w->st->sch, (tn_obj *)loop, KERNEL_PARTITION, tn_any_obj(one));
}

static int unroll(const winograd *w, tn_LoopRV *loop) {
  return sch_set_kind(w->st->sch, loop, TIR_FOR_UNROLLED, NULL);
}

static int place_result(winograd *w) {
  tn_TirSchedule *s = w->st->sch;
  tn_arr *l;
  tn_LoopRV *chunk, *out, *ty, *vy, *tx, *vx, *band;
  TN_GET(l, sch_get_loops(s, w->last));
#define LOOP(i) ((tn_LoopRV *)l->items[i].v.obj)
  TN_TRY(kernel_split(w->st, LOOP(2), w->m, &ty, &vy));
  TN_TRY(kernel_split(w->st, LOOP(3), w->m, &tx, &vx));
  TN_TRY(kernel_split(w->st, ty, w->band, &band, &ty));
  TN_TRY(kernel_split(w->st, LOOP(1), w->st->axis[AXIS_OUT].extent / w->chunks, &chunk, &out));
  tn_LoopRV *order[] = {chunk, LOOP(0), band, out, ty, tx, vy, vx, LOOP(4)};
  TN_TRY(kernel_reorder(w->st, order, TN_COUNT(order)));
  TN_TRY(unroll(w, vy));
  TN_TRY(unroll(w, vx));
  TN_TRY(sch_set_kind(s, LOOP(4), TIR_FOR_VECTORIZED, NULL));
#undef LOOP
  TN_GET(w->part, kernel_fuse(w->st, order, 3));
  TN_TRY(kernel_parallel(w->st, &w->part, 1));
  TN_TRY(sch_compute_at(s, w->sums, tx, true, -1));
  TN_TRY(sch_set_scope(s, w->sums, 0, "local"));
  return unroll_from(w, w->sums, 4); /* below part, out, ty, tx */
}

static int place_product(winograd *w) {
  tn_TirSchedule *s = w->st->sch;
  kernel_stage part;
  kernel_conv c = product_of(w, &part);
  tn_arr *l, *none;
  tn_BlockRV *copy, *init;
  tn_LoopRV *vectors, *out, *y, *rows, *x, *cols, *k, *block, *few, *pair = NULL;
  if (w->chunks > 1) part.axis[AXIS_OUT].extent /= w->chunks, part.spatial /= w->chunks;
  kernel_conv_tile t = kernel_conv_choose_tile(&c);
  TN_TRY(sch_compute_at(s, w->st->rv, w->part, true, -1));
  TN_GET(l, sch_get_loops(s, w->st->rv));
#define LOOP(i) ((tn_LoopRV *)l->items[1 + (i)].v.obj)
  TN_TRY(kernel_split(w->st, LOOP(AXIS_OUT), t.vectors, &out, &vectors));
  TN_TRY(kernel_split(w->st, LOOP(AXIS_TY), t.rows, &y, &rows));
  TN_TRY(kernel_split(w->st, LOOP(AXIS_TX), t.cols, &x, &cols));
  TN_TRY(kernel_split(w->st, LOOP(AXIS_LANE + 1), w->st->lanes, &k, &block));
  if (w->dot > 1) TN_TRY(kernel_split(w->st, block, w->dot, &block, &pair));
  TN_TRY(kernel_split(w->st, block, UNROLLED_CHANNELS, &block, &few));
  tn_LoopRV *order[] = {LOOP(0), LOOP(1), LOOP(2),         out, y, x, k, block, few, rows,
                        cols,    vectors, LOOP(AXIS_LANE), pair};
  TN_TRY(kernel_reorder(w->st, order, TN_COUNT(order) - !pair));
  if (pair) TN_TRY(sch_annotate(s, (tn_obj *)LOOP(AXIS_LANE), KERNEL_DOT, tn_any_int(1)));
  if (w->band == w->height) /* the weights are read once */
    TN_TRY(sch_annotate(s, (tn_obj *)out, "pragma_prefetch_next", tn_any_int(1)));
  if (w->width % t.cols) TN_TRY(partition(w, x));
  if (w->band % t.rows) TN_TRY(partition(w, y));
  for (int i = 8; i < 12; ++i) TN_TRY(unroll(w, order[i]));
  TN_TRY(sch_set_kind(s, LOOP(AXIS_LANE), TIR_FOR_VECTORIZED, NULL));
#undef LOOP
  TN_GET(none, tn_arr_of(0));
  TN_GET(copy, sch_cache_write(s, w->st->rv, 0, "local", none));
  TN_TRY(sch_reverse_compute_at(s, copy, x, false, -1));
  TN_TRY(unroll_from(w, copy, 7)); /* below part, e, f, image, out, y, x */
  TN_GET(init, sch_decompose_reduction(s, w->st->rv, k));
  return 0;
}

static int place_data(winograd *w) {
  tn_TirSchedule *s = w->st->sch;
  tn_arr *l;
  TN_TRY(sch_compute_at(s, w->data, w->part, true, -1));
  TN_GET(l, sch_get_loops(s, w->data));
#define LOOP(i) ((tn_LoopRV *)l->items[1 + (i)].v.obj)
  tn_LoopRV *order[] = {LOOP(2), LOOP(3), LOOP(4), LOOP(5), LOOP(0), LOOP(1), LOOP(6)};
#undef LOOP
  TN_TRY(kernel_reorder(w->st, order, TN_COUNT(order)));
  TN_TRY(unroll_from(w, w->data, 5));
  TN_TRY(sch_compute_at(s, w->rows, order[3], false, -1));
  TN_TRY(sch_set_scope(s, w->rows, 0, "local"));
  return unroll_from(w, w->rows, 5);
}

static int place_border(winograd *w) {
  tn_TirSchedule *s = w->st->sch;
  tn_arr *l;
  if (!w->border) return 0;
  TN_TRY(sch_compute_at(s, w->border, w->part, false, -1));
  TN_GET(l, sch_get_loops(s, w->border));
  if (l->len < 3) return 0;
  TN_TRY(partition(w, (tn_LoopRV *)l->items[l->len - 2].v.obj));
  return sch_set_kind(s, (tn_LoopRV *)l->items[l->len - 1].v.obj, TIR_FOR_VECTORIZED, NULL);
}

int kernel_winograd(kernel_stage *st) {
  winograd w = {.st = st};
  if (!is_marked(st->block, KERNEL_WINOGRAD) || st->nspatial != AXIS_LANE + 1 ||
      st->naxes != st->nspatial + 1)
    return 0;
  const kernel_axis *axis = st->axis;
  if (axis[AXIS_LANE].extent != st->lanes || axis[st->nspatial].extent % st->lanes ||
      st->lanes % UNROLLED_CHANNELS || !find_weight(&w))
    return 0;
  int r = find_stages(&w);
  if (r <= 0) return r;
  w.m = axis[0].extent - 2;
  w.height = axis[AXIS_TY].extent;
  w.width = axis[AXIS_TX].extent;
  choose_parts(&w);
  TN_TRY(place_result(&w));
  TN_TRY(place_product(&w));
  TN_TRY(place_data(&w));
  TN_TRY(place_border(&w));
  return 1;
}
