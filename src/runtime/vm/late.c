/* Late-bound constants: those that are kept in a file of their own, so that large weights need not
   be part of the executable. */
#include <inttypes.h>

#include "base/arena.h"
#include "base/error.h"
#include "runtime/tensor.h"
#include "runtime/vm/executable.h"

/* The name of constant i among late-bound ones. */
static tn_str *name_of(int64_t i) { return tn_str_fmt("const_%" PRId64, i); }

static bool is_large(const tn_vm_constant *c, int64_t byte_limit) {
  return c->value && !c->name && tn_tensor_nbytes(&c->value->dl) > byte_limit;
}

tn_map *tn_vm_large_consts(const tn_vm_exe *x, int64_t byte_limit) {
  tn_map *m;
  TN_GETP(m, tn_map_new());
  for (int64_t i = 0; i < x->nconst; ++i) {
    if (!is_large(&x->consts[i], byte_limit)) continue;
    tn_str *name = name_of(i);
    if (name && tn_map_set(m, tn_any_obj(name), tn_any_obj(x->consts[i].value)) == 0) continue;
    tn_release(m);
    return NULL;
  }
  return m;
}

/* Only in the hands of one who shares the executable with nobody: that it loses them is seen. */
int tn_vm_move_consts(tn_vm_exe *x, const char *path, int64_t byte_limit) {
  tn_map *m;
  TN_GET(m, tn_vm_large_consts(x, byte_limit));
  int err = tn_params_save_file(m, path);
  tn_release(m);
  TN_TRY(err);
  for (int64_t i = 0; i < x->nconst; ++i) {
    tn_vm_constant *c = &x->consts[i];
    if (!is_large(c, byte_limit)) continue;
    tn_str *name;
    TN_GET(name, name_of(i));
    TN_GET(c->name, tn_arena_strndup(&x->arena, tn_cstr(name), name->len));
    tn_release(c->value);
    c->value = NULL;
  }
  return 0;
}

int tn_vm_bind_consts(tn_vm_exe *x, const tn_map *values) {
  for (int pass = 0; pass < 2; ++pass) { /* nothing changes unless all are there */
    for (int64_t i = 0; i < x->nconst; ++i) {
      tn_vm_constant *c = &x->consts[i];
      tn_any found;
      tn_tensor *t;
      if (!c->name) continue;
      TN_CHECK(tn_map_get(values, tn_any_cstr(c->name), &found), ValueError, NULL,
               "late-bound constants: there is no value for \"%s\"", c->name);
      TN_TRY(tn_any_to_tensor(&found, &t));
      if (!pass) continue;
      tn_retain(t);
      tn_release(c->value);
      c->value = t;
    }
  }
  return 0;
}
