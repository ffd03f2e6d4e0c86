/* Iteration maps: indices as quasi-affine functions of loop variables, split and fused.

     i in [0, 8), j in [0, 4):   [i*4 + j]      =>  one iterator of 32, fused of i and j
     k in [0, 32):               [k//4, k%4]    =>  two iterators, 8 and 4

   An index is an IterSumExpr: splits, each  source // lower_factor % extent * scale, and a base.
   A split's source is an IterMark: a variable or a sum that takes the values 0 ... extent-1.
   Ranges map tn_Var to Range. What is returned belongs to the current scope. */
#ifndef TN_ARITH_ITER_MAP_H_
#define TN_ARITH_ITER_MAP_H_

#include "arith/analyzer.h"

/** What indices are checked for; values as in existing programs. */
typedef enum {
  ITER_MAP_BIJECTIVE = 0,  /* every combination of indices exactly once */
  ITER_MAP_SURJECTIVE = 1, /* every combination of indices at least once, indices independent */
  ITER_MAP_NO_CHECK = 3,
} iter_map_level;

/** Detects the map. When the indices are none, `indices` of the result is empty and `errors` says
 * why. `predicate` (may be NULL) limits the variables. NULL with an error for other failures. */
TN_API tn_IterMapResult *iter_map_detect(arith_analyzer *a, const tn_arr *indices,
                                         const tn_map *ranges, tn_expr *predicate,
                                         iter_map_level level, bool simplify_trivial);
/** The same, where divisions may also extend iterators to multiples of their divisors, unless the
 * map has to be bijective. `padding_predicate` of the result, over the variables, says where they
 * are outside of what was there before; for the variables themselves it is false. */
TN_API tn_IterMapResult *iter_map_detect_padded(arith_analyzer *a, const tn_arr *indices,
                                                const tn_map *ranges, tn_expr *predicate,
                                                iter_map_level level, bool simplify_trivial);
/** One index as a sum of splits, unchecked; TVMError when it is not affine. */
TN_API tn_IterSumExpr *iter_map_sum(arith_analyzer *a, tn_expr *index, const tn_map *ranges);
/** A sum, split or mark as a plain expression. */
TN_API tn_expr *iter_map_expr(tn_obj *e);
/** Indices simplified as iteration maps, or by the analyzer where they are none. */
TN_API tn_arr *iter_map_simplify(arith_analyzer *a, const tn_arr *indices, const tn_map *ranges,
                                 tn_expr *predicate, iter_map_level level, bool simplify_trivial);
/** Divides bindings into an outer part and one over `sub_vars` (array of Var).
 *  @return array of [outer IterMark, inner IterMark] for each binding and, last, for the predicate
 *  (as extents); empty when they cannot be divided */
TN_API tn_arr *iter_map_subspace_divide(arith_analyzer *a, const tn_arr *bindings,
                                        const tn_map *ranges, const tn_arr *sub_vars,
                                        tn_expr *predicate, iter_map_level level,
                                        bool simplify_trivial);
/** The variables in terms of the indices of a bijective map: map from Var to PrimExpr. */
TN_API tn_map *iter_map_inverse(arith_analyzer *a, const tn_arr *sums, const tn_arr *outputs);

#endif /* TN_ARITH_ITER_MAP_H_ */
