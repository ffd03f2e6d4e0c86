/* SimplifyExpr: calls that can be said more simply.

     reshape(reshape(%x, [4, -1]), [-1]) -> reshape(%x, [8])      transpose(transpose(%x)) -> %x
     multiply(%x, ones([2, 3])) -> %x
     divide(2f, sqrt(%x)) -> 2f * rsqrt(%x)

   The rules stand in simplify_arith.c, simplify_shape.c, simplify_range.c and simplify_order.c.
   What is computed of constants is left to FoldConstant. SimplifyExprPostAlterOp has only the rules
   that are worth trying again when layouts were chosen. */
#include "base/error.h"
#include "base/scope.h"
#include "ir/imm.h"
#include "relay/expr/expr_info.h"
#include "relay/expr/replace.h"
#include "relay/infer.h"
#include "relay/transforms/simplify.h"
#include "relay/transforms/transforms.h"

/* A rule may make way for another one, at its call or inside of what it makes: tried again, but not
 * without end. */
enum { MAX_TRIES = 16, MAX_ROUNDS = 8 };

typedef struct {
  const simplify_rule *const *tables;
  int ntables;
  const tn_pass_ctx *ctx;
} simplifying;

/* Programs of integers may be changed in any way that gives the same integers. */
static bool may(const simplifying *s, const simplify_rule *r, const tn_RelayCall *c) {
  if (relay_float_may(r->floats, s->ctx)) return true;
  const tn_TensorType *t = relay_known_type(c);
  return t && ir_is_integral(t->dtype);
}

static relay_expr *apply(const simplifying *s, const tn_RelayCall *c) {
  const char *op = relay_called_op(c);
  if (!op) return NULL;
  for (int t = 0; t < s->ntables; ++t) {
    for (const simplify_rule *r = s->tables[t]; r->op; ++r) {
      if (strcmp(r->op, op) != 0 || !may(s, r, c)) continue;
      relay_expr *e = r->rule(c);
      if (e || tn_error_pending()) return e;
    }
  }
  return NULL;
}

static tn_obj *simplify(void *ctx, tn_obj *pre, tn_obj *post) {
  relay_expr *e = relay_stands_for(post, pre), *before = NULL;
  for (int i = 0; i < MAX_TRIES && TN_AS(RelayCall, e) && e != before; ++i) {
    relay_expr *simpler = apply(ctx, (const tn_RelayCall *)e);
    before = e;
    TN_GETP(e, relay_replaced("SimplifyExpr", simpler, e, pre));
  }
  return (tn_obj *)e;
}

static const tn_rewrite_case cases[] = {TN_REWRITE(RelayCall, simplify)};

static tn_RelayFunction *run(tn_RelayFunction *f, const tn_pass_ctx *c, simplifying s) {
  tn_RelayFunction *last = NULL;
  TN_GETP(f, relay_infer_expr(f, c->mod));
  for (int i = 0; i < MAX_ROUNDS && f != last; ++i) {
    last = f;
    TN_GETP(f, tn_rewrite(f, cases, TN_COUNT(cases), &s));
  }
  return f;
}

tn_RelayFunction *relay_simplify_expr(tn_RelayFunction *f, const tn_pass_ctx *c) {
  static const simplify_rule *const all[] = {simplify_shape_rules, simplify_range_rules,
                                             simplify_order_rules, simplify_arith_rules};
  return run(f, c, (simplifying){all, TN_COUNT(all), c});
}

tn_RelayFunction *relay_simplify_post_alter_op(tn_RelayFunction *f, const tn_pass_ctx *c) {
  static const simplify_rule *const some[] = {simplify_shape_rules, simplify_order_rules,
                                              simplify_layout_rules};
  return run(f, c, (simplifying){some, TN_COUNT(some), c});
}
