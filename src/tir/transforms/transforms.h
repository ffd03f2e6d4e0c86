/* Passes over tensor programs, and what several of them need. The passes are the rows of
   passes.def; each is one file.

   Compiler code: what is returned belongs to the current scope, see base/scope.h. */
#ifndef TN_TIR_TRANSFORMS_TRANSFORMS_H_
#define TN_TIR_TRANSFORMS_TRANSFORMS_H_

#include "arith/analyzer.h"
#include "ir/expr.h"
#include "ir/functor.h"
#include "ir/pass.h"
#include "object/functions.h"
#include "tenon/object.h"
#include "tir/script/build.h"
#include "tir/tir.h"
#include "tir/transforms/config.def"
#include "tir/transforms/passes.def"

TN_NODES_FORWARD(TIR_CONFIG_NODES)
TN_NODES_INDEX(TIR_CONFIG_NODES, TN_TI_END_script, tir_config)
TN_NODES_DECLARE(TIR_CONFIG_NODES)

#define TIR_DECLARE_PRIMFUNC(fn)                        tn_PrimFunc *fn(tn_PrimFunc *f, const tn_pass_ctx *c);
#define TIR_DECLARE_MODULE(fn)                          tn_IRModule *fn(tn_IRModule *m, const tn_pass_ctx *c);
#define TIR_DECLARE(fn, name, KIND, level, config, doc) TIR_DECLARE_##KIND(fn)
TIR_PASSES(TIR_DECLARE)
#undef TIR_DECLARE

/** tir.ConvertSSA of one function. */
tn_PrimFunc *tir_convert_ssa(tn_PrimFunc *f, const tn_pass_ctx *c);

enum { TIR_STACK_BYTES = 1024 }; /**< allocations from this size on are not placed on the stack */

/** Sum and product of indices, where a scalar meets a ramp as part of it: ramp(0, 1, 4) + x is
 * ramp(x, 1, 4). NULL passes through. */
tn_expr *tir_index_add(tn_expr *a, tn_expr *b);
tn_expr *tir_index_sub(tn_expr *a, tn_expr *b);
tn_expr *tir_index_mul(tn_expr *a, tn_expr *b);

/** Elements of an allocation that a buffer needs along each axis: its shape, with room for its
 * strides. Array of PrimExpr. */
tn_arr *tir_allocation_shape(const tn_Buffer *b);

/** Cases of a mutator whose operands change: operators are built again, which folds constants. */
tn_obj *tir_refold_binary(tn_mut *m, tn_obj *e);
tn_obj *tir_refold_cast(tn_mut *m, tn_obj *e);
#define TIR_REFOLD_CASE(T) [TN_TI_##T] = tir_refold_binary
#define TIR_REFOLD                                                                                 \
  TIR_REFOLD_CASE(Add), TIR_REFOLD_CASE(Sub), TIR_REFOLD_CASE(Mul), TIR_REFOLD_CASE(Div),          \
      TIR_REFOLD_CASE(Mod), TIR_REFOLD_CASE(FloorDiv), TIR_REFOLD_CASE(FloorMod),                  \
      TIR_REFOLD_CASE(Min), TIR_REFOLD_CASE(Max), TIR_REFOLD_CASE(EQ), TIR_REFOLD_CASE(NE),        \
      TIR_REFOLD_CASE(LT), TIR_REFOLD_CASE(LE), TIR_REFOLD_CASE(GT), TIR_REFOLD_CASE(GE),          \
      TIR_REFOLD_CASE(And), TIR_REFOLD_CASE(Or), [TN_TI_Cast] = tir_refold_cast
/** The function with all indices, extents and loops in a type; scalar parameters that are part of
 * them get it too, values and elements of buffers keep theirs. ValueError unless a signed integer.
 */
TN_API tn_PrimFunc *tir_with_index_type(tn_PrimFunc *f, tn_dtype t);
/** tir_substitute with folding. */
void *tir_substitute_fold(const void *node, const tn_pmap *vars);

/** tir.Simplify of a statement with what is known already, and tir.RemoveNoOp of one. NULL passes
 * through the second. */
tn_stmt *tir_simplify_stmt(arith_analyzer *known, tn_stmt *s);
tn_stmt *tir_remove_no_op_stmt(tn_stmt *s);

/** Names an expression that reads memory: *e becomes a variable; it and its value are added to the
 * lists, which tir_bind_read binds around a body. Others stay. */
int tir_read_once(tn_vec *vars, tn_vec *values, const char *name, tn_expr **e);
tn_stmt *tir_bind_read(const tn_vec *vars, const tn_vec *values, tn_stmt *body);

/** Around a pass over a function: analyzers know which of its variables hold data. */
void *tir_data_begin(const tn_BaseFunc *f);
void tir_data_end(void *state);

/** Is the expression free of effects, and does it read nothing that a statement may change? */
bool tir_is_pure(const tn_expr *e);
/** Does the program use the variable? */
bool tir_uses_var(const void *node, const tn_Var *v);

/** Is there a statement like that in the program? Expressions are not looked into, so that this is
 * much cheaper than rewriting the program. An error counts as yes. */
bool tir_has_stmt(const tn_stmt *s, bool (*wanted)(const tn_stmt *s, const void *arg),
                  const void *arg);
/** The same for attributes by their key, and for loops by their kind. */
bool tir_has_attr(const tn_stmt *s, const char *key);
bool tir_has_loop(const tn_stmt *s, tir_for_kind kind);

/** The same for annotations of blocks. */
bool tir_has_block_mark(const tn_stmt *s, const char *key);

/** Does the function come from a te schedule? Block passes leave such functions alone. */
bool tir_is_legacy(const tn_PrimFunc *f);

/** What is realized is allocated and declared, as large as its region. */
tn_PrimFunc *tir_allocate_realized(tn_PrimFunc *f);

/** The loop with another begin, extent and body, itself where they are its own. NULL passes
 * through. */
tn_stmt *tir_for_with(const tn_For *op, tn_expr *min, tn_expr *extent, tn_stmt *body);

#endif /* TN_TIR_TRANSFORMS_TRANSFORMS_H_ */
