/* Type table: static types in blocks by layer, run-time types after them. Reads need no lock: slots
   are written once and published with release order. */
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/lock.h"
#include "object/functions.h"

enum { MAX_TYPES = TN_TYPE_MAX, NSLOTS = 8192 /* power of two, > 1.5 * MAX_TYPES */ };

static _Atomic(const tn_type *) types[MAX_TYPES], key_slots[NSLOTS], name_slots[NSLOTS];

/* Open addressing by hash; a slot is filled once and never emptied. */
typedef struct {
  _Atomic(const tn_type *) *slots;
  size_t text; /* offset in tn_type of what is looked up: key or name */
} text_index;

static const text_index by_key = {key_slots, offsetof(tn_type, key)};
static const text_index by_name = {name_slots, offsetof(tn_type, name)};
static _Atomic uint32_t end = TN_TI_BEGIN_DYNAMIC;
static tn_lock lock = TN_LOCK_INIT;

const tn_type_hooks tn_no_hooks;

const tn_type *tn_type_get(uint32_t index) {
  return index < MAX_TYPES ? atomic_load_explicit(&types[index], memory_order_acquire) : NULL;
}

uint32_t tn_type_end(void) { return atomic_load(&end); }

/* The type of a text, or NULL and `*free` is the slot where it would go. */
static const tn_type *look_up(const text_index *x, const char *text,
                              _Atomic(const tn_type *) **free) {
  size_t i = (size_t)tn_hash_bytes(text, strlen(text)) & (NSLOTS - 1);
  for (;; i = (i + 1) & (NSLOTS - 1)) {
    const tn_type *t = atomic_load_explicit(&x->slots[i], memory_order_acquire);
    *free = &x->slots[i];
    if (!t || strcmp(*(const char *const *)((const char *)t + x->text), text) == 0) return t;
  }
}

static const tn_type *find(const char *key) {
  _Atomic(const tn_type *) *free;
  return look_up(&by_key, key, &free);
}

uint32_t tn_type_find(const char *key) {
  const tn_type *t = find(key);
  return t ? t->index : 0;
}

static const char *const plain_names[] = {
    "None",   "int",      "bool", "float", "handle",          "DataType",
    "Device", "DLTensor", "str",  "bytes", "rvalue reference"};

const char *tn_type_key(uint32_t index) {
  if (index < sizeof plain_names / sizeof *plain_names) return plain_names[index];
  const tn_type *t = tn_type_get(index);
  return t ? t->key : "<unknown type>";
}

const char *tn_obj_key(const void *obj) { return obj ? ((const tn_obj *)obj)->type->key : "None"; }

bool tn_type_is(const tn_type *type, const tn_type *base) {
  for (; type; type = type->base) {
    if (type == base) return true;
  }
  return false;
}

bool tn_obj_is(const void *obj, const tn_type *type) {
  return obj && tn_type_is(((const tn_obj *)obj)->type, type);
}

const tn_type *tn_type_by_class(const char *cls) {
  _Atomic(const tn_type *) *free;
  const tn_type *t = look_up(&by_name, cls, &free);
  return t ? t : find(cls);
}

const tn_field *tn_type_field(const tn_type *type, const char *name) {
  for (uint16_t i = 0; i < type->nfield; ++i) {
    if (strcmp(type->fields[i].name, name) == 0) return &type->fields[i];
  }
  return NULL;
}

/* With the lock held. @return whether the type was added */
static bool add(const tn_type *t) {
  _Atomic(const tn_type *) *key_slot, *name_slot;
  if (t->index >= MAX_TYPES || tn_type_get(t->index) || look_up(&by_key, t->key, &key_slot))
    return false;
  atomic_store_explicit(&types[t->index], t, memory_order_release);
  atomic_store_explicit(key_slot, t, memory_order_release);
  if (t->name && !look_up(&by_name, t->name, &name_slot))
    atomic_store_explicit(name_slot, t, memory_order_release);
  if (t->index >= atomic_load(&end)) atomic_store(&end, t->index + 1);
  return true;
}

/* Why t was not added under `index`. */
static int refused(const tn_type *t, uint32_t index) {
  TN_CHECK(!find(t->key), ValueError, NULL, "type %s is already registered", t->key);
  TN_CHECK(index < MAX_TYPES, ValueError, NULL,
           "register type %s: no type index is left (%d in use)", t->key, MAX_TYPES);
  return TN_RAISE(ValueError, NULL, "register type %s: index %u belongs to %s", t->key, index,
                  tn_type_key(index));
}

int tn_type_register_table(const tn_type *const *list, int n) {
  int i = 0;
  tn_lock_write(&lock);
  while (i < n && add(list[i])) ++i;
  tn_unlock(&lock);
  return i == n ? 0 : refused(list[i], list[i]->index);
}

int tn_type_register(tn_type *t) {
  if (!t->hooks) t->hooks = &tn_no_hooks;
  tn_lock_write(&lock);
  uint32_t asked = t->index;
  if (t->index == 0) t->index = atomic_load(&end);
  uint32_t index = t->index;
  bool added = add(t);
  if (!added) t->index = asked;
  tn_unlock(&lock);
  return added ? 0 : refused(t, index);
}

/* ---- the types of this layer ---- */

static void function_fini(tn_obj *self) {
  tn_func *f = (tn_func *)self;
  if (f->fini) f->fini(f->self);
}
static const tn_type_hooks tn_function_hooks = {.fini = function_fini};

static bool box_scalar(const tn_obj *self, tn_any *out) {
  switch (self->type_index) {
  case TN_TI_BoxInt: *out = tn_any_int(((const tn_BoxInt *)self)->value); return true;
  case TN_TI_BoxBool: *out = tn_any_bool(((const tn_BoxBool *)self)->value); return true;
  case TN_TI_BoxFloat: *out = tn_any_float(((const tn_BoxFloat *)self)->value); return true;
  default: return false;
  }
}
static const tn_type_hooks tn_box_hooks = {.scalar = box_scalar};

#define AS_BUILTIN_TYPE(Name, key_, kind_, role_, hooks_, doc_)                                    \
  const tn_type tn_type_##Name = {                                                                 \
      .key = key_,                                                                                 \
      .name = #Name,                                                                               \
      .index = TN_TI_##Name,                                                                       \
      .size = sizeof(tn_obj),                                                                      \
      .base = TN_TI_##Name == TN_TI_Object ? NULL : &tn_type_Object,                               \
      .kind = TN_KIND_##kind_,                                                                     \
      .role = TN_EQ_##role_,                                                                       \
      .doc = doc_,                                                                                 \
      .hooks = &hooks_,                                                                            \
  };
TN_OBJECT_BUILTINS(AS_BUILTIN_TYPE)
#define AS_BUILTIN_ITEM(Name, key, kind, role, hooks, doc) &tn_type_##Name,
static const tn_type *const builtin_types[] = {TN_OBJECT_BUILTINS(AS_BUILTIN_ITEM)};

TN_NODES_DEFINE(TN_OBJECT_NODES, node_types)

int tn_object_types_init(void) {
  TN_TRY(tn_type_register_table(builtin_types, TN_COUNT(builtin_types)));
  TN_TRY(tn_type_register_table(node_types, TN_COUNT(node_types)));
  return 0;
}
