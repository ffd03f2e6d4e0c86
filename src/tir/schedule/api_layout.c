/* Functions Python programs call for steps that change how buffers and blocks are indexed. */
#include "tir/schedule/api.h"
#include "tir/schedule/blocks.h"
#include "tir/schedule/layout.h"
#include "tir/schedule/schedule_impl.h"

/* Arguments 1 to 3: block, number of the buffer, is it written. */
#define WHICH(which)                                                                               \
  sch_which which;                                                                                 \
  SCH_ARG_HANDLE(BlockRV, of, 1);                                                                  \
  which.block = of;                                                                                \
  TN_TRY(tn_any_to_int(&args[2], &which.index));                                                   \
  TN_TRY(tn_any_to_bool(&args[3], &which.write))

/* (schedule, index map) -> the map with the numbers that the schedule has drawn put in */
static int f_known_map(TN_ARGS) {
  SCH_ARG_SCHEDULE("Schedule.transform_layout", 2);
  SCH_ARG_HANDLE(IndexMap, map, 1);
  return tn_ret_obj(ret, sch_known_map(s, map));
}

/* (schedule, which, index map, map of the padding or None, is it left unchecked) */
static int f_transform_layout(TN_ARGS) {
  bool trusted;
  SCH_ARG_SCHEDULE("Schedule.transform_layout", 7);
  WHICH(which);
  SCH_ARG_HANDLE(IndexMap, map, 4);
  TN_ARG_OPT(IndexMap, pad, 5);
  TN_TRY(tn_any_to_bool(&args[6], &trusted));
  return sch_transform_layout(s, which, map, pad, trusted);
}

/* (schedule, which, axes) */
static int f_set_axis_separator(TN_ARGS) {
  SCH_ARG_SCHEDULE("Schedule.set_axis_separator", 5);
  WHICH(which);
  SCH_ARG_HANDLE(Array, axes, 4);
  return sch_set_axis_separator(s, which, axes);
}

static int f_unsafe_set_dtype(TN_ARGS) {
  int64_t index;
  tn_dtype dtype;
  SCH_ARG_SCHEDULE("Schedule.unsafe_set_dtype", 4);
  SCH_ARG_HANDLE(BlockRV, block, 1);
  TN_TRY(tn_any_to_int(&args[2], &index));
  TN_TRY(tn_any_to_dtype(&args[3], &dtype));
  return sch_unsafe_set_dtype(s, block, index, dtype);
}

static int f_transform_block_layout(TN_ARGS) {
  SCH_ARG_SCHEDULE("Schedule.transform_block_layout", 3);
  SCH_ARG_HANDLE(BlockRV, block, 1);
  SCH_ARG_HANDLE(IndexMap, map, 2);
  return sch_transform_block_layout(s, block, map);
}

static int f_reorder_block_iter_var(TN_ARGS) {
  SCH_ARG_SCHEDULE("Schedule.reorder_block_iter_var", 3);
  SCH_ARG_HANDLE(BlockRV, block, 1);
  SCH_ARG_HANDLE(Array, order, 2);
  return sch_reorder_block_iter_var(s, block, order);
}

static int f_storage_align(TN_ARGS) {
  int64_t v[4];
  SCH_ARG_SCHEDULE("Schedule.storage_align", 6);
  SCH_ARG_HANDLE(BlockRV, block, 1);
  for (int i = 0; i < 4; ++i) TN_TRY(tn_any_to_int(&args[i + 2], &v[i]));
  return sch_storage_align(s, block, v[0], v[1], v[2], v[3]);
}

static int f_rolling_buffer(TN_ARGS) {
  int64_t index;
  SCH_ARG_SCHEDULE("Schedule.rolling_buffer", 3);
  SCH_ARG_HANDLE(BlockRV, block, 1);
  TN_TRY(tn_any_to_int(&args[2], &index));
  return sch_rolling_buffer(s, block, index);
}

/* (schedule, block, are they written, numbers) */
static int f_unsafe_hide_access(TN_ARGS) {
  bool write;
  SCH_ARG_SCHEDULE("Schedule.unsafe_hide_buffer_access", 4);
  SCH_ARG_HANDLE(BlockRV, block, 1);
  TN_TRY(tn_any_to_bool(&args[2], &write));
  SCH_ARG_HANDLE(Array, indices, 3);
  return sch_unsafe_hide_access(s, block, write, indices);
}

static int f_merge(TN_ARGS) {
  SCH_ARG_SCHEDULE("Schedule.merge", 2);
  SCH_ARG_HANDLE(Array, loops, 1);
  return tn_ret_obj(ret, sch_merge(s, loops));
}

static int f_loop_partition(TN_ARGS) {
  bool preserve;
  SCH_ARG_SCHEDULE("Schedule.loop_partition", 4);
  SCH_ARG_HANDLE(LoopRV, loop, 1);
  SCH_ARG_HANDLE(Array, factors, 2);
  TN_TRY(tn_any_to_bool(&args[3], &preserve));
  return tn_ret_obj(ret, sch_loop_partition(s, loop, factors, preserve));
}

static const tn_func_row functions[] = {
    {"tir.schedule.LoopPartition", f_loop_partition},
    {"tir.schedule.Merge", f_merge},
    {"tir.schedule.KnownIndexMap", f_known_map},
    {"tir.schedule.TransformLayout", f_transform_layout},
    {"tir.schedule.SetAxisSeparator", f_set_axis_separator},
    {"tir.schedule.UnsafeSetDType", f_unsafe_set_dtype},
    {"tir.schedule.TransformBlockLayout", f_transform_block_layout},
    {"tir.schedule.ReorderBlockIterVar", f_reorder_block_iter_var},
    {"tir.schedule.StorageAlign", f_storage_align},
    {"tir.schedule.RollingBuffer", f_rolling_buffer},
    {"tir.schedule.UnsafeHideBufferAccess", f_unsafe_hide_access},
};

int schedule_layout_init(void) { return tn_func_register_rows(functions, TN_COUNT(functions)); }
