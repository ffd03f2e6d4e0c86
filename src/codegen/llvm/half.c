/* Conversions of float16 for processors without an instruction for them. LLVM calls functions of
   the C compiler's library then, which a process that loads generated code may not have: the module
   brings them along, weak, so that the linker keeps one of each.

     __extendhfsf2: half -> float    __truncsfhf2: float -> half    __truncdfhf2: double -> half

   Rounding is to nearest, ties to even; NaNs stay NaNs. Vectors are converted by the same steps
   where they are: LLVM would call the functions for each lane. */
#include <string.h>

#include "codegen/llvm/cg.h"

/* Types of as many lanes as are converted at a time. */
typedef struct {
  cg_module *m;
  LLVMBuilderRef b;
  LLVMTypeRef i16, i32, f16, f32;
} maker;

static LLVMValueRef u32(const maker *k, unsigned v) { return cg_const_int(k->i32, v); }
static LLVMValueRef and_(const maker *k, LLVMValueRef a, unsigned mask) {
  return LLVMBuildAnd(k->b, a, u32(k, mask), "");
}
static LLVMValueRef shr(const maker *k, LLVMValueRef a, unsigned n) {
  return LLVMBuildLShr(k->b, a, u32(k, n), "");
}
static LLVMValueRef shl(const maker *k, LLVMValueRef a, unsigned n) {
  return LLVMBuildShl(k->b, a, u32(k, n), "");
}
static LLVMValueRef cmp(const maker *k, LLVMIntPredicate p, LLVMValueRef a, unsigned b) {
  return LLVMBuildICmp(k->b, p, a, u32(k, b), "");
}
static LLVMValueRef as(const maker *k, LLVMValueRef v, LLVMTypeRef t) {
  return LLVMBuildBitCast(k->b, v, t, "");
}
/* The float with these bits. */
static LLVMValueRef f32_bits(const maker *k, unsigned bits) { return as(k, u32(k, bits), k->f32); }

/* The exponent is moved by a multiplication, which brings subnormal numbers along. */
static LLVMValueRef extend(const maker *k, LLVMValueRef h) {
  const unsigned power_of_112 = 0x77800000;
  LLVMValueRef x = LLVMBuildZExt(k->b, as(k, h, k->i16), k->i32, "");
  LLVMValueRef scale = f32_bits(k, power_of_112);
  LLVMValueRef f = as(k, shl(k, and_(k, x, 0x7fff), 13), k->f32);
  LLVMValueRef u = as(k, LLVMBuildFMul(k->b, f, scale, ""), k->i32);
  LLVMValueRef special = cmp(k, LLVMIntUGE, and_(k, x, 0x7fff), 0x7c00);
  LLVMValueRef inf = LLVMBuildSelect(k->b, special, u32(k, 0x7f800000), u32(k, 0), "");
  u = LLVMBuildOr(k->b, LLVMBuildOr(k->b, u, inf, ""), shl(k, and_(k, x, 0x8000), 16), "");
  return as(k, u, k->f32);
}

/* A subnormal result is what is left of the last bits of |x| + 1/2. */
static LLVMValueRef narrow(const maker *k, LLVMValueRef x) {
  const unsigned one_half = 0x3f000000;
  LLVMBuilderRef b = k->b;
  LLVMValueRef u = as(k, x, k->i32), a = and_(k, u, 0x7fffffff);
  LLVMValueRef odd = and_(k, shr(k, a, 13), 1);
  LLVMValueRef r = LLVMBuildAdd(b, LLVMBuildAdd(b, a, u32(k, 0xfffU - 0x38000000U), ""), odd, "");
  r = shr(k, r, 13);
  LLVMValueRef sum = LLVMBuildFAdd(b, as(k, a, k->f32), f32_bits(k, one_half), "");
  LLVMValueRef small = LLVMBuildSub(b, as(k, sum, k->i32), u32(k, one_half), "");
  r = LLVMBuildSelect(b, cmp(k, LLVMIntULT, a, 0x38800000), small, r, "");
  r = LLVMBuildSelect(b, cmp(k, LLVMIntUGE, a, 0x47800000), u32(k, 0x7c00), r, "");
  LLVMValueRef nan = LLVMBuildOr(b, and_(k, shr(k, a, 13), 0x1ff), u32(k, 0x7e00), "");
  r = LLVMBuildSelect(b, cmp(k, LLVMIntUGT, a, 0x7f800000), nan, r, "");
  r = LLVMBuildOr(b, r, and_(k, shr(k, u, 16), 0x8000), "");
  return as(k, LLVMBuildTrunc(b, r, k->i16, ""), k->f16);
}

