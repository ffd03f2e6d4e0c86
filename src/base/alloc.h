/* Memory: every allocation of the library passes through here, so that a host can meter it and
   tests can make the n-th one fail. Functions are thread-safe as far as the installed allocator is
   (the default, malloc, is). */
#ifndef TN_BASE_ALLOC_H_
#define TN_BASE_ALLOC_H_

#include <stdalign.h>
#include <stddef.h>
#include <stdint.h>

#include "tenon/runtime.h"

/** Bytes of a header and n items behind it; SIZE_MAX, which no allocation gives, where n is
 * negative or they are more than can be. */
static inline size_t tn_array_bytes(size_t head, int64_t n, size_t item) {
  size_t total;
  bool fits = n >= 0 && !__builtin_mul_overflow((size_t)n, item, &total) &&
              !__builtin_add_overflow(total, head, &total) && total <= PTRDIFF_MAX;
  return fits ? total : SIZE_MAX;
}

/* A product in the argument of an allocation may wrap: tools/check_layers refuses it. */

/** Uninitialised memory for size > 0 bytes, aligned for any C type. NULL with MemoryError set. */
TN_API void *tn_alloc(size_t size) __attribute__((malloc, warn_unused_result));
/** The same for n items; MemoryError for sizes that cannot be. */
TN_API void *tn_alloc_array(int64_t n, size_t item) __attribute__((malloc, warn_unused_result));
/** The same, zeroed; n * size is checked for overflow. */
TN_API void *tn_alloc_zero(size_t n, size_t size) __attribute__((malloc, warn_unused_result));
/** Resizes; on failure the old block stays valid and MemoryError is set. */
TN_API void *tn_realloc(void *p, size_t size) __attribute__((warn_unused_result));
TN_API void *tn_realloc_array(void *p, int64_t n, size_t item) __attribute__((warn_unused_result));
TN_API void tn_free(void *p); /**< NULL is allowed */
/** Memory aligned to `align` (a power of two) bytes; freed with tn_free_aligned. */
TN_API void *tn_alloc_aligned(size_t size, size_t align) __attribute__((warn_unused_result));
TN_API void tn_free_aligned(void *p);
TN_API char *tn_strdup(const char *s) __attribute__((malloc, warn_unused_result));

/* Makes room in a growing array for `need` items (capacity in items); `failed` runs, with
   MemoryError pending, when there is no memory:  TN_GROW(v->items, v->cap, v->len + 1, return -1);
 */
#define TN_GROW(items, cap, need, failed)                                                          \
  do {                                                                                             \
    if ((need) > (cap)) {                                                                          \
      void *grown_ = tn_grow((items), sizeof *(items), &(cap), (need));                            \
      if (!grown_) failed;                                                                         \
      (items) = grown_;                                                                            \
    }                                                                                              \
  } while (0)
TN_API void *tn_grow(void *items, size_t item, int64_t *cap, int64_t need)
    __attribute__((warn_unused_result));

/* Frees the variable's block when it goes out of scope:  TN_AUTOFREE char *name = tn_strdup(s); */
#define TN_AUTOFREE __attribute__((cleanup(tn_autofree)))
static inline void tn_autofree(void *p) { tn_free(*(void **)p); }

#endif /* TN_BASE_ALLOC_H_ */
