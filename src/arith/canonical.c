/* Canonical form of sums:  y + x*8 + 3  =>  x*8 + y + 3,   x//8*8 + x%8  =>  x,
   (x*9 + y)//8*8 + (x + y)%8  =>  x*9 + y.

   An int32 or int64 expression is taken as  base + sum of splits,  a split being
   index % upper // lower * scale.  Splits of one index are adjacent, larger `lower` first, so that
   those which together are a coarser split are merged. Division and remainder by constants work on
   splits. Written out, splits are ordered by falling scale; positive ones come first, the base
   after them (before the negative ones when it is positive). */
#include <string.h>

#include "arith/rewrite.h"
#include "base/alloc.h"

typedef struct {
  tn_expr *index;
  int64_t lower, upper, scale; /* upper ARITH_POS_INF: none */
  bool floors;                 /* // and %, else truncated */
} split;

typedef struct {
  split *items;
  int64_t n, cap;
  int64_t base;
} sum;

static void sum_fini(sum *s) { tn_free(s->items); }
#define SUM(name) __attribute__((cleanup(sum_fini))) sum name = {0}

/* Functions return 0, -1 with an error, or this: a number left int64, so the expression stays as it
   is. */
enum { TOO_LARGE = 1 };
#define STEP(e)                                                                                    \
  do {                                                                                             \
    int step_ = (e);                                                                               \
    if (step_) return step_;                                                                       \
  } while (0)

static int take_sum(tn_mut *m, tn_expr *e, sum *out);

/* ---- splits ---- */

static split whole(tn_expr *e) {
  return (split){.index = e, .lower = 1, .upper = ARITH_POS_INF, .scale = 1, .floors = true};
}
static bool is_whole(const split *s) { return s->lower == 1 && s->upper == ARITH_POS_INF; }

static tn_expr *divided(tn_expr *e, int64_t c, bool floors) {
  return c == 1 ? e
                : tir_binary(floors ? TN_TI_FloorDiv : TN_TI_Div, e, tir_int(e->dtype, c), NULL);
}
static tn_expr *remainder_of(tn_expr *e, int64_t c, bool floors) {
  return tir_binary(floors ? TN_TI_FloorMod : TN_TI_Mod, e, tir_int(e->dtype, c), NULL);
}

static bool fits(tn_dtype t, int64_t v) {
  arith_bound all = arith_dtype_bound(t);
  return v >= all.min && v <= all.max;
}

/* The split with its scale times `sign`, written out. */
static int split_expr(const split *s, int64_t sign, tn_expr **out) {
  tn_expr *e = s->index;
  tn_dtype t = e->dtype;
  if ((s->upper != ARITH_POS_INF && !fits(t, s->upper)) || !fits(t, s->lower) ||
      !fits(t, s->scale * sign))
    return TOO_LARGE;
  if (s->upper != ARITH_POS_INF) TN_GET(e, remainder_of(e, s->upper, s->floors));
  TN_GET(e, divided(e, s->lower, s->floors));
  if (s->scale * sign != 1) TN_GET(e, tir_mul(e, tir_int(t, s->scale * sign)));
  *out = e;
  return 0;
}

static int normal_split(split *s) {
  tn_expr *e;
  if (is_whole(s) && s->scale == 1) return 0;
  STEP(split_expr(s, 1, &e));
  *s = whole(e);
  return 0;
}

/* s // c; a scale of 0 is the number 0 */
static int split_div(split *s, int64_t c, bool floors) {
  int64_t lower;
  if (s->scale % c == 0) return s->scale /= c, 0;
  if (!is_whole(s) && s->floors != floors) STEP(normal_split(s));
  s->floors = floors;
  if (s->scale > 0 && c % s->scale == 0) {
    if (__builtin_mul_overflow(s->lower, c / s->scale, &lower)) return TOO_LARGE;
    if (s->upper != ARITH_POS_INF && s->upper % lower != 0) {
      if (s->upper <= lower) return s->scale = 0, 0;
      TN_GET(s->index, remainder_of(s->index, s->upper, floors));
      s->upper = ARITH_POS_INF;
    }
    s->lower = lower, s->scale = 1;
    return 0;
  }
  STEP(normal_split(s));
  s->floors = floors, s->lower = c;
  return 0;
}

