/* Conditions around accesses as expressions that are at most zero: part of
   tir.CompactBufferAllocation.

     if 2 <= i and j * 8 + k < 60:        ->   2 - i,  j * 8 + k - 59
     else:                                     nothing: one of two may hold
     if i < 4 or j < 4: ...  else:        ->   4 - i,  4 - j
*/
#include "tir/transforms/blocks/compact_impl.h"

#include "arith/region.h"

enum { MAX_NUMBER = 1 << 30 }; /* of a range and of a guard: sums stay far from the ends of int64 */

static int push(compact_guards *g, tn_expr *x) { return x ? tn_vec_push_obj(g, x) : -1; }

/* a - b + plus <= 0 */
static int push_difference(compact_guards *g, tn_expr *a, tn_expr *b, int plus) {
  return push(g, tir_add(tir_sub(a, b), tir_const_int(a->dtype, plus)));
}

/* Unequal numbers of which it is known which may be larger. */
static int push_unequal(compact_guards *g, arith_analyzer *known, tn_expr *a, tn_expr *b) {
  tn_expr *d;
  TN_GET(d, tir_sub(a, b));
  arith_bound range = arith_const_bound(known, d);
  if (range.min >= 0) return push_difference(g, b, a, 1);
  return range.max <= 0 ? push_difference(g, a, b, 1) : 0;
}

static int push_compared(compact_guards *g, arith_analyzer *known, const tn_LT *op, bool holds) {
  tn_expr *a = op->a, *b = op->b;
  if (!ir_is_int(a->dtype) || a->dtype.lanes != 1) return 0;
  switch (op->hdr.type_index) {
  case TN_TI_LT: return holds ? push_difference(g, a, b, 1) : push_difference(g, b, a, 0);
  case TN_TI_GE: return holds ? push_difference(g, b, a, 0) : push_difference(g, a, b, 1);
  case TN_TI_LE: return holds ? push_difference(g, a, b, 0) : push_difference(g, b, a, 1);
  case TN_TI_GT: return holds ? push_difference(g, b, a, 1) : push_difference(g, a, b, 0);
  default: break;
  }
  if (holds != (op->hdr.type_index == TN_TI_EQ)) return push_unequal(g, known, a, b);
  TN_TRY(push_difference(g, a, b, 0));
  return push_difference(g, b, a, 0);
}

int compact_enter(compact_guards *g, arith_analyzer *known, tn_expr *cond, bool holds) {
  const tn_Call *likely = tir_as_call((tn_obj *)cond, TIR_OP_likely);
  if (likely) return compact_enter(g, known, (tn_expr *)tn_arr_obj(likely->args, 0), holds);
  switch (cond->hdr.type_index) {
  case TN_TI_Not: return compact_enter(g, known, ((tn_Not *)cond)->a, !holds);
  case TN_TI_And:
  case TN_TI_Or:
    /* of a disjunction it is not known which part holds */
    if (holds != (cond->hdr.type_index == TN_TI_And)) return 0;
    TN_TRY(compact_enter(g, known, ((tn_And *)cond)->a, holds));
    return compact_enter(g, known, ((tn_And *)cond)->b, holds);
  case TN_TI_LT:
  case TN_TI_LE:
  case TN_TI_GT:
  case TN_TI_GE:
  case TN_TI_EQ:
  case TN_TI_NE: return push_compared(g, known, (const tn_LT *)cond, holds);
  default: return 0;
  }
}

/* ---- quotients ---- */

typedef struct {
  const compact_guards *guards;
  int64_t first;
  arith_analyzer *known;
} limiter;

static int is_of(void *ctx, tn_obj *node) {
  return TN_IS(Var, node) && tir_uses_var(ctx, (tn_Var *)node);
}

/* Of guard <= 0 follows numerator <= limit (upper), or numerator >= limit. NULL without an error
 * where the limit is not without the guard's variables. */
static tn_expr *limit_of(limiter *x, tn_expr *numerator, tn_expr *guard, bool upper) {
  if (!tn_dtype_eq(numerator->dtype, guard->dtype)) return NULL;
  tn_expr *rest = upper ? tir_sub(numerator, guard) : tir_add(numerator, guard);
  TN_GETP(rest, rest ? arith_simplify(x->known, rest) : NULL);
  return tn_post_order(guard, is_of, rest) ? NULL : rest;
}

static tn_obj *limit_quotient(tn_mut *m, tn_FloorDiv *op) {
  limiter *x = m->ctx;
  int64_t c;
  tn_expr *r = (tn_expr *)op;
  if (!tir_as_int((tn_obj *)op->b, &c) || c <= 0) return (tn_obj *)op;
  for (int64_t i = x->first; i < x->guards->len; ++i) {
    tn_expr *guard = (tn_expr *)x->guards->items[i].v.obj;
    tn_expr *above = limit_of(x, op->a, guard, true);
    tn_expr *below = above ? NULL : limit_of(x, op->a, guard, false);
    if (above) TN_GETP(r, tir_min(r, tir_floordiv(above, op->b)));
    if (below) TN_GETP(r, tir_max(r, tir_floordiv(below, op->b)));
    if (tn_error_pending()) return NULL;
  }
  return r == (tn_expr *)op ? (tn_obj *)op : (tn_obj *)arith_simplify(x->known, r);
}

tn_expr *compact_limited(const compact_guards *g, int64_t first, arith_analyzer *known,
                         tn_expr *index) {
  static const tn_mut_case cases[] = {TN_CASE(FloorDiv, limit_quotient)};
  limiter x = {g, first, known};
  TN_MUT(m, cases, &x);
  return tn_mut_visit(&m, index);
}

/* ---- variables ---- */

static bool is_small(int64_t n) { return n > -MAX_NUMBER && n < MAX_NUMBER; }

/* b > 0 */
static int64_t quotient_down(int64_t a, int64_t b) { return a / b - (a % b < 0); }

/* Of factor * v + rest <= 0. */
static void limit_values(int64_t factor, int64_t least_rest, int64_t *lo, int64_t *hi) {
  if (factor > 0) {
    int64_t most = quotient_down(-least_rest, factor);
    if (most < *hi) *hi = most;
  } else if (factor < 0) {
    int64_t least = -quotient_down(-least_rest, -factor);
    if (least > *lo) *lo = least;
  }
}

tn_Range *compact_range(const compact_guards *g, int64_t first, arith_analyzer *known,
                        const tn_Var *v, tn_Range *range) {
  int64_t lo, n, factor;
  bool known_ends =
      tir_as_int((tn_obj *)range->min, &lo) && tir_as_int((tn_obj *)range->extent, &n);
  if (!known_ends || !is_small(lo) || !is_small(n) || n < 1) return range;
  int64_t hi = lo + n - 1, least = lo, most = hi;
  tn_arr *vars = tn_arr_of(1, v), *linear;
  if (!vars) return NULL;
  for (int64_t i = first; i < g->len; ++i) {
    tn_expr *guard = (tn_expr *)g->items[i].v.obj;
    if (!tir_uses_var(guard, v)) continue;
    TN_GETP(linear, arith_linear(guard, vars));
    if (linear->len != 2 || !tir_as_int(tn_arr_obj(linear, 0), &factor) || !is_small(factor))
      continue;
    arith_bound rest = arith_const_bound(known, (tn_expr *)tn_arr_obj(linear, 1));
    if (is_small(rest.min)) limit_values(factor, rest.min, &least, &most);
  }
  if (least > most || (least == lo && most == hi)) return range;
  tn_dtype t = range->min->dtype;
  return tir_range(tir_const_int(t, least), tir_const_int(t, most - least + 1));
}
