/* The map: entries in insertion order and an index by hash beside them, as in CPython's dictionary.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "object/containers.h"

enum { TEXT = 1, BYTES }; /* keys that compare by content, each kind among itself */

/* Which of these a key is, with its content; 0 for others. */
static int content_of(const tn_any *a, tn_bytes_view *out) {
  switch (a->type_index) {
  case TN_CSTR: *out = (tn_bytes_view){(const uint8_t *)a->v.cstr, strlen(a->v.cstr)}; return TEXT;
  case TN_TI_String: {
    const tn_str *s = (const tn_str *)a->v.obj;
    *out = (tn_bytes_view){(const uint8_t *)s->data, s->len};
    return TEXT;
  }
  case TN_CBYTES: *out = *a->v.bytes; return BYTES;
  case TN_TI_Bytes: *out = tn_bytes_get((const tn_bytes *)a->v.obj); return BYTES;
  default: return 0;
  }
}

/* An immediate or boxed number counts as the number. */
static tn_any plain(const tn_any *a) {
  tn_any out = *a;
  if (tn_any_is_obj(a) && a->v.obj->type->hooks->scalar)
    a->v.obj->type->hooks->scalar(a->v.obj, &out);
  return out;
}

uint64_t tn_key_hash(const tn_any *key) {
  tn_bytes_view content;
  if (key->type_index == TN_TI_String) return ((const tn_str *)key->v.obj)->hash;
  if (content_of(key, &content)) return tn_hash_bytes(content.data, content.size);
  tn_any a = plain(key);
  if (a.type_index == TN_NONE) return 1;
  return tn_hash_u64((uint64_t)a.v.i64);
}

bool tn_key_equal(const tn_any *x, const tn_any *y) {
  tn_bytes_view cx, cy;
  int kind = content_of(x, &cx);
  if (kind != content_of(y, &cy)) return false;
  if (kind) return cx.size == cy.size && (!cx.size || memcmp(cx.data, cy.data, cx.size) == 0);
  tn_any a = plain(x), b = plain(y);
  if (tn_any_is_obj(&a) || tn_any_is_obj(&b))
    return a.type_index == b.type_index && a.v.obj == b.v.obj;
  bool ints = (a.type_index == TN_INT || a.type_index == TN_BOOL) &&
              (b.type_index == TN_INT || b.type_index == TN_BOOL);
  return (ints || a.type_index == b.type_index) && (a.type_index == TN_NONE || a.v.i64 == b.v.i64);
}

/* A key given as an rvalue is the object, which the caller goes on owning. */
static tn_any see_through(tn_any key) {
  return key.type_index == TN_RVALUE ? tn_any_obj(*key.v.rvalue) : key;
}

tn_map *tn_map_new(void) {
  tn_map *m = tn_obj_alloc(&tn_type_Map, sizeof *m);
  if (!m) return NULL;
  m->len = m->cap = m->nindex = 0;
  m->entries = NULL;
  m->index = NULL;
  return m;
}

/* Slot of the index where the key is, or where it would go. nindex > len, so the probe ends. */
static int64_t probe(const tn_map *m, const tn_any *key, uint64_t hash) {
  int64_t mask = m->nindex - 1, i = (int64_t)hash & mask;
  for (;; i = (i + 1) & mask) {
    int32_t at = m->index[i];
    if (at < 0 || (m->entries[at].hash == hash && tn_key_equal(&m->entries[at].key, key))) return i;
  }
}

static int grow_index(tn_map *m) {
  int64_t n = m->nindex ? m->nindex * 2 : 8;
  TN_CHECK(n <= INT32_MAX, ValueError, NULL, "map: too many entries");
  int32_t *index = tn_alloc_array(n, sizeof *index);
  if (!index) return -1;
  memset(index, 0xff, (size_t)n * sizeof *index);
  tn_free(m->index);
  m->index = index;
  m->nindex = n;
  for (int64_t at = 0; at < m->len; ++at) {
    int64_t i = (int64_t)m->entries[at].hash & (n - 1);
    while (index[i] >= 0) i = (i + 1) & (n - 1);
    index[i] = (int32_t)at;
  }
  return 0;
}

static int grow_entries(tn_map *m) {
  int64_t cap = m->cap ? m->cap * 2 : 4;
  tn_map_entry *entries = tn_realloc_array(m->entries, cap, sizeof *entries);
  if (!entries) return -1;
  m->entries = entries;
  m->cap = cap;
  return 0;
}

int tn_map_set(tn_map *m, tn_any key, tn_any value) {
  key = see_through(key);
  uint64_t hash = tn_key_hash(&key);
  tn_any k, v;
  if (m->len * 3 >= m->nindex * 2) TN_TRY(grow_index(m));
  int64_t slot = probe(m, &key, hash);
  TN_TRY(tn_any_own(&value, &v));
  if (m->index[slot] >= 0) {
    tn_any old = m->entries[m->index[slot]].value;
    m->entries[m->index[slot]].value = v;
    tn_any_release(&old);
    return 0;
  }
  if ((m->len == m->cap && grow_entries(m)) || tn_any_own(&key, &k)) {
    tn_any_release(&v);
    return -1;
  }
  m->entries[m->len] = (tn_map_entry){hash, k, v};
  m->index[slot] = (int32_t)m->len++;
  return 0;
}

int64_t tn_map_len(const tn_map *m) { return m->len; }

bool tn_map_get(const tn_map *m, tn_any key, tn_any *out) {
  *out = tn_any_none();
  key = see_through(key);
  if (!m->nindex) return false;
  int32_t at = m->index[probe(m, &key, tn_key_hash(&key))];
  if (at < 0) return false;
  *out = m->entries[at].value;
  return true;
}

bool tn_map_at(const tn_map *m, int64_t i, tn_any *key, tn_any *value) {
  if (i < 0 || i >= m->len) return false;
  *key = m->entries[i].key;
  *value = m->entries[i].value;
  return true;
}

tn_obj *tn_map_find(const tn_map *m, const char *key) {
  tn_any out;
  return m && tn_map_get(m, tn_any_cstr(key), &out) && tn_any_is_obj(&out) ? out.v.obj : NULL;
}

/* A scope-owned copy of m without `drop` (NULL: keep all). */
static tn_map *copy_without(const tn_map *m, const tn_any *drop) {
  tn_map *copy = tn_scope_own(tn_map_new());
  if (!copy) return NULL;
  for (int64_t i = 0; m && i < m->len; ++i) {
    const tn_map_entry *e = &m->entries[i];
    if (drop && tn_key_equal(&e->key, drop)) continue;
    TN_TRYP(tn_map_set(copy, e->key, e->value));
  }
  return copy;
}

tn_map *tn_map_with(const tn_map *m, tn_any key, tn_any value) {
  tn_map *copy = copy_without(m, NULL);
  return copy && tn_map_set(copy, key, value) == 0 ? copy : NULL;
}

tn_map *tn_map_without(const tn_map *m, tn_any key) { return copy_without(m, &key); }
