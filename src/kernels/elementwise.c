/* Stages without reduction: outer loops parallel, the innermost in vectors where the reads are
   contiguous, a last one that is not full where they do not divide it. Axes that run through memory
   as one are one.

     for i0 in parallel(n): for i1: for i2 in vectorized(16):
       B[i0, i1 * 16 + i2] = f(A[i0, i1 * 16 + i2]) */
#include "base/error.h"
#include "kernels/kernels_impl.h"

enum { MIN = 4 }; /* lanes that are worth a vector */

/* Can the last axis run in vectors? Then it is all axes that run through memory as it does. */
static int find_vectors(kernel_stage *st, bool *yes) {
  int last = st->naxes - 1, first = last;
  const kernel_axis *a = &st->axis[last];
  bool joins = true;
  *yes = a->contiguous && a->extent > 0 && st->lanes > 1;
  if (!*yes) return 0;
  while (first > 0) {
    TN_TRY(kernel_axes_join(st, first - 1, &joins));
    if (!joins) break;
    --first;
  }
  TN_TRY(kernel_merge_axes(st, first, last));
  *yes = st->axis[first].extent >= MIN;
  return 0;
}

int kernel_elementwise(kernel_stage *st) {
  bool vectors;
  if (st->nspatial != st->naxes || st->block->init) return 0;
  TN_TRY(find_vectors(st, &vectors));
  tn_LoopRV *outer[KERNEL_MAX_AXES], *inner;
  int last = st->naxes - 1, n = last;
  for (int i = 0; i < last; ++i) outer[i] = kernel_loop(st, i);
  if (!vectors && last == 0) outer[n++] = kernel_loop(st, 0);
  /* without a vector the innermost loop is left to the code generator */
  if (!vectors) return kernel_parallel(st, outer, n) ? -1 : 1;
  int64_t extent = st->axis[last].extent;
  inner = kernel_loop(st, last);
  if (extent > st->lanes) TN_TRY(kernel_split(st, inner, st->lanes, &outer[n++], &inner));
  TN_TRY(sch_set_kind(st->sch, inner, TIR_FOR_VECTORIZED, NULL));
  if (extent > st->lanes && extent % st->lanes) {
    TN_TRY(sch_annotate(st->sch, (tn_obj *)outer[n - 1], KERNEL_PARTITION, tn_any_int(1)));
    if (n > 1) --n; /* a loop that is divided cannot be one with others */
  }
  return kernel_parallel(st, outer, n) ? -1 : 1;
}