/* s % c */
static int split_mod(split *s, int64_t c, bool floors) {
  int64_t upper;
  if (c == ARITH_POS_INF) return TOO_LARGE;
  if (s->scale % c == 0) return s->scale = 0, 0;
  if (!is_whole(s) && s->floors != floors) STEP(normal_split(s));
  s->floors = floors;
  if (s->scale > 0 && c % s->scale == 0) {
    if (__builtin_mul_overflow(s->lower, c / s->scale, &upper) || upper == ARITH_POS_INF)
      return TOO_LARGE;
    if (s->upper == ARITH_POS_INF || s->upper % upper == 0) return s->upper = upper, 0;
    if (upper % s->upper == 0) return 0;
  }
  STEP(normal_split(s));
  s->floors = floors, s->upper = c;
  return 0;
}

/* ---- sums ---- */

static bool same_split(const split *x, const split *y) {
  return x->lower == y->lower && x->upper == y->upper && (is_whole(x) || x->floors == y->floors);
}

static int insert(sum *s, int64_t at, const split *x) {
  TN_GROW(s->items, s->cap, s->n + 1, return -1);
  memmove(s->items + at + 1, s->items + at, (size_t)(s->n - at) * sizeof *x);
  s->items[at] = *x;
  ++s->n;
  return 0;
}

/* s += x * scale */
static int add_split(sum *s, split x, int64_t scale) {
  int64_t i = 0;
  if (__builtin_mul_overflow(x.scale, scale, &x.scale) || x.scale == INT64_MIN) return TOO_LARGE;
  if (x.scale == 0) return 0;
  while (i < s->n && !arith_same(s->items[i].index, x.index)) ++i;
  for (; i < s->n && arith_same(s->items[i].index, x.index); ++i) {
    split *y = &s->items[i];
    if (x.lower > y->lower) break;
    if (same_split(&x, y))
      return __builtin_add_overflow(y->scale, x.scale, &y->scale) ? TOO_LARGE : 0;
  }
  return insert(s, i, &x);
}

static int add_base(sum *s, int64_t x, int64_t scale) {
  if (__builtin_mul_overflow(x, scale, &x) || __builtin_add_overflow(s->base, x, &s->base))
    return TOO_LARGE;
  return s->base == INT64_MIN ? TOO_LARGE : 0;
}

static int add_sum(sum *s, const sum *x, int64_t scale) {
  for (int64_t i = 0; i < x->n; ++i) STEP(add_split(s, x->items[i], scale));
  return add_base(s, x->base, scale);
}

/* hi, lo: splits of one index, hi of the larger lower: the coarse part and the rest of it. */
static bool completes(const split *hi, const split *lo) {
  int64_t lower;
  return hi->scale != 0 && lo->scale != 0 && hi->lower == lo->upper &&
         (hi->floors == lo->floors || is_whole(hi)) && hi->scale % lo->scale == 0 &&
         !__builtin_mul_overflow(hi->scale / lo->scale, lo->lower, &lower) && hi->lower == lower;
}

/* A term that has become like another one is added to it. */
static void join_like(sum *s, split *x) {
  for (int64_t i = 0; i < s->n && x->scale != 0; ++i) {
    split *y = &s->items[i];
    int64_t both;
    bool like = y != x && y->scale != 0 && same_split(x, y) && arith_same(x->index, y->index);
    if (!like || __builtin_add_overflow(x->scale, y->scale, &both) || both == INT64_MIN) continue;
    y->scale = both;
    x->scale = 0;
  }
}

static void merge(sum *s) {
  for (int64_t i = 0; i < s->n; ++i) {
    for (int64_t j = i + 1; j < s->n && s->items[i].scale != 0; ++j) {
      split *hi = &s->items[i], *lo = &s->items[j];
      if (!arith_same(hi->index, lo->index)) break;
      if (!completes(hi, lo)) continue;
      lo->upper = hi->upper;
      hi->scale = 0;
      join_like(s, lo);
    }
  }
}

static bool before(const split *x, const split *y) {
  if (x->scale != y->scale) return x->scale > y->scale;
  if (x->lower != y->lower) return x->lower > y->lower;
  if (x->upper != y->upper) return x->upper > y->upper;
  return x->floors > y->floors;
}

