/* Boxed scalars and opaque objects. */
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "object/containers.h"

/* set when the layer above starts, which may be while other threads make nodes */
static _Atomic(int (*)(tn_any *value, const char *cls)) box_hook;

void tn_set_scalar_box(int (*box)(tn_any *value, const char *cls)) {
  atomic_store_explicit(&box_hook, box, memory_order_release);
}

static tn_obj *box(const tn_any *value) {
  if (value->type_index == TN_INT) {
    tn_BoxInt *b = tn_obj_alloc(&tn_type_BoxInt, sizeof *b);
    if (b) b->value = value->v.i64;
    return (tn_obj *)b;
  }
  if (value->type_index == TN_BOOL) {
    tn_BoxBool *b = tn_obj_alloc(&tn_type_BoxBool, sizeof *b);
    if (b) b->value = value->v.i64 != 0;
    return (tn_obj *)b;
  }
  if (value->type_index == TN_FLOAT) {
    tn_BoxFloat *b = tn_obj_alloc(&tn_type_BoxFloat, sizeof *b);
    if (b) b->value = value->v.f64;
    return (tn_obj *)b;
  }
  return TN_RAISEP(TypeError, NULL, "expected an object, got %s",
                   tn_type_key((uint32_t)value->type_index));
}

int tn_scalar_box(tn_any *value, const char *cls) {
  int (*hook)(tn_any *, const char *) = atomic_load_explicit(&box_hook, memory_order_acquire);
  if (hook) return hook(value, cls);
  tn_obj *o = box(value);
  *value = tn_any_obj(o);
  return o ? 0 : -1;
}

/* ---- opaque objects ---- */

typedef struct {
  tn_obj hdr;
  void *ptr;
  void (*fini)(void *ptr);
} opaque;

static void opaque_fini(tn_obj *self) {
  opaque *o = (opaque *)self;
  if (o->fini) o->fini(o->ptr);
}
static const tn_type_hooks opaque_hooks = {.fini = opaque_fini};

/* Registers the type of a key; another thread may be faster. NULL with an error. */
static const tn_type *new_opaque_type(const char *key) {
  tn_type *t = tn_alloc_zero(1, sizeof *t); /* lives as long as the process, as every type does */
  char *name = t ? tn_strdup(key) : NULL;
  if (name) {
    *t = (tn_type){.key = name,
                   .size = sizeof(opaque),
                   .base = &tn_type_Object,
                   .kind = TN_KIND_OPAQUE,
                   .role = TN_EQ_UNIQUE,
                   .doc = "object made outside the library",
                   .hooks = &opaque_hooks};
    if (tn_type_register(t) == 0) return t;
  }
  tn_free(name);
  tn_free(t);
  const tn_type *found = tn_type_get(tn_type_find(key));
  if (found) tn_error_clear();
  return found;
}

static const tn_type *opaque_type(const char *key) {
  const tn_type *found = tn_type_get(tn_type_find(key));
  return found ? found : new_opaque_type(key);
}

tn_obj *tn_opaque_new(const char *key, void *ptr, void (*fini)(void *)) {
  const tn_type *t = opaque_type(key);
  if (!t) return NULL;
  TN_CHECKP(t->hooks == &opaque_hooks, TypeError, NULL, "type %s is not opaque", key);
  opaque *o = tn_obj_alloc(t, sizeof *o);
  if (!o) return NULL;
  o->ptr = ptr;
  o->fini = fini;
  return &o->hdr;
}

void *tn_opaque_get(const tn_obj *obj, const char *key) {
  if (!obj || obj->type->hooks != &opaque_hooks || strcmp(obj->type->key, key) != 0) return NULL;
  return ((const opaque *)obj)->ptr;
}
