/* Steps that change how buffers and blocks are indexed. As in tir/schedule/schedule.h, a step that
   fails changes nothing and gives NULL or -1 with ScheduleError. */
#ifndef TN_TIR_SCHEDULE_LAYOUT_H_
#define TN_TIR_SCHEDULE_LAYOUT_H_

#include "tir/index_map.h"
#include "tir/schedule/schedule.h"

/** Which buffer of a block is meant: its number among those it writes, or reads. */
typedef struct {
  const tn_BlockRV *block;
  int64_t index;
  bool write;
} sch_which;

/** The map with numbers in the place of what the schedule has drawn (handles of integers). */
tn_IndexMap *sch_known_map(const tn_TirSchedule *s, const tn_IndexMap *map);
/** Stores the elements of a buffer at other places.
 * @param pad value of what is not an element of the old buffer, over the new indices (one result);
 * NULL: such places must not exist @param trusted the map is not checked, padding holds anything
 */
TN_API int sch_transform_layout(tn_TirSchedule *s, sch_which which, const tn_IndexMap *map,
                                const tn_IndexMap *pad, bool trusted);
/** Says before which axes groups of axes that are flattened apart begin. @param axes IntImm */
TN_API int sch_set_axis_separator(tn_TirSchedule *s, sch_which which, tn_arr *axes);
/** Keeps the elements of a buffer that is allocated in another type, however little that holds. */
TN_API int sch_unsafe_set_dtype(tn_TirSchedule *s, const tn_BlockRV *block, int64_t index,
                                tn_dtype dtype);
/** Iterates over a block in other iterators. @param map from its iterators; a bijection */
TN_API int sch_transform_block_layout(tn_TirSchedule *s, const tn_BlockRV *block,
                                      const tn_IndexMap *map);
/** Puts the iterators of a block into another order: number of the old one for each (IntImm). */
TN_API int sch_reorder_block_iter_var(tn_TirSchedule *s, const tn_BlockRV *block,
                                      const tn_arr *order);
/** Makes the stride of an axis of a buffer the block writes a multiple of `factor`, plus `offset`.
 */
TN_API int sch_storage_align(tn_TirSchedule *s, const tn_BlockRV *block, int64_t index,
                             int64_t axis, int64_t factor, int64_t offset);
/** Leaves buffers (their numbers, IntImm) out of what a block says that it reads or writes. */
TN_API int sch_unsafe_hide_access(tn_TirSchedule *s, const tn_BlockRV *block, bool write,
                                  const tn_arr *indices);

#endif /* TN_TIR_SCHEDULE_LAYOUT_H_ */
