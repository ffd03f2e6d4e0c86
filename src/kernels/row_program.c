/* Programs that work row by row: softmax, normalisations, sums and maxima of rows. All stages of a
   row run one after the other while it is near, and a reduction along the row keeps a vector (or
   several) of partial results, which are then halved until one value is left.

     for row in parallel:  max of the row;  exp(x - max), element by element;  sum;  divide

   A stage fits when its outer axes are the rows and its last one, if any, lies along the row. Where
   the results of a reduction are worked on one by one (few rows times a matrix, and a bias), every
   result is a row of its own. */
#include "base/error.h"
#include "base/scope.h"
#include "ir/expr.h"
#include "kernels/kernels_impl.h"
#include "object/functions.h"
#include "tir/schedule/blocks.h"

enum {
  MAX_STAGES = 12,
  MAX_BLOCKS = 96,
  MAX_SUMS = 4,  /* vectors of partial results: hides the latency of an addition */
  MIN_STEPS = 2, /* vectors a row must have for each of them */
  OPEN_SUMS = 2  /* vectors where the length of rows is not known: short ones are padded */
};

typedef struct {
  tn_TirSchedule *sch;
  const kernel_machine *machine;
  kernel_stage stages[MAX_STAGES];
  int nstages;
  tn_BlockRV
      *blocks[MAX_BLOCKS]; /* of all stages with their parts, in order; the last is the result */
  int nblocks;
  int rows;     /* number of outer axes */
  bool reduces; /* is there a reduction along the row? */
  bool single;  /* is the result one value for each row? */
} row_program;

/* ---- does the program fit? ---- */

static bool along_row(const kernel_stage *st) {
  const kernel_axis *k = &st->axis[st->nspatial];
  return st->naxes == st->nspatial + 1 && k->extent != 0 && k->contiguous && k->reads > 0;
}

/* Have both stages as many rows? An extent that is known at run time only is the same variable. */
static bool same_rows(const kernel_stage *x, const kernel_stage *y, int i) {
  const tn_IterVar *a = (const tn_IterVar *)tn_arr_obj(x->block->iter_vars, i),
                   *b = (const tn_IterVar *)tn_arr_obj(y->block->iter_vars, i);
  int64_t n = x->axis[i].extent;
  return n > 0 ? n == y->axis[i].extent
               : n < 0 && y->axis[i].extent < 0 && a->dom->extent == b->dom->extent;
}

/* Axes beyond the rows: one element by element, or of one value only (kept dimensions). */
static bool fits(const row_program *p, const kernel_stage *st, const kernel_stage *result) {
  bool reduces = st->nspatial != st->naxes;
  if (st->nspatial < p->rows || (reduces && !along_row(st))) return false;
  for (int i = 0; i < p->rows; ++i)
    if (!same_rows(st, result, i)) return false;
  for (int i = p->rows; i < st->nspatial; ++i) {
    bool last = i == st->nspatial - 1 && !reduces;
    if (st->axis[i].extent != 1 && !(last && st->axis[i].extent != 0)) return false;
  }
  return true;
}

/* Outer axes of the result: all but one that is computed element by element, and kept dimensions.
 */
static int count_rows(const kernel_stage *result) {
  bool reduces = result->nspatial != result->naxes;
  int n = reduces ? result->nspatial : result->nspatial - 1;
  while (reduces && n > 1 && result->axis[n - 1].extent == 1) --n;
  return n;
}

static int collect(row_program *p) {
  tn_BlockRV *root;
  tn_arr *blocks;
  TN_GET(root, sch_get_block(p->sch, "root", "main"));
  TN_GET(blocks, sch_get_child_blocks(p->sch, (tn_obj *)root));
  if (blocks->len == 0 || blocks->len > MAX_STAGES) return 0;
  for (int64_t i = 0; i < blocks->len; ++i) {
    tn_BlockRV *rv = (tn_BlockRV *)blocks->items[i].v.obj;
    int r = kernel_stage_of(&p->stages[p->nstages++], p->sch, rv, p->machine);
    if (r <= 0) return r;
  }
  return 1;
}

