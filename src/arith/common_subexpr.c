/* Expressions that occur several times within one: (x + y)*2 + (x + y) has x + y twice. Constants
   and variables do not count; neither does what has an effect, nor what is inside of it. */
#include "arith/analyzer.h"
#include "arith/arith_impl.h"
#include "base/alloc.h"
#include "ir/functor.h"
#include "ir/tir_ops.h"
#include "object/functions.h"

typedef struct {
  const tn_expr *expr;
  int64_t count, next; /* next: index of another one with the same hash, or -1 */
} seen;

typedef struct {
  seen *items;
  int64_t n, cap;
  tn_map *by_hash; /* hash -> index of the newest */
  tn_vec todo;     /* nodes to visit */
  tn_pmap hashes;  /* node -> hash, from those of its operands: long sums take linear time */
} counter;

static bool counts(const tn_obj *o) {
  if (TN_IS(Var, o) || TN_AS(IntImm, o) || TN_AS(FloatImm, o) || TN_AS(StringImm, o)) return false;
  return TN_IS(PrimExpr, o);
}

typedef struct {
  const counter *c;
  uint64_t hash;
} mixer;

static int mix_child(void *ctx, tn_obj *o) {
  mixer *m = ctx;
  if (TN_IS(Span, o)) return 0;
  if (o->type_index == TN_TI_Array) return tn_visit_children(o, mix_child, ctx);
  uint64_t h = (uint64_t)tn_pmap_get_int(&m->c->hashes, o, (int64_t)o->type_index);
  m->hash = (m->hash ^ h) * UINT64_C(0x9E3779B97F4A7C15) + (m->hash >> 29);
  return 0;
}

static int note_hash(void *ctx, tn_obj *o) {
  counter *c = ctx;
  mixer m = {c, (uint64_t)o->type_index * 31};
  const tn_IntImm *i = TN_AS(IntImm, o);
  if (i) m.hash += (uint64_t)i->value * 977;
  else if (TN_IS(Var, o)) m.hash += (uint64_t)(uintptr_t)o;
  else TN_TRY(tn_visit_children(o, mix_child, &m));
  return tn_pmap_put_int(&c->hashes, o, (int64_t)m.hash);
}

static int count(counter *c, const tn_expr *e) {
  tn_any first;
  int64_t hash = tn_pmap_get_int(&c->hashes, e, 0);
  int64_t at = tn_map_get(c->by_hash, tn_any_int(hash), &first) ? first.v.i64 : -1;
  for (int64_t i = at; i >= 0; i = c->items[i].next) {
    if (arith_same(c->items[i].expr, e)) return c->items[i].count++, 0;
  }
  TN_GROW(c->items, c->cap, c->n + 1, return -1);
  c->items[c->n] = (seen){e, 1, at};
  return tn_map_set(c->by_hash, tn_any_int(hash), tn_any_int(c->n++));
}

static int push(void *ctx, tn_obj *o) { return tn_vec_push_obj(&((counter *)ctx)->todo, o); }

/* Children of a node, the first on top of the stack: of equal expressions the first is the one that
   is returned. */
static int push_children(counter *c, tn_obj *o) {
  int64_t from = c->todo.len;
  TN_TRY(tn_visit_children(o, push, c));
  for (int64_t to = c->todo.len - 1; from < to; ++from, --to) {
    tn_any first = c->todo.items[from];
    c->todo.items[from] = c->todo.items[to];
    c->todo.items[to] = first;
  }
  return 0;
}

static int run(counter *c, const tn_expr *e) {
  TN_TRY(tn_post_order(e, note_hash, c));
  TN_TRY(tn_vec_push_obj(&c->todo, e));
  while (c->todo.len > 0) {
    tn_obj *o = c->todo.items[--c->todo.len].v.obj;
    const tn_Call *call = TN_AS(Call, o);
    if (call && tir_call_effect((const tn_obj *)call->op) > TIR_EFFECT_PURE) continue;
    if (o->type_index != TN_TI_Array && !counts(o)) continue;
    if (counts(o)) TN_TRY(count(c, (const tn_expr *)o));
    TN_TRY(push_children(c, o));
  }
  return 0;
}

tn_map *arith_common_subexpr(const tn_expr *e, int64_t threshold) {
  counter c = {.by_hash = tn_scope_own(tn_map_new())};
  tn_map *out = tn_scope_own(tn_map_new());
  int err = !c.by_hash || !out || run(&c, e);
  for (int64_t i = 0; i < c.n && !err; ++i) {
    if (c.items[i].count >= threshold)
      err = tn_map_set(out, tn_any_obj(c.items[i].expr),
                       tn_any_obj(tir_i32((int32_t)c.items[i].count)));
  }
  tn_free(c.items);
  tn_vec_fini(&c.todo);
  tn_pmap_fini(&c.hashes);
  return err ? NULL : out;
}
