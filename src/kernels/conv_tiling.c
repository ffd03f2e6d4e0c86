/* Which tile and which division of the work costs least.

   A tile of `pixels` times `vectors` accumulators stays in registers. For each value of the sums it
   needs that many multiply-adds and pixels + vectors loads; a processor starts two of each in a
   cycle, and the result of a multiply-add is there four cycles later, so that fewer than eight
   accumulators leave it idle. Half of the time of the loads was seen to be added to that of the
   multiply-adds, and half of that of the weights where those of a tile come from the second level
   of cache. The accumulators, the vectors of weights and one value of data must fit in the
   registers but one: with more live values LLVM begins to spill. */
#include "ir/imm.h"
#include "kernels/conv_impl.h"
#include "target/machine_cost.h"

enum { MAX_VECTORS = 5 };

static int64_t up(int64_t a, int64_t b) { return (a + b - 1) / b; }

static double cycles(const kernel_conv *c, int64_t pixels, int64_t vectors) {
  const target_machine *m = c->st->machine;
  const machine_rates *r = machine_rates_of(m);
  int64_t fmas = pixels * vectors, loads = pixels + vectors, bytes = vectors * m->vector_bytes;
  double busy = (double)(fmas > r->in_flight ? fmas : r->in_flight), stream = 0;
  if (bytes * (c->st->reduction / c->dot) > m->l1)
    stream = machine_stream_cycles(m, (double)bytes, MACHINE_L2) / 2;
  return (busy + (double)loads / 2) / r->fmas + stream;
}

/* Vectors that the lanes of one result position fill. */
static int64_t lane_vectors(const kernel_conv *c) {
  return up(kernel_extent(c, c->lane), c->st->lanes);
}

double kernel_conv_cycles(const kernel_conv *c, const kernel_conv_tile *t) {
  const kernel_stage *st = c->st;
  int64_t rows = kernel_extent(c, c->row), cols = kernel_extent(c, c->col);
  int64_t vectors = t->vectors * lane_vectors(c);
  double one = 0; /* image, one group of vectors, one value of the sums */
  for (int tail = 0; tail < 4; ++tail) {
    int64_t h = tail & 1 ? rows % t->rows : t->rows, nh = tail & 1 ? h != 0 : rows / t->rows;
    int64_t w = tail & 2 ? cols % t->cols : t->cols, nw = tail & 2 ? w != 0 : cols / t->cols;
    if (nh && nw) one += (double)(nh * nw) * cycles(c, h * w, vectors);
  }
  double images = (double)st->spatial / (double)(rows * cols * kernel_extent(c, c->lane));
  return one * images / (double)t->vectors * (double)(st->reduction / c->dot);
}

/* Products of int16 are added by their own instruction: they need a register before. */
static int64_t most_pixels(const kernel_conv *c, int64_t vectors) {
  bool words =
      c->dot > 1 && ir_is_integral(c->weight->buffer->dtype) && c->weight->buffer->dtype.bits == 16;
  return (c->st->machine->vector_registers - 1 - vectors - 1 - words) / vectors;
}

/* What is asked for, and the best so far. */
typedef struct {
  kernel_conv_tile tile;
  kernel_conv_parts *parts; /* chosen with the tile; NULL: the work is not divided */
  double least;
} search;

static void try_tile(const kernel_conv *c, const kernel_conv_tile *t, search *s) {
  kernel_conv_parts parts = {.chunks = 1, .bands = 1};
  bool tail = kernel_extent(c, c->col) % t->cols != 0 || kernel_extent(c, c->row) % t->rows != 0;
  double cost = s->parts ? kernel_conv_divide(c, t, &parts) : kernel_conv_cycles(c, t);
  if (tail) cost *= 1.02; /* without one it is preferred, its code is half */
  if (cost >= s->least * 0.999) return;
  s->tile = *t, s->least = cost;
  if (s->parts) *s->parts = parts;
}

/* Best pixels for a number of vectors. */
static void try_vectors(const kernel_conv *c, int64_t n, search *s) {
  int64_t most = most_pixels(c, n * lane_vectors(c)), cols = kernel_extent(c, c->col);
  int64_t rows = kernel_extent(c, c->row), first = most < cols ? most : cols;
  for (int64_t w = first; w > 0 && 2 * w >= first; --w) {
    int64_t h_most = w == cols ? most / cols : 1;
    for (int64_t h = h_most < rows ? h_most : rows; h > 0; --h)
      try_tile(c, &(kernel_conv_tile){h, w, n}, s);
  }
}

static kernel_conv_tile choose(const kernel_conv *c, kernel_conv_parts *parts) {
  search s = {.tile = {1, 1, 1}, .parts = parts, .least = 1e300};
  for (int64_t n = 1; n <= MAX_VECTORS; ++n)
    if (kernel_extent(c, c->vectors) % n == 0 && most_pixels(c, n * lane_vectors(c)) > 0)
      try_vectors(c, n, &s);
  return s.tile;
}

