/* Bounds that follow from conditions:  a < b and b <= c  =>  c - a >= 1. */
#include "arith/arith_impl.h"
#include "ir/functor.h"

enum { MAX_FACTS = 8 }; /* the innermost ones are combined */

/* The condition as  *out >= gap  (out is NULL when it is none of that kind). Equal operands make a
   difference that is at least 0 both ways. */
static int as_difference(arith_analyzer *a, const tn_expr *cond, tn_expr **out, int64_t *gap) {
  const tn_BinaryOp *o = TN_AS_BINARY(cond);
  uint32_t t = cond->hdr.type_index;
  *out = NULL;
  bool order = t == TN_TI_LT || t == TN_TI_LE || t == TN_TI_EQ;
  if (!o || !order || !arith_is_index(o->a->dtype)) return 0;
  if (arith_result_wraps(a, TN_TI_Sub, o->b, o->a)) return 0;
  *gap = t == TN_TI_LT;
  TN_GET(*out, tir_sub(o->b, o->a));
  return 0;
}

/* e >= gap + what remains when the condition's difference is taken away; *rest is NULL when that
   cannot be told. */
static int lower(arith_analyzer *a, tn_expr *e, tn_expr *difference, int64_t gap, int64_t *min,
                 tn_expr **rest) {
  arith_bound b;
  *min = ARITH_NEG_INF, *rest = NULL;
  if (arith_result_wraps(a, TN_TI_Sub, e, difference)) return 0;
  TN_GET(*rest, arith_simplify(a, tir_sub(e, difference)));
  TN_TRY(arith_known_bounds(a, *rest, &b));
  int64_t direct = arith_const_bound(a, *rest).min;
  *min = arith_sat_add(b.min > direct ? b.min : direct, gap);
  return 0;
}

/* A condition that holds, as a difference that is `gap` or more. */
typedef struct {
  tn_expr *difference;
  int64_t gap;
  uint64_t atoms;
} known_order;

typedef struct {
  const arith_analyzer *a;
  uint64_t found;
} atom_search;

/* A bit for each variable, and for those its range is made of; a node of another layer may be of
   any. */
static int add_atom(void *ctx, tn_obj *node) {
  atom_search *x = ctx;
  uint32_t t = node->type_index;
  if (t >= TN_TI_END_expr && TN_IS(PrimExpr, node)) x->found = UINT64_MAX;
  if (t != TN_TI_Var && t != TN_TI_SizeVar) return 0;
  x->found |= (uint64_t)1 << ((uintptr_t)node >> 4) % 64;
  const arith_var *v = x->a ? arith_known(x->a, (tn_expr *)node) : NULL;
  atom_search inner = {NULL, 0};
  if (!v || v->value || !v->lo) return 0;
  TN_TRY(tn_post_order(v->lo, add_atom, &inner));
  TN_TRY(tn_post_order(v->hi, add_atom, &inner));
  x->found |= inner.found;
  return 0;
}

/* What has none in common cannot cancel out. */
static int atoms_of(const arith_analyzer *a, const tn_expr *e, uint64_t *out) {
  atom_search x = {a, 0};
  TN_TRY(tn_post_order(e, add_atom, &x));
  *out = x.found;
  return 0;
}

/* Of x == y also x - y >= 0. */
static int other_way(arith_analyzer *a, const tn_expr *cond, const known_order *o, known_order *out,
                     int *n) {
  const tn_EQ *e = TN_AS(EQ, cond);
  if (!e || arith_result_wraps(a, TN_TI_Sub, e->a, e->b)) return 0;
  out[*n] = *o;
  TN_GET(out[*n].difference, tir_sub(e->a, e->b));
  ++*n;
  return 0;
}

/* The innermost conditions that are differences. */
static int known_orders(arith_analyzer *a, tn_dtype t, known_order *out, int *n) {
  *n = 0;
  for (int64_t i = a->nfacts > MAX_FACTS ? a->nfacts - MAX_FACTS : 0; i < a->nfacts; ++i) {
    known_order *o = &out[*n];
    if (!a->facts[i].cond) continue;
    TN_TRY(as_difference(a, a->facts[i].cond, &o->difference, &o->gap));
    if (!o->difference || !tn_dtype_eq(o->difference->dtype, t)) continue;
    TN_TRY(atoms_of(a, o->difference, &o->atoms));
    ++*n;
    TN_TRY(other_way(a, a->facts[i].cond, o, out, n));
  }
  return 0;
}

/* A condition about other variables says nothing: e - d is at most e where d is 0 or more. */
static int lower_by_facts(arith_analyzer *a, tn_expr *e, const known_order *known, int n,
                          uint64_t atoms, int64_t *min) {
  *min = ARITH_NEG_INF;
  for (int i = 0; i < n; ++i) {
    tn_expr *rest, *rest2;
    int64_t m;
    if (!(known[i].atoms & atoms)) continue;
    TN_TRY(lower(a, e, known[i].difference, known[i].gap, &m, &rest));
    if (m > *min) *min = m;
    for (int j = i + 1; rest && j < n; ++j) { /* two conditions in a row */
      if (!(known[j].atoms & (known[i].atoms | atoms))) continue;
      TN_TRY(lower(a, rest, known[j].difference, known[i].gap + known[j].gap, &m, &rest2));
      if (m > *min) *min = m;
    }
  }
  return 0;
}

int arith_fact_bounds(arith_analyzer *a, tn_expr *e, arith_bound *out) {
  known_order known[2 * MAX_FACTS];
  tn_expr *minus, *zero;
  uint64_t atoms;
  int n;
  *out = arith_everything();
  TN_TRY(known_orders(a, e->dtype, known, &n));
  if (!n) return 0;
  TN_TRY(atoms_of(a, e, &atoms));
  TN_TRY(lower_by_facts(a, e, known, n, atoms, &out->min));
  TN_GET(zero, tir_zero(e->dtype));
  if (arith_result_wraps(a, TN_TI_Sub, zero, e)) return 0;
  TN_GET(minus, tir_neg(e, NULL));
  TN_TRY(lower_by_facts(a, minus, known, n, atoms, &out->max));
  out->max = arith_sat_neg(out->max);
  return 0;
}
