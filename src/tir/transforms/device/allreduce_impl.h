/* What the two ways of reducing over threads share: through shared memory
   (lower_thread_allreduce.c) and by exchanging values within warps (allreduce_warp.c). */
#ifndef TN_TIR_TRANSFORMS_DEVICE_ALLREDUCE_IMPL_H_
#define TN_TIR_TRANSFORMS_DEVICE_ALLREDUCE_IMPL_H_

#include "tir/device.h"
#include "tir/transforms/transforms.h"

/** One reduction over threads. */
typedef struct {
  const tn_CommReducer *combiner;
  int64_t size;       /* values that are reduced together */
  tn_arr *values;     /* PrimExpr that each thread brings */
  int64_t extent;     /* threads that are reduced over */
  int64_t groups;     /* reductions of that kind at the same time */
  int64_t neighbours; /* threads that are reduced over and follow one another */
  tn_expr *index;     /* of the thread among those reduced over, 0 <= index < extent */
  tn_expr *group;     /* of the reduction, 0 <= group < groups */
  int64_t warp;       /* threads of a warp */
  bool masked;        /* exchanges within a warp name the threads that take part */
  tn_vec body;        /* statements */
  tn_vec buffers;     /* Buffer: scratch memory to allocate around them */
  tn_vec results;     /* BufferLoad: where each result is, for all threads */
} allreduce;

/** What the combiner makes of two values each. @param a, b arrays of PrimExpr */
tn_arr *allreduce_combine(const allreduce *r, const tn_arr *a, const tn_arr *b);
/** Adds a statement; NULL with an error pending. */
int allreduce_do(allreduce *r, tn_stmt *s);
/** buffer[index] for each of n buffers. */
tn_arr *allreduce_loads(tn_Buffer *const *buffers, int64_t n, tn_expr *index);
/** buffer[index] = value for each. */
tn_stmt *allreduce_stores(tn_Buffer *const *buffers, const tn_arr *values, tn_expr *index);
/** Statement under a condition. */
tn_stmt *allreduce_if(tn_expr *cond, tn_stmt *s);

/** Exchanges within warps; fills body, buffers and results. */
int allreduce_by_warps(allreduce *r);

enum { MAX_REDUCED = 16 }; /* values reduced together */

#endif /* TN_TIR_TRANSFORMS_DEVICE_ALLREDUCE_IMPL_H_ */
