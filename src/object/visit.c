/* Children of any object: visiting and mapping, against the field table. */
#include <string.h>

#include "base/alloc.h"
#include "object/containers.h"

static int visit_any(const tn_any *a, int (*fn)(void *, tn_obj *), void *ctx) {
  return tn_any_is_obj(a) ? fn(ctx, a->v.obj) : 0;
}

static int visit_items(const tn_any *items, int64_t n, int (*fn)(void *, tn_obj *), void *ctx) {
  for (int64_t i = 0; i < n; ++i) {
    int r = visit_any(&items[i], fn, ctx);
    if (r) return r;
  }
  return 0;
}

int tn_visit_children(const tn_obj *o, int (*fn)(void *ctx, tn_obj *child), void *ctx) {
  const tn_type *t = o->type;
  switch ((tn_type_kind)t->kind) {
  case TN_KIND_ARRAY:
    return visit_items(((const tn_arr *)o)->items, ((const tn_arr *)o)->len, fn, ctx);
  case TN_KIND_TUPLE:
    return visit_items(((const tn_tuple *)o)->fields, ((const tn_tuple *)o)->len, fn, ctx);
  case TN_KIND_MAP: {
    const tn_map *m = (const tn_map *)o;
    for (int64_t i = 0; i < m->len; ++i) {
      int r = visit_any(&m->entries[i].key, fn, ctx);
      if (!r) r = visit_any(&m->entries[i].value, fn, ctx);
      if (r) return r;
    }
    return 0;
  }
  case TN_KIND_NODE:
    for (uint16_t i = 0; i < t->nfield; ++i) {
      tn_any a = tn_field_get(o, &t->fields[i]);
      int r = visit_any(&a, fn, ctx);
      if (r) return r;
    }
    return 0;
  case TN_KIND_ABSTRACT:
  case TN_KIND_STR:
  case TN_KIND_BYTES:
  case TN_KIND_SHAPE:
  case TN_KIND_FUNC:
  case TN_KIND_OPAQUE: return 0;
  }
  return 0;
}

typedef tn_obj *(*map_fn)(void *ctx, tn_obj *child);

/* *out = the mapped value; *changed is set when it differs. */
static int map_any(const tn_any *a, map_fn fn, void *ctx, tn_any *out, bool *changed) {
  *out = *a;
  if (!tn_any_is_obj(a)) return 0;
  tn_obj *r = fn(ctx, a->v.obj);
  if (!r) return -1;
  *changed |= r != a->v.obj;
  *out = tn_any_obj(r);
  return 0;
}

static tn_obj *map_array(const tn_arr *a, map_fn fn, void *ctx) {
  TN_VEC(v);
  bool changed = false;
  TN_TRYP(tn_vec_reserve(&v, a->len));
  for (int64_t i = 0; i < a->len; ++i)
    TN_TRYP(map_any(&a->items[i], fn, ctx, &v.items[v.len++], &changed));
  return changed ? (tn_obj *)tn_arr_from(&v) : (tn_obj *)(uintptr_t)a;
}

static tn_obj *map_tuple(const tn_tuple *t, map_fn fn, void *ctx) {
  TN_VEC(v);
  bool changed = false;
  TN_TRYP(tn_vec_reserve(&v, t->len));
  for (int64_t i = 0; i < t->len; ++i)
    TN_TRYP(map_any(&t->fields[i], fn, ctx, &v.items[v.len++], &changed));
  return changed ? tn_scope_own(tn_tuple_new(t->tag, v.items, v.len)) : (tn_obj *)(uintptr_t)t;
}

static tn_obj *map_map(const tn_map *m, map_fn fn, void *ctx) {
  bool changed = false;
  tn_map *copy = tn_scope_own(tn_map_new());
  if (!copy) return NULL;
  for (int64_t i = 0; i < m->len; ++i) {
    tn_any k, v;
    TN_TRYP(map_any(&m->entries[i].key, fn, ctx, &k, &changed));
    TN_TRYP(map_any(&m->entries[i].value, fn, ctx, &v, &changed));
    TN_TRYP(tn_map_set(copy, k, v));
  }
  return changed ? (tn_obj *)copy : (tn_obj *)(uintptr_t)m;
}

/* The copy is made at the first change only: most nodes of most passes stay as they are. */
static tn_obj *map_node(const tn_obj *o, map_fn fn, void *ctx) {
  const tn_type *t = o->type;
  tn_obj *copy = NULL;
  for (uint16_t i = 0; i < t->nfield; ++i) {
    const tn_field *f = &t->fields[i];
    if (f->kind != TN_F_REF && f->kind != TN_F_ANY) continue;
    tn_any child = tn_field_get(o, f), value;
    bool changed = false;
    if (map_any(&child, fn, ctx, &value, &changed)) return NULL;
    if (!changed) continue;
    if (!copy && !(copy = tn_node_copy(t, o))) return NULL;
    TN_TRYP(tn_field_set(copy, f, &value));
  }
  return copy ? copy : (tn_obj *)(uintptr_t)o;
}

tn_obj *tn_map_children(const tn_obj *o, map_fn fn, void *ctx) {
  switch ((tn_type_kind)o->type->kind) {
  case TN_KIND_ARRAY: return map_array((const tn_arr *)o, fn, ctx);
  case TN_KIND_TUPLE: return map_tuple((const tn_tuple *)o, fn, ctx);
  case TN_KIND_MAP: return map_map((const tn_map *)o, fn, ctx);
  case TN_KIND_NODE: return map_node(o, fn, ctx);
  case TN_KIND_ABSTRACT:
  case TN_KIND_STR:
  case TN_KIND_BYTES:
  case TN_KIND_SHAPE:
  case TN_KIND_FUNC:
  case TN_KIND_OPAQUE: break;
  }
  return (tn_obj *)(uintptr_t)o;
}
