/* Rewriting indices to other integers: what NarrowDataType, ForceNarrowIndexToInt32 and
   tir_with_index_type share. */
#ifndef TN_TIR_TRANSFORMS_TYPES_NARROW_IMPL_H_
#define TN_TIR_TRANSFORMS_TYPES_NARROW_IMPL_H_

#include "arith/analyzer.h"
#include "tir/transforms/transforms.h"

typedef struct {
  int bits;             /**< of narrow integers */
  bool force;           /**< indices are narrow, whether they fit or not, and so are variables that
                           are passed and part of them */
  bool all;             /**< with force: indices of any type become `bits` wide */
  bool index;           /**< the visited expression is an index or a part of one */
  int need;             /**< in an index: bits that the expression around needs */
  arith_analyzer known; /**< ranges of loop variables */
  tn_pmap wide;         /**< variables that do not fit */
  tn_pmap narrow;       /**< tn_Var -> its narrow replacement */
} narrower;

/** Notes in x->wide which loop variables are part of indices that do not fit. *any: there are
 * variables that could be narrower. */
int narrow_find_wide(narrower *x, const tn_PrimFunc *f, bool *any);
/** The function with narrow indices. NULL with an error. */
tn_PrimFunc *narrow_rewrite(narrower *x, tn_PrimFunc *f);
/** The same with `force`: its parameters too. */
tn_PrimFunc *narrow_rewrite_all(narrower *x, tn_PrimFunc *f);
void narrow_fini(narrower *x);

/** Can values of the type become narrower (with `all`: get the other type)? */
static inline bool narrow_is_wide(const narrower *x, tn_dtype t) {
  return t.code == kDLInt && (x->all ? t.bits != x->bits : t.bits > x->bits);
}
/** Bits that the value of an expression needs. */
int narrow_bits(narrower *x, const tn_expr *e);

#endif /* TN_TIR_TRANSFORMS_TYPES_NARROW_IMPL_H_ */
