/* Structural hash: a depth-first walk in the order of equal.c, children before the objects that
   hold them. A variable or an object whose sharing counts gets the number of variables and such
   objects met before it; a variable that is bound nowhere is hashed by address, unless free
   variables map. Objects referenced from several places are hashed once. */
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/pmap.h"
#include "object/structure_impl.h"
#include "tenon/object.h"

typedef struct {
  const tn_obj *o;
  int64_t next;       /* position of the next child; of a map: keys first, then values */
  int64_t number;     /* of a variable or DAG object, else -1 */
  tn_map_rank *ranks; /* of a map: its entries in visiting order */
  uint64_t h;
  bool binding;
} frame;

typedef struct {
  bool map_free;
  frame *frames;
  int64_t depth, cap;
  tn_pmap met;      /* variables and DAG objects -> number */
  uint64_t *hashes; /* of those, by number */
  int64_t nmet, met_cap;
  tn_pmap known; /* other objects referenced more than once -> hash */
} hasher;

enum { FAILED = -1, DONE = 0, ENTERED = 1 };

static int64_t number_of(const void *ctx, const tn_obj *o) {
  return tn_pmap_get_int(&((const hasher *)ctx)->met, o, -1);
}

static uint64_t add_at(uint64_t h, int64_t position, uint64_t value) {
  return tn_hash_add(h, value + (uint64_t)position * 0xd1342543de82ef95ULL);
}

static uint64_t type_hash(const tn_obj *o) {
  return tn_hash_bytes(o->type->key, strlen(o->type->key));
}

/* What of an object is hashed before its children are entered. */
static uint64_t own_hash(const tn_obj *o) {
  uint64_t h = type_hash(o);
  const tn_type *t = o->type;
  if (t->kind == TN_KIND_TUPLE) h = tn_hash_add(h, ((const tn_tuple *)o)->tag);
  if (t->kind != TN_KIND_NODE) return tn_hash_add(h, (uint64_t)tn_child_count(o));
  for (uint16_t i = 0; i < t->nfield; ++i) {
    if (t->fields[i].flags & TN_NOCMP) continue;
    tn_any a = tn_unboxed(tn_field_get(o, &t->fields[i]));
    if (!tn_any_is_obj(&a)) h = add_at(h, i, tn_plain_hash(&a));
    else if (tn_is_leaf(a.v.obj)) h = add_at(h, i, tn_leaf_hash(a.v.obj));
  }
  return h;
}

/* Objects that have no children to enter: true with *out set. */
static bool hash_at_once(const tn_obj *o, uint64_t *out) {
  const tn_type *t = o->type;
  const tn_type_hooks *hooks = t->hooks;
  if (tn_is_leaf(o)) *out = tn_leaf_hash(o);
  else if (hooks->content_equal)
    *out = hooks->content_hash ? tn_hash_add(type_hash(o), hooks->content_hash(o)) : type_hash(o);
  else if (t->kind == TN_KIND_FUNC || t->kind == TN_KIND_OPAQUE || t->role == TN_EQ_UNIQUE) {
    const char *name = hooks->global_name ? hooks->global_name(o) : NULL;
    *out = tn_hash_add(type_hash(o), name ? tn_hash_bytes(name, strlen(name))
                                          : tn_hash_u64((uint64_t)(uintptr_t)o));
  } else return false;
  return true;
}

static bool is_paired(const tn_obj *o) {
  tn_eq_role role = tn_role_of(o);
  return role == TN_EQ_VAR || role == TN_EQ_DAG;
}

static int push(hasher *s, const tn_obj *o, int64_t number, bool binding) {
  tn_map_rank *ranks = NULL;
  TN_GROW(s->frames, s->cap, s->depth + 1, return FAILED);
  if (o->type->kind == TN_KIND_MAP && ((const tn_map *)o)->len) {
    const tn_map *m = (const tn_map *)o;
    if (!(ranks = tn_alloc_zero((size_t)m->len, sizeof *ranks))) return FAILED;
    tn_map_ranks(m, binding || s->map_free, number_of, s, ranks);
  }
  s->frames[s->depth++] = (frame){o, 0, number, ranks, own_hash(o), binding};
  return ENTERED;
}

