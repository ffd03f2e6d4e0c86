/* Matrix products: a tile of the result stays in registers while k runs, the right side is read in
   panels of whole vectors, and what follows the product is done on the tile before it is stored.

     for panel j (parallel):  [pack B's panel]
       for rows i:
         init tile
         for k: for r in unrolled: for v in vectorized: D[r, v] += A[r, k] * B[k, v]
         C[tile] = epilogue(D[tile])

   Bytes are multiplied four at a time: their sums share a lane (tir.DotProducts).

   Rows and columns of which only a program that runs knows how many there are get padded to whole
   tiles: rows in a copy of A, columns in the panels.

   Which tile: rows * vectors + vectors + 1 registers, of which one is left to the code generator
   where there are many; the rows of a block are balanced, so that the last one is not short. */
#include "kernels/gemm.h"

#include <string.h>

#include "base/error.h"
#include "base/scope.h"
#include "ir/expr.h"
#include "object/functions.h"
#include "tir/schedule/blocks.h"
#include "tir/schedule/layout.h"

enum {
  UNROLL_K = 4,            /* steps of k in a row: more did not help */
  ROWS_WORTH_PACKING = 4,  /* rows that share a packed panel, where it must be transposed */
  ROWS_WORTH_COPYING = 32, /* the same where it would only become denser */
  ROWS_BY_TURNS = 4,       /* at most */
  ROWS_WORTH_FETCHING = 8, /* rows whose work hides that the next panel comes from far */
  MIN_TILES = 8,           /* of a band: its last one may be short */
  SQUARE_TILES = 16,       /* from which tiles of four vectors are worth it */
  PANELS_OF_A_THREAD = 4,  /* from which threads have their share of panels alone */
  ROWS_WORTH_PIECES = 32,  /* fewer take little room */
  ROWS_OF_A_PIECE = 128,   /* more come in bands */
  MAX_PIECES = 16,
  MIN_PIECE = 256, /* features: results are read and written for each piece */
  OPEN_ROWS = 8,   /* of a tile where their number or length is dynamic: padding costs less, and
                        each row has its own address in a register */
  LONG_ROW = 2048  /* bytes from which rows of B lie on their own pages */
};

/* ---- the tile ---- */

static int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

static bool is_open(int64_t extent) { return extent < 0; }

static bool is_known(const gemm *g) {
  for (int i = 0; i < g->st->naxes; ++i)
    if (is_open(g->st->axis[i].extent)) return false;
  return true;
}

bool gemm_may_pack(const gemm *g) { return is_open(g->m) || g->m >= ROWS_WORTH_PACKING; }

/* Registers for a tile: where there are many, two are left to the code generator, which with one
   keeps sums in memory now and then. */
static int registers_of(const target_machine *m) {
  return m->vector_registers > 16 ? m->vector_registers - 2 : m->vector_registers;
}

static int64_t tile_rows(int registers, int64_t vectors) {
  int64_t most = (registers - 1 - vectors) / vectors;
  return most > 1 ? most : 1; /* one row: its sums may take all registers */
}

/* Six rows of four vectors take ten loads for 24 products, 13 rows of two take 15 for 26: loads are
   what lowers the clock. That shows from about a hundred rows on: fewer are up to 15 % slower so, a
   last tile that is not full weighs more. Each thread needs its share of panels. @param outside
   products of these rows and columns */
static bool is_square_better(const target_machine *m, int64_t rows, int64_t columns,
                             int64_t outside, int64_t lanes) {
  if (m->vector_registers <= 16 || rows < SQUARE_TILES * tile_rows(registers_of(m), 4) ||
      columns % (4 * lanes) != 0)
    return false;
  int64_t panels = columns / (4 * lanes) * outside;
  return panels % m->threads == 0 || panels >= PANELS_OF_A_THREAD * m->threads;
}

/* Iterations of the axes beside those of the product; more than threads where that is dynamic. */
static int64_t outside(const gemm *g) {
  int64_t n = 1;
  for (int i = 0; i < g->column; ++i) {
    int64_t extent = g->st->axis[i].extent;
    if (i != g->row) n *= is_open(extent) ? g->st->machine->threads + 1 : extent;
  }
  return n;
}

/* Weights that one call reads and the second level of cache does not quite hold, for so few rows
   that reading them is the work: the next call begins with those that were read last. */
