/* ToANormalForm: every value gets a variable, in the order of evaluation.

     fn (%a) { let %b = add(%a, 1f); if (%c) { multiply(%b, %b) } else { %b } }
   =>
     fn (%a) { let %x = 1f; let %b = add(%a, %x);
               let %x1 = if (%c) { let %x2 = multiply(%b, %b); %x2 } else { %b }; %x1 }

   An expression that occurs several times is bound once, in the innermost scope that holds all its
   occurrences: the body of a function, a branch, a clause, or what follows a let. Operands come
   before what uses them, in the order in which they are evaluated. Kernels (primitive functions)
   stay as they are. Types are kept. Chains of any length are handled without recursion.

   ToBasicBlockNormalForm: only what is used in several scopes gets a variable, so that no branch
   refers to what another one computes; what is bound by a let stays so.

     if (%c) { multiply(%0, %0) } else { %0 }     with %0 = add(%a, 1f)
   =>
     let %x = add(%a, 1f); if (%c) { multiply(%x, %x) } else { %x } */
#include "base/alloc.h"
#include "base/error.h"
#include "base/pmap.h"
#include "ir/module.h"
#include "relay/expr/expr_info.h"
#include "relay/transforms/transforms.h"

typedef struct {
  int32_t parent, depth;
  int32_t first, last; /* of its bindings, -1: none */
} scope;

typedef struct {
  tn_RelayVar *var;
  const relay_expr *value;
  int32_t next;
} binding;

typedef struct {
  const tn_obj *expr;
  relay_expr *atom;       /* what stands for it; NULL: not yet known */
  const tn_RelayLet *let; /* the let whose value it is, when that is its only use */
  int32_t scope, uses;    /* scope -1: not used yet */
  int32_t inner;          /* first of its own scopes, -1: none */
  bool lifted;            /* it is used in a scope within its own */
} place;

typedef struct {
  place *places;
  scope *scopes;
  binding *bindings;
  int64_t nplace, place_cap, nscope, scope_cap, nbinding, binding_cap;
  tn_pmap index; /* expression -> place + 1 */
  bool blocks;   /* variables only for what is lifted */
} normal;

static place *place_of(const normal *n, const void *expr) {
  int64_t i = tn_pmap_get_int(&n->index, expr, 0);
  return i ? &n->places[i - 1] : NULL;
}

static bool is_atom(const tn_obj *e) {
  return TN_AS(RelayVar, e) || TN_AS(GlobalVar, e) || TN_AS(Op, e) || TN_AS(Constructor, e);
}

/* ---- scopes ---- */

static int32_t new_scope(normal *n, int32_t parent) {
  TN_GROW(n->scopes, n->scope_cap, n->nscope + 1, return -1);
  int32_t depth = parent < 0 ? 0 : n->scopes[parent].depth + 1;
  n->scopes[n->nscope] = (scope){parent, depth, -1, -1};
  return (int32_t)n->nscope++;
}

static int32_t common(const normal *n, int32_t a, int32_t b) {
  while (a != b) {
    if (n->scopes[a].depth >= n->scopes[b].depth) a = n->scopes[a].parent;
    else b = n->scopes[b].parent;
  }
  return a;
}

/* Is operand i of an expression evaluated in its own scope? */
static bool opens_scope(const tn_obj *e, int64_t i) {
  switch (e->type_index) {
  case TN_TI_RelayFunction: return i == ((const tn_RelayFunction *)e)->params->len;
  case TN_TI_RelayIf: return i > 0;
  case TN_TI_RelayLet: return i == 2;
  case TN_TI_Match: return i > 0;
  default: return false;
  }
}

static int use(normal *n, const place *p, int32_t where, const void *operand) {
  place *o = place_of(n, operand);
  if (!o) return 0;
  int32_t was = o->scope < 0 ? where : o->scope;
  o->scope = common(n, was, where);
  o->lifted |= o->scope != was || o->scope != where;
  const tn_RelayLet *let = TN_AS(RelayLet, p->expr);
  o->let = o->uses++ == 0 && let && (const void *)let->value == operand ? let : NULL;
  return 0;
}

/* The scopes of its operands; its own is known, as all that use it came before. */
static int place_operands(normal *n, int64_t at) {
  const tn_obj *e = n->places[at].expr;
  const void *operand;
  if (relay_is_kernel(e)) return 0;
  for (int64_t i = 0; (operand = relay_operand(e, i)) != NULL; ++i) {
    int32_t where = n->places[at].scope;
    if (opens_scope(e, i)) {
      where = new_scope(n, where);
      if (where < 0) return -1;
      if (n->places[at].inner < 0) n->places[at].inner = where;
    }
    TN_TRY(use(n, &n->places[at], where, operand));
  }
  return 0;
}

