/* Arena: memory for side data that is dropped all at once (tokens, liveness tables). Nothing in it
 * is a tn_obj. */
#ifndef TN_BASE_ARENA_H_
#define TN_BASE_ARENA_H_

#include <stddef.h>

#include "tenon/ffi.h"

typedef struct tn_arena_block tn_arena_block;
typedef struct {
  tn_arena_block *blocks; /* newest first */
  size_t used;            /* bytes used of the newest */
} tn_arena;

#define TN_ARENA(name) __attribute__((cleanup(tn_arena_fini))) tn_arena name = {0}

/** Zeroed memory aligned for any type, or NULL (MemoryError). Lives until tn_arena_fini. */
TN_API void *tn_arena_alloc(tn_arena *a, size_t size) __attribute__((warn_unused_result));
/** The same for n items; MemoryError where n is negative or they are more than can be. */
TN_API void *tn_arena_array(tn_arena *a, int64_t n, size_t item)
    __attribute__((warn_unused_result));
/** A NUL-terminated copy of n bytes. */
TN_API char *tn_arena_strndup(tn_arena *a, const char *s, size_t n)
    __attribute__((warn_unused_result));
TN_API void tn_arena_fini(tn_arena *a);

#endif /* TN_BASE_ARENA_H_ */
