/* Rewriting of comparisons, logic and choices: comparisons are decided by bounds and modular sets
   of the operands' difference, and brought to the forms x == y, x != y, x < y, x <= y. */
#include "arith/rewrite.h"
#include "arith/rules.h"

static tn_expr *truth(const tn_expr *like, bool v) { return tir_const_int(like->dtype, v); }

/* ---- conditions that hold ---- */

static bool reversed(const tn_BinaryOp *x, const tn_BinaryOp *y) {
  return arith_same(x->a, y->b) && arith_same(x->b, y->a);
}
static bool aligned(const tn_BinaryOp *x, const tn_BinaryOp *y) {
  return arith_same(x->a, y->a) && arith_same(x->b, y->b);
}

/* 1: e follows from cond; 0: its opposite does; -1: neither */
static int follows(const tn_expr *cond, const tn_expr *e) {
  uint32_t c = cond->hdr.type_index, t = e->hdr.type_index;
  const tn_BinaryOp *x = TN_AS_BINARY(cond), *y = TN_AS_BINARY(e);
  if (arith_same(cond, e)) return 1;
  if (c == TN_TI_Not && arith_same(((const tn_Not *)cond)->a, e)) return 0;
  if (t == TN_TI_Not && arith_same(cond, ((const tn_Not *)e)->a)) return 0;
  if (!x || !y || c < TN_TI_EQ || t < TN_TI_EQ) return -1;
  bool equality = (c == TN_TI_EQ || c == TN_TI_NE) && (t == TN_TI_EQ || t == TN_TI_NE);
  if (equality && (aligned(x, y) || reversed(x, y))) return c == t;
  if (!ir_is_integral(x->a->dtype)) return -1;
  if (c == TN_TI_LT && t == TN_TI_LE) return reversed(x, y) ? 0 : aligned(x, y) ? 1 : -1;
  if (c == TN_TI_LE && t == TN_TI_LT && reversed(x, y)) return 0;
  if (c == TN_TI_LT && t == TN_TI_LT && reversed(x, y)) return 0;
  if (c == TN_TI_LT && (t == TN_TI_EQ || t == TN_TI_NE) && (aligned(x, y) || reversed(x, y)))
    return t == TN_TI_NE;
  return -1;
}

static int follows_from_any(const arith_analyzer *a, const tn_expr *e) {
  int v = -1;
  for (int64_t i = a->nfacts - 1; v < 0 && i >= 0; --i)
    if (a->facts[i].cond) v = follows(a->facts[i].cond, e);
  return v;
}

/* The comparison with one of its variables in the other's place, which the condition says to be
   equal; NULL: it says nothing of them. */
static tn_expr *with_equal(const tn_expr *cond, const tn_BinaryOp *e) {
  const tn_BinaryOp *same = TN_IS(EQ, cond) ? TN_AS_BINARY(cond) : NULL;
  if (!same || !TN_IS(Var, same->a) || !TN_IS(Var, same->b)) return NULL;
  uint32_t t = e->hdr.type_index;
  if (e->a == same->a) return tir_binary(t, same->b, e->b, e->span);
  if (e->a == same->b) return tir_binary(t, same->a, e->b, e->span);
  if (e->b == same->a) return tir_binary(t, e->a, same->b, e->span);
  return e->b == same->b ? tir_binary(t, e->a, same->a, e->span) : NULL;
}

tn_expr *rw_facts(tn_mut *m, tn_expr *e) {
  const arith_analyzer *a = rw_analyzer(m);
  const tn_BinaryOp *o = e->hdr.type_index >= TN_TI_EQ ? TN_AS_BINARY(e) : NULL;
  int v = follows_from_any(a, e);
  for (int64_t i = a->nfacts - 1; v < 0 && o && i >= 0; --i) {
    tn_expr *other = a->facts[i].cond ? with_equal(a->facts[i].cond, o) : NULL;
    if (other && TN_AS_BINARY(other)) v = follows_from_any(a, other);
    if (tn_error_pending()) return NULL;
  }
  return v >= 0 ? truth(e, v) : e;
}

tn_expr *rw_under(tn_mut *m, tn_expr *cond, tn_expr *e) {
  arith_analyzer *a = rw_analyzer(m);
  int64_t mark = arith_enter_for(a, cond, e);
  if (mark < 0) return NULL;
  tn_expr *r = rw_visit_apart(m, e);
  arith_leave(a, mark);
  return r;
}

