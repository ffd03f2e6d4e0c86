/* Builders of expressions. They bring both operands to one type, fold constants and the identities
   that need no analysis (x + 0, x * 1, not True), and check what cannot be right (logic on
   numbers). A NULL operand means that an error is pending and gives NULL.

   Types. Vectors: a scalar meets a vector as a broadcast. Then, the first that applies: floats take
   the wider one; an integer meets a float as that float; integers of one signedness take the wider
   one; of two signednesses the wider one, unsigned when they are of one width. Arithmetic on two
   bools is done in int32. Anything else is TVMError "Cannot match type X vs Y".

   Constants are computed as running the program would (docs/semantics.md); arithmetic of floats
   narrower than float32 is left to that. */
#ifndef TN_IR_EXPR_H_
#define TN_IR_EXPR_H_

#include "ir/imm.h"
#include "ir/tir_ops.h"

/** a op b, op one of TN_TI_Add ... TN_TI_Or. NULL with TVMError. */
TN_API tn_expr *tir_binary(uint32_t op, tn_expr *a, tn_expr *b, tn_Span *span);
/** Brings a and b to one type (see above). */
TN_API int tir_match_types(tn_expr **a, tn_expr **b, tn_Span *span);
/** Is what somebody wrote down no mistake? TVMError for a division by the constant 0, and for a
 * shift by a constant that is negative or not below the number of bits. Programs that computers
 * make (of constants that turned out so) have a result, see docs/semantics.md. */
TN_API int tir_check_written(uint32_t op, const tn_expr *b, const tn_Span *span);
TN_API int tir_check_shift(const tn_expr *a, const tn_expr *b, const tn_Span *span);
/** *out = the constant or operand that `a op b` (operands of one type) is, NULL when there is none.
 */
TN_API int tir_fold(uint32_t op, tn_expr *a, tn_expr *b, tn_Span *span, tn_expr **out);