static bool goes_by_turns(const gemm *g) {
  int64_t bytes = g->n * g->k * (g->b->dtype.bits / 8), l2 = g->st->machine->l2;
  return is_known(g) && g->panel && g->m <= ROWS_BY_TURNS && bytes > l2 / 2 && bytes < 2 * l2;
}

static void choose_tile(gemm *g) {
  const target_machine *m = g->st->machine;
  int registers = registers_of(m);
  int64_t wide = g->m == 1               ? 8
                 : g->m >= 0 && g->m < 4 ? 4
                                         : 2; /* eight sums hide the latency of one */
  if (wide > 4 && goes_by_turns(g)) wide = 4; /* the shorter, the more is left of the last one */
  /* few rows read several panels at a time: one alone has too few sums */
  bool few = g->panel && !is_open(g->m) && (g->m < 4 || g->m * 4 + 4 < registers);
  if (few && g->m >= 4) wide = 4;
  if (!few && g->panel > wide * g->st->lanes) wide = g->panel / g->st->lanes;
  int64_t columns = g->panel && !few ? g->panel : g->n;
  if (is_open(columns)) columns = wide * g->st->lanes;
  while (wide > 1 && columns < wide * g->st->lanes) wide /= 2;
  /* where nothing is packed the columns must be whole tiles; three vectors fit what two do not */
  bool as_is = g->panel || !gemm_may_pack(g);
  while (as_is && wide > 1 && columns % (wide * g->st->lanes) != 0) wide /= 2;
  if (!g->panel && is_square_better(m, g->m, columns, outside(g), g->st->lanes)) wide = 4;
  if (!as_is && columns % (2 * g->st->lanes) != 0 && columns % (3 * g->st->lanes) == 0) wide = 3;
  int64_t most = tile_rows(registers, wide);
  if ((is_open(g->m) || is_open(g->k)) && most > OPEN_ROWS) most = OPEN_ROWS;
  g->tile.vectors = wide;
  g->tile.rows = is_open(g->m) ? most : ceil_div(g->m, ceil_div(g->m, most));
}

/* Should panels have four vectors? One is read while the next one comes into the cache. */
static bool should_widen(const target_machine *m, const kernel_dense *d, int64_t lanes) {
  if (d->rows == 1) return true;
  return d->weight.bits == d->sum.bits && is_square_better(m, d->rows, d->units, 1, lanes) &&
         (d->features <= 0 || d->features <= m->l2 / 2 / (4 * lanes * d->weight.bits / 8));
}

int64_t kernels_dense_panel(const target_machine *m, const kernel_dense *d) {
  int64_t lanes = d->sum.bits ? m->vector_bytes * 8 / d->sum.bits : 0;
  if (lanes < 4 || d->units < lanes / 2) return 0;
  int64_t vectors = should_widen(m, d, lanes) ? 4 : 2;
  while (vectors > 1 && d->units <= lanes * vectors / 2) vectors /= 2;
  return lanes * vectors;
}

/* A panel that is read, the next one, and the rows, or a band of them, have room in cache: with
   3072 features, whose rows do not, cold weights were multiplied a fifth slower in one piece. */
int64_t kernels_dense_pieces(const target_machine *m, const kernel_dense *d, int64_t panel) {
  bool floats = d->sum.code == kDLFloat && tn_dtype_eq(d->sum, d->weight);
  if (!floats || panel <= 0 || d->rows < ROWS_WORTH_PIECES || d->features <= 0) return 1;
  int64_t rows = d->rows < ROWS_OF_A_PIECE ? d->rows : ROWS_OF_A_PIECE;
  int64_t most = m->l2 * 3 / 8 / ((rows + 2 * panel) * d->weight.bits / 8);
  if (d->features < 2 * most) return 1;
  for (int64_t n = 2; n <= MAX_PIECES && d->features / n >= MIN_PIECE; ++n)
    if (d->features % (n * UNROLL_K) == 0 && d->features / n <= most) return n;
  return 1;
}

static int64_t tile_columns(const gemm *g) { return g->tile.vectors * g->st->lanes; }

/* ---- packing ---- */

static bool must_pad(const gemm *g) { return !g->panel && g->n % tile_columns(g) != 0; }

static bool must_pad_rows(const gemm *g) { return g->row >= 0 && is_open(g->m); }

