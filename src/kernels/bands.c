/* Convolutions that go through an image in bands of rows together (FuseDepthwiseBlock): what lies between
   them is as large as a band, and stays in the second level of cache.

     for image, band (parallel):
       border: the rows of data that the band needs
       the first convolution, with zeros beyond the edge of its image:  as a direct one
       the depthwise one
       the product behind it:  as a direct one

   The last convolution gets its loops first; the stages before it move below its loop over bands,
   where each is scheduled as if it were alone. */
#include "base/error.h"
#include "ir/imm.h"
#include "kernels/conv_impl.h"
#include "object/functions.h"
#include "tir/schedule/blocks.h"

typedef struct {
  tn_TirSchedule *sch;
  const target_machine *machine;
  /* border: data with zeros around, NULL where there are none. Behind a convolution the stage that
     takes its results from the registers. */
  tn_BlockRV *border, *expand, *cleared, *depthwise, *between, *project;
  int64_t rows; /* of the last result in a band */
} bands;

int kernel_find_bands(tn_TirSchedule *s, const tn_arr *blocks, tn_BlockRV **mark) {
  *mark = NULL;
  for (int64_t i = 0; i < blocks->len && !*mark; ++i) {
    const tn_Block *b;
    TN_GET(b, (const tn_Block *)sch_get(s, blocks->items[i].v.obj));
    if (tn_map_find(b->annotations, KERNEL_BANDS)) *mark = (tn_BlockRV *)blocks->items[i].v.obj;
  }
  return 0;
}

/* ---- the stages ---- */

/* The only producer or reader of a block in *out; NULL where there are none or several. */
static int neighbour(const bands *b, const tn_BlockRV *rv, bool producer, tn_BlockRV **out) {
  tn_arr *list;
  TN_GET(list, sch_get_neighbours(b->sch, rv, producer));
  *out = list->len == 1 ? (tn_BlockRV *)list->items[0].v.obj : NULL;
  return 0;
}

/* The convolution that a block is. @return 1, 0, -1 */
static int conv_of(const bands *b, tn_BlockRV *rv, kernel_conv *c, kernel_stage *st) {
  int r = kernel_stage_of(st, b->sch, rv, b->machine);
  return r > 0 ? kernel_conv_of(c, st) : r;
}

/* The product that reads the depthwise convolution's results, if it is part of the kernel. */
static int find_project(bands *b) {
  kernel_stage st;
  kernel_conv c;
  conv_nest d = {.conv = {.st = &st}};
  tn_BlockRV *reader = NULL, *next = NULL;
  int r = kernel_stage_of(&st, b->sch, b->depthwise, b->machine);
  if (r <= 0) return r;
  TN_TRY(kernel_only_reader(&st, &reader) < 0);
  TN_TRY(neighbour(b, reader ? reader : b->depthwise, false, &next));
  kernel_stage last;
  r = next ? conv_of(b, next, &c, &last) : 0;
  if (r <= 0 || !conv_is_direct(&c)) return r < 0 ? -1 : 0;
  TN_GET(b->between, conv_find_store(&d));
  b->project = next;
  return 0;
}

/* @return 1, 0 where the stages are not those of bands, -1 */
static int find_stages(bands *b, tn_BlockRV *mark) {
  kernel_stage st;
  kernel_conv c;
  const tn_Block *block;
  tn_BlockRV *reader;
  TN_GET(block, (const tn_Block *)sch_get(b->sch, (tn_obj *)mark));
  b->cleared = mark;
  TN_TRY(neighbour(b, mark, true, &b->expand));
  TN_TRY(neighbour(b, mark, false, &b->depthwise));
  if (!b->expand || !b->depthwise) return 0;
  (void)tir_as_int(tn_map_find(block->annotations, KERNEL_BANDS), &b->rows);
  int r = conv_of(b, b->expand, &c, &st);
  if (r <= 0 || !conv_is_direct(&c)) return r < 0 ? -1 : 0;
  r = kernel_only_reader(&st, &reader);
  if (r <= 0 || (const tn_Block *)sch_get(b->sch, (tn_obj *)reader) != block) return r < 0 ? -1 : 0;
  r = conv_of(b, b->depthwise, &c, &st);
  if (r <= 0 || !conv_is_depthwise(&c)) return r < 0 ? -1 : 0;
  TN_TRY(neighbour(b, b->expand, true, &b->border));
  TN_TRY(find_project(b));
  return 1;
}

/* ---- the last convolution ---- */

/* As the choice of tiles sees it: of one band. */
static void as_one_band(kernel_conv *c, int64_t rows) {
  kernel_axis *row = &c->st->axis[c->row];
  c->st->spatial = c->st->spatial / row->extent * rows;
  row->extent = rows;
}

