/* Executables: making them, and what instructions look like. */
#include "runtime/vm/executable.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "object/functions.h"

/* ---- instructions ---- */

typedef struct {
  const char *text, *operands;
} opcode_row;
#define AS_ROW(NAME, text, operands, doc) {text, operands},
static const opcode_row opcodes[] = {TN_VM_BYTECODE(AS_ROW)};
_Static_assert(TN_VM_KILL_REGISTER == 20, "the numbers of the old interface");

const char *tn_vm_operands(int64_t opcode) {
  return opcode >= 0 && opcode < TN_VM_NOPCODE ? opcodes[opcode].operands : NULL;
}
const char *tn_vm_opcode_text(int64_t opcode) {
  return opcode >= 0 && opcode < TN_VM_NOPCODE ? opcodes[opcode].text : "?";
}

int64_t tn_vm_length(const int64_t *w, int64_t left) {
  const char *operands = left > 0 ? tn_vm_operands(w[0]) : NULL;
  int64_t n = 1;
  TN_CHECK(operands, ValueError, NULL, "bytecode: unknown instruction %lld",
           (long long)(left > 0 ? w[0] : -1));
  for (; *operands && n < left; ++operands) {
    bool list = *operands == 'R' || *operands == 'I';
    int64_t more = *operands == 't' ? 3 : list ? w[n] : 1;
    if (more < 0 || more > left - n) n = left + 1; /* more than there is */
    else n += list ? more + 1 : more;
  }
  TN_CHECK(!*operands && n <= left, ValueError, NULL, "bytecode: the instruction %s is cut off",
           tn_vm_opcode_text(w[0]));
  return n;
}

int tn_vm_each_operand(int64_t *w, int (*fn)(void *ctx, char kind, int64_t *word), void *ctx) {
  const char *operands = opcodes[w[0]].operands;
  int64_t *at = w + 1;
  int stop = 0;
  for (; *operands && !stop; ++operands) {
    bool list = *operands == 'R' || *operands == 'I';
    int64_t n = *operands == 't' ? 3 : list ? *at++ : 1;
    char kind = *operands == 'R' ? 'r' : *operands == 'I' ? 'i' : *operands;
    for (int64_t i = 0; i < n && !stop; ++i) stop = fn(ctx, kind, at++);
  }
  return stop;
}

/* ---- making ---- */

tn_vm_exe *tn_vm_exe_new(void) {
  tn_vm_exe *x = tn_alloc_zero(1, sizeof *x);
  if (x && (x->func_index = tn_map_new()) && (x->prim_attrs = tn_map_new())) return x;
  if (x) tn_vm_exe_free(x);
  return NULL;
}

void tn_vm_exe_free(tn_vm_exe *x) {
  for (int64_t i = 0; i < x->nconst; ++i) tn_release(x->consts[i].value);
  tn_release(x->func_index);
  tn_release(x->prim_attrs);
  tn_free(x->devices);
  tn_free(x->funcs);
  tn_free(x->consts);
  tn_free((void *)x->prims);
  tn_arena_fini(&x->arena);
  tn_free(x);
}

static const char *copy_text(tn_vm_exe *x, const char *s) {
  return s ? tn_arena_strndup(&x->arena, s, strlen(s)) : NULL;
}

int64_t tn_vm_add_device(tn_vm_exe *x, tn_device dev, const char *scope) {
  const char *text = copy_text(x, scope ? scope : "");
  if (!text) return -1;
  TN_GROW(x->devices, x->device_cap, x->ndevice + 1, return -1);
  x->devices[x->ndevice] = (tn_vm_device){dev, text};
  return x->ndevice++;
}

int64_t tn_vm_add_const(tn_vm_exe *x, tn_tensor *value, const char *late_name, int64_t device) {
  const char *name = copy_text(x, late_name);
  if (late_name && !name) return -1;
  TN_GROW(x->consts, x->const_cap, x->nconst + 1, return -1);
  tn_retain(value);
  x->consts[x->nconst] = (tn_vm_constant){value, name, device};
  return x->nconst++;
}

int64_t tn_vm_add_primitive(tn_vm_exe *x, const char *name) {
  const char *text = copy_text(x, name);
  if (!text) return -1;
  TN_GROW(x->prims, x->prim_cap, x->nprim + 1, return -1);
  x->prims[x->nprim] = text;
  return x->nprim++;
}

int64_t tn_vm_add_function(tn_vm_exe *x, const char *name, int32_t nparam,
                           const char *const *params) {
  tn_vm_function f = {.name = copy_text(x, name), .nparam = nparam};
  int64_t n = (int64_t)nparam + 1;
  TN_CHECK(tn_vm_find(x, name) < 0, ValueError, NULL, "there are two functions %s", name);
  TN_GET(f.params, tn_arena_array(&x->arena, n, sizeof *f.params));
  TN_GET(f.param_devices, tn_arena_array(&x->arena, n, sizeof *f.param_devices));
  for (int32_t i = 0; i < nparam; ++i) TN_GET(f.params[i], copy_text(x, params[i]));
  if (!f.name) return -1;
  TN_GROW(x->funcs, x->func_cap, x->nfunc + 1, return -1);
  TN_TRY(tn_map_set(x->func_index, tn_any_cstr(name), tn_any_int(x->nfunc)));
  x->funcs[x->nfunc] = f;
  return x->nfunc++;
}

int64_t tn_vm_find(const tn_vm_exe *x, const char *name) {
  tn_any i;
  return tn_map_get(x->func_index, tn_any_cstr(name), &i) ? i.v.i64 : -1;
}

/* ---- code ---- */

typedef struct {
  const int64_t *starts; /* of the instructions, and the end */
  int64_t n, at;
} jumps;

/* From instructions to words. */
static int resolve_jump(void *ctx, char kind, int64_t *word) {
  const jumps *j = ctx;
  if (kind != 'j') return 0;
  TN_CHECK(*word > 0 && *word < j->n - j->at, ValueError, NULL,
           "bytecode: instruction %lld jumps by %lld of %lld instructions", (long long)j->at,
           (long long)*word, (long long)j->n);
  *word = j->starts[j->at + *word] - j->starts[j->at];
  return 0;
}

int tn_vm_set_code(tn_vm_exe *x, int64_t func, int32_t nreg, const int64_t *words, int64_t n) {
  tn_vm_function *f = &x->funcs[func];
  TN_AUTOFREE int64_t *starts = tn_alloc_array(n + 1, sizeof *starts);
  jumps j = {.starts = starts};
  if (!starts) return -1;
  for (int64_t at = 0; at < n;) {
    int64_t len = tn_vm_length(words + at, n - at);
    if (len < 0) return tn_error_note("in function %s, instruction %lld", f->name, (long long)j.n);
    starts[j.n++] = at;
    at += len;
  }
  starts[j.n] = n;
  TN_GET(f->code, tn_arena_array(&x->arena, n + 1, sizeof *f->code));
  if (n) memcpy(f->code, words, (size_t)n * sizeof *words);
  f->ncode = n;
  f->ninst = j.n;
  f->nreg = nreg;
  for (; j.at < j.n; ++j.at) {
    if (tn_vm_each_operand(f->code + starts[j.at], resolve_jump, &j) == 0) continue;
    return tn_error_note("in function %s", f->name);
  }
  return 0;
}
