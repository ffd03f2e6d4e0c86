/* What the kernel classes share: a stage as they see it. */
#ifndef TN_KERNELS_KERNELS_IMPL_H_
#define TN_KERNELS_KERNELS_IMPL_H_

#include "kernels/kernels.h"
#include "tir/schedule/schedule.h"

enum { KERNEL_MAX_AXES = 16 };

/* How reads depend on a stage's axis. */
typedef struct {
  tn_Var *var;    /* the block's iterator */
  int64_t extent; /* -1: not constant */
  bool reduce;
  bool contiguous; /* every read that uses it has it in the last index with factor 1, and nowhere
                      else */
  bool in_last;    /* every read that uses it has it in the last index only */
  int reads;       /* number of reads that use it */
} kernel_axis;

/* A block with one loop for each of its iterators. */
typedef struct {
  tn_TirSchedule *sch;
  tn_BlockRV *rv;
  const tn_Block *block;
  const target_machine *machine;
  tn_arr *loops; /* LoopRV, outermost first; loop i runs axis i */
  int64_t outer; /* loops around them, that are around other blocks too */
  kernel_axis axis[KERNEL_MAX_AXES];
  int naxes, nspatial, nreads;
  int64_t spatial, reduction; /* numbers of iterations; -1: not constant */
  int lanes;                  /* of the result's type in a vector register; 1: none */
} kernel_stage;

static inline tn_LoopRV *kernel_loop(const kernel_stage *st, int i) {
  return (tn_LoopRV *)st->loops->items[i].v.obj;
}

/* Asks the code generator for its own code where a condition holds in a part of a loop only. */
#define KERNEL_PARTITION "pragma_loop_partition_hint"

/* A class: schedules the stage. @return 1 done, 0 it is not for this class, -1 error */
typedef int (*kernel_class)(kernel_stage *st);
int kernel_winograd(kernel_stage *st);
int kernel_conv_direct(kernel_stage *st);
int kernel_conv_depthwise(kernel_stage *st);
int kernel_conv_tiles(kernel_stage *st);
int kernel_gemm_tiles(kernel_stage *st);
int kernel_gemm(kernel_stage *st);
int kernel_row_program(kernel_stage *st);
int kernel_scalar(kernel_stage *st);        /* what follows is computed with it */
int kernel_scalar_result(kernel_stage *st); /* nothing follows */
int kernel_elementwise(kernel_stage *st);
int kernel_transpose(kernel_stage *st);
int kernel_parts(kernel_stage *st);
int kernel_tile(kernel_stage *st);
int kernel_rows(kernel_stage *st);
int kernel_plain(kernel_stage *st);

/* Softmax between two products, as a whole: `f` itself when it is something else. */
tn_PrimFunc *kernel_attention(tn_PrimFunc *f, const target_machine *m);
/* Convolutions that go through the image in bands together (bands.c). */
int kernel_bands(tn_TirSchedule *s, const tn_arr *blocks, const target_machine *m);
/* The block among them that is marked as one of bands (KERNEL_BANDS); *mark = NULL: there is none.
 */
int kernel_find_bands(tn_TirSchedule *s, const tn_arr *blocks, tn_BlockRV **mark);

/* For devices with blocks of threads: each stage a kernel, of a thread for each element. */
int kernel_bind_threads(tn_TirSchedule *s, const target_machine *m);
/* The program with all of its body in one thread. */
tn_PrimFunc *kernel_in_one_thread(tn_PrimFunc *f);
/* The program with indices simplified by the domains of the blocks' iterators. */
tn_PrimFunc *kernel_simplify_indices(tn_PrimFunc *f);
/* The program with indices that are digits of one number written as that number. */
tn_PrimFunc *kernel_linear_indices(tn_PrimFunc *f);
/* Inlines the stages whose values are cheaper to compute where they are used than to keep. */
int kernel_inline_stages(tn_TirSchedule *s, const target_machine *m);

/* The stage of a block. @return 1, 0 when it is none that can be scheduled (or a class has done so
   with it or a neighbour), -1 error */
int kernel_stage_of(kernel_stage *st, tn_TirSchedule *s, tn_BlockRV *rv, const target_machine *m);

/* The stage of a block below `outer` loops, that are around other blocks too: its extents are those
   of its own loops. */
int kernel_stage_below(kernel_stage *st, tn_TirSchedule *s, tn_BlockRV *rv, const target_machine *m,
                       int64_t outer);

/* Does an expression, or a list of them, depend on an axis? */
bool kernel_uses(const void *e, const kernel_axis *a);

/* Annotation of a loop over lanes around one over the elements of a group, whose products are
   summed up in the lane (tir.DotProducts). */
#define KERNEL_DOT "pragma_dot"
/* The element that is read, maybe in a wider type; NULL for other expressions. */
const tn_BufferLoad *kernel_loaded(const tn_expr *e);
/* Elements of a group that share a lane: of int8 (4), int16 or bfloat16 (2) whose buffer ends in
   an axis of so many, which the lane has no part in and the axis summed over has; else 1. */
int64_t kernel_dot_group(const tn_BufferLoad *weight, const kernel_axis *lane,
                         const kernel_axis *sum);

/* Is an expression the axis plus something without it? */
int kernel_has_factor_one(tn_expr *e, const kernel_axis *a, bool *yes);

/* Do axes i and i + 1 run through all memory that the stage reads and writes as one axis would? */
int kernel_axes_join(const kernel_stage *st, int i, bool *yes);
/* Makes one axis of those from `first` to `last`, each joined with the next; looks again. */
int kernel_merge_axes(kernel_stage *st, int first, int last);
/* Makes two of an axis, the second of `size`, which divides it; looks again. */
int kernel_split_axis(kernel_stage *st, int axis, int64_t size);

/* Splits a loop in two, the inner of `factor` iterations. */
int kernel_split(kernel_stage *st, tn_LoopRV *loop, int64_t factor, tn_LoopRV **outer,
                 tn_LoopRV **inner);
/* Fuses `n` loops and makes the result parallel when the stage is worth it. */
int kernel_parallel(kernel_stage *st, tn_LoopRV *const *loops, int n);
int kernel_reorder(kernel_stage *st, tn_LoopRV *const *loops, int n);
/* One loop of several, each directly in the one before it. */
tn_LoopRV *kernel_fuse(kernel_stage *st, tn_LoopRV *const *loops, int n);
/* Number of iterations of a loop; -1: not constant or an error. */
int64_t kernel_loop_extent(const kernel_stage *st, const tn_LoopRV *loop);

/* What a step gave: 1 it is done, 0 the schedule does not allow it, -1 another error. */
int kernel_try(int r);
bool kernel_writes(const tn_Block *b, const tn_Buffer *buffer);
/* The only stage that reads the result, when it works element by element over the same domain and
   the result is needed nowhere else. @return 1, 0 when there is none, -1 error */
int kernel_only_reader(const kernel_stage *st, tn_BlockRV **out);

#endif /* TN_KERNELS_KERNELS_IMPL_H_ */
