/* How much memory a program allocates: all of it by kind of memory, the most at one time, and its
   constants. Sizes that are not constant count as nothing. */
#include <string.h>

#include "ir/expr.h"
#include "ir/functor.h"
#include "object/functions.h"
#include "tenon/runtime.h"
#include "tir/analysis.h"

/* Number of elements, 0 when an extent is not constant. */
static int64_t count(const tn_arr *extents) {
  int64_t n = 1, extent;
  for (int64_t i = 0; i < extents->len; ++i) {
    if (!tir_as_int(tn_arr_obj(extents, i), &extent) || __builtin_mul_overflow(n, extent, &n))
      return 0;
  }
  return n;
}

static int64_t bytes_of(const tn_arr *extents, tn_dtype t) {
  int64_t bytes = (t.bits * t.lanes + 7) / 8, n = count(extents);
  return __builtin_mul_overflow(n, bytes, &n) ? 0 : n;
}

static int64_t aligned(int64_t bytes, int64_t alignment) {
  return alignment > 1 ? (bytes + alignment - 1) / alignment * alignment : bytes;
}

static const char *scope_of(const tn_Var *pointer) {
  const tn_PointerType *t = TN_AS(PointerType, pointer->type_annotation);
  return t && t->storage_scope->len ? t->storage_scope->data : "global";
}

/* ---- the most at one time ---- */

/* Is memory of this kind part of the workspace of functions for processors? */
static bool in_workspace(const char *scope) {
  return strcmp(scope, "global") == 0 || strncmp(scope, "global.workspace", 16) == 0;
}

typedef struct {
  int64_t now, most, alignment;
} workspace;

static void visit_workspace(workspace *w, const tn_stmt *s);

static int workspace_child(void *ctx, tn_obj *o) {
  if (TN_IS(Stmt, o)) visit_workspace(ctx, (const tn_stmt *)o);
  else if (o->type_index == TN_TI_Array) return tn_visit_children(o, workspace_child, ctx);
  return 0;
}

/* The body of a statement that holds just one; NULL for others. Chains of those may be long and are
   followed in a loop. */
static const tn_stmt *body_of(const tn_stmt *s) {
  switch (s->hdr.type_index) {
  case TN_TI_Allocate: return ((const tn_Allocate *)s)->body;
  case TN_TI_AllocateConst: return ((const tn_AllocateConst *)s)->body;
  case TN_TI_LetStmt: return ((const tn_LetStmt *)s)->body;
  case TN_TI_DeclBuffer: return ((const tn_DeclBuffer *)s)->body;
  case TN_TI_AttrStmt: return ((const tn_AttrStmt *)s)->body;
  case TN_TI_AssertStmt: return ((const tn_AssertStmt *)s)->body;
  default: return NULL;
  }
}

/* Allocations around each other live at the same time; those beside each other do not. */
static void visit_workspace(workspace *w, const tn_stmt *s) {
  int64_t outside = w->now;
  for (const tn_stmt *inner = s; inner; inner = body_of(s)) {
    const tn_Allocate *a = TN_AS(Allocate, inner);
    s = inner;
    if (a && in_workspace(scope_of(a->buffer_var)))
      w->now += aligned(bytes_of(a->extents, a->dtype), w->alignment);
    if (w->now > w->most) w->most = w->now;
  }
  tn_visit_children((tn_obj *)(uintptr_t)s, workspace_child, w);
  w->now = outside;
}

int64_t tir_workspace_bytes(const tn_PrimFunc *f, int64_t alignment) {
  workspace w = {.alignment = alignment};
  visit_workspace(&w, f->body);
  return w.most;
}

/* ---- constants ---- */

typedef struct {
  int64_t total, alignment;
} constants;

static int add_constant(void *ctx, tn_obj *o) {
  constants *c = ctx;
  const tn_AllocateConst *a = TN_AS(AllocateConst, o);
  if (a) c->total += aligned(bytes_of(a->extents, a->dtype), c->alignment);
  return 0;
}

int tir_constant_bytes(const tn_PrimFunc *f, int64_t alignment, int64_t *out) {
  constants c = {.alignment = alignment};
  int err = tn_post_order(f->body, add_constant, &c);
  *out = c.total;
  return err ? -1 : 0;
}

/* ---- all, by kind of memory ---- */

typedef struct {
  tn_map *now, *most; /* kind of memory -> bytes */
} by_scope;

static int64_t get_bytes(const tn_map *m, const char *scope) {
  tn_any v;
  return tn_map_get(m, tn_any_cstr(scope), &v) ? v.v.i64 : 0;
}

static int change(by_scope *b, const char *scope, int64_t bytes) {
  int64_t now = get_bytes(b->now, scope) + bytes, most = get_bytes(b->most, scope);
  TN_TRY(tn_map_set(b->now, tn_any_cstr(scope), tn_any_int(now)));
  return tn_map_set(b->most, tn_any_cstr(scope), tn_any_int(now > most ? now : most));
}

/* What a statement itself allocates comes (sign 1) or goes (-1). */
static int allocate(by_scope *b, const tn_stmt *s, int sign) {
  const tn_Allocate *a = TN_AS(Allocate, s);
  const tn_AllocateConst *k = TN_AS(AllocateConst, s);
  const tn_Block *block = TN_AS(Block, s);
  if (a) return change(b, scope_of(a->buffer_var), sign * bytes_of(a->extents, a->dtype));
  if (k) return change(b, scope_of(k->buffer_var), sign * bytes_of(k->extents, k->dtype));
  for (int64_t i = 0; block && i < block->alloc_buffers->len; ++i) {
    const tn_Buffer *buf = (const tn_Buffer *)tn_arr_obj(block->alloc_buffers, i);
    TN_TRY(change(b, tir_buffer_scope(buf), sign * bytes_of(buf->shape, buf->dtype)));
  }
  return 0;
}

static int visit_by_scope(by_scope *b, const tn_stmt *s);

static int by_scope_child(void *ctx, tn_obj *o) {
  if (TN_IS(Stmt, o)) return visit_by_scope(ctx, (const tn_stmt *)o);
  return o->type_index == TN_TI_Array ? tn_visit_children(o, by_scope_child, ctx) : 0;
}

static int visit_by_scope(by_scope *b, const tn_stmt *s) {
  TN_VEC(chain);
  for (const tn_stmt *inner = s; inner; inner = body_of(s)) {
    s = inner;
    TN_TRY(allocate(b, s, 1));
    TN_TRY(tn_vec_push_obj(&chain, s));
  }
  TN_TRY(tn_visit_children((tn_obj *)(uintptr_t)s, by_scope_child, b));
  while (chain.len > 0) TN_TRY(allocate(b, (const tn_stmt *)chain.items[--chain.len].v.obj, -1));
  return 0;
}

tn_map *tir_allocated_bytes(const tn_PrimFunc *f) {
  by_scope b = {tn_scope_own(tn_map_new()), tn_scope_own(tn_map_new())};
  tn_map *out = tn_scope_own(tn_map_new());
  if (!b.now || !b.most || !out || visit_by_scope(&b, f->body)) return NULL;
  for (int64_t i = 0; i < b.most->len; ++i) {
    tn_any n = tn_any_obj(tir_i64(b.most->entries[i].value.v.i64));
    TN_TRYP(tn_map_set(out, b.most->entries[i].key, n));
  }
  return out;
}
