/* Conditions as conjunctions of disjunctions:

     x or (y and z)                    =>  (x or y) and (x or z)
     (x or y) and (x or z)             =>  x or y            where z follows from y

   Terms are evaluated from left to right as far as they are needed, and may guard each other:
   i < n and A[i] > 0. Only terms that may be evaluated anywhere change places: those that read no
   memory, call nothing and do not divide. */
#include "arith/analyzer.h"
#include "ir/functor.h"
#include "ir/tir_ops.h"

enum { MAX_CLAUSES = 32, MAX_TERMS = 16, MAX_NODES = 256 };

/* terms[0] or terms[1] or ... */
typedef struct {
  tn_expr *terms[MAX_TERMS];
  int n;
} clause;

typedef struct {
  clause c[MAX_CLAUSES];
  int n;
} clauses;

/* ---- terms ---- */

static int look_for_guarded(void *ctx, tn_obj *o) {
  const tn_BinaryOp *b = TN_AS_BINARY(o);
  bool arithmetic =
      b && !TN_IS(Div, o) && !TN_IS(Mod, o) && !TN_IS(FloorDiv, o) && !TN_IS(FloorMod, o);
  bool plain = TN_IS(IntImm, o) || TN_IS(FloatImm, o) || TN_IS(Var, o) || TN_IS(SizeVar, o) ||
               TN_IS(Not, o) || TN_IS(Cast, o);
  *(bool *)ctx |= TN_IS(PrimExpr, o) && !arithmetic && !plain;
  return 0;
}

/* May it be evaluated where it was not before? */
static bool is_free(const tn_expr *e) {
  bool guarded = false;
  if (tn_post_order(e, look_for_guarded, &guarded)) return tn_error_clear(), false;
  return !guarded;
}

static bool is_free_clause(const clause *c) {
  for (int i = 0; i < c->n; ++i)
    if (!is_free(c->terms[i])) return false;
  return true;
}

static bool has(const clause *c, const tn_expr *e) {
  for (int i = 0; i < c->n; ++i)
    if (arith_same(c->terms[i], e)) return true;
  return false;
}

static bool is_within(const clause *inner, const clause *outer) {
  for (int i = 0; i < inner->n; ++i)
    if (!has(outer, inner->terms[i])) return false;
  return true;
}

/* 1: wherever x holds y does; 0: that cannot be told; -1 with an error. */
static int implies(arith_analyzer *a, tn_expr *x, tn_expr *y) {
  int64_t mark = arith_enter_for(a, x, y);
  if (mark < 0) return -1;
  bool r = arith_prove(a, y);
  arith_leave(a, mark);
  return r;
}

static void drop(clause *c, int i) {
  for (--c->n; i < c->n; ++i) c->terms[i] = c->terms[i + 1];
}
static void drop_clause(clauses *x, int i) {
  for (--x->n; i < x->n; ++i) x->c[i] = x->c[i + 1];
}

/* ---- the form ---- */

/* false when it gets too large */
static bool join(const clause *a, const clause *b, clauses *out) {
  if (out->n == MAX_CLAUSES) return false;
  clause c = *a;
  for (int i = 0; i < b->n; ++i) {
    if (has(&c, b->terms[i])) continue;
    if (c.n == MAX_TERMS) return false;
    c.terms[c.n++] = b->terms[i];
  }
  out->c[out->n++] = c;
  return true;
}

static bool add_all(const clauses *from, clauses *out) {
  for (int i = 0; i < from->n; ++i) {
    if (out->n == MAX_CLAUSES) return false;
    out->c[out->n++] = from->c[i];
  }
  return true;
}

/* A later clause of the left side is now evaluated where an earlier one fails and the right side
   holds. */
static bool distribute(const clauses *l, const clauses *r, clauses *out) {
  for (int i = 1; i < l->n; ++i)
    if (!is_free_clause(&l->c[i])) return false;
  for (int i = 0; i < l->n; ++i)
    for (int k = 0; k < r->n; ++k)
      if (!join(&l->c[i], &r->c[k], out)) return false;
  return true;
}

