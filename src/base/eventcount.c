#include "base/eventcount.h"

#include "base/clock.h"

void tn_gate_sleep(tn_gate *g, tn_ready ready, const void *ctx) {
  pthread_mutex_lock(&g->lock);
  atomic_fetch_add(&g->sleepers, 1);
  while (!ready(ctx)) pthread_cond_wait(&g->moved, &g->lock);
  atomic_fetch_sub(&g->sleepers, 1);
  pthread_mutex_unlock(&g->lock);
}

/* With the lock held no sleeper is between its look at the condition and its wait. */
void tn_gate_wake_sleepers(tn_gate *g, void (*before)(void *), void *ctx) {
  pthread_mutex_lock(&g->lock);
  if (before && atomic_load(&g->sleepers)) before(ctx);
  pthread_cond_broadcast(&g->moved);
  pthread_mutex_unlock(&g->lock);
}

static inline void relax(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("isb" ::: "memory"); /* a longer rest than `yield`, which most cores ignore */
#elif defined(__arm__)
  __asm__ volatile("yield" ::: "memory");
#endif
}

bool tn_spin(tn_ready ready, const void *ctx, int64_t ns) {
  if (ready(ctx)) return true;
  if (ns <= 0) return false;
  /* the budget is a time, not a count: a rest takes 5 to 150 ns depending on the processor */
  for (int64_t end = 0;;) {
    for (int i = 0; i < 16; ++i) {
      relax();
      if (ready(ctx)) return true;
    }
    int64_t now = tn_now_ns();
    if (end == 0) end = now + ns;
    if (now >= end) return false;
  }
}
