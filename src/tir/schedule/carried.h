/* Loops whose iterations need each other. */
#ifndef TN_TIR_SCHEDULE_CARRIED_H_
#define TN_TIR_SCHEDULE_CARRIED_H_

#include "tir/schedule/schedule_impl.h"

/* What is to become of a chain of loops (For, innermost first). */
typedef struct {
  const tn_vec *before;
  const tn_vec *after; /* the same loops in their new order; NULL: iterations run at once */
  const char *thread;  /* the thread axis that runs them; NULL: none */
} sch_loop_change;

/** ScheduleError when a block below reads what other iterations of the loops write, or writes what
 * they write, unless it is proven that nobody sees the change. */
int sch_check_carried(sch_step *e, const sch_loop_change *change);

#endif /* TN_TIR_SCHEDULE_CARRIED_H_ */
