/* Division of iterators whose extent or offset is not a multiple of the divisor: the iterator is
   taken to begin earlier and to end later, at multiples.

     y in [0, 176):   (y + 80) // 32   =>   p // 32 + 2,   p = y + 16 in [0, 192)
                                            padding: p < 16

   All divisions of one iterator share one padded iterator: what each of them asks for is noted, and
   indices are rewritten again until nothing new is asked for. Constant extents only. */
#include "arith/iter_map_impl.h"

static int64_t gcd(int64_t a, int64_t b) {
  while (b) {
    int64_t r = a % b;
    a = b, b = r;
  }
  return a;
}

static bool same_origin(const iter_pad *p, const tn_IterSplitExpr *x) {
  return p->of->source == x->source && arith_same(p->of->lower_factor, x->lower_factor) &&
         arith_same(p->of->extent, x->extent);
}

static iter_pad *pad_of_split(iter_ctx *c, const tn_IterSplitExpr *x) {
  for (int i = 0; i < c->npads; ++i)
    if (same_origin(&c->pads[i], x)) return &c->pads[i];
  return NULL;
}

const iter_pad *iter_pad_of_mark(const iter_ctx *c, const tn_IterMark *m) {
  for (int i = 0; i < c->npads; ++i)
    if (c->pads[i].mark == m) return &c->pads[i];
  return NULL;
}

enum { MAX_FACTOR = 1 << 20 };

/* Wants the iterator to begin `left` before a multiple of `factor`, besides what was wanted before.
   Offsets that contradict each other, as those of x // 3 and (x + 1) // 3, give false. */
static bool want(iter_ctx *c, iter_pad *p, int64_t left, int64_t factor) {
  int64_t g = gcd(p->factor, factor), all = p->factor / g * factor, at = p->left;
  left %= factor;
  if (left < 0) left += factor;
  if ((left - p->left) % g != 0 || all > MAX_FACTOR) return false;
  while (at % factor != left) at += p->factor;
  if (at == p->left && all == p->factor) return true;
  p->left = at, p->factor = all;
  p->mark = NULL;
  c->again = true;
  return true;
}

static int make_mark(iter_ctx *c, iter_pad *p) {
  tn_expr *one = tir_one(p->of->extent->dtype), *left, *total;
  tn_IterSumExpr *s;
  (void)c;
  if (p->mark) return 0;
  p->total = (p->left + p->extent + p->factor - 1) / p->factor * p->factor;
  TN_GET(left, tir_const_int(p->of->extent->dtype, p->left));
  TN_GET(total, tir_const_int(p->of->extent->dtype, p->total));
  TN_GET(s, iter_sum_one(iter_split(p->of->source, p->of->lower_factor, p->of->extent, one), left));
  TN_GET(p->mark, TN_NEW(IterMark, .source = (tn_expr *)s, .extent = total));
  return 0;
}

/* The last digit of a padded iterator is what its further divisions divide. */
static iter_pad *pad_divided(iter_ctx *c, const tn_IterSplitExpr *x, int64_t lower) {
  for (int i = 0; i < c->npads; ++i) {
    int64_t extent;
    iter_pad *p = &c->pads[i];
    if (p->mark == x->source && tir_as_int((tn_obj *)x->extent, &extent) &&
        lower * extent == p->total)
      return p;
  }
  return NULL;
}

static iter_pad *new_pad(iter_ctx *c, tn_IterSplitExpr *x, int64_t extent) {
  if (c->npads == ITER_MAX_PADS) return NULL;
  c->pads[c->npads] = (iter_pad){.of = x, .extent = extent, .factor = 1};
  return &c->pads[c->npads++];
}

