/* What steps ask about the blocks of one scope: who depends on whom, and which parts of buffers
   they touch while loops around them run. A step must have begun (sch_begin); what is returned
   belongs to the current scope. */
#ifndef TN_TIR_SCHEDULE_REGIONS_H_
#define TN_TIR_SCHEDULE_REGIONS_H_

#include "arith/int_set.h"
#include "tir/device.h"
#include "tir/schedule/blocks.h"
#include "tir/schedule/schedule_impl.h"

/** Why one block must run after another; values as in existing programs. */
typedef enum { SCH_RAW = 0, SCH_WAW = 1, SCH_WAR = 2, SCH_OPAQUE = 3 } sch_dep_kind;

typedef struct {
  tn_Block *src, *dst; /* src runs first */
  sch_dep_kind kind;
} sch_dep;

typedef struct {
  tn_vec blocks; /* Block, in the order of the program */
  sch_dep *deps; /* those that lead to one block are neighbours, in the order of blocks */
  int64_t ndeps, cap;
} sch_scope_info;

#define SCH_SCOPE_INFO(name) __attribute__((cleanup(sch_scope_info_fini))) sch_scope_info name = {0}
void sch_scope_info_fini(sch_scope_info *info);
/** Blocks directly in `scope`, and the dependencies among them. */
int sch_scope_info_of(const tn_Block *scope, sch_scope_info *out);
/** Blocks (each once) that make what `b` reads or overwrites, or that use what it makes. */
int sch_producers(const sch_scope_info *info, const tn_Block *b, tn_vec *out);
int sch_consumers(const sch_scope_info *info, const tn_Block *b, tn_vec *out);

bool sch_has_buffer(const tn_arr *regions, const tn_Buffer *b);
/** Does the block allocate the buffer? */
bool sch_allocates(const tn_Block *scope, const tn_Buffer *b);
/** Does it write anything that the block around it does not allocate? */
bool sch_is_output(const tn_Block *b, const tn_Block *scope);

/** Are the expressions of two arrays the same, one by one? Regions: arrays of Range. */
bool sch_same_exprs(const tn_arr *x, const tn_arr *y);
bool sch_same_region(const tn_arr *x, const tn_arr *y);

/** The realization of a block of the program. */
static inline tn_BlockRealize *sch_realize_of(const sch_step *e, const tn_Block *b) {
  return TN_AS(BlockRealize, sch_parent(e, b));
}
/** Loops around `low` (itself among them) up to before `high`, as a map from Var to Range. For a
 * buffer of a memory that threads share, thread axes around `high` too. @param memory "": none */
tn_map *sch_loop_domain(const sch_step *e, const tn_obj *low, const tn_obj *high,
                        const char *memory);
/** The region (array of Range over iterators of the block) over the loops around it. */
tn_arr *sch_bound_region(const tn_BlockRealize *r, const tn_arr *region);
/** Intervals that cover the region (as of sch_bound_region) while the loops of `dom` run. */
tn_arr *sch_relax_region(sch_step *e, const tn_arr *region, const tn_map *dom);
/** The smallest intervals that hold those of both (arrays of IntervalSet of one length). */
tn_arr *sch_union_region(sch_step *e, const tn_arr *x, const tn_arr *y);
/** Do the intervals of one region hold those of another, as far as these lie in the buffer? (Arrays
 * of IntervalSet.) */
bool sch_holds(sch_step *e, const tn_arr *outer, const tn_arr *inner, const tn_Buffer *buffer);
static inline bool sch_is_global(const char *memory) {
  return tir_memory_of(memory) == TIR_MEMORY_GLOBAL;
}
/** Tells the analyzer the ranges of the loops around `stmt` (itself among them) up to the block it
 * lies in, and that extents of parameters are not negative. */
int sch_bind_loops_above(sch_step *e, const tn_obj *stmt);
int sch_bind_shapes(sch_step *e);

/** The intervals that the region (array of Range over loops) covers, exactly, while the loops run
 * and `predicate` holds; *out is NULL when that cannot be told, or when the predicate may depend on
 * loops around (filled.c). */
int sch_region_exact(sch_step *e, const tn_arr *region, const tn_map *loops, tn_expr *predicate,
                     tn_arr **out);
/** Does the block run for all values of its iterators? No, where that is not proven: its predicate
 * may then not be left out. */
int sch_runs_everywhere(sch_step *e, const tn_BlockRealize *r, bool *out);

/** Does every block read only what blocks of the scope wrote before? */
int sch_region_cover(sch_step *e, const sch_scope_info *info, const tn_Block *b, bool *out);
/** Is the scope a sequence of blocks that hand results on, none overwriting what another reads? */
int sch_stage_pipeline(sch_step *e, const tn_Block *scope, bool *out);
/** Bindings that are a map of iterations over the loops around, as the cached flag has it. */
bool sch_affine_binding(sch_step *e, const tn_Block *b);

/** The scope of a block: not a root block, and (if asked) a stage pipeline. NULL with
 * ScheduleError. */
tn_Block *sch_scope_root(sch_step *e, const tn_Block *b, bool stage_pipeline);
/** ScheduleError unless the block is complete or a reduction. */
int sch_check_complete_or_reduction(const sch_step *e, const tn_Block *b);
/** ScheduleError when the block makes a result of its scope. */
int sch_check_not_output(const sch_step *e, const tn_Block *b, const tn_Block *scope);

#endif /* TN_TIR_SCHEDULE_REGIONS_H_ */
