/* Systems of linear equations over the integers. */
#ifndef TN_ARITH_SOLVE_H_
#define TN_ARITH_SOLVE_H_

#include "arith/arith.h"

/** Solves equations (array of bool expressions; those that are no linear equation stay conditions)
 * for the variables (array of Var), whose ranges may be known (map from Var to Range). Where the
 * solution is not unique, new variables n0, n1, ... run through all solutions. Without a solution,
 * dst has the one relation `false`. NULL with an error. */
TN_API tn_IntConstraintsTransform *arith_solve_equations(tn_arr *equations, tn_arr *variables,
                                                         tn_map *ranges);

#endif /* TN_ARITH_SOLVE_H_ */
