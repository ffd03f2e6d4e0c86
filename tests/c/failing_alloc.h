/* An allocator that fails on demand, for tests of running out of memory:

     fail_every_allocation(action, ctx)     runs action with the first allocation failing, then the
                                            second, ... until it succeeds

   Each failure must be a MemoryError, and whatever was allocated on the way must be freed again. */
#ifndef TENON_TESTS_C_FAILING_ALLOC_H_
#define TENON_TESTS_C_FAILING_ALLOC_H_

#include "testing.h"

typedef struct {
  tn_allocator real;
  int64_t countdown; /* allocations until the one that fails; negative: none does */
  int64_t live;      /* blocks in use that were allocated here */
  size_t most;       /* larger requests fail: what a hostile size would ask for */
} failing_alloc;

static inline void *failing_alloc_fn(void *ctx, void *old, size_t size) {
  failing_alloc *a = ctx;
  if (size == 0) {
    a->live -= old != NULL;
    return a->real.alloc(a->real.ctx, old, 0);
  }
  if (size > a->most || (a->countdown >= 0 && a->countdown-- == 0)) return NULL;
  void *p = a->real.alloc(a->real.ctx, old, size);
  a->live += p && !old;
  return p;
}

/* @param action returns 0, or -1 with the error pending; leaves nothing allocated either way
   @return the number of allocations of the run that succeeded */
static inline int64_t fail_every_allocation(int (*action)(void *ctx), void *ctx) {
  failing_alloc a = {.most = SIZE_MAX};
  for (int64_t n = 0;; ++n) {
    a.countdown = n;
    a.live = 0;
    a.real = tn_set_allocator((tn_allocator){failing_alloc_fn, &a});
    int err = action(ctx);
    tn_set_allocator(a.real);
    assert_int_equal(a.live, 0);
    if (err == 0) return n;
    assert_string_equal(tn_error_class(), "MemoryError");
    tn_error_clear();
    assert_true(n < 100000);
  }
}

#endif
