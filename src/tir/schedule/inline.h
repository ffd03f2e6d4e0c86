/* What the steps that make two blocks one share. */
#ifndef TN_TIR_SCHEDULE_INLINE_H_
#define TN_TIR_SCHEDULE_INLINE_H_

#include "tir/schedule/regions.h"

/** Who uses a buffer. */
typedef struct {
  sch_step *e;
  const tn_Buffer *buffer;
  const tn_Block *except; /* its uses do not count */
  const tn_Block *opaque; /* a block that uses it other than by reading elements */
  const tn_Block *inside; /* the innermost block on the way */
  int readers;            /* blocks with loads of it */
  const tn_Block *reader; /* one of them */
} sch_uses;

/** The buffer a block computes for others of its scope: ScheduleError unless they only read
 * elements of it. @param u with the buffer */
int sch_check_intermediate(const sch_step *e, const tn_Block *b, sch_uses *u);
/** ScheduleError unless the block is complete. */
int sch_check_complete(const sch_step *e, const tn_Block *b);
/** The only statement of the block, a store. NULL with ScheduleError. @param predicate may the
 * block have one? */
const tn_BufferStore *sch_only_store(const sch_step *e, const tn_Block *b, bool predicate);

#endif /* TN_TIR_SCHEDULE_INLINE_H_ */
