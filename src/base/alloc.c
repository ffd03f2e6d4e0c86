#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

static void *default_alloc(void *ctx, void *old, size_t size) {
  (void)ctx;
  if (size == 0) {
    free(old);
    return NULL;
  }
  return realloc(old, size);
}

static tn_allocator current = {default_alloc, NULL};

tn_allocator tn_set_allocator(tn_allocator a) {
  tn_allocator old = current;
  current = a.alloc ? a : (tn_allocator){default_alloc, NULL};
  return old;
}

/* A host's allocator need not know that such sizes cannot be. */
static void *request(void *old, size_t size) {
  void *p = size && size <= PTRDIFF_MAX ? current.alloc(current.ctx, old, size) : NULL;
  if (!p) tn_raise_no_memory(size);
  return p;
}

void *tn_alloc(size_t size) { return request(NULL, size ? size : 1); }

void *tn_realloc(void *p, size_t size) { return request(p, size ? size : 1); }

void *tn_alloc_array(int64_t n, size_t item) { return tn_alloc(tn_array_bytes(0, n, item)); }

void *tn_realloc_array(void *p, int64_t n, size_t item) {
  return tn_realloc(p, tn_array_bytes(0, n, item));
}

void *tn_alloc_zero(size_t n, size_t size) {
  size_t total = n > INT64_MAX ? SIZE_MAX : tn_array_bytes(0, (int64_t)n, size);
  void *p = tn_alloc(total);
  return p ? memset(p, 0, total) : NULL;
}

void tn_free(void *p) {
  if (p) current.alloc(current.ctx, p, 0);
}

/* The start of the underlying block is kept in the word before the aligned address, so that the one
   allocation function of a hook serves aligned requests too. */
void *tn_alloc_aligned(size_t size, size_t align) {
  size_t total;
  if (align < sizeof(void *)) align = sizeof(void *);
  if (__builtin_add_overflow(size, align + sizeof(void *), &total)) {
    tn_raise_no_memory(SIZE_MAX);
    return NULL;
  }
  char *block = tn_alloc(total);
  if (!block) return NULL;
  uintptr_t at = ((uintptr_t)block + sizeof(void *) + align - 1) & ~(uintptr_t)(align - 1);
  char *aligned = block + (at - (uintptr_t)block);
  memcpy(aligned - sizeof(void *), &block, sizeof(void *));
  return aligned;
}

void tn_free_aligned(void *p) {
  void *block;
  if (!p) return;
  memcpy(&block, (char *)p - sizeof(void *), sizeof(void *));
  tn_free(block);
}

void *tn_grow(void *items, size_t item, int64_t *cap, int64_t need) {
  int64_t more = *cap < 16 ? 16 : *cap + *cap / 2;
  if (more < need) more = need;
  void *grown = tn_realloc_array(items, more, item);
  if (grown) *cap = more;
  return grown;
}

char *tn_strdup(const char *s) {
  size_t n = strlen(s) + 1;
  char *copy = tn_alloc(n);
  return copy ? memcpy(copy, s, n) : NULL;
}
