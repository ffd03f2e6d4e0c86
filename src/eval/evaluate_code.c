/* Kept code, see evaluate_code.h: a table with a place for each hash, the newest stays. */
#include "eval/evaluate_code.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/lock.h"
#include "base/scope.h"
#include "ir/op.h"
#include "object/containers.h"
#include "object/functions.h"
#include "tenon/object.h"

enum { PLACES = 256 };

static struct {
  uint64_t hash;
  tn_arr *code; /* [function, kind of the target, module] */
} places[PLACES];
static tn_lock lock = TN_LOCK_INIT;

/* What an operator of a program computes may change: its code is not kept. */
static bool hash_of(const tn_RelayFunction *f, const tn_target *t, uint64_t *out) {
  if (ir_op_has_foreign_rules() || tn_hash(f, 0, out)) {
    tn_error_clear();
    return false;
  }
  *out = tn_hash_add(*out, tn_hash_bytes(tn_cstr(t->kind->name), tn_str_len(t->kind->name)));
  return true;
}

tn_module *evaluate_code_get(const tn_RelayFunction *f, const tn_target *t) {
  uint64_t hash;
  if (!hash_of(f, t, &hash)) return NULL;
  tn_lock_read(&lock);
  tn_arr *code = places[hash % PLACES].hash == hash ? places[hash % PLACES].code : NULL;
  tn_retain(code);
  tn_unlock(&lock);
  if (!code) return NULL;
  tn_scope_own(code);
  bool same =
      code->items[1].v.obj == (tn_obj *)t->kind && tn_equal(code->items[0].v.obj, f, 0) == 1;
  return same ? (tn_module *)code->items[2].v.obj : NULL;
}

void evaluate_code_put(const tn_RelayFunction *f, const tn_target *t, tn_module *m) {
  uint64_t hash;
  if (!hash_of(f, t, &hash)) return;
  tn_arr *code = tn_arr_of(3, f, t->kind, m);
  if (!code) return tn_error_clear();
  tn_retain(code);
  tn_lock_write(&lock);
  tn_arr *old = places[hash % PLACES].code;
  places[hash % PLACES].code = code;
  places[hash % PLACES].hash = hash;
  tn_unlock(&lock);
  tn_release(old);
}