static int add_place(void *ctx, tn_obj *node) {
  normal *n = ctx;
  if (!TN_IS(RelayExpr, node) || is_atom(node)) return 0;
  TN_GROW(n->places, n->place_cap, n->nplace + 1, return -1);
  n->places[n->nplace] = (place){.expr = node, .scope = -1, .inner = -1};
  return tn_pmap_put_int(&n->index, node, ++n->nplace);
}

static bool see(const tn_obj *parent, const tn_field *field, const tn_obj *child) {
  (void)field, (void)child;
  return !relay_is_kernel(parent);
}

/* ---- bindings ---- */

static int bind(normal *n, int32_t where, tn_RelayVar *var, const void *value) {
  scope *s = &n->scopes[where];
  int32_t i = (int32_t)n->nbinding;
  TN_GROW(n->bindings, n->binding_cap, n->nbinding + 1, return -1);
  n->bindings[n->nbinding++] = (binding){var, value, -1};
  if (s->last >= 0) n->bindings[s->last].next = i;
  else s->first = i;
  s->last = i;
  return 0;
}

/* What is bound in `from` follows what is bound in `to`. */
static void append(normal *n, int32_t to, int32_t from) {
  scope *a = &n->scopes[to];
  const scope *b = &n->scopes[from];
  if (b->first < 0) return;
  if (a->last >= 0) n->bindings[a->last].next = b->first;
  else a->first = b->first;
  a->last = b->last;
}

static void *typed(void *e, const tn_Type *type) {
  relay_expr *x = e;
  if (!x || x->_checked_type_) return x;
  tn_retain(type);
  x->_checked_type_ = (tn_Type *)(uintptr_t)type;
  return x;
}

static relay_expr *atom_of(const normal *n, const void *e) {
  const place *p = place_of(n, e);
  return p ? p->atom : (relay_expr *)(uintptr_t)e;
}

/* The value of a scope: its bindings around the atom of `body`. */
static void *close_scope(const normal *n, int32_t where, const void *body) {
  TN_VEC(order);
  void *e = atom_of(n, body);
  const tn_Type *type = relay_type_of(body);
  for (int32_t i = n->scopes[where].first; i >= 0; i = n->bindings[i].next)
    TN_TRYP(tn_vec_push(&order, tn_any_int(i)));
  while (order.len > 0) {
    const binding *b = &n->bindings[order.items[--order.len].v.i64];
    TN_GETP(e, typed(relay_let(b->var, (void *)(uintptr_t)b->value, e), type));
  }
  return e;
}

/* ---- rebuilding ---- */

static tn_arr *atoms_of(const normal *n, const tn_arr *all) {
  TN_VEC(v);
  for (int64_t i = 0; i < all->len; ++i)
    TN_TRYP(tn_vec_push_obj(&v, atom_of(n, tn_arr_obj(all, i))));
  return tn_arr_from(&v);
}

/* A copy of a node with one field set anew. */
static int set_field(void *copy, const char *name, const void *value) {
  tn_any v = tn_any_obj(value);
  const tn_obj *o = copy;
  TN_GET(value, value);
  return tn_field_set(copy, tn_type_field(o->type, name), &v);
}

static void *rebuild_call(const normal *n, const tn_RelayCall *c) {
  tn_RelayCall *r;
  TN_GETP(r, relay_fresh_copy(c));
  TN_TRYP(set_field(r, "op", atom_of(n, c->op)));
  TN_TRYP(set_field(r, "args", atoms_of(n, c->args)));
  return r;
}

static void *rebuild_function(const normal *n, const place *p, const tn_RelayFunction *f) {
  tn_RelayFunction *r;
  if (relay_is_kernel(p->expr)) return (void *)(uintptr_t)f;
  TN_GETP(r, relay_fresh_copy(f));
  TN_TRYP(set_field(r, "body", close_scope(n, p->inner, f->body)));
  return r;
}

static void *rebuild_if(const normal *n, const place *p, const tn_RelayIf *c) {
  return relay_if(atom_of(n, c->cond), close_scope(n, p->inner, c->true_branch),
                  close_scope(n, p->inner + 1, c->false_branch));
}

static void *rebuild_match(const normal *n, const place *p, const tn_Match *m) {
  tn_Match *r;
  TN_VEC(clauses);
  for (int64_t i = 0; i < m->clauses->len; ++i) {
    const tn_Clause *c = (const tn_Clause *)tn_arr_obj(m->clauses, i);
    tn_RelayExpr *rhs;
    TN_GETP(rhs, close_scope(n, p->inner + (int32_t)i, c->rhs));
    TN_TRYP(tn_vec_push_obj(&clauses, TN_NEW(Clause, .lhs = c->lhs, .rhs = rhs)));
  }
  TN_GETP(r, relay_fresh_copy(m));
  TN_TRYP(set_field(r, "data", atom_of(n, m->data)));
  TN_TRYP(set_field(r, "clauses", tn_arr_from(&clauses)));
  return r;
}

