/* Stack limits. */
#include "base/stack.h"

#include <pthread.h>
#include <stdint.h>

#include "base/error.h"

enum { RESERVE = 192 << 10 }; /* for what the checked code calls without asking */

static _Thread_local uintptr_t limit; /* lowest usable address; 0: not asked yet, 1: unknown */

static uintptr_t find_limit(void) {
  pthread_attr_t attr;
  void *low = NULL;
  size_t size = 0;
  if (pthread_getattr_np(pthread_self(), &attr) != 0) return 1;
  if (pthread_attr_getstack(&attr, &low, &size) != 0) low = NULL;
  pthread_attr_destroy(&attr);
  return low ? (uintptr_t)low : 1;
}

size_t tn_stack_left(void) {
  uintptr_t here = (uintptr_t)__builtin_frame_address(0);
  if (!limit) limit = find_limit();
  if (limit == 1) return SIZE_MAX;
  return here > limit ? here - limit : 0; /* below: a stack that is not the thread's own */
}

int tn_stack_check(const char *what) {
  size_t left = tn_stack_left();
  if (left == 0 || left > RESERVE) return 0;
  return TN_RAISE(RuntimeError, NULL, "%s is nested too deeply for the stack of this thread", what);
}
