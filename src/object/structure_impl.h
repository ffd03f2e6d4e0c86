/* What equality, hash, JSON and repr share: children of any object by position, plain values behind
   boxes, and the order in which the entries of a map are visited. Internal to src/object. */
#ifndef TN_OBJECT_STRUCTURE_IMPL_H_
#define TN_OBJECT_STRUCTURE_IMPL_H_

#include "object/containers.h"

/** Number of positions of an object: its fields (also those that hold no object), its elements, or
    keys and values of a map in turn. 0 for leaves. */
static inline int64_t tn_child_count(const tn_obj *o) {
  switch ((tn_type_kind)o->type->kind) {
  case TN_KIND_NODE: return o->type->nfield;
  case TN_KIND_ARRAY: return ((const tn_arr *)o)->len;
  case TN_KIND_TUPLE: return ((const tn_tuple *)o)->len;
  case TN_KIND_MAP: return ((const tn_map *)o)->len * 2;
  case TN_KIND_ABSTRACT:
  case TN_KIND_STR:
  case TN_KIND_BYTES:
  case TN_KIND_SHAPE:
  case TN_KIND_FUNC:
  case TN_KIND_OPAQUE: return 0;
  }
  return 0;
}

/** The value at position i < tn_child_count(o), borrowed. */
static inline tn_any tn_child_at(const tn_obj *o, int64_t i) {
  switch ((tn_type_kind)o->type->kind) {
  case TN_KIND_NODE: return tn_field_get(o, &o->type->fields[i]);
  case TN_KIND_ARRAY: return ((const tn_arr *)o)->items[i];
  case TN_KIND_TUPLE: return ((const tn_tuple *)o)->fields[i];
  case TN_KIND_MAP: {
    const tn_map_entry *e = &((const tn_map *)o)->entries[i / 2];
    return i % 2 ? e->value : e->key;
  }
  case TN_KIND_ABSTRACT:
  case TN_KIND_STR:
  case TN_KIND_BYTES:
  case TN_KIND_SHAPE:
  case TN_KIND_FUNC:
  case TN_KIND_OPAQUE: break;
  }
  return tn_any_none();
}

/** Does the field hold objects (or any values), rather than a plain number or type? */
static inline bool tn_field_is_ref(const tn_field *f) {
  return f->kind == TN_F_REF || f->kind == TN_F_ANY;
}

/** Walks over structure take the fields that define variables first: others, the attributes of a
 * function among them, may use these. @param step below 2 * nfield
 * @return NULL: the step has no field */
static inline const tn_field *tn_field_at_step(const tn_type *t, int64_t step) {
  const tn_field *f = &t->fields[step % t->nfield];
  return ((f->flags & TN_DEF) != 0) == (step < t->nfield) ? f : NULL;
}

/** A boxed number counts as the plain one: containers may hold either. */
static inline tn_any tn_unboxed(tn_any a) {
  if (a.type_index >= TN_TI_BoxInt && a.type_index <= TN_TI_BoxFloat)
    a.v.obj->type->hooks->scalar(a.v.obj, &a);
  return a;
}

/** Role of an object. What holds nothing, the empty tuple, is as good as any other of its kind:
   where it is shared does not count. */
static inline tn_eq_role tn_role_of(const tn_obj *o) {
  const tn_type *t = o->type;
  for (uint16_t i = 0; t->role == TN_EQ_DAG && i < t->nfield; ++i) {
    if (t->fields[i].flags & TN_NOCMP) continue;
    tn_any v = tn_field_get(o, &t->fields[i]);
    bool is_list = tn_any_is_obj(&v) && v.v.obj->type->kind == TN_KIND_ARRAY;
    if (is_list ? tn_child_count(v.v.obj) > 0 : v.type_index != TN_NONE) return TN_EQ_DAG;
  }
  return t->role == TN_EQ_DAG ? TN_EQ_TREE : (tn_eq_role)t->role;
}

/** Equality of plain values (no objects): same type and same bits, but any NaN equals any other.
    0.0 and -0.0 differ, for they are different programs. */
bool tn_plain_equal(const tn_any *a, const tn_any *b);
uint64_t tn_plain_hash(const tn_any *a);
/** Content of objects that hold no others: strings, bytes, shapes. Same type. */
bool tn_leaf_equal(const tn_obj *a, const tn_obj *b);
uint64_t tn_leaf_hash(const tn_obj *a);
static inline bool tn_is_leaf(const tn_obj *o) {
  return o->type->kind == TN_KIND_STR || o->type->kind == TN_KIND_BYTES ||
         o->type->kind == TN_KIND_SHAPE;
}

/** Place of an entry in the order in which a map is visited; see map_order.c. */
typedef struct {
  const tn_map_entry *entry;
  uint64_t value;
  int32_t at; /* position in insertion order */
  uint8_t cls;
} tn_map_rank;

/** Number given to a variable or shared node that was met before, -1 for one that was not. */
typedef int64_t (*tn_number_fn)(const void *ctx, const tn_obj *o);

/** Fills `out` (one for each entry) in visiting order. @param binding variables met for the first
    time as keys become bound (a definition, or free variables map) */
void tn_map_ranks(const tn_map *m, bool binding, tn_number_fn number, const void *ctx,
                  tn_map_rank *out);
/** < 0, 0 or > 0; insertion order is not looked at. */
int tn_map_rank_compare(const tn_map_rank *a, const tn_map_rank *b);

#endif /* TN_OBJECT_STRUCTURE_IMPL_H_ */