static bool should_pack(const gemm *g) {
  if (g->panel) return false;
  if (!g->along || must_pad(g)) return true;
  int64_t bytes = g->n * (g->b->dtype.bits / 8);
  return g->m >= ROWS_WORTH_COPYING && bytes > LONG_ROW;
}

/* Is the product worth what it takes? Few rows do not pay for a transposed copy. */
static bool is_worth_it(const gemm *g) {
  if (g->st->lanes < 4 || (!is_open(g->n) && g->n < g->st->lanes)) return false;
  if (g->panel && g->panel % g->st->lanes != 0) return false;
  return !should_pack(g) || gemm_may_pack(g);
}

/* The indices of a panel for those of reindex: (..., j, k) -> (..., j // n, k, j % n). */
static tn_IndexMap *panel_map(const gemm *g, int64_t axes) {
  TN_VEC(from);
  TN_VEC(to);
  tn_expr *n;
  TN_GETP(n, tir_i32((int32_t)tile_columns(g)));
  for (int64_t i = 0; i < axes; ++i) {
    tn_Var *v;
    TN_GETP(v, tir_var("i", TN_I32));
    TN_TRYP(tn_vec_push_obj(&from, v));
  }
  tn_expr *j = (tn_expr *)from.items[axes - 2].v.obj, *k = (tn_expr *)from.items[axes - 1].v.obj;
  for (int64_t i = 0; i < axes - 2; ++i) TN_TRYP(tn_vec_push(&to, from.items[i]));
  TN_TRYP(tn_vec_push_obj(&to, tir_floordiv(j, n)));
  TN_TRYP(tn_vec_push_obj(&to, k));
  TN_TRYP(tn_vec_push_obj(&to, tir_floormod(j, n)));
  return TN_NEW(IndexMap, .initial_indices = tn_arr_from(&from), .final_indices = tn_arr_from(&to));
}

/* Number of the operand among what the block reads. */
static int read_number(const gemm *g, int64_t *index) {
  const tn_arr *reads = g->st->block->reads;
  for (*index = 0; *index < reads->len; ++*index)
    if (((const tn_BufferRegion *)tn_arr_obj(reads, *index))->buffer == g->b) return 0;
  return TN_RAISE(InternalError, NULL, "gemm: an operand is not among the reads of its block");
}

/* Columns and their operand become whole panels, rows that are not known whole tiles; what is
   padded falls away in the epilogue.
   @return 1, 0 when the step does not know the product, -1 */
static int pad(const gemm *g) {
  const kernel_stage *st = g->st;
  TN_VEC(factors);
  for (int i = 0; i < st->naxes; ++i) {
    int64_t factor = i == g->column && must_pad(g)     ? tile_columns(g)
                     : i == g->row && must_pad_rows(g) ? g->tile.rows
                                                       : 1;
    TN_TRY(tn_vec_push_obj(&factors, tir_i32((int32_t)factor)));
  }
  return kernel_try(sch_pad_einsum(st->sch, st->rv, tn_arr_from(&factors)));
}

/* The operand becomes a buffer of panels, filled by the block that is returned. */
static tn_BlockRV *packed(const gemm *g, int64_t index) {
  tn_TirSchedule *s = g->st->sch;
  tn_BlockRV *pack, *rv = g->st->rv;
  tn_IndexMap *map;
  tn_arr *padding;
  const tn_Block *block;
  TN_GETP(pack, sch_reindex(s, rv, index, false));
  TN_GETP(block, (const tn_Block *)sch_get(s, (tn_obj *)rv));
  const tn_BufferRegion *now = (const tn_BufferRegion *)tn_arr_obj(block->reads, index);
  TN_GETP(map, panel_map(g, now->buffer->shape->len));
  TN_TRYP(sch_transform_layout(s, (sch_which){rv, index, false}, map, NULL, false));
  if (!must_pad(g)) return pack;
  TN_GETP(padding, sch_get_neighbours(s, pack, true));
  for (int64_t i = 0; i < padding->len; ++i)
    TN_TRYP(sch_compute_inline(s, (tn_BlockRV *)tn_arr_obj(padding, i)));
  return pack;
}

/* ---- the epilogue ---- */