/* With `cond` known, e as the comparison that fewer numbers fulfil; NULL: it stays.
     x <= y:   y <= x  =>  y == x,   x != y  =>  x < y
     x != y:   x <= y  =>  x < y */
static tn_expr *narrowed(const tn_expr *cond, const tn_BinaryOp *e) {
  uint32_t c = cond->hdr.type_index, t = e->hdr.type_index;
  const tn_BinaryOp *x = TN_AS_BINARY(cond);
  if (!x || (c != TN_TI_LE && c != TN_TI_NE) || !(aligned(x, e) || reversed(x, e))) return NULL;
  if (c == TN_TI_NE) return t == TN_TI_LE ? tir_binary(TN_TI_LT, e->a, e->b, e->span) : NULL;
  if (t == TN_TI_NE) return tir_binary(TN_TI_LT, x->a, x->b, e->span);
  if (t != TN_TI_LE || aligned(x, e)) return NULL;
  bool constant = TN_IS(IntImm, e->a);
  return tir_binary(TN_TI_EQ, constant ? e->b : e->a, constant ? e->a : e->b, e->span);
}

static tn_expr *narrow(tn_mut *m, tn_expr *e) {
  const arith_analyzer *a = rw_analyzer(m);
  const tn_BinaryOp *o = e ? TN_AS_BINARY(e) : NULL;
  if (!a->narrow || !o || e->hdr.type_index < TN_TI_EQ || !ir_is_integral(o->a->dtype)) return e;
  for (int64_t i = a->nfacts - 1; i >= 0; --i) {
    tn_expr *r = a->facts[i].cond ? narrowed(a->facts[i].cond, o) : NULL;
    if (r || tn_error_pending()) return r;
  }
  return e;
}

/* ---- comparisons ---- */

typedef enum { UNKNOWN = 0, LESS = 1, EQUAL = 2, GREATER = 4, DIFFERENT = LESS | GREATER } order;

/* What can be told of the order of a and b. A difference that wraps around tells, where it is 0,
   that they are equal, and nothing else. */
static int compare(tn_mut *m, tn_expr *a, tn_expr *b, order *out) {
  arith_analyzer *an = rw_analyzer(m);
  arith_bound x = arith_const_bound(an, a), y = arith_const_bound(an, b);
  *out = LESS | EQUAL | GREATER;
  if (x.max < y.min) return *out = LESS, 0;
  if (x.min > y.max) return *out = GREATER, 0;
  tn_expr *d;
  TN_GET(d, rw_again(m, tir_sub(a, b)));
  if (arith_result_wraps(an, TN_TI_Sub, a, b)) {
    if (tir_is_zero(d)) *out = EQUAL;
    else if (arith_modular_set(an, d).base != 0) *out = DIFFERENT;
    return 0;
  }
  arith_bound diff = arith_intersect(arith_const_bound(an, d),
                                     (arith_bound){arith_sat_add(x.min, arith_sat_neg(y.max)),
                                                   arith_sat_add(x.max, arith_sat_neg(y.min))});
  if (an->depth == 1 && diff.min < 1 && diff.max > -1 && !TN_AS(IntImm, d)) {
    arith_bound known, fact, quotient;
    TN_TRY(arith_known_bounds(an, d, &known));
    TN_TRY(arith_fact_bounds(an, d, &fact));
    TN_TRY(arith_quotient_bounds(an, d, &quotient));
    diff = arith_intersect(diff, arith_intersect(known, arith_intersect(fact, quotient)));
  }
  arith_modular s = arith_modular_set(an, d);
  int o = LESS | EQUAL | GREATER;
  if (diff.min >= 0) o &= ~LESS;
  if (diff.max <= 0) o &= ~GREATER;
  if (diff.min > 0 || diff.max < 0 || s.base != 0) o &= ~EQUAL;
  if (o) *out = (order)o; /* nothing is possible: what is known contradicts itself */
  return 0;
}

/* a < b or a == b, operands simplified */
static tn_expr *ordered(tn_mut *m, tn_BinaryOp *e, tn_expr *a, tn_expr *b) {
  uint32_t type = e->hdr.type_index;
  tn_expr *r = (tn_expr *)e;
  if (a != e->a || b != e->b) TN_GETP(r, tir_binary(type, a, b, e->span));
  if (TN_AS(IntImm, r)) return r;
  if (arith_is_index(a->dtype)) {
    order o;
    TN_TRYP(compare(m, a, b, &o));
    if (type == TN_TI_LT && o == LESS) return truth(r, true);
    if (type == TN_TI_LT && !(o & LESS)) return truth(r, false);
    if (type == TN_TI_EQ && o == EQUAL) return truth(r, true);
    if (type == TN_TI_EQ && !(o & EQUAL)) return truth(r, false);
  }
  tn_expr *to;
  TN_GETP(to, rw_rules(m, r));
  return rw_facts(m, to);
}

