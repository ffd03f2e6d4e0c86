/* Reductions as blocks: what is combined, and how. */
#ifndef TN_TIR_SCHEDULE_REDUCER_H_
#define TN_TIR_SCHEDULE_REDUCER_H_

#include "tir/schedule/schedule_impl.h"

enum { SCH_MAX_REDUCED = 2 };

/** A reduction block taken apart:  result[i] = combine(result, value)[i], for n results. */
typedef struct {
  int n;
  const tn_BufferStore *stores[SCH_MAX_REDUCED];   /* of the update, in their order */
  const tn_LetStmt *lets[SCH_MAX_REDUCED];         /* around them; NULL: values are in the stores */
  tn_expr *init[SCH_MAX_REDUCED];                  /* first values */
  tn_expr *rhs[SCH_MAX_REDUCED];                   /* what is combined in */
  tn_Var *x[SCH_MAX_REDUCED], *y[SCH_MAX_REDUCED]; /* operands of the combiner */
  tn_expr *combined[SCH_MAX_REDUCED];              /* over x and y */
} sch_reduction;

/** What a block turns out to be; SCH_FAILED: an error is pending. */
typedef enum { SCH_FOUND, SCH_OTHER_FORM, SCH_OTHER_REDUCER, SCH_FAILED } sch_found;
/** Recognises the reductions that sch_match_reduction does, without an error for others. */
sch_found sch_find_reduction(const tn_Block *b, sch_reduction *out);
/** Recognises sum, product, min, max, the pairs of argmin and argmax, and two sums. ScheduleError
 * when the block is of another form, its first value is not an identity of the combiner, or a value
 * depends on results. */
int sch_match_reduction(const sch_step *e, const tn_Block *b, sch_reduction *out);
/** combine(lhs, rhs), one expression for each result. */
int sch_combine(const sch_reduction *r, tn_expr *const *lhs, tn_expr *const *rhs, tn_expr **out);
/** ScheduleError when the loops from `at` on go on with a reduction that began elsewhere: setting a
 * first value there would lose what was reduced before. */
int sch_check_start(sch_step *e, const tn_BlockRealize *r, const tn_vec *loops, int64_t at);

#endif /* TN_TIR_SCHEDULE_REDUCER_H_ */
