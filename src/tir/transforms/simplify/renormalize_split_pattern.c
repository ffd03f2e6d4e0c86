/* Splits of indices get one form, remainders of quotients, in which nested splits fold and meet.

     x % 32 // 8     ->   x // 8 % 4
     x // 8 // 4     ->   x // 32
     x // 8 < 4      ->   x < 32

   Divisors are positive constants; quotients round down, so that all of it holds for any x. */
#include "tir/transforms/transforms.h"

/* Rules are of scalars of types that do not wrap around; a float has no such quotients. */
static bool fits(tn_dtype t) {
  return t.code == kDLInt && t.lanes == 1 && (t.bits == 32 || t.bits == 64);
}

/* The product of two positive constants in the type, or 0 where it does not fit. */
static int64_t product(tn_dtype t, int64_t a, int64_t b) {
  int64_t r;
  if (__builtin_mul_overflow(a, b, &r)) return 0;
  return t.bits == 32 && r > INT32_MAX ? 0 : r;
}

/* The operands of `e` if its second one is a positive constant. */
static const tn_BinaryOp *by_constant(const tn_obj *e, uint32_t type, int64_t *d) {
  if (e->type_index != type) return NULL;
  const tn_BinaryOp *op = TN_AS_BINARY(e);
  return fits(op->dtype) && tir_as_int((tn_obj *)op->b, d) && *d > 0 ? op : NULL;
}

static tn_expr *floordiv(tn_expr *x, int64_t d) {
  return x ? tir_binary(TN_TI_FloorDiv, x, tir_int(x->dtype, d), NULL) : NULL;
}

/* x // d, where x may be a quotient or a remainder itself. */
static tn_expr *quotient(tn_expr *x, int64_t d) {
  int64_t c;
  const tn_BinaryOp *in = by_constant((tn_obj *)x, TN_TI_FloorDiv, &c);
  if (in && product(x->dtype, c, d)) return quotient(in->a, product(x->dtype, c, d));
  in = by_constant((tn_obj *)x, TN_TI_FloorMod, &c);
  if (!in || c % d != 0) return floordiv(x, d);
  tn_expr *q = quotient(in->a, d);
  return q ? tir_binary(TN_TI_FloorMod, q, tir_int(x->dtype, c / d), NULL) : NULL;
}

static tn_obj *renormalize_div(tn_mut *m, tn_obj *e) {
  int64_t d;
  tn_obj *r = tir_refold_binary(m, e);
  const tn_BinaryOp *op = r ? by_constant(r, TN_TI_FloorDiv, &d) : NULL;
  if (!op) return r;
  int64_t c;
  bool nested = by_constant((tn_obj *)op->a, TN_TI_FloorDiv, &c) ||
                by_constant((tn_obj *)op->a, TN_TI_FloorMod, &c);
  return nested ? (tn_obj *)quotient(op->a, d) : r;
}

static tn_obj *renormalize_lt(tn_mut *m, tn_obj *e) {
  int64_t d, bound;
  tn_obj *r = tir_refold_binary(m, e);
  if (!r || r->type_index != TN_TI_LT) return r;
  const tn_BinaryOp *lt = TN_AS_BINARY(r);
  const tn_BinaryOp *div = by_constant((tn_obj *)lt->a, TN_TI_FloorDiv, &d);
  if (!div || !tir_as_int((tn_obj *)lt->b, &bound) || bound <= 0) return r;
  int64_t limit = product(div->dtype, d, bound);
  if (!limit) return r;
  return (tn_obj *)tir_binary(TN_TI_LT, div->a, tir_int(div->dtype, limit), lt->span);
}

tn_PrimFunc *tir_renormalize_split_pattern(tn_PrimFunc *f, const tn_pass_ctx *c) {
  static const tn_mut_case cases[] = {
      TIR_REFOLD_CASE(Add),        TIR_REFOLD_CASE(Sub), TIR_REFOLD_CASE(Mul),
      TIR_REFOLD_CASE(Div),        TIR_REFOLD_CASE(Mod), TIR_REFOLD_CASE(FloorMod),
      TIR_REFOLD_CASE(Min),        TIR_REFOLD_CASE(Max), [TN_TI_FloorDiv] = renormalize_div,
      [TN_TI_LT] = renormalize_lt,
  };
  (void)c;
  TN_MUT(m, cases, NULL);
  return tir_with_body(f, tn_mut_visit(&m, f->body));
}
