/* Functions and the global table of functions. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/lock.h"
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

/* The table maps names to functions; it lives as long as the process. A name that was removed stays
   in it with None until there are too many of those. */
static tn_lock lock = TN_LOCK_INIT;
static tn_map *table;
static int64_t nremoved;
static _Atomic uint64_t registrations;

uint64_t tn_func_generation(void) { return atomic_load(&registrations); }

/* A copy of the table without the removed names, or NULL. */
static tn_map *without_removed(void) {
  tn_map *m = tn_map_new();
  for (int64_t i = 0; m && i < table->len; ++i) {
    const tn_map_entry *e = &table->entries[i];
    if (e->value.type_index == TN_NONE || tn_map_set(m, e->key, e->value) == 0) continue;
    tn_release(m);
    m = NULL;
  }
  return m;
}

/* With the write lock held: sets a name to a function, or to None. `*old` is what was there, owned.
   @return 0, 1 when the name is taken and override is 0, or -1 (MemoryError) */
static int put(tn_any name, tn_any value, int override, tn_any *old) {
  *old = tn_any_none();
  if (!table && !(table = tn_map_new())) return -1;
  bool known = tn_map_get(table, name, old);
  if (old->type_index != TN_NONE && !override) {
    *old = tn_any_none();
    return 1;
  }
  if (tn_any_is_obj(old)) tn_retain(old->v.obj);
  if (tn_map_set(table, name, value)) return -1;
  if (known && old->type_index == TN_NONE) --nremoved;
  if (value.type_index == TN_NONE) ++nremoved;
  atomic_fetch_add(&registrations, 1);
  return 0;
}

int tn_func_register_obj(const char *name, tn_func *f, int override) {
  tn_any old;
  tn_error_clear(); /* here, so that nothing has to be cleared under the lock */
  tn_lock_write(&lock);
  int err = put(tn_any_cstr(name), tn_any_obj(f), override, &old);
  tn_unlock(&lock);
  tn_any_release(&old);
  TN_CHECK(err != 1, TenonError, NULL,
           "Global PackedFunc %s is already registered (override=True replaces it)", name);
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
  tn_lock_read(&lock);
  if (table) tn_map_get(table, tn_any_cstr(name), &found);
  tn_func *f = tn_any_is_obj(&found) ? (tn_func *)found.v.obj : NULL;
  tn_retain(f);
  tn_unlock(&lock);
  return f;
}

/* With the write lock held: the table to release, or NULL. */
static tn_map *compact(void) {
  tn_map *old = table, *m = nremoved > 64 && nremoved > table->len / 2 ? without_removed() : NULL;
  if (!m) return NULL; /* also when there is no memory: later, then */
  table = m;
  nremoved = 0;
  return old;
}

int tn_func_remove(const char *name) {
  tn_any old = tn_any_none();
  tn_map *replaced = NULL;
  int err = 0;
  tn_error_clear();
  tn_lock_write(&lock);
  bool found = table && tn_map_get(table, tn_any_cstr(name), &old) && old.type_index != TN_NONE;
  old = tn_any_none();
  if (found) err = put(tn_any_cstr(name), tn_any_none(), 1, &old);
  if (found && !err) replaced = compact();
  tn_unlock(&lock);
  tn_release(replaced);
  tn_any_release(&old);
  TN_CHECK(found, KeyError, NULL, "no global function is called %s", name);
  if (!err) tn_error_clear();
  return err;
}

static int by_name(const void *a, const void *b) {
  return strcmp(((const tn_str *)((const tn_any *)a)->v.obj)->data,
                ((const tn_str *)((const tn_any *)b)->v.obj)->data);
}

tn_arr *tn_func_names(void) {
  TN_VEC(names);
  int err = 0;
  tn_error_clear();
  tn_lock_read(&lock);
  for (int64_t i = 0; table && i < table->len && !err; ++i) {
    if (table->entries[i].value.type_index != TN_NONE)
      err = tn_vec_push(&names, table->entries[i].key);
  }
  if (names.len) qsort(names.items, (size_t)names.len, sizeof *names.items, by_name);
  tn_arr *a = err ? NULL : tn_arr_new(names.items, names.len);
  tn_unlock(&lock);
  return a;
}

int tn_func_register_rows(const tn_func_row *rows, int n) {
  for (int i = 0; i < n; ++i) TN_TRY(tn_func_register(rows[i].name, rows[i].call, NULL, NULL, 0));
  return 0;
}

int tn_arg_obj(const tn_any *args, int32_t n, int32_t i, const tn_type *type, tn_obj **out) {
  *out = NULL;
  TN_CHECK(i < n, TypeError, NULL, "missing argument %d: expected %s", i, type->key);
  if (tn_any_to_obj(&args[i], NULL, out) || !tn_obj_is(*out, type)) {
    return TN_RAISE(TypeError, NULL, "argument %d: expected %s, got %s", i, type->key,
                    tn_type_key((uint32_t)args[i].type_index));
  }
  return 0;
}

static bool is_absent(const tn_any *args, int32_t n, int32_t i) {
  return i >= n || args[i].type_index == TN_NONE;
}

int tn_arg_opt(const tn_any *args, int32_t n, int32_t i, const tn_type *type, tn_obj **out) {
  *out = NULL;
  return is_absent(args, n, i) ? 0 : tn_arg_obj(args, n, i, type, out);
}

int tn_arg_items(const tn_any *args, int32_t n, int32_t i, const char *cls, bool optional,
                 tn_obj **out) {
  *out = NULL;
  if (optional && is_absent(args, n, i)) return 0;
  TN_TRY(tn_arg_obj(args, n, i, tn_class_type(cls), out));
  tn_any value = tn_any_obj(*out);
  tn_retain(*out);
  if (tn_class_convert(&value, cls)) {
    tn_any_release(&value);
    return tn_error_prefix("argument %d: ", i);
  }
  if (value.v.obj == *out) tn_any_release(&value);
  else *out = tn_scope_own(value.v.obj);
  return *out ? 0 : -1;
}