#define TN_BINARY_BUILDER(name, Node)                                                              \
  static inline tn_expr *name(tn_expr *a, tn_expr *b) {                                            \
    return tir_binary(TN_TI_##Node, a, b, NULL);                                                   \
  }
TN_BINARY_BUILDER(tir_add, Add)
TN_BINARY_BUILDER(tir_sub, Sub)
TN_BINARY_BUILDER(tir_mul, Mul)
TN_BINARY_BUILDER(tir_div, Div) /* integers: toward zero */
TN_BINARY_BUILDER(tir_mod, Mod)
TN_BINARY_BUILDER(tir_floordiv, FloorDiv)
TN_BINARY_BUILDER(tir_floormod, FloorMod)
TN_BINARY_BUILDER(tir_min, Min)
TN_BINARY_BUILDER(tir_max, Max)
TN_BINARY_BUILDER(tir_eq, EQ)
TN_BINARY_BUILDER(tir_ne, NE)
TN_BINARY_BUILDER(tir_lt, LT)
TN_BINARY_BUILDER(tir_le, LE)
TN_BINARY_BUILDER(tir_gt, GT)
TN_BINARY_BUILDER(tir_ge, GE)
TN_BINARY_BUILDER(tir_and, And)
TN_BINARY_BUILDER(tir_or, Or)
#undef TN_BINARY_BUILDER

/** Integer operands only: TVMError. */
TN_API tn_expr *tir_truncdiv(tn_expr *a, tn_expr *b, tn_Span *span);
TN_API tn_expr *tir_truncmod(tn_expr *a, tn_expr *b, tn_Span *span);
/** (a + b - 1) // b */
TN_API tn_expr *tir_ceildiv(tn_expr *a, tn_expr *b, tn_Span *span);
TN_API tn_expr *tir_neg(tn_expr *a, tn_Span *span); /**< 0 - a, folded */
TN_API tn_expr *tir_not(tn_expr *a, tn_Span *span);
/** Converts; `e` itself when it has the type. Scalars are broadcast to vectors. */
TN_API tn_expr *tir_cast(tn_dtype t, tn_expr *e, tn_Span *span);
/** The bits as another type of the same size. */
TN_API tn_expr *tir_reinterpret(tn_dtype t, tn_expr *e, tn_Span *span);
/** e itself for one lane. @param lanes of a dtype, or of a vector's node */
TN_API tn_expr *tir_broadcast(tn_expr *e, int lanes, tn_Span *span);
/** The number of lanes of a Ramp or Broadcast, plus `more`, as an expression of type t:
    a constant, or vscale() * n of a scalable vector, whose `lanes` is -n. */
TN_API tn_expr *tir_lanes(tn_dtype t, int64_t lanes, int64_t more);
/** Reads a number of lanes: a constant, vscale(), or vscale() * n. 0, or -1 with an error that
    names `what`. */
TN_API int tir_lanes_from(const char *what, tn_expr *e, int64_t *out);
/** Choice; only one side is evaluated. The sides are brought to one type. */
TN_API tn_expr *tir_if_then_else(tn_expr *cond, tn_expr *t, tn_expr *f, tn_Span *span);
/** Choice; both sides are evaluated. */
TN_API tn_expr *tir_select(tn_expr *cond, tn_expr *t, tn_expr *f, tn_Span *span);
TN_API tn_expr *tir_likely(tn_expr *cond, tn_Span *span);

/** Bits of integers. op: TIR_OP_bitwise_and, _or, _xor. */
TN_API tn_expr *tir_bitwise(tir_op_id op, tn_expr *a, tn_expr *b, tn_Span *span);
TN_API tn_expr *tir_bitwise_not(tn_expr *a, tn_Span *span);
/** op: TIR_OP_shift_left, _right. */
TN_API tn_expr *tir_shift(tir_op_id op, tn_expr *a, tn_expr *b, tn_Span *span);

/** To the power of: floats, or integers, which wrap around. Folded. */
TN_API tn_expr *tir_power(tn_expr *a, tn_expr *b, tn_Span *span);
/** Floating point only, folded: op is TIR_OP_pow or TIR_OP_fmod. */
TN_API tn_expr *tir_float_binary(tir_op_id op, tn_expr *a, tn_expr *b, tn_Span *span);
/** Rounding, folded; integers as they are. op: TIR_OP_floor, _ceil, _trunc, _round, _nearbyint. */
TN_API tn_expr *tir_rounding(tir_op_id op, tn_expr *x, tn_Span *span);
TN_API tn_expr *tir_abs(tn_expr *x, tn_Span *span);
TN_API tn_expr *tir_isnan(tn_expr *x, tn_Span *span);
TN_API tn_expr *tir_isinf(tn_expr *x, tn_Span *span);
TN_API tn_expr *tir_isfinite(tn_expr *x, tn_Span *span);

/** Call of an intrinsic with n arguments (tn_expr *). */
TN_API tn_expr *tir_call(tn_dtype t, tir_op_id op, int n, ...);
TN_API tn_expr *tir_call_args(tn_dtype t, tir_op_id op, tn_arr *args, tn_Span *span);
/** Is it a call of that intrinsic? The call, or NULL. */
TN_API tn_Call *tir_as_call(const tn_obj *e, tir_op_id op);

/** min, min + 1, ..., min + extent - 1 */
static inline tn_Range *tir_range(tn_expr *min, tn_expr *extent) {
  return TN_MAKE(Range, .min = min, .extent = extent);
}
/** From begin to before end. */
TN_API tn_Range *tir_range_to(tn_expr *begin, tn_expr *end, tn_Span *span);
TN_API tn_Var *tir_var(const char *name, tn_dtype t);
/** A variable of the same type. */
TN_API tn_Var *tir_var_like(const tn_Var *v, const char *name);
/** Pointer to values of type t in a memory ("global", "shared", ... or ""). */
TN_API tn_Var *tir_pointer_var(const char *name, tn_dtype t, const char *scope);
TN_API tn_IterVar *tir_iter_var(tn_Range *dom, tn_Var *var, ir_iter_type type,
                                const char *thread_tag);

#endif /* TN_IR_EXPR_H_ */
