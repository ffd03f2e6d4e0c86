/* Steps that move, divide and copy blocks. As in tir/schedule/schedule.h, handles that are returned
   are owned by the scope; a step that fails changes nothing and gives NULL or -1 with
   ScheduleError.
 */
#ifndef TN_TIR_SCHEDULE_BLOCKS_H_
#define TN_TIR_SCHEDULE_BLOCKS_H_

#include "tir/schedule/schedule.h"

/** Moves a block under a loop of a block that uses its result, or whose result it uses, and limits
 * it to what is needed there. @param preserve_unit keep loops that run once @param index place
 * among the statements of the loop; -1 the last possible, -2 the first */
TN_API int sch_compute_at(tn_TirSchedule *s, const tn_BlockRV *block, const tn_LoopRV *loop,
                          bool preserve_unit, int64_t index);
TN_API int sch_reverse_compute_at(tn_TirSchedule *s, const tn_BlockRV *block, const tn_LoopRV *loop,
                                  bool preserve_unit, int64_t index);

/** Chooses where a block is computed. @param decision -1 at the root, -2 inline, else the number of
 * a loop of the first consumer; NULL: draws @return [LoopRV for compute_at, the choice] */
TN_API tn_arr *sch_sample_compute_location(tn_TirSchedule *s, const tn_BlockRV *block,
                                           const tn_any *decision);

/** Makes loops next to each other, with as many loops around them, one. @param loops LoopRV, each
 * the innermost to be merged @return the innermost of the new loops */
TN_API tn_LoopRV *sch_merge(tn_TirSchedule *s, const tn_arr *loops);
/** Makes several loops, one after the other, of one. @param factors extents (IntImm, handle of an
 * integer), one may be None; without it what they leave is a last part @param preserve_unit keep
 * variables of loops that run once @return LoopRV of the parts; handles of the loop and of what is
 * below stand for nothing any more */
TN_API tn_arr *sch_loop_partition(tn_TirSchedule *s, const tn_LoopRV *loop, const tn_arr *factors,
                                  bool preserve_unit);

/** Copies a buffer that a block reads (its number among the reads) to another memory, which those
 * that use the buffer then read. @param consumers blocks that are to read the copy (BlockRV);
 * empty: all @return the copying block */
TN_API tn_BlockRV *sch_cache_read(tn_TirSchedule *s, const tn_BlockRV *block, int64_t index,
                                  const char *memory, const tn_arr *consumers);
/** Lets a block write to another memory, from which a new block copies. @param consumers blocks
 * that are to read the other memory too */
TN_API tn_BlockRV *sch_cache_write(tn_TirSchedule *s, const tn_BlockRV *block, int64_t index,
                                   const char *memory, const tn_arr *consumers);
/** Copies a buffer that a block reads and writes to another memory before the block and back after
 * it. @return the two copying blocks */
TN_API tn_arr *sch_cache_inplace(tn_TirSchedule *s, const tn_BlockRV *block, int64_t index,
                                 const char *memory);

/** Copies, in each iteration of a loop around the block, what all blocks there read of a buffer
 * (its number among those that the block reads) to another memory, which they then read.
 * @return the copying block, marked "auto_copy" */
TN_API tn_BlockRV *sch_read_at(tn_TirSchedule *s, const tn_LoopRV *loop, const tn_BlockRV *block,
                               int64_t index, const char *memory);
/** The same for a buffer that only blocks in the loop write: they use the other memory, from which
 * their results are copied at the end of each iteration. */
TN_API tn_BlockRV *sch_write_at(tn_TirSchedule *s, const tn_LoopRV *loop, const tn_BlockRV *block,
                                int64_t index, const char *memory);

/** Makes a dimension of a buffer that a block writes (its number among the writes) circular, as
 * long as what one iteration of the loops around block and users needs; what the iteration before
 * has left is not computed again. */
TN_API int sch_rolling_buffer(tn_TirSchedule *s, const tn_BlockRV *block, int64_t index);

/** Computes indices of what a block reads in their own blocks, at the beginning of the scope.
 * @param threshold number of times an index must occur in the block @return the new blocks
 * (BlockRV) */
TN_API tn_arr *sch_cache_index(tn_TirSchedule *s, const tn_BlockRV *block, const char *memory,
                               int64_t threshold);

/** Reduces in parts, one for each value of a loop that is reduced over, and then the parts.
 * @param axis of the new buffers, for the loop; below 0: from the end @return the block that makes
 * the parts; the handle of the old block stands for the one that reduces them */
TN_API tn_BlockRV *sch_rfactor(tn_TirSchedule *s, const tn_LoopRV *loop, int64_t axis);

/** Makes a block of a loop and what is below, or of several blocks (BlockRV) of one scope and the
 * loops that are around one of them only. @param preserve_unit bind iterators of one value to the
 * loops that run once, not to constants @return the new block; handles of the others stay with what
 * is inside */
TN_API tn_BlockRV *sch_blockize(tn_TirSchedule *s, const tn_LoopRV *loop, bool preserve_unit);
TN_API tn_BlockRV *sch_blockize_blocks(tn_TirSchedule *s, const tn_arr *blocks, bool preserve_unit);
/** Lets an instruction of that name do what a block, or a loop and what is below (blockized first),
 * computes. */
TN_API int sch_tensorize(tn_TirSchedule *s, const tn_obj *block_or_loop, const char *intrin,
                         bool preserve_unit);

/** Copies a buffer that a block reads or writes at one place, so that the block's own iterators are
 * the indices of the copy. @return the copying block */
TN_API tn_BlockRV *sch_reindex(tn_TirSchedule *s, const tn_BlockRV *block, int64_t index,
                               bool write);
/** The same into another memory, with the indices that the map gives for the iterators. */
TN_API tn_BlockRV *sch_reindex_cache(tn_TirSchedule *s, const tn_BlockRV *block, int64_t index,
                                     const char *memory, const tn_IndexMap *map, bool write);

/** Divides a block that pads into one that fills all with the pad value, before the loop, and one
 * that copies the rest. @return the block that fills */
TN_API tn_BlockRV *sch_decompose_padding(tn_TirSchedule *s, const tn_BlockRV *block,
                                         const tn_LoopRV *loop);
/** Whether that is possible; -1 for errors other than ScheduleError. */
TN_API int sch_can_decompose_padding(tn_TirSchedule *s, const tn_BlockRV *block,
                                     const tn_LoopRV *loop, bool *out);

/** Gives the last axis that a block reduces over an extent that is a multiple of `factor`; beyond
 * the old extent the reduction's first value is combined in. For kernel classes; traces do not have
 * it.
 */
TN_API int sch_pad_reduction(tn_TirSchedule *s, const tn_BlockRV *block, int64_t factor);
/** Gives the iterators of a sum of products extents that are multiples, with operands padded by 0.
 * @param padding a factor (IntImm) for each iterator */
TN_API int sch_pad_einsum(tn_TirSchedule *s, const tn_BlockRV *block, const tn_arr *padding);

#endif /* TN_TIR_SCHEDULE_BLOCKS_H_ */
