/* Schedules of tensor expressions: how each operation's loops run and where they go.

     s = te.create_schedule(C.op)
     xo, xi = s[C].split(C.op.axis[0], factor=32)
     s[B].compute_at(s[C], xo)
     tenon.lower(s, [A, C])

   A schedule has a stage for each operation. A stage starts with the axes of its operation as
   loops; splitting and fusing add relations between iteration variables, whose leaves are the loops
   in their order. Nothing is computed until the schedule is lowered: then the bounds of all
   variables follow from what the consumers need (te_infer_bound), and the loops are written down as
   a tensor program (te_schedule_to_func), which takes the same way as any other.

   Schedules and stages change in place; they belong to one thread at a time. */
#ifndef TN_TE_SCHEDULE_TE_SCHEDULE_H_
#define TN_TE_SCHEDULE_TE_SCHEDULE_H_

#include "te/te.h"
#include "tir/index_map.h"

enum { /* numbers as in existing programs */
       TE_ATTACH_ROOT = 1,
       TE_ATTACH_INLINE = 2,
       TE_ATTACH_INLINED = 3, /* by te_normalize */
       TE_ATTACH_SCOPE = 4,
       TE_ATTACH_SCAN_UPDATE = 5, /* in the loop of its scan */
};

#define TN_FIELDS_TeSchedule(F, S)                                                                 \
  F(S, REF, Array(Operation), outputs, TN_MUT, "operations whose results are wanted")              \
  F(S, REF, Array(Stage), stages, TN_MUT, "one for each operation, inputs before users")           \
  F(S, REF, Array(Stage), groups, TN_MUT, "groups of stages")                                      \
  F(S, REF, Map(Operation, Stage), stage_map, TN_MUT, "operation, replaced ones too, to its stage")
#define TN_FIELDS_TeStage(F, S)                                                                    \
  F(S, REF, Operation, op, TN_OPT | TN_MUT, "what it computes; None: it is a group of stages")     \
  F(S, REF, Operation, origin_op, TN_OPT | TN_MUT, "what the caller knows it as")                  \
  F(S, REF, Array(IterVar), all_iter_vars, TN_MUT, "all there were")                               \
  F(S, REF, Array(IterVar), leaf_iter_vars, TN_MUT, "loops, outermost first")                      \
  F(S, REF, Array(IterVar), env_threads, TN_MUT, "threads launched around the stage")              \
  F(S, REF, PrimExpr, store_predicate, TN_OPT | TN_MUT, "results are stored only if")              \
  F(S, REF, Array(IterVarRelation), relations, TN_MUT, "between the variables, in the order made") \
  F(S, REF, Map(IterVar, IterVarAttr), iter_var_attrs, TN_MUT, "IterVar to IterVarAttr")           \
  F(S, I64, , attach_type, TN_MUT, "1 root, 2 inline, 3 inlined, 4 at a loop")                     \
  F(S, REF, IterVar, attach_ivar, TN_OPT | TN_MUT, "the loop it is computed in")                   \
  F(S, REF, TeStage, attach_stage, TN_OPT | TN_MUT, "the stage of that loop")                      \
  F(S, REF, TeStage, group, TN_OPT | TN_MUT, "the group it belongs to")                            \
  F(S, I64, , num_child_stages, TN_MUT, "of a group: how many stages and groups it has")           \
  F(S, REF, String, scope, TN_MUT, "memory of its results; empty: by where it is computed")        \
  F(S, BOOL, , is_output, TN_MUT, "whether its results are wanted")                                \
  F(S, BOOL, , double_buffer, TN_MUT, "whether its results are kept twice")                        \
  F(S, BOOL, , rolling_buffer, TN_MUT, "whether iterations share what they need of them")          \
  F(S, REF, Array(IndexMap), layout_transforms, TN_MUT, "how its result is stored: one or none")   \
  F(S, REF, Array(IterVar), layout_loops, TN_MUT, "what the axes became by that")                  \
  F(S, REF, IndexMap, layout_inverse, TN_OPT | TN_MUT, "from these to the axes")                   \
  F(S, REF, Array, axis_separators, TN_MUT, "axes where groups begin that are flattened apart")
#define TN_FIELDS_IterVarRelation(F, S)
#define TN_FIELDS_TeSplit(F, S)                                                                    \
  F(S, REF, IterVar, parent, 0, "what is split")                                                   \
  F(S, REF, IterVar, outer, 0, "its quotient")                                                     \
  F(S, REF, IterVar, inner, 0, "its remainder")                                                    \
  F(S, REF, PrimExpr, factor, TN_OPT, "extent of inner")                                           \
  F(S, REF, PrimExpr, nparts, TN_OPT, "extent of outer")                                           \
  F(S, BOOL, , disable_predication, 0, "whether no bound is checked", "0")