static void sort(sum *s) {
  for (int64_t i = 1; i < s->n; ++i) {
    split x = s->items[i];
    int64_t j = i;
    for (; j > 0 && before(&x, &s->items[j - 1]); --j) s->items[j] = s->items[j - 1];
    s->items[j] = x;
  }
}

/* terms whose scale has the given sign */
static int write_terms(const sum *s, int64_t sign, tn_expr **e) {
  for (int64_t i = 0; i < s->n; ++i) {
    tn_expr *term;
    if ((s->items[i].scale > 0 ? 1 : s->items[i].scale < 0 ? -1 : 0) != sign) continue;
    STEP(split_expr(&s->items[i], sign, &term));
    TN_GET(*e, tir_binary(sign > 0 ? TN_TI_Add : TN_TI_Sub, *e, term, NULL));
  }
  return 0;
}

static int sum_expr(sum *s, tn_dtype t, tn_expr **out) {
  tn_expr *e;
  if (!fits(t, s->base) || !fits(t, -s->base)) return TOO_LARGE;
  merge(s);
  sort(s);
  TN_GET(e, tir_int(t, 0));
  STEP(write_terms(s, 1, &e));
  if (s->base > 0) TN_GET(e, tir_add(e, tir_int(t, s->base)));
  STEP(write_terms(s, -1, &e));
  if (s->base < 0) TN_GET(e, tir_sub(e, tir_int(t, -s->base)));
  *out = e;
  return 0;
}

/* ---- division and remainder of sums by a constant ---- */

static int separate(const sum *s, int64_t c, sum *divisible, sum *rest) {
  for (int64_t i = 0; i < s->n; ++i)
    STEP(add_split(s->items[i].scale % c == 0 ? divisible : rest, s->items[i], 1));
  return add_base(s->base % c == 0 ? divisible : rest, s->base, 1);
}

/* Truncation is as flooring where the parts are not negative. The rest is a separate number: it
   has to fit its type. */
static int parts_fit(tn_mut *m, sum *divisible, sum *rest, tn_dtype t, bool floors, bool *yes) {
  tn_expr *x, *y;
  *yes = rest->n == 0 && rest->base == 0;
  if (*yes) return 0;
  STEP(sum_expr(rest, t, &y));
  *yes = arith_exact(rw_analyzer(m), y);
  if (!*yes || floors) return 0;
  STEP(sum_expr(divisible, t, &x));
  *yes = arith_prove_ge(rw_analyzer(m), x, 0) && arith_prove_ge(rw_analyzer(m), y, 0);
  return 0;
}

/* parts_fit where a part that is too large does not fit */
static int separable(tn_mut *m, sum *divisible, sum *rest, tn_dtype t, bool floors, bool *yes) {
  int err = parts_fit(m, divisible, rest, t, floors, yes);
  if (err == TOO_LARGE) *yes = false;
  return err < 0 ? err : 0;
}

static bool below(tn_mut *m, tn_expr *e, int64_t c) {
  arith_bound b = arith_const_bound(rw_analyzer(m), e);
  return b.min >= 0 && b.max < c;
}

static split only_split(const sum *s, tn_expr *e) {
  return s->n == 1 && s->base == 0 ? s->items[0] : whole(e);
}

static int div_const(tn_mut *m, sum *a, tn_dtype t, int64_t c, bool floors, sum *out) {
  SUM(rest);
  SUM(divisible);
  bool apart;
  STEP(separate(a, c, &divisible, &rest));
  STEP(separable(m, &divisible, &rest, t, floors, &apart));
  if (!apart) {
    divisible.n = divisible.base = rest.n = rest.base = 0;
    STEP(add_sum(&rest, a, 1));
  }
  for (int64_t i = 0; i < divisible.n; ++i) divisible.items[i].scale /= c;
  divisible.base /= c;
  STEP(add_sum(out, &divisible, 1));
  tn_expr *e;
  STEP(sum_expr(&rest, t, &e));
  if (rest.n == 0) return add_base(out, floors ? arith_floordiv(rest.base, c) : rest.base / c, 1);
  if (below(m, e, c)) return 0;
  split s = only_split(&rest, e);
  STEP(split_div(&s, c, floors));
  return add_split(out, s, 1);
}