/* Does a block compute its values from those of the product, one from one? */
static bool follows(const gemm *g, const tn_Block *b, const tn_Buffer *product) {
  const tn_BufferStore *store = TN_AS(BufferStore, b->body);
  if (!store || b->init || b->iter_vars->len != g->st->nspatial) return false;
  for (int64_t r = 0; r < b->reads->len; ++r) {
    const tn_BufferRegion *region = (const tn_BufferRegion *)tn_arr_obj(b->reads, r);
    if (region->buffer != product) continue;
    for (int64_t i = 0; i < region->region->len; ++i) {
      const tn_Range *range = (const tn_Range *)tn_arr_obj(region->region, i);
      const tn_IterVar *iter = (const tn_IterVar *)tn_arr_obj(b->iter_vars, i);
      if ((const tn_obj *)range->min != (const tn_obj *)iter->var) return false;
    }
  }
  return true;
}

tn_BlockRV *gemm_epilogue(const gemm *g) {
  tn_TirSchedule *s = g->st->sch;
  const tn_Block *block, *reader;
  tn_arr *readers;
  TN_GETP(block, (const tn_Block *)sch_get(s, (tn_obj *)g->st->rv));
  const tn_Buffer *product = ((const tn_BufferRegion *)tn_arr_obj(block->writes, 0))->buffer;
  TN_GETP(readers, sch_get_neighbours(s, g->st->rv, false));
  if (readers->len == 1) {
    TN_GETP(reader, (const tn_Block *)sch_get(s, tn_arr_obj(readers, 0)));
    if (follows(g, reader, product)) {
      TN_TRYP(sch_set_scope(s, g->st->rv, 0, "local"));
      return (tn_BlockRV *)tn_arr_obj(readers, 0);
    }
  }
  return sch_cache_write(s, g->st->rv, 0, "local", tn_arr_of(0));
}

/* Columns of what is stored: less than those of the product where these were padded. */
static int64_t stored_columns(const gemm *g, const tn_BlockRV *last) {
  const tn_Block *b = (const tn_Block *)sch_get(g->st->sch, (const tn_obj *)last);
  int64_t n = -1;
  if (!b) return -1;
  const tn_IterVar *iter = (const tn_IterVar *)tn_arr_obj(b->iter_vars, b->iter_vars->len - 1);
  (void)tir_as_int((const tn_obj *)iter->dom->extent, &n);
  return n;
}

/* ---- loops ---- */

typedef struct {
  tn_LoopRV *bands[KERNEL_MAX_AXES + 1]; /* of rows that stay in cache while all panels pass */
  int nbands;
  tn_LoopRV *outer[KERNEL_MAX_AXES + 1]; /* made parallel; the last one runs over panels */
  int nouter;
  tn_LoopRV *around[KERNEL_MAX_AXES]; /* of a panel that all of them share, inside */
  int naround;
  tn_LoopRV *blocks, *rows; /* NULL: there is no row axis */
  tn_LoopRV *k, *k_inner;   /* k_inner is NULL where k is not unrolled */
  tn_LoopRV *vectors, *lanes;
  tn_LoopRV *dot; /* the values of k that share a lane; NULL: each has its own */
} nest;

/* A panel is read once for everything that it is multiplied by, unless that leaves threads without
   work. */
static bool shares_panels(const gemm *g) {
  return is_known(g) && g->panel &&
         g->n / tile_columns(g) >= PANELS_OF_A_THREAD * g->st->machine->threads;
}

/* Bytes of A that stay in the cache while panels and results stream through it. Products of 512 to
   1024 rows were up to 6 % slower with an eighth of it, as panels are read once for each band, and
   3 % with all of it. */
static int64_t room(const gemm *g) { return g->st->machine->l2 / 2; }

/* Rows of a band: a divisor of all rows, all where there is no good one. */
static int64_t band_rows(const gemm *g) {
  int64_t row = g->k * (g->b->dtype.bits / 8);
  if (!g->panel || row <= 0 || is_open(g->m) || g->m * row <= room(g)) return g->m;
  for (int64_t n = g->m / 2; n >= MIN_TILES * g->tile.rows; --n)
    if (g->m % n == 0 && n * row <= room(g)) return n;
  return g->m;
}

static int split_rows(const gemm *g, nest *n) {
  kernel_stage *st = g->st;
  tn_LoopRV *rows = kernel_loop(st, g->row);
  if (g->band < g->m && shares_panels(g))
    TN_TRY(kernel_split(st, rows, g->band, &n->bands[n->nbands++], &rows));
  return kernel_split(st, rows, g->tile.rows, &n->blocks, &n->rows);
}