#define TN_FIELDS_TeFuse(F, S)                                                                     \
  F(S, REF, IterVar, outer, 0, "its quotient by the extent of inner")                              \
  F(S, REF, IterVar, inner, 0, "its remainder")                                                    \
  F(S, REF, IterVar, fused, 0, "what they are fused to")
#define TN_FIELDS_TeRebase(F, S)                                                                   \
  F(S, REF, IterVar, parent, 0, "an axis that is a loop")                                          \
  F(S, REF, IterVar, rebased, 0, "the loop, which starts at 0")
#define TN_FIELDS_TeSingleton(F, S) F(S, REF, IterVar, iter, 0, "takes one value")
#define TN_FIELDS_IterVarAttr(F, S)                                                                \
  F(S, I64, , iter_type, 0, "0, or that of an unrolled, vectorized or parallel loop", "0")         \
  F(S, REF, IterVar, bind_thread, TN_OPT, "thread axis")                                           \
  F(S, I64, , dim_align_factor, 0, "the stride is a multiple of it, plus the offset", "0")         \
  F(S, I64, , dim_align_offset, 0, "offset of the stride", "0")                                    \
  F(S, REF, Array(PrimExpr), pragma_keys, 0, "pragmas of the loop", "[]")                          \
  F(S, REF, Array(PrimExpr), pragma_values, 0, "their values", "[]")                               \
  F(S, REF, Array(Tensor), prefetch_data, 0, "what is fetched ahead in the loop", "[]")            \
  F(S, REF, Array(PrimExpr), prefetch_offset, 0, "how many iterations ahead", "[]")                \
  F(S, REF, TeTensorIntrin, tensor_intrin, TN_OPT, "computes all from this loop on")

#define TN_TE_SCHEDULE_NODES(N)                                                                    \
  N(TeSchedule, Object, "Schedule", NODE, UNIQUE, tn_no_hooks, "how operations are computed")      \
  N(TeStage, Object, "Stage", NODE, UNIQUE, tn_no_hooks, "how an operation is computed")           \
  N(IterVarRelation, Object, "IterVarRelation", ABSTRACT, UNIQUE, tn_no_hooks, "of variables")     \
  N(TeSplit, IterVarRelation, "Split", NODE, UNIQUE, tn_no_hooks, "one variable as two")           \
  N(TeFuse, IterVarRelation, "Fuse", NODE, UNIQUE, tn_no_hooks, "two variables as one")            \
  N(TeRebase, IterVarRelation, "Rebase", NODE, UNIQUE, tn_no_hooks, "an axis from 0 on")           \
  N(TeSingleton, IterVarRelation, "Singleton", NODE, UNIQUE, tn_no_hooks, "of one value")          \
  N(IterVarAttr, Object, "IterVarAttr", NODE, UNIQUE, tn_no_hooks, "how a loop runs")

TN_NODES_FORWARD(TN_TE_SCHEDULE_NODES)
/* the upper end of the block of the layer, so that te.def may grow */
TN_NODES_INDEX(TN_TE_SCHEDULE_NODES, TN_TI_BEGIN_RELAY - 8, te_schedule)
TN_NODES_DECLARE(TN_TE_SCHEDULE_NODES)
_Static_assert((int)TN_TI_END_te_schedule <= (int)TN_TI_BEGIN_RELAY,
               "the block of type indices of the layer is full");
_Static_assert((int)TN_TI_END_te <= (int)TN_TI_TeSchedule, "the tables of the layer overlap");

/* Errors are TVMError where nothing else is said. */

/** @param ops operations whose results are wanted (Operation) */
TN_API tn_TeSchedule *te_create_schedule(const tn_arr *ops);
/** The stage of an operation. KeyError when it has none. */
TN_API tn_TeStage *te_stage_of(const tn_TeSchedule *s, const tn_Operation *op);

/** Splits a loop; exactly one of factor and nparts. @return [outer, inner] */
TN_API tn_arr *te_split(tn_TeStage *st, tn_IterVar *parent, tn_expr *factor, tn_expr *nparts,
                        bool no_predicate);
/** Fuses loops that follow each other; of none: a loop of one iteration. */
TN_API tn_IterVar *te_fuse(tn_TeStage *st, const tn_arr *ivs);
TN_API int te_reorder(tn_TeStage *st, const tn_arr *ivs);
/** Stores the result in another layout, with loops over the new axes: call it before anything is
 * said of the operation's axes. @param map from its axes @param separators of the new buffer
 * (IntImm) @return the new loops (IterVar) */
