/* Lowering of schedules, in two files: nests of loops (lower.c), buffers and the function
   (lower_func.c). */
#ifndef TN_TE_SCHEDULE_LOWER_IMPL_H_
#define TN_TE_SCHEDULE_LOWER_IMPL_H_

#include "te/schedule/te_schedule_impl.h"
#include "te/te_impl.h"

typedef struct {
  te_bounds b;
  const tn_TeSchedule *s;
  const tn_map *binds;
  arith_analyzer arith;
  tn_vec tensors, buffers, begins; /* of equal length: where each tensor is, from which index on */
  tn_pmap vars;                    /* variable of a loop, axis or thread -> what it is here */
  tn_pmap threads;                 /* thread axis -> its loop variable, while inside */
  tn_map *no_hints;
} te_lowerer;

/** Place of a tensor in the tables, or -1. */
int64_t te_lower_place(const te_lowerer *l, const tn_Tensor *t);
tn_Buffer *te_lower_buffer(const te_lowerer *l, const tn_Tensor *t);
/** An expression of a stage as it is here, simplified. */
tn_expr *te_lower_expr(te_lowerer *l, const void *e);
/** The nest of a stage, with all that is computed in it. */
tn_stmt *te_lower_stage(te_lowerer *l, const tn_TeStage *st);
/** Buffers for the results of a stage that is computed inside another: as large as is needed there.
 * They are added to `allocs`. */
int te_lower_inner_buffers(te_lowerer *l, const tn_TeStage *st, tn_vec *allocs);

#endif /* TN_TE_SCHEDULE_LOWER_IMPL_H_ */
