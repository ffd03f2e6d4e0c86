/* Static memory planning: where buffers lie in pools of memory when it is known at which steps of a
   program each of them is needed. Two buffers may share memory unless there is a step that needs
   both. */
#ifndef TN_TIR_USMP_PLAN_H_
#define TN_TIR_USMP_PLAN_H_

#include <stdint.h>

#include "tenon/ffi.h"

typedef struct {
  const char *name;    /* for messages */
  int64_t bytes;       /* not negative */
  int64_t first, last; /* the steps that need it, both included */
  int64_t align;       /* places are multiples of it; 0: of what the plan says */
  const int32_t *may;  /* numbers of the pools it may lie in, best first; NULL: all, in order */
  int32_t nmay;
  int64_t offset; /* found: place in the pool, in bytes */
  int32_t pool;   /* found: number of the pool */
} usmp_buffer;

typedef struct {
  const char *name;
  int64_t limit; /* bytes there are; -1: any number */
  int64_t used;  /* found: bytes up to the end of the last buffer */
} usmp_pool;

/** Gives every buffer a pool and a place in it.
 *  @param pools in the order in which they are to be filled
 *  @param align places are multiples of it: a power of two
 *  @param algorithm "greedy_by_size" (the largest first), "greedy_by_conflicts" (first those that
 *  live together with most others) or "hill_climb" (orders are tried until none is better); NULL:
 *  the best that any of them finds
 *  @return 0, or -1: ValueError for another algorithm, and where the pools are too small, with the
 *  name of a buffer that does not fit and how many bytes are missing; MemoryError */
TN_API int usmp_plan(usmp_buffer *buffers, int64_t n, usmp_pool *pools, int32_t npools,
                     int64_t align, const char *algorithm);

/** The same for buffers of which it is told which ones need memory at the same time, whatever their
 *  steps are.
 *  @param conflicts n rows of n: not 0 where two buffers must not overlap; symmetric
 *  @param enough bytes: a plan that is not larger is not improved */
TN_API int usmp_plan_conflicts(usmp_buffer *buffers, int64_t n, const uint8_t *conflicts,
                               int64_t enough, usmp_pool *pools, int32_t npools, int64_t align,
                               const char *algorithm);

/** Bytes of the buffers that one step needs, of the step that needs most: no plan in one pool can
 * do with less; with `align` 1 none in several. -1: MemoryError */
TN_API int64_t usmp_lower_bound(const usmp_buffer *buffers, int64_t n, int64_t align);

#endif /* TN_TIR_USMP_PLAN_H_ */
