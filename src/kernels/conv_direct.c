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
#include "base/error.h"
#include "ir/imm.h"
#include "kernels/conv_impl.h"
#include "tir/schedule/blocks.h"

/* LLVM moves the weights of unrolled channels next to each other, which fills more registers than
   there are. It finds the way back only where the data of a tile is without gaps, its weights are
   two vectors at most, all tiles are alike, and the window is that of an image. */
enum { UNROLLED_CHANNELS = 4, MAX_SUMS = 3 };

/* The height and width assumed for images with dynamic extents. Each row is a band: a band of
   several rows would need a condition in every tile. */
enum { OPEN_ROWS = 61 };

static int64_t unrolled_channels(const kernel_conv *c, const kernel_conv_tile *t) {
  bool few = c->strided || t->vectors > 2 || kernel_extent(c, c->col) % t->cols != 0 ||
             c->st->naxes - c->st->nspatial > MAX_SUMS;
  return few && c->block > UNROLLED_CHANNELS ? 1 : UNROLLED_CHANNELS;
}

/* ---- loops ---- */

typedef struct {
  tn_LoopRV *chunk, *groups, *vectors, *band, *row, *rows, *col, *cols, *lanes_of, *lanes;
} pieces;

static tn_LoopRV *loop_of(const conv_nest *d, int axis) {
  return axis < 0 ? NULL : kernel_loop(d->conv.st, axis);
}

static int cut_spatial(conv_nest *d, const kernel_conv_parts *parts, pieces *p) {
  const kernel_conv *c = &d->conv;
  int64_t heights = kernel_extent(c, c->row) / d->tile.rows;
  *p = (pieces){.groups = loop_of(d, c->vectors), .row = loop_of(d, c->row)};
  p->col = loop_of(d, c->col);
  p->lanes_of = loop_of(d, c->lane);
  if (p->groups) {
    int64_t groups = kernel_extent(c, c->vectors) / d->tile.vectors / parts->chunks;
    TN_TRY(conv_cut(d, &p->groups, d->tile.vectors, &p->vectors));
    p->chunk = p->groups;
    TN_TRY(conv_cut(d, &p->chunk, groups, &p->groups));
  }
  if (p->row) {
    TN_TRY(conv_cut(d, &p->row, d->tile.rows, &p->rows));
    p->band = p->row;
    if (parts->bands == 1) p->band = NULL;
    else if (!c->open) TN_TRY(conv_cut(d, &p->band, heights / parts->bands, &p->row));
  }
  TN_TRY(conv_cut(d, &p->col, d->tile.cols, &p->cols));
  p->lanes = p->lanes_of;
  if (kernel_extent(c, c->lane) > c->st->lanes)
    return kernel_split(c->st, p->lanes_of, c->st->lanes, &p->lanes_of, &p->lanes);
  p->lanes_of = NULL;
  return 0;
}

/* The sums of groups of int8: [channels / block], kernel axes, [block / 4], and the group behind
   the lanes. */
static int add_groups(conv_nest *d, tn_LoopRV **list, int *n, tn_LoopRV *outer, tn_LoopRV *block,
                      bool unrolled) {
  const kernel_conv *c = &d->conv;
  int first = *n;
  conv_add(list, n, outer);
  for (int i = c->st->nspatial; i < c->st->naxes; ++i)
    if (i != c->channel) conv_add(list, n, kernel_loop(c->st, i));
  TN_TRY(kernel_split(c->st, block, c->dot, &block, &d->dot));
  conv_add(list, n, block);
  d->sum = list[first];
  return unrolled && c->block / c->dot <= UNROLLED_CHANNELS && d->sum != block
             ? conv_mark(d, block, TIR_FOR_UNROLLED)
             : 0;
}

/* The sums, channels innermost: [channels / block], kernel axes, [block / 4], 4. */
static int add_sums(conv_nest *d, tn_LoopRV **list, int *n) {
  const kernel_conv *c = &d->conv;
  tn_LoopRV *outer = loop_of(d, c->channel), *block = NULL, *few = NULL;
  int first = *n;
  if (outer) {
    block = outer;
    if (c->block < kernel_extent(c, c->channel)) TN_TRY(conv_cut(d, &outer, c->block, &block));
    else outer = NULL;
    int64_t unrolled = unrolled_channels(c, &d->tile);
    if (c->dot > 1) return add_groups(d, list, n, outer, block, unrolled > 1);
    if (block && unrolled > 1 && c->block > unrolled && c->block % unrolled == 0)
      TN_TRY(kernel_split(c->st, block, unrolled, &block, &few));
  }
  conv_add(list, n, outer);
  for (int i = c->st->nspatial; i < c->st->naxes; ++i)
    if (i != c->channel) conv_add(list, n, kernel_loop(c->st, i));
  conv_add(list, n, block);
  conv_add(list, n, few);
  d->sum = list[first];
  if (few) TN_TRY(conv_mark(d, few, TIR_FOR_UNROLLED));
  else if (block && c->block <= UNROLLED_CHANNELS) TN_TRY(conv_mark(d, block, TIR_FOR_UNROLLED));
  return 0;
}

