/* Elements that several iterations of a loop write. */
#ifndef TN_TIR_SCHEDULE_WRITERS_H_
#define TN_TIR_SCHEDULE_WRITERS_H_

#include "tir/schedule/carried.h"

/** ScheduleError when blocks below the loops may write one element in several iterations, unless it
 * is proven that nobody sees the change. The analyzer knows the loops. @param realizes of the
 * blocks right below (BlockRealize) */
int sch_check_writers(sch_step *e, const sch_loop_change *change, const tn_vec *realizes);

#endif /* TN_TIR_SCHEDULE_WRITERS_H_ */
