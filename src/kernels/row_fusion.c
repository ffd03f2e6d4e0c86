/* Programs that work row by row: softmax, normalisations, sums and maxima of rows. All stages of a
   row run one after the other while it is near, and a reduction along the row keeps a vector (or
   several) of partial results, which are then halved until one value is left.

     for row in parallel:  max of the row;  exp(x - max), element by element;  sum;  divide

   A stage fits when its outer axes are the rows and its last ones, if any, are reduced over or lie
   along the row; neighbours that run through memory as one are one axis (images of a channel).
   Where the results of a reduction are worked on one by one (few rows times a matrix, and a bias),
   every result is a separate row; a program without rows (the largest of all values) is a single
   one. */
#include "base/error.h"
#include "base/scope.h"
#include "ir/expr.h"
#include "ir/functor.h"
#include "kernels/kernels_impl.h"
#include "object/functions.h"
#include "tir/schedule/blocks.h"

enum {
  MAX_STAGES = 12,
  MAX_BLOCKS = 96,
  MAX_SUMS = 4,       /* vectors of partial results: hides the latency of an addition */
  MIN_STEPS = 2,      /* vectors a row must have for each of them */
  WORTH_PADDING = 32, /* vectors of a row that some more of them would not matter to */
  OPEN_SUMS = 2       /* vectors where the length of rows is not known: short ones are padded */
};

typedef struct {
  tn_TirSchedule *sch;
  const target_machine *machine;
  kernel_stage stages[MAX_STAGES];
  int nstages;
  tn_BlockRV
      *blocks[MAX_BLOCKS]; /* of all stages with their parts, in order; the last is the result */
  int nblocks;
  int rows;    /* number of outer axes */
  int outer;   /* loops of the result that run them */
  bool single; /* is the result one value for each row? */
} row_program;

/* ---- does the program fit? ---- */

/* All it reads of the last axis that is reduced over lies next to each other. */
static bool along_row(const kernel_stage *st) {
  const kernel_axis *k = &st->axis[st->naxes - 1];
  for (int i = st->nspatial; i < st->naxes; ++i)
    if (st->axis[i].extent == 0) return false;
  return k->contiguous && k->reads > 0;
}

/* Have both stages as many rows? An extent that is known at run time only is the same variable. */
static bool same_rows(const kernel_stage *x, const kernel_stage *y, int i) {
  const tn_IterVar *a = (const tn_IterVar *)tn_arr_obj(x->block->iter_vars, i),
                   *b = (const tn_IterVar *)tn_arr_obj(y->block->iter_vars, i);
  int64_t n = x->axis[i].extent;
  return n > 0 ? n == y->axis[i].extent
               : n < 0 && y->axis[i].extent < 0 && a->dom->extent == b->dom->extent;
}

static bool reduces(const kernel_stage *st) { return st->nspatial != st->naxes; }

/* Axes beyond the rows: element by element, or kept dimensions of one value. */
static bool fits(const row_program *p, const kernel_stage *st, const kernel_stage *result) {
  if (st->nspatial < p->rows || (reduces(st) && !along_row(st))) return false;
  for (int i = 0; i < p->rows; ++i)
    if (!same_rows(st, result, i)) return false;
  for (int i = p->rows; i < st->nspatial; ++i)
    if (reduces(st) ? st->axis[i].extent != 1 : st->axis[i].extent == 0) return false;
  return true;
}

static int collect(row_program *p) {
  tn_BlockRV *root;
  tn_arr *blocks;
  TN_GET(root, sch_get_block(p->sch, "root", "main"));
  TN_GET(blocks, sch_get_child_blocks(p->sch, (tn_obj *)root));
  if (blocks->len == 0 || blocks->len > MAX_STAGES) return 0;
  for (int64_t i = 0; i < blocks->len; ++i) {
    tn_BlockRV *rv = (tn_BlockRV *)blocks->items[i].v.obj;
    kernel_stage *st = &p->stages[p->nstages++];
    int r = kernel_stage_of(st, p->sch, rv, p->machine);
    bool scalar = r == 0 && st->loops && st->loops->len == 0;
    if (r <= 0 && !scalar) return r;
  }
  return 1;
}

static bool all_fit(row_program *p, const kernel_stage *result) {
  bool any = false;
  for (int i = 0; i < p->nstages; ++i) {
    const kernel_stage *st = &p->stages[i];
    if (!fits(p, st, result)) return false;
    any = any || reduces(st);
  }
  return any;
}

/* Which outer axes of the result are rows? As many as can be: of a reduction all, without kept
   dimensions; of a result that is computed element by element all but one, else all. */
