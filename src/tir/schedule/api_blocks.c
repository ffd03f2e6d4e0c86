/* Functions Python programs call for steps that move, divide and copy blocks. */
#include "tir/schedule/schedule_impl.h"
#include "tir/schedule/api.h"
#include "tir/schedule/blocks.h"

/* (schedule, block, loop, keep unit loops, place, is it reverse_compute_at) */
static int f_compute_at(TN_ARGS) {
  bool preserve, reverse;
  int64_t index;
  SCH_ARG_SCHEDULE("Schedule.compute_at", 6);
  SCH_ARG_HANDLE(BlockRV, block, 1);
  SCH_ARG_HANDLE(LoopRV, loop, 2);
  TN_TRY(tn_any_to_bool(&args[3], &preserve));
  TN_TRY(tn_any_to_int(&args[4], &index));
  TN_TRY(tn_any_to_bool(&args[5], &reverse));
  return reverse ? sch_reverse_compute_at(s, block, loop, preserve, index)
                 : sch_compute_at(s, block, loop, preserve, index);
}

/* (schedule, block, number of the buffer, memory, consumers, is it a read) -> BlockRV */
static int f_cache(TN_ARGS) {
  int64_t index;
  const char *memory;
  bool read;
  SCH_ARG_SCHEDULE("Schedule.cache_read", 6);
  SCH_ARG_HANDLE(BlockRV, block, 1);
  TN_TRY(tn_any_to_int(&args[2], &index));
  TN_TRY(tn_any_to_cstr(&args[3], &memory));
  SCH_ARG_HANDLE(Array, consumers, 4);
  TN_TRY(tn_any_to_bool(&args[5], &read));
  return tn_ret_obj(ret, read ? sch_cache_read(s, block, index, memory, consumers)
                              : sch_cache_write(s, block, index, memory, consumers));
}

/* (schedule, block, number of the buffer, memory) -> two BlockRV */
static int f_cache_inplace(TN_ARGS) {
  int64_t index;
  const char *memory;
  SCH_ARG_SCHEDULE("Schedule.cache_inplace", 4);
  SCH_ARG_HANDLE(BlockRV, block, 1);
  TN_TRY(tn_any_to_int(&args[2], &index));
  TN_TRY(tn_any_to_cstr(&args[3], &memory));
  return tn_ret_obj(ret, sch_cache_inplace(s, block, index, memory));
}

/* (schedule, loop, block, number of the buffer, memory, is it a read) -> BlockRV */
static int f_copy_at(TN_ARGS) {
  int64_t index;
  const char *memory;
  bool read;
  SCH_ARG_SCHEDULE("Schedule.read_at", 6);
  SCH_ARG_HANDLE(LoopRV, loop, 1);
  SCH_ARG_HANDLE(BlockRV, block, 2);
  TN_TRY(tn_any_to_int(&args[3], &index));
  TN_TRY(tn_any_to_cstr(&args[4], &memory));
  TN_TRY(tn_any_to_bool(&args[5], &read));
  return tn_ret_obj(ret, read ? sch_read_at(s, loop, block, index, memory)
                              : sch_write_at(s, loop, block, index, memory));
}

/* (schedule, block, memory, number of times an index must occur) -> array of BlockRV */
static int f_cache_index(TN_ARGS) {
  int64_t threshold;
  const char *memory;
  SCH_ARG_SCHEDULE("Schedule.cache_index", 4);
  SCH_ARG_HANDLE(BlockRV, block, 1);
  TN_TRY(tn_any_to_cstr(&args[2], &memory));
  TN_TRY(tn_any_to_int(&args[3], &threshold));
  return tn_ret_obj(ret, sch_cache_index(s, block, memory, threshold));
}

static int f_rfactor(TN_ARGS) {
  int64_t axis;
  SCH_ARG_SCHEDULE("Schedule.rfactor", 3);
  SCH_ARG_HANDLE(LoopRV, loop, 1);
  TN_TRY(tn_any_to_int(&args[2], &axis));
  return tn_ret_obj(ret, sch_rfactor(s, loop, axis));
}

