/* Interval sets: symbolic bounds of an expression over the domains of its variables.

     i in [0, n - 1]:   i*4 + j   =>   [j, n*4 - 4 + j]

   A domain maps tn_Var to Range or IntervalSet. What is returned belongs to the current scope. */
#ifndef TN_ARITH_INT_SET_H_
#define TN_ARITH_INT_SET_H_

#include "arith/analyzer.h"

/** The variables that stand for infinity as a bound. Never NULL after arith_init. */
TN_API tn_expr *arith_pos_inf(void);
TN_API tn_expr *arith_neg_inf(void);
TN_API bool arith_is_inf(const tn_expr *e);

TN_API tn_IntervalSet *arith_interval(tn_expr *min, tn_expr *max);
TN_API tn_IntervalSet *arith_interval_all(void);
TN_API tn_IntervalSet *arith_interval_none(void);
TN_API tn_IntervalSet *arith_interval_of_range(arith_analyzer *a, const tn_Range *r);
TN_API bool arith_interval_is_all(const tn_IntervalSet *s);
TN_API bool arith_interval_is_none(const tn_IntervalSet *s);
TN_API bool arith_interval_is_point(const tn_IntervalSet *s);

/** Contains all values that `e` takes; bounds are simplified. NULL with an error. */
TN_API tn_IntervalSet *arith_int_set(arith_analyzer *a, tn_expr *e, const tn_map *dom);
/** The same for all of a range's values, min and extent being expressions over `dom`. */
TN_API tn_IntervalSet *arith_int_set_of_range(arith_analyzer *a, const tn_Range *r,
                                              const tn_map *dom);
/** The smallest interval that contains both; what both contain. */
TN_API tn_IntervalSet *arith_interval_union(arith_analyzer *a, tn_IntervalSet *x,
                                            tn_IntervalSet *y);
TN_API tn_IntervalSet *arith_interval_intersect(arith_analyzer *a, tn_IntervalSet *x,
                                                tn_IntervalSet *y);
/** The set as a range, or `fallback` when a bound is missing. */
TN_API tn_Range *arith_interval_range(arith_analyzer *a, const tn_IntervalSet *s,
                                      tn_Range *fallback);

/** An expression or IntervalSet or Range of a domain as an interval; TypeError for others. */
TN_API tn_IntervalSet *arith_interval_from(arith_analyzer *a, tn_obj *o);

#endif /* TN_ARITH_INT_SET_H_ */
