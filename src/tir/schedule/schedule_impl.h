/* What the steps of schedules share: the tree of a function, rewriting it, errors. */
#ifndef TN_TIR_SCHEDULE_SCHEDULE_IMPL_H_
#define TN_TIR_SCHEDULE_SCHEDULE_IMPL_H_

#include "arith/analyzer.h"
#include "ir/expr.h"
#include "ir/module.h"
#include "object/functions.h"
#include "tir/analysis.h"
#include "tir/schedule/schedule.h"

/* One step: begun for the function that has a statement, filled with what changes, committed. The
   scope must outlive it, since tables hold borrowed nodes. */
typedef struct sch_step sch_step;
struct sch_step {
  tn_TirSchedule *s;
  const char *primitive; /* "split": for errors */
  tn_GlobalVar *var;
  tn_PrimFunc *func;
  tn_pmap parent;  /* statement -> statement around it */
  tn_pmap vars;    /* Var -> expression that takes its place */
  tn_pmap loads;   /* Buffer -> sch_inline */
  tn_pmap replace; /* statement -> statement that takes its place, entered no more */
  tn_pmap moved;   /* For or Block -> what it has become */
  tn_pmap dropped; /* buffers that are allocated no more */
  tn_pmap renewed; /* blocks whose regions follow from the new body: 1 reads, 2 writes too */
  /* called for each node that has been rewritten; may be NULL. @param was before, now after */
  tn_obj *(*after)(sch_step *e, const tn_obj *was, tn_obj *now);
  const void *after_ctx; /* for it */
  tn_map *ranges;        /* loop variable -> Range: bindings become iteration maps; or NULL */
  bool preserve_unit;    /* loops that run once stay in these */
  bool given;            /* the caller says what the program becomes */
  bool hides;            /* it takes accesses out of what blocks declare, on purpose */
  arith_analyzer arith;
};

/* How reads of a buffer are replaced: value over vars, one for each axis. */
typedef struct {
  const tn_arr *vars; /* Var or constant for each axis */
  tn_expr *value;
} sch_inline;

#define SCH_STEP(name, schedule, what)                                                             \
  __attribute__((cleanup(sch_step_fini))) sch_step name = {.s = (schedule), .primitive = (what)}
void sch_step_fini(sch_step *e);

/** Finds the function of `stmt` and the parents of its statements. */
int sch_begin(sch_step *e, const tn_obj *stmt);
/** What a handle stands for, as a block or loop that is still there, with its function begun. */
tn_Block *sch_block_of(sch_step *e, const tn_BlockRV *rv);
tn_For *sch_loop_of(sch_step *e, const tn_LoopRV *rv);
/** Rewrites a part: variables, reads and statements replaced, blocks' iterator values simplified.
 */
tn_stmt *sch_rewrite(sch_step *e, const tn_stmt *stmt);
/** Puts `with` at the place of `old` when the step is committed. */
int sch_replace(sch_step *e, const tn_stmt *old, const tn_stmt *with);
/** Notes that a loop or block is now another one. */
int sch_moved(sch_step *e, const void *old, const void *now);
/** Rewrites the function and takes it. */
int sch_commit(sch_step *e);
/** The function that get_block looks into: that of a name, the one worked on, "main" or the only
 * one. */
tn_GlobalVar *sch_func_var(const tn_TirSchedule *s, const char *func);
/** A fresh handle of a block, loop, ... NULL with MemoryError. */
tn_obj *sch_handle(tn_TirSchedule *s, const tn_obj *stmt);
/** The same for each of a list; a BlockRealize stands for its block. */
tn_arr *sch_handles(tn_TirSchedule *s, const tn_vec *stmts);

static inline tn_obj *sch_parent(const sch_step *e, const void *stmt) {
  return (tn_obj *)tn_pmap_get(&e->parent, stmt);
}
/** Is it the statement `above`, or does it lie below it? */
static inline bool sch_lies_below(const sch_step *e, const void *stmt, const void *above) {
  const tn_obj *o = (const tn_obj *)stmt;
  while (o && o != (const tn_obj *)above) o = sch_parent(e, o);
  return o != NULL;
}
/** Place of an object in the list, or -1. */
static inline int64_t sch_place_of(const tn_vec *list, const void *o) {
  for (int64_t i = 0; i < list->len; ++i) {
    if (list->items[i].v.obj == (const tn_obj *)o) return i;
  }
  return -1;
}
/** References of the statements that a step has changed now show what these have become. @param
 * body the new body of the function @param moved what a statement has become, NULL: gone (state.c)
 */