static int make_loops(conv_nest *d, const kernel_conv_parts *parts) {
  const kernel_conv *c = &d->conv;
  tn_LoopRV *all[2 * CONV_MAX_LOOPS];
  pieces p;
  int n = 0;
  TN_TRY(cut_spatial(d, parts, &p));
  /* a loop with a dynamic extent can only be divided among threads if it is the outermost one */
  if (c->open) conv_add(d->outer, &d->nouter, p.band);
  conv_add(d->outer, &d->nouter, p.chunk);
  for (int i = 0; i < c->lane; ++i)
    if (i != c->vectors && i != c->row && i != c->col)
      conv_add(d->outer, &d->nouter, kernel_loop(c->st, i));
  if (!c->open) conv_add(d->outer, &d->nouter, p.band);
  d->band = p.band;
  d->nband = d->nouter;
  if (p.groups != p.chunk) conv_add(d->outer, &d->nouter, p.groups);
  if (p.row != p.band) conv_add(d->outer, &d->nouter, p.row);
  conv_add(d->outer, &d->nouter, p.col);
  conv_add(d->inner, &d->ninner, p.rows);
  conv_add(d->inner, &d->ninner, p.cols);
  conv_add(d->inner, &d->ninner, p.vectors);
  conv_add(d->inner, &d->ninner, p.lanes_of);
  for (int i = 0; i < d->nouter; ++i) conv_add(all, &n, d->outer[i]);
  TN_TRY(add_sums(d, all, &n));
  for (int i = 0; i < d->ninner; ++i) conv_add(all, &n, d->inner[i]);
  conv_add(all, &n, p.lanes);
  conv_add(all, &n, d->dot);
  if (d->dot) TN_TRY(sch_annotate(c->st->sch, (tn_obj *)p.lanes, KERNEL_DOT, tn_any_int(1)));
  TN_TRY(kernel_reorder(c->st, all, n));
  if (p.groups && parts->fetch)
    TN_TRY(sch_annotate(c->st->sch, (tn_obj *)p.groups, "pragma_prefetch_next", tn_any_int(1)));
  /* the last tile of a line may be smaller: the code for it is made apart */
  if (kernel_extent(c, c->col) % d->tile.cols) TN_TRY(conv_partition(d, p.col));
  if (kernel_extent(c, c->row) % d->tile.rows) TN_TRY(conv_partition(d, p.row));
  return conv_unroll_tile(d, p.lanes);
}

bool conv_is_direct(const kernel_conv *c) { return !c->depthwise && conv_has_vectors(c); }

int conv_direct_nest(conv_nest *d, const kernel_conv_parts *parts, tn_BlockRV *store) {
  TN_TRY(make_loops(d, parts));
  if (parts->parallel) TN_TRY(conv_parallel(d, d->conv.open ? 1 : d->nband));
  return conv_place_store(d, store);
}

/* Replaces dynamic extents by numbers to choose a tile: primes, so that no tile divides them. */
static void close_extents(kernel_conv *c, kernel_stage *closed) {
  *closed = *c->st;
  closed->spatial = 1;
  for (int i = 0; i < closed->nspatial; ++i) {
    kernel_axis *a = &closed->axis[i];
    if (a->extent < 0) a->extent = i == c->row || i == c->col ? OPEN_ROWS : 1;
    closed->spatial *= a->extent;
  }
  c->st = closed;
}

int kernel_conv_direct(kernel_stage *st) {
  conv_nest d = {.nouter = 0};
  tn_BlockRV *store, *init;
  kernel_stage closed;
  int r = kernel_open_conv_of(&d.conv, st);
  if (r <= 0) return r;
  if (!conv_is_direct(&d.conv)) return 0;
  kernel_conv_parts parts;
  if (d.conv.open) close_extents(&d.conv, &closed);
  d.tile = kernel_conv_choose(&d.conv, &parts);
  if (d.conv.open) parts = (kernel_conv_parts){1, OPEN_ROWS, parts.parallel, false};
  else TN_TRY(kernel_conv_tune(&d.conv, &d.tile, &parts));
  TN_GET(store, conv_find_store(&d));
  TN_TRY(conv_direct_nest(&d, &parts, store));
  TN_TRY(conv_place_border(&d));
  TN_GET(init, sch_decompose_reduction(st->sch, st->rv, d.sum));
  return 1;
}