static bool find_rows(row_program *p, const kernel_stage *result) {
  p->rows = reduces(result) ? result->nspatial : result->nspatial - 1;
  while (reduces(result) && p->rows > 1 && result->axis[p->rows - 1].extent == 1) --p->rows;
  for (; p->rows >= 1 && result->nspatial > 0; --p->rows)
    if (all_fit(p, result)) return true;
  p->rows = result->nspatial;
  p->single = !reduces(result);
  return (p->single || p->rows == 0) && all_fit(p, result);
}

/* Something is read for groups of elements of an axis: their size. */
typedef struct {
  const kernel_stage *st;
  int axis;
  int64_t size;
} groups;

static int find_groups(void *ctx, tn_obj *node) {
  groups *g = ctx;
  const tn_BinaryOp *quotient = node->type_index == TN_TI_FloorDiv ? TN_AS_BINARY(node) : NULL;
  int64_t size;
  for (int i = 0; quotient && g->axis < 0 && i < g->st->nspatial; ++i) {
    const kernel_axis *a = &g->st->axis[i];
    bool divides = quotient->a == (tn_expr *)a->var && tir_as_int((tn_obj *)quotient->b, &size) &&
                   size > 1 && size < a->extent && a->extent % size == 0;
    if (divides) g->axis = i, g->size = size;
  }
  return 0;
}

/* Is there a sum along rows, and none of another kind, such as a convolution? */
static bool sums_rows(const row_program *p) {
  bool any = false;
  for (int i = 0; i < p->nstages; ++i) {
    const kernel_stage *st = &p->stages[i];
    if (tn_map_find(st->block->annotations, KERNEL_CLASS)) return false;
    if (reduces(st) && !along_row(st)) return false;
    any = any || reduces(st);
  }
  return any;
}

/* Rows are groups of channels: the result gets an axis of groups. Other classes would not know the
   stage again. */
static int split_groups(row_program *p, kernel_stage *result) {
  groups g = {result, -1, 0};
  if (p->nstages == 1 || result->naxes == 0 || reduces(result) || !sums_rows(p)) return 0;
  TN_TRY(tn_post_order(((const tn_BufferStore *)result->block->body)->value, find_groups, &g));
  return g.axis < 0 ? 0 : kernel_split_axis(result, g.axis, g.size);
}

static int match(row_program *p) {
  int r = collect(p);
  if (r <= 0) return r;
  kernel_stage *result = &p->stages[p->nstages - 1];
  TN_TRY(split_groups(p, result));
  if (result->lanes < 4 || !find_rows(p, result)) return 0;
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
  int64_t n = st->axis[st->naxes - 1].extent, vectors = (n + st->lanes - 1) / st->lanes;
  int64_t sums = MAX_SUMS;
  if (n < 0) return OPEN_SUMS * st->lanes;
  bool pads = vectors >= WORTH_PADDING;
  while (sums > 1 && ((vectors % sums != 0 && !pads) || vectors < sums * MIN_STEPS)) sums /= 2;
  return vectors > 1 ? sums * st->lanes : 1;
}

/* One part less wide than the one before, each its own block, down to the one value. */
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

/* The last axes as one, as many as run through memory so. */
static int merge(const row_program *p, kernel_stage *st) {
  int first = st->naxes - 1, least = reduces(st) ? st->nspatial : p->rows;
  bool yes = true;
  while (first > least) {
    TN_TRY(kernel_axes_join(st, first - 1, &yes));
    if (!yes) break;
    --first;
  }
  return kernel_merge_axes(st, first, st->naxes - 1);
}

static int factor_all(row_program *p) {
  for (int i = 0; i < p->nstages; ++i) {
    kernel_stage *st = &p->stages[i];
    TN_TRY(merge(p, st));
    if (reduces(st)) TN_TRY(factor(p, st));
    else TN_TRY(add(p, st->rv));
  }
  return 0;
}

/* ---- loops ---- */

/* What runs below the loop over rows: an axis in vectors, some that are reduced over, or both. */
typedef struct {
  tn_LoopRV *lane, *k[KERNEL_MAX_AXES];
  int nk;
} inner_loops;

/* Blocks that were moved below the rows have a loop for each iterator, in their order. */
static int find_moved(const kernel_stage *st, const tn_Block *b, const tn_arr *loops,
                      inner_loops *out) {
  int64_t above = loops->len - b->iter_vars->len;
  for (int64_t i = 0; i < b->iter_vars->len && above >= 0; ++i) {
    const tn_IterVar *iter = (const tn_IterVar *)tn_arr_obj(b->iter_vars, i);
    tn_LoopRV *loop = (tn_LoopRV *)tn_arr_obj(loops, above + i);
    if (iter->iter_type == IR_ITER_COMM_REDUCE) out->k[out->nk++] = loop;
    else if (kernel_loop_extent(st, loop) != 1) out->lane = loop;
  }
  return 0;
}

