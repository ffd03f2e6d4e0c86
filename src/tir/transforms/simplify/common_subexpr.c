/* Expressions that are computed several times are computed once, as high up as their variables
   allow.

     for i in range(8):                         for i in range(8):
       B[i * 4 + n] = A[i * 4 + n]         ->     cse_var_1 = i * 4 + n
                                                  B[cse_var_1] = A[cse_var_1]

   Arguments: whether to do anything (default true); whether expressions that simplify to the same
   one count as equal (default: option tir.enable_equiv_terms_in_cse_tir). Not taken are what reads
   memory or calls functions, vectors of neighbouring lanes, which loads and stores want to see, and
   divisions that may fail. Last of the lowering passes.

   Every distinct expression is a term. Terms count their occurrences and note the innermost place
   that holds them all; a term that becomes a variable occurs in it once. Going from large terms to
   small ones this takes time linear in the program. */
#include "arith/analyzer.h"
#include "base/alloc.h"
#include "base/arena.h"
#include "base/hash.h"
#include "tir/transforms/transforms.h"

#include <stdlib.h>

enum { MAX_VARS = 256 }; /* bindings at one place: statements nest */

/* A place where bindings can be put: a body in which more variables are known than outside, or
   that is executed under a condition. */
typedef struct place {
  struct place *up;
  int64_t depth;
  struct place
      *barrier; /* innermost conditional place, itself included; the function's otherwise */
  tn_vec terms; /* that become variables here, large ones first (term, as addresses) */
} place;

typedef struct term {
  struct term *next; /* of the same hash */
  tn_expr *expr;
  struct term *kids[3];
  uint64_t hash;
  int64_t size, count;
  place *lca, *def; /* def: where the innermost of its variables is known */
  tn_Var *var;
  tn_expr *rewritten;
} term;

typedef struct {
  tn_arena arena;
  tn_pmap by_node; /* tn_expr -> term, or the eliminator itself for what is none */
  tn_pmap defs;    /* tn_Var -> place */
  tn_pmap *never;  /* variables with which nothing is taken */
  term **table, **terms;
  int64_t cap, nterms, room;
  place **places; /* in order of visits: the same when counting and when rewriting */
  int64_t nplaces, proom, at;
  place *here;
  int64_t names;
  bool rewriting, again, not_ssa;
} cse;

/* ---- terms ---- */

static bool is_leaf(const tn_expr *e) {
  return TN_IS(IntImm, e) || TN_IS(FloatImm, e) || TN_IS(Var, e);
}

static bool divides(const tn_expr *e) {
  return TN_IS(Div, e) || TN_IS(Mod, e) || TN_IS(FloorDiv, e) || TN_IS(FloorMod, e);
}

/* The operands of what may be part of a term; their number, or -1. */
static int operands(const tn_expr *e, tn_expr *kids[3]) {
  const tn_BinaryOp *b = TN_AS_BINARY(e);
  const tn_Select *s = TN_AS(Select, e);
  int64_t d;
  if (b && divides(e) && ir_is_integral(ir_with_lanes(e->dtype, 1)) &&
      !(tir_as_int((tn_obj *)b->b, &d) && d != 0))
    return -1;
  if (b) return kids[0] = b->a, kids[1] = b->b, 2;
  if (s) return kids[0] = s->condition, kids[1] = s->true_value, kids[2] = s->false_value, 3;
  if (TN_IS(Cast, e)) return kids[0] = ((const tn_Cast *)e)->value, 1;
  if (TN_IS(Not, e)) return kids[0] = ((const tn_Not *)e)->a, 1;
  return is_leaf(e) ? 0 : -1;
}

static uint64_t hash_term(const tn_expr *e, term *const kids[3], int n) {
  uint64_t h = tn_hash_add(e->hdr.type_index, ((uint64_t)e->dtype.code << 32) ^
                                                  ((uint64_t)e->dtype.bits << 16) ^ e->dtype.lanes);
  for (int i = 0; i < n; ++i) h = tn_hash_add(h, (uint64_t)(uintptr_t)kids[i]);
  if (TN_IS(Var, e)) return tn_hash_add(h, (uint64_t)(uintptr_t)e);
  if (TN_IS(IntImm, e)) return tn_hash_add(h, (uint64_t)((const tn_IntImm *)e)->value);
  return h;
}

