/* Depthwise convolution and pooling with channels in blocks: the sums are short and over
   neighbouring pixels, so a tile of pixels shares what it reads, and the window is unrolled.

     for image, channel block (parallel): for band:
       border: the rows that the band needs
       for rows, column tile:
         acc = 0;  for kh, kw, pixels (unrolled): acc += data * weight;  out = relu(acc + bias)

   It is bound by memory, so a band is what fits in the first level of cache. Threads share an image
   by bands of all its channels where the products of matrices around are shared by bands, so that
   each finds what it wrote itself:

     for image, band (parallel): for channel block: as above */
#include "base/error.h"
#include "ir/imm.h"
#include "kernels/conv_impl.h"

enum {
  MAX_COLS = 8,
  MAX_ROWS = 2,
  MAX_TAPS = 49,
  EXPANSION = 6, /* of channels, by the products around, where that is not known */
  WORK_FOR_THREADS = 1 << 17
};

static int64_t extent_product(const kernel_conv *c, int from, int to) {
  int64_t n = 1;
  for (int i = from; i < to; ++i) n *= c->st->axis[i].extent;
  return n;
}

kernel_conv_tile conv_depthwise_tile(const kernel_conv *c) {
  int64_t cols = kernel_extent(c, c->col), rows = kernel_extent(c, c->row);
  int64_t tiles = (cols + MAX_COLS - 1) / MAX_COLS;
  bool two = rows % MAX_ROWS == 0 && c->st->machine->vector_registers > 16;
  return (kernel_conv_tile){two ? MAX_ROWS : 1, (cols + tiles - 1) / tiles, 1};
}

static bool is_parallel(const kernel_stage *st) {
  return st->machine->threads > 1 && st->spatial >= WORK_FOR_THREADS / st->reduction;
}

/* Are images shared by bands? The products around are where their weights are less than a quarter
   of what they read and write (kernel_conv_choose). */
static bool shared_by_bands(const kernel_conv *c) {
  const kernel_stage *st = c->st;
  int64_t pixels = kernel_extent(c, c->row) * kernel_extent(c, c->col);
  if (!is_parallel(st) || c->row < 2 || st->axis[0].extent >= st->machine->threads) return false;
  return st->spatial / st->axis[0].extent / pixels < pixels * (EXPANSION + 1) / 4;
}

/* Rows of tiles in a band: the most that divide the height, with data of at most half of the first
   level of cache; where bands are shared, of those by which the last thread is done first. */
static int64_t choose_band(const kernel_conv *c, const kernel_conv_tile *t, bool shared) {
  int64_t heights = kernel_extent(c, c->row) / t->rows, elements = 1, n;
  for (int64_t i = 0; i < c->data->buffer->shape->len; ++i)
    if (tir_as_int(c->data->buffer->shape->items[i].v.obj, &n)) elements *= n;
  int64_t images = c->st->spatial / kernel_extent(c, c->row) / kernel_extent(c, c->col) /
                   kernel_extent(c, c->lane);
  int64_t row = elements / images / heights * c->out->dtype.bits / 8; /* bytes for a row of tiles */
  int64_t best = 1, least = INT64_MAX, threads = shared ? c->st->machine->threads : 1;
  for (int64_t b = 1; b <= heights; ++b) {
    if (heights % b || (b > 1 && b * row > c->st->machine->l1 / 2)) continue;
    int64_t last = (heights / b + threads - 1) / threads * b;
    if (last <= least) best = b, least = last;
  }
  return best;
}

/* The loops around a band, the first `*nparallel` of them for threads. */
static void order_outer(conv_nest *d, tn_LoopRV *band, bool shared, int *nparallel) {
  const kernel_conv *c = &d->conv;
  int first = shared ? 1 : c->lane; /* image, band, channels; or the band last */
  for (int i = 0; i < c->lane; ++i) {
    if (i == first) conv_add(d->outer, &d->nouter, band), *nparallel = d->nouter;
    if (i != c->row && i != c->col) conv_add(d->outer, &d->nouter, kernel_loop(c->st, i));
  }
  if (!shared) conv_add(d->outer, &d->nouter, band), *nparallel = d->nouter;
  d->nband = d->nouter;
}