static int mod_const(tn_mut *m, sum *a, tn_dtype t, int64_t c, bool floors, sum *out) {
  SUM(rest);
  SUM(divisible);
  bool apart;
  STEP(separate(a, c, &divisible, &rest));
  STEP(separable(m, &divisible, &rest, t, floors, &apart));
  if (!apart) {
    rest.n = rest.base = 0;
    STEP(add_sum(&rest, a, 1));
  }
  tn_expr *e;
  STEP(sum_expr(&rest, t, &e));
  if (rest.n == 0) return add_base(out, floors ? arith_floormod(rest.base, c) : rest.base % c, 1);
  if (below(m, e, c)) return add_sum(out, &rest, 1);
  if (floors && arith_floormod(rest.base, c) != rest.base) {
    int64_t base = rest.base;
    tn_expr *shifted;
    rest.base = arith_floormod(rest.base, c);
    STEP(sum_expr(&rest, t, &shifted));
    if (arith_exact(rw_analyzer(m), shifted)) {
      e = shifted;
      if (below(m, e, c)) return add_sum(out, &rest, 1);
    } else {
      rest.base = base;
    }
  }
  split s = only_split(&rest, e);
  STEP(split_mod(&s, c, floors));
  return add_split(out, s, 1);
}

static int take_wrapped(tn_mut *m, tn_expr *e, sum *out) {
  SUM(s);
  STEP(take_sum(m, e, &s));
  STEP(sum_expr(&s, e->dtype, &e));
  int64_t c;
  if (tir_as_int((tn_obj *)e, &c)) return add_base(out, c, 1);
  return add_split(out, whole(e), 1);
}

static int divide(tn_mut *m, tn_BinaryOp *e, int64_t c, sum *out) {
  SUM(a);
  uint32_t type = e->hdr.type_index;
  /* what may wrap around is one number */
  if (arith_exact(rw_analyzer(m), e->a)) STEP(take_sum(m, e->a, &a));
  else STEP(take_wrapped(m, e->a, &a));
  merge(&a);
  /* drop what has become 0, so that a single split is seen as one */
  int64_t n = 0;
  for (int64_t i = 0; i < a.n; ++i)
    if (a.items[i].scale != 0) a.items[n++] = a.items[i];
  a.n = n;
  bool floors = type == TN_TI_FloorDiv || type == TN_TI_FloorMod;
  bool quotient = type == TN_TI_FloorDiv || type == TN_TI_Div;
  return (quotient ? div_const : mod_const)(m, &a, e->dtype, c, floors, out);
}

/* ---- expressions as sums ---- */

static bool is_constant(const sum *s) {
  for (int64_t i = 0; i < s->n; ++i)
    if (s->items[i].scale != 0) return false;
  return true;
}

/* A node that is not a sum: simplified as it is; what comes out may be one. */
static int take_other(tn_mut *m, tn_expr *e, sum *out) {
  rewriter *r = m->ctx;
  uint32_t type = e->hdr.type_index;
  bool divides = type >= TN_TI_Div && type <= TN_TI_FloorMod; /* rw_visit would come back here */
  tn_expr *x = divides ? rw_arithmetic(m, TN_AS_BINARY(e)) : rw_visit(m, e);
  if (!x) return -1;
  uint32_t t = x->hdr.type_index;
  if (t == TN_TI_IntImm) return add_base(out, ((tn_IntImm *)x)->value, 1);
  if (t >= TN_TI_Add && t <= TN_TI_FloorMod && !arith_same(x, e) && r->again < 5) {
    ++r->again;
    int err = take_sum(m, x, out);
    --r->again;
    return err;
  }
  return add_split(out, whole(x), 1);
}

static int multiply(tn_mut *m, tn_BinaryOp *e, sum *out) {
  SUM(a);
  SUM(b);
  tn_expr *x, *y;
  STEP(take_sum(m, e->a, &a));
  STEP(take_sum(m, e->b, &b));
  if (is_constant(&b)) return add_sum(out, &a, b.base);
  if (is_constant(&a)) return add_sum(out, &b, a.base);
  STEP(sum_expr(&a, e->dtype, &x));
  STEP(sum_expr(&b, e->dtype, &y));
  TN_GET(x, tir_mul(x, y));
  TN_GET(x, rw_rules(m, x));
  return add_split(out, whole(x), 1);
}

/* Sums are of scalars: rules move what they can out of vectors. */
static bool is_term(tn_dtype t) { return t.lanes == 1 && arith_is_index(t); }

