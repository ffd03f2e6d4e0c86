/* Direct convolution with channels in blocks (NCHW16c): a tile of pixels times vectors of channels
   stays in registers through the sums, and what follows elementwise is computed on it before it is
   stored.

     for chunk, n, band (parallel):
       border: the rows of data that the band needs, with their zeros
       for vectors of the chunk, row, column tile:
         acc = 0
         for channel block, kh, kw, channel: for pixels, vectors (unrolled): acc += data * weight
         out = relu(acc + bias)

   The kernel's window stays in loops: unrolled, the values it shares between neighbouring pixels
   would be kept in registers that there are not. */
#include <string.h>

#include "base/error.h"
#include "ir/imm.h"
#include "kernels/conv_impl.h"
#include "tir/schedule/blocks.h"

enum { UNROLLED_CHANNELS = 4, MAX_LOOPS = 2 * KERNEL_MAX_AXES + 8 };

typedef struct {
  kernel_conv conv;
  kernel_conv_tile tile;
  kernel_conv_parts parts;
  tn_LoopRV *outer[MAX_LOOPS], *inner[MAX_LOOPS]; /* down to the tile; in the tile */
  int nouter, ninner, nparallel;                  /* outer loops that are fused to one */
  tn_LoopRV *sum;                                 /* the first loop of the sums */
} direct;

/* Splits off `factor` inner iterations; a factor of 1 gives no inner loop. */
static int cut(direct *d, tn_LoopRV **loop, int64_t factor, tn_LoopRV **inner) {
  *inner = NULL;
  return factor > 1 ? kernel_split(d->conv.st, *loop, factor, loop, inner) : 0;
}

static void add(tn_LoopRV **list, int *n, tn_LoopRV *loop) {
  if (loop) list[(*n)++] = loop;
}

static int annotate(direct *d, tn_LoopRV *loop, const char *key) {
  tn_expr *one;
  TN_GET(one, tir_i32(1));
  return sch_annotate(d->conv.st->sch, (tn_obj *)loop, key, tn_any_obj(one));
}

static int mark(tn_TirSchedule *s, tn_LoopRV *loop, tir_for_kind kind) {
  return loop ? sch_set_kind(s, loop, kind, NULL) : 0;
}

/* ---- loops ---- */

typedef struct {
  tn_LoopRV *chunk, *groups, *vectors, *band, *row, *rows, *col, *cols, *lanes_of, *lanes;
} pieces;

static tn_LoopRV *loop_of(const direct *d, int axis) {
  return axis < 0 ? NULL : kernel_loop(d->conv.st, axis);
}

static int cut_spatial(direct *d, pieces *p) {
  const kernel_conv *c = &d->conv;
  int64_t heights = kernel_extent(c, c->row) / d->tile.rows;
  *p = (pieces){.groups = loop_of(d, c->vectors), .row = loop_of(d, c->row)};
  p->col = loop_of(d, c->col);
  p->lanes_of = loop_of(d, c->lane);
  if (p->groups) {
    int64_t groups = kernel_extent(c, c->vectors) / d->tile.vectors / d->parts.chunks;
    TN_TRY(cut(d, &p->groups, d->tile.vectors, &p->vectors));
    p->chunk = p->groups;
    TN_TRY(cut(d, &p->chunk, groups, &p->groups));
  }
  if (p->row) {
    TN_TRY(cut(d, &p->row, d->tile.rows, &p->rows));
    p->band = p->row;
    if (d->parts.bands == 1) p->band = NULL;
    else TN_TRY(cut(d, &p->band, heights / d->parts.bands, &p->row));
  }
  TN_TRY(cut(d, &p->col, d->tile.cols, &p->cols));
  p->lanes = p->lanes_of;
  if (kernel_extent(c, c->lane) > c->st->lanes)
    return kernel_split(c->st, p->lanes_of, c->st->lanes, &p->lanes_of, &p->lanes);
  p->lanes_of = NULL;
  return 0;
}

