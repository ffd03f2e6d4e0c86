/* Finding and rewriting groups, see groups.h. */
#include "relay/dataflow/groups.h"

#include "base/alloc.h"
#include "base/error.h"
#include "ir/functor.h"
#include "ir/module.h"
#include "object/functions.h"
#include "relay/expr/expr_info.h"

void df_groups_fini(df_groups *g) {
  for (int64_t i = 0; i < g->len; ++i) df_matched_fini(&g->items[i].matched);
  tn_free(g->items);
  tn_pmap_fini(&g->of);
  tn_pmap_fini(&g->inside);
}

const df_group *df_group_of(const df_groups *g, const void *root) {
  int64_t i = tn_pmap_get_int(&g->of, root, 0);
  return i > 0 ? &g->items[i - 1] : NULL;
}

/* ---- finding ---- */

static int collect(void *ctx, tn_obj *node) {
  return TN_IS(RelayExpr, node) && !TN_AS(Op, node) ? tn_vec_push_obj(ctx, node) : 0;
}

/* What earlier patterns or other compilers have taken is left alone. */
static bool see(const tn_obj *parent, const tn_field *field, const tn_obj *child) {
  const tn_RelayFunction *f = TN_AS(RelayFunction, parent);
  tn_any found;
  (void)field, (void)child;
  return !f || !(ir_attrs_get(f->attrs, "PartitionedFromPattern", &found) ||
                 ir_attrs_flag(f->attrs, "Primitive"));
}

/* Does the pattern say what the expression is made of, so that the group computes it? */
static bool is_structural(const tn_DFPattern *p) {
  for (;;) {
    if (TN_AS(AttrPattern, p)) p = ((const tn_AttrPattern *)p)->pattern;
    else if (TN_AS(TypePattern, p)) p = ((const tn_TypePattern *)p)->pattern;
    else if (TN_AS(ShapePattern, p)) p = ((const tn_ShapePattern *)p)->pattern;
    else if (TN_AS(DataTypePattern, p)) p = ((const tn_DataTypePattern *)p)->pattern;
    else break;
  }
  /* which side of an alternative matched is noted for itself */
  return !df_is_leaf(p) && !TN_AS(AltPattern, p) && !TN_AS(DominatorPattern, p);
}

/* Expressions that the match computes -> 1. */
static int find_inside(const df_matched *m, tn_pmap *inside) {
  for (int64_t i = 0; i < m->patterns.len; ++i)
    if (is_structural((const tn_DFPattern *)m->patterns.items[i].v.obj))
      TN_TRY(tn_pmap_put_int(inside, m->exprs.items[i].v.obj, 1));
  return 0;
}

/* Overlaps with another group, or is read outside? `readers`: in the whole program. */
static int fits(const df_groups *g, const tn_pmap *inside, const relay_expr *root,
                const tn_pmap *readers, bool *yes) {
  TN_PMAP(own);
  const relay_expr *operand;
  for (size_t k = 0; k < inside->cap; ++k) {
    const tn_obj *e = inside->slots[k].key;
    for (int64_t i = 0; e && (operand = relay_operand(e, i)) != NULL; ++i) {
      tn_pmap_slot *slot = tn_pmap_slot_of(&own, operand);
      if (!slot) return -1;
      ++slot->v.i64;
    }
  }
  *yes = true;
  for (size_t k = 0; k < inside->cap && *yes; ++k) {
    const void *e = inside->slots[k].key;
    if (!e) continue;
    bool read_outside = tn_pmap_get_int(&own, e, 0) != tn_pmap_get_int(readers, e, 0);
    *yes = !tn_pmap_get_int(&g->inside, e, 0) && (e == root || !read_outside);
  }
  return 0;
}

static int asks(tn_func *check, const relay_expr *e, bool *yes) {
  tn_any arg = tn_any_obj(e), ret = tn_any_none();
  *yes = true;
  if (!check) return 0;
  TN_TRY(tn_func_call(check, &arg, 1, &ret));
  int err = tn_any_to_bool(&ret, yes);
  tn_any_release(&ret);
  return err;
}

static int try_root(df_groups *g, const tn_DFPattern *pattern, relay_expr *e, tn_IRModule *mod,
                    const tn_pmap *readers, tn_func *check) {
  DF_MATCHED(m);
  TN_PMAP(inside);
  bool yes;
  m.mod = mod;
  int r = df_match(&m, pattern, e);
  if (r != 1) return r;
  TN_TRY(find_inside(&m, &inside));
  TN_TRY(fits(g, &inside, e, readers, &yes));
  if (yes) TN_TRY(asks(check, e, &yes));
  if (!yes) return 0;
  TN_GROW(g->items, g->cap, g->len + 1, return -1);
  g->items[g->len++] = (df_group){e, m};
  m = (df_matched){0};
  TN_TRY(tn_pmap_put_int(&g->of, e, g->len));
  for (size_t k = 0; k < inside.cap; ++k)
    if (inside.slots[k].key) TN_TRY(tn_pmap_put_int(&g->inside, inside.slots[k].key, g->len));
  return 0;
}

int df_find_groups(df_groups *g, const tn_DFPattern *pattern, const relay_expr *expr,
                   tn_IRModule *mod, tn_func *check) {
  TN_VEC(order);
  TN_PMAP(readers);
  TN_TRY(relay_count_readers(expr, &readers));
  TN_TRY(tn_post_order_if(expr, see, collect, &order));
  for (int64_t i = order.len - 1; i >= 0; --i) {
    relay_expr *e = (relay_expr *)order.items[i].v.obj;
    if (tn_pmap_get_int(&g->inside, e, 0)) continue;
    TN_TRY(try_root(g, pattern, e, mod, &readers, check));
  }
  return 0;
}

/* ---- rewriting ---- */

typedef struct {
  const df_groups *groups;
  df_make make;
  void *ctx;
  tn_pmap now;
} rewriting;

static tn_obj *visit(void *ctx, tn_obj *pre, tn_obj *post) {
  rewriting *r = ctx;
  const df_group *group = df_group_of(r->groups, pre);
  relay_expr *e;
  TN_GETP(e, r->make(r->ctx, group, (relay_expr *)pre, (relay_expr *)post, &r->now));
  return tn_pmap_put(&r->now, pre, e) ? NULL : (tn_obj *)e;
}

static const tn_rewrite_case cases[] = {
    TN_REWRITE(RelayCall, visit),    TN_REWRITE(RelayTuple, visit),
    TN_REWRITE(TupleGetItem, visit), TN_REWRITE(RelayFunction, visit),
    TN_REWRITE(RelayLet, visit),     TN_REWRITE(RelayIf, visit),
    TN_REWRITE(RefCreate, visit),    TN_REWRITE(RefRead, visit),
    TN_REWRITE(RefWrite, visit),     TN_REWRITE(Match, visit),
    TN_REWRITE(RelayVar, visit),     TN_REWRITE(Constant, visit),
};

relay_expr *df_rewrite_groups(const df_groups *g, relay_expr *expr, df_make make, void *ctx) {
  if (g->len == 0) return expr;
  rewriting r = {g, make, ctx, {0}};
  relay_expr *e = tn_rewrite(expr, cases, TN_COUNT(cases), &r);
  tn_pmap_fini(&r.now);
  return e;
}
