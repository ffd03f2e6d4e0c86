/* Products of bfloat16 and of int8 in matrix registers (tir.TileProducts): dense layers and
   convolutions whose weights lie in groups of what shares a lane, pairs W[..., k // 2, column,
   k % 2] or fours of int8.

     for panel of 32 columns, rows: acc = 0
       for k // 32 or 64 (and the window of a convolution):
         for 2 x 16 rows, 32 columns, 16 groups: acc += A * W       one call
       epilogue of the tile, in vectors

   Rows of a convolution are pixels of a line, 16 at most; two lines, or two parts of one, make the
   two tiles along rows. */
#include "base/error.h"
#include "base/scope.h"
#include "ir/expr.h"
#include "kernels/conv_impl.h"
#include "kernels/gemm.h"
#include "object/functions.h"
#include "tir/schedule/blocks.h"
#include "tir/schedule/layout.h"

enum {
  ROWS = 16,    /* of a tile */
  GROUPS = 16,  /* of values in a row of a tile */
  COLUMNS = 32, /* of two tiles */
  MIN_ROWS = 7, /* fewer leave most of a tile empty */
  MAX_LOOPS = 2 * KERNEL_MAX_AXES + 8
};

/* The loops of a product, from the outside; those that are NULL are left out. */
typedef struct {
  kernel_stage *st;
  tn_LoopRV *outer[MAX_LOOPS], *sums[MAX_LOOPS];
  int nouter, nsums;
  tn_LoopRV *tiles, *rows, *columns, *lanes, *window, *groups, *value;
  int64_t dot, length; /* values of a group, of a row */
} nest;

static void add(tn_LoopRV **list, int *n, tn_LoopRV *loop) {
  if (loop) list[(*n)++] = loop;
}

/* Largest divisor up to `most`. */
static int64_t divisor(int64_t n, int64_t most) {
  for (int64_t d = most < n ? most : n; d > 1; --d)
    if (n % d == 0) return d;
  return 1;
}

static int split_sums(nest *t, tn_LoopRV *k) {
  tn_LoopRV *inner;
  TN_TRY(kernel_split(t->st, t->columns, t->st->lanes, &t->columns, &t->lanes));
  TN_TRY(kernel_split(t->st, k, t->length, &k, &inner));
  TN_TRY(kernel_split(t->st, inner, t->dot, &t->groups, &t->value));
  add(t->sums, &t->nsums, k);
  return 0;
}

static int order(const nest *t) {
  tn_LoopRV *all[2 * MAX_LOOPS + 8];
  int n = 0;
  for (int i = 0; i < t->nouter; ++i) add(all, &n, t->outer[i]);
  for (int i = 0; i < t->nsums; ++i) add(all, &n, t->sums[i]);
  add(all, &n, t->tiles);
  add(all, &n, t->rows);
  add(all, &n, t->columns);
  add(all, &n, t->lanes);
  add(all, &n, t->window);
  add(all, &n, t->groups);
  add(all, &n, t->value);
  return kernel_reorder(t->st, all, n);
}

/* The outermost loop of the product that has more than one turn: others go away. */
static int mark(const nest *t, bool fetch) {
  tn_LoopRV *first = t->rows;
  for (int i = t->nsums - 1; i >= 0; --i)
    if (kernel_loop_extent(t->st, t->sums[i]) > 1) first = t->sums[i];
  if (first == t->rows && t->tiles) first = t->tiles;
  return sch_annotate(t->st->sch, (tn_obj *)first, "pragma_tile_product",
                      tn_any_int(fetch ? 2 : 1));
}

/* The last loop of a block in vectors, whole ones of which are unrolled. */
static int vectorize(const nest *t, tn_BlockRV *rv) {
  tn_arr *loops;
  tn_LoopRV *vectors, *lanes;
  TN_GET(loops, sch_get_loops(t->st->sch, rv));
  tn_LoopRV *last = (tn_LoopRV *)tn_arr_obj(loops, loops->len - 1);
  TN_TRY(kernel_split(t->st, last, t->st->lanes, &vectors, &lanes));
  TN_TRY(sch_set_kind(t->st->sch, vectors, TIR_FOR_UNROLLED, NULL));
  return sch_set_kind(t->st->sch, lanes, TIR_FOR_VECTORIZED, NULL);
}

/* Places what follows, and takes the first values out of the sums.
   @param parallel number of the outer loops that threads share
   @param fetch the weights of the next product while this one is computed */
static int finish(nest *t, tn_BlockRV *store, int parallel, bool fetch) {
  tn_BlockRV *init;
  TN_TRY(sch_reverse_compute_at(t->st->sch, store, t->outer[t->nouter - 1], true, -1));
  TN_TRY(vectorize(t, store));
  TN_TRY(mark(t, fetch));
  TN_TRY(sch_set_kind(t->st->sch, t->columns, TIR_FOR_UNROLLED, NULL));
  TN_TRY(sch_set_kind(t->st->sch, t->lanes, TIR_FOR_VECTORIZED, NULL)); /* of the first values */
  TN_TRY(kernel_parallel(t->st, t->outer, parallel));
  TN_GET(init, sch_decompose_reduction(t->st->sch, t->st->rv, t->sums[0]));
  return 0;
}

