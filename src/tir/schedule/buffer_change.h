/* Between the steps that put another buffer at the place of one: every access in the function
   follows. */
#ifndef TN_TIR_SCHEDULE_BUFFER_CHANGE_H_
#define TN_TIR_SCHEDULE_BUFFER_CHANGE_H_

#include "tir/index_map.h"
#include "tir/schedule/schedule_impl.h"

/** How accesses to a buffer change. */
typedef struct {
  const tn_Buffer *old;
  tn_Buffer *now;
  const tn_IndexMap *map; /* of the indices; NULL: they stay */
  arith_analyzer arith;   /* knows the ranges of loops and iterators; to be freed by the step */
} sch_buffer_change;

/** The buffer with another shape (PrimExpr) and other axis separators (IntImm). */
tn_Buffer *sch_buffer_shaped(const tn_Buffer *b, tn_arr *shape, tn_arr *separators);
/** From now on the step rewrites accesses of c->old to those of c->now (NULL: -1, its error
 * stands).
 */
int sch_change_buffer(sch_step *e, sch_buffer_change *c);

#endif /* TN_TIR_SCHEDULE_BUFFER_CHANGE_H_ */