/* A variable or DAG object. *out is set when its hash is known already. */
static int enter_paired(hasher *s, const tn_obj *o, bool binding, uint64_t *out) {
  int64_t number = number_of(s, o);
  if (number >= 0) return *out = s->hashes[number], DONE;
  number = s->nmet;
  TN_GROW(s->hashes, s->met_cap, s->nmet + 1, return FAILED);
  if (tn_pmap_put_int(&s->met, o, number)) return FAILED;
  s->nmet++;
  if (o->type->role != TN_EQ_VAR || binding || s->map_free) return push(s, o, number, binding);
  *out = s->hashes[number] = tn_hash_u64((uint64_t)(uintptr_t)o);
  return DONE;
}

static int enter(hasher *s, tn_any a, bool binding, uint64_t *out) {
  a = tn_unboxed(a);
  if (!tn_any_is_obj(&a)) return *out = tn_plain_hash(&a), DONE;
  const tn_obj *o = a.v.obj;
  bool before = tn_error_pending();
  if (hash_at_once(o, out)) /* fails where the content is on a device */
    return !before && tn_error_pending() ? FAILED : DONE;
  if (is_paired(o)) return enter_paired(s, o, binding, out);
  if (tn_use_count(o) > 1 && tn_pmap_has(&s->known, o))
    return *out = (uint64_t)tn_pmap_get_int(&s->known, o, 0), DONE;
  return push(s, o, -1, binding);
}

/* The next field of the topmost object, a node, that is not in its own hash. */
static bool next_field(const frame *top, int64_t *position, tn_any *child, bool *binding) {
  const tn_type *t = top->o->type;
  for (int64_t i = top->next; i < 2 * t->nfield; ++i) {
    const tn_field *f = tn_field_at_step(t, i);
    if (!f || f->flags & TN_NOCMP) continue;
    *child = tn_field_get(top->o, f);
    if (!tn_any_is_obj(child) || tn_is_leaf(child->v.obj)) continue;
    tn_any plain = tn_unboxed(*child);
    if (!tn_any_is_obj(&plain)) continue;
    if (f->flags & TN_DEF) *binding = true;
    return *position = i, true;
  }
  return false;
}

/* The next child of the topmost object: false when there is none left. */
static bool next_child(const frame *top, int64_t *position, tn_any *child, bool *binding) {
  const tn_obj *o = top->o;
  int64_t n = tn_child_count(o), i = top->next;
  *binding = top->binding;
  if (o->type->kind == TN_KIND_NODE) return next_field(top, position, child, binding);
  if (o->type->kind == TN_KIND_MAP) {
    if (i >= n) return false;
    const tn_map_entry *e = top->ranks[i % (n / 2)].entry;
    *child = i < n / 2 ? e->key : e->value;
    if (i >= n / 2) *binding = false;
    return *position = i, true;
  }
  if (i >= n) return false;
  *child = tn_child_at(o, i);
  return *position = i, true;
}

/* Ends the topmost object. *out: its hash. */
static int leave(hasher *s, uint64_t *out) {
  frame *top = &s->frames[--s->depth];
  tn_free(top->ranks);
  *out = top->h;
  if (top->number >= 0) *out = s->hashes[top->number] = tn_hash_add(top->h, (uint64_t)top->number);
  else if (tn_use_count(top->o) > 1) return tn_pmap_put_int(&s->known, top->o, (int64_t)*out);
  return 0;
}

static int run(hasher *s, tn_any root, uint64_t *out) {
  int c = enter(s, root, false, out);
  while (c >= 0 && s->depth > 0) {
    frame *top = &s->frames[s->depth - 1];
    if (c == DONE) { /* *out is the hash of the child at next - 1 */
      int64_t at = top->next - 1;
      if (top->o->type->kind == TN_KIND_NODE) at %= top->o->type->nfield;
      top->h = add_at(top->h, at, *out);
    }
    int64_t position;
    tn_any child;
    bool binding;
    if (next_child(top, &position, &child, &binding)) {
      top->next = position + 1;
      c = enter(s, child, binding, out);
    } else {
      c = leave(s, out) ? FAILED : DONE;
    }
  }
  return c < 0 ? -1 : 0;
}

int tn_hash_any(tn_any value, int flags, uint64_t *out) {
  hasher s = {.map_free = flags & TN_MAP_FREE_VARS};
  int err = run(&s, value, out);
  while (s.depth > 0) tn_free(s.frames[--s.depth].ranks);
  tn_free(s.frames);
  tn_free(s.hashes);
  tn_pmap_fini(&s.met);
  tn_pmap_fini(&s.known);
  return err;
}

int tn_hash(const void *obj, int flags, uint64_t *out) {
  return tn_hash_any(tn_any_obj(obj), flags, out);
}
