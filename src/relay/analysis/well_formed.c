/* Is a program well formed: every variable bound once, and used only where it is bound? The walk
   keeps its own stack, so let chains may be long. */
#include "base/alloc.h"
#include "ir/functor.h"
#include "relay/analysis/analysis.h"

typedef struct {
  const tn_obj *expr;
  int64_t next, mark; /* next operand; number of variables in scope when it was entered */
} frame;

typedef struct {
  tn_pmap visited;
  tn_pmap here, ever; /* Ids in scope now; Ids bound anywhere so far */
  tn_pmap unbound;    /* Ids used without being in scope */
  tn_vec scope;       /* Ids in scope, in order */
  frame *frames;
  int64_t depth, cap;
  bool bad;
} checker;

static void checker_fini(checker *c) {
  tn_pmap_fini(&c->visited);
  tn_pmap_fini(&c->here);
  tn_pmap_fini(&c->ever);
  tn_pmap_fini(&c->unbound);
  tn_vec_fini(&c->scope);
  tn_free(c->frames);
}

static bool has(const tn_pmap *m, const void *id) { return tn_pmap_get_int(m, id, 0) != 0; }

static int bind(checker *c, const tn_RelayVar *v) {
  const void *id = v->vid;
  if (has(&c->ever, id) || has(&c->unbound, id)) c->bad = true;
  TN_TRY(tn_pmap_put_int(&c->ever, id, 1));
  TN_TRY(tn_pmap_put_int(&c->here, id, 1));
  return tn_vec_push_obj(&c->scope, id);
}

static int use(checker *c, const tn_RelayVar *v) {
  if (has(&c->here, v->vid)) return 0;
  if (has(&c->ever, v->vid)) c->bad = true;
  return tn_pmap_put_int(&c->unbound, v->vid, 1);
}

/* Variables bound since `mark` leave the scope. */
static int leave(checker *c, int64_t mark) {
  while (c->scope.len > mark)
    TN_TRY(tn_pmap_put_int(&c->here, c->scope.items[--c->scope.len].v.obj, 0));
  return 0;
}

static int bind_pattern(void *ctx, tn_obj *p) {
  return TN_AS(PatternVar, p) ? bind(ctx, ((const tn_PatternVar *)p)->var) : 0;
}

static int enter(checker *c, const tn_obj *e) {
  const tn_RelayFunction *f = TN_AS(RelayFunction, e);
  if (TN_AS(RelayVar, e)) return use(c, (const tn_RelayVar *)e);
  if (has(&c->visited, e)) return 0;
  TN_TRY(tn_pmap_put_int(&c->visited, e, 1));
  TN_GROW(c->frames, c->cap, c->depth + 1, return -1);
  c->frames[c->depth++] = (frame){e, 0, c->scope.len};
  for (int64_t i = 0; f && i < f->params->len; ++i)
    TN_TRY(bind(c, (const tn_RelayVar *)tn_arr_obj(f->params, i)));
  return TN_AS(RelayLet, e) ? bind(c, ((const tn_RelayLet *)e)->var) : 0;
}

/* The variables of a clause are in scope in its result only. */
static int before(checker *c, const frame *top, int64_t i) {
  const tn_Match *m = TN_AS(Match, top->expr);
  if (!m || i == 0) return 0;
  TN_TRY(leave(c, top->mark));
  return tn_post_order(((const tn_Clause *)tn_arr_obj(m->clauses, i - 1))->lhs, bind_pattern, c);
}

int relay_well_formed(const void *expr) {
  __attribute__((cleanup(checker_fini))) checker c = {0};
  TN_TRY(enter(&c, expr));
  while (c.depth > 0 && !c.bad) {
    frame *top = &c.frames[c.depth - 1];
    const tn_obj *child = relay_operand(top->expr, top->next);
    if (!child) {
      TN_TRY(leave(&c, top->mark));
      --c.depth;
      continue;
    }
    TN_TRY(before(&c, top, top->next++));
    TN_TRY(enter(&c, child));
  }
  return !c.bad;
}
