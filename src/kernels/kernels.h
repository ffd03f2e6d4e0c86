/* Schedules that make computes fast: from a tensor program as create_prim_func makes it (one block
   a stage, plain loops) to one that is tiled, vectorized and parallel. One file a kernel class;
   schedule_rules.c is the list they are tried in, the first that applies to a stage wins.

   Nothing here is written for one machine: sizes follow from what target_machine says. */
#ifndef TN_KERNELS_KERNELS_H_
#define TN_KERNELS_KERNELS_H_

#include "target/machine.h"
#include "tir/tir.h"

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
TN_API tn_PrimFunc *kernels_schedule(tn_PrimFunc *f, const target_machine *m);

/** A dense layer: rows of data (-1: not known), units of so many features. */
typedef struct {
  tn_dtype sum, weight;
  int64_t rows, units, features;
} kernel_dense;

/** Columns of the panels that weights of a dense layer are best stored in: [units / n][k][n], or of
 * bytes [units / n][k / 4][n][4], the last panel padded with zeros.
 *  @return 0 when they are best left as they are */
TN_API int64_t kernels_dense_panel(const target_machine *m, const kernel_dense *d);
/** In how many equal pieces of the features the sums of a dense layer with such panels are best
 * computed, for all rows and units one after the other: 1 where all stays in cache. */
TN_API int64_t kernels_dense_pieces(const target_machine *m, const kernel_dense *d, int64_t panel);

/** "kernels.schedule"(PrimFunc, vector bytes, vector registers, threads, machine_bf16 = 0,
 * machine_int8 = 1) for programs and tests. */
TN_API int kernels_init(void);

#endif /* TN_KERNELS_KERNELS_H_ */