kernel_conv_tile kernel_conv_choose_tile(const kernel_conv *c) { return choose(c, NULL); }

/* ---- parts ---- */

static double bytes_of(const tn_Buffer *b) {
  double n = (double)b->dtype.bits / 8;
  int64_t extent;
  for (int64_t i = 0; i < b->shape->len; ++i)
    if (tir_as_int(b->shape->items[i].v.obj, &extent)) n *= (double)extent;
  return n;
}

typedef struct {
  double compute, weights, image, out; /* cycles of all; bytes; bytes of one image, of its result */
  int64_t images, groups, heights;
} work;

/* Cycles until the last thread is done. A part reads its band of the image into the second level of
   cache and goes through the weights of its chunk; weights that do not fit there with it are read
   from behind it for each part. Layers follow each other: where threads share an image by chunks
   of channels, each reads what the others have written; in bands it finds its own, but all read
   all weights. What lies between two layers counts half for each. */
static double parts_cost(const kernel_conv *c, const work *w, int64_t chunks, int64_t bands) {
  const target_machine *m = c->st->machine;
  int64_t of_chunk = w->images * bands, units = chunks * of_chunk;
  int64_t each = up(units, m->threads); /* parts of a thread */
  double weights = w->weights / (double)chunks, half = (double)m->l2 / 2;
  double halo = (double)(kernel_extent(c, c->row) + 2 * bands) / (double)kernel_extent(c, c->row);
  double image = w->image / (double)bands * halo;
  double again = image > half ? (double)w->groups / (double)chunks - 1 : 0;
  double images = (double)(image > half || each < of_chunk ? each : of_chunk);
  double stream = (double)(weights + image > (double)m->l2 ? each : up(each, of_chunk));
  double far = (double)each * 0.5 * again * image + images * image + stream * weights;
  double cost = (double)each * w->compute / (double)units;
  cost += machine_stream_cycles(m, far, MACHINE_FAR);
  double others = m->threads > w->images ? 1 - 1.0 / m->threads : 0;
  if (chunks > 1)
    return cost + machine_stream_cycles(m, (w->image + w->out) / 2 * others, MACHINE_REMOTE);
  return cost + machine_stream_cycles(m, w->weights * others, MACHINE_SHARED);
}

/* The weights of the next group are fetched early unless they stay in cache from part to part, and
   where both and the image have room there. */
static bool fetches_pay(const target_machine *m, const work *w, const kernel_conv_parts *p) {
  double image = w->image / (double)p->bands, two = 2 * w->weights / (double)w->groups;
  bool again = w->images * p->bands * p->chunks > m->threads; /* a thread has several parts */
  bool stays = again && w->weights / (double)p->chunks + image <= (double)m->l2;
  return !stays && two + image <= (double)m->l2 * 2 / 3;
}

double kernel_conv_divide(const kernel_conv *c, const kernel_conv_tile *t,
                          kernel_conv_parts *parts) {
  const kernel_stage *st = c->st;
  double least = 1e300;
  int64_t rows = kernel_extent(c, c->row), cols = kernel_extent(c, c->col);
  int64_t channels = kernel_extent(c, c->lane) * kernel_extent(c, c->vectors);
  work w = {.compute = kernel_conv_cycles(c, t),
            .weights = bytes_of(c->weight->buffer),
            .images = st->spatial / (rows * cols * channels),
            .groups = kernel_extent(c, c->vectors) / t->vectors,
            .heights = rows % t->rows ? 1 : rows / t->rows};
  w.image = bytes_of(c->data->buffer) / (double)w.images;
  w.out = bytes_of(c->out) / (double)w.images;
  int64_t most = st->machine->threads > 1 || w.images > 1 ? w.groups : 1;
  for (int64_t chunks = 1; chunks <= most; ++chunks)
    for (int64_t bands = 1; bands <= w.heights; ++bands) {
      if (w.groups % chunks || w.heights % bands) continue;
      double cost = parts_cost(c, &w, chunks, bands);
      if (cost < least * 0.99)
        least = cost, *parts = (kernel_conv_parts){.chunks = chunks, .bands = bands};
    }
  parts->parallel = st->machine->threads > 1 && !machine_is_little_work(st->machine, w.compute);
  parts->fetch = fetches_pay(st->machine, &w, parts);
  return least;
}

kernel_conv_tile kernel_conv_choose(const kernel_conv *c, kernel_conv_parts *parts) {
  bool together = c->st->machine->threads > 1; /* a tile may keep the work from being divided */
  kernel_conv_tile t = choose(c, together ? parts : NULL);
  (void)kernel_conv_divide(c, &t, parts); /* where no tile fits none was tried */
  return t;
}
