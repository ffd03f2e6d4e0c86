/* Software pipelines: what a loop's annotations ask for (software_pipeline_plan.c) and the loops
   that are made of it (software_pipeline.c). */
#ifndef TN_TIR_TRANSFORMS_BLOCKS_SOFTWARE_PIPELINE_H_
#define TN_TIR_TRANSFORMS_BLOCKS_SOFTWARE_PIPELINE_H_

#include "arith/analyzer.h"
#include "base/arena.h"
#include "tir/transforms/transforms.h"

/** A statement of the loop's body. Iteration i of a part in stage s is done in turn i + s. */
typedef struct {
  tn_Block *block;
  int64_t stage, order; /**< order: its place in a turn */
} pipe_part;

typedef struct {
  const tn_For *loop;
  tn_arena *arena;
  pipe_part *parts; /**< in the order of the program */
  pipe_part **in_order;
  int64_t n, last; /**< last: the highest stage */
  tn_vec allocs;   /**< Buffer of which each iteration has its own */
  tn_pmap copies;  /**< those that need several copies at a time -> number of copies */
} pipe_plan;

/** Does the loop ask for a pipeline? */
bool pipe_wanted(const tn_For *loop);
/** Reads the annotations of a loop and its body and says how many copies buffers need. ValueError
 * when they do not fit each other, or when an order would change what the program computes.
 * @param pointers Var to the Buffer that it is the pointer of
 * @param out zero at first but for `arena`; to be freed with pipe_plan_fini in any case */
int pipe_plan_of(const tn_For *loop, const tn_map *pointers, arith_analyzer *known, pipe_plan *out);
void pipe_plan_fini(pipe_plan *p);
/** The block with the regions that its body accesses. */
tn_Block *pipe_regions(tn_Block *b, const tn_map *pointers);
/** An opaque block around statements; a block without iterators and conditions is itself. */
tn_Block *pipe_block(tn_stmt *body, const tn_map *pointers);

#endif /* TN_TIR_TRANSFORMS_BLOCKS_SOFTWARE_PIPELINE_H_ */
