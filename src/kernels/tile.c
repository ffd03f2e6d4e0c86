/* Reductions over which an innermost spatial axis is contiguous in everything read: matrix products
   with a row-major right side, convolutions, pooling, sums over outer axes. A tile of the result,
   rows times vectors, stays in registers while the reduction runs:

     for tiles (parallel):
       init tile
       for k: for r in unrolled: for v in vectorized: C[r, v] += A[r, k] * B[k, v]

   The number of rows follows from the registers: rows * vectors + vectors + 1 must fit. */
#include "base/error.h"
#include "ir/functor.h"
#include "ir/imm.h"
#include "kernels/kernels_impl.h"
#include "object/functions.h"
#include "tir/schedule/blocks.h"

enum { MAX_ROWS = 8 };

/* Largest divisor of n up to `most`. */
static int64_t divisor(int64_t n, int64_t most) {
  for (int64_t d = most; d > 1; --d)
    if (n % d == 0) return d;
  return 1;
}

/* Lanes of the innermost tile: whole vectors, as many as divide the extent; else fewer lanes that
   divide it, any number of them. Where none do, or the extent is dynamic, whole vectors and a last
   one that is not full. */
static int64_t vector_extent(const kernel_stage *st, int64_t extent, int *vectors) {
  for (int nv = 2; nv > 0; --nv)
    if (extent > 0 && extent % (st->lanes * nv) == 0) return *vectors = nv, (int64_t)st->lanes;
  *vectors = 1;
  if (extent < 0) return st->lanes;
  int64_t n = divisor(extent, st->lanes);
  if (n >= 4 && n * 4 >= st->lanes) return n;
  return extent > st->lanes ? st->lanes : 0;
}

/* Is there a read that both axes lead through? */
typedef struct {
  const kernel_axis *a, *b;
  bool found;
} meeting;

static int look(void *ctx, tn_obj *node) {
  meeting *m = ctx;
  const tn_BufferLoad *load = TN_AS(BufferLoad, node);
  if (load) m->found |= kernel_uses(load->indices, m->a) && kernel_uses(load->indices, m->b);
  return 0;
}

static bool meet(const tn_expr *operand, const kernel_axis *a, const kernel_axis *b) {
  meeting m = {a, b, false};
  (void)tn_post_order(operand, look, &m);
  return m.found;
}

/* What is added to the result so far; the whole value for other reductions. */
static const tn_expr *operand_of(const kernel_stage *st) {
  const tn_expr *value = ((const tn_BufferStore *)st->block->body)->value;
  const tn_Add *sum = TN_AS(Add, value);
  return sum ? sum->b : value;
}

static bool is_row(const kernel_stage *st, int i) {
  return st->axis[i].extent > 1 && st->axis[i].reads < st->nreads;
}

/* The axis whose values share what is read along the vector, from the inside; else, when that is
   contiguous, one that shares anything; -1: none. */
static int row_axis(const kernel_stage *st, int vector_axis) {
  const kernel_axis *vec = &st->axis[vector_axis];
  for (int i = vector_axis - 1; i >= 0; --i)
    if (is_row(st, i) && !meet(operand_of(st), vec, &st->axis[i])) return i;
  for (int i = vector_axis - 1; i >= 0 && vec->contiguous; --i)
    if (is_row(st, i)) return i;
  return -1;
}

typedef struct {
  tn_LoopRV *vec, *vecs, *rows; /* inner loops; NULL: there is none */
  tn_LoopRV *outer[KERNEL_MAX_AXES + 2];
  int nouter;
} tile;

static int cut(kernel_stage *st, tile *t, int64_t lanes, int vectors, int row) {
  int last = st->nspatial - 1;
  int most = (st->machine->vector_registers - vectors - 2) / vectors;
  int64_t rows = row < 0 ? 1 : divisor(st->axis[row].extent, most < MAX_ROWS ? most : MAX_ROWS);
  tn_LoopRV *rest = kernel_loop(st, last), *around;
  for (int i = 0; i < last; ++i) {
    around = kernel_loop(st, i);
    if (i == row && rows > 1) TN_TRY(kernel_split(st, around, rows, &around, &t->rows));
    t->outer[t->nouter++] = around;
  }
  TN_TRY(kernel_split(st, rest, lanes, &rest, &t->vec));
  if (vectors > 1) TN_TRY(kernel_split(st, rest, vectors, &rest, &t->vecs));
  t->outer[t->nouter++] = rest;
  return 0;
}

