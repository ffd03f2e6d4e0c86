/* What makes and what lowers prefetches shares. */
#ifndef TN_TIR_TRANSFORMS_LOOPS_PREFETCH_H_
#define TN_TIR_TRANSFORMS_LOOPS_PREFETCH_H_

#include "tir/tir.h"

/** Calls of T.prefetch for all cache lines of a region, over the axes of its buffer. */
tn_stmt *tir_prefetch_calls(const tn_Prefetch *op);

#endif /* TN_TIR_TRANSFORMS_LOOPS_PREFETCH_H_ */
