/* Stages whose result lies along one axis and all they read along another, as in transposes: both
   axes are cut, so that the lines of a block are read and written whole while they are near.

     for i in parallel(64): for j: for u in unrolled(16): for v:
       C[i * 16 + u, j * 16 + v] = A[j * 16 + v, i * 16 + u]

   Axes that no such block divides stay as they are. */
#include "base/error.h"
#include "kernels/kernels_impl.h"

enum {
  MAX = 16, /* values of each axis in a block: a line of float32 */
  MIN = 4
};

/* Largest divisor of n up to MAX. */
static int64_t divisor(int64_t n) {
  for (int64_t d = MAX; d > 1; --d)
    if (n % d == 0) return d;
  return 1;
}

/* The axis along which all is read, when that is not the last; -1: there is none. */
static int source_axis(const kernel_stage *st) {
  const kernel_axis *last = &st->axis[st->nspatial - 1];
  if (last->in_last || last->reads == 0) return -1;
  for (int i = st->nspatial - 2; i >= 0; --i) {
    const kernel_axis *a = &st->axis[i];
    if (a->contiguous && a->reads == st->nreads && a->extent > 1) return i;
  }
  return -1;
}

int kernel_transpose(kernel_stage *st) {
  int last = st->nspatial - 1, n = 0;
  if (st->nspatial != st->naxes || st->nspatial < 2 || st->block->init || st->lanes < 4) return 0;
  int from = source_axis(st);
  if (from < 0 || st->axis[from].extent <= 0 || st->axis[last].extent <= 0) return 0;
  int64_t rows = divisor(st->axis[from].extent), columns = divisor(st->axis[last].extent);
  if (rows < MIN || columns < MIN) return 0;
  tn_LoopRV *order[KERNEL_MAX_AXES + 2], *row, *column, *inner_row, *inner_column;
  TN_TRY(kernel_split(st, kernel_loop(st, from), rows, &row, &inner_row));
  TN_TRY(kernel_split(st, kernel_loop(st, last), columns, &column, &inner_column));
  for (int i = 0; i < last; ++i) order[n++] = i == from ? row : kernel_loop(st, i);
  order[n++] = column;
  int outer = n;
  order[n++] = inner_row;
  order[n++] = inner_column;
  TN_TRY(kernel_reorder(st, order, n));
  TN_TRY(sch_set_kind(st->sch, inner_row, TIR_FOR_UNROLLED, NULL));
  return kernel_parallel(st, order, outer) ? -1 : 1;
}
