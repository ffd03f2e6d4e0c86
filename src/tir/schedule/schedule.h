/* Schedules: programs that are rewritten step by step, with handles to their blocks and loops.

     sch = tir.Schedule(mod)
     b = sch.get_block("B")
     i, j = sch.get_loops(b)
     i_0, i_1 = sch.split(i, factors=[None, 16])

   A schedule holds the module and a table from handles (BlockRV, LoopRV, variables of integers) to
   what they stand for now: a Block or For of the module, an IntImm, or None once it is gone. Each
   step makes a new module and a new table and then takes both at once, so a step that fails
   changes nothing, and modules handed out before stay as they are. */
#ifndef TN_TIR_SCHEDULE_SCHEDULE_H_
#define TN_TIR_SCHEDULE_SCHEDULE_H_

#include "tir/script/printer.h"

#define TN_FIELDS_BlockRV(F, S)
#define TN_FIELDS_LoopRV(F, S)
#define TN_FIELDS_StmtSRef(F, S)                                                                   \
  F(S, REF, Stmt, stmt, TN_OPT | TN_MUT, "the block or loop as it is now; None once it is gone")   \
  F(S, REF, StmtSRef, parent, TN_OPT | TN_MUT, "the block or loop around it")
#define TN_FIELDS_Dependency(F, S)                                                                 \
  F(S, REF, StmtSRef, src, 0, "block that runs first")                                             \
  F(S, REF, StmtSRef, dst, 0, "block that depends on it")                                          \
  F(S, I64, , kind, 0, "0 read after write, 1 write after write, 2 write after read, 3 opaque")
#define TN_FIELDS_BlockScope(F, S)                                                                 \
  F(S, REF, Array(Dependency), deps, 0, "dependencies among its blocks")
#define TN_FIELDS_InstructionKind(F, S) F(S, REF, String, name, 0, "Split, GetBlock, ...")
#define TN_FIELDS_Instruction(F, S)                                                                \
  F(S, REF, InstructionKind, kind, 0, "which step it is")                                          \
  F(S, REF, Array, inputs, 0, "handles, None, numbers and texts")                                  \
  F(S, REF, Array, attrs, 0, "what else the step was given")                                       \
  F(S, REF, Array, outputs, 0, "handles that the step gave")
#define TN_FIELDS_Trace(F, S)                                                                      \
  F(S, REF, Array(Instruction), insts, TN_MUT, "steps in their order")                             \
  F(S, REF, Map, decisions, TN_MUT, "Instruction to the choice that was made for it")
#define TN_FIELDS_TirSchedule(F, S)                                                                \
  F(S, REF, IRModule, mod, TN_MUT, "the program as it is now")                                     \
  F(S, REF, Map, symbols, TN_MUT, "handle to what it stands for; None once that is gone")          \
  F(S, REF, Map, srefs, TN_MUT, "block or loop to its StmtSRef, where one was asked for")          \
  F(S, REF, String, work_name, TN_OPT | TN_MUT, "function that get_block looks into")              \
  F(S, I64, , debug_mask, 0,                                                                       \
    "each step is checked; 1: tree and variables, 2: statements and regions", "0")                 \
  F(S, I64, , error_render_level, 0, "0 detail, 1 fast, 2 none", "0")                              \
  F(S, I64, , rand_state, TN_MUT, "state of the random numbers", "1")                              \
  F(S, REF, Trace, trace, 0, "the steps so far")
#define TN_FIELDS_TensorizeInfo(F, S)                                                              \
  F(S, REF, Map, loop_map, 0, "loop of the program (StmtSRef) to loop of the description (For)")   \
  F(S, REF, Map, desc_loop_indexer, 0, "loop of the description to its number from outside")       \
  F(S, REF, Array, block_iter_paddings, TN_OPT,                                                    \
    "multiple that each iterator's extent must become; None: nothing to pad")
