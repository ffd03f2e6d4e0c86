/* What is known of the elements of buffers: from stores, conditions and T.assume, carried along a
   program in the order in which it runs.

     for i in range(16):
       T.evaluate(T.assume(i < 14 or A[i] == 0))      for all i in [0, 16): not i < 14 => A[i] == 0
     B[0] = 0                                         B[0] == 0

   A store forgets what was known of its buffer, and a loop what its body stores to, before the
   body. Values that are remembered read no memory. */
#ifndef TN_TIR_TRANSFORMS_SIMPLIFY_KNOWN_VALUES_H_
#define TN_TIR_TRANSFORMS_SIMPLIFY_KNOWN_VALUES_H_

#include "tir/transforms/transforms.h"

/** What is done with it; may be added up. */
enum {
  TIR_KNOWN_CONDITIONS = 1, /**< conditions are decided */
  TIR_KNOWN_VALUES = 2,     /**< loads become the values */
  TIR_KNOWN_STORES = 4,     /**< stores of the value that is there already are dropped */
};

typedef struct tir_known {
  arith_analyzer *a; /**< ranges of loops and conditions around */
  int use;
  /** What becomes of a condition whose branches were visited; NULL: it stays. `x->facts` is what
   * was known before it. */
  tn_stmt *(*on_if)(struct tir_known *x, tn_IfThenElse *op);
  tn_vec facts; /* arrays: see known_values.c */
  int opaque;   /* depth of what is not followed */
  int together; /**< depth of loops whose iterations run at the same time */
} tir_known;

/** Follows a statement. What is known afterwards stays in `x->facts`; free them with tn_vec_fini.
 */
tn_stmt *tir_known_follow(tir_known *x, tn_stmt *s);
/** Without stores of what a later statement of the same sequence stores over unread. */
tn_stmt *tir_without_overwritten(tn_stmt *s);
/** A copy of what is known. 0, or -1 with MemoryError. */
int tir_known_copy(const tn_vec *facts, tn_vec *out);

#endif /* TN_TIR_TRANSFORMS_SIMPLIFY_KNOWN_VALUES_H_ */
