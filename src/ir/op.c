/* The registry of operators. Operators and their attribute tables live as long as the process. */
#include "ir/op.h"

#include <stdlib.h>
#include <string.h>

#include "base/lock.h"
#include "ir/ir_impl.h"

static tn_lock lock = TN_LOCK_INIT;
static tn_map *by_name; /* name -> Op */
static tn_map *attrs;   /* key -> map of Op -> [value, level] */

tn_Op *ir_op_find(const char *name) {
  tn_any found = tn_any_none();
  tn_lock_read(&lock);
  if (by_name) tn_map_get(by_name, tn_any_cstr(name), &found);
  tn_unlock(&lock);
  return tn_any_is_obj(&found) ? (tn_Op *)found.v.obj : NULL;
}

tn_Op *ir_op_get(const char *name) {
  tn_Op *op = ir_op_find(name);
  TN_CHECKP(op, AttributeError, NULL, "Operator %s is not registered", name);
  return op;
}

/* With the write lock held. */
static tn_Op *add(const char *name) {
  tn_any found;
  if (!by_name && !(by_name = tn_map_new())) return NULL;
  if (tn_map_get(by_name, tn_any_cstr(name), &found)) return (tn_Op *)found.v.obj;
  tn_str *text = tn_str_from(name), *none = tn_str_from("");
  tn_Op *op = TN_NEW(Op, .name = text, .description = none, .attrs_type_key = none,
                     .arguments = tn_arr_of(0), .num_inputs = -1, .support_level = 10,
                     .index = tn_map_len(by_name));
  return op && tn_map_set(by_name, tn_any_obj(text), tn_any_obj(op)) == 0 ? op : NULL;
}

tn_Op *ir_op_declare(const char *name) {
  TN_SCOPE(s);
  tn_lock_write(&lock);
  tn_Op *op = add(name);
  tn_unlock(&lock);
  return op;
}

static int by_text(const void *a, const void *b) {
  return strcmp(tn_cstr((const tn_str *)((const tn_any *)a)->v.obj),
                tn_cstr((const tn_str *)((const tn_any *)b)->v.obj));
}

tn_arr *ir_op_names(void) {
  TN_VEC(v);
  int err = 0;
  tn_lock_read(&lock);
  for (int64_t i = 0; by_name && i < by_name->len && !err; ++i)
    err = tn_vec_push(&v, by_name->entries[i].key);
  tn_unlock(&lock);
  if (err) return NULL;
  if (v.len) qsort(v.items, (size_t)v.len, sizeof *v.items, by_text);
  return tn_arr_from(&v);
}

/* ---- attributes ---- */

/* The table of a key, made if `make`; with the lock held. */
static tn_map *table_of(const char *key, bool make) {
  tn_any found;
  if (attrs && tn_map_get(attrs, tn_any_cstr(key), &found)) return (tn_map *)found.v.obj;
  if (!make || (!attrs && !(attrs = tn_map_new()))) return NULL;
  tn_map *t = tn_scope_own(tn_map_new());
  return t && tn_map_set(attrs, tn_any_cstr(key), tn_any_obj(t)) == 0 ? t : NULL;
}

/* [value, level] of an operator, or NULL; with the lock held. */
static const tn_arr *entry_of(const tn_Op *op, const char *key) {
  tn_any found;
  tn_map *t = table_of(key, false);
  return t && tn_map_get(t, tn_any_obj(op), &found) && tn_any_is_obj(&found)
             ? (const tn_arr *)found.v.obj
             : NULL;
}

/* With the write lock held; *old keeps the replaced entry alive until the lock is free again. */
static int set_attr(tn_Op *op, const char *key, tn_any value, int64_t level, tn_arr **old) {
  const tn_arr *had = entry_of(op, key);
  if (had && had->items[1].v.i64 > level) return 0;
  TN_CHECK(!had || had->items[1].v.i64 != level, TenonError, NULL,
           "Attribute %s of %s is already registered with same plevel=%lld", key, tn_cstr(op->name),
           (long long)level);
  tn_any pair[2] = {value, tn_any_int(level)};
  tn_arr *entry = tn_scope_own(tn_arr_new(pair, 2));
  tn_map *t = entry ? table_of(key, true) : NULL;
  if (!t) return -1;
  tn_retain(had);
  *old = (tn_arr *)(uintptr_t)had;
  return tn_map_set(t, tn_any_obj(op), tn_any_obj(entry));
}

/* Rules for making code come from programs only: those of the library are tables. */
static _Atomic bool foreign_rules;

static bool is_rule(const char *key) {
  return strstr(key, "FLowerIntrinsic") || strstr(key, "FLegalize");
}

/* Looks whether there are any, after one came or went; with the write lock held. */
static void count_rules(const char *key) {
  bool found = false;
  if (!is_rule(key)) return;
  for (int64_t i = 0; attrs && i < attrs->len && !found; ++i) {
    const tn_map *t = (const tn_map *)attrs->entries[i].value.v.obj;
    if (!is_rule(tn_cstr((const tn_str *)attrs->entries[i].key.v.obj))) continue;
    for (int64_t k = 0; k < t->len && !found; ++k) found = tn_any_is_obj(&t->entries[k].value);
  }
  foreign_rules = found;
}

int ir_op_set_attr(tn_Op *op, const char *key, tn_any value, int64_t level) {
  TN_SCOPE(s);
  tn_arr *old = NULL;
  TN_CHECK(level > 0, TenonError, NULL, "plevel in set_attr must be greater than 0, got %lld",
           (long long)level);
  tn_lock_write(&lock);
  int err = set_attr(op, key, value, level, &old);
  count_rules(key);
  tn_unlock(&lock);
  tn_release(old);
  return err;
}

int ir_op_reset_attr(tn_Op *op, const char *key) {
  tn_lock_write(&lock);
  const tn_arr *had = entry_of(op, key);
  tn_retain(had);
  int err = had ? tn_map_set(table_of(key, false), tn_any_obj(op), tn_any_none()) : 0;
  count_rules(key);
  tn_unlock(&lock);
  tn_release(had);
  return err;
}

bool ir_op_attr(const tn_Op *op, const char *key, tn_any *out) {
  tn_lock_read(&lock);
  const tn_arr *had = entry_of(op, key);
  *out = had ? had->items[0] : tn_any_none();
  tn_unlock(&lock);
  return had != NULL;
}

bool ir_op_has_foreign_rules(void) { return foreign_rules; }

/* ---- saved by name ---- */

const char *ir_op_name(const tn_obj *self) { return tn_cstr(((const tn_Op *)self)->name); }

tn_obj *ir_op_from_name(const char *name) {
  tn_Op *op = ir_op_get(name);
  tn_retain(op);
  return (tn_obj *)op;
}
