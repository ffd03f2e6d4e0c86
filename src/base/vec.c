#include "base/vec.h"

#include "base/alloc.h"

void tn_vec_fini(tn_vec *v) {
  tn_free(v->items);
  *v = (tn_vec){0};
}

int tn_vec_reserve(tn_vec *v, int64_t n) {
  if (n <= v->cap) return 0;
  int64_t cap = v->cap ? v->cap * 2 : 8;
  if (cap < n) cap = n;
  tn_any *items = tn_realloc_array(v->items, cap, sizeof *items);
  if (!items) return -1;
  v->items = items;
  v->cap = cap;
  return 0;
}

int tn_vec_push(tn_vec *v, tn_any x) {
  if (v->len == v->cap && tn_vec_reserve(v, v->len + 1)) return -1;
  v->items[v->len++] = x;
  return 0;
}

int tn_vec_push_obj(tn_vec *v, const void *obj) {
  if (!obj && tn_error_pending()) return -1;
  return tn_vec_push(v, tn_any_obj(obj));
}
