/* Functions and the global table of functions. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "object/functions.h"

tn_func *tn_func_new(tn_call call, void *self, void (*fini)(void *self)) {
  tn_func *f = tn_obj_alloc(&tn_type_Function, sizeof *f);
  if (!f) return NULL;
  f->call = call;
  f->self = self;
  f->fini = fini;
  return f;
}

int tn_func_call(tn_func *f, const tn_any *args, int32_t n, tn_any *ret) {
  TN_SCOPE(s);
  *ret = tn_any_none();
  int err = f->call(f->self, args, n, ret);
  if (err) {
    tn_any_release(ret);
    if (!tn_error_pending()) TN_RAISE(InternalError, NULL, "a function failed without saying why");
    return -1;
  }
  return 0;
}

/* The table maps names to functions; it lives as long as the process. */
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static tn_map *table;
static _Atomic uint64_t registrations;

uint64_t tn_func_generation(void) { return atomic_load(&registrations); }

/* With the write lock held. A name that was removed stays in the map with None. `*old` is an owned
 * reference to what was replaced: its finalizer may run foreign code, so not under the lock. */
static int put(const char *name, tn_func *f, int override, tn_obj **old) {
  tn_any found = tn_any_none();
  if (!table && !(table = tn_map_new())) return -1;
  if (tn_map_get(table, tn_any_cstr(name), &found) && found.type_index != TN_NONE) {
    TN_CHECK(override, TenonError, NULL,
             "Global PackedFunc %s is already registered (override=True replaces it)", name);
    *old = found.v.obj;
    tn_retain(*old);
  }
  atomic_fetch_add(&registrations, 1);
  return tn_map_set(table, tn_any_cstr(name), tn_any_obj(f));
}

int tn_func_register_obj(const char *name, tn_func *f, int override) {
  tn_obj *old = NULL;
  pthread_rwlock_wrlock(&lock);
  int err = put(name, f, override, &old);
  pthread_rwlock_unlock(&lock);
  tn_release(old);
  return err;
}

int tn_func_register(const char *name, tn_call call, void *self, void (*fini)(void *),
                     int override) {
  tn_func *f = tn_func_new(call, self, fini);
  if (!f) return -1;
  int err = tn_func_register_obj(name, f, override);
  if (err) f->fini = NULL; /* the caller keeps self when it was not taken */
  tn_release(f);
  return err;
}

tn_func *tn_func_find(const char *name) {
  tn_any found = tn_any_none();
  pthread_rwlock_rdlock(&lock);
  if (table) tn_map_get(table, tn_any_cstr(name), &found);
  tn_func *f = tn_any_is_obj(&found) ? (tn_func *)found.v.obj : NULL;
  tn_retain(f);
  pthread_rwlock_unlock(&lock);
  return f;
}

int tn_func_remove(const char *name) {
  tn_any old = tn_any_none();
  pthread_rwlock_wrlock(&lock);
  if (table) tn_map_get(table, tn_any_cstr(name), &old);
  bool found = old.type_index != TN_NONE;
  tn_retain(found ? old.v.obj : NULL); /* its finalizer may run foreign code: not under the lock */
  int err = found ? tn_map_set(table, tn_any_cstr(name), tn_any_none()) : 0;
  pthread_rwlock_unlock(&lock);
  tn_release(found ? old.v.obj : NULL);
  TN_CHECK(found, KeyError, NULL, "no global function is called %s", name);
  return err;
}

static int by_name(const void *a, const void *b) {
  return strcmp(((const tn_str *)((const tn_any *)a)->v.obj)->data,
                ((const tn_str *)((const tn_any *)b)->v.obj)->data);
}

tn_arr *tn_func_names(void) {
  TN_VEC(names);
  int err = 0;
  pthread_rwlock_rdlock(&lock);
  for (int64_t i = 0; table && i < table->len && !err; ++i) {
    if (table->entries[i].value.type_index != TN_NONE)
      err = tn_vec_push(&names, table->entries[i].key);
  }
  if (names.len) qsort(names.items, (size_t)names.len, sizeof *names.items, by_name);
  tn_arr *a = err ? NULL : tn_arr_new(names.items, names.len);
  pthread_rwlock_unlock(&lock);
  return a;
}

int tn_func_register_rows(const tn_func_row *rows, int n) {
  for (int i = 0; i < n; ++i) TN_TRY(tn_func_register(rows[i].name, rows[i].call, NULL, NULL, 0));
  return 0;
}

int tn_arg_obj(const tn_any *args, int32_t n, int32_t i, const tn_type *type, tn_obj **out) {
  *out = NULL;
  TN_CHECK(i < n, TypeError, NULL, "missing argument %d: expected %s", i, type->key);
  if (tn_any_to_obj(&args[i], NULL, out) || (*out && !tn_obj_is(*out, type))) {
    return TN_RAISE(TypeError, NULL, "argument %d: expected %s, got %s", i, type->key,
                    tn_type_key((uint32_t)args[i].type_index));
  }
  return 0;
}
