/* Structural equality: a depth-first walk over both sides at once, with the pairs whose children
   are still to be compared on an explicit stack. Plain fields and leaves are compared where they
   are met, before any child is entered. The rules are in tenon/object.h; where it stopped is turned
   into paths by mismatch.c. hash_structural.c visits in the same order, which keeps both in
   agreement. */
#include <string.h>

#include "base/alloc.h"
#include "object/equal_impl.h"
#include "tenon/object.h"

enum { FAILED = -1, DIFFER = 0, SAME = 1, ENTER = 2 };

static const void *rhs_key(const tn_obj *o) { return (const char *)o + 1; }

static int64_t lhs_number(const void *ctx, const tn_obj *o) {
  return tn_pmap_get_int(&((const tn_eq *)ctx)->met, o, -1);
}
static int64_t rhs_number(const void *ctx, const tn_obj *o) {
  return tn_pmap_get_int(&((const tn_eq *)ctx)->met, rhs_key(o), -1);
}

static int differ_at(tn_eq *e, tn_eq_end end, const tn_field *field) {
  e->end = end;
  e->field = field;
  return DIFFER;
}

/* ---- pairs known to be equal ---- */

static uint32_t find(tn_eq *e, uint32_t i) {
  while (e->parent[i] != i) i = e->parent[i] = e->parent[e->parent[i]];
  return i;
}

/* Class of an object of one side, made if there is none; false on MemoryError. */
static bool class_of(tn_eq *e, const void *key, uint32_t *out) {
  int64_t known = tn_pmap_get_int(&e->same, key, -1);
  if (known < 0) {
    known = e->nparent;
    TN_GROW(e->parent, e->parent_cap, e->nparent + 1, return false);
    if (tn_pmap_put_int(&e->same, key, known)) return false;
    e->parent[e->nparent++] = (uint32_t)known;
  }
  *out = find(e, (uint32_t)known);
  return true;
}

/* Objects referenced once on both sides are met once, or as part of a pair that is known. */
static int known_equal(tn_eq *e, const tn_obj *l, const tn_obj *r) {
  uint32_t x, y;
  if (tn_use_count(l) == 1 && tn_use_count(r) == 1) return ENTER;
  if (!class_of(e, l, &x) || !class_of(e, rhs_key(r), &y)) return FAILED;
  if (x == y) return SAME;
  /* taken for equal before the children are compared: the graphs have no cycles, so the pair is not
     met again below itself, and if the children differ the answer is false anyway */
  e->parent[x] = y;
  return ENTER;
}

/* ---- two objects ---- */

/* Plain fields and strings. *children: are there fields that must be entered? */
static int compare_fields(tn_eq *e, const tn_obj *l, const tn_obj *r, bool *children) {
  const tn_type *t = l->type;
  for (uint16_t i = 0; i < t->nfield; ++i) {
    const tn_field *f = &t->fields[i];
    if (f->flags & TN_NOCMP) continue;
    tn_any a = tn_unboxed(tn_field_get(l, f)), b = tn_unboxed(tn_field_get(r, f));
    bool obj = tn_any_is_obj(&a) && tn_any_is_obj(&b);
    if (obj && (a.v.obj->type != b.v.obj->type || !tn_is_leaf(a.v.obj))) *children = true;
    else if (obj ? !tn_leaf_equal(a.v.obj, b.v.obj) : !tn_plain_equal(&a, &b))
      return differ_at(e, TN_EQ_AT_FIELD, f);
  }
  return SAME;
}

static int push(tn_eq *e, const tn_obj *l, const tn_obj *r, tn_map_rank *ranks, bool binding) {
  TN_GROW(e->frames, e->cap, e->depth + 1, return FAILED);
  e->frames[e->depth++] = (tn_eq_frame){l, r, 0, ranks, binding};
  return SAME;
}

/* Variables, and objects whose sharing counts: each has one partner for the whole comparison. */
static int pair_once(tn_eq *e, const tn_obj *l, const tn_obj *r, bool binding) {
  bool children = false;
  int64_t x = lhs_number(e, l), y = rhs_number(e, r);
  if (x >= 0 || y >= 0) return x == y ? SAME : DIFFER;
  int c = compare_fields(e, l, r, &children);
  if (c != SAME) return c;
  if (l->type->role == TN_EQ_VAR && l != r && !binding) return DIFFER;
  if (tn_pmap_put_int(&e->met, l, e->nmet) || tn_pmap_put_int(&e->met, rhs_key(r), e->nmet))
    return FAILED;
  e->nmet++;
  return children ? ENTER : SAME;
}

static int pair_by_content(tn_eq *e, const tn_obj *l, const tn_obj *r) {
  bool children = false;
  if (l->type->kind == TN_KIND_NODE) {
    int c = compare_fields(e, l, r, &children);
    if (c != SAME) return c;
    if (!children) return SAME;
  } else if (l->type->kind == TN_KIND_TUPLE &&
             ((const tn_tuple *)l)->tag != ((const tn_tuple *)r)->tag) {
    return DIFFER;
  }
  int64_t n = tn_child_count(l), m = tn_child_count(r);
  if (n == 0 && m == 0) return SAME;
  if (n != m && e->stop_early) return DIFFER;
  return known_equal(e, l, r);
}

