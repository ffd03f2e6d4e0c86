/* Plans of memory as objects: what tools and algorithms of the caller's see of them. */
#ifndef TN_TIR_USMP_ALGO_H_
#define TN_TIR_USMP_ALGO_H_

#include "ir/pools.h"
#include "tir/transforms/transforms.h"
#include "pack/pack.h"
#include "tir/usmp/usmp.def"

TN_NODES_FORWARD(TN_USMP_NODES)
TN_NODES_INDEX(TN_USMP_NODES, TN_TI_END_tir_config, usmp)
TN_NODES_DECLARE(TN_USMP_NODES)
_Static_assert((int)TN_TI_END_usmp <= (int)TN_TI_BEGIN_TE - 12,
               "the layer's block of type indices is full");

/** The algorithm of a name: "greedy_by_size", "greedy_by_conflicts", "hill_climb"; NULL: the best of
 * all. ValueError for another one. */
int usmp_algorithm(const char *name, pack_algorithm *out);

/** A plan by the global function "tir.usmp.algo.NAME". It gets an Array of BufferInfo, with those
 *  that conflict, and the memory pressure in bytes (int), and returns a Map from each of them to
 * its PoolAllocation.
 *  @param buffers lives as steps; offset and pool are found
 *  @param infos PoolInfo of each pool, in order
 *  @return 0, or -1: ValueError for a function that is not registered, and where a buffer is
 *  missing, lies in no pool of its, outside of it, over one that it conflicts with or at an offset
 *  that does not fit its alignment; TypeError; what the function raises */
int usmp_plan_by(const char *name, pack_buffer *buffers, int64_t n, pack_pool *pools,
                 const tn_arr *infos, int64_t align);

/** Gives buffers the list of those that they must not overlap.
 *  @param conflicts as of pack_plan_conflicts */
int usmp_set_conflicts(tn_BufferInfo *const *infos, int64_t n, const uint8_t *conflicts);

/** Size hint in bytes, -1: none. */
int64_t usmp_pool_limit(const tn_PoolInfo *p);

/** "tir.usmp.analysis.extract_buffer_info" and what is beside it. */
int usmp_extract_init(void);
/** "tir.usmp.algo..." and what else Python calls; part of the start of the compiler. */
int usmp_algo_init(void);

#endif /* TN_TIR_USMP_ALGO_H_ */