/* The sums, channels innermost: [channels / block], kernel axes, [block / 4], 4. */
static int add_sums(direct *d, tn_LoopRV **list, int *n) {
  const kernel_conv *c = &d->conv;
  tn_LoopRV *outer = loop_of(d, c->channel), *block = NULL, *few = NULL;
  int first = *n;
  if (outer) {
    block = outer;
    if (c->block < kernel_extent(c, c->channel)) TN_TRY(cut(d, &outer, c->block, &block));
    else outer = NULL;
    if (block && c->block > UNROLLED_CHANNELS && c->block % UNROLLED_CHANNELS == 0)
      TN_TRY(kernel_split(c->st, block, UNROLLED_CHANNELS, &block, &few));
  }
  add(list, n, outer);
  for (int i = c->st->nspatial; i < c->st->naxes; ++i)
    if (i != c->channel) add(list, n, kernel_loop(c->st, i));
  add(list, n, block);
  add(list, n, few);
  d->sum = list[first];
  if (few) TN_TRY(mark(c->st->sch, few, TIR_FOR_UNROLLED));
  else if (block && c->block <= UNROLLED_CHANNELS)
    TN_TRY(mark(c->st->sch, block, TIR_FOR_UNROLLED));
  return 0;
}

static int make_loops(direct *d) {
  const kernel_conv *c = &d->conv;
  tn_LoopRV *all[2 * MAX_LOOPS];
  pieces p;
  int n = 0;
  TN_TRY(cut_spatial(d, &p));
  add(d->outer, &d->nouter, p.chunk);
  for (int i = 0; i < c->lane; ++i)
    if (i != c->vectors && i != c->row && i != c->col)
      add(d->outer, &d->nouter, kernel_loop(c->st, i));
  add(d->outer, &d->nouter, p.band);
  d->nparallel = d->nouter;
  if (p.groups != p.chunk) add(d->outer, &d->nouter, p.groups);
  if (p.row != p.band) add(d->outer, &d->nouter, p.row);
  add(d->outer, &d->nouter, p.col);
  add(d->inner, &d->ninner, p.rows);
  add(d->inner, &d->ninner, p.cols);
  add(d->inner, &d->ninner, p.vectors);
  add(d->inner, &d->ninner, p.lanes_of);
  for (int i = 0; i < d->nouter; ++i) add(all, &n, d->outer[i]);
  TN_TRY(add_sums(d, all, &n));
  for (int i = 0; i < d->ninner; ++i) add(all, &n, d->inner[i]);
  add(all, &n, p.lanes);
  TN_TRY(kernel_reorder(c->st, all, n));
  /* the last tile of a line may be smaller: the code for it is made apart */
  if (kernel_extent(c, c->col) % d->tile.cols) TN_TRY(annotate(d, p.col, KERNEL_PARTITION));
  if (kernel_extent(c, c->row) % d->tile.rows) TN_TRY(annotate(d, p.row, KERNEL_PARTITION));
  for (int i = 0; i < d->ninner; ++i) TN_TRY(mark(c->st->sch, d->inner[i], TIR_FOR_UNROLLED));
  return mark(c->st->sch, p.lanes, TIR_FOR_VECTORIZED);
}

/* Before borders are placed: two parts may write the same rows of it, each for itself. */
static int make_parallel(direct *d) {
  kernel_stage *st = d->conv.st;
  if (!d->parts.parallel || d->nparallel == 0) return 0;
  tn_LoopRV *one;
  TN_GET(one, kernel_fuse(st, d->outer, d->nparallel));
  d->outer[0] = one;
  for (int i = d->nparallel; i < d->nouter; ++i) d->outer[i - d->nparallel + 1] = d->outer[i];
  d->nouter -= d->nparallel - 1;
  d->nparallel = 1;
  return sch_set_kind(st->sch, one, TIR_FOR_PARALLEL, NULL);
}

/* ---- neighbours ---- */

/* Loops of a block that copies, from number `first` on: vectors where channels are in blocks, and
   the zeros of the border apart from what is copied. */