/* Axes beside those of the product: rows of their own, or a band each where all are too many. */
static void place_around(const gemm *g, nest *n) {
  int64_t bytes = g->m * g->k * (g->b->dtype.bits / 8);
  bool share = shares_panels(g);
  for (int i = g->column; i-- > 0;)
    if (i != g->row) bytes *= g->st->axis[i].extent;
  for (int i = 0; i < g->column; ++i) {
    tn_LoopRV *loop = kernel_loop(g->st, i);
    if (i == g->row) continue;
    if (!share) n->outer[n->nouter++] = loop;
    else if (bytes <= room(g)) n->around[n->naround++] = loop;
    else n->bands[n->nbands++] = loop, bytes /= g->st->axis[i].extent;
  }
}

static int split_loops(const gemm *g, nest *n) {
  kernel_stage *st = g->st;
  tn_LoopRV *rest;
  TN_GET(st->loops, sch_get_loops(st->sch, st->rv));
  place_around(g, n);
  TN_TRY(kernel_split(st, kernel_loop(st, g->column), st->lanes, &rest, &n->lanes));
  TN_TRY(kernel_split(st, rest, g->tile.vectors, &n->outer[n->nouter++], &n->vectors));
  if (g->row >= 0) TN_TRY(split_rows(g, n));
  n->k = kernel_loop(st, st->nspatial);
  int64_t steps = g->k / g->dot;
  if (g->dot > 1) TN_TRY(kernel_split(st, n->k, g->dot, &n->k, &n->dot));
  if (g->unrolled > 1 && steps > g->unrolled)
    TN_TRY(kernel_split(st, n->k, g->unrolled, &n->k, &n->k_inner));
  return 0;
}

static int order_loops(const gemm *g, const nest *n) {
  tn_LoopRV *order[2 * KERNEL_MAX_AXES + 8];
  int c = 0;
  for (int i = 0; i < n->nbands; ++i) order[c++] = n->bands[i];
  for (int i = 0; i < n->nouter; ++i) order[c++] = n->outer[i];
  for (int i = 0; i < n->naround; ++i) order[c++] = n->around[i];
  if (n->blocks) order[c++] = n->blocks;
  order[c++] = n->k;
  if (n->k_inner) order[c++] = n->k_inner;
  if (n->rows) order[c++] = n->rows;
  order[c++] = n->vectors;
  order[c++] = n->lanes;
  if (n->dot) order[c++] = n->dot;
  return kernel_reorder(g->st, order, c);
}

static int unroll(const gemm *g, tn_LoopRV *loop) {
  return loop ? sch_set_kind(g->st->sch, loop, TIR_FOR_UNROLLED, NULL) : 0;
}

static int hint_partition(const gemm *g, tn_LoopRV *loop) {
  return sch_annotate(g->st->sch, (tn_obj *)loop, "pragma_loop_partition_hint", tn_any_int(1));
}

/* The last loop of a block in vectors, those around it up to the tile unrolled. */
static int vectorize_tile(const gemm *g, tn_BlockRV *rv, bool has_rows) {
  tn_arr *loops;
  tn_LoopRV *vectors, *lanes;
  TN_GET(loops, sch_get_loops(g->st->sch, rv));
  int64_t last = loops->len - 1;
  TN_TRY(kernel_split(g->st, (tn_LoopRV *)tn_arr_obj(loops, last), g->st->lanes, &vectors, &lanes));
  TN_TRY(sch_set_kind(g->st->sch, lanes, TIR_FOR_VECTORIZED, NULL));
  TN_TRY(unroll(g, vectors));
  int64_t row = last - (g->column - g->row);
  return has_rows ? unroll(g, (tn_LoopRV *)tn_arr_obj(loops, row)) : 0;
}

