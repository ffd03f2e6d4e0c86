/* Regions of buffers over loop domains, and solving conditions for one variable. What is returned
   belongs to the current scope. */
#ifndef TN_ARITH_REGION_H_
#define TN_ARITH_REGION_H_

#include "arith/int_set.h"

/** All that a region (array of Range) covers while the variables of `ranges` (Var to Range) iterate
 * and `predicate` (may be NULL) holds, as an array of IntervalSet: exactly. *out is NULL when that
 * cannot be told. 0, or -1 with an error. */
TN_API int arith_region_exact(arith_analyzer *a, const tn_arr *region, const tn_map *ranges,
                              tn_expr *predicate, tn_arr **out);
/** At least all it covers. NULL with an error. */
TN_API tn_arr *arith_region_upper(arith_analyzer *a, const tn_arr *region, const tn_map *ranges,
                                  tn_expr *predicate);

/** The set of values of `v` for which `cond` holds whatever the variables of `relax` (map from Var
 * to IntervalSet or Range) are; the empty set when it cannot be told. `hint` (the same, or NULL) is
 * what the variables are known to be, `v` among them. NULL with an error. */
TN_API tn_IntervalSet *arith_deduce_bound(arith_analyzer *a, tn_Var *v, tn_expr *cond,
                                          const tn_map *hint, const tn_map *relax);

/** Factors of the variables (array of Var) in a linear expression and, last, the rest; empty when
 * it is not linear in them. NULL with an error. */
TN_API tn_arr *arith_linear(tn_expr *e, const tn_arr *vars);
/** [min, max] of each variable, None for what is not limited, from a conjunction of comparisons;
 * empty when that does not limit each variable by itself. NULL with an error. */
TN_API tn_arr *arith_clip_bound(arith_analyzer *a, tn_expr *cond, const tn_arr *vars);

#endif /* TN_ARITH_REGION_H_ */
