/* Reference counting. The last release of an object frees everything it alone holds without
   recursion: dead objects wait in a list threaded through their own headers, so releasing a chain
   of a million nodes needs no memory and no stack. Finalizers that release further objects nest,
   up to a depth; from there on the objects wait in a list of the thread. */
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "object/containers.h"

_Static_assert(sizeof(tn_obj) == 16, "object header");
_Static_assert(offsetof(tn_obj, rc) == 0, "count first");
_Static_assert(sizeof(tn_any) == 16, "value size");

void *tn_obj_alloc(const tn_type *type, size_t size) {
  tn_obj *o = tn_alloc(size);
  if (!o) return NULL;
  atomic_init(&o->rc, 1);
  o->type_index = type->index;
  o->type = type;
  return o;
}

void tn_retain(const void *obj) {
  if (obj) atomic_fetch_add_explicit(&((tn_obj *)(uintptr_t)obj)->rc, 1, memory_order_relaxed);
}

uint32_t tn_use_count(const void *obj) {
  return obj ? atomic_load_explicit(&((tn_obj *)(uintptr_t)obj)->rc, memory_order_relaxed) : 0;
}

/* `next` of a dead object lies where rc and type_index were; `type` stays. */
static tn_obj *next_of(const tn_obj *o) {
  tn_obj *next;
  memcpy(&next, o, sizeof next);
  return next;
}

static void link_dead(tn_obj **list, tn_obj *o) {
  memcpy((void *)o, list, sizeof *list);
  *list = o;
}

static bool drop(tn_obj *o) {
  if (atomic_fetch_sub_explicit(&o->rc, 1, memory_order_release) != 1) return false;
  /* what other threads did with the object happened before; a load, as TSan knows no fences */
  (void)atomic_load_explicit(&o->rc, memory_order_acquire);
  return true;
}

static void push(tn_obj **list, tn_obj *o) {
  if (o && drop(o)) link_dead(list, o);
}

static void push_any(tn_obj **list, const tn_any *a) {
  if (tn_any_is_obj(a)) push(list, a->v.obj);
}

static void push_fields(tn_obj **list, tn_obj *o) {
  const tn_type *t = o->type;
  for (uint16_t i = 0; i < t->nfield; ++i) {
    void *at = (char *)o + t->fields[i].offset;
    if (t->fields[i].kind == TN_F_REF) push(list, *(tn_obj **)at);
    if (t->fields[i].kind == TN_F_ANY) push_any(list, at);
  }
}

static void push_content(tn_obj **list, tn_obj *o) {
  switch ((tn_type_kind)o->type->kind) {
  case TN_KIND_ABSTRACT:
  case TN_KIND_STR:
  case TN_KIND_BYTES:
  case TN_KIND_SHAPE:
  case TN_KIND_FUNC: break;
  case TN_KIND_NODE:
  case TN_KIND_OPAQUE: push_fields(list, o); break;
  case TN_KIND_ARRAY: {
    tn_arr *a = (tn_arr *)o;
    for (int64_t i = 0; i < a->len; ++i) push_any(list, &a->items[i]);
    break;
  }
  case TN_KIND_TUPLE: {
    tn_tuple *t = (tn_tuple *)o;
    for (int64_t i = 0; i < t->len; ++i) push_any(list, &t->fields[i]);
    break;
  }
  case TN_KIND_MAP: {
    tn_map *m = (tn_map *)o;
    for (int64_t i = 0; i < m->len; ++i) {
      push_any(list, &m->entries[i].key);
      push_any(list, &m->entries[i].value);
    }
    tn_free(m->entries);
    tn_free(m->index);
    break;
  }
  }
}

/* Finalizers run wherever a reference happens to be the last, often on the way out of a failure: an
   error of theirs stays with them, and the one that is pending stays pending. */
static void finalize(tn_obj *o) {
  tn_error saved;
  bool pending = tn_error_pending();
  if (pending) tn_error_take(&saved);
  o->type->hooks->fini(o);
  if (pending) tn_error_restore(&saved);
  else tn_error_clear();
}

enum { MAX_NESTED = 32 }; /* finalizers within finalizers of one thread */
static _Thread_local int nested;
static _Thread_local tn_obj *waiting; /* dead objects of finalizers nested deeper */

static tn_obj *take_dead(tn_obj **list) {
  tn_obj *o = *list;
  if (o) *list = next_of(o);
  return o;
}

void tn_release(const void *obj) {
  tn_obj *o = (tn_obj *)(uintptr_t)obj, *dead = NULL;
  if (!o || !drop(o)) return;
  if (nested == MAX_NESTED) {
    link_dead(&waiting, o);
    return;
  }
  link_dead(&dead, o);
  ++nested;
  while ((o = take_dead(&dead)) || (o = take_dead(&waiting))) {
    /* a finalizer sees a header as of a live object whose last reference it holds */
    atomic_init(&o->rc, 1);
    o->type_index = o->type->index;
    if (o->type->hooks->fini) finalize(o);
    push_content(&dead, o);
    tn_free(o);
  }
  --nested;
}

void tn_any_release(tn_any *a) {
  tn_obj *o = tn_any_is_obj(a) ? a->v.obj : NULL;
  *a = tn_any_none();
  tn_release(o);
}
