/* What steps share that put a copy of a buffer between blocks. */
#ifndef TN_TIR_SCHEDULE_CACHE_H_
#define TN_TIR_SCHEDULE_CACHE_H_

#include "tir/schedule/regions.h"

/** A place for a new statement: in a sequence, or in the body of a block or loop. */
typedef struct {
  const tn_obj *site; /* SeqStmt, or the statement that is the whole body */
  int64_t at;         /* number among the statements that the new one comes before */
} sch_place;

/** A copy being made. Zero it, then sch_cache_find. */
typedef struct {
  tn_Block *block, *scope;
  tn_Buffer *buffer, *cache;
  tn_arr *region; /* array of Range: what is copied */
  bool whole;     /* the cache has the buffer's shape, else the region's */
  sch_place place;
  tn_Block *copy;   /* the new block */
  tn_vec consumers; /* Block: those that use the cache; empty: all */
} sch_cache;
#define SCH_CACHE(name) __attribute__((cleanup(sch_cache_fini))) sch_cache name = {0}
void sch_cache_fini(sch_cache *c);

/** The region of that number among those the block reads or writes. ScheduleError. */
tn_BufferRegion *sch_nth_region(const sch_step *e, const tn_Block *b, int64_t index, bool write);
/** The only block of a scope that writes the buffer; *out is NULL when none does. ScheduleError for
 * several. */
int sch_only_writer(const sch_step *e, const tn_Block *scope, const tn_Buffer *buffer,
                    tn_Block **out);
/** ScheduleError when no such memory exists. */
int sch_check_memory(const sch_step *e, const char *memory);

/** Finds block, scope and buffer. @param pipeline must the scope be a stage pipeline? */
int sch_cache_find(sch_step *e, sch_cache *c, const tn_BlockRV *block, int64_t index, bool write,
                   const char *memory, bool pipeline);
/** Does one run of the block set the region of the buffer that it declares to write, with a store
 * that no condition guards (filled.c)? @param any_element or any element of it */
int sch_sets_region(sch_step *e, const tn_Block *b, const tn_Buffer *buffer, bool any_element,
                    bool *out);
/** ScheduleError unless the block sets all that a copy of its results puts back.
 * @param points array of Range over iterators of the block: what one run sets of the box; NULL: the
 * region that the block declares @param box array of Range over loops around `high`: what is put
 * back @param high the copy runs once in each iteration of the loops around it */
int sch_check_filled(sch_step *e, const sch_cache *c, const tn_arr *points, const tn_arr *box,
                     const tn_obj *high);
/** Blocks in the scope cannot tell where loops around it are (an opaque scope has no iterators for
 * them): where the region depends on such a loop, what is read becomes the whole dimension; what is
 * written has no cache (ScheduleError). */
int sch_leave_loops(const sch_step *e, sch_cache *c, bool write);
/** The body within the definitions around it: constants, declared buffers, variables. */
const tn_obj *sch_within_definitions(const tn_obj *body);
/** The first place of the scope at which the buffer that `reader` reads is defined. */
sch_place sch_place_first(const sch_step *e, const tn_Block *scope, const tn_Block *reader,
                          const tn_Buffer *buffer);
/** Right after the statement with `writer` in the innermost sequence that has one of `others` too;
 * without others at the end of the scope. */
int sch_place_after(const sch_step *e, const tn_Block *scope, const tn_Block *writer,
                    const tn_vec *others, sch_place *out);
/** What is read or written of a buffer (array of Range), or NULL. */
tn_arr *sch_region_of(const tn_arr *regions, const tn_Buffer *buffer);
/** All elements of a buffer along an axis. */
tn_Range *sch_whole_axis(const tn_Buffer *b, int64_t axis);
/** A copy of the buffer under another name and memory. @param shape array of PrimExpr */
tn_Buffer *sch_buffer_like(const tn_Buffer *b, tn_arr *shape, const char *suffix,
                           const char *memory);
/** A block in loops ax0, ax1, ... over iterators v0, v1, ... */
typedef struct {
  tn_vec loops, iters, values, extents, indices;
  tn_expr *predicate; /* over the loops: when the block runs; NULL: always */
} sch_nest;
#define SCH_NEST(name) __attribute__((cleanup(sch_nest_fini))) sch_nest name = {0}
void sch_nest_fini(sch_nest *n);
/** Adds a loop of `extent`, bound as min + loop (min may be NULL) to an iterator over `dom`. */
int sch_nest_add(sch_nest *n, tn_expr *extent, tn_expr *min, tn_Range *dom);
/** Lets the block run only where `min` + the last loop added lies in [0, size), unless the loops
 * around the place are known to keep it there. */
int sch_nest_bound(sch_step *e, sch_nest *n, tn_expr *min, tn_expr *size);
/** The nest around a store; *block is the block. */
tn_stmt *sch_nest_make(const sch_nest *n, tn_str *name, tn_stmt *store, tn_Block **block);

/** Lets a block use `to` where it uses `from`, indices less the mins of `offset` (array of Range;
 * NULL: as they are); done for the whole program on commit. */
int sch_redirect(sch_step *e, const tn_Block *b, const tn_Buffer *from, const tn_Buffer *to,
                 const tn_arr *offset);
/** Puts a statement at the place, and a buffer (may be NULL) among those of the scope. */
int sch_insert(sch_step *e, tn_Block *scope, const sch_place *place, tn_stmt *stmt,
               tn_Buffer *alloc);
/** Rebuilds the scope with n more buffers, which may be NULL. */
int sch_add_buffers(sch_step *e, tn_Block *scope, int n, tn_Buffer *const *buffers);

#endif /* TN_TIR_SCHEDULE_CACHE_H_ */
