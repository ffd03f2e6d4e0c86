/* Reductions on processors without vectors, or whose compiler finds them: each result is summed up
   in a variable, and what is computed of it is computed there:

     for results:  s = 0;  for k: s += A[...] * B[...];  C[...] = epilogue(s)

   so that nothing is kept between, and neither does the sum go through memory. Where results next
   to each other read floats next to each other, a few are summed up at a time: they share the other
   operand, and one sum need not wait for the next. Where a compiler may find vectors (`rows`) they
   are a row as long as can be, summed up in its own loop. */
#include "base/error.h"
#include "ir/functor.h"
#include "ir/imm.h"
#include "kernels/kernels_impl.h"
#include "object/functions.h"
#include "tir/schedule/blocks.h"
#include "tir/schedule/layout.h"

/* ---- the order of a reduction ---- */

typedef struct {
  const tn_Var *outer, *inner;
  int64_t extent; /* of the inner axis */
  bool joined;
} joint;

/* Does x lie along an axis right before that of y, which is read from end to end? */
static int look(void *ctx, tn_obj *node) {
  joint *j = ctx;
  const tn_BufferLoad *l = TN_AS(BufferLoad, node);
  int64_t n = l ? l->indices->len : 0, extent;
  if (!l || !kernel_uses(l, &(kernel_axis){.var = (tn_Var *)(uintptr_t)j->inner})) return 0;
  const tn_expr *before = n > 1 ? (const tn_expr *)tn_arr_obj(l->indices, n - 2) : NULL;
  const tn_Add *sum = TN_AS(Add, before);
  bool plain =
      before == (const tn_expr *)j->outer || (sum && (sum->a == (tn_expr *)(uintptr_t)j->outer ||
                                                      sum->b == (tn_expr *)(uintptr_t)j->outer));
  j->joined = j->joined && plain && tn_arr_obj(l->indices, n - 1) == (const tn_obj *)j->inner &&
              tir_as_int(tn_arr_obj(l->buffer->shape, n - 1), &extent) && extent == j->extent;
  return 0;
}

/* The reduction along contiguous elements comes last, as one loop with that of the axis before it
   where the elements of both follow one another. */
static int order_reduction(kernel_stage *st) {
  int last = -1;
  TN_VEC(loops);
  for (int i = st->nspatial; i < st->naxes; ++i)
    if (st->axis[i].contiguous && st->axis[i].reads > 1) last = i;
  if (last < 0 || st->naxes - st->nspatial < 2) return 0;
  tn_LoopRV *order[KERNEL_MAX_AXES], *both[2];
  int n = 0;
  for (int i = st->nspatial; i < st->naxes; ++i)
    if (i != last) order[n++] = kernel_loop(st, i);
  order[n++] = kernel_loop(st, last);
  const kernel_axis *before = &st->axis[last == st->naxes - 1 ? last - 1 : st->naxes - 1];
  joint j = {before->var, st->axis[last].var, st->axis[last].extent, true};
  TN_TRY(tn_post_order(((const tn_BufferStore *)st->block->body)->value, look, &j));
  TN_TRY(kernel_reorder(st, order, n));
  if (j.joined) {
    both[0] = order[n - 2], both[1] = order[n - 1];
    TN_GET(order[n - 2], kernel_fuse(st, both, 2));
    --n;
  }
  for (int i = 0; i < st->nspatial; ++i) TN_TRY(tn_vec_push_obj(&loops, kernel_loop(st, i)));
  for (int i = 0; i < n; ++i) TN_TRY(tn_vec_push_obj(&loops, order[i]));
  TN_GET(st->loops, tn_arr_from(&loops));
  return 0;
}

/* ---- results at a time ---- */

enum { MAX_SUMS = 8, MAX_OF_ROW = 64 };

/* How many divide the last axis evenly. Integers are left to the dot products of the target. */
static int64_t sums_at_a_time(const kernel_stage *st, tn_dtype t) {
  const kernel_axis *last = &st->axis[st->nspatial - 1];
  bool rows = st->machine->rows, near = last->contiguous || (rows && last->in_last);
  if (t.code != kDLFloat || !near || last->extent < 2) return 1;
  for (int64_t n = rows ? MAX_OF_ROW : MAX_SUMS; n > 1; --n)
    if (last->extent % n == 0) return n;
  return 1;
}

static int unroll_last(kernel_stage *st, const tn_BlockRV *rv) {
  tn_arr *loops;
  TN_GET(loops, sch_get_loops(st->sch, rv));
  tn_LoopRV *last = (tn_LoopRV *)tn_arr_obj(loops, loops->len - 1);
  return sch_set_kind(st->sch, last, TIR_FOR_UNROLLED, NULL);
}

/* The loop over them goes below those of the reduction. */
static int move_inside(kernel_stage *st, tn_LoopRV *few, bool unrolled) {
  tn_LoopRV *order[KERNEL_MAX_AXES + 1];
  int n = 0;
  for (int64_t i = st->nspatial; i < st->loops->len; ++i) order[n++] = kernel_loop(st, (int)i);
  order[n++] = few;
  TN_TRY(kernel_reorder(st, order, n));
  return unrolled ? sch_set_kind(st->sch, few, TIR_FOR_UNROLLED, NULL) : 0;
}

/* ---- the class ---- */

/* @return 1, 0 when the steps do not know the program, -1 */
static int sum_in_place(kernel_stage *st, tn_BlockRV *reader, tn_dtype t) {
  tn_LoopRV *outer[KERNEL_MAX_AXES], *few = NULL;
  tn_BlockRV *init;
  int64_t n = sums_at_a_time(st, t);
  for (int i = 0; i < st->nspatial; ++i) outer[i] = kernel_loop(st, i);
  tn_LoopRV **last = &outer[st->nspatial - 1];
  if (n > 1) TN_TRY(kernel_split(st, *last, n, last, &few));
  int r = kernel_try(sch_reverse_compute_at(st->sch, reader, *last, false, -1));
  if (r <= 0) return r;
  TN_GET(st->block, (const tn_Block *)sch_get(st->sch, (tn_obj *)st->rv)); /* as it is now */
  TN_TRY(order_reduction(st));
  if (few) TN_TRY(move_inside(st, few, n <= MAX_SUMS));
  TN_TRY(kernel_parallel(st, outer, st->nspatial));
  TN_GET(init, sch_decompose_reduction(st->sch, st->rv, kernel_loop(st, st->nspatial)));
  if (!few || n > MAX_SUMS) return 1;
  TN_TRY(unroll_last(st, init));
  TN_TRY(unroll_last(st, reader));
  return 1;
}

static bool fits(const kernel_stage *st) {
  return st->machine->vector_bytes == 0 && st->nspatial > 0 && st->nspatial != st->naxes &&
         st->block->init;
}

static tn_dtype type_of_sum(const kernel_stage *st) {
  return ((const tn_BufferStore *)st->block->body)->buffer->dtype;
}

int kernel_scalar(kernel_stage *st) {
  tn_BlockRV *reader;
  if (!fits(st)) return 0;
  tn_dtype t = type_of_sum(st);
  int r = kernel_only_reader(st, &reader);
  return r <= 0 ? r : sum_in_place(st, reader, t);
}

int kernel_scalar_result(kernel_stage *st) {
  tn_BlockRV *copy;
  if (!fits(st)) return 0;
  tn_dtype t = type_of_sum(st);
  TN_GET(copy, sch_cache_write(st->sch, st->rv, 0, "local", tn_arr_of(0)));
  return sum_in_place(st, copy, t);
}
