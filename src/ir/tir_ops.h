/* Intrinsics of primitive expressions by number. The table is tir_ops.def. */
#ifndef TN_IR_TIR_OPS_H_
#define TN_IR_TIR_OPS_H_

#include "ir/op.h"
#include "ir/tir_ops.def"

/** TIR_OP_exp, ...: also the operator's Op.index. */
typedef enum {
#define TN_AS_OP_ID(name, ninputs, effect, vec, doc) TIR_OP_##name,
  TIR_OPS(TN_AS_OP_ID)
#undef TN_AS_OP_ID
      TIR_OP_END
} tir_op_id;

/** What a call may do besides computing its value; order matters: later ones forbid more. The
 * values are those of the operator attribute TCallEffectKind. */
typedef enum {
  TIR_EFFECT_ANNOTATION = 0,
  TIR_EFFECT_PURE = 1,
  TIR_EFFECT_READ = 2,
  TIR_EFFECT_UPDATE = 3,
  TIR_EFFECT_OPAQUE = TIR_EFFECT_UPDATE,
  TIR_EFFECT_ARG = 4,
  TIR_EFFECT_INFO = 5,
  TIR_EFFECT_JUMP = 6,
} tir_effect;

/** The operator "tir.NAME". */
TN_API tn_Op *tir_op(tir_op_id id);
/** The intrinsic an operator is, or TIR_OP_END. */
TN_API tir_op_id tir_op_number(const tn_obj *op);
/** Effect of calling an operator or function: OPAQUE when nothing is known. */
TN_API tir_effect tir_call_effect(const tn_obj *op);
/** The most that evaluating an expression does: that of its calls, or READ where it loads from
 * memory. 0, or -1 with MemoryError. */
TN_API int tir_effect_of(const tn_expr *e, tir_effect *out);
/** The same, OPAQUE when memory is short. */
TN_API tir_effect tir_side_effect(const tn_expr *e);
/** Does the expression have more than `most` nodes, constants left out? What several operands share
 * counts for each, as for whoever visits operands without remembering them. */
TN_API bool tir_is_larger(const tn_expr *e, int64_t most);
TN_API bool tir_op_vectorizable(const tn_obj *op);

#endif /* TN_IR_TIR_OPS_H_ */
