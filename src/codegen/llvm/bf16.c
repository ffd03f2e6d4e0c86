/* Floats rounded to bfloat16 by operations on their bits, as BF16ComputeLegalize writes them:

     (x + (x >> 16 & 1) + 0x7fff) >> 16, as uint16    =>    vcvtneps2bf16

   Both round to nearest, ties to even. The instruction takes what is too small to be normal for
   zero, and keeps NaN. */
#include <stdio.h>

#include "tenon/object.h"
#include "codegen/llvm/cg.h"

/* x, of a call of x and that number in every lane; NULL for other expressions. */
static const tn_expr *of_call(const tn_expr *e, tir_op_id op, int64_t n) {
  const tn_Call *c = e ? tir_as_call((const tn_obj *)e, op) : NULL;
  return c && c->args->len == 2 && tir_is_const((const tn_obj *)cg_arg(c, 1), n) ? cg_arg(c, 0)
                                                                                 : NULL;
}

/* x, of (x >> 16 & 1) + 0x7fff + x in any order. */
static const tn_expr *biased(const tn_expr *e) {
  const tn_Add *sum = TN_AS(Add, e), *inner = NULL;
  const tn_expr *parts[3], *x = NULL;
  bool has_bias = false, has_x = false;
  if (!sum) return NULL;
  bool left = TN_IS(Add, sum->a);
  inner = TN_AS(Add, left ? sum->a : sum->b);
  if (!inner) return NULL;
  parts[0] = inner->a, parts[1] = inner->b, parts[2] = left ? sum->b : sum->a;
  for (int i = 0; i < 3 && !x; ++i)
    x = of_call(of_call(parts[i], TIR_OP_bitwise_and, 1), TIR_OP_shift_right, 16);
  for (int i = 0; i < 3; ++i) {
    has_bias = has_bias || tir_is_const((const tn_obj *)parts[i], 0x7fff);
    has_x = has_x || (x && tn_equal(x, parts[i], 0) == 1);
  }
  return has_bias && has_x ? x : NULL;
}

/* The float of which these are the bits. */
static const tn_expr *float_of(const tn_expr *bits) {
  const tn_Call *c = bits ? tir_as_call((const tn_obj *)bits, TIR_OP_reinterpret) : NULL;
  const tn_expr *x = c ? cg_arg(c, 0) : NULL;
  return x && x->dtype.code == kDLFloat && x->dtype.bits == 32 ? x : NULL;
}

LLVMValueRef cg_cast_bf16(cg_fn *f, const tn_Cast *e) {
  char name[48];
  LLVMValueRef x;
  tn_dtype from = e->value->dtype, to = e->dtype;
  bool fits = ir_is_uint(from) && from.bits == 32 && ir_is_uint(to) && to.bits == 16 &&
              (to.lanes == 16 || to.lanes == 8);
  if (!fits || !cg_is_x86(f) || !cg_has_feature(f->m, "avx512bf16")) return NULL;
  const tn_expr *value = float_of(biased(of_call(e->value, TIR_OP_shift_right, 16)));
  if (!value) return NULL;
  TN_GETP(x, cg_expr(f, value));
  snprintf(name, sizeof name, "llvm.x86.avx512bf16.cvtneps2bf16.%d", to.lanes * 32);
  TN_GETP(x, cg_intrinsic(f, name, NULL, 0, &x, 1));
  return LLVMBuildBitCast(f->b, x, LLVMVectorType(f->m->i16, to.lanes), "");
}