static tn_expr *rw_lt(tn_mut *m, tn_expr *a, tn_expr *b, tn_Span *span) {
  tn_expr *e;
  TN_GETP(e, tir_binary(TN_TI_LT, a, b, span));
  tn_BinaryOp *o = TN_AS_BINARY(e);
  return o ? ordered(m, o, o->a, o->b) : e;
}

/* Floats, unsigned and narrow integers and vectors: constants only, and > as <. */
static tn_expr *plain_comparison(tn_mut *m, tn_BinaryOp *e, tn_expr *a, tn_expr *b) {
  tn_expr *r = (tn_expr *)e;
  uint32_t t = e->hdr.type_index;
  if (t == TN_TI_GT) TN_GETP(r, tir_binary(TN_TI_LT, b, a, e->span));
  else if (t == TN_TI_GE) TN_GETP(r, tir_binary(TN_TI_LE, b, a, e->span));
  else if (a != e->a || b != e->b) TN_GETP(r, tir_binary(t, a, b, e->span));
  if (TN_AS(IntImm, r)) return r;
  if (a->dtype.lanes == 1 && ir_is_integral(a->dtype)) {
    arith_bound x = arith_const_bound(rw_analyzer(m), ((tn_BinaryOp *)r)->a),
                y = arith_const_bound(rw_analyzer(m), ((tn_BinaryOp *)r)->b);
    bool below = x.max<y.min, above = x.min> y.max;
    t = r->hdr.type_index;
    if (below || above) return truth(r, t == TN_TI_NE || (t != TN_TI_EQ && below));
  }
  TN_GETP(r, rw_rules(m, r));
  return rw_facts(m, r);
}

static tn_expr *compared(tn_mut *m, tn_BinaryOp *e) {
  tn_expr *a, *b, *r;
  TN_GETP(a, rw_visit(m, e->a));
  TN_GETP(b, rw_visit(m, e->b));
  if (!arith_is_index(a->dtype)) return plain_comparison(m, e, a, b);
  switch (e->hdr.type_index) {
  case TN_TI_NE:
    TN_GETP(r, tir_binary(TN_TI_EQ, a, b, e->span));
    if (TN_AS_BINARY(r)) TN_GETP(r, ordered(m, TN_AS_BINARY(r), a, b));
    break;
  case TN_TI_LE: TN_GETP(r, rw_lt(m, b, a, e->span)); break;
  case TN_TI_GE: TN_GETP(r, rw_lt(m, a, b, e->span)); break;
  case TN_TI_GT: return rw_lt(m, b, a, e->span);
  default: return ordered(m, e, a, b);
  }
  TN_GETP(r, rw_negate(m, r));
  return arith_same(r, (tn_expr *)e) ? (tn_expr *)e : r;
}

tn_expr *rw_comparison(tn_mut *m, tn_BinaryOp *e) { return narrow(m, compared(m, e)); }

/* ---- logic ---- */

tn_expr *arith_opposite(tn_BinaryOp *e) {
  switch (e->hdr.type_index) {
  case TN_TI_EQ: return tir_binary(TN_TI_NE, e->a, e->b, e->span);
  case TN_TI_NE: return tir_binary(TN_TI_EQ, e->a, e->b, e->span);
  case TN_TI_LT: return tir_binary(TN_TI_LE, e->b, e->a, e->span);
  case TN_TI_LE: return tir_binary(TN_TI_LT, e->b, e->a, e->span);
  case TN_TI_GT: return tir_binary(TN_TI_LE, e->a, e->b, e->span);
  default: return tir_binary(TN_TI_LT, e->a, e->b, e->span);
  }
}

/* e is simplified */
tn_expr *rw_negate(tn_mut *m, tn_expr *e) {
  tn_BinaryOp *o = TN_AS_BINARY(e);
  uint32_t t = e->hdr.type_index;
  bool equality = t == TN_TI_EQ || t == TN_TI_NE;
  /* of floats, only equality: neither x < y nor y <= x holds for a NaN */
  if (o && t >= TN_TI_EQ && t <= TN_TI_GE && (equality || ir_is_integral(o->a->dtype))) {
    TN_GETP(e, arith_opposite(o));
    return rw_facts(m, e);
  }
  TN_GETP(e, tir_not(e, e->span));
  if (!TN_AS(Not, e)) return e;
  TN_GETP(e, rw_rules(m, e));
  return rw_facts(m, e);
}

