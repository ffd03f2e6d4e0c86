/* Relations that wait (see solver.h): each watches the unknown types it was given, and is asked
   again when one of them becomes known. Chains of any length are solved without recursion. */
#include <string.h>

#include "base/alloc.h"
#include "relay/infer/solver_impl.h"
#include "relay/type_text.h"

/* A relation and the types it was given; rel.types are these as far as they are known now. */
struct relation {
  relay_rel rel; /* its op is NULL for the field of a tuple */
  tn_Type **given;
  int64_t index; /* which field */
  bool queued, solved;
};

void relay_solver_fini(relay_solver *s) {
  for (int64_t i = 0; i < s->kept.len; ++i) tn_release(s->kept.items[i].v.obj);
  tn_vec_fini(&s->kept);
  tn_pmap_fini(&s->bound);
  tn_pmap_fini(&s->dims);
  tn_pmap_fini(&s->watch);
  tn_arena_fini(&s->arena);
  tn_free(s->watchers);
  tn_free((void *)s->queue);
  tn_buf_fini(&s->why);
}

/* ---- asking ---- */

static int unify_slot(relay_rel *r, int i, tn_Type *type) {
  relation *e = (relation *)r;
  tn_Type *j = relay_unify(r->solver, e->given[i], type, r->span);
  if (!j) return -1;
  TN_GET(r->types[i], relay_resolve(r->solver, j));
  return 0;
}

static int ask_field(relation *e) {
  relay_rel *r = &e->rel;
  const tn_TupleType *t = TN_AS(TupleType, r->types[0]);
  if (TN_AS(IncompleteType, r->types[0])) return RELAY_WAIT;
  if (!t)
    return relay_type_error(r->span, "a field is taken of what is not a tuple: it has type %s",
                            relay_type_text(r->types[0]));
  if (e->index < 0 || e->index >= t->fields->len)
    return relay_type_error(r->span, "field %lld is taken of a tuple of %lld fields: %s",
                            (long long)e->index, (long long)t->fields->len, relay_type_text(t));
  return relay_rel_result(r, tn_arr_obj(t->fields, e->index));
}

/* Nothing more comes of a relation that failed, or was given a type that is wrong already. */
static int give_up(relation *e) {
  for (int i = 0; i < e->rel.n; ++i) TN_TRY(relay_give_up(e->rel.solver, e->given[i]));
  e->solved = true;
  return RELAY_SOLVED;
}

static bool meets_error(const relay_rel *r) {
  for (int i = 0; i < r->n; ++i) {
    if (relay_is_wrong(r->solver, r->types[i])) return true;
  }
  return false;
}

static int ask(relation *e) {
  relay_rel *r = &e->rel;
  for (int i = 0; i < r->n; ++i) TN_GET(r->types[i], relay_resolve(r->solver, e->given[i]));
  if (meets_error(r)) return give_up(e);
  int known = r->op ? relay_rel_run(r) : ask_field(e);
  if (known < 0) {
    TN_TRY(relay_note_error(r->solver, r->span));
    return give_up(e);
  }
  e->solved = known == RELAY_SOLVED;
  return known;
}

/* ---- waiting ---- */

typedef struct {
  relay_solver *s;
  relation *rel;
  int err;
} watching;

static int watch(relay_solver *s, const tn_Type *t, relation *e) {
  TN_GROW(s->watchers, s->watchers_cap, s->nwatchers + 1, return -1);
  s->watchers[s->nwatchers].rel = e;
  s->watchers[s->nwatchers++].next = tn_pmap_get_int(&s->watch, t, 0);
  return tn_pmap_put_int(&s->watch, t, s->nwatchers);
}

static int watch_type(void *ctx, tn_obj *o) {
  watching *w = ctx;
  if (TN_AS(IncompleteType, o)) return watch(w->s, (const tn_Type *)o, w->rel);
  if (TN_AS(TensorType, o) || !(TN_IS(Type, o) || TN_AS(Array, o))) return 0;
  return tn_visit_children(o, watch_type, ctx);
}

static int wait(relay_solver *s, relation *e) {
  watching w = {.s = s, .rel = e};
  for (int i = 0; i < e->rel.n; ++i) TN_TRY(watch_type(&w, (tn_obj *)e->rel.types[i]));
  return 0;
}

int relay_solver_wake(relay_solver *s, const tn_Type *unknown) {
  int64_t at = tn_pmap_get_int(&s->watch, unknown, 0);
  if (!at) return 0;
  TN_TRY(tn_pmap_put_int(&s->watch, unknown, 0));
  for (; at; at = s->watchers[at - 1].next) {
    relation *e = s->watchers[at - 1].rel;
    if (e->queued || e->solved) continue;
    TN_GROW(s->queue, s->queue_cap, s->nqueue + 1, return -1);
    s->queue[s->nqueue++] = e;
    e->queued = true;
  }
  return 0;
}

int relay_solve(relay_solver *s) {
  while (s->nqueue > 0) {
    relation *e = s->queue[--s->nqueue];
    e->queued = false;
    if (e->solved) continue;
    int known = ask(e);
    if (known < 0) return -1;
    if (known == RELAY_WAIT) TN_TRY(wait(s, e));
  }
  return 0;
}

/* A relation that could not be solved at once is kept in the arena. */
static int keep_waiting(relay_solver *s, const relation *e) {
  size_t size = tn_array_bytes(0, e->rel.n, sizeof(tn_Type *));
  relation *kept;
  TN_GET(kept, tn_arena_alloc(&s->arena, sizeof *kept));
  *kept = *e;
  TN_GET(kept->given, tn_arena_alloc(&s->arena, size));
  TN_GET(kept->rel.types, tn_arena_alloc(&s->arena, size));
  memcpy((void *)kept->given, (const void *)e->given, size);
  memcpy((void *)kept->rel.types, (const void *)e->rel.types, size);
  return wait(s, kept);
}

static int relate(relay_solver *s, relation *e) {
  int known = ask(e);
  if (known < 0) return -1;
  if (known == RELAY_WAIT) TN_TRY(keep_waiting(s, e));
  return relay_solve(s);
}

int relay_relate(relay_solver *s, const tn_Op *op, const void *attrs, tn_Type *const *types, int n,
                 tn_Span *span) {
  TN_AUTOFREE tn_Type **room = tn_alloc_zero((size_t)n, 2 * sizeof *room);
  if (!room) return -1;
  memcpy((void *)room, (const void *)types, (size_t)n * sizeof *room);
  relation e = {.rel = {op, attrs, room + n, n, span, unify_slot, s}, .given = room};
  return relate(s, &e);
}

int relay_relate_field(relay_solver *s, tn_Type *tuple, int64_t index, tn_Type *field,
                       tn_Span *span) {
  tn_Type *given[2] = {tuple, field}, *now[2];
  relation e = {.rel = {NULL, NULL, now, 2, span, unify_slot, s}, .given = given, .index = index};
  return relate(s, &e);
}
