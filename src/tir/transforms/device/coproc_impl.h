/* What the parts of tir.CoProcSync share: uses of memory, and the order among queues of commands
   (coproc_order.c) that the pass (coproc_sync.c) writes into the program. */
#ifndef TN_TIR_TRANSFORMS_DEVICE_COPROC_IMPL_H_
#define TN_TIR_TRANSFORMS_DEVICE_COPROC_IMPL_H_

#include "arith/int_set.h"
#include "base/arena.h"
#include "tir/transforms/transforms.h"

enum { COPROC_HOST = -1 };

/** A use of memory by the host or by commands of one queue. `where` is the interval of indices,
 * over the loops that are still open around it. */
typedef struct {
  const tn_Var *data;
  tn_dtype dtype; /**< of an element */
  int64_t queue;  /**< COPROC_HOST or the queue */
  bool read, write;
  tn_IntervalSet *where;
} coproc_use;

/** A statement of a sequence with all its uses. */
typedef struct {
  tn_stmt *stmt;
  coproc_use *uses;
  int64_t n, cap;
  bool dirty; /**< commands in it may still run when it ends */
} coproc_unit;

/** The queue `to` waits before unit `dst` for what `from` did up to unit `src`; `carried`: of the
 * turn of the loop before. */
typedef struct {
  int64_t src, dst, from, to;
  bool carried;
} coproc_edge;

/** Do two uses have to keep their order? */
static inline bool coproc_conflict(const coproc_use *a, const coproc_use *b) {
  return a->data == b->data && (a->write || b->write);
}

/** The fewest waits that keep the order of conflicting uses among queues; within a queue commands
 * run in order.
 * @param loop the units are the body of a loop
 * @return number of edges, in *out from the arena; -1 with MemoryError */
int64_t coproc_order(tn_arena *arena, const coproc_unit *units, int64_t n, bool loop,
                     coproc_edge **out);

#endif /* TN_TIR_TRANSFORMS_DEVICE_COPROC_IMPL_H_ */
