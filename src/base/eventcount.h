/* Waiting for a condition that other threads make true with atomics: first by spinning, then
   asleep.

     atomic_store(&done, 1);                  the thread that makes it true
     tn_gate_wake(&gate);                     costs one load while nobody sleeps

     if (!tn_spin(is_done, x, ns)) tn_gate_sleep(&gate, is_done, x);

   The condition must be stored and loaded with sequentially consistent order: a waker that sees no
   sleeper is then ordered before the sleeper's last look at the condition, so no wake-up is lost.
 */
#ifndef TN_BASE_EVENTCOUNT_H_
#define TN_BASE_EVENTCOUNT_H_

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef bool (*tn_ready)(const void *ctx);

typedef struct {
  _Atomic int sleepers; /* first: the only part that is touched while nobody sleeps */
  pthread_mutex_t lock;
  pthread_cond_t moved;
} tn_gate;

#define TN_GATE_INIT                                                                               \
  { .lock = PTHREAD_MUTEX_INITIALIZER, .moved = PTHREAD_COND_INITIALIZER }

/** Returns when ready(ctx) holds. */
void tn_gate_sleep(tn_gate *g, tn_ready ready, const void *ctx);
/** Calls before(ctx), if given, while the sleepers are still asleep, then wakes them. */
void tn_gate_wake_sleepers(tn_gate *g, void (*before)(void *ctx), void *ctx);
/** To be called after the condition was made true. */
static inline void tn_gate_wake(tn_gate *g) {
  if (atomic_load(&g->sleepers)) tn_gate_wake_sleepers(g, NULL, NULL);
}
/** Looks at ready(ctx) for about `ns` nanoseconds, at least once. @return whether it came to hold.
 */
bool tn_spin(tn_ready ready, const void *ctx, int64_t ns);

#endif /* TN_BASE_EVENTCOUNT_H_ */