/* Below the rows of the result all is reduced over, or nothing. */
static void find_of_result(const row_program *p, const kernel_stage *st, const tn_Block *b,
                           const tn_arr *loops, inner_loops *out) {
  for (int64_t i = p->outer; i < loops->len; ++i) {
    tn_LoopRV *loop = (tn_LoopRV *)tn_arr_obj(loops, i);
    bool last = i == loops->len - 1;
    if (!b->init) out->lane = last && !p->single ? loop : NULL;
    else if ((last && !out->nk) || kernel_loop_extent(st, loop) != 1) out->k[out->nk++] = loop;
  }
}

/* The last loop in vectors, inside of what is reduced over. */
static int vectorize(kernel_stage *st, const inner_loops *in) {
  tn_LoopRV *lane = in->lane, *outer, *order[KERNEL_MAX_AXES + 1];
  int64_t n = lane ? kernel_loop_extent(st, lane) : 1;
  if (n >= 0 && n < 2) return 0;
  for (int i = 0; i < in->nk; ++i) order[i] = in->k[i];
  order[in->nk] = lane;
  if (in->nk) TN_TRY(kernel_reorder(st, order, in->nk + 1));
  if (n < 0 || n > st->lanes) {
    TN_TRY(kernel_split(st, lane, st->lanes, &outer, &lane));
    if (in->nk) TN_TRY(sch_set_kind(st->sch, outer, TIR_FOR_UNROLLED, NULL));
    else if (n < 0 || n % st->lanes != 0)
      TN_TRY(sch_annotate(st->sch, (tn_obj *)outer, KERNEL_PARTITION, tn_any_int(1)));
  }
  return sch_set_kind(st->sch, lane, TIR_FOR_VECTORIZED, NULL);
}

static int finish_block(const row_program *p, kernel_stage *st, tn_BlockRV *rv, bool result) {
  inner_loops in = {.nk = 0};
  const tn_Block *b;
  tn_arr *loops;
  TN_GET(b, (const tn_Block *)sch_get(st->sch, (tn_obj *)rv));
  TN_GET(loops, sch_get_loops(st->sch, rv));
  if (result) find_of_result(p, st, b, loops, &in);
  else TN_TRY(find_moved(st, b, loops, &in));
  TN_TRY(vectorize(st, &in));
  if (!in.nk) return 0;
  tn_LoopRV *last = in.k[in.nk - 1];
  int64_t steps = kernel_loop_extent(st, last);
  if (steps >= 0 && steps <= MAX_SUMS) TN_TRY(sch_set_kind(st->sch, last, TIR_FOR_UNROLLED, NULL));
  else TN_TRY(sch_annotate(st->sch, (tn_obj *)last, KERNEL_PARTITION, tn_any_int(1)));
  return sch_decompose_reduction(st->sch, rv, in.k[0]) ? 0 : -1;
}

/* The loop that runs the rows, of one turn where there are none. */
static tn_LoopRV *row_loop(row_program *p, kernel_stage *result) {
  tn_LoopRV *rows[KERNEL_MAX_AXES];
  tn_arr *loops;
  bool known = true;
  TN_GETP(loops, sch_get_loops(p->sch, result->rv));
  p->outer = 1;
  if (p->rows == 0)
    return sch_add_unit_loop(p->sch, loops->len ? tn_arr_obj(loops, 0) : (tn_obj *)result->rv);
  for (int i = 0; i < p->rows; ++i) {
    rows[i] = (tn_LoopRV *)tn_arr_obj(loops, i);
    known = known && result->axis[i].extent > 0;
  }
  /* what is read of a row could not be told from indices that are divided by a dynamic extent */
  if (known) return kernel_fuse(result, rows, p->rows);
  p->outer = p->rows;
  return rows[p->rows - 1];
}

/* The outermost loop is shared out, while first values and updates are one block. */
static int share_rows(row_program *p, kernel_stage *result) {
  tn_arr *loops;
  if (p->rows == 0) return 0;
  TN_GET(loops, sch_get_loops(p->sch, result->rv));
  tn_LoopRV *outermost = (tn_LoopRV *)tn_arr_obj(loops, 0);
  return kernel_parallel(result, &outermost, 1);
}

static int arrange(row_program *p) {
  kernel_stage *result = &p->stages[p->nstages - 1];
  tn_LoopRV *row;
  TN_GET(row, row_loop(p, result));
  for (int i = p->nblocks - 2; i >= 0; --i)
    TN_TRY(sch_compute_at(p->sch, p->blocks[i], row, true, -1));
  TN_TRY(share_rows(p, result));
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
