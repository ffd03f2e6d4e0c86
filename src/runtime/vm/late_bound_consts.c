/* Late-bound constants: those that are kept in their own file, so that large weights need not
   be part of the executable. */
#include <inttypes.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/lock.h"
#include "runtime/tensor/tensor.h"
#include "runtime/vm/executable.h"

/* Over values and names of the constants of all executables, which machines on other threads read.
 */
static tn_lock lock = TN_LOCK_INIT;

tn_tensor *tn_vm_const_now(const tn_vm_exe *x, int64_t i, const char **name) {
  tn_lock_read(&lock);
  tn_tensor *t = x->consts[i].value;
  *name = x->consts[i].name;
  tn_retain(t);
  tn_unlock(&lock);
  return t;
}

static void change(tn_vm_constant *c, const char *name, tn_tensor *t) {
  tn_lock_write(&lock);
  tn_tensor *old = c->value;
  tn_retain(c->value = t);
  c->name = name;
  tn_unlock(&lock);
  tn_release(old);
}

/* The name of constant i among late-bound ones. Owned by the scope. */
static tn_str *name_of(int64_t i) { return tn_str_fmt("const_%" PRId64, i); }

/* Constant i when it is large and not late-bound already. Owned, or NULL. */
static tn_tensor *large_const(const tn_vm_exe *x, int64_t i, int64_t byte_limit) {
  const char *late;
  tn_tensor *t = tn_vm_const_now(x, i, &late);
  if (t && !late && tn_tensor_nbytes(&t->dl) > byte_limit) return t;
  tn_release(t);
  return NULL;
}

tn_map *tn_vm_large_consts(const tn_vm_exe *x, int64_t byte_limit) {
  tn_map *m;
  int err = 0;
  TN_GETP(m, tn_map_new());
  for (int64_t i = 0; i < x->nconst && !err; ++i) {
    tn_tensor *t = large_const(x, i, byte_limit);
    tn_str *name = t ? name_of(i) : NULL;
    if (t) err = name ? tn_map_set(m, tn_any_obj(name), tn_any_obj(t)) : -1;
    tn_release(t);
  }
  if (!err) return m;
  tn_release(m);
  return NULL;
}

/* Only in the hands of one who shares the executable with nobody: that it loses them is seen. */
int tn_vm_move_consts(tn_vm_exe *x, const char *path, int64_t byte_limit) {
  tn_map *m;
  TN_GET(m, tn_vm_large_consts(x, byte_limit));
  int err = tn_params_save_file(m, path);
  for (int64_t i = 0; i < x->nconst && !err; ++i) {
    tn_str *name = name_of(i);
    const char *text;
    tn_any moved;
    if (name && !tn_map_get(m, tn_any_obj(name), &moved)) continue;
    text = name ? tn_arena_strndup(&x->arena, tn_cstr(name), name->len) : NULL;
    if (text) change(&x->consts[i], text, NULL);
    else err = -1;
  }
  tn_release(m);
  return err;
}

int tn_vm_bind_consts(tn_vm_exe *x, const tn_map *values) {
  for (int pass = 0; pass < 2; ++pass) { /* nothing changes unless all are there */
    for (int64_t i = 0; i < x->nconst; ++i) {
      const char *name;
      tn_any found;
      tn_tensor *t;
      tn_release(tn_vm_const_now(x, i, &name));
      if (!name) continue;
      TN_CHECK(tn_map_get(values, tn_any_cstr(name), &found), ValueError, NULL,
               "late-bound constants: no value for \"%s\"", name);
      TN_TRY(tn_any_to_tensor(&found, &t));
      if (pass) change(&x->consts[i], name, t);
    }
  }
  return 0;
}