static int take_sum(tn_mut *m, tn_expr *e, sum *out) {
  tn_BinaryOp *o = TN_AS_BINARY(e);
  uint32_t type = e->hdr.type_index;
  int64_t c;
  if (!is_term(e->dtype) || arith_deep()) return add_split(out, whole(e), 1);
  if (type == TN_TI_IntImm) return add_base(out, ((tn_IntImm *)e)->value, 1);
  if (type == TN_TI_Add || type == TN_TI_Sub) {
    SUM(b);
    STEP(take_sum(m, o->a, out));
    STEP(take_sum(m, o->b, &b));
    return add_sum(out, &b, type == TN_TI_Add ? 1 : -1);
  }
  if (type == TN_TI_Mul) return multiply(m, o, out);
  bool divides = type >= TN_TI_Div && type <= TN_TI_FloorMod;
  bool constant = divides && tir_as_int((tn_obj *)o->b, &c) && c > 0 && c < ARITH_POS_INF;
  if (constant) return divide(m, o, c, out);
  return take_other(m, e, out);
}

/* Is x - y a multiple of c, whatever its variables are? */
static int congruent(tn_mut *m, tn_expr *x, tn_expr *y, int64_t c, bool *yes) {
  SUM(difference);
  tn_expr *d;
  TN_GET(d, tir_sub(x, y));
  *yes = arith_exact(rw_analyzer(m), d);
  if (!*yes) return 0;
  STEP(take_sum(m, d, &difference));
  *yes = difference.base % c == 0;
  for (int64_t i = 0; i < difference.n; ++i) *yes = *yes && difference.items[i].scale % c == 0;
  return 0;
}

/* An index that is a sum itself, nothing taken off it. */
static int open_split(tn_mut *m, sum *s, int64_t i) {
  SUM(terms);
  int64_t scale = s->items[i].scale;
  STEP(take_sum(m, s->items[i].index, &terms));
  s->items[i].scale = 0;
  return add_sum(s, &terms, scale);
}

/* x//8*8 + y%8, where y was x once and has lost multiples of 8, is x: the coarse part takes in the
   rest, which is not of its index. */
static int join_congruent(tn_mut *m, sum *s) {
  for (int64_t i = 0; i < s->n; ++i) {
    for (int64_t j = 0; j < s->n; ++j) {
      split *hi = &s->items[i], *lo = &s->items[j];
      bool same = !completes(hi, lo) || arith_same(hi->index, lo->index), yes;
      if (same || !hi->floors || (hi->upper != ARITH_POS_INF && hi->upper % hi->lower)) continue;
      STEP(congruent(m, hi->index, lo->index, lo->upper, &yes));
      if (!yes) continue;
      hi->lower = lo->lower;
      hi->scale = lo->scale;
      lo->scale = 0;
      if (is_whole(hi)) STEP(open_split(m, s, i));
    }
  }
  return 0;
}

static tn_expr *canonical(tn_mut *m, tn_BinaryOp *e) {
  SUM(s);
  tn_expr *r;
  if (!is_term(e->dtype)) return rw_arithmetic(m, e);
  int err = take_sum(m, (tn_expr *)e, &s);
  if (!err) err = join_congruent(m, &s);
  if (!err) err = sum_expr(&s, e->dtype, &r);
  if (err < 0) return NULL;
  if (err == TOO_LARGE || arith_same(r, (tn_expr *)e)) return (tn_expr *)e;
  return r;
}

static const tn_mut_case cases[] = {
    TN_CASE(Add, canonical),      TN_CASE(Sub, canonical), TN_CASE(Mul, canonical),
    TN_CASE(Div, canonical),      TN_CASE(Mod, canonical), TN_CASE(FloorDiv, canonical),
    TN_CASE(FloorMod, canonical), RW_COMMON_CASES,
};

tn_expr *arith_canonical_simplify(arith_analyzer *a, tn_expr *e) {
  TN_SCOPE(s);
  if (a->depth >= 3) return e;
  rewriter r = {.a = a, .again = a->depth ? 2 : 0};
  TN_MUT(m, cases, &r);
  m.exprs = true;
  ++a->depth;
  tn_expr *out = rw_visit(&m, e);
  --a->depth;
  rw_fini(&r);
  return tn_scope_return(s, out);
}
