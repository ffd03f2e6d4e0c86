/* Looking for effects, see purity.h. */
#include "relay/transforms/purity.h"

#include "base/error.h"
#include "base/stack.h"
#include "ir/functor.h"
#include "ir/module.h"
#include "relay/op.h"

/* What is known of a function: a pointer to it while nothing is, else one of these. */
enum { PURE = 1, IMPURE = 2 };

void purity_fini(purity *p) { tn_pmap_fini(&p->functions); }

static int note_let(void *ctx, tn_obj *node) {
  purity *p = ctx;
  const tn_RelayLet *l = TN_AS(RelayLet, node);
  if (!l || !TN_AS(RelayFunction, l->value)) return 0;
  return tn_pmap_put(&p->functions, l->var->vid, l->value);
}

int purity_note_bindings(purity *p, const void *root) { return tn_post_order(root, note_let, p); }

/* Is the function that `key` stands for known, and without effects? */
static int known_pure(purity *p, const void *key, const tn_RelayFunction *f) {
  int64_t state = tn_pmap_get_int(&p->functions, key, 0);
  if (state == PURE || state == IMPURE) return state == PURE;
  if (!f) return 0;
  TN_TRY(tn_stack_check("the program"));
  TN_TRY(tn_pmap_put_int(&p->functions, key, PURE)); /* of its calls of itself */
  int pure = purity_of(p, f->body);
  if (pure < 0) return -1;
  TN_TRY(tn_pmap_put_int(&p->functions, key, pure ? PURE : IMPURE));
  return pure;
}

static int call_is_pure(purity *p, const tn_RelayCall *c) {
  const tn_RelayVar *v = TN_AS(RelayVar, c->op);
  const tn_GlobalVar *g = TN_AS(GlobalVar, c->op);
  if (TN_AS(Op, c->op)) return !relay_op_is_stateful((const tn_obj *)c->op);
  if (v) return known_pure(p, v->vid, tn_pmap_get(&p->functions, v->vid));
  const tn_GlobalVar *own = g && p->mod ? ir_module_find_var(p->mod, tn_cstr(g->name_hint)) : NULL;
  if (own) return known_pure(p, own, TN_AS(RelayFunction, ir_module_lookup(p->mod, own)));
  return TN_AS(Constructor, c->op) || TN_AS(RelayFunction, c->op);
}

/* 1 stops at an effect */
static int find_effect(void *ctx, tn_obj *node) {
  int pure = 1;
  switch (node->type_index) {
  case TN_TI_RelayCall: pure = call_is_pure(ctx, (const tn_RelayCall *)node); break;
  case TN_TI_RefCreate:
  case TN_TI_RefRead:
  case TN_TI_RefWrite: pure = 0; break;
  default: break;
  }
  return pure < 0 ? -1 : !pure;
}

/* Making a function does nothing yet: its body counts only where it is called at once. */
static bool see(const tn_obj *parent, const tn_field *field, const tn_obj *child) {
  (void)field;
  return !TN_AS(RelayFunction, child) || TN_AS(RelayCall, parent);
}

int purity_of(purity *p, const void *value) {
  if (TN_AS(RelayFunction, value)) return 1;
  int found = tn_post_order_if(value, see, find_effect, p);
  return found < 0 ? -1 : found == 0;
}