/* @return 1, 0 where the rows do not divide it, -1 */
static int nest_last(const bands *b, kernel_stage *st, conv_nest *d) {
  tn_BlockRV *store, *init, *last = b->project ? b->project : b->depthwise;
  int r = conv_of(b, last, &d->conv, st);
  if (r <= 0 || d->conv.row < 0) return r < 0 ? -1 : 0;
  int64_t height = kernel_extent(&d->conv, d->conv.row);
  if (b->rows < 1 || height % b->rows || height == b->rows) return 0;
  kernel_conv_parts parts = {.chunks = 1, .bands = height / b->rows};
  parts.parallel = b->machine->threads > 1;
  as_one_band(&d->conv, b->rows);
  d->tile = b->project ? kernel_conv_choose_tile(&d->conv) : conv_depthwise_tile(&d->conv);
  if (b->rows % d->tile.rows) d->tile.rows = 1;
  st->axis[d->conv.row].extent = height;
  st->spatial *= parts.bands;
  TN_GET(store, conv_find_store(d));
  if (b->project) TN_TRY(conv_direct_nest(d, &parts, store));
  else TN_TRY(conv_depthwise_nest(d, true, b->rows / d->tile.rows, parts.parallel, store));
  TN_GET(init, sch_decompose_reduction(st->sch, st->rv, d->sum));
  return 1;
}

/* ---- those before it ---- */

static int move(const bands *b, tn_BlockRV *rv, const tn_LoopRV *band) {
  return rv ? sch_compute_at(b->sch, rv, band, true, -1) : 0;
}

/* The convolution of a block below the loop over bands. @return 1, 0, -1 */
static int conv_in_band(const bands *b, tn_BlockRV *rv, const target_machine *m, kernel_stage *st,
                        conv_nest *d) {
  const tn_Block *block;
  tn_arr *loops;
  TN_GET(block, (const tn_Block *)sch_get(b->sch, (tn_obj *)rv));
  TN_GET(loops, sch_get_loops(b->sch, rv));
  int r = kernel_stage_below(st, b->sch, rv, m, loops->len - block->iter_vars->len);
  return r > 0 ? kernel_conv_of(&d->conv, st) : r;
}

static int nest_depthwise(const bands *b, const target_machine *m) {
  kernel_stage st;
  conv_nest d = {.nouter = 0};
  tn_BlockRV *init;
  int r = conv_in_band(b, b->depthwise, m, &st, &d);
  if (r <= 0) return r;
  d.tile = conv_depthwise_tile(&d.conv);
  TN_TRY(conv_depthwise_nest(&d, false, b->rows / d.tile.rows, false, b->between));
  TN_GET(init, sch_decompose_reduction(b->sch, b->depthwise, d.sum));
  return 1;
}

static int nest_expand(const bands *b, const target_machine *m) {
  kernel_stage st;
  conv_nest d = {.nouter = 0};
  tn_BlockRV *init;
  kernel_conv_parts parts = {.chunks = 1, .bands = 1};
  int r = conv_in_band(b, b->expand, m, &st, &d);
  if (r <= 0) return r;
  d.tile = kernel_conv_choose_tile(&d.conv);
  TN_TRY(sch_set_scope(b->sch, b->expand, 0, "local"));
  TN_TRY(conv_direct_nest(&d, &parts, b->cleared));
  if (b->border) TN_TRY(conv_arrange_copy(&d, b->border, st.outer));
  TN_GET(init, sch_decompose_reduction(b->sch, b->expand, d.sum));
  return 1;
}

int kernel_bands(tn_TirSchedule *s, const tn_arr *blocks, const target_machine *m) {
  TN_SCOPE(scope);
  bands b = {.sch = s, .machine = m};
  target_machine one = *m; /* of threads, within a band */
  kernel_stage st;
  conv_nest d = {.nouter = 0};
  tn_BlockRV *mark;
  TN_TRY(kernel_find_bands(s, blocks, &mark));
  int r = mark ? find_stages(&b, mark) : 0;
  if (r > 0) r = nest_last(&b, &st, &d);
  if (r <= 0) return r;
  one.threads = 1;
  tn_BlockRV *before[] = {b.between, b.project ? b.depthwise : NULL, b.cleared, b.expand, b.border};
  for (int i = 0; i < TN_COUNT(before); ++i) TN_TRY(move(&b, before[i], d.band));
  if (b.project) TN_TRY(nest_depthwise(&b, &one) < 0);
  return nest_expand(&b, &one) < 0 ? -1 : 0;
}