/* Values of a row of a tile: a divisor of how many are summed up; 0: there is no good one. */
static int64_t row_length(int64_t k, int64_t dot) {
  int64_t whole = GROUPS * dot;
  return k % whole == 0 ? whole : k % (whole / 2) == 0 ? whole / 2 : 0;
}

static bool has_tiles(const target_machine *m, int64_t dot) {
  return (dot == 2 && m->bf16 == MACHINE_BF16_TILES) || (dot == 4 && m->int8 == MACHINE_INT8_TILES);
}

/* ---- dense layers ---- */

/* Rows of a block: 16 at most, or twice as many; 0 where no good number divides them. */
static int64_t block_rows(int64_t m) {
  int64_t best = divisor(m, ROWS);
  for (int64_t two = divisor(m, 2 * ROWS); two > ROWS; two = divisor(m, two - 1))
    if (two % 2 == 0) return two;
  return best >= MIN_ROWS ? best : 0;
}

static bool fits(const gemm *g) {
  bool panels = g->panel == COLUMNS || (g->n == COLUMNS && g->along); /* a single one is none */
  return has_tiles(g->st->machine, g->dot) && panels && g->row >= 0 &&
         row_length(g->k, g->dot) > 0 && g->n % COLUMNS == 0 && g->st->lanes >= 4 &&
         COLUMNS % g->st->lanes == 0 && block_rows(g->m) > 0;
}

/* (..., i, k) -> (..., i // rows, k // length, i % rows, k % length) */
static tn_IndexMap *tile_map(int64_t axes, int64_t rows, int64_t length) {
  TN_VEC(from);
  TN_VEC(to);
  tn_expr *r, *s;
  TN_GETP(r, tir_i32((int32_t)rows));
  TN_GETP(s, tir_i32((int32_t)length));
  for (int64_t i = 0; i < axes; ++i) {
    tn_Var *v;
    TN_GETP(v, tir_var("i", TN_I32));
    TN_TRYP(tn_vec_push_obj(&from, v));
    if (i < axes - 2) TN_TRYP(tn_vec_push_obj(&to, v));
  }
  tn_expr *i = (tn_expr *)from.items[axes - 2].v.obj, *k = (tn_expr *)from.items[axes - 1].v.obj;
  TN_TRYP(tn_vec_push_obj(&to, tir_floordiv(i, r)));
  TN_TRYP(tn_vec_push_obj(&to, tir_floordiv(k, s)));
  TN_TRYP(tn_vec_push_obj(&to, tir_floormod(i, r)));
  TN_TRYP(tn_vec_push_obj(&to, tir_floormod(k, s)));
  return TN_NEW(IndexMap, .initial_indices = tn_arr_from(&from), .final_indices = tn_arr_from(&to));
}

/* Whole tiles lie next to each other: rows of a matrix that are a power of two apart would share
   few places of the first level of cache. */
static int pack_rows(const gemm *g, int64_t rows, int64_t length) {
  tn_TirSchedule *s = g->st->sch;
  const tn_arr *reads = g->st->block->reads;
  tn_BlockRV *pack;
  const tn_Block *b;
  tn_IndexMap *map;
  tn_arr *loops;
  tn_LoopRV *outer, *inner;
  int64_t index = 0;
  while (((const tn_BufferRegion *)tn_arr_obj(reads, index))->buffer == g->b) ++index;
  TN_GET(pack, sch_reindex(s, g->st->rv, index, false));
  TN_GET(b, (const tn_Block *)sch_get(s, (tn_obj *)g->st->rv));
  int64_t axes = ((const tn_BufferRegion *)tn_arr_obj(b->reads, index))->buffer->shape->len;
  TN_GET(map, tile_map(axes, rows, length));
  TN_TRY(sch_transform_layout(s, (sch_which){g->st->rv, index, false}, map, NULL, false));
  TN_GET(loops, sch_get_loops(s, pack));
  tn_LoopRV *last = (tn_LoopRV *)tn_arr_obj(loops, loops->len - 1);
  TN_TRY(kernel_split(g->st, last, length, &outer, &inner));
  TN_TRY(sch_set_kind(s, inner, TIR_FOR_VECTORIZED, NULL));
  tn_LoopRV *row = (tn_LoopRV *)tn_arr_obj(loops, loops->len - 2);
  return kernel_parallel(g->st, &row, 1);
}

enum { PANELS_WORTH_PACKING = 4 };