static void *rebuild_ref(const normal *n, const tn_obj *e) {
  void *r;
  TN_GETP(r, relay_fresh_copy(e));
  if (e->type_index != TN_TI_RefCreate)
    TN_TRYP(set_field(r, "ref", atom_of(n, relay_operand(e, 0))));
  if (e->type_index != TN_TI_RefRead) {
    int64_t at = e->type_index == TN_TI_RefWrite;
    TN_TRYP(set_field(r, "value", atom_of(n, relay_operand(e, at))));
  }
  return r;
}

/* The expression with atoms for operands. */
static void *rebuild(const normal *n, const place *p) {
  const tn_obj *e = p->expr;
  switch (e->type_index) {
  case TN_TI_RelayCall: return rebuild_call(n, (const tn_RelayCall *)e);
  case TN_TI_RelayTuple: return relay_tuple(atoms_of(n, ((const tn_RelayTuple *)e)->fields));
  case TN_TI_TupleGetItem: {
    const tn_TupleGetItem *g = (const tn_TupleGetItem *)e;
    return relay_get_item(atom_of(n, g->tuple_value), g->index);
  }
  case TN_TI_RelayFunction: return rebuild_function(n, p, (const tn_RelayFunction *)e);
  case TN_TI_RelayIf: return rebuild_if(n, p, (const tn_RelayIf *)e);
  case TN_TI_Match: return rebuild_match(n, p, (const tn_Match *)e);
  case TN_TI_RefCreate:
  case TN_TI_RefRead:
  case TN_TI_RefWrite: return rebuild_ref(n, e);
  default: return (void *)(uintptr_t)e;
  }
}

static int normalize_let(normal *n, place *p, const tn_RelayLet *l) {
  relay_expr *value = atom_of(n, l->value);
  const tn_RelayVar *direct = TN_AS(RelayVar, value);
  if (!direct || direct != l->var) TN_TRY(bind(n, p->scope, l->var, value));
  append(n, p->scope, p->inner);
  p->atom = atom_of(n, l->body);
  return 0;
}

static int normalize(normal *n, place *p) {
  const tn_RelayLet *l = TN_AS(RelayLet, p->expr);
  const tn_Type *type = relay_type_of(p->expr);
  if (p->scope < 0) return 0; /* a part of a kernel's type, say: nobody evaluates it */
  if (l) return normalize_let(n, p, l);
  void *value;
  tn_RelayVar *var = NULL;
  TN_GET(value, typed(rebuild(n, p), type));
  if (p->let && place_of(n, p->let)->scope == p->scope) var = p->let->var;
  if (!var && n->blocks && (!p->lifted || TN_AS(Constant, p->expr))) {
    p->atom = value;
    return 0;
  }
  if (!var) TN_GET(var, typed(relay_var("x", NULL), type));
  p->atom = (relay_expr *)var;
  return bind(n, p->scope, var, value);
}

/* The scopes of all expressions. @return the place of the function, -1 */
static int64_t analyse(normal *n, const tn_RelayFunction *f) {
  TN_TRY(tn_post_order_if(f, see, add_place, n));
  int64_t root = n->nplace - 1;
  int32_t outer = new_scope(n, -1);
  if (outer < 0) return -1;
  n->places[root].scope = outer;
  for (int64_t i = root; i >= 0; --i)
    if (n->places[i].scope >= 0) TN_TRY(place_operands(n, i));
  return root;
}

static tn_RelayFunction *convert(normal *n, const tn_RelayFunction *f) {
  int64_t root = analyse(n, f);
  if (root < 0) return NULL;
  for (int64_t i = 0; i < root; ++i) TN_TRYP(normalize(n, &n->places[i]));
  return typed(rebuild_function(n, &n->places[root], f), relay_type_of(f));
}

static void normal_fini(normal *n) {
  tn_pmap_fini(&n->index);
  tn_free(n->places);
  tn_free(n->scopes);
  tn_free(n->bindings);
}

tn_RelayFunction *relay_to_a_normal_form(tn_RelayFunction *f, const tn_pass_ctx *c) {
  (void)c;
  normal n = {0};
  tn_RelayFunction *r = convert(&n, f);
  normal_fini(&n);
  return r;
}

tn_RelayFunction *relay_to_basic_blocks(tn_RelayFunction *f, const tn_pass_ctx *c) {
  (void)c;
  normal n = {.blocks = true};
  tn_RelayFunction *r = convert(&n, f);
  normal_fini(&n);
  return r;
}

int relay_in_basic_blocks(const tn_RelayFunction *f, bool *out) {
  normal n = {0};
  int64_t root = analyse(&n, f);
  *out = true;
  for (int64_t i = 0; i < root; ++i)
    *out &= !n.places[i].lifted || TN_AS(Constant, n.places[i].expr);
  normal_fini(&n);
  return root < 0 ? -1 : 0;
}
