/* Between blockize and tensorize: a subtree becomes a block. */
#ifndef TN_TIR_SCHEDULE_BLOCKIZE_H_
#define TN_TIR_SCHEDULE_BLOCKIZE_H_

#include "tir/schedule/regions.h"

/** The realization of a new block around the loop, which has just one block below. Notes what
 * becomes of the loops and the block. NULL with ScheduleError. */
tn_BlockRealize *sch_blockize_loop_step(sch_step *e, const tn_For *loop, bool preserve_unit);

#endif /* TN_TIR_SCHEDULE_BLOCKIZE_H_ */
