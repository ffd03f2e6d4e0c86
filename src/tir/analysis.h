/* Questions about tensor programs. */
#ifndef TN_TIR_ANALYSIS_H_
#define TN_TIR_ANALYSIS_H_

#include "tir/tir.h"

/** The block with its regions filled in from the reads and writes of its body: for each buffer from
 * outside the block the smallest box that holds all accesses, over the loops inside the block. What
 * the block writes first is not a read when it is the same region. */
TN_API tn_Block *tir_block_with_regions(tn_Block *b, bool reads, bool writes);

/** Wraps the body in a root block when it has blocks but is not one itself, or when `allocs`
 * (Buffer) is not empty. */
TN_API tn_stmt *tir_with_root_block(tn_stmt *body, const tn_vec *allocs);

#endif /* TN_TIR_ANALYSIS_H_ */