LLVMValueRef cg_convert_float16(cg_fn *f, LLVMValueRef v, int lanes, bool widen) {
  unsigned n = (unsigned)lanes;
  const maker k = {f->m,
                   f->b,
                   LLVMVectorType(f->m->i16, n),
                   LLVMVectorType(f->m->i32, n),
                   LLVMVectorType(f->m->f16, n),
                   LLVMVectorType(f->m->f32, n)};
  return widen ? extend(&k, v) : narrow(&k, v);
}

bool cg_converts_float16(const cg_module *m) {
  return cg_has_feature(m, "f16c") || cg_has_feature(m, "avx2") || cg_has_feature(m, "avx512bw") ||
         strncmp(LLVMGetTarget(m->mod), "x86_64", 6) != 0;
}

static LLVMValueRef magnitude(const maker *k, LLVMValueRef d) {
  LLVMValueRef mask = LLVMConstInt(k->m->i64, INT64_MAX, 0);
  return as(k, LLVMBuildAnd(k->b, as(k, d, k->m->i64), mask, ""), k->m->f64);
}

/* First to a float whose last bit tells that something was lost: the second rounding is then the
   only one. */
static LLVMValueRef narrow_double(const maker *k, LLVMValueRef d) {
  LLVMBuilderRef b = k->b;
  LLVMValueRef f = LLVMBuildFPTrunc(b, d, k->f32, ""), back = LLVMBuildFPExt(b, f, k->m->f64, "");
  LLVMValueRef lost = LLVMBuildFCmp(b, LLVMRealONE, back, d, "");
  LLVMValueRef more = LLVMBuildFCmp(b, LLVMRealOGT, magnitude(k, back), magnitude(k, d), "");
  LLVMValueRef u = as(k, f, k->i32);
  LLVMValueRef down = LLVMBuildSub(b, u, LLVMBuildZExt(b, more, k->i32, ""), "");
  u = LLVMBuildSelect(b, lost, LLVMBuildOr(b, down, u32(k, 1), ""), u, "");
  return narrow(k, as(k, u, k->f32));
}

static LLVMValueRef define(const maker *k, const char *name, LLVMTypeRef ret, LLVMTypeRef param,
                           LLVMValueRef (*body)(const maker *k, LLVMValueRef x)) {
  LLVMValueRef fn = LLVMAddFunction(k->m->mod, name, LLVMFunctionType(ret, &param, 1, 0));
  LLVMSetLinkage(fn, LLVMWeakAnyLinkage);
  LLVMSetVisibility(fn, LLVMHiddenVisibility);
  LLVMPositionBuilderAtEnd(k->b, LLVMAppendBasicBlockInContext(k->m->ctx, fn, "entry"));
  LLVMBuildRet(k->b, body(k, LLVMGetParam(fn, 0)));
  return fn;
}

void cg_add_half_functions(cg_module *m) {
  maker k = {m, LLVMCreateBuilderInContext(m->ctx), m->i16, m->i32, m->f16, m->f32};
  LLVMValueRef all[] = {
      define(&k, "__extendhfsf2", m->f32, m->f16, extend),
      define(&k, "__truncsfhf2", m->f16, m->f32, narrow),
      define(&k, "__truncdfhf2", m->f16, m->f64, narrow_double),
  };
  LLVMDisposeBuilder(k.b);
  /* calls appear only when instructions are chosen: until then nothing may drop the functions */
  LLVMValueRef list = LLVMConstArray2(m->ptr, all, TN_COUNT(all));
  LLVMValueRef used = LLVMAddGlobal(m->mod, LLVMTypeOf(list), "llvm.compiler.used");
  LLVMSetInitializer(used, list);
  LLVMSetLinkage(used, LLVMAppendingLinkage);
  LLVMSetSection(used, "llvm.metadata");
}
