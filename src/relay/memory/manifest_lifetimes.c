/* ManifestLifetimes: says where values are not needed any more, in programs whose values are bound
   in order (ToANormalForm).

     let %y = %x + %x; let %z = %y * %y; %z
   =>
     let %y = %x + %x; let %_0 = memory.kill(%x); let %z = %y * %y; let %_1 = memory.kill(%y); %z

   What is used for the last time in branches ends in each of them: where it is used, or where the
   branch begins. Results are not ended, nor what functions inside use from outside. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/pmap.h"
#include "base/scope.h"
#include "base/stack.h"
#include "ir/module.h"
#include "relay/analysis/analysis.h"
#include "relay/expr/expr_info.h"
#include "relay/expr/typed_builder.h"
#include "relay/transforms/transforms.h"

/* Bindings of a block, in order, and what is behind them. */
typedef struct {
  tn_vec vars, values; /* Var, expression */
  const void *end;
} block;

static void block_fini(block *b) {
  tn_vec_fini(&b->vars);
  tn_vec_fini(&b->values);
}

typedef struct {
  int64_t count; /* of kills, for their names */
} lifetimes;

static void *process(lifetimes *l, const void *body, const tn_vec *ending);

static int read_block(block *b, const void *body) {
  const tn_RelayLet *let;
  while ((let = TN_AS(RelayLet, body)) != NULL) {
    TN_TRY(tn_vec_push_obj(&b->vars, let->var));
    TN_TRY(tn_vec_push_obj(&b->values, let->value));
    body = let->body;
  }
  b->end = body;
  return 0;
}

/* The ids of the variables that an expression uses join a set. */
static int add_uses(const void *e, tn_pmap *set) {
  tn_arr *all;
  TN_GET(all, relay_free_vars(e));
  for (int64_t i = 0; i < all->len; ++i)
    TN_TRY(tn_pmap_put_int(set, ((const tn_RelayVar *)tn_arr_obj(all, i))->vid, 1));
  return 0;
}

/* ---- branches ---- */

static void *kill_before(lifetimes *l, void *body, const tn_RelayVar *v) {
  tn_str *name = tn_str_fmt("_%lld", (long long)l->count++);
  const tn_Type *nothing = (tn_Type *)relay_tuple_type(tn_arr_of(0));
  void *call, *own;
  TN_GETP(name, name);
  if (relay_type_of(v)) call = relay_typed_call("memory.kill", NULL, tn_arr_of(1, v), nothing);
  else call = relay_call("memory.kill", NULL, 1, v);
  TN_GETP(own, relay_var(tn_cstr(name), NULL));
  return relay_typed_let(own, call, body);
}

static const tn_RelayVar *var_at(const tn_vec *v, int64_t i) {
  return (const tn_RelayVar *)v->items[i].v.obj;
}

/* A branch in which the variables of `ending` are used for the last time, if at all. */
static void *branch(lifetimes *l, const void *body, const tn_vec *ending) {
  TN_VEC(used);
  TN_PMAP(uses);
  if (ending->len) TN_TRYP(add_uses(body, &uses));
  for (int64_t i = 0; i < ending->len; ++i)
    if (tn_pmap_has(&uses, var_at(ending, i)->vid)) TN_TRYP(tn_vec_push(&used, ending->items[i]));
  void *r = process(l, body, &used);
  for (int64_t i = ending->len; r && i-- > 0;)
    if (!tn_pmap_has(&uses, var_at(ending, i)->vid)) r = kill_before(l, r, var_at(ending, i));
  return r;
}

static void *clauses(lifetimes *l, const tn_Match *m, const tn_vec *ending) {
  TN_VEC(all);
  for (int64_t i = 0; i < m->clauses->len; ++i) {
    const tn_Clause *c = (const tn_Clause *)tn_arr_obj(m->clauses, i);
    void *r;
    TN_GETP(r, branch(l, c->rhs, ending));
    TN_TRYP(tn_vec_push_obj(&all, TN_NEW(Clause, .lhs = c->lhs, .rhs = r)));
  }
  return TN_NEW(Match, .span = m->span, .data = m->data, .clauses = tn_arr_from(&all),
                .complete = m->complete, ._checked_type_ = m->_checked_type_);
}

