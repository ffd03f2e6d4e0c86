/* Conditions around accesses as expressions that are at most zero: part of
   tir.CompactBufferAllocation.

     if 2 <= i and j * 8 + k < 60:        ->   2 - i,  j * 8 + k - 59
     else:                                     nothing: one of two may hold
     if i < 4 or j < 4: ...  else:        ->   4 - i,  4 - j
*/
#include "tir/transforms/blocks/compact_impl.h"

static int push(compact_guards *g, tn_expr *x) { return x ? tn_vec_push_obj(g, x) : -1; }

/* a - b + plus <= 0 */
static int push_difference(compact_guards *g, tn_expr *a, tn_expr *b, int plus) {
  return push(g, tir_add(tir_sub(a, b), tir_const_int(a->dtype, plus)));
}

/* Unequal numbers of which it is known which may be larger. */
static int push_unequal(compact_guards *g, arith_analyzer *known, tn_expr *a, tn_expr *b) {
  tn_expr *d;
  TN_GET(d, tir_sub(a, b));
  arith_bound range = arith_const_bound(known, d);
  if (range.min >= 0) return push_difference(g, b, a, 1);
  return range.max <= 0 ? push_difference(g, a, b, 1) : 0;
}

static int push_compared(compact_guards *g, arith_analyzer *known, const tn_LT *op, bool holds) {
  tn_expr *a = op->a, *b = op->b;
  if (!ir_is_int(a->dtype) || a->dtype.lanes != 1) return 0;
  switch (op->hdr.type_index) {
  case TN_TI_LT: return holds ? push_difference(g, a, b, 1) : push_difference(g, b, a, 0);
  case TN_TI_GE: return holds ? push_difference(g, b, a, 0) : push_difference(g, a, b, 1);
  case TN_TI_LE: return holds ? push_difference(g, a, b, 0) : push_difference(g, b, a, 1);
  case TN_TI_GT: return holds ? push_difference(g, b, a, 1) : push_difference(g, a, b, 0);
  default: break;
  }
  if (holds != (op->hdr.type_index == TN_TI_EQ)) return push_unequal(g, known, a, b);
  TN_TRY(push_difference(g, a, b, 0));
  return push_difference(g, b, a, 0);
}

int compact_enter(compact_guards *g, arith_analyzer *known, tn_expr *cond, bool holds) {
  const tn_Call *likely = tir_as_call((tn_obj *)cond, TIR_OP_likely);
  if (likely) return compact_enter(g, known, (tn_expr *)tn_arr_obj(likely->args, 0), holds);
  switch (cond->hdr.type_index) {
  case TN_TI_Not: return compact_enter(g, known, ((tn_Not *)cond)->a, !holds);
  case TN_TI_And:
  case TN_TI_Or:
    /* of a disjunction it is not known which part holds */
    if (holds != (cond->hdr.type_index == TN_TI_And)) return 0;
    TN_TRY(compact_enter(g, known, ((tn_And *)cond)->a, holds));
    return compact_enter(g, known, ((tn_And *)cond)->b, holds);
  case TN_TI_LT:
  case TN_TI_LE:
  case TN_TI_GT:
  case TN_TI_GE:
  case TN_TI_EQ:
  case TN_TI_NE: return push_compared(g, known, (const tn_LT *)cond, holds);
  default: return 0;
  }
}