static bool same_term(const term *t, const tn_expr *e, term *const kids[3], int n) {
  if (t->expr->hdr.type_index != e->hdr.type_index || !tn_dtype_eq(t->expr->dtype, e->dtype))
    return false;
  if (n == 0) return TN_IS(Var, e) ? t->expr == e : arith_same(t->expr, e);
  for (int i = 0; i < n; ++i)
    if (t->kids[i] != kids[i]) return false;
  return true;
}

static int grow_table(cse *x) {
  int64_t cap = x->cap ? x->cap * 2 : 1024;
  term **more = tn_alloc_array(cap, sizeof(term *));
  if (!more) return -1;
  for (int64_t i = 0; i < cap; ++i) more[i] = NULL;
  for (int64_t i = 0; i < x->nterms; ++i) {
    term **slot = &more[x->terms[i]->hash & (uint64_t)(cap - 1)];
    x->terms[i]->next = *slot, *slot = x->terms[i];
  }
  tn_free(x->table);
  x->table = more, x->cap = cap;
  return 0;
}

static int add_term(cse *x, term *t) {
  if (x->nterms == x->room) {
    int64_t room = x->room ? x->room * 2 : 1024;
    term **more = tn_realloc_array(x->terms, room, sizeof(term *));
    if (!more) return -1;
    x->terms = more, x->room = room;
  }
  if (x->nterms >= x->cap) TN_TRY(grow_table(x));
  x->terms[x->nterms++] = t;
  term **slot = &x->table[t->hash & (uint64_t)(x->cap - 1)];
  t->next = *slot, *slot = t;
  return 0;
}

static place *deeper(place *a, place *b) { return a->depth > b->depth ? a : b; }

static term *intern(cse *x, tn_expr *e, term *const kids[3], int n) {
  uint64_t h = hash_term(e, kids, n);
  for (term *t = x->cap ? x->table[h & (uint64_t)(x->cap - 1)] : NULL; t; t = t->next)
    if (t->hash == h && same_term(t, e, kids, n)) return t;
  term *t;
  TN_GETP(t, tn_arena_alloc(&x->arena, sizeof *t));
  *t = (term){.expr = e, .hash = h, .size = 1, .def = x->places[0]};
  if (TN_IS(Var, e) && tn_pmap_has(&x->defs, e)) t->def = tn_pmap_get(&x->defs, e);
  for (int i = 0; i < n; ++i) {
    t->kids[i] = kids[i];
    t->size += kids[i]->size;
    t->def = deeper(t->def, kids[i]->def);
  }
  TN_TRYP(add_term(x, t));
  return t;
}

/* The term of an expression: NULL when it is none; *err is set when an error is pending. */
static term *term_of(cse *x, tn_expr *e, int depth, bool *err) {
  tn_expr *operand[3];
  term *kids[3] = {NULL, NULL, NULL}, *t = tn_pmap_get(&x->by_node, e);
  if (t) return (void *)t == (void *)x ? NULL : t;
  int n = depth > 200 ? -1 : operands(e, operand);
  for (int i = 0; i < n && !*err; ++i) {
    kids[i] = term_of(x, operand[i], depth + 1, err);
    if (!kids[i]) n = -1;
  }
  if (TN_IS(Var, e) && tn_pmap_has(x->never, e)) n = -1;
  if (n >= 0 && !*err) {
    t = intern(x, e, kids, n);
    if (!t) *err = true;
  }
  if (!*err && tn_pmap_put(&x->by_node, e, t ? (void *)t : (void *)x)) *err = true;
  return *err ? NULL : t;
}

/* ---- places ---- */

static place *meet(place *a, place *b) {
  if (!a) return b;
  while (a != b) {
    if (a->depth >= b->depth) {
      a = a->up;
    } else {
      b = b->up;
    }
  }
  return a;
}

static int enter(cse *x, bool conditional) {
  if (x->rewriting) {
    x->here = x->places[x->at++];
    return 0;
  }
  if (x->nplaces == x->proom) {
    int64_t room = x->proom ? x->proom * 2 : 64;
    place **more = tn_realloc_array(x->places, room, sizeof(place *));
    if (!more) return -1;
    x->places = more, x->proom = room;
  }
  place *p;
  TN_GET(p, tn_arena_alloc(&x->arena, sizeof *p));
  *p = (place){.up = x->here, .depth = x->here ? x->here->depth + 1 : 0};
  p->barrier = conditional || !x->here ? p : x->here->barrier;
  x->places[x->nplaces++] = x->here = p;
  return 0;
}

/* The expression of a term over the variables that stand for others. */
static tn_expr *rewritten(term *t);

