/* Between the two files of compute_at: the block that moves, and the values its iterators take. */
#ifndef TN_TIR_SCHEDULE_COMPUTE_AT_H_
#define TN_TIR_SCHEDULE_COMPUTE_AT_H_

#include "tir/schedule/regions.h"

/** Values of an iterator: those of `dom` that lie in `bound` too (NULL: all of them). */
typedef struct {
  tn_IntervalSet *dom, *bound;
} sch_domain;

typedef struct {
  tn_Block *block;
  tn_For *loop;
  bool reverse;
  tn_vec producers, consumers; /* of the block, in its scope */
  int64_t place;               /* before which statement of the loop it goes */
  sch_domain *domains;         /* for each iterator; owned */
} sch_move;

/** Makes m->domains. */
int sch_find_domains(sch_step *e, sch_move *m);

#endif /* TN_TIR_SCHEDULE_COMPUTE_AT_H_ */
