/* Walking over the accesses of a tensor program with what loops, conditions and definitions around
   them say of their indices. */
#ifndef TN_TIR_ANALYSIS_ACCESS_BOUNDS_H_
#define TN_TIR_ANALYSIS_ACCESS_BOUNDS_H_

#include "arith/analyzer.h"
#include "tir/tir.h"

typedef struct access_bounds access_bounds;
struct access_bounds {
  arith_analyzer known;
  tn_pmap values;    /**< with `see`: variable of a definition or iterator -> its value, seen */
  tn_vec conditions; /**< that hold at an access, seen; borrowed */
  /** An expression as the analyzer is to see it, NULL with an error; it puts in `values`. The hook
   * itself may be NULL: expressions stay as they are, and the analyzer knows the values. */
  tn_expr *(*see)(access_bounds *x, tn_expr *e);
  /** A loop variable takes values up to an extent that is not an index. May be NULL. */
  int (*loop)(access_bounds *x, tn_Var *v, tn_expr *min, tn_expr *extent);
  /** Memory may have changed: after a store, before the body of a loop. May be NULL. */
  void (*changed)(access_bounds *x);
  /** A load or store. 0, or -1 with an error. */
  int (*access)(access_bounds *x, const tn_Buffer *b, const tn_arr *indices);
};

/** Calls `access` for every load and store of the statement. 0, or -1 with an error. */
int tir_walk_accesses(access_bounds *x, const tn_stmt *s);
void tir_access_fini(access_bounds *x);

#endif /* TN_TIR_ANALYSIS_ACCESS_BOUNDS_H_ */
