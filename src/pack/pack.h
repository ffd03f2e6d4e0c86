/* Packing: where buffers lie in memory when it is known how large each is and during which steps of
   a program it is needed. Two buffers may share memory unless a step needs both. Every memory plan
   of the compiler is made here; a planner finds out sizes and lives, and writes the result down.

   pack_plan gives places in pools, pack_blocks blocks of memory that hold one buffer at a time, for
   programs that allocate without offsets. Sizes are in any unit that all of a plan have in common.
 */
#ifndef TN_PACK_PACK_H_
#define TN_PACK_PACK_H_

#include <stdint.h>

#include "tenon/ffi.h"

typedef struct {
  const char *name;    /* for messages */
  int64_t bytes;       /* not negative */
  int64_t first, last; /* the steps that need it, both included */
  int64_t align;       /* places are multiples of it; 0: of what the plan says */
  const int32_t *may;  /* numbers of the pools it may lie in, best first; NULL: all, in order */
  int32_t nmay;
  int32_t kind;   /* of pack_blocks: only buffers of one kind share; below 0: shares with none */
  int64_t offset; /* found: place in the pool */
  int32_t pool;   /* found: number of the pool, or block */
} pack_buffer;

typedef struct {
  const char *name;
  int64_t limit; /* bytes there are; -1: any number */
  int64_t used;  /* found: bytes up to the end of the last buffer */
} pack_pool;

/* `last` of a buffer that is needed to the end of the program */
#define PACK_FOREVER (INT64_MAX - 1)

typedef enum {
  PACK_BEST,         /* the best that any of the others finds */
  PACK_IN_ORDER,     /* each at the lowest place that is left, in the order given */
  PACK_FIRST_FIT,    /* the same, unless PACK_BEST needs less */
  PACK_BY_SIZE,      /* the largest first */
  PACK_BY_CONFLICTS, /* first those that live together with most others */
  PACK_HILL_CLIMB    /* orders are tried until none is better */
} pack_algorithm;

/** Gives every buffer a pool and a place in it.
 *  @param pools in the order in which they are to be filled
 *  @param align places are multiples of it
 *  @return 0, or -1: ValueError where the pools are too small, with the name of a buffer that does
 *  not fit and how many bytes are missing; MemoryError */
TN_API int pack_plan(pack_buffer *buffers, int64_t n, pack_pool *pools, int32_t npools,
                     int64_t align, pack_algorithm algorithm);

/** The same for buffers of which it is told which ones need memory at the same time, whatever their
 *  steps are.
 *  @param conflicts n rows of n: not 0 where two buffers must not overlap; symmetric
 *  @param enough bytes: a plan that is not larger is not improved */
TN_API int pack_plan_conflicts(pack_buffer *buffers, int64_t n, const uint8_t *conflicts,
                               int64_t enough, pack_pool *pools, int32_t npools, int64_t align,
                               pack_algorithm algorithm);

/* What blocks a buffer may get. */
typedef struct {
  int64_t range; /* blocks that are not more than so many times larger or smaller; 0: any */
  /* may a block of that size, whose first buffer is `first`, get the buffer `next` too? Numbers of
     buffers; NULL: yes */
  bool (*fits)(const void *ctx, int64_t first, int64_t bytes, int64_t next);
  const void *ctx;
} pack_sharing;

/** Gives every buffer a block, as large as the largest that it gets. Blocks are numbered in the
 *  order of the buffers that have them.
 *  @param sizes found: of each block; room for n
 *  @param how NULL: buffers of one kind share without limits
 *  @return number of blocks, or -1: MemoryError */
TN_API int64_t pack_blocks(pack_buffer *buffers, int64_t n, const pack_sharing *how,
                           int64_t *sizes);

/** Bytes of the buffers that one step needs, of the step that needs most: no plan in one pool can
 * do with less; with `align` 1 none in several, nor in blocks. -1: MemoryError */
TN_API int64_t pack_lower_bound(const pack_buffer *buffers, int64_t n, int64_t align);

#endif /* TN_PACK_PACK_H_ */
