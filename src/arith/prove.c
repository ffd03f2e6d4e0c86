/* Bounds that follow from conditions:  a < b and b <= c  =>  c - a >= 1. */
#include "arith/arith_impl.h"

enum { MAX_FACTS = 8 }; /* the innermost ones are combined */

/* The condition as  *out >= gap  (out is NULL when it is none of that kind). */
static int as_difference(const tn_expr *cond, tn_expr **out, int64_t *gap) {
  const tn_BinaryOp *o = TN_AS_BINARY(cond);
  uint32_t t = cond->hdr.type_index;
  *out = NULL;
  if (!o || (t != TN_TI_LT && t != TN_TI_LE) || !arith_is_index(o->a->dtype)) return 0;
  *gap = t == TN_TI_LT;
  TN_GET(*out, tir_sub(o->b, o->a));
  return 0;
}

/* e >= gap + what remains when the condition's difference is taken away */
static int lower(arith_analyzer *a, tn_expr *e, tn_expr *difference, int64_t gap, int64_t *min,
                 tn_expr **rest) {
  arith_bound b;
  TN_GET(*rest, arith_simplify(a, tir_sub(e, difference)));
  TN_TRY(arith_known_bounds(a, *rest, &b));
  int64_t direct = arith_const_bound(a, *rest).min;
  *min = arith_sat_add(b.min > direct ? b.min : direct, gap);
  return 0;
}

static int lower_by_facts(arith_analyzer *a, tn_expr *e, int64_t *min) {
  int64_t first = a->nfacts > MAX_FACTS ? a->nfacts - MAX_FACTS : 0;
  *min = ARITH_NEG_INF;
  for (int64_t i = first; i < a->nfacts; ++i) {
    tn_expr *d, *rest, *d2, *rest2;
    int64_t gap, m, gap2;
    if (!a->facts[i].cond) continue;
    TN_TRY(as_difference(a->facts[i].cond, &d, &gap));
    if (!d || !tn_dtype_eq(d->dtype, e->dtype)) continue;
    TN_TRY(lower(a, e, d, gap, &m, &rest));
    if (m > *min) *min = m;
    for (int64_t j = i + 1; j < a->nfacts; ++j) { /* two conditions in a row */
      if (!a->facts[j].cond) continue;
      TN_TRY(as_difference(a->facts[j].cond, &d2, &gap2));
      if (!d2 || !tn_dtype_eq(d2->dtype, e->dtype)) continue;
      TN_TRY(lower(a, rest, d2, gap + gap2, &m, &rest2));
      if (m > *min) *min = m;
    }
  }
  return 0;
}

int arith_fact_bounds(arith_analyzer *a, tn_expr *e, arith_bound *out) {
  tn_expr *minus;
  *out = arith_everything();
  bool any = false;
  for (int64_t i = 0; i < a->nfacts; ++i) any |= a->facts[i].cond != NULL;
  if (!any) return 0;
  TN_TRY(lower_by_facts(a, e, &out->min));
  TN_GET(minus, tir_neg(e, NULL));
  TN_TRY(lower_by_facts(a, minus, &out->max));
  out->max = arith_sat_neg(out->max);
  return 0;
}