static bool splits(const void *e) { return TN_AS(RelayIf, e) || TN_AS(Match, e); }

static void *split(lifetimes *l, const void *e, const tn_vec *ending) {
  const tn_RelayIf *c = TN_AS(RelayIf, e);
  if (!c) return clauses(l, (const tn_Match *)e, ending);
  void *yes = branch(l, c->true_branch, ending),
       *no = yes ? branch(l, c->false_branch, ending) : NULL;
  return no ? TN_NEW(RelayIf, .span = c->span, .cond = c->cond, .true_branch = yes,
                     .false_branch = no, ._checked_type_ = c->_checked_type_)
            : NULL;
}

/* A function inside has its own variables. */
static void *inner_function(lifetimes *l, const tn_RelayFunction *f) {
  TN_VEC(params);
  for (int64_t i = 0; i < f->params->len; ++i) TN_TRYP(tn_vec_push(&params, f->params->items[i]));
  tn_RelayFunction copy = *f;
  TN_GETP(copy.body, process(l, f->body, &params));
  return tn_node_copy(&tn_type_RelayFunction, &copy);
}

static void *value_with(lifetimes *l, const void *e, const tn_vec *ending) {
  const tn_RelayFunction *f = TN_AS(RelayFunction, e);
  if (splits(e)) return split(l, e, ending);
  return f && !relay_is_kernel(f) ? inner_function(l, f) : (void *)(uintptr_t)e;
}

/* ---- blocks ---- */

/* For each variable that ends in the block the number of the value that uses it last: those of
   `ending`, then those bound here; the number of bindings for the end itself. */
typedef struct {
  tn_pmap place; /* id -> index + 1 */
  tn_vec vars;
  int64_t *last;  /* -1: it is not used */
  int64_t *first; /* for each value the first variable that it uses last, -1: none */
  int64_t *next;  /* the one after a variable in that list */
} uses_of;

static void uses_fini(uses_of *u) {
  tn_pmap_fini(&u->place);
  tn_vec_fini(&u->vars);
  tn_free(u->last);
  tn_free(u->first);
  tn_free(u->next);
}

static int add_var(uses_of *u, const void *v) {
  TN_TRY(tn_vec_push_obj(&u->vars, v));
  return tn_pmap_put_int(&u->place, ((const tn_RelayVar *)v)->vid, u->vars.len);
}

static int note_uses(uses_of *u, const void *e, int64_t at) {
  tn_arr *all;
  if (relay_is_kernel(e)) return 0;
  TN_GET(all, relay_free_vars(e));
  for (int64_t i = 0; i < all->len; ++i) {
    const tn_RelayVar *v = (const tn_RelayVar *)tn_arr_obj(all, i);
    int64_t place = tn_pmap_get_int(&u->place, v->vid, 0);
    if (place) u->last[place - 1] = at;
  }
  return 0;
}

/* Functions do not end, and of what has no content there is nothing to end. */
static bool ends(const tn_RelayVar *v, const void *value) {
  const tn_TupleType *t = TN_AS(TupleType, relay_type_of(v));
  return !TN_AS(RelayFunction, value) && !(t && t->fields->len == 0);
}