/* Two maps: pushed with their entries ranked, unless the sets of keys are seen to differ. */
static int enter_maps(tn_eq *e, const tn_obj *lo, const tn_obj *ro, bool binding) {
  const tn_map *l = (const tn_map *)lo, *r = (const tn_map *)ro;
  tn_map_rank *ranks = tn_alloc_zero((size_t)(l->len + r->len), sizeof *ranks);
  if (!ranks || push(e, lo, ro, ranks, binding) == FAILED) {
    tn_free(ranks);
    return FAILED;
  }
  tn_map_rank *x = ranks, *y = ranks + l->len;
  tn_map_ranks(l, binding || e->map_free, lhs_number, e, x);
  tn_map_ranks(r, binding || e->map_free, rhs_number, e, y);
  for (int64_t i = 0; i < l->len || i < r->len; ++i) {
    int c = i == l->len ? 1 : i == r->len ? -1 : tn_map_rank_compare(&x[i], &y[i]);
    if (c == 0) continue;
    e->missing = c < 0 ? x[i].entry->key : y[i].entry->key;
    return differ_at(e, c < 0 ? TN_EQ_NO_RHS : TN_EQ_NO_LHS, NULL);
  }
  return SAME;
}

/* By the type's own hook, which may fail where the content is on a device. */
static int compare_content(const tn_obj *l, const tn_obj *r) {
  bool before = tn_error_pending();
  if (l->type->hooks->content_equal(l, r)) return SAME;
  return !before && tn_error_pending() ? FAILED : DIFFER;
}

static int compare_objects(tn_eq *e, const tn_obj *l, const tn_obj *r, bool binding) {
  const tn_type *t = l->type;
  int c;
  if (t != r->type) return DIFFER;
  if (tn_is_leaf(l)) return tn_leaf_equal(l, r);
  if (t->hooks->content_equal) return l == r ? SAME : compare_content(l, r);
  if (t->kind == TN_KIND_FUNC || t->kind == TN_KIND_OPAQUE) return l == r;
  switch (tn_role_of(l)) {
  case TN_EQ_UNIQUE: return l == r;
  case TN_EQ_VAR:
  case TN_EQ_DAG: c = pair_once(e, l, r, binding || e->map_free); break;
  default: c = pair_by_content(e, l, r); break;
  }
  if (c != ENTER) return c;
  return t->kind == TN_KIND_MAP ? enter_maps(e, l, r, binding) : push(e, l, r, NULL, binding);
}

static int compare(tn_eq *e, tn_any a, tn_any b, bool binding) {
  a = tn_unboxed(a);
  b = tn_unboxed(b);
  e->end = TN_EQ_AT_CHILD;
  e->field = NULL;
  if (tn_any_is_obj(&a) && tn_any_is_obj(&b)) return compare_objects(e, a.v.obj, b.v.obj, binding);
  return tn_plain_equal(&a, &b);
}

/* ---- the walk ---- */

static int next_field(tn_eq *e, tn_eq_frame *f) {
  const tn_type *t = f->l->type;
  while (f->next < 2 * t->nfield) {
    const tn_field *field = tn_field_at_step(t, f->next++);
    if (!field || !tn_field_is_ref(field) || field->flags & TN_NOCMP) continue;
    tn_any a = tn_field_get(f->l, field), b = tn_field_get(f->r, field);
    if (!tn_any_is_obj(&a) ||
        tn_is_leaf(a.v.obj)) { /* compared already, or None against an object */
      if (!tn_any_is_obj(&b) || tn_is_leaf(b.v.obj)) continue;
    }
    return compare(e, a, b, f->binding || (field->flags & TN_DEF));
  }
  return ENTER;
}

static int next_entry(tn_eq *e, tn_eq_frame *f) {
  int64_t n = ((const tn_map *)f->l)->len, i = f->next++;
  if (i >= 2 * n) return ENTER;
  /* all keys come first: a value may refer to any of the variables they bind, functions of a module
     to one another */
  const tn_map_entry *x = f->ranks[i % n].entry, *y = f->ranks[n + i % n].entry;
  return i < n ? compare(e, x->key, y->key, f->binding) : compare(e, x->value, y->value, false);
}

static int next_element(tn_eq *e, tn_eq_frame *f) {
  int64_t n = tn_child_count(f->l), m = tn_child_count(f->r), i = f->next++;
  if (i < n && i < m) return compare(e, tn_child_at(f->l, i), tn_child_at(f->r, i), f->binding);
  if (n == m) return ENTER;
  e->missing = tn_any_int(i);
  return differ_at(e, n < m ? TN_EQ_NO_LHS : TN_EQ_NO_RHS, NULL);
}

int tn_eq_run(tn_eq *e, tn_any lhs, tn_any rhs) {
  int c = compare(e, lhs, rhs, false);
  if (e->depth == 0 && e->end == TN_EQ_AT_CHILD) e->end = TN_EQ_AT_ROOT;
  while (c > 0 && e->depth > 0) {
    tn_eq_frame *f = &e->frames[e->depth - 1];
    switch (f->l->type->kind) {
    case TN_KIND_NODE: c = next_field(e, f); break;
    case TN_KIND_MAP: c = next_entry(e, f); break;
    default: c = next_element(e, f); break;
    }
    if (c == ENTER) tn_free(e->frames[--e->depth].ranks); /* this pair is done */
  }
  return c < 0 ? -1 : c > 0;
}

void tn_eq_fini(tn_eq *e) {
  while (e->depth > 0) tn_free(e->frames[--e->depth].ranks);
  tn_free(e->frames);
  tn_free(e->parent);
  tn_pmap_fini(&e->met);
  tn_pmap_fini(&e->same);
}

int tn_equal_any(tn_any lhs, tn_any rhs, int flags) {
  tn_eq e = {.map_free = flags & TN_MAP_FREE_VARS, .stop_early = true};
  int c = tn_eq_run(&e, lhs, rhs);
  tn_eq_fini(&e);
  return c;
}

int tn_equal(const void *lhs, const void *rhs, int flags) {
  return tn_equal_any(tn_any_obj(lhs), tn_any_obj(rhs), flags);
}