TN_API tn_arr *te_transform_layout(tn_TeStage *st, const tn_IndexMap *map, tn_arr *separators);
TN_API int te_bind(tn_TeStage *st, tn_IterVar *iv, tn_IterVar *thread);
/** Unrolled, vectorized or parallelized (IR_ITER_...). */
TN_API int te_set_kind(tn_TeStage *st, tn_IterVar *iv, ir_iter_type kind);
TN_API int te_pragma(tn_TeStage *st, tn_IterVar *iv, const char *key, tn_obj *value);
/** What the loop's iteration `offset` from now reads of a tensor is fetched. */
TN_API int te_prefetch(tn_TeStage *st, const tn_Tensor *t, tn_IterVar *iv, tn_expr *offset);
/** The intrinsic computes what the loop and those inside it do; checked when it is lowered. */
TN_API int te_tensorize(tn_TeStage *st, tn_IterVar *iv, tn_TeTensorIntrin *intrin);
/** Iterations of a loop that the stage is computed at share what they need of its results. */
TN_API int te_rolling_buffer(tn_TeStage *st);
TN_API int te_storage_align(tn_TeStage *st, tn_IterVar *axis, int64_t factor, int64_t offset);
TN_API int te_compute_at(tn_TeStage *st, tn_TeStage *parent, tn_IterVar *scope);
TN_API int te_set_attach(tn_TeStage *st, int64_t type); /**< root or inline */

/** A group of the stages between inputs and outputs (Operation): where it is computed goes for all
 * of them that nothing else is said of. @param include_inputs whether those of the inputs belong
 * to it @return the group, a stage without an operation */
TN_API tn_TeStage *te_create_group(tn_TeSchedule *s, const tn_arr *outputs, const tn_arr *inputs,
                                   bool include_inputs);
/** A copy of a tensor in a memory, which the readers (Operation) use. @return the copy */
TN_API tn_Tensor *te_cache_read(tn_TeSchedule *s, tn_Tensor *t, const char *scope,
                                const tn_arr *readers);
/** Computes all results of an operation in a memory; the operation's own stage then copies them.
 * @param tensors its results @return those in the memory */
TN_API tn_arr *te_cache_write(tn_TeSchedule *s, const tn_arr *tensors, const char *scope);
/** Makes a loop of a reduction an axis: partial results by it, which the stage then reduces.
 * @return the partial results, one for each of the operation */
TN_API tn_arr *te_rfactor(tn_TeSchedule *s, tn_Tensor *t, tn_IterVar *axis, int64_t factor_axis);

/** A copy with inlined operations put into their users, places that were split followed, and loops
 * that start at 0. */
TN_API tn_TeSchedule *te_normalize(const tn_TeSchedule *s);
/** Inlines operations that nothing was said of yet. @param which 0 element by element, 1 also
 * broadcasts, 2 all without reduction */
TN_API int te_auto_inline(tn_TeSchedule *s, int which);
/** A schedule for results of which nothing else is known (for_target.c). @param outs array of
 * Tensor
 * @param lanes of the target's vectors, 1: none @param threads of a block, 0: not a GPU */
TN_API tn_TeSchedule *te_schedule_for(const tn_arr *outs, int64_t lanes, int64_t threads);
/** Range of every iteration variable: map from IterVar. @param s normalized */
TN_API tn_map *te_infer_bound(const tn_TeSchedule *s);
/** The tensor program. @param args Tensor, Buffer or Var, in the order of the parameters
 * @param binds Tensor to the Buffer it is in, or NULL */
TN_API tn_PrimFunc *te_schedule_to_func(const tn_TeSchedule *s, const tn_arr *args,
                                        const tn_map *binds);
/** The same in two steps: all of a schedule as a statement, which says in what buffers its inputs
 * and results are; and a statement, that one or any other, as a function.
 * @param given Tensor to the Buffer it is to be in, or NULL
 * @return the function, or NULL: ValueError, also where the statement uses what no argument is */
TN_API tn_stmt *te_schedule_ops(const tn_TeSchedule *s);
TN_API tn_PrimFunc *te_stmt_to_func(const tn_arr *args, tn_stmt *body, const tn_map *given);
/** Operations (Operation) that others need, inputs before users, to the tensors each one reads. */
TN_API tn_map *te_read_graph(const tn_arr *ops);
/** Those of such a graph that `ops` need, in its order. */
TN_API tn_arr *te_graph_order(const tn_arr *ops, const tn_map *graph);

/** Types and functions of this folder. */
int te_schedule_init(void);

#endif /* TN_TE_SCHEDULE_TE_SCHEDULE_H_ */
