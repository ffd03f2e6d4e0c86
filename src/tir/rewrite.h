/* What rewrites of tensor programs share: arithmetic of indices, folding while a mutator goes
   through, questions about programs.

   Compiler code: what is returned belongs to the current scope, see base/scope.h. */
#ifndef TN_TIR_REWRITE_H_
#define TN_TIR_REWRITE_H_

#include "ir/expr.h"
#include "ir/functor.h"
#include "tir/tir.h"

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
/** tir_substitute with folding. */
void *tir_substitute_fold(const void *node, const tn_pmap *vars);

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

/** The loop with another begin, extent and body, itself where they are its own. NULL passes
 * through. */
tn_stmt *tir_for_with(const tn_For *op, tn_expr *min, tn_expr *extent, tn_stmt *body);

#endif /* TN_TIR_REWRITE_H_ */