/* (schedule, loop or array of blocks, keep unit iterators) -> BlockRV */
static int f_blockize(TN_ARGS) {
  bool preserve;
  SCH_ARG_SCHEDULE("Schedule.blockize", 3);
  SCH_ARG_HANDLE(Object, target, 1);
  TN_TRY(tn_any_to_bool(&args[2], &preserve));
  tn_LoopRV *loop = TN_AS(LoopRV, target);
  tn_arr *blocks = TN_AS(Array, target);
  TN_CHECK(loop || blocks, TypeError, NULL, "blockize: expected a loop or a list of blocks, got %s",
           tn_obj_key(target));
  return tn_ret_obj(ret, loop ? sch_blockize(s, loop, preserve)
                              : sch_blockize_blocks(s, blocks, preserve));
}

/* (schedule, block or loop, name of the instruction, keep unit iterators) */
static int f_tensorize(TN_ARGS) {
  const char *name;
  bool preserve;
  SCH_ARG_SCHEDULE("Schedule.tensorize", 4);
  SCH_ARG_HANDLE(Object, target, 1);
  TN_TRY(tn_any_to_cstr(&args[2], &name));
  TN_TRY(tn_any_to_bool(&args[3], &preserve));
  return sch_tensorize(s, target, name, preserve);
}

/* (schedule, block, number of the buffer, is it written) -> BlockRV */
static int f_reindex(TN_ARGS) {
  int64_t index;
  bool write;
  SCH_ARG_SCHEDULE("Schedule.reindex", 4);
  SCH_ARG_HANDLE(BlockRV, block, 1);
  TN_TRY(tn_any_to_int(&args[2], &index));
  TN_TRY(tn_any_to_bool(&args[3], &write));
  return tn_ret_obj(ret, sch_reindex(s, block, index, write));
}

/* (schedule, block, number of the buffer, memory, index map, is it written) -> BlockRV */
static int f_reindex_cache(TN_ARGS) {
  int64_t index;
  const char *memory;
  bool write;
  SCH_ARG_SCHEDULE("Schedule.reindex_cache_read", 6);
  SCH_ARG_HANDLE(BlockRV, block, 1);
  TN_TRY(tn_any_to_int(&args[2], &index));
  TN_TRY(tn_any_to_cstr(&args[3], &memory));
  SCH_ARG_HANDLE(IndexMap, map, 4);
  TN_TRY(tn_any_to_bool(&args[5], &write));
  return tn_ret_obj(ret, sch_reindex_cache(s, block, index, memory, map, write));
}

static int f_decompose_padding(TN_ARGS) {
  SCH_ARG_SCHEDULE("Schedule.decompose_padding", 3);
  SCH_ARG_HANDLE(BlockRV, block, 1);
  SCH_ARG_HANDLE(LoopRV, loop, 2);
  return tn_ret_obj(ret, sch_decompose_padding(s, block, loop));
}

static int f_can_decompose_padding(TN_ARGS) {
  bool can = false;
  SCH_ARG_SCHEDULE("Schedule.can_decompose_padding", 3);
  SCH_ARG_HANDLE(BlockRV, block, 1);
  SCH_ARG_HANDLE(LoopRV, loop, 2);
  TN_TRY(sch_can_decompose_padding(s, block, loop, &can));
  *ret = tn_any_bool(can);
  return 0;
}

/* (schedule, block, factors) */
static int f_pad_einsum(TN_ARGS) {
  SCH_ARG_SCHEDULE("Schedule.pad_einsum", 3);
  SCH_ARG_HANDLE(BlockRV, block, 1);
  SCH_ARG_HANDLE(Array, padding, 2);
  return sch_pad_einsum(s, block, padding);
}

static const tn_func_row functions[] = {
    {"tir.schedule.PadEinsum", f_pad_einsum},
    {"tir.schedule.DecomposePadding", f_decompose_padding},
    {"tir.schedule.CanDecomposePadding", f_can_decompose_padding},
    {"tir.schedule.ReIndex", f_reindex},
    {"tir.schedule.ReindexCache", f_reindex_cache},
    {"tir.schedule.Tensorize", f_tensorize},
    {"tir.schedule.Blockize", f_blockize},
    {"tir.schedule.RFactor", f_rfactor},
    {"tir.schedule.Cache", f_cache},
    {"tir.schedule.CopyAt", f_copy_at},
    {"tir.schedule.CacheInplace", f_cache_inplace},
    {"tir.schedule.CacheIndex", f_cache_index},
    {"tir.schedule.ComputeAt", f_compute_at},
};

int schedule_blocks_init(void) { return tn_func_register_rows(functions, TN_COUNT(functions)); }
