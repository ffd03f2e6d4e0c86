#include "base/arena.h"

#include <string.h>

#include "base/alloc.h"

struct tn_arena_block {
  tn_arena_block *next;
  size_t size;
  alignas(max_align_t) char data[];
};

enum { BLOCK = 16384 };

void *tn_arena_alloc(tn_arena *a, size_t size) {
  size_t need = (size + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);
  if (need < size) need = size; /* wrapped: let the allocator refuse it */
  if (!a->blocks || need > a->blocks->size - a->used) {
    size_t room = need > BLOCK ? need : BLOCK;
    tn_arena_block *b =
        room > SIZE_MAX - sizeof *b ? tn_alloc(SIZE_MAX) : tn_alloc(sizeof *b + room);
    if (!b) return NULL;
    b->next = a->blocks;
    b->size = room;
    a->blocks = b;
    a->used = 0;
  }
  void *p = a->blocks->data + a->used;
  a->used += need;
  return memset(p, 0, size);
}

void *tn_arena_array(tn_arena *a, int64_t n, size_t item) {
  return tn_arena_alloc(a, tn_array_bytes(0, n, item));
}

char *tn_arena_strndup(tn_arena *a, const char *s, size_t n) {
  char *copy = tn_arena_alloc(a, n + 1);
  if (copy) memcpy(copy, s, n);
  return copy;
}

void tn_arena_fini(tn_arena *a) {
  while (a->blocks) {
    tn_arena_block *next = a->blocks->next;
    tn_free(a->blocks);
    a->blocks = next;
  }
  a->used = 0;
}
