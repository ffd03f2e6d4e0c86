/* Type table: static types in blocks by layer, run-time types after them. Reads need no lock: slots
   are written once and published with release order. */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "object/functions.h"

enum { MAX_TYPES = TN_TYPE_MAX, NKEYS = 8192 /* power of two, > 1.5 * MAX_TYPES */ };

static _Atomic(const tn_type *) types[MAX_TYPES];
static _Atomic(const tn_type *) by_key[NKEYS];
static _Atomic(const tn_type *) by_name[NKEYS]; /* rows of tables only */
static _Atomic uint32_t end = TN_TI_BEGIN_DYNAMIC;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

const tn_type_hooks tn_no_hooks;

const tn_type *tn_type_get(uint32_t index) {
  return index < MAX_TYPES ? atomic_load_explicit(&types[index], memory_order_acquire) : NULL;
}

uint32_t tn_type_end(void) { return atomic_load(&end); }

/* The slot that holds `key`, or a row's name, or where it goes. */
static _Atomic(const tn_type *) *slot_of(_Atomic(const tn_type *) *table, const char *key) {
  size_t i = (size_t)tn_hash_bytes(key, strlen(key)) & (NKEYS - 1);
  for (;; i = (i + 1) & (NKEYS - 1)) {
    const tn_type *t = atomic_load_explicit(&table[i], memory_order_acquire);
    if (!t || strcmp(table == by_key ? t->key : t->name, key) == 0) return &table[i];
  }
}

static const tn_type *find(const char *key) {
  return atomic_load_explicit(slot_of(by_key, key), memory_order_acquire);
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

/* Classes of fields are row names. */
const tn_type *tn_type_by_class(const char *cls) {
  const tn_type *t = find(cls);
  return t ? t : atomic_load_explicit(slot_of(by_name, cls), memory_order_acquire);
}

const tn_field *tn_type_field(const tn_type *type, const char *name) {
  for (uint16_t i = 0; i < type->nfield; ++i) {
    if (strcmp(type->fields[i].name, name) == 0) return &type->fields[i];
  }
  return NULL;
}

/* With the lock held. */
static int add(const tn_type *t) {
  TN_CHECK(t->index < MAX_TYPES, ValueError, NULL,
           "register type %s: no type index is left (%d in use)", t->key, MAX_TYPES);
  const tn_type *old = tn_type_get(t->index);
  TN_CHECK(!old, ValueError, NULL, "register type %s: index %u belongs to %s", t->key, t->index,
           old->key);
  _Atomic(const tn_type *) *slot = slot_of(by_key, t->key);
  TN_CHECK(!atomic_load(slot), ValueError, NULL, "type %s is already registered", t->key);
  atomic_store_explicit(&types[t->index], t, memory_order_release);
  atomic_store_explicit(slot, t, memory_order_release);
  slot = t->name ? slot_of(by_name, t->name) : NULL;
  if (slot && !atomic_load(slot)) atomic_store_explicit(slot, t, memory_order_release);
  if (t->index >= atomic_load(&end)) atomic_store(&end, t->index + 1);
  return 0;
}

int tn_type_register_table(const tn_type *const *list, int n) {
  int err = 0;
  pthread_mutex_lock(&lock);
  for (int i = 0; i < n && !err; ++i) err = add(list[i]);
  pthread_mutex_unlock(&lock);
  return err;
}

int tn_type_register(tn_type *t) {
  if (!t->hooks) t->hooks = &tn_no_hooks;
  pthread_mutex_lock(&lock);
  if (t->index == 0) t->index = atomic_load(&end);
  int err = add(t);
  if (err) t->index = 0;
  pthread_mutex_unlock(&lock);
  return err;
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
