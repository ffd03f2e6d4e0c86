/* Lowering of schedules: loops and expressions (lower_loops.c), nests of them (lower.c), buffers and
   the function (lower_func.c). */
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
  tn_pmap windows;                 /* Buffer that is rolled -> what an iteration needs (Range) */
  tn_map *no_hints;
} te_lowerer;

/** Place of a tensor in the tables, or -1. */
int64_t te_lower_place(const te_lowerer *l, const tn_Tensor *t);
tn_Buffer *te_lower_buffer(const te_lowerer *l, const tn_Tensor *t);
/** The tensor as it is now: a stage may compute another operation than the caller knows. */
tn_Tensor *te_lower_current(const te_lowerer *l, tn_Tensor *t);
/** An expression of a stage as it is here, simplified. */
tn_expr *te_lower_expr(te_lowerer *l, const void *e);
/** The same for any node, without simplifying it. */
tn_obj *te_lower_node(te_lowerer *l, const void *node);
/** First index of axis i that the buffer of a tensor holds, from the tables. */
tn_expr *te_lower_begin(te_lowerer *l, const tn_arr *begins, int64_t i);
/** Indices of a tensor as those of the buffer at a place of the tables. */
tn_arr *te_lower_indices(te_lowerer *l, int64_t place, const tn_arr *indices);
/** Name of a loop. @param init in a nest of first values */
tn_str *te_loop_name(const tn_Var *v, bool init);
/** A loop of a stage while it is being written: its variable has a meaning from te_enter_loop to
 * te_leave_loop. */
typedef struct {
  const tn_IterVarAttr *attr;
  tn_IterVar *thread;
  tn_Var *var; /* NULL: there is no loop */
  tn_expr *extent;
  tn_Var *own; /* of a loop that each thread runs by itself, or NULL */
  tn_expr *own_extent;
} te_loop;
/** @param init in a nest of first values */
int te_enter_loop(te_lowerer *l, const tn_TeStage *st, const tn_IterVar *iv, bool init,
                  te_loop *out);
tn_stmt *te_leave_loop(te_lowerer *l, const te_loop *f, tn_stmt *body);
/** What is computed at loop `at` of a stage, and the buffers its results are in. */
int te_producers_at(te_lowerer *l, const tn_TeStage *st, int64_t at, tn_vec *stmts, tn_vec *allocs);
/** The statement in a block that allocates the buffers, if there are any. */
tn_stmt *te_allocating(const te_lowerer *l, const tn_vec *allocs, tn_stmt *body);
/** `body`, where all conditions (over variables of loops) and `extra` (may be NULL) hold. */
tn_stmt *te_guarded(te_lowerer *l, const tn_vec *conditions, tn_expr *extra, tn_stmt *body);
/** The steps of a scan (lower_scan.c). */
tn_stmt *te_lower_scan(te_lowerer *l, const tn_TeStage *st);
/** Are the results of an operation first values that the scan writes in the threads it starts? */
bool te_is_inside_scan(const te_lowerer *l, const tn_Operation *op);
/** The piece of a stage from loop `at` on, by the intrinsic of that loop (lower_intrin.c): all of
 * it, the first values, or a step of the reduction. */
typedef enum { TE_INTRIN_BODY, TE_INTRIN_INIT, TE_INTRIN_UPDATE } te_intrin_part;
tn_stmt *te_lower_intrin(te_lowerer *l, const tn_TeStage *st, int64_t at, te_intrin_part part);
/** The piece of a computation over regions at the values that its axes have here. */
tn_stmt *te_lower_region(te_lowerer *l, const tn_TeStage *st, te_intrin_part part);
/** The nest of a stage, with all that is computed in it. */
tn_stmt *te_lower_stage(te_lowerer *l, const tn_TeStage *st);
/** Buffers for the results of a stage that is computed inside another: as large as is needed there.
 * They are added to `allocs`. */
int te_lower_inner_buffers(te_lowerer *l, const tn_TeStage *st, tn_vec *allocs);
/** The buffer of an argument of which an axis may have one element where more are read; *out stays
 * NULL where no axis may (broadcast.c). */
int te_lower_broadcast(te_lowerer *l, const tn_Tensor *t, const char *name, tn_Buffer **out);

#endif /* TN_TE_SCHEDULE_LOWER_IMPL_H_ */
