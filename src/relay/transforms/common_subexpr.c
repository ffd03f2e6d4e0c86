/* EliminateCommonSubexpr: equal calls of operators with the same arguments become one.

     add(exp(%x), exp(%x)) with two calls of exp -> %0 = exp(%x); add(%0, %0) */
#include "base/error.h"
#include "base/scope.h"
#include "relay/infer.h"
#include "relay/transforms/transforms.h"
#include "tenon/object.h"

typedef struct {
  tn_pmap by_first; /* first argument (or operator) -> retained Array of calls that have it: the
                       scope of a case closes before the next one */
  tn_func *skip;    /* (expression) -> bool, or NULL */
} merging;

static void merging_fini(merging *m) {
  for (size_t i = 0; i < m->by_first.cap; ++i)
    tn_release(m->by_first.slots[i].key ? m->by_first.slots[i].v.ptr : NULL);
  tn_pmap_fini(&m->by_first);
}

/* `list` is what has `key` from now on. */
static int remember(merging *m, const void *key, const tn_vec *list) {
  tn_arr *known = tn_pmap_get(&m->by_first, key), *longer;
  TN_GET(longer, tn_arr_from(list));
  TN_TRY(tn_pmap_put(&m->by_first, key, longer));
  tn_retain(longer);
  tn_release(known);
  return 0;
}

/* Arguments were rewritten already: equal ones are the same object. */
static bool same_call(const tn_RelayCall *a, const tn_RelayCall *b) {
  if (a->op != b->op || a->args->len != b->args->len) return false;
  for (int64_t i = 0; i < a->args->len; ++i) {
    const tn_obj *x = relay_arg(a, i), *y = relay_arg(b, i);
    if (x != y && !(TN_AS(Constant, x) && TN_AS(Constant, y) && tn_equal(x, y, 0))) return false;
  }
  return a->attrs == b->attrs || (a->attrs && b->attrs && tn_equal(a->attrs, b->attrs, 0));
}

static int is_skipped(const merging *m, const tn_obj *e, bool *yes) {
  tn_any arg = tn_any_obj(e), ret = tn_any_none();
  *yes = false;
  if (!m->skip) return 0;
  TN_TRY(tn_func_call(m->skip, &arg, 1, &ret));
  int err = tn_any_to_bool(&ret, yes);
  tn_any_release(&ret);
  return err;
}

static tn_obj *merge(void *ctx, tn_obj *pre, tn_obj *post) {
  merging *m = ctx;
  const tn_RelayCall *c = (const tn_RelayCall *)post;
  bool skip;
  if (!TN_AS(Op, c->op) || relay_op_is_stateful((const tn_obj *)c->op)) return post;
  TN_TRYP(is_skipped(m, pre, &skip));
  if (skip) return post;
  const void *key =
      c->args->len && !TN_AS(Constant, relay_arg(c, 0)) ? relay_arg(c, 0) : (void *)c->op;
  const tn_arr *known = tn_pmap_get(&m->by_first, key);
  TN_VEC(list);
  for (int64_t i = 0; known && i < known->len; ++i) {
    const tn_RelayCall *other = TN_AS(RelayCall, tn_arr_obj(known, i));
    if (other && same_call(other, c)) return tn_arr_obj(known, i);
    TN_TRYP(tn_vec_push(&list, known->items[i]));
  }
  TN_TRYP(tn_vec_push_obj(&list, c));
  TN_TRYP(remember(m, key, &list));
  return post;
}

static tn_obj *merge_get_item(void *ctx, tn_obj *pre, tn_obj *post) {
  merging *m = ctx;
  const tn_TupleGetItem *e = (const tn_TupleGetItem *)post;
  (void)pre;
  const tn_arr *known = tn_pmap_get(&m->by_first, e->tuple_value);
  TN_VEC(list);
  for (int64_t i = 0; known && i < known->len; ++i) {
    const tn_TupleGetItem *other = TN_AS(TupleGetItem, tn_arr_obj(known, i));
    if (other && other->tuple_value == e->tuple_value && other->index == e->index)
      return tn_arr_obj(known, i);
    TN_TRYP(tn_vec_push(&list, known->items[i]));
  }
  TN_TRYP(tn_vec_push_obj(&list, post));
  TN_TRYP(remember(m, e->tuple_value, &list));
  return post;
}

static const tn_rewrite_case cases[] = {
    TN_REWRITE(RelayCall, merge),
    TN_REWRITE(TupleGetItem, merge_get_item),
};

/* argument: function that says which expressions to leave alone, or None */
tn_RelayFunction *relay_common_subexpr(tn_RelayFunction *f, const tn_pass_ctx *c) {
  __attribute__((cleanup(merging_fini))) merging m = {0};
  if (c->nargs > 0 && tn_any_is_obj(&c->args[0]))
    TN_TRYP(tn_any_to_obj(&c->args[0], "runtime.PackedFunc", (tn_obj **)&m.skip));
  return tn_rewrite(f, cases, TN_COUNT(cases), &m);
}