static int make_loops(conv_nest *d, bool shared, int64_t height, int *nparallel) {
  const kernel_conv *c = &d->conv;
  const kernel_stage *st = c->st;
  tn_LoopRV *all[2 * CONV_MAX_LOOPS], *rows = NULL, *cols, *band = NULL;
  tn_LoopRV *row = c->row < 0 ? NULL : kernel_loop(st, c->row), *col = kernel_loop(st, c->col);
  tn_LoopRV *lanes = kernel_loop(st, c->lane), *lanes_of = NULL;
  int n = 0;
  if (row) {
    TN_TRY(conv_cut(d, &row, d->tile.rows, &rows));
    band = row;
    TN_TRY(conv_cut(d, &band, height, &row));
    d->band = row != band ? band : NULL;
  }
  TN_TRY(conv_cut(d, &col, d->tile.cols, &cols));
  if (kernel_extent(c, c->lane) > st->lanes)
    TN_TRY(kernel_split(d->conv.st, lanes, st->lanes, &lanes_of, &lanes));
  order_outer(d, band, shared, nparallel);
  if (row != band) conv_add(d->outer, &d->nouter, row);
  conv_add(d->outer, &d->nouter, lanes_of);
  conv_add(d->outer, &d->nouter, col);
  for (int i = 0; i < d->nouter; ++i) conv_add(all, &n, d->outer[i]);
  for (int i = st->nspatial; i < st->naxes; ++i) conv_add(d->inner, &d->ninner, kernel_loop(st, i));
  d->sum = d->inner[0];
  conv_add(d->inner, &d->ninner, rows);
  conv_add(d->inner, &d->ninner, cols);
  for (int i = 0; i < d->ninner; ++i) conv_add(all, &n, d->inner[i]);
  conv_add(all, &n, lanes);
  TN_TRY(kernel_reorder(c->st, all, n));
  if (kernel_extent(c, c->col) % d->tile.cols) TN_TRY(conv_partition(d, col));
  return conv_unroll_tile(d, lanes);
}

bool conv_is_depthwise(const kernel_conv *c) {
  return c->depthwise && c->channel < 0 && conv_has_vectors(c) &&
         extent_product(c, c->st->nspatial, c->st->naxes) <= MAX_TAPS;
}

int conv_depthwise_nest(conv_nest *d, bool shared, int64_t height, bool parallel,
                        tn_BlockRV *store) {
  int nparallel = 0;
  TN_TRY(make_loops(d, shared, height, &nparallel));
  if (parallel) TN_TRY(conv_parallel(d, nparallel));
  return conv_place_store(d, store);
}

int kernel_conv_depthwise(kernel_stage *st) {
  conv_nest d = {.nouter = 0};
  tn_BlockRV *store, *init;
  int r = kernel_conv_of(&d.conv, st);
  if (r <= 0) return r;
  if (!conv_is_depthwise(&d.conv)) return 0;
  d.tile = conv_depthwise_tile(&d.conv);
  bool shared = shared_by_bands(&d.conv);
  int64_t band = choose_band(&d.conv, &d.tile, shared);
  TN_TRY(kernel_conv_tune_depthwise(&d.conv, &d.tile, &band));
  if (!band) band = choose_band(&d.conv, &d.tile, shared);
  TN_GET(store, conv_find_store(&d));
  TN_TRY(conv_depthwise_nest(&d, shared, band, is_parallel(st), store));
  TN_TRY(conv_place_border(&d));
  TN_GET(init, sch_decompose_reduction(st->sch, st->rv, d.sum));
  return 1;
}
