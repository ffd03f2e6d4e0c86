/* Walking a program in the order in which its variables come into scope, are used and go out of
   it. Loops and lets of any depth: nothing recurses.

     for i in range(n):        define(i, LOOP)  use(n) came before
         A[i] = x              use(A.data)  use(i)  use(x)
                               end(i)

   What analyses of variables stand on: well-formedness, single assignment, free variables. */
#ifndef TN_TIR_ANALYSIS_SCOPE_WALK_H_
#define TN_TIR_ANALYSIS_SCOPE_WALK_H_

#include "tir/tir.h"

typedef enum {
  SCOPE_PARAM,      /* parameter of the function */
  SCOPE_BUFFER,     /* pointer, extent, stride or offset that a buffer of the signature brings */
  SCOPE_LOOP,       /* loop variable */
  SCOPE_BOUND_LOOP, /* the same of a loop over a thread axis, which blocks may name */
  SCOPE_LET,        /* bound to a value; `value` of the walk is it */
  SCOPE_ALLOC,      /* pointer of an allocation */
  SCOPE_THREAD,     /* variable of a thread axis */
  SCOPE_BLOCK_ITER, /* block iterator */
  SCOPE_REDUCE,     /* variable of a reduction or of its combiner */
} scope_kind;

typedef struct scope_walk scope_walk;

typedef struct {
  /* each returns 0 to go on, anything else ends the walk with it; NULL: nothing to do */
  int (*define)(void *ctx, const scope_walk *w, tn_Var *v, scope_kind kind);
  int (*end)(void *ctx, const scope_walk *w, tn_Var *v, scope_kind kind);
  int (*use)(void *ctx, const scope_walk *w, tn_Var *v);
  int (*enter_block)(void *ctx, const scope_walk *w, const tn_Block *b);
  int (*leave_block)(void *ctx, const scope_walk *w, const tn_Block *b);
} scope_visitor;

/** Walks a PrimFunc, a statement or an expression. Stops at the first non-zero answer and returns
 * it; -1 with MemoryError. */
int scope_walk_run(const tn_obj *root, const scope_visitor *visitor, void *ctx);

/** The value that the variable of a let is bound to, while its definition is shown. */
const tn_expr *scope_walk_value(const scope_walk *w);
/** Number of the place in the program that is shown now; grows along the walk. */
int64_t scope_walk_place(const scope_walk *w);
/** "<root>.body.seq[1].value" of a place of this walk. Owned by the scope; NULL with MemoryError.
 */
tn_str *scope_walk_path(const scope_walk *w, int64_t place);
/** Where the text of the place that is shown now is, or of what it is part of; NULL: not known. */
tn_Span *scope_walk_span(const scope_walk *w);

#endif /* TN_TIR_ANALYSIS_SCOPE_WALK_H_ */
