/* DeadCodeElimination: bindings that nothing reads go; with `inline_once` values that are read once
   take their variable's place.

     let %a = exp(%x); let %b = tanh(%x); %b  ->  let %b = tanh(%x); %b  ->  tanh(%x)

   A value with effects stays (purity.h), unless `ignore_impurity` says that there are none. A value
   is not moved into a function, where it would be computed at each call. */
#include "base/error.h"
#include "base/pmap.h"
#include "base/scope.h"
#include "ir/module.h"
#include "relay/analysis/analysis.h"
#include "relay/transforms/purity.h"
#include "relay/transforms/transforms.h"

typedef struct {
  bool inline_once, ignore_impurity;
  purity effects;
  tn_pmap readers;  /* expression, Id for variables -> number of readers that are left */
  tn_pmap captured; /* Id of variables that a function below theirs reads */
  tn_map *inlined;  /* Id -> value */
} dead_code;

static void fini(dead_code *d) {
  purity_fini(&d->effects);
  tn_pmap_fini(&d->readers);
  tn_pmap_fini(&d->captured);
}

/* ---- readers ---- */

static const void *key_of(const void *e) {
  const tn_RelayVar *v = TN_AS(RelayVar, e);
  return v ? (const void *)v->vid : e;
}

/* Operand i of an expression, NULL after the last; the variable that a let binds is not read. */
static const void *read_by(const tn_obj *e, int64_t i) {
  if (TN_AS(RelayLet, e) && i > 0) ++i;
  return relay_operand(e, i);
}

static int count_reads(void *ctx, tn_obj *node) {
  const void *e;
  if (!TN_IS(RelayExpr, node)) return 0;
  for (int64_t i = 0; (e = read_by(node, i)) != NULL; ++i) {
    tn_pmap_slot *slot = tn_pmap_slot_of(ctx, key_of(e));
    if (!slot) return -1;
    ++slot->v.i64;
  }
  return 0;
}

/* One reader less; what nobody reads any more does not read either. */
static int drop_reader(dead_code *d, const void *root) {
  TN_VEC(stack);
  TN_TRY(tn_vec_push_obj(&stack, root));
  while (stack.len > 0) {
    const tn_obj *e = stack.items[--stack.len].v.obj;
    int64_t left = tn_pmap_get_int(&d->readers, key_of(e), 0) - 1;
    const void *operand;
    TN_TRY(tn_pmap_put_int(&d->readers, key_of(e), left));
    for (int64_t i = 0; left == 0 && (operand = read_by(e, i)) != NULL; ++i)
      TN_TRY(tn_vec_push_obj(&stack, operand));
  }
  return 0;
}

static int note_captured(void *ctx, tn_obj *node) {
  dead_code *d = ctx;
  tn_arr *free_vars;
  if (!TN_AS(RelayFunction, node)) return 0;
  TN_SCOPE(s);
  TN_GET(free_vars, relay_free_vars(node));
  for (int64_t i = 0; i < free_vars->len; ++i)
    TN_TRY(tn_pmap_put_int(&d->captured, key_of(tn_arr_obj(free_vars, i)), 1));
  return 0;
}

/* ---- bindings ---- */

/* How often a function that is bound reads itself. */
static int count_own(const tn_RelayLet *l, int64_t *out) {
  TN_PMAP(reads);
  *out = 0;
  if (!TN_AS(RelayFunction, l->value)) return 0;
  TN_TRY(tn_post_order(l->value, count_reads, &reads));
  *out = tn_pmap_get_int(&reads, l->var->vid, 0);
  return 0;
}

/* Bindings are seen from the last to the first, so that readers which went do not count. */
static tn_obj *visit_let(void *ctx, tn_obj *pre, tn_obj *post) {
  dead_code *d = ctx;
  const tn_RelayLet *before = (const tn_RelayLet *)pre, *l = (const tn_RelayLet *)post;
  const void *id = l->var->vid;
  int64_t own, uses = tn_pmap_get_int(&d->readers, id, 0);
  TN_TRYP(count_own(before, &own));
  if (uses - own > 1) return post;
  int pure = d->ignore_impurity ? 1 : purity_of(&d->effects, before->value);
  if (pure <= 0) return pure < 0 ? NULL : post;
  if (uses - own <= 0) {
    TN_TRYP(drop_reader(d, before->value));
    return (tn_obj *)l->body;
  }
  if (!d->inline_once || own > 0 || tn_pmap_has(&d->captured, id)) return post;
  TN_TRYP(tn_map_set(d->inlined, tn_any_obj(id), tn_any_obj(l->value)));
  return (tn_obj *)l->body;
}

/* ---- inlining ---- */

typedef struct {
  const tn_map *inlined;
  tn_pmap final; /* Id -> its value in which nothing is left to inline (owned by the scope) */
  tn_vec stack;  /* ids whose values are to be made final */
} placing;

static void placing_fini(placing *p) {
  tn_pmap_fini(&p->final);
  tn_vec_fini(&p->stack);
}

/* Variables that are inlined come before what reads them. */
static int push_read(void *ctx, tn_obj *node) {
  placing *p = ctx;
  const tn_RelayVar *v = TN_AS(RelayVar, node);
  tn_any found;
  if (!v || tn_pmap_has(&p->final, v->vid)) return 0;
  return tn_map_get(p->inlined, tn_any_obj(v->vid), &found) ? tn_vec_push_obj(&p->stack, v->vid)
                                                            : 0;
}

/* The root with values for variables. Values may read other variables that are inlined: each is
 * walked through by itself, so that a chain of bindings takes linear time. */
static void *put_values(placing *p, const tn_map *inlined, void *root) {
  p->inlined = inlined;
  TN_TRYP(tn_post_order(root, push_read, p));
  while (p->stack.len > 0) {
    int64_t n = p->stack.len;
    const tn_any id = p->stack.items[n - 1];
    tn_any value;
    void *final;
    if (tn_pmap_has(&p->final, id.v.obj) || !tn_map_get(inlined, id, &value)) {
      --p->stack.len;
      continue;
    }
    TN_TRYP(tn_post_order(value.v.obj, push_read, p));
    if (p->stack.len > n) continue;
    TN_GETP(final, relay_substitute(value.v.obj, &p->final));
    TN_TRYP(tn_pmap_put(&p->final, id.v.obj, final));
    --p->stack.len;
  }
  return relay_substitute(root, &p->final);
}

static tn_RelayFunction *run(dead_code *d, tn_RelayFunction *f) {
  static const tn_rewrite_case cases[] = {TN_REWRITE(RelayLet, visit_let)};
  TN_GETP(d->inlined, tn_scope_own(tn_map_new()));
  TN_TRYP(purity_note_bindings(&d->effects, f));
  TN_TRYP(tn_post_order(f, count_reads, &d->readers));
  TN_TRYP(tn_post_order(f->body, note_captured, d));
  TN_GETP(f, tn_rewrite(f, cases, TN_COUNT(cases), d));
  __attribute__((cleanup(placing_fini))) placing p = {0};
  return put_values(&p, d->inlined, f);
}

/* arguments: inline_once, ignore_impurity */
tn_RelayFunction *relay_dead_code(tn_RelayFunction *f, const tn_pass_ctx *c) {
  dead_code d = {.effects = {.mod = c->mod}};
  if (c->nargs > 0) TN_TRYP(tn_any_to_bool(&c->args[0], &d.inline_once));
  if (c->nargs > 1) TN_TRYP(tn_any_to_bool(&c->args[1], &d.ignore_impurity));
  tn_RelayFunction *r = run(&d, f);
  fini(&d);
  return r;
}
