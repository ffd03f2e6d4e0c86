/* The thread pool behind tn_parallel_launch (tenon/runtime.h). */
#ifndef TN_RUNTIME_THREADS_THREADS_H_
#define TN_RUNTIME_THREADS_THREADS_H_

#include "base/eventcount.h"
#include "tenon/runtime.h"

enum { TN_MAX_THREADS = 1024 };

/** Registers the global functions of this module. Called once by tn_runtime_init. */
int tn_threads_init(void);

/** How long a thread may look for news before it sleeps, in nanoseconds; 0 while the pool has more
 * threads than there are processors. */
int64_t tn_spin_limit(void);
/** Waits as long as it takes: spinning first, then asleep between the host's wait hooks. */
void tn_wait(tn_gate *g, tn_ready ready, const void *ctx);

/** Times that the process this one descends from was forked since the pool was first used. */
uint32_t tn_fork_count(void);

#endif /* TN_RUNTIME_THREADS_THREADS_H_ */
