/* Extents of broadcasts among symbols: of extents that fit, each 1 or the same as the others, the
   one that is not 1.

     n0, n1, n2   =>   if_then_else(n2 == 1, if_then_else(n1 == 1, n0, n1), n2)

   Not the largest: they may be 0 and 1, and give 0. Each symbol is there once, so that an extent
   has at most twice as many nodes as there are symbols, however many operators it went through; and
   one more symbol is put around what is there, which is shared. */
#include "arith/analyzer.h"
#include "relay/op.h"
#include "tenon/object.h"

/* A choice's own extent, and in *rest what counts where that is 1; NULL: e is not a choice. */
static tn_expr *choice(tn_expr *e, tn_expr **rest) {
  const tn_Call *c = tir_as_call((tn_obj *)e, TIR_OP_if_then_else);
  const tn_EQ *is = c ? TN_AS(EQ, tn_arr_obj(c->args, 0)) : NULL;
  if (!is || !tir_is_one(is->b) || (tn_obj *)is->a != tn_arr_obj(c->args, 2)) return NULL;
  *rest = (tn_expr *)tn_arr_obj(c->args, 1);
  return is->a;
}

static int64_t count(tn_expr *e) {
  int64_t n = 1;
  while (choice(e, &e)) ++n;
  return n;
}

static bool has(tn_expr *all, const tn_expr *one) {
  tn_expr *first;
  while ((first = choice(all, &all)) != NULL)
    if (arith_same(first, one)) return true;
  return arith_same(all, one);
}

static tn_expr *add(tn_expr *all, tn_expr *one) {
  if (!all || has(all, one)) return all;
  return tir_if_then_else(tir_eq(one, tir_one(one->dtype)), all, one, NULL);
}

tn_expr *relay_broadcast_extent(tn_expr *a, tn_expr *b) {
  if (!a || !b) return NULL;
  if (tir_is_one(a) || tir_as_int((tn_obj *)b, &(int64_t){0})) return tir_is_one(b) ? a : b;
  if (tir_is_one(b) || tir_as_int((tn_obj *)a, &(int64_t){0})) return a;
  if (!tn_dtype_eq(a->dtype, b->dtype)) {
    TN_GETP(a, tir_cast(TN_I64, a, NULL));
    TN_GETP(b, tir_cast(TN_I64, b, NULL));
  }
  tn_expr *all = a, *one, *rest = b;
  if (count(a) < count(b)) all = b, rest = a;
  while (all && (one = choice(rest, &rest)) != NULL) all = add(all, one);
  return add(all, rest);
}

tn_expr *relay_extent_is_one(tn_expr *e) {
  tn_expr *one, *all = NULL;
  do {
    one = choice(e, &e);
    tn_expr *x = one ? one : e;
    x = x ? tir_eq(x, tir_one(x->dtype)) : NULL;
    TN_GETP(all, all && x ? tir_and(all, x) : x);
  } while (one);
  return all;
}

int relay_dim_is(const tn_expr *e, int64_t n) {
  int64_t known;
  return tir_as_int((const tn_obj *)e, &known) ? known == n : -1;
}

tn_expr *relay_if_one(tn_expr *extent, tn_expr *one, tn_expr *other) {
  int known = relay_dim_is(extent, 1);
  if (known >= 0) return known ? one : other;
  return tir_if_then_else(relay_extent_is_one(extent), one, other, NULL);
}

int relay_same_choice(tn_expr *a, tn_expr *b) {
  tn_expr *rest, *one;
  if (!choice(a, &rest) && !choice(b, &rest)) return 0;
  if (count(a) != count(b)) return -1;
  while ((one = choice(a, &a)) != NULL)
    if (!has(b, one)) return -1;
  return has(b, a) ? 1 : -1;
}