static bool all_fit(row_program *p, const kernel_stage *result) {
  p->reduces = false;
  for (int i = 0; i < p->nstages; ++i) {
    const kernel_stage *st = &p->stages[i];
    if (!fits(p, st, result)) return false;
    p->reduces = p->reduces || st->nspatial != st->naxes;
  }
  return p->reduces;
}

static int match(row_program *p) {
  int r = collect(p);
  if (r <= 0) return r;
  const kernel_stage *result = &p->stages[p->nstages - 1];
  p->rows = count_rows(result);
  if (result->lanes < 4) return 0;
  if (p->rows < 1 || !all_fit(p, result)) {
    p->rows = result->nspatial;
    p->single = true;
    if (result->nspatial != result->naxes || p->rows < 1 || !all_fit(p, result)) return 0;
  }
  for (int i = 0; i < p->nstages; ++i) {
    tn_arr *readers;
    TN_GET(readers, sch_get_neighbours(p->sch, p->stages[i].rv, false));
    if ((readers->len == 0) != (i == p->nstages - 1)) return 0; /* one result only */
  }
  return 1;
}

/* ---- partial results ---- */

static int add(row_program *p, tn_BlockRV *rv) {
  if (p->nblocks == MAX_BLOCKS) return TN_RAISE(InternalError, NULL, "rows: too many parts");
  p->blocks[p->nblocks++] = rv;
  return 0;
}

/* Width of the partial results, whole vectors; 1 for rows that are too short. The row is padded
   where vectors do not divide it. */
static int64_t width_of(const kernel_stage *st) {
  int64_t vectors = (st->axis[st->nspatial].extent + st->lanes - 1) / st->lanes, sums = MAX_SUMS;
  if (st->axis[st->nspatial].extent < 0) return OPEN_SUMS * st->lanes;
  while (sums > 1 && (vectors % sums != 0 || vectors < sums * MIN_STEPS)) sums /= 2;
  return vectors > 1 ? sums * st->lanes : 1;
}

/* One part less wide than the one before, each a block of its own, down to the one value. */
static int factor(row_program *p, kernel_stage *st) {
  tn_arr *loops;
  tn_LoopRV *outer, *inner;
  tn_BlockRV *part;
  int64_t width = width_of(st);
  if (width > 1) TN_TRY(sch_pad_reduction(st->sch, st->rv, width));
  for (int64_t w = width; w > 1; w /= 2) {
    TN_GET(loops, sch_get_loops(st->sch, st->rv));
    tn_LoopRV *k = (tn_LoopRV *)tn_arr_obj(loops, loops->len - 1);
    TN_TRY(kernel_split(st, k, w, &outer, &inner));
    TN_GET(part, sch_rfactor(st->sch, inner, -1));
    TN_TRY(sch_set_scope(st->sch, part, 0, "local"));
    TN_TRY(add(p, part));
  }
  return add(p, st->rv);
}

static int factor_all(row_program *p) {
  for (int i = 0; i < p->nstages; ++i) {
    kernel_stage *st = &p->stages[i];
    if (st->nspatial == st->naxes) TN_TRY(add(p, st->rv));
    else TN_TRY(factor(p, st));
  }
  return 0;
}

/* ---- loops ---- */

/* What runs below the loop over rows: an axis in vectors, one that is reduced over, or both. */
typedef struct {
  tn_LoopRV *lane, *k;
} inner_loops;

/* Blocks that were moved below the rows have a loop for each iterator, in their order. */
static int find_moved(const kernel_stage *st, const tn_Block *b, const tn_arr *loops,
                      inner_loops *out) {
  int64_t above = loops->len - b->iter_vars->len;
  for (int64_t i = 0; i < b->iter_vars->len; ++i) {
    const tn_IterVar *iter = (const tn_IterVar *)tn_arr_obj(b->iter_vars, i);
    tn_LoopRV *loop = (tn_LoopRV *)tn_arr_obj(loops, above + i);
    if (iter->iter_type == IR_ITER_COMM_REDUCE) out->k = loop;
    else if (kernel_loop_extent(st, loop) != 1) out->lane = loop;
  }
  return 0;
}