int sch_move_srefs(const sch_step *e, const tn_stmt *body,
                   const tn_obj *(*moved)(const sch_step *e, const tn_pmap *there,
                                          const tn_obj *stmt));
/** The reference of a block or loop of the program (state.c). */
tn_StmtSRef *sch_sref(tn_TirSchedule *s, const tn_obj *stmt);
/* Bits of a schedule's debug_mask. */
enum { SCH_VERIFY_TREE = 1, SCH_VERIFY_FLOW = 2 };
/** Checks what a step has made of the function, as the debug_mask asks for. 0, or -1 with
 * InternalError that says what is wrong (verify.c). */
int sch_verify(const sch_step *e, const tn_PrimFunc *now);
/** Statement around each statement of a tree. */
int sch_note_parents(tn_pmap *parent, const tn_stmt *body);
/** The block that a loop or block lies in; NULL for a root block. */
tn_Block *sch_scope_block(const sch_step *e, const void *stmt);
/** Block realizations below `stmt` (itself among them) that lie in no other block below it. */
int sch_blocks_below(const tn_obj *stmt, tn_vec *out);
/** Loops between a block and the block it lies in, outermost first. */
int sch_loops_above(const sch_step *e, const tn_Block *b, tn_vec *out);
bool sch_uses_var(const void *expr, const tn_Var *v);
/** Is the buffer used by its pointer, not only by reading and storing elements? */
bool sch_uses_pointer(const void *part, const tn_Buffer *b);
/** Is the block one without reduction, whose results nobody else writes? / a reduction? On no,
 * *why is a sentence. */
bool sch_is_complete(const sch_step *e, const tn_Block *b, const char **why);
bool sch_is_reduction(const sch_step *e, const tn_Block *b, const char **why);
/** ScheduleError unless the iterator values are affine in the variables of the loops (For), none of
 * them used twice. */
int sch_check_affine(const sch_step *e, const tn_BlockRealize *r, const tn_vec *loops);
/** Blocks below must have affine bindings and iterators that may be reordered. */
int sch_check_blocks(const sch_step *e, const tn_obj *below, const tn_vec *loops);
/** ScheduleError when a block names the loops around it other than through its iterators, as blocks
 * without any may: it cannot leave them. */
int sch_check_own_loops(const sch_step *e, const tn_Block *b);
/** sch_rewrite puts the value in the place of the variable, as one of its type: an index that mixes
 * int32 and int64 is int64. */
int sch_put_var(sch_step *e, const tn_Var *v, tn_expr *value);
/** The loop with other fields; NULL passes through. A caller says where the loop starts as well as
 * how long it is: one that keeps the loop gives like->min. */
tn_For *sch_loop(const tn_For *like, tn_Var *var, tn_expr *min, tn_expr *extent, tn_stmt *body);

/** ScheduleError as the schedule renders it. @param fast text of level 1 @param places NULL-ended
 * list of statements that {0}, {1} in the text stand for. Returns -1. */
int sch_fail(const sch_step *e, const char *fast, const void *const *places, const char *fmt, ...)
    TN_PRINTF(4, 5);
/** The error of steps whose factors of a loop leave more than one open. */
int sch_fail_open(const sch_step *e, const tn_For *f);
/** Takes a block and the loops around only it out of its sequence. ScheduleError if there is none.
 */
int sch_remove_block(sch_step *e, const tn_Block *b);

/** A schedule of the same program, with the same handles and steps. */
tn_TirSchedule *sch_copy(const tn_TirSchedule *s);
/** A LoopRV for a loop or a mark: IntImm -1 for the root, -2 for inline. */
tn_obj *sch_loop_handle(tn_TirSchedule *s, const tn_obj *loop_or_mark);
/** The mark that a handle of a loop stands for, or 0. */
int64_t sch_loop_mark(const tn_TirSchedule *s, const tn_LoopRV *loop);
/** A random number from 0 to n - 1. */
int64_t sch_draw_below(int64_t *state, int64_t n);
/** Functions of sample.c. */
int sch_sample_init(void);

#define SCH_PLACES(...) ((const void *const[]){__VA_ARGS__, NULL})

#endif /* TN_TIR_SCHEDULE_SCHEDULE_IMPL_H_ */