static int find_uses(uses_of *u, const block *b, const tn_vec *ending) {
  for (int64_t i = 0; i < ending->len; ++i) TN_TRY(add_var(u, ending->items[i].v.obj));
  for (int64_t i = 0; i < b->vars.len; ++i)
    if (ends(var_at(&b->vars, i), b->values.items[i].v.obj))
      TN_TRY(add_var(u, b->vars.items[i].v.obj));
  TN_GET(u->last, tn_alloc_array(u->vars.len + 1, sizeof *u->last));
  TN_GET(u->next, tn_alloc_array(u->vars.len + 1, sizeof *u->next));
  TN_GET(u->first, tn_alloc_array(b->vars.len + 1, sizeof *u->first));
  for (int64_t i = 0; i < u->vars.len; ++i) u->last[i] = -1;
  for (int64_t i = 0; i <= b->vars.len; ++i) u->first[i] = -1;
  for (int64_t i = 0; i < b->vars.len; ++i) { /* what nothing uses ends where it is bound */
    int64_t place = tn_pmap_get_int(&u->place, var_at(&b->vars, i)->vid, 0);
    if (place) u->last[place - 1] = i;
    TN_TRY(note_uses(u, b->values.items[i].v.obj, i));
  }
  TN_TRY(note_uses(u, b->end, b->vars.len));
  for (int64_t i = u->vars.len; i-- > 0;) {
    int64_t at = u->last[i];
    if (at < 0) continue;
    u->next[i] = u->first[at];
    u->first[at] = i;
  }
  return 0;
}

/* Variables whose last use is at `at`; of a value that splits those that its branches use, in
 *inside, the others in *after. */
static int ending_at(const uses_of *u, int64_t at, const void *value, tn_vec *inside,
                     tn_vec *after) {
  const tn_RelayIf *c = TN_AS(RelayIf, value);
  const tn_Match *m = TN_AS(Match, value);
  TN_PMAP(in);
  if (u->first[at] < 0) return 0;
  if (c) TN_TRY(add_uses(c->true_branch, &in) || add_uses(c->false_branch, &in));
  for (int64_t k = 0; m && k < m->clauses->len; ++k)
    TN_TRY(add_uses(((const tn_Clause *)tn_arr_obj(m->clauses, k))->rhs, &in));
  for (int64_t i = u->first[at]; i >= 0; i = u->next[i])
    TN_TRY(
        tn_vec_push(tn_pmap_has(&in, var_at(&u->vars, i)->vid) ? inside : after, u->vars.items[i]));
  return 0;
}

static void *rebuild(lifetimes *l, const block *b, const uses_of *u) {
  TN_VEC(values);
  TN_VEC(kills); /* after each binding: a list */
  void *end;
  for (int64_t i = 0; i <= b->vars.len; ++i) {
    const void *e = i < b->vars.len ? b->values.items[i].v.obj : b->end;
    TN_VEC(inside);
    TN_VEC(after);
    void *now;
    tn_arr *list;
    TN_TRYP(ending_at(u, i, e, &inside, &after));
    TN_GETP(now, value_with(l, e, &inside));
    TN_TRYP(tn_vec_push_obj(&values, now));
    TN_GETP(list, tn_arr_from(&after));
    TN_TRYP(tn_vec_push_obj(&kills, list));
  }
  end = values.items[b->vars.len].v.obj; /* its operands are the result, or part of it */
  for (int64_t i = b->vars.len; end && i-- > 0;) {
    const tn_arr *list = (const tn_arr *)kills.items[i].v.obj;
    for (int64_t k = list->len; end && k-- > 0;)
      end = kill_before(l, end, (const tn_RelayVar *)tn_arr_obj(list, k));
    end = relay_typed_let(b->vars.items[i].v.obj, values.items[i].v.obj, end);
  }
  return end;
}

static void *process(lifetimes *l, const void *body, const tn_vec *ending) {
  __attribute__((cleanup(block_fini))) block b = {.end = NULL};
  __attribute__((cleanup(uses_fini))) uses_of u = {.last = NULL};
  TN_TRYP(tn_stack_check("an expression"));
  TN_TRYP(read_block(&b, body));
  TN_TRYP(find_uses(&u, &b, ending));
  return rebuild(l, &b, &u);
}

tn_RelayFunction *relay_manifest_lifetimes(tn_RelayFunction *f, const tn_pass_ctx *c) {
  lifetimes l = {0};
  (void)c;
  return inner_function(&l, f);
}
