/* Attention as kernels see it: softmax between two products, for every head of every item.

     out[b, h, m, d] = sum of p[b, h, m, n] * value[b, h, n, d] over n
     p = softmax over n of scores(sum of query[b, h, m, k] * key[b, h, n, k] over k) */
#ifndef TN_KERNELS_ATTENTION_H_
#define TN_KERNELS_ATTENTION_H_

#include "kernels/kernels_impl.h"

/* Expressions are over the variables b, h, m, n, k, d; those of extent 1 may be missing in them. */
typedef struct {
  const target_machine *machine;
  tn_dtype dtype;
  int64_t batch, heads, rows, columns, depth, width; /* extents of b, h, m, n, k, d */
  tn_Var *b, *h, *m, *n, *k, *d;
  const tn_BufferLoad *query, *key, *value;
  tn_Var *score;   /* the sum of products in `scores` */
  tn_expr *scores; /* what softmax is given: scaled, masked */
  tn_Buffer *out;
  tn_arr *place; /* indices of the result's element */
} attention;

/* Is the program attention? @return 1, 0, -1 with an error */
int attention_match(attention *a, const tn_PrimFunc *f, const target_machine *m);
/* Are loads with the next value of `v` next to each other? */
bool attention_runs_along(const tn_BufferLoad *load, const tn_Var *v);

#endif /* TN_KERNELS_ATTENTION_H_ */