#define TN_FIELDS_AutoTensorizeMappingInfo(F, S)                                                   \
  F(S, REF, Array(IndexMap), mappings, 0, "maps of the block's iterators to the instruction's")    \
  F(S, REF, Map, lhs_buffer_map, 0, "buffer of the description to buffer of the block")            \
  F(S, REF, Map, rhs_buffer_indices, 0, "buffer of the description to its indices")                \
  F(S, REF, Array(IterVar), lhs_iters, 0, "iterators of the block")                                \
  F(S, REF, Array(IterVar), rhs_iters, 0, "iterators of the description")
#define TN_SCHEDULE_NODES(N)                                                                       \
  N(BlockRV, Object, "tir.BlockRV", NODE, UNIQUE, tn_no_hooks, "handle of a block")                \
  N(LoopRV, Object, "tir.LoopRV", NODE, UNIQUE, tn_no_hooks, "handle of a loop")                   \
  N(StmtSRef, Object, "tir.StmtSRef", NODE, UNIQUE, tn_no_hooks, "a block or loop of a schedule")  \
  N(Dependency, Object, "tir.Dependency", NODE, TREE, tn_no_hooks, "why a block runs after one")   \
  N(BlockScope, Object, "tir.BlockScope", NODE, UNIQUE, tn_no_hooks, "the blocks in a block")      \
  N(InstructionKind, Object, "tir.InstructionKind", NODE, TREE, tn_no_hooks, "kind of a step")     \
  N(Instruction, Object, "tir.Instruction", NODE, UNIQUE, tn_no_hooks, "a step that was taken")    \
  N(Trace, Object, "tir.Trace", NODE, UNIQUE, tn_no_hooks, "the steps of a schedule")              \
  N(TensorizeInfo, Object, "tir.schedule.TensorizeInfo", NODE, UNIQUE, tn_no_hooks,                \
    "which loops an instruction does")                                                             \
  N(AutoTensorizeMappingInfo, Object, "tir.schedule.AutoTensorizeMappingInfo", NODE, UNIQUE,       \
    tn_no_hooks, "how an instruction's iterators stand for a block's")                             \
  N(TirSchedule, Object, "tir.Schedule", NODE, UNIQUE, tn_no_hooks, "program being scheduled")
TN_NODES_FORWARD(TN_SCHEDULE_NODES)
/* the upper end of the block of the layer, so that tables below may grow */
TN_NODES_INDEX(TN_SCHEDULE_NODES, TN_TI_BEGIN_TE - 12, schedule)
TN_NODES_DECLARE(TN_SCHEDULE_NODES)
_Static_assert((int)TN_TI_END_schedule <= (int)TN_TI_BEGIN_TE,
               "the block of type indices of the layer is full");

/* Handles that steps return are owned by the scope; a step that fails gives NULL or -1 with
   ScheduleError (rendered as the schedule asks), or IndexError for a handle that it does not have.
 */

/** A schedule of a module's functions. @param debug_mask, render_level as in the node */
TN_API tn_TirSchedule *sch_new(tn_IRModule *mod, int64_t debug_mask, int64_t render_level);

/** The block of a name. @param func function to look into; NULL: the one worked on, else "main" or
 * the only one. */
TN_API tn_BlockRV *sch_get_block(tn_TirSchedule *s, const char *name, const char *func);
/** Loops around a block up to the block it lies in, outermost first (LoopRV). */
TN_API tn_arr *sch_get_loops(tn_TirSchedule *s, const tn_BlockRV *block);
/** Blocks directly below a block or loop (BlockRV). */
TN_API tn_arr *sch_get_child_blocks(tn_TirSchedule *s, const tn_obj *block_or_loop);
/** What a handle stands for now: Block, For or IntImm. NULL with IndexError. */
TN_API tn_obj *sch_get(const tn_TirSchedule *s, const tn_obj *rv);

/** Splits a loop. @param factors extents, outermost first (PrimExpr); one may be None: what is left
 * @return array of LoopRV */
TN_API tn_arr *sch_split(tn_TirSchedule *s, const tn_LoopRV *loop, const tn_arr *factors,
                         bool preserve_unit, bool no_predicate);
