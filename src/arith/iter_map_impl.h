/* Shared by the files that detect and check iteration maps. */
#ifndef TN_ARITH_ITER_MAP_IMPL_H_
#define TN_ARITH_ITER_MAP_IMPL_H_

#include "arith/arith_impl.h"
#include "arith/iter_map.h"
#include "base/vec.h"

/* A sum of splits under construction. */
typedef struct {
  tn_vec args; /* tn_IterSplitExpr */
  tn_expr *base;
} iter_sum;

enum { ITER_MAX_PADS = 16 };

/* An iterator that divisions extend on both sides (iter_map_pad.c). */
typedef struct {
  tn_IterSplitExpr *of;         /* what is extended; its scale does not matter */
  int64_t extent, left, factor; /* of it; before it; the whole is a multiple of factor */
  int64_t total;                /* extent of the mark */
  tn_IterMark *mark;            /* NULL until it is used */
} iter_pad;

typedef struct {
  arith_analyzer *a;
  const tn_map *ranges;
  tn_pmap vars;       /* tn_Var -> tn_IterSumExpr */
  tn_vec fused;       /* marks made by fusing, each once */
  tn_vec constrained; /* those of them that the predicate limits */
  tn_vec errors;      /* texts */
  tn_vec bound;       /* variables whose range the analyzer learned here */
  int64_t mark;       /* before the facts that it learned here */
  bool failed;        /* an error is in `errors` */
  bool padding;       /* iterators may be extended to be divided */
  bool again;         /* one has to be extended further: the indices are rewritten again */
  int npads;
  iter_pad pads[ITER_MAX_PADS];
} iter_ctx;

static inline tn_IterSplitExpr *iter_at(const tn_vec *v, int64_t i) {
  return (tn_IterSplitExpr *)v->items[i].v.obj;
}
static inline tn_IterSplitExpr *iter_arg(const tn_IterSumExpr *s, int64_t i) {
  return (tn_IterSplitExpr *)tn_arr_obj(s->args, i);
}

/** Tells the analyzer the ranges of variables it knows nothing of; they are listed in `bound`,
 * which iter_unbind takes back. */
int iter_bind(arith_analyzer *a, const tn_map *ranges, tn_vec *bound);
void iter_unbind(arith_analyzer *a, tn_vec *bound);
/** Tells the analyzer that no range is empty, until it leaves these facts. */
int iter_know_extents(arith_analyzer *a, const tn_map *ranges);

int iter_ctx_init(iter_ctx *c, arith_analyzer *a, const tn_map *ranges, bool simplify_trivial);
void iter_ctx_fini(iter_ctx *c);
/** Notes why the indices are not an iteration map. Always 0: not an error of the function. */
int iter_fail(iter_ctx *c, const char *why, tn_expr *e);
int iter_take_predicate(iter_ctx *c, tn_expr *predicate);

/** The index as a sum; c->failed when it is not affine. */
tn_IterSumExpr *iter_rewrite(iter_ctx *c, tn_expr *e);
/** Fuses the splits of a sum into one; the sum itself when there are none or one. c->failed when
 * they do not fit together. */
tn_IterSumExpr *iter_fuse(iter_ctx *c, tn_IterSumExpr *s);
/** scale * x + base over scale * q, with x extended as needed; `*done` false: it cannot be. */
tn_IterSumExpr *iter_divide_padded(iter_ctx *c, tn_IterSplitExpr *x, tn_expr *q, tn_expr *base,
                                   bool quotient, bool *done);
/** Was the iterator extended for a division before? */
bool iter_is_padded(iter_ctx *c, const tn_IterSplitExpr *x);
const iter_pad *iter_pad_of_mark(const iter_ctx *c, const tn_IterMark *m);
/** Do `ndigits` digits of a padded iterator take all combinations of values, although it begins and
 * ends within them? @param lower of the first of them, @param end of the last */
bool iter_pad_covers(const iter_pad *p, int64_t lower, int64_t end, int ndigits);
/** Where the padding is, as a condition over the variables. */
tn_expr *iter_padding(iter_ctx *c, const tn_vec *sums);
/** Are the fused indices independent (and complete)? Notes why not. */
int iter_check(iter_ctx *c, const tn_vec *sums, iter_map_level level);

/** Which of marks[from..] comes next when sums come before what they are made of. */
int64_t iter_next_mark(const tn_vec *marks, int64_t from);

tn_IterSplitExpr *iter_split(tn_IterMark *m, tn_expr *lower, tn_expr *extent, tn_expr *scale);
tn_IterSumExpr *iter_sum_of(const tn_vec *args, tn_expr *base);
tn_IterSumExpr *iter_sum_one(tn_IterSplitExpr *s, tn_expr *base);
static inline bool iter_equal(iter_ctx *c, tn_expr *x, tn_expr *y) {
  return arith_prove_equal(c->a, x, y);
}
/** Does x divide y? Both may be symbolic. */
bool iter_divides(iter_ctx *c, tn_expr *x, tn_expr *y);
static inline tn_expr *iter_simple(iter_ctx *c, tn_expr *e) {
  return e ? arith_simplify(c->a, e) : e;
}

#endif /* TN_ARITH_ITER_MAP_IMPL_H_ */
