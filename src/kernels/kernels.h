/* Schedules that make computes fast: from a tensor program as create_prim_func makes it (one block
   a stage, plain loops) to one that is tiled, vectorized and parallel. One file a kernel class;
   classes.c is the list they are tried in, the first that applies to a stage wins.

   Nothing here is written for one machine: sizes follow from what a kernel_machine says. */
#ifndef TN_KERNELS_KERNELS_H_
#define TN_KERNELS_KERNELS_H_

#include "tir/tir.h"

/** Products of bfloat16 with sums of float32: none, of pairs that share a lane of a vector, or of
 * those and of matrices in registers (AMX). */
typedef enum { KERNEL_BF16_NONE, KERNEL_BF16_PAIRS, KERNEL_BF16_TILES } kernel_bf16;

/** Products of bytes with sums of 32 bits: widened to pairs of 16 bits, four in one instruction
 * where one factor has no sign (VNNI), or also matrices in registers (AMX). */
typedef enum { KERNEL_BYTES_PAIRS, KERNEL_BYTES_DOTS, KERNEL_BYTES_TILES } kernel_bytes;

/** What a schedule needs to know of the processor. */
typedef struct {
  int vector_bytes;     /* of a vector register: 64, 32, 16; 0: no vectors */
  int vector_registers; /* 32, 16 */
  bool rows;            /* without vectors, for a compiler that finds some in loops over rows */
  int threads;          /* that kernels may use; 1: nothing is made parallel */
  int64_t l1, l2;       /* bytes of cache a core has */
  bool dots;            /* its code generator knows T.dot: sums of products of small numbers */
  kernel_bf16 bf16;     /* what it multiplies bfloat16 with */
  kernel_bytes bytes;   /* and bytes */
  int block_threads;    /* of a device with blocks of threads; 0: it is a processor */
} kernel_machine;

/** Annotation of blocks that belong together: they are left as they are until the class that they
 * name takes them all. KERNEL_PART: the class is named by another one. */
#define KERNEL_CLASS    "kernel_class"
#define KERNEL_PART     "part"
#define KERNEL_WINOGRAD "winograd"

/** Annotation of the block behind the first of several convolutions that go through an image in
 * bands together: rows of the last one's result in a band. */
#define KERNEL_BANDS "kernel_bands"

/** Schedules a program. Stages that no class knows (those with extern calls, say) stay as they are,
 * as does a program marked `tir.is_scheduled`.
 *  @return PrimFunc, scope-owned, or NULL with an error */
TN_API tn_PrimFunc *kernels_schedule(tn_PrimFunc *f, const kernel_machine *m);

/** A dense layer: rows of data (-1: not known), units of so many features. */
typedef struct {
  tn_dtype sum, weight;
  int64_t rows, units, features;
} kernel_dense;

/** Columns of the panels that weights of a dense layer are best stored in: [units / n][k][n], or of
 * bytes [units / n][k / 4][n][4], the last panel padded with zeros.
 *  @return 0 when they are best left as they are */
TN_API int64_t kernels_dense_panel(const kernel_machine *m, const kernel_dense *d);
/** In how many equal pieces of the features the sums of a dense layer with such panels are best
 * computed, for all rows and units one after the other: 1 where all stays in cache. */
TN_API int64_t kernels_dense_pieces(const kernel_machine *m, const kernel_dense *d, int64_t panel);

/** "kernels.schedule"(PrimFunc, vector bytes, vector registers, threads, kernel_bf16 = 0,
 * kernel_bytes = 1) for programs and tests. */
TN_API int kernels_init(void);

#endif /* TN_KERNELS_KERNELS_H_ */
