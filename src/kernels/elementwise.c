/* Stages without reduction: outer loops parallel, the innermost a vector where the reads are
   contiguous.

     for i0 in parallel(n): for i1: for i2 in vectorized(16): B[i0, i1 * 16 + i2] = f(A[i0, i1 * 16
   + i2]) */
#include "base/error.h"
#include "kernels/kernels_impl.h"

/* Lanes for an innermost extent: a power of two that divides it, at least half a vector; 0: none.
 */
static int lanes_for(const kernel_stage *st, int64_t extent) {
  for (int v = st->lanes; v > 1 && v * 2 >= st->lanes; v /= 2)
    if (extent % v == 0) return v;
  return 0;
}

int kernel_elementwise(kernel_stage *st) {
  if (st->nspatial != st->naxes || st->block->init) return 0;
  int last = st->naxes - 1;
  const kernel_axis *a = &st->axis[last];
  int lanes = a->contiguous && a->extent > 0 ? lanes_for(st, a->extent) : 0;
  tn_LoopRV *outer[KERNEL_MAX_AXES], *inner;
  int n = last;
  for (int i = 0; i < last; ++i) outer[i] = kernel_loop(st, i);
  if (lanes) {
    TN_TRY(kernel_split(st, kernel_loop(st, last), lanes, &outer[n], &inner));
    ++n;
    TN_TRY(sch_set_kind(st->sch, inner, TIR_FOR_VECTORIZED, NULL));
  } else if (last == 0) outer[n++] = kernel_loop(st, 0);
  /* without a vector the innermost loop is left to the code generator */
  TN_TRY(kernel_parallel(st, outer, n));
  return 1;
}
