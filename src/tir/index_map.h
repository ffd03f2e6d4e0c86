/* Maps from one index space to another:  lambda i, j: (i // 4, j, i % 4).

   What is returned belongs to the current scope. */
#ifndef TN_TIR_INDEX_MAP_H_
#define TN_TIR_INDEX_MAP_H_

#include "arith/analyzer.h"
#include "tir/tir.h"

/** The new indices for given ones (PrimExpr), simplified, in their type. ValueError when their
 * number is wrong. */
TN_API tn_arr *tir_index_map_indices(arith_analyzer *a, const tn_IndexMap *m,
                                     const tn_arr *indices);
/** The ranges that new indices take while the old ones take theirs (Range): with the padding, where
 * an extent is not a multiple of what it is divided by. */
TN_API tn_arr *tir_index_map_ranges(arith_analyzer *a, const tn_IndexMap *m, const tn_arr *ranges);
/** The same for extents (PrimExpr) of ranges from 0 on. */
TN_API tn_arr *tir_index_map_shape(arith_analyzer *a, const tn_IndexMap *m, const tn_arr *shape);
/** The map from new indices back. @param shape extents of the old indices (PrimExpr)
 * @param padding receives the condition over the new indices under which they stand for no old
 * ones; NULL: TVMError unless the map is a bijection */
TN_API tn_IndexMap *tir_index_map_inverse(arith_analyzer *a, const tn_IndexMap *m,
                                          const tn_arr *shape, tn_expr **padding);
/** Are the new indices always the same? */
TN_API bool tir_index_map_equal(const tn_IndexMap *x, const tn_IndexMap *y);
/** The map on indices of another integer type. */
TN_API tn_IndexMap *tir_index_map_typed(const tn_IndexMap *m, tn_dtype t);

#endif /* TN_TIR_INDEX_MAP_H_ */