static tn_expr *rebuilt(term *t) {
  tn_expr *operand[3], *kid[3] = {NULL, NULL, NULL};
  int n = operands(t->expr, operand);
  bool same = true;
  for (int i = 0; i < n; ++i) {
    TN_GETP(kid[i], rewritten(t->kids[i]));
    same &= kid[i] == t->kids[i]->expr && !t->kids[i]->var;
  }
  if (same) return t->expr;
  switch (t->expr->hdr.type_index) {
  case TN_TI_Cast: {
    tn_Cast copy = *(tn_Cast *)t->expr;
    copy.value = kid[0];
    return tn_node_copy(&tn_type_Cast, &copy);
  }
  case TN_TI_Not: {
    tn_Not copy = *(tn_Not *)t->expr;
    copy.a = kid[0];
    return tn_node_copy(&tn_type_Not, &copy);
  }
  case TN_TI_Select: {
    tn_Select copy = *(tn_Select *)t->expr;
    copy.condition = kid[0], copy.true_value = kid[1], copy.false_value = kid[2];
    return tn_node_copy(&tn_type_Select, &copy);
  }
  default: {
    tn_BinaryOp copy = *(tn_BinaryOp *)t->expr;
    copy.a = kid[0], copy.b = kid[1];
    return tn_node_copy(t->expr->hdr.type, &copy);
  }
  }
}

static tn_expr *rewritten(term *t) {
  if (t->var) return (tn_expr *)t->var;
  if (!t->rewritten) t->rewritten = rebuilt(t);
  return t->rewritten;
}

/* The variables of a place, before what uses them is rewritten. */
static int name_terms(cse *x, const place *p) {
  for (int64_t i = 0; i < p->terms.len; ++i) {
    term *t = p->terms.items[i].v.ptr;
    tn_str *name = tn_str_fmt("cse_var_%lld", (long long)++x->names);
    TN_GET(t->var, name ? tir_var(tn_cstr(name), t->expr->dtype) : NULL);
  }
  return 0;
}

/* Notes that `v` is known from here on. */
static int define(cse *x, const tn_Var *v) {
  if (tn_pmap_has(&x->defs, v)) x->not_ssa = true;
  return tn_pmap_put(&x->defs, v, x->here);
}

/* A body at a new place, where `v` (may be NULL) is known, inside the bindings that are put there.
 */
static tn_stmt *visit_body(tn_mut *m, tn_stmt *body, const tn_Var *v, bool conditional) {
  cse *x = m->ctx;
  place *outer = x->here;
  TN_TRYP(enter(x, conditional));
  const place *p = x->here;
  if (x->rewriting) TN_TRYP(name_terms(x, p));
  if (v && !x->rewriting) TN_TRYP(define(x, v));
  tn_stmt *r = tn_mut_visit(m, body);
  for (int64_t i = 0; r && x->rewriting && i < p->terms.len; ++i) {
    term *t = p->terms.items[i].v.ptr;
    r = (tn_stmt *)TN_NEW(LetStmt, .var = t->var, .value = rebuilt(t), .body = r);
  }
  x->here = outer;
  return r;
}

/* ---- the program ---- */

static tn_obj *visit_expr(tn_mut *m, tn_expr *e) {
  cse *x = m->ctx;
  bool err = false;
  if (is_leaf(e) || TN_IS(StringImm, e)) return (tn_obj *)e;
  /* bindings are statements: what uses a variable that an expression binds stays in it */
  if (TN_IS(Let, e) && !x->rewriting) TN_TRYP(tn_pmap_put_int(x->never, ((tn_Let *)e)->var, 1));
  term *t = term_of(x, e, 0, &err);
  if (err) return NULL;
  if (!t) return tn_mut_children(m, e);
  if (x->rewriting) {
    tn_expr *r = rewritten(t);
    return r == t->expr ? (tn_obj *)e : (tn_obj *)r;
  }
  t->count += 1;
  t->lca = meet(t->lca, x->here);
  return (tn_obj *)e;
}

static tn_obj *visit_for(tn_mut *m, tn_For *op) {
  tn_expr *min = tn_mut_visit(m, op->min), *extent = tn_mut_visit(m, op->extent);
  if (!min || !extent) return NULL;
  return (tn_obj *)tir_for_with(op, min, extent, visit_body(m, op->body, op->loop_var, false));
}

