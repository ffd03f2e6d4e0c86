/* Systems of linear equations and inequalities over the integers. */
#ifndef TN_ARITH_SOLVE_H_
#define TN_ARITH_SOLVE_H_

#include "arith/arith.h"

/** Solves equations (array of bool expressions; those that are not linear equation stay conditions)
 * for the variables (array of Var), whose ranges may be known (map from Var to Range). Where the
 * solution is not unique, new variables n0, n1, ... run through all solutions. Without a solution,
 * dst has the one relation `false`. NULL with an error. */
TN_API tn_IntConstraintsTransform *arith_solve_equations(tn_arr *equations, tn_arr *variables,
                                                         tn_map *ranges);

/** Bounds of each variable (array of Var) under conditions (array of bool expressions) and ranges
 * (map from Var to Range), by the elimination of Fourier and Motzkin: those of a variable use the
 * variables behind it only.
 * @param bounds array of IntGroupBounds, one for each variable
 * @param others conditions that are not linear inequality of a variable
 * @return 1, 0 when nothing fulfils the conditions, or -1 with an error; ValueError when there come
 * to be too many inequalities */
TN_API int arith_solve_inequalities(const tn_arr *conditions, const tn_arr *variables,
                                    const tn_map *ranges, tn_arr **bounds, tn_arr **others);
/** The same as conditions: those of the bounds in the order of the variables, then the others. */
TN_API tn_arr *arith_inequality_conditions(const tn_arr *variables, const tn_arr *bounds,
                                           const tn_arr *others);
/** The same as a range of each variable, in terms of those behind it, and the conditions that do
 * not follow from the ranges. Without a solution there are no variables, and the one condition
 * `false`. NULL with an error. */
TN_API tn_IntConstraints *arith_inequality_ranges(tn_arr *conditions, tn_arr *variables,
                                                  tn_map *ranges);
/** The same with new variables, whose ranges begin at 0 and do not depend on each other; variables
 * with one value only are no more. NULL with an error. */
TN_API tn_IntConstraintsTransform *arith_inequality_deskew(tn_arr *conditions, tn_arr *variables,
                                                           tn_map *ranges);
/** The smallest range that the bounds of a variable give, over the ranges of the variables in them
 * (map from Var to Range); *out is NULL when they give none. 0, or -1 with an error. */
TN_API int arith_best_range(const tn_IntGroupBounds *b, const tn_arr *variables,
                            const tn_map *ranges, tn_Range **out);

#endif /* TN_ARITH_SOLVE_H_ */
