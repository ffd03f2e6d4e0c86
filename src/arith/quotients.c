/* Bounds of sums with quotients, by the rational numbers between which each quotient lies:

     (u - k + 1) / k <= u // k <= u / k

   With n + 1 over 2 for (n - 1) // 2 + 1 and n over 12 for (n + 11) // 12:
     (n + 11) // 12 * 6 - (n - 1) // 2 - 1 >= -1 / 2,  which for a whole number means >= 0. */
#include "arith/arith_impl.h"
#include "ir/imm.h"

enum { MAX_PARTS = 16, MAX_QUOTIENTS = 4, MAX_DEPTH = 8, MAX_FACTOR = 1 << 20 };

/* factor * value, with value // divisor where there is one */
typedef struct {
  tn_expr *value;
  int64_t factor, divisor;
} part;

typedef struct {
  part parts[MAX_PARTS];
  int n, quotients;
  int64_t constant, scale; /* a multiple of all divisors */
} sum;

static bool is_small(int64_t x) { return x > -MAX_FACTOR && x < MAX_FACTOR; }

static bool add_part(sum *s, tn_expr *value, int64_t factor, int64_t divisor) {
  if (s->n == MAX_PARTS) return false;
  s->parts[s->n++] = (part){value, factor, divisor};
  if (divisor == 1) return true;
  s->scale = s->scale / arith_gcd(s->scale, divisor) * divisor;
  return ++s->quotients <= MAX_QUOTIENTS && is_small(s->scale);
}

/* Adds factor * e. @return false: the sum has too many parts, or too large ones */
static bool add(sum *s, tn_expr *e, int64_t factor, int depth) {
  const tn_BinaryOp *o = TN_AS_BINARY(e);
  int64_t c;
  if (!is_small(factor) || depth > MAX_DEPTH) return false;
  if (tir_as_int((tn_obj *)e, &c)) {
    if (!is_small(c)) return false;
    s->constant += factor * c;
    return is_small(s->constant);
  }
  switch (o ? o->hdr.type_index : 0) {
  case TN_TI_Add: return add(s, o->a, factor, depth + 1) && add(s, o->b, factor, depth + 1);
  case TN_TI_Sub: return add(s, o->a, factor, depth + 1) && add(s, o->b, -factor, depth + 1);
  case TN_TI_Mul:
    if (!tir_as_int((tn_obj *)o->b, &c) || !is_small(c)) return add_part(s, e, factor, 1);
    return add(s, o->a, factor * c, depth + 1);
  case TN_TI_FloorDiv:
    if (!tir_as_int((tn_obj *)o->b, &c) || c < 1 || !is_small(c)) return add_part(s, e, factor, 1);
    return add_part(s, o->a, factor, c);
  default: return add_part(s, e, factor, 1);
  }
}

/* `scale` times the sum with each quotient at its lower end (or upper one) as a rational number;
 *out is NULL where a factor is too large. */
static int relaxed(const sum *s, tn_dtype t, bool low, tn_expr **out) {
  tn_expr *all;
  *out = NULL;
  if (!is_small(s->constant * s->scale)) return 0;
  TN_GET(all, tir_const_int(t, s->constant * s->scale));
  for (int i = 0; i < s->n; ++i) {
    const part *p = &s->parts[i];
    int64_t factor = p->factor * (s->scale / p->divisor);
    tn_expr *value = p->value;
    if (!is_small(factor)) return 0;
    if (p->divisor > 1 && (p->factor > 0) == low)
      TN_GET(value, tir_sub(value, tir_const_int(t, p->divisor - 1)));
    TN_GET(all, tir_add(all, tir_mul(value, tir_const_int(t, factor))));
  }
  *out = all;
  return 0;
}

/* The bounds of the relaxed sum, if it is the exact one. */
static int bound_of(arith_analyzer *a, const sum *s, tn_dtype t, bool low, arith_bound *out) {
  tn_expr *e;
  *out = arith_everything();
  TN_TRY(relaxed(s, t, low, &e));
  if (!e || !arith_exact(a, e)) return 0;
  TN_GET(e, arith_simplify(a, e));
  *out = arith_const_bound(a, e);
  return 0;
}

static int64_t quotient_down(int64_t x, int64_t by) { return x / by - (x % by < 0); }

int arith_quotient_bounds(arith_analyzer *a, tn_expr *e, arith_bound *out) {
  sum s = {.scale = 1};
  arith_bound low, high;
  *out = arith_everything();
  if (!arith_is_index(e->dtype) || !add(&s, e, 1, 0) || !s.quotients) return 0;
  for (int i = 0; i < s.n; ++i)
    if (arith_is_data(a, s.parts[i].value)) return 0;
  TN_TRY(bound_of(a, &s, e->dtype, true, &low));
  TN_TRY(bound_of(a, &s, e->dtype, false, &high));
  if (low.min > ARITH_NEG_INF) out->min = -quotient_down(-low.min, s.scale);
  if (high.max < ARITH_POS_INF) out->max = quotient_down(high.max, s.scale);
  return 0;
}