static int arrange_copy(direct *d, const tn_BlockRV *rv, int64_t first) {
  const kernel_conv *c = &d->conv;
  kernel_stage *st = c->st;
  tn_arr *loops;
  TN_GET(loops, sch_get_loops(st->sch, rv));
  int64_t last = loops->len - 1;
  if (last < first) return 0;
  tn_LoopRV *loop = (tn_LoopRV *)loops->items[last].v.obj, *inner;
  const tn_arr *at = c->data->indices;
  bool blocked =
      c->channel >= 0 && kernel_uses(at->items[at->len - 1].v.obj, &st->axis[c->channel]);
  if (!blocked) return annotate(d, loop, KERNEL_PARTITION);
  if (last > first)
    TN_TRY(annotate(d, (tn_LoopRV *)loops->items[last - 1].v.obj, KERNEL_PARTITION));
  int64_t n = kernel_loop_extent(st, loop);
  if (n <= st->lanes) return mark(st->sch, loop, TIR_FOR_VECTORIZED);
  if (n % st->lanes) return 0;
  TN_TRY(kernel_split(st, loop, st->lanes, &loop, &inner));
  return mark(st->sch, inner, TIR_FOR_VECTORIZED);
}

/* Data with its border is made for each part of the work, so that it stays in cache. */
static int place_border(direct *d) {
  const kernel_stage *st = d->conv.st;
  tn_arr *producers;
  TN_GET(producers, sch_get_neighbours(st->sch, st->rv, true));
  for (int64_t i = 0; i < producers->len && d->nparallel > 0; ++i) {
    tn_BlockRV *rv = (tn_BlockRV *)producers->items[i].v.obj;
    const tn_Block *b;
    TN_GET(b, (const tn_Block *)sch_get(st->sch, (tn_obj *)rv));
    if (!kernel_writes(b, d->conv.data->buffer)) continue;
    int r = kernel_try(sch_compute_at(st->sch, rv, d->outer[d->nparallel - 1], false, -1));
    return r <= 0 ? r : arrange_copy(d, rv, d->nparallel);
  }
  return 0;
}

/* The block that takes the tile from the registers: the one reader, elementwise, or a copy. */
static int find_store(direct *d, tn_BlockRV **out) {
  kernel_stage *st = d->conv.st;
  int r = kernel_only_reader(st, out);
  if (r < 0) return -1;
  if (r) return sch_set_scope(st->sch, st->rv, 0, "local");
  tn_arr *none;
  TN_GET(none, tn_arr_of(0));
  TN_GET(*out, sch_cache_write(st->sch, st->rv, 0, "local", none));
  return 0;
}

static int place_store(direct *d, tn_BlockRV *store) {
  kernel_stage *st = d->conv.st;
  tn_arr *loops;
  TN_TRY(sch_reverse_compute_at(st->sch, store, d->outer[d->nouter - 1], false, -1));
  TN_GET(loops, sch_get_loops(st->sch, store));
  int64_t n = loops->len;
  tn_LoopRV *last = (tn_LoopRV *)loops->items[n - 1].v.obj, *around = NULL;
  for (int64_t i = d->nouter; i < n - 1; ++i)
    TN_TRY(mark(st->sch, (tn_LoopRV *)loops->items[i].v.obj, TIR_FOR_UNROLLED));
  if (kernel_extent(&d->conv, d->conv.lane) > st->lanes)
    TN_TRY(kernel_split(st, last, st->lanes, &around, &last));
  TN_TRY(mark(st->sch, around, TIR_FOR_UNROLLED));
  return mark(st->sch, last, TIR_FOR_VECTORIZED);
}

int kernel_conv_direct(kernel_stage *st) {
  direct d = {.nouter = 0};
  tn_BlockRV *store, *init;
  int r = kernel_conv_of(&d.conv, st);
  if (r <= 0) return r;
  if (d.conv.depthwise || kernel_extent(&d.conv, d.conv.lane) % 4) return 0;
  int64_t lanes = kernel_extent(&d.conv, d.conv.lane);
  if (lanes > st->lanes ? lanes % st->lanes : (lanes & (lanes - 1))) return 0;
  d.tile = kernel_conv_choose_tile(&d.conv);
  d.parts = kernel_conv_choose_parts(&d.conv, &d.tile);
  TN_TRY(find_store(&d, &store));
  TN_TRY(make_loops(&d));
  TN_TRY(make_parallel(&d));
  TN_TRY(place_store(&d, store));
  TN_TRY(place_border(&d));
  TN_GET(init, sch_decompose_reduction(st->sch, st->rv, d.sum));
  return 1;
}