/* (x + base) over q for an iterator that has its padding: x + base is p + base - left. */
static tn_IterSumExpr *over(iter_ctx *c, iter_pad *p, tn_IterSplitExpr *x, int64_t q, int64_t base,
                            bool quotient) {
  tn_dtype t = x->extent->dtype;
  TN_TRYP(make_mark(c, p));
  tn_expr *one = tir_one(t), *zero = tir_zero(t), *by = tir_const_int(t, q);
  if (!quotient) return iter_sum_one(iter_split(p->mark, one, by, x->scale), zero);
  int64_t n = p->total / q;
  tn_expr *rest = tir_const_int(t, (base - p->left) / q);
  if (n <= 1) return iter_sum_of(&(tn_vec){0}, rest);
  return iter_sum_one(iter_split(p->mark, by, tir_const_int(t, n), one), rest);
}

tn_IterSumExpr *iter_divide_padded(iter_ctx *c, tn_IterSplitExpr *x, tn_expr *q, tn_expr *base,
                                   bool quotient, bool *done) {
  int64_t n, by, offset, lower;
  bool constant = tir_as_int((tn_obj *)x->extent, &n) && tir_as_int((tn_obj *)q, &by) &&
                  tir_as_int((tn_obj *)base, &offset) &&
                  tir_as_int((tn_obj *)x->lower_factor, &lower);
  *done = constant && by > 0 && by <= MAX_FACTOR && n > 0;
  if (!*done) return NULL;
  iter_pad *p = pad_divided(c, x, lower);
  if (p) {
    *done = want(c, p, p->left + offset * lower, lower * by);
    return *done ? iter_sum_of(&(tn_vec){0}, tir_zero(x->extent->dtype)) : NULL; /* see again */
  }
  p = pad_of_split(c, x);
  if (!p) p = new_pad(c, x, n);
  *done = p && want(c, p, offset, by);
  return *done ? over(c, p, x, by, offset, quotient) : NULL;
}

bool iter_is_padded(iter_ctx *c, const tn_IterSplitExpr *x) { return pad_of_split(c, x) != NULL; }

/* ---- what padding means for the indices ---- */

bool iter_pad_covers(const iter_pad *p, int64_t lower, int64_t end, int ndigits) {
  int64_t last = p->left + p->extent - 1;
  if (end < p->total) return p->extent >= end; /* all remainders occur */
  if (ndigits > 1) return p->left == 0 && p->extent == p->total;
  return p->left < lower && last / lower == p->total / lower - 1;
}

static int note_padding(iter_ctx *c, tn_IterSumExpr *s, bool *seen, tn_expr **cond);

static int note_mark(iter_ctx *c, const tn_IterMark *m, bool *seen, tn_expr **cond) {
  tn_IterSumExpr *s = TN_AS(IterSumExpr, m->source);
  const iter_pad *p = iter_pad_of_mark(c, m);
  if (p && !seen[p - c->pads]) {
    tn_expr *e;
    tn_dtype t = m->extent->dtype;
    seen[p - c->pads] = true;
    TN_GET(e, iter_map_expr((tn_obj *)s));
    if (p->left > 0) *cond = tir_or(*cond, tir_lt(e, tir_const_int(t, p->left)));
    if (p->left + p->extent < p->total)
      *cond = tir_or(*cond, tir_ge(e, tir_const_int(t, p->left + p->extent)));
    if (!*cond) return -1;
  }
  return s ? note_padding(c, s, seen, cond) : 0;
}

static int note_padding(iter_ctx *c, tn_IterSumExpr *s, bool *seen, tn_expr **cond) {
  for (int64_t i = 0; i < s->args->len; ++i)
    TN_TRY(note_mark(c, iter_arg(s, i)->source, seen, cond));
  return 0;
}

tn_expr *iter_padding(iter_ctx *c, const tn_vec *sums) {
  bool seen[ITER_MAX_PADS] = {false};
  tn_expr *cond = tir_bool(false);
  for (int64_t i = 0; cond && i < sums->len; ++i)
    TN_TRYP(note_padding(c, (tn_IterSumExpr *)sums->items[i].v.obj, seen, &cond));
  return cond;
}