int kernel_gemm_tiles(kernel_stage *st) {
  gemm g;
  nest t = {.st = st};
  tn_BlockRV *store;
  tn_LoopRV *panels, *blocks;
  int r = gemm_match(&g, st);
  if (r <= 0 || !fits(&g)) return r < 0 ? r : 0;
  int64_t rows = block_rows(g.m);
  t.dot = g.dot, t.length = row_length(g.k, g.dot);
  if (g.n / COLUMNS >= PANELS_WORTH_PACKING)
    TN_TRY(pack_rows(&g, rows > ROWS ? rows / 2 : rows, t.length));
  TN_GET(store, gemm_epilogue(&g));
  TN_GET(st->loops, sch_get_loops(st->sch, st->rv));
  TN_TRY(kernel_split(st, kernel_loop(st, g.column), COLUMNS, &panels, &t.columns));
  TN_TRY(kernel_split(st, kernel_loop(st, g.row), rows, &blocks, &t.rows));
  if (rows > ROWS) TN_TRY(kernel_split(st, t.rows, rows / 2, &t.tiles, &t.rows));
  for (int i = 0; i < g.column; ++i)
    if (i != g.row) add(t.outer, &t.nouter, kernel_loop(st, i));
  add(t.outer, &t.nouter, panels);
  int parallel = t.nouter;
  add(t.outer, &t.nouter, blocks);
  TN_TRY(split_sums(&t, kernel_loop(st, st->nspatial)));
  TN_TRY(order(&t));
  return finish(&t, store, parallel, true) ? -1 : 1;
}

/* ---- convolutions ---- */

/* The axis summed over whose values and the few channels of a pixel share a row of a tile, since
   they lie next to each other: the last one, along a line. -1: there is none. */
static int window_of(const kernel_conv *c) {
  const kernel_stage *st = c->st;
  int last = st->naxes - 1;
  bool few = c->block < COLUMNS / 2 && c->channel >= 0 && c->block == kernel_extent(c, c->channel);
  return few && last != c->channel && c->block % c->dot == 0 &&
                 st->axis[last].extent * c->block <= GROUPS * c->dot
             ? last
             : -1;
}

static bool conv_fits(const kernel_conv *c) {
  int64_t columns = kernel_extent(c, c->lane);
  return has_tiles(c->st->machine, c->dot) && !c->depthwise && c->col >= 0 &&
         (columns % COLUMNS == 0 || columns == COLUMNS / 2) &&
         (row_length(c->block, c->dot) > 0 || window_of(c) >= 0) && c->st->lanes >= 4 &&
         COLUMNS / 2 % c->st->lanes == 0;
}

/* Pixels of a line in a tile, and the second tile: of the next line, or further in the line. */
static int split_pixels(nest *t, const kernel_conv *c, tn_LoopRV **row, tn_LoopRV **col) {
  int64_t width = kernel_extent(c, c->col), n = kernels_tile_pixels(width);
  *col = kernel_loop(t->st, c->col);
  *row = c->row < 0 ? NULL : kernel_loop(t->st, c->row);
  TN_TRY(kernel_split(t->st, *col, n, col, &t->rows));
  if (*row && kernel_extent(c, c->row) % 2 == 0)
    return kernel_split(t->st, *row, 2, row, &t->tiles);
  if (width / n % 2 == 0) return kernel_split(t->st, *col, 2, col, &t->tiles);
  return 0;
}

int kernel_conv_tiles(kernel_stage *st) {
  conv_nest d = {.nouter = 0};
  nest t = {.st = st};
  tn_BlockRV *store;
  tn_LoopRV *row, *col, *panels;
  int r = kernel_conv_of(&d.conv, st);
  if (r <= 0 || !conv_fits(&d.conv)) return r < 0 ? r : 0;
  const kernel_conv *c = &d.conv;
  int window = window_of(c);
  t.dot = c->dot, t.length = window < 0 ? row_length(c->block, c->dot) : c->block;
  TN_GET(store, conv_find_store(&d));
  TN_GET(st->loops, sch_get_loops(st->sch, st->rv));
  if (c->vectors >= 0) add(t.outer, &t.nouter, kernel_loop(st, c->vectors));
  for (int i = 0; i < c->lane; ++i)
    if (i != c->vectors && i != c->row && i != c->col) add(t.outer, &t.nouter, kernel_loop(st, i));
  t.columns = kernel_loop(st, c->lane);
  if (kernel_extent(c, c->lane) > COLUMNS) {
    TN_TRY(kernel_split(st, t.columns, COLUMNS, &panels, &t.columns));
    add(t.outer, &t.nouter, panels);
  }
  TN_TRY(split_pixels(&t, c, &row, &col));
  add(t.outer, &t.nouter, row);
  int parallel = t.nouter;
  add(t.outer, &t.nouter, col);
  TN_TRY(split_sums(&t, kernel_loop(st, c->channel)));
  for (int i = st->nspatial; i < st->naxes; ++i)
    if (i != c->channel && i != window) add(t.sums, &t.nsums, kernel_loop(st, i));
  if (window >= 0) t.window = kernel_loop(st, window);
  TN_TRY(order(&t));
  return finish(&t, store, parallel, true) ? -1 : 1;
}