tn_expr *rw_not(tn_mut *m, tn_Not *e) {
  tn_expr *a;
  TN_GETP(a, rw_visit(m, e->a));
  tn_expr *r = rw_negate(m, a);
  return r && arith_same(r, (tn_expr *)e) ? (tn_expr *)e : r;
}

tn_expr *rw_logical(tn_mut *m, tn_BinaryOp *e) {
  tn_expr *a, *b, *r = (tn_expr *)e;
  TN_GETP(a, rw_visit(m, e->a));
  TN_GETP(b, rw_visit(m, e->b));
  tn_expr *folded;
  TN_TRYP(tir_fold(e->hdr.type_index, a, b, e->span, &folded));
  if (folded) return folded;
  if (a != e->a || b != e->b) TN_GETP(r, tir_binary(e->hdr.type_index, a, b, e->span));
  TN_GETP(r, rw_rules(m, r));
  return rw_facts(m, r);
}

/* ---- choices: each side knows which way the condition went ---- */

static int both_sides(tn_mut *m, tn_expr *cond, tn_expr **t, tn_expr **f) {
  if (cond->dtype.lanes != 1) {
    TN_GET(*t, rw_visit(m, *t));
    TN_GET(*f, rw_visit(m, *f));
    return 0;
  }
  tn_expr *other;
  TN_GET(*t, rw_under(m, cond, *t));
  TN_GET(other, rw_negate(m, cond));
  TN_GET(*f, rw_under(m, other, *f));
  return 0;
}

tn_expr *rw_select(tn_mut *m, tn_Select *e) {
  tn_expr *c, *t = e->true_value, *f = e->false_value, *r = (tn_expr *)e;
  TN_GETP(c, rw_visit(m, e->condition));
  if (TN_AS(IntImm, c)) return rw_visit(m, tir_is_one(c) ? t : f);
  TN_TRYP(both_sides(m, c, &t, &f));
  if (c != e->condition || t != e->true_value || f != e->false_value)
    TN_GETP(r, tir_select(c, t, f, e->span));
  return TN_AS(Select, r) ? rw_rules(m, r) : r;
}

static tn_expr *rw_if_then_else(tn_mut *m, tn_Call *e) {
  tn_expr *c, *t = arith_arg(e, 1), *f = arith_arg(e, 2);
  TN_GETP(c, rw_visit(m, arith_arg(e, 0)));
  tn_Call *likely = tir_as_call((tn_obj *)c, TIR_OP_likely);
  if (TN_AS(IntImm, c)) return rw_visit(m, tir_is_one(c) ? t : f);
  TN_TRYP(both_sides(m, likely ? arith_arg(likely, 0) : c, &t, &f));
  if (c == arith_arg(e, 0) && t == arith_arg(e, 1) && f == arith_arg(e, 2)) return (tn_expr *)e;
  return tir_if_then_else(c, t, f, e->span);
}

tn_expr *rw_call(tn_mut *m, tn_Call *e) {
  tir_op_id op = tir_op_number((const tn_obj *)e->op);
  if (op == TIR_OP_if_then_else) return rw_if_then_else(m, e);
  TN_GETP(e, (tn_Call *)tn_mut_children(m, e));
  switch (op) {
  case TIR_OP_likely: {
    tn_expr *x = rw_facts(m, arith_arg(e, 0));
    return x && TN_AS(IntImm, x) ? x : (tn_expr *)e;
  }
  case TIR_OP_bitwise_and:
  case TIR_OP_bitwise_or:
  case TIR_OP_bitwise_xor:
  case TIR_OP_shift_left:
  case TIR_OP_shift_right: {
    bool consts = TN_AS(IntImm, arith_arg(e, 0)) && TN_AS(IntImm, arith_arg(e, 1));
    if (!consts) return (tn_expr *)e;
    if (op < TIR_OP_bitwise_not) return tir_bitwise(op, arith_arg(e, 0), arith_arg(e, 1), e->span);
    int64_t by = ((tn_IntImm *)arith_arg(e, 1))->value;
    if (by < 0 || by >= e->dtype.bits) return (tn_expr *)e; /* undefined: left as it is */
    return tir_shift(op, arith_arg(e, 0), arith_arg(e, 1), e->span);
  }
  default: return (tn_expr *)e;
  }
}
