/* Reductions along the contiguous axis (sums of rows, matrix products with a transposed right side)
   and all others that no faster class takes: results in parallel, each one's reduction in order. */
#include "base/error.h"
#include "kernels/kernels_impl.h"

static int spatial_parallel(kernel_stage *st) {
  tn_LoopRV *outer[KERNEL_MAX_AXES];
  for (int i = 0; i < st->nspatial; ++i) outer[i] = kernel_loop(st, i);
  return kernel_parallel(st, outer, st->nspatial);
}

int kernel_rows(kernel_stage *st) {
  if (st->nspatial == st->naxes || !st->block->init) return 0;
  TN_TRY(spatial_parallel(st));
  tn_BlockRV *init;
  TN_GET(init, sch_decompose_reduction(st->sch, st->rv, kernel_loop(st, st->nspatial)));
  return 1;
}

/* What is left: parallel, if anything. */
int kernel_plain(kernel_stage *st) {
  TN_TRY(spatial_parallel(st));
  return 1;
}
