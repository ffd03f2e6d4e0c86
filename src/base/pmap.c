#include "base/pmap.h"

#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"

void tn_pmap_fini(tn_pmap *m) {
  tn_free(m->slots);
  *m = (tn_pmap){0};
}

/* The slot that holds key, or the free one where it would go. cap > len, so the probe ends. */
static tn_pmap_slot *probe(tn_pmap_slot *slots, size_t cap, const void *key) {
  size_t i = (size_t)tn_hash_u64((uintptr_t)key) & (cap - 1);
  while (slots[i].key && slots[i].key != key) i = (i + 1) & (cap - 1);
  return &slots[i];
}

static int grow(tn_pmap *m) {
  size_t cap = m->cap ? m->cap * 2 : 16;
  tn_pmap_slot *slots = tn_alloc_zero(cap, sizeof *slots);
  if (!slots) return -1;
  for (size_t i = 0; i < m->cap; ++i) {
    if (m->slots[i].key) *probe(slots, cap, m->slots[i].key) = m->slots[i];
  }
  tn_free(m->slots);
  m->slots = slots;
  m->cap = cap;
  return 0;
}

tn_pmap_slot *tn_pmap_slot_of(tn_pmap *m, const void *key) {
  if (m->cap) {
    tn_pmap_slot *found = probe(m->slots, m->cap, key);
    if (found->key) return found;
  }
  if (m->len + 1 > m->cap - m->cap / 4 && grow(m)) return NULL;
  tn_pmap_slot *slot = probe(m->slots, m->cap, key);
  slot->key = key;
  m->len++;
  return slot;
}

bool tn_pmap_has(const tn_pmap *m, const void *key) {
  return m->cap && probe(m->slots, m->cap, key)->key;
}

void *tn_pmap_get(const tn_pmap *m, const void *key) {
  return m->cap ? probe(m->slots, m->cap, key)->v.ptr : NULL;
}

int64_t tn_pmap_get_int(const tn_pmap *m, const void *key, int64_t absent) {
  if (!m->cap) return absent;
  const tn_pmap_slot *slot = probe(m->slots, m->cap, key);
  return slot->key ? slot->v.i64 : absent;
}

int tn_pmap_put(tn_pmap *m, const void *key, const void *value) {
  tn_pmap_slot *slot = tn_pmap_slot_of(m, key);
  if (!slot) return -1;
  slot->v.ptr = (void *)(uintptr_t)value;
  return 0;
}

int tn_pmap_put_int(tn_pmap *m, const void *key, int64_t value) {
  tn_pmap_slot *slot = tn_pmap_slot_of(m, key);
  if (!slot) return -1;
  slot->v.i64 = value;
  return 0;
}
