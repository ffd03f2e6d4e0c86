/* What conditions say of indices: part of tir.CompactBufferAllocation. */
#ifndef TN_TIR_TRANSFORMS_BLOCKS_COMPACT_IMPL_H_
#define TN_TIR_TRANSFORMS_BLOCKS_COMPACT_IMPL_H_

#include "arith/analyzer.h"
#include "tir/transforms/transforms.h"

/** Expressions (PrimExpr) that are at most zero where the walk is, outermost first. A caller notes
 * `len` before it enters a condition and sets it back behind what the condition guards. */
typedef tn_vec compact_guards;

/** Notes what follows from the condition, or from its negation. Parts that tell nothing of loops,
 * such as values in memory, say nothing here. 0, or -1 with an error. */
int compact_enter(compact_guards *g, arith_analyzer *known, tn_expr *cond, bool holds);

/** The index with quotients whose numerator a guard limits limited too: e // c is
 * min(e // c, k // c) where e <= k. @param first guard to look at */
tn_expr *compact_limited(const compact_guards *g, int64_t first, arith_analyzer *known,
                         tn_expr *index);
/** The values of a variable under the guards, where its range has constant ends; NULL with an
 * error. */
tn_Range *compact_range(const compact_guards *g, int64_t first, arith_analyzer *known,
                        const tn_Var *v, tn_Range *range);

#endif /* TN_TIR_TRANSFORMS_BLOCKS_COMPACT_IMPL_H_ */