static void spread(tn_expr *e, clauses *out) {
  const tn_BinaryOp *b = TN_AS_BINARY(e);
  out->n = 0;
  if (TN_IS(And, e) || TN_IS(Or, e)) {
    clauses l, r;
    spread(b->a, &l);
    spread(b->b, &r);
    if (TN_IS(Or, e) ? distribute(&l, &r, out) : add_all(&l, out) && add_all(&r, out)) return;
  }
  out->n = 1;
  out->c[0] = (clause){.terms = {e}, .n = 1};
}

/* ---- what follows from what ---- */

/* Without terms that imply others of the clause. */
static int reduce_clause(arith_analyzer *a, clause *c) {
  for (int i = 0; i < c->n; ++i)
    for (int k = i + 1; k < c->n; ++k) {
      int later, earlier;
      if ((later = implies(a, c->terms[i], c->terms[k])) < 0) return -1;
      if (later && is_free_clause(c)) {
        drop(c, i--);
        break;
      }
      if ((earlier = implies(a, c->terms[k], c->terms[i])) < 0) return -1;
      if (earlier) drop(c, k--);
    }
  return 0;
}

/* The one term in which the clauses differ, or -1. */
static int odd_term(const clause *c, const clause *other) {
  int odd = -1;
  for (int i = 0; i < c->n; ++i) {
    if (has(other, c->terms[i])) continue;
    if (odd >= 0) return -1;
    odd = i;
  }
  return odd;
}

/* x or y, x or z  =>  the one of them that the other follows from, in the place of the later. 1
   when they were merged. */
static int merge(arith_analyzer *a, clause *first, clause *second) {
  int i = odd_term(first, second), k = odd_term(second, first);
  if (i < 0 || k < 0 || first->n != second->n) return 0;
  int yes;
  tn_expr *x = first->terms[i], *y = second->terms[k];
  if ((yes = implies(a, y, x)) != 0) return yes;
  if ((yes = implies(a, x, y)) > 0) second->terms[k] = x;
  return yes;
}

static bool are_free(const clauses *x, int from, int to) {
  for (int i = from; i <= to; ++i)
    if (!is_free_clause(&x->c[i])) return false;
  return true;
}

/* What the clauses i and k say together, as one of them. 1 when clause i is to go, 2 for k. */
static int combine(arith_analyzer *a, clauses *x, int i, int k) {
  if (is_within(&x->c[i], &x->c[k])) return 2;
  if (!are_free(x, i, k)) return 0;
  return is_within(&x->c[k], &x->c[i]) ? 1 : merge(a, &x->c[i], &x->c[k]);
}

static int reduce(arith_analyzer *a, clauses *x) {
  for (int i = 0; i < x->n; ++i) TN_TRY(reduce_clause(a, &x->c[i]));
  for (int i = 0; i < x->n; ++i)
    for (int k = i + 1; k < x->n; ++k) {
      int gone;
      if ((gone = combine(a, x, i, k)) < 0) return -1;
      if (gone == 2) drop_clause(x, k--);
      if (gone != 1) continue;
      drop_clause(x, i--);
      break;
    }
  return 0;
}

static tn_expr *disjunction(const clause *c) {
  tn_expr *r = c->terms[0];
  for (int i = 1; i < c->n; ++i) TN_GETP(r, tir_or(r, c->terms[i]));
  return r;
}

tn_expr *arith_and_of_ors(arith_analyzer *a, tn_expr *e) {
  clauses x;
  bool logical = TN_IS(And, e) || TN_IS(Or, e);
  if (!logical || e->dtype.lanes != 1 || tir_is_larger(e, MAX_NODES)) return e;
  spread(e, &x);
  TN_TRYP(reduce(a, &x));
  tn_expr *r;
  TN_GETP(r, disjunction(&x.c[0]));
  for (int i = 1; i < x.n; ++i) TN_GETP(r, tir_and(r, disjunction(&x.c[i])));
  return arith_same(r, e) ? e : r;
}