static tn_obj *visit_let(tn_mut *m, tn_LetStmt *op) {
  tn_LetStmt copy = *op;
  TN_GETP(copy.value, tn_mut_visit(m, op->value));
  TN_GETP(copy.body, visit_body(m, op->body, op->var, false));
  if (copy.value == op->value && copy.body == op->body) return (tn_obj *)op;
  return tn_node_copy(&tn_type_LetStmt, &copy);
}

static tn_obj *visit_if(tn_mut *m, tn_IfThenElse *op) {
  tn_IfThenElse copy = *op;
  TN_GETP(copy.condition, tn_mut_visit(m, op->condition));
  TN_GETP(copy.then_case, visit_body(m, op->then_case, NULL, true));
  if (op->else_case) TN_GETP(copy.else_case, visit_body(m, op->else_case, NULL, true));
  if (copy.condition == op->condition && copy.then_case == op->then_case &&
      copy.else_case == op->else_case)
    return (tn_obj *)op;
  return tn_node_copy(&tn_type_IfThenElse, &copy);
}

/* The variable of an axis may be bound by several attributes, one inside the other or not: then
   nothing with it is taken. */
static tn_obj *visit_attr(tn_mut *m, tn_AttrStmt *op) {
  cse *x = m->ctx;
  const tn_IterVar *axis = TN_AS(IterVar, op->node);
  const tn_Var *v = axis ? axis->var : NULL;
  if (v && !x->rewriting && tn_pmap_has(&x->defs, v)) {
    if (!tn_pmap_has(x->never, v)) x->again = true;
    TN_TRYP(tn_pmap_put_int(x->never, v, 1));
    v = NULL;
  }
  tn_AttrStmt copy = *op;
  TN_GETP(copy.value, tn_mut_visit(m, op->value));
  TN_GETP(copy.body, visit_body(m, op->body, v, false));
  if (copy.value == op->value && copy.body == op->body) return (tn_obj *)op;
  return tn_node_copy(&tn_type_AttrStmt, &copy);
}

static tn_obj *leave_alone(tn_mut *m, tn_obj *o) {
  (void)m;
  return o;
}

/* ---- choosing ---- */

static int by_size(const void *a, const void *b) {
  int64_t x = (*(term *const *)a)->size, y = (*(term *const *)b)->size;
  return (x < y) - (x > y);
}

/* Large terms first: what is left of the small ones is known when it is their turn. */
static int choose(cse *x) {
  if (x->nterms > 0) qsort(x->terms, (size_t)x->nterms, sizeof(term *), by_size);
  for (int64_t i = 0; i < x->nterms; ++i) {
    term *t = x->terms[i];
    if (t->count == 0 || t->size == 1) continue;
    place *at = deeper(t->def, t->lca->barrier);
    bool taken = t->count > 1 && at->terms.len < MAX_VARS;
    if (taken) TN_TRY(tn_vec_push(&at->terms, tn_any_ptr(t)));
    for (int k = 0; k < 3 && t->kids[k]; ++k) {
      t->kids[k]->count += taken ? 1 : t->count;
      t->kids[k]->lca = meet(t->kids[k]->lca, taken ? at : t->lca);
    }
  }
  return 0;
}

static void cse_fini(cse *x) {
  for (int64_t i = 0; i < x->nplaces; ++i) tn_vec_fini(&x->places[i]->terms);
  tn_free(x->places);
  tn_free(x->terms);
  tn_free(x->table);
  tn_pmap_fini(&x->by_node);
  tn_pmap_fini(&x->defs);
  tn_arena_fini(&x->arena);
}

#define EXPR_CASE(Name, Base, key, kind, role, hooks, doc) TN_CASE(Name, visit_expr),

static const tn_mut_case cases[] = {TN_EXPR_NODES(EXPR_CASE) TN_CASE(BufferLoad, visit_expr),
                                    TN_CASE(For, visit_for),
                                    TN_CASE(LetStmt, visit_let),
                                    TN_CASE(IfThenElse, visit_if),
                                    TN_CASE(AttrStmt, visit_attr),
                                    TN_CASE(Buffer, leave_alone),
                                    TN_CASE(Map, leave_alone),
                                    TN_CASE(BlockRealize, leave_alone)};

/* What a round over a function found besides. */
typedef struct {
  tn_pmap never;
  bool not_ssa, again;
} findings;

