#include "runtime/threads/once.h"

#include <signal.h>
#include <unistd.h>

#include "runtime/threads/threads.h"

/* The state is IDLE, DONE, or while it is done what names the thread. */
#define IDLE ((uintptr_t)0)
#define DONE (~(uintptr_t)0)

static tn_gate gate = TN_GATE_INIT; /* of all that wait */

/* A thread that was left behind in the parent of a fork is not a thread of this process. */
static bool is_done_elsewhere(uintptr_t state) {
  return state != IDLE && state != DONE && tgkill(getpid(), (pid_t)state, 0) == 0;
}

static bool can_go_on(const void *ctx) {
  return !is_done_elsewhere(atomic_load((const tn_once *)ctx));
}

bool tn_once_begin(tn_once *o) {
  uintptr_t state = atomic_load(o);
  if (state == DONE) return false;
  uintptr_t me = (uintptr_t)gettid();
  while (state != DONE && state != me) {
    if (is_done_elsewhere(state)) {
      tn_wait(&gate, can_go_on, o);
      state = atomic_load(o);
    } else if (atomic_compare_exchange_strong(o, &state, me)) {
      return true;
    }
  }
  return false;
}

void tn_once_end(tn_once *o, bool done) {
  atomic_store(o, done ? DONE : IDLE);
  tn_gate_wake(&gate);
}