/** Makes nested loops one. @param loops LoopRV, outermost first */
TN_API tn_LoopRV *sch_fuse(tn_TirSchedule *s, const tn_arr *loops, bool preserve_unit);
/** Puts the loops of a chain into the order given, at the places they had. */
TN_API int sch_reorder(tn_TirSchedule *s, const tn_arr *loops);
/** Makes a loop parallel, vectorized, unrolled, or bound to a thread axis (`thread`, else NULL). */
TN_API int sch_set_kind(tn_TirSchedule *s, const tn_LoopRV *loop, tir_for_kind kind,
                        const char *thread);
/** Sets an annotation of a block or loop; None: takes it away, an error where there is none. */
TN_API int sch_annotate(tn_TirSchedule *s, const tn_obj *block_or_loop, const char *key,
                        tn_any value);

/** Blocks of the same scope that write what a block reads, or that read what it writes (BlockRV).
 */
TN_API tn_arr *sch_get_neighbours(tn_TirSchedule *s, const tn_BlockRV *block, bool producers);
/** Blocks below a block that write what it does not allocate (BlockRV). */
TN_API tn_arr *sch_get_output_blocks(tn_TirSchedule *s, const tn_BlockRV *scope);
/** A loop that runs once around a block or loop. */
TN_API tn_LoopRV *sch_add_unit_loop(tn_TirSchedule *s, const tn_obj *block_or_loop);
/** Moves the buffer that a block writes (its number among the writes) to another memory. */
TN_API int sch_set_scope(tn_TirSchedule *s, const tn_BlockRV *block, int64_t index,
                         const char *scope);

TN_API int sch_compute_inline(tn_TirSchedule *s, const tn_BlockRV *block);
TN_API int sch_reverse_compute_inline(tn_TirSchedule *s, const tn_BlockRV *block);
/** Moves the first value of a reduction into its own block before the loop. @return its block;
 * the handle given stands for the block that is left */
TN_API tn_BlockRV *sch_decompose_reduction(tn_TirSchedule *s, const tn_BlockRV *block,
                                           const tn_LoopRV *loop);

/** Starts the random numbers of a schedule. @param seed -1: from the clock. ValueError below that.
 */
TN_API int sch_seed(tn_TirSchedule *s, int64_t seed);
/** A seed for another generator, or -1; the schedule's goes on by one. */
TN_API int64_t sch_fork_seed(tn_TirSchedule *s);
/** Chooses the extents of n loops whose product is a loop's extent.
 * @param max_innermost limit of the last one; -1: none
 * @param decision extents chosen before, made to fit; NULL: draws
 * @return [handles of integers, extents]; (-1, 1, ...) where the extent is not constant */
TN_API tn_arr *sch_sample_perfect_tile(tn_TirSchedule *s, const tn_LoopRV *loop, int64_t n,
                                       int64_t max_innermost, const tn_any *decision);
/** The same; the product of those from `partition` on is a multiple of `factor`. */
TN_API tn_arr *sch_sample_partitioned_tile(tn_TirSchedule *s, const tn_LoopRV *loop, int64_t n,
                                           int64_t partition, int64_t factor,
                                           const tn_any *decision);
/** Chooses one of several integers by weight. @param decision number of the candidate; NULL or below 0: draws
 * @return [handle, number of the candidate] */
TN_API tn_arr *sch_sample_categorical(tn_TirSchedule *s, const tn_arr *candidates,
                                      const tn_arr *probs, const tn_any *decision);

/** An instruction; both functions take the same buffers. ValueError when they differ. */
TN_API tn_TensorIntrin *sch_intrin_new(tn_PrimFunc *desc, tn_PrimFunc *impl);
/** Makes it known by a name. ValueError when that is taken, unless `override`. Any thread. */
TN_API int sch_intrin_register(const char *name, const tn_TensorIntrin *intrin, bool override);
/** The instruction of a name, or NULL without an error. */
TN_API tn_TensorIntrin *sch_intrin_get(const char *name);

#endif /* TN_TIR_SCHEDULE_SCHEDULE_H_ */
