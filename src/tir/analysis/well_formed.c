/* Is a program well-formed? Every variable is defined around its uses and in one place; a block
   that has iterators uses no loop variable of the loops around it.

     for i in range(16):
         with T.block("B"):
             vi = T.axis.spatial(16, i)
             B[vi] = A[i]                  i is defined outside of the block: not well-formed

   Errors name the variable and where in the program the use and the definitions are. */
#include "base/pmap.h"
#include "ir/expr.h"
#include "ir/functor.h"
#include "object/functions.h"
#include "tir/analysis.h"
#include "tir/analysis/scope_walk.h"

typedef struct {
  bool strict;     /* a variable may not be defined again after its scope */
  tn_pmap now;     /* variable in scope -> 1 + place of its definition */
  tn_pmap before;  /* variable that was in scope -> 1 + place of its definition */
  tn_pmap loops;   /* loop variable in scope -> 1 + number of blocks with iterators around it */
  tn_pmap threads; /* variables that are thread axes: those may be launched again */
  tn_vec blocks;   /* blocks with iterators around the current place */
  tn_vec repeated; /* variables of a buffer or thread that were in scope already */
} checker;

static const char *path(const scope_walk *w, int64_t place) {
  tn_str *text = scope_walk_path(w, place);
  return text ? text->data : "?";
}

static int ill_formed(const scope_walk *w, const tn_Var *v, const char *what, int64_t first) {
  return TN_RAISE(ValueError, scope_walk_span(w),
                  "TIR is ill-formed, due to multiple %sdefinitions of variable %s.  It was first "
                  "defined at %s, and was re-defined at %s",
                  what, tn_cstr(v->name), path(w, first - 1), path(w, scope_walk_place(w)));
}

/* Parts of buffers, and thread axes, may be known already. */
static bool may_repeat(scope_kind kind) { return kind == SCOPE_BUFFER || kind == SCOPE_THREAD; }

static int define(void *ctx, const scope_walk *w, tn_Var *v, scope_kind kind) {
  checker *c = ctx;
  int64_t now = tn_pmap_get_int(&c->now, v, 0), before = tn_pmap_get_int(&c->before, v, 0);
  if (now && may_repeat(kind)) return kind == SCOPE_THREAD ? tn_vec_push_obj(&c->repeated, v) : 0;
  if (now) return ill_formed(w, v, "nested ", now);
  bool thread = kind == SCOPE_THREAD && tn_pmap_has(&c->threads, v);
  if (before && c->strict && !thread) return ill_formed(w, v, "", before);
  if (kind == SCOPE_THREAD) TN_TRY(tn_pmap_put(&c->threads, v, v));
  if (kind == SCOPE_LOOP) TN_TRY(tn_pmap_put_int(&c->loops, v, 1 + c->blocks.len));
  return tn_pmap_put_int(&c->now, v, 1 + scope_walk_place(w));
}

static int end(void *ctx, const scope_walk *w, tn_Var *v, scope_kind kind) {
  checker *c = ctx;
  (void)w;
  int64_t n = c->repeated.len;
  if (kind == SCOPE_THREAD && n > 0 && c->repeated.items[n - 1].v.obj == (tn_obj *)v) {
    c->repeated.len--; /* the outer launch goes on */
    return 0;
  }
  int64_t at = tn_pmap_get_int(&c->now, v, 0);
  if (kind == SCOPE_LOOP) TN_TRY(tn_pmap_put_int(&c->loops, v, 0));
  TN_TRY(tn_pmap_put_int(&c->now, v, 0));
  return tn_pmap_put_int(&c->before, v, at);
}

static int undefined(const checker *c, const scope_walk *w, const tn_Var *v) {
  int64_t before = tn_pmap_get_int(&c->before, v, 0);
  if (before)
    return TN_RAISE(ValueError, scope_walk_span(w),
                    "Invalid use of undefined variable %s at %s.  The variable was previously "
                    "defined at %s, but this definition is no longer in-scope.",
                    tn_cstr(v->name), path(w, scope_walk_place(w)), path(w, before - 1));
  return TN_RAISE(ValueError, scope_walk_span(w),
                  "Invalid use of undefined variable %s at %s.  It has no definition around it.",
                  tn_cstr(v->name), path(w, scope_walk_place(w)));
}

static const char *block_name(const checker *c, int64_t i) {
  return tn_cstr(((const tn_Block *)c->blocks.items[i].v.obj)->name_hint);
}

static int use(void *ctx, const scope_walk *w, tn_Var *v) {
  checker *c = ctx;
  if (!tn_pmap_get_int(&c->now, v, 0)) return undefined(c, w, v);
  int64_t outside = tn_pmap_get_int(&c->loops, v, 0) - 1;
  if (outside < 0 || outside >= c->blocks.len) return 0;
  if (outside == 0)
    return TN_RAISE(ValueError, scope_walk_span(w),
                    "Well-formedness check failed: Loop iterator var %s is defined outside of any "
                    "block, but is used inside the non-opaque current block \"%s\", at %s.",
                    tn_cstr(v->name), block_name(c, c->blocks.len - 1),
                    path(w, scope_walk_place(w)));
  return TN_RAISE(ValueError, scope_walk_span(w),
                  "Well-formedness check failed: Loop iterator var %s is defined in block \"%s\", "
                  "but is used inside the non-opaque current block \"%s\", at %s.",
                  tn_cstr(v->name), block_name(c, outside - 1), block_name(c, c->blocks.len - 1),
                  path(w, scope_walk_place(w)));
}

static int enter_block(void *ctx, const scope_walk *w, const tn_Block *b) {
  checker *c = ctx;
  (void)w;
  return b->iter_vars->len ? tn_vec_push_obj(&c->blocks, b) : 0;
}

static int leave_block(void *ctx, const scope_walk *w, const tn_Block *b) {
  checker *c = ctx;
  (void)w;
  if (b->iter_vars->len) c->blocks.len--;
  return 0;
}

static const scope_visitor visitor = {define, end, use, enter_block, leave_block};

static void free_checker(checker *c) {
  tn_pmap *tables[] = {&c->now, &c->before, &c->loops, &c->threads};
  for (int i = 0; i < TN_COUNT(tables); ++i) tn_pmap_fini(tables[i]);
  tn_vec_fini(&c->blocks);
  tn_vec_fini(&c->repeated);
}

int tir_check_well_formed(const tn_obj *program, bool strict) {
  checker c = {.strict = strict};
  const tn_IRModule *m = TN_AS(IRModule, program);
  int err = 0;
  for (int64_t i = 0; i < (m ? m->functions->len : 1) && !err; ++i) {
    const tn_obj *f = m ? m->functions->entries[i].value.v.obj : program;
    if (m && !TN_AS(PrimFunc, f)) continue;
    err = scope_walk_run(f, &visitor, &c);
    tn_pmap_fini(&c.now); /* what came with buffers of the signature */
    if (err && m)
      tn_error_note("in function %s",
                    tn_cstr(((const tn_GlobalVar *)m->functions->entries[i].key.v.obj)->name_hint));
  }
  free_checker(&c);
  return err;
}
