/* The order in which equality and hash visit the entries of a map. It depends on the keys' content
   alone, so that two maps filled in different orders are visited alike:

     1. strings, by their bytes
     2. numbers and other plain values
     3. variables and shared nodes that were met before, by the order in which they were met
     4. free variables and other objects that are equal to themselves only: by name where they are
        known by one, else by address
     5. objects that compare by content (or variables that become bound here): by a hash of what
        lies directly in them

   Entries that tie, which only those of the last group can, are visited in insertion order. */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "object/dtype.h"
#include "object/structure_impl.h"

enum { TEXT, PLAIN, MET, SELF, CONTENT };

static bool is_nan(double x) { return x != x; }

bool tn_plain_equal(const tn_any *a, const tn_any *b) {
  if (a->type_index != b->type_index) return false;
  switch (a->type_index) {
  case TN_NONE: return true;
  case TN_FLOAT: return a->v.i64 == b->v.i64 || (is_nan(a->v.f64) && is_nan(b->v.f64));
  case TN_DTYPE: return tn_dtype_eq(a->v.dtype, b->v.dtype);
  case TN_DEVICE:
    return a->v.device.device_type == b->v.device.device_type &&
           a->v.device.device_id == b->v.device.device_id;
  default: return a->v.i64 == b->v.i64;
  }
}

uint64_t tn_plain_hash(const tn_any *a) {
  uint64_t h = (uint64_t)a->type_index;
  switch (a->type_index) {
  case TN_NONE: return tn_hash_add(h, 0);
  case TN_FLOAT: return tn_hash_add(h, is_nan(a->v.f64) ? 1 : (uint64_t)a->v.i64);
  case TN_DTYPE: {
    tn_dtype t = a->v.dtype;
    return tn_hash_add(h, t.code | (uint64_t)t.bits << 8 | (uint64_t)t.lanes << 16);
  }
  case TN_DEVICE:
    return tn_hash_add(h,
                       (uint64_t)a->v.device.device_type << 32 | (uint32_t)a->v.device.device_id);
  default: return tn_hash_add(h, (uint64_t)a->v.i64);
  }
}

static tn_bytes_view content(const tn_obj *o) {
  switch (o->type->kind) {
  case TN_KIND_STR: {
    const tn_str *s = (const tn_str *)o;
    return (tn_bytes_view){(const uint8_t *)s->data, s->len};
  }
  case TN_KIND_BYTES: return tn_bytes_get((const tn_bytes *)o);
  default: {
    const tn_shape *s = (const tn_shape *)o;
    return (tn_bytes_view){(const uint8_t *)s->dims, (size_t)s->len * sizeof *s->dims};
  }
  }
}

bool tn_leaf_equal(const tn_obj *a, const tn_obj *b) {
  if (a == b) return true;
  if (a->type->kind == TN_KIND_STR && ((const tn_str *)a)->hash != ((const tn_str *)b)->hash)
    return false;
  tn_bytes_view x = content(a), y = content(b);
  return x.size == y.size && (x.size == 0 || memcmp(x.data, y.data, x.size) == 0);
}

uint64_t tn_leaf_hash(const tn_obj *o) {
  if (o->type->kind == TN_KIND_STR) return tn_hash_add(TN_TI_String, ((const tn_str *)o)->hash);
  tn_bytes_view x = content(o);
  return tn_hash_add(o->type->kind, tn_hash_bytes(x.data, x.size));
}

/* Hash of a value's nearest content: `depth` levels of fields and the first elements. Anything that
   two equal keys might differ in (their variables' names, shared or not) is left out. */
static uint64_t near_hash(tn_any a, int depth) {
  a = tn_unboxed(a);
  if (!tn_any_is_obj(&a)) return tn_plain_hash(&a);
  const tn_obj *o = a.v.obj;
  if (tn_is_leaf(o)) return tn_leaf_hash(o);
  uint64_t h = tn_hash_bytes(o->type->key, strlen(o->type->key));
  if (depth == 0 || o->type->kind == TN_KIND_MAP || o->type->role == TN_EQ_UNIQUE) return h;
  int64_t n = tn_child_count(o);
  if (o->type->kind != TN_KIND_NODE) {
    h = tn_hash_add(h, (uint64_t)n);
    if (n > 8) n = 8;
  }
  for (int64_t i = 0; i < n; ++i) {
    if (o->type->kind == TN_KIND_NODE && o->type->fields[i].flags & TN_NOCMP) continue;
    h = tn_hash_add(h, near_hash(tn_child_at(o, i), depth - 1));
  }
  return h;
}

static bool equal_to_itself_only(const tn_obj *o, bool binding) {
  const tn_type *t = o->type;
  if (t->hooks->content_equal) return false;
  return t->kind == TN_KIND_FUNC || t->kind == TN_KIND_OPAQUE || t->role == TN_EQ_UNIQUE ||
         (t->role == TN_EQ_VAR && !binding);
}

static uint64_t self_value(const tn_obj *o) {
  const char *name = o->type->hooks->global_name ? o->type->hooks->global_name(o) : NULL;
  return name ? tn_hash_bytes(name, strlen(name)) : (uint64_t)(uintptr_t)o;
}

static tn_map_rank rank_of(const tn_any *key, bool binding, tn_number_fn number, const void *ctx) {
  tn_any k = tn_unboxed(*key);
  if (!tn_any_is_obj(&k)) return (tn_map_rank){.cls = PLAIN, .value = tn_plain_hash(&k)};
  const tn_obj *o = k.v.obj;
  if (o->type_index == TN_TI_String) return (tn_map_rank){.cls = TEXT};
  int64_t met = number(ctx, o);
  if (met >= 0) return (tn_map_rank){.cls = MET, .value = (uint64_t)met};
  if (equal_to_itself_only(o, binding)) return (tn_map_rank){.cls = SELF, .value = self_value(o)};
  return (tn_map_rank){.cls = CONTENT, .value = near_hash(k, 3)};
}

int tn_map_rank_compare(const tn_map_rank *a, const tn_map_rank *b) {
  if (a->cls != b->cls) return a->cls < b->cls ? -1 : 1;
  if (a->cls == TEXT) {
    const tn_str *x = (const tn_str *)a->entry->key.v.obj, *y = (const tn_str *)b->entry->key.v.obj;
    int c = memcmp(x->data, y->data, x->len < y->len ? x->len : y->len);
    return c ? c : x->len < y->len ? -1 : x->len > y->len;
  }
  return a->value < b->value ? -1 : a->value > b->value;
}

static int in_order(const void *a, const void *b) {
  const tn_map_rank *x = a, *y = b;
  int c = tn_map_rank_compare(x, y);
  return c ? c : x->at < y->at ? -1 : x->at > y->at;
}

void tn_map_ranks(const tn_map *m, bool binding, tn_number_fn number, const void *ctx,
                  tn_map_rank *out) {
  for (int64_t i = 0; i < m->len; ++i) {
    out[i] = rank_of(&m->entries[i].key, binding, number, ctx);
    out[i].entry = &m->entries[i];
    out[i].at = (int32_t)i;
  }
  if (m->len > 1) qsort(out, (size_t)m->len, sizeof *out, in_order);
}
