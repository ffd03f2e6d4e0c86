/* Matrix products as the kernel classes see them, and the tile that is kept in registers. */
#ifndef TN_KERNELS_GEMM_H_
#define TN_KERNELS_GEMM_H_

#include "kernels/kernels_impl.h"

/* Rows and columns of the result that are computed at a time, in registers. */
typedef struct {
  int64_t rows;    /* values of the row axis; 1 where there is none */
  int64_t vectors; /* vector registers along the column axis */
} gemm_tile;

/* C[batch..., i, j] (+)= A[..., i, k] * B[..., k, j], in any order of B's indices. */
typedef struct {
  kernel_stage *st;
  int row, column;    /* numbers of the axes; row is -1 where there is none */
  int64_t m, n, k;    /* extents of row, column and reduction axis; -1: known at run time only */
  const tn_Buffer *b; /* the operand that has the column axis */
  int64_t panel; /* columns of a panel where b is stored in panels [n / panel][k][panel]; else 0 */
  int64_t dot;   /* values of k that share a lane of b: [n / panel][k / dot][panel][dot]; else 1 */
  bool along;    /* b is contiguous along the columns */
  gemm_tile tile;
  int64_t unrolled; /* steps of k in a row; 1: one at a time */
  int64_t band;     /* rows that stay in cache while all panels pass; m: all of them */
} gemm;

/* The one stage that reads the product and can be computed on a tile; else a copy of it. */
tn_BlockRV *gemm_epilogue(const gemm *g);
/* May b be copied into panels? Few rows do not pay for it. */
bool gemm_may_pack(const gemm *g);
/* Asks whether something better is known than the tile, steps and band that the rules chose. */
int gemm_tune(gemm *g);
/* Looks for a matrix product. @return 1 found, 0 it is none, -1 error */
int gemm_match(gemm *g, kernel_stage *st);

#endif /* TN_KERNELS_GEMM_H_ */