static int arrange(kernel_stage *st, const tile *t) {
  tn_LoopRV *order[2 * KERNEL_MAX_AXES + 4];
  int n = 0;
  for (int i = 0; i < t->nouter; ++i) order[n++] = t->outer[i];
  for (int i = st->nspatial; i < st->naxes; ++i) order[n++] = kernel_loop(st, i);
  if (t->rows) order[n++] = t->rows;
  if (t->vecs) order[n++] = t->vecs;
  order[n++] = t->vec;
  return kernel_reorder(st, order, n);
}

/* The result leaves the registers once all is added up. */
static int place_copy(kernel_stage *st, const tile *t, tn_BlockRV *copy, int64_t lanes) {
  tn_arr *loops;
  TN_TRY(sch_reverse_compute_at(st->sch, copy, t->outer[t->nouter - 1], true, -1));
  TN_GET(loops, sch_get_loops(st->sch, copy));
  int64_t last = loops->len - 1;
  tn_LoopRV *vec = (tn_LoopRV *)tn_arr_obj(loops, last), *vecs;
  for (int64_t i = t->nouter; i < last; ++i)
    TN_TRY(sch_set_kind(st->sch, (tn_LoopRV *)tn_arr_obj(loops, i), TIR_FOR_UNROLLED, NULL));
  TN_TRY(kernel_split(st, vec, lanes, &vecs, &vec));
  TN_TRY(sch_set_kind(st->sch, vecs, TIR_FOR_UNROLLED, NULL));
  return sch_set_kind(st->sch, vec, TIR_FOR_VECTORIZED, NULL);
}

static int mark(tn_TirSchedule *s, tn_LoopRV *loop, tir_for_kind kind) {
  return loop ? sch_set_kind(s, loop, kind, NULL) : 0;
}

int kernel_tile(kernel_stage *st) {
  int last = st->nspatial - 1, vectors;
  if (st->nspatial == st->naxes || st->nspatial == 0 || !st->block->init || st->lanes < 4) return 0;
  const kernel_axis *a = &st->axis[last];
  if (!a->in_last || a->reads == 0 || (a->extent >= 0 && a->extent < 4)) return 0;
  int row = row_axis(st, last); /* looks at the block, which the copy replaces */
  if (!a->contiguous && row < 0) return 0;
  int64_t lanes = vector_extent(st, a->extent, &vectors);
  if (!lanes) return 0;
  tile t = {0};
  tn_BlockRV *copy;
  TN_GET(copy, sch_cache_write(st->sch, st->rv, 0, "local", tn_arr_of(0)));
  TN_TRY(cut(st, &t, lanes, vectors, row));
  TN_TRY(arrange(st, &t));
  TN_TRY(place_copy(st, &t, copy, lanes));
  if (a->extent < 0 || a->extent % lanes) {
    tn_expr *one;
    TN_GET(one, tir_i32(1));
    TN_TRY(sch_annotate(st->sch, (tn_obj *)t.outer[--t.nouter], KERNEL_PARTITION, tn_any_obj(one)));
  }
  TN_TRY(kernel_parallel(st, t.outer, t.nouter));
  TN_TRY(mark(st->sch, t.rows, TIR_FOR_UNROLLED));
  TN_TRY(mark(st->sch, t.vecs, TIR_FOR_UNROLLED));
  TN_TRY(mark(st->sch, t.vec, TIR_FOR_VECTORIZED));
  tn_BlockRV *init; /* its loops are copies, marked as those are */
  TN_GET(init, sch_decompose_reduction(st->sch, st->rv, kernel_loop(st, st->nspatial)));
  return 1;
}
