/* What can be tuned in a matrix product: rows and columns of its tile, the steps of the sums in a
   row, the rows of a band. Workloads are written as for dense layers and batches of products:

     ["dense_pack.x86",["TENSOR",[rows,k],"float32"],["TENSOR",[n,k],"float32"],null,"float32"] */
#include "base/error.h"
#include "kernels/gemm.h"
#include "tune/task.h"

enum { MAX_STEPS = 16 };

/* Product of the extents of the axes around row and column that b depends on, or does not. */
static int64_t around(const gemm *g, const tn_BufferLoad *b, bool depends) {
  int64_t n = 1;
  for (int i = 0; i < g->column; ++i) {
    const kernel_axis *a = &g->st->axis[i];
    if (i != g->row && a->extent > 1 && kernel_uses(b->indices, a) == depends) n *= a->extent;
  }
  return n;
}

static void describe(const gemm *g, tune_task *t) {
  const tn_BufferStore *store = TN_AS(BufferStore, g->st->block->body);
  const tn_Mul *product = TN_AS(Mul, TN_AS(Add, store->value)->b);
  const tn_BufferLoad *a = kernel_loaded(product->a), *b = kernel_loaded(product->b);
  if (a->buffer == g->b) {
    const tn_BufferLoad *swap = a;
    a = b, b = swap;
  }
  int64_t batch = around(g, b, true), rows = g->m * around(g, b, false);
  int64_t left[] = {batch, rows, g->k}, right[] = {batch, g->n, g->k};
  int flat = batch > 1 && !g->panel ? 0 : 1;
  tune_task_workload(t, !flat      ? "batch_matmul.x86"
                        : g->panel ? "dense_pack.x86"
                                   : "dense_nopack.x86");
  tune_task_tensor(t, left + flat, 3 - flat, a->buffer->dtype);
  tune_task_tensor(t, right + flat, 3 - flat, b->buffer->dtype);
  tune_task_value(t, "null");
  tune_task_dtype(t, store->buffer->dtype);
}

/* ---- what is possible ---- */

/* Can a tile have so many vectors of columns? Without a copy of b it reads whole tiles of it. */
static bool is_width(const gemm *g, int64_t vectors) {
  int64_t columns = vectors * g->st->lanes;
  if (g->panel) return g->panel % columns == 0 || (columns % g->panel == 0 && g->n % columns == 0);
  return columns <= g->n && (gemm_may_pack(g) || g->n % columns == 0);
}

/* Sums, one row of b, and a value of a, in the registers. */
static bool fits(const tune_task *t, const void *ctx) {
  const gemm *g = ctx;
  int64_t rows = t->knobs[0].value, vectors = t->knobs[1].value / g->st->lanes;
  bool held = rows == 1 || rows * vectors + vectors + 1 <= g->st->machine->vector_registers;
  return held && rows <= t->knobs[3].value;
}

static void offer(const gemm *g, tune_task *t) {
  int64_t steps = g->k / g->dot, registers = g->st->machine->vector_registers;
  tune_knob *rows = tune_task_knob(t, "tile_m", g->tile.rows);
  for (int64_t r = 1; r <= g->m && r + 2 <= registers; ++r) tune_knob_may(rows, r);
  tune_knob *columns = tune_task_knob(t, "tile_n", g->tile.vectors * g->st->lanes);
  for (int64_t v = 1; v <= 8; ++v)
    if (is_width(g, v)) tune_knob_may(columns, v * g->st->lanes);
  tune_knob *unrolled = tune_task_knob(t, "tile_k", g->unrolled);
  tune_knob_may_divide(unrolled, steps, MAX_STEPS);
  tune_knob *band = tune_task_knob(t, "band_m", g->band);
  if (g->panel) tune_knob_may_divide(band, g->m, g->m);
  else tune_knob_may(band, g->m);
}

int gemm_tune(gemm *g) {
  tune_task t = {0};
  describe(g, &t);
  offer(g, &t);
  int err = tune_task_ask(&t, fits, g);
  g->tile.rows = t.knobs[0].value;
  g->tile.vectors = t.knobs[1].value / g->st->lanes;
  g->unrolled = t.knobs[2].value;
  g->band = t.knobs[3].value;
  tune_task_fini(&t);
  return err;
}