/* A panel is filled in the order in which it lies, whole vectors at a time. */
static int schedule_pack(const gemm *g, tn_BlockRV *pack, const nest *n) {
  tn_arr *loops;
  tn_LoopRV *vectors, *lanes;
  TN_TRY(sch_compute_at(g->st->sch, pack, n->outer[n->nouter - 1], true, -1));
  TN_GET(loops, sch_get_loops(g->st->sch, pack));
  tn_LoopRV *j = (tn_LoopRV *)tn_arr_obj(loops, loops->len - 2),
            *k = (tn_LoopRV *)tn_arr_obj(loops, loops->len - 1);
  tn_LoopRV *order[] = {k, j};
  TN_TRY(kernel_reorder(g->st, order, 2));
  TN_TRY(kernel_split(g->st, j, g->st->lanes, &vectors, &lanes));
  TN_TRY(unroll(g, vectors));
  return sch_set_kind(g->st->sch, lanes, TIR_FOR_VECTORIZED, NULL);
}

static int by_turns(const gemm *g, tn_LoopRV *panels) {
  tn_expr *one;
  TN_GET(one, tir_i32(1));
  return sch_annotate(g->st->sch, (tn_obj *)panels, TIR_BY_TURNS, tn_any_obj(one));
}

/* Panels, and what is around them, in parallel. A last panel that is not full is a separate loop,
   without the conditions in the others; for that the loop over panels must be one by itself. */
static int parallel_panels(const gemm *g, const nest *n, bool ragged) {
  tn_LoopRV *const *loops = n->outer, *panels = n->outer[n->nouter - 1];
  int count = n->nouter;
  int64_t around = count > 1 ? outside(g) : 1;
  if (around == 1) loops += count - 1, count = 1;
  bool alone = count == 1 || around >= g->st->machine->threads;
  bool fetch = count == 1 && g->panel && (g->m >= ROWS_WORTH_FETCHING || n->naround > 0);
  if (fetch)
    TN_TRY(sch_annotate(g->st->sch, (tn_obj *)panels, "pragma_prefetch_next", tn_any_int(1)));
  if (count == 1 && goes_by_turns(g)) TN_TRY(by_turns(g, panels));
  if (ragged && alone) {
    TN_TRY(hint_partition(g, panels));
    if (count > 1) --count;
  }
  return kernel_parallel(g->st, loops, count);
}

static int finish_loops(const gemm *g, const nest *n, tn_BlockRV *last) {
  tn_LoopRV *around = n->blocks    ? n->blocks
                      : n->naround ? n->around[n->naround - 1]
                                   : n->outer[n->nouter - 1];
  tn_BlockRV *init;
  TN_TRY(sch_reverse_compute_at(g->st->sch, last, around, true, -1));
  TN_TRY(vectorize_tile(g, last, n->rows != NULL));
  if (n->blocks && g->band % g->tile.rows != 0) TN_TRY(hint_partition(g, n->blocks));
  TN_TRY(unroll(g, n->rows));
  TN_TRY(unroll(g, n->vectors));
  TN_TRY(unroll(g, n->k_inner));
  TN_TRY(sch_set_kind(g->st->sch, n->lanes, TIR_FOR_VECTORIZED, NULL));
  if (n->dot) TN_TRY(sch_annotate(g->st->sch, (tn_obj *)n->lanes, KERNEL_DOT, tn_any_int(1)));
  TN_TRY(parallel_panels(g, n, stored_columns(g, last) % tile_columns(g) != 0));
  TN_GET(init, sch_decompose_reduction(g->st->sch, g->st->rv, n->k));
  return 0;
}

int kernel_gemm(kernel_stage *st) {
  gemm g;
  nest n = {.nouter = 0};
  tn_BlockRV *pack = NULL, *last;
  int64_t index;
  int r = gemm_match(&g, st);
  if (r <= 0) return r;
  choose_tile(&g);
  if (!is_worth_it(&g)) return 0;
  g.unrolled = g.k / g.dot % UNROLL_K == 0 ? UNROLL_K : 1;
  g.band = band_rows(&g);
  if (is_known(&g)) TN_TRY(gemm_tune(&g));
  TN_TRY(read_number(&g, &index));
  if ((must_pad(&g) || must_pad_rows(&g)) && (r = pad(&g)) <= 0) return r;
  if (should_pack(&g)) TN_GET(pack, packed(&g, index));
  TN_GET(last, gemm_epilogue(&g));
  TN_TRY(split_loops(&g, &n));
  TN_TRY(order_loops(&g, &n));
  if (pack) TN_TRY(schedule_pack(&g, pack, &n));
  TN_TRY(finish_loops(&g, &n, last));
  return 1;
}