/* The last loop in vectors, inside of what is reduced over. */
static int vectorize(kernel_stage *st, const inner_loops *in) {
  tn_LoopRV *lane = in->lane, *outer, *order[] = {in->k, in->lane};
  int64_t n = lane ? kernel_loop_extent(st, lane) : 1;
  if (n >= 0 && n < 2) return 0;
  if (in->k) TN_TRY(kernel_reorder(st, order, 2));
  if (n < 0 || n > st->lanes) {
    TN_TRY(kernel_split(st, lane, st->lanes, &outer, &lane));
    if (in->k) TN_TRY(sch_set_kind(st->sch, outer, TIR_FOR_UNROLLED, NULL));
    else if (n < 0 || n % st->lanes != 0)
      TN_TRY(sch_annotate(st->sch, (tn_obj *)outer, KERNEL_PARTITION, tn_any_int(1)));
  }
  return sch_set_kind(st->sch, lane, TIR_FOR_VECTORIZED, NULL);
}

static int finish_block(const row_program *p, kernel_stage *st, tn_BlockRV *rv, bool result) {
  inner_loops in = {NULL, NULL};
  const tn_Block *b;
  tn_arr *loops;
  TN_GET(b, (const tn_Block *)sch_get(st->sch, (tn_obj *)rv));
  TN_GET(loops, sch_get_loops(st->sch, rv));
  tn_LoopRV *last = (tn_LoopRV *)tn_arr_obj(loops, loops->len - 1);
  if (!result) TN_TRY(find_moved(st, b, loops, &in));
  else if (b->init) in.k = last;
  else if (!p->single) in.lane = last;
  TN_TRY(vectorize(st, &in));
  if (!in.k) return 0;
  int64_t steps = kernel_loop_extent(st, in.k);
  if (steps >= 0 && steps <= MAX_SUMS) TN_TRY(sch_set_kind(st->sch, in.k, TIR_FOR_UNROLLED, NULL));
  else TN_TRY(sch_annotate(st->sch, (tn_obj *)in.k, KERNEL_PARTITION, tn_any_int(1)));
  return sch_decompose_reduction(st->sch, rv, in.k) ? 0 : -1;
}

static int arrange(row_program *p) {
  kernel_stage *result = &p->stages[p->nstages - 1];
  tn_arr *loops;
  tn_LoopRV *rows[KERNEL_MAX_AXES], *row;
  bool known = true;
  TN_GET(loops, sch_get_loops(p->sch, result->rv));
  for (int i = 0; i < p->rows; ++i) {
    rows[i] = (tn_LoopRV *)tn_arr_obj(loops, i);
    known = known && result->axis[i].extent > 0;
  }
  /* what is read of a row could not be told from indices that are divided by an open extent */
  if (known) TN_GET(rows[0], kernel_fuse(result, rows, p->rows));
  row = rows[known ? 0 : p->rows - 1];
  for (int i = p->nblocks - 2; i >= 0; --i)
    TN_TRY(sch_compute_at(p->sch, p->blocks[i], row, true, -1));
  TN_TRY(kernel_parallel(result, rows, 1)); /* while first values and updates are one block */
  for (int i = 0; i < p->nblocks; ++i)
    TN_TRY(finish_block(p, result, p->blocks[i], i == p->nblocks - 1));
  return 0;
}

int kernel_row_program(kernel_stage *st) {
  row_program p = {.sch = st->sch, .machine = st->machine};
  int r = match(&p);
  if (r <= 0) return r;
  TN_TRY(factor_all(&p));
  TN_TRY(arrange(&p));
  return 1;
}
