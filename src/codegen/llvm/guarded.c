/* Guarded work as errors of the library, and the processors that LLVM knows. */
#include <stdatomic.h>
#include <string.h>

#include "base/scope.h"
#include "base/text.h"
#include "codegen/llvm/cg.h"
#include "codegen/llvm/guard.h"

/* LLVM was left in the middle of something: what it shares between contexts is in no known state
   either, so this process makes no more code with it. */
static atomic_bool broken;

int cg_guard(int (*work)(void *ctx), void *ctx, bool *gave_up) {
  char text[600] = "";
  int result = -1;
  TN_CHECK(!atomic_load(&broken), CodegenError, NULL,
           "llvm: LLVM gave up earlier in this process and cannot be used in it any more: start "
           "another one");
  tn_scope_mark here = tn_scope_here();
  *gave_up = true;
  switch (cg_guard_call(work, ctx, &result, text, sizeof text)) {
  case CG_NO_MEMORY:
    tn_scope_unwind(here);
    return TN_RAISE(MemoryError, NULL, "out of memory while LLVM generated code");
  case CG_GAVE_UP:
    atomic_store(&broken, true);
    tn_scope_unwind(here);
    return TN_RAISE(CodegenError, NULL, "llvm: %s", text);
  default: *gave_up = false; return result;
  }
}

typedef struct {
  tn_call f;
  void *self;
  const tn_any *args;
  int32_t n;
  tn_any *ret;
} call;

static int do_call(void *ctx) {
  const call *c = ctx;
  return c->f(c->self, c->args, c->n, c->ret);
}

int cg_guarded_call(tn_call f, void *self, const tn_any *args, int32_t n, tn_any *ret) {
  bool gave_up;
  return cg_guard(do_call, &(call){f, self, args, n, ret}, &gave_up);
}

/* ---- processors ---- */

typedef struct {
  tn_near near;
  tn_buf *known;
} search;

static bool compare(void *ctx, const char *name) {
  search *s = ctx;
  if (strcmp(name, s->near.name) == 0) return true;
  tn_near_offer(&s->near, name);
  tn_buf_printf(s->known, "%s%s", s->known->len ? ", " : "", name);
  return false;
}

int cg_check_processor(LLVMTargetRef target, const char *triple, const char *cpu) {
  TN_BUF(known);
  search s = {.near.name = cpu, .known = &known};
  if (cg_each_processor(target, triple, compare, &s)) return 0;
  TN_TRY(tn_buf_ok(&known));
  return TN_RAISE(ValueError, NULL,
                  "unknown -mcpu '%s' for %s%s; known: native, that of this machine, and %s", cpu,
                  triple, tn_near_text(&s.near), tn_buf_cstr(&known));
}

static bool collect(void *ctx, const char *name) {
  return tn_vec_push_obj(ctx, tn_str_from(name)) != 0;
}

tn_arr *cg_processors(LLVMTargetRef target, const char *triple) {
  TN_VEC(names);
  return cg_each_processor(target, triple, collect, &names) ? NULL : tn_arr_from(&names);
}
