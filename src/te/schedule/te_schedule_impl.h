/* What the parts of te/schedule share: stages, relations of iteration variables, bounds. */
#ifndef TN_TE_SCHEDULE_TE_SCHEDULE_IMPL_H_
#define TN_TE_SCHEDULE_TE_SCHEDULE_IMPL_H_

#include "arith/int_set.h"
#include "base/pmap.h"
#include "ir/expr.h"
#include "object/functions.h"
#include "te/region.h"
#include "te/schedule/te_schedule.h"

static inline tn_IterVar *te_iv(const tn_arr *a, int64_t i) {
  return (tn_IterVar *)tn_arr_obj(a, i);
}
static inline tn_TeStage *te_stage_at(const tn_TeSchedule *s, int64_t i) {
  return (tn_TeStage *)tn_arr_obj(s->stages, i);
}
/** Place in an array by identity, or -1. */
int64_t te_index_of(const tn_arr *a, const void *o);

/* ---- stages (stage.c) ---- */

tn_TeStage *te_stage_new(tn_Operation *op);
/** Axes of an operation, the reduced ones last. */
tn_arr *te_root_iter_vars(const tn_Operation *op);
/** Sets a field of a schedule or stage. */
int te_set(void *node, const char *field, const void *obj);
int te_set_int(void *node, const char *field, int64_t k);
tn_IterVarAttr *te_attr(const tn_TeStage *st, const tn_IterVar *iv);
/** The thread axis a variable is bound to, or NULL. */
tn_IterVar *te_thread(const tn_TeStage *st, const tn_IterVar *iv);

/** Puts a stage, or a group, into a group: out of the one it was in (group.c). */
int te_join_group(tn_TeStage *st, tn_TeStage *group);

/** The body of each scan becomes a group. */
int te_group_scans(tn_TeSchedule *s);

/* ---- scans (normalize.c) ---- */

/** Stages that depend on the state of a scan and that its updates need. */
int te_scan_body(const tn_TeSchedule *s, const tn_ScanOp *scan, tn_vec *out);

/* ---- operations that read other tensors (dataflow.c) ---- */

/* Tensors and what takes their place; of equal length. */
typedef struct {
  tn_vec from, to;
} te_tensor_map;
#define TE_TENSOR_MAP(name) __attribute__((cleanup(te_tensor_map_fini))) te_tensor_map name = {0}
void te_tensor_map_fini(te_tensor_map *m);
int te_tensor_map_put(te_tensor_map *m, const tn_Tensor *from, const tn_Tensor *to);
tn_Tensor *te_tensor_map_get(const te_tensor_map *m, const tn_Tensor *t);
/** The operation with other inputs; itself when it reads none of them. */
tn_Operation *te_replace_inputs(tn_Operation *op, const te_tensor_map *m);
/** Puts an operation at the place of a stage's; users read the new one. @param own results of the
 * old operation that go on being read by `op` itself */
int te_replace_op(tn_TeSchedule *s, tn_TeStage *st, tn_Operation *op);
/** A stage for a new operation before (or after) another. */
tn_TeStage *te_insert_stage(tn_TeSchedule *s, tn_Operation *op, const tn_TeStage *at, bool after);

/* ---- relations (relation.c): from the roots down, or from the leaves up ---- */

/** Ranges of all variables from those of the roots. @param dom IterVar to Range
 * @param partial some roots may be missing */
int te_pass_down_domain(const tn_TeStage *st, tn_pmap *dom, arith_analyzer *a, bool partial);
/** Sets of values (IterVar to IntervalSet) of the roots from those of the leaves. */
int te_pass_up_domain(const tn_TeStage *st, const tn_pmap *dom, tn_pmap *set, arith_analyzer *a);
/** Values (IterVar to PrimExpr) of the roots from those of the leaves. */
int te_pass_up_index(const tn_TeStage *st, const tn_pmap *dom, tn_pmap *value, bool partial);
/** Flags (IterVar to int), joined: those of the leaves from the roots; the other way. */
int te_pass_down_flags(const tn_TeStage *st, tn_pmap *flags);
int te_pass_up_flags(const tn_TeStage *st, tn_pmap *flags);
/** Conditions (PrimExpr) under which all values are in their ranges, as far as that is not always
 * so. @param skip variables that are left out, or NULL @param skip_roots whether the ranges of the
 * operation's own axes are not checked */
int te_bound_checks(const tn_TeStage *st, const tn_pmap *dom, const tn_pmap *value, bool skip_roots,
                    const tn_pmap *skip, tn_vec *out);

/* ---- layouts by loops (cache_layout.c) ---- */

/** Are the loops of a stage others than its axes, or in another order? */
bool te_has_own_loops(const tn_TeStage *st);
/** The computation of a compute stage with its loops as axes, but for those reduced over. @param at
 * where in it the elements of the stage's result are: indices over its axes */
tn_Operation *te_over_loops(const tn_TeSchedule *s, const tn_TeStage *st, const char *scope,
                            tn_vec *at);

/* ---- scans (normalize.c) ---- */

/** The scan that takes first values or an update from an operation, or NULL. */
const tn_ScanOp *te_scan_of(const tn_TeSchedule *s, const tn_Operation *op);
/** Does the placeholder stand for earlier steps of a scan? */
bool te_is_scan_state(const tn_TeSchedule *s, const tn_Operation *op);

/* ---- bounds (infer_bound.c) ---- */

typedef struct {
  const tn_TeSchedule *s;
  tn_pmap dom;   /* IterVar -> Range */
  tn_pmap paths; /* Operation -> array of IterVar: loops it is computed in, innermost first */
} te_bounds;
#define TE_BOUNDS(name) __attribute__((cleanup(te_bounds_fini))) te_bounds name = {0}
void te_bounds_fini(te_bounds *b);
int te_bounds_of(te_bounds *b, const tn_TeSchedule *s);
static inline tn_Range *te_range(const te_bounds *b, const void *iv) {
  return (tn_Range *)tn_pmap_get(&b->dom, iv);
}
/** Memory of a stage's results: its own, or by the threads around it. */
const char *te_stage_scope(const te_bounds *b, const tn_TeStage *st);
/** Does each of the threads have its own results of the stage? */
bool te_is_private(const te_bounds *b, const tn_TeStage *st, const tn_IterVar *thread);

#endif /* TN_TE_SCHEDULE_TE_SCHEDULE_IMPL_H_ */
