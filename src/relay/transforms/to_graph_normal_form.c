/* ToGraphNormalForm: values take the place of the variables that let binds.

     let %x = add(%a, 1f); multiply(%x, %x)   ->   multiply(%0, %0)   with %0 = add(%a, 1f)

   A value stays shared by all that used its variable. A function that calls itself through its
   variable keeps it. The order in which lets evaluate is lost: not for programs with effects. */
#include "base/error.h"
#include "base/pmap.h"
#include "relay/transforms/transforms.h"

typedef struct {
  tn_pmap values; /* id of a variable -> its value without lets, retained */
  tn_pmap seen;   /* while the lets are put in order */
  tn_vec stack;   /* expression, number of the operand that is next */
  tn_vec lets;    /* in order of evaluation */
} graph;

/* ---- lets in order ---- */

static int enter(graph *g, const void *e) {
  if (tn_pmap_has(&g->seen, e)) return 0;
  TN_TRY(tn_pmap_put_int(&g->seen, e, 1));
  TN_TRY(tn_vec_push_obj(&g->stack, e));
  return tn_vec_push(&g->stack, tn_any_int(0));
}

/* A let comes behind those in its value and before those in its body. */
static int order_lets(graph *g, const tn_RelayFunction *f) {
  TN_TRY(enter(g, f));
  while (g->stack.len > 0) {
    const tn_obj *e = g->stack.items[g->stack.len - 2].v.obj;
    int64_t i = g->stack.items[g->stack.len - 1].v.i64++;
    const void *operand = relay_operand(e, i);
    if (i == 1 && TN_AS(RelayLet, e)) TN_TRY(tn_vec_push_obj(&g->lets, e));
    if (operand) TN_TRY(enter(g, operand));
    else g->stack.len -= 2;
  }
  return 0;
}

/* ---- values ---- */

static tn_obj *drop_let(void *ctx, tn_obj *pre, tn_obj *post) {
  const graph *g = ctx;
  return tn_pmap_has(&g->values, ((const tn_RelayLet *)pre)->var->vid)
             ? (tn_obj *)((const tn_RelayLet *)post)->body
             : post;
}

static const tn_rewrite_case cases[] = {TN_REWRITE(RelayLet, drop_let)};

static void *without_lets(graph *g, const void *e) {
  TN_GETP(e, tn_rewrite(e, cases, TN_COUNT(cases), g));
  return relay_substitute(e, &g->values);
}

static int find_var(void *var, tn_obj *e) { return e == var; }

static int add_value(graph *g, const tn_RelayLet *let) {
  void *value;
  const tn_obj *plain = (const tn_obj *)let->value;
  int own = TN_AS(RelayFunction, plain) ? tn_post_order(plain, find_var, let->var) : 0;
  if (own) return own < 0 ? -1 : 0;
  TN_GET(value, without_lets(g, plain));
  tn_retain(value);
  return tn_pmap_put(&g->values, let->var->vid, value);
}

static tn_RelayFunction *convert(graph *g, const tn_RelayFunction *f) {
  TN_TRYP(order_lets(g, f));
  for (int64_t i = 0; i < g->lets.len; ++i)
    TN_TRYP(add_value(g, (const tn_RelayLet *)g->lets.items[i].v.obj));
  return without_lets(g, f);
}

tn_RelayFunction *relay_to_graph_normal_form(tn_RelayFunction *f, const tn_pass_ctx *c) {
  (void)c;
  graph g = {0};
  tn_RelayFunction *r = convert(&g, f);
  for (size_t i = 0; i < g.values.cap; ++i)
    if (g.values.slots[i].key) tn_release(g.values.slots[i].v.ptr);
  tn_pmap_fini(&g.values);
  tn_pmap_fini(&g.seen);
  tn_vec_fini(&g.stack);
  tn_vec_fini(&g.lets);
  return r;
}