/* A round over the function; the function itself when the findings ask for another. */
static tn_PrimFunc *eliminate(tn_PrimFunc *f, findings *found) {
  __attribute__((cleanup(cse_fini))) cse x = {.never = &found->never};
  TN_MUT(counting, cases, &x);
  if (!visit_body(&counting, f->body, NULL, false)) return NULL;
  found->not_ssa = x.not_ssa, found->again = x.again;
  if (x.not_ssa || x.again) return f;
  TN_TRYP(choose(&x));
  bool any = false;
  for (int64_t i = 0; i < x.nplaces; ++i) any |= x.places[i]->terms.len > 0;
  if (!any) return f;
  TN_MUT(rewriting, cases, &x);
  x.rewriting = true;
  return tir_with_body(f, visit_body(&rewriting, f->body, NULL, false));
}

/* ---- equivalent terms ---- */

/* What stands for several terms: the simplified form of them all. */
typedef struct {
  cse *x;
  tn_pmap form;    /* term -> its simplified form (term) */
  tn_pmap members; /* simplified form -> number of terms */
} forms;

static tn_obj *use_form(tn_mut *m, tn_expr *e) {
  const forms *f = m->ctx;
  const term *t = tn_pmap_get(&f->x->by_node, e);
  const term *to = t && (const void *)t != (const void *)f->x ? tn_pmap_get(&f->form, t) : NULL;
  bool several = to && to->size > 1 && tn_pmap_get_int(&f->members, to, 0) > 1;
  return several ? (tn_obj *)to->expr : tn_mut_children(m, e);
}

static int find_forms(forms *f) {
  TN_ARITH(a);
  const int64_t n = f->x->nterms; /* simplified forms are added behind */
  for (int64_t i = 0; i < n; ++i) {
    term *t = f->x->terms[i], *to;
    tn_expr *simple;
    bool err = false;
    if (t->size == 1) continue;
    TN_GET(simple, arith_simplify(&a, t->expr));
    to = term_of(f->x, simple, 0, &err);
    if (err) return -1;
    if (!to) continue;
    TN_TRY(tn_pmap_put(&f->form, t, to));
    TN_TRY(tn_pmap_put_int(&f->members, to, tn_pmap_get_int(&f->members, to, 0) + 1));
  }
  return 0;
}

#define FORM_CASE(Name, Base, key, kind, role, hooks, doc) TN_CASE(Name, use_form),

/* Terms that simplify to the same one become it. */
static tn_PrimFunc *unite_equivalents(tn_PrimFunc *f, findings *found) {
  static const tn_mut_case uniting[] = {TN_EXPR_NODES(FORM_CASE) TN_CASE(BufferLoad, use_form),
                                        TN_CASE(Buffer, leave_alone), TN_CASE(Map, leave_alone),
                                        TN_CASE(BlockRealize, leave_alone)};
  __attribute__((cleanup(cse_fini))) cse x = {.never = &found->never};
  forms all = {.x = &x};
  TN_MUT(counting, cases, &x);
  TN_MUT(m, uniting, &all);
  tn_stmt *body = visit_body(&counting, f->body, NULL, false);
  if (body) body = find_forms(&all) ? NULL : tn_mut_visit(&m, f->body);
  tn_pmap_fini(&all.form);
  tn_pmap_fini(&all.members);
  return tir_with_body(f, body);
}

static tn_PrimFunc *run(tn_PrimFunc *f, findings *found, bool equivalents, const tn_pass_ctx *c) {
  tn_PrimFunc *r;
  if (equivalents) TN_GETP(f, unite_equivalents(f, found));
  TN_GETP(r, eliminate(f, found));
  for (int round = 0; round < 3 && (found->not_ssa || found->again); ++round) {
    if (found->not_ssa) TN_GETP(f, tir_convert_ssa(f, c));
    TN_GETP(r, eliminate(f, found));
  }
  return r;
}

static int flag(const tn_pass_ctx *c, int i, bool *value) {
  return c->nargs > i && c->args[i].type_index != TN_NONE ? tn_any_to_bool(&c->args[i], value) : 0;
}

tn_PrimFunc *tir_common_subexpr(tn_PrimFunc *f, const tn_pass_ctx *c) {
  bool enabled = true;
  bool equivalents = ir_config_int(c->node, "tir.enable_equiv_terms_in_cse_tir", 0) != 0;
  TN_TRYP(flag(c, 0, &enabled) || flag(c, 1, &equivalents));
  if (!enabled) return f;
  findings found = {0};
  tn_PrimFunc *r = run(f, &found, equivalents, c);
  tn_pmap_fini(&found.never);
  return r;
}
