/* exp, log, tanh and erf of float32 without calls: a polynomial after the argument is reduced, in
   operations that work on vectors, so that vectorised loops stay vectorised (explicit ones, and
   those LLVM finds). Each is a function of the module, made once for each number of lanes and
   always inlined. Errors stay below 3 units in the last place (tests measure them); infinities,
   NaNs and subnormal numbers come out as those of the C library.

   The coefficients minimise the largest relative error over the reduced range, below 4e-9. */
#include <string.h>

#include "codegen/llvm/cg.h"

/* A function under construction. */
typedef struct {
  cg_fn f;
  LLVMTypeRef type, ints; /* of its values, and the integers of their size */
} maker;

static LLVMValueRef every(maker *k, LLVMTypeRef type, LLVMValueRef scalar) {
  if (LLVMGetTypeKind(type) != LLVMVectorTypeKind) return scalar;
  return cg_splat(&k->f, scalar, (int)LLVMGetVectorSize(type));
}
static LLVMValueRef real(maker *k, double v) {
  return every(k, k->type, LLVMConstReal(k->f.m->f32, v));
}
static LLVMValueRef integer(maker *k, uint32_t v) {
  return every(k, k->ints, LLVMConstInt(k->f.m->i32, v, 0));
}
static LLVMValueRef add(const maker *k, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildFAdd(k->f.b, a, b, "");
}
static LLVMValueRef sub(const maker *k, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildFSub(k->f.b, a, b, "");
}
static LLVMValueRef mul(const maker *k, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildFMul(k->f.b, a, b, "");
}
static LLVMValueRef as(const maker *k, LLVMValueRef v, LLVMTypeRef t) {
  return LLVMBuildBitCast(k->f.b, v, t, "");
}

static LLVMValueRef call(maker *k, const char *name, LLVMValueRef *args, int n) {
  return cg_intrinsic(&k->f, name, &k->type, 1, args, n);
}

/* a * b + c, in one step where that is as fast */
static LLVMValueRef muladd(maker *k, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c) {
  LLVMValueRef args[3] = {a, b, c};
  return call(k, "llvm.fmuladd", args, 3);
}

/* c[0] + c[1] x + ... + c[n - 1] x**(n - 1) */
static LLVMValueRef polynomial(maker *k, LLVMValueRef x, const double *c, int n) {
  LLVMValueRef r = real(k, c[n - 1]);
  for (int i = n - 2; i >= 0; --i) r = muladd(k, r, x, real(k, c[i]));
  return r;
}
#define POLYNOMIAL(k, x, c) polynomial(k, x, c, TN_COUNT(c))

/* `v` where a comparison holds, else `other`. Comparisons with NaN do not hold. */
static LLVMValueRef where(const maker *k, LLVMRealPredicate p, LLVMValueRef a, LLVMValueRef b,
                          LLVMValueRef v, LLVMValueRef other) {
  return LLVMBuildSelect(k->f.b, LLVMBuildFCmp(k->f.b, p, a, b, ""), v, other, "");
}

/* 2**n for an integer n that is the exponent of a normal number, in its lowest 9 bits. */
static LLVMValueRef power_of_two(maker *k, LLVMValueRef n) {
  n = LLVMBuildAdd(k->f.b, n, integer(k, 127), "");
  return as(k, LLVMBuildShl(k->f.b, n, integer(k, 23), ""), k->type);
}

/* Added to a number below 2**22 it leaves the nearest whole number in the lowest bits: 1.5 * 2**23.
 */
static const double large = 12582912;

/* exp(r) of x = n log(2) + r, |r| <= log(2) / 2. @param n what adding a large number leaves of
   x / log(2), with that number */
static LLVMValueRef reduced_exp(maker *k, LLVMValueRef x, LLVMValueRef *n) {
  static const double c[] = {0.50000001, 0.166665129, 0.0416661874, 0.00836959902, 0.0013951711};
  *n = muladd(k, x, real(k, 1.44269504088896341), real(k, large));
  LLVMValueRef whole = sub(k, *n, real(k, large));
  LLVMValueRef r = muladd(k, whole, real(k, -0.693359375), x);
  r = muladd(k, whole, real(k, 2.12194440054690583e-4), r);
  *n = as(k, *n, k->ints);
  return add(k, muladd(k, mul(k, r, r), POLYNOMIAL(k, r, c), r), real(k, 1));
}

/* v * 2**n for a whole number n, rounded once, in one instruction; NULL where there is none (or
   with an error). */
static LLVMValueRef scaled(maker *k, LLVMValueRef v, LLVMValueRef n) {
  enum { AS_IT_IS_SET = 4 };
  bool vector = LLVMGetTypeKind(k->type) == LLVMVectorTypeKind;
  unsigned lanes = vector ? LLVMGetVectorSize(k->type) : 1;
  LLVMTypeRef mask = LLVMIntTypeInContext(k->f.m->ctx, lanes);
  LLVMValueRef args[5] = {v, n, LLVMConstNull(k->type), LLVMConstAllOnes(mask),
                          cg_i32(&k->f, AS_IT_IS_SET)};
  if (!cg_is_x86(&k->f)) return NULL;
  if (lanes == 16 && cg_has_feature(k->f.m, "avx512bw"))
    return cg_intrinsic(&k->f, "llvm.x86.avx512.mask.scalef.ps.512", NULL, 0, args, 5);
  if (lanes == 8 && cg_has_feature(k->f.m, "avx512bw"))
    return cg_intrinsic(&k->f, "llvm.x86.avx512.mask.scalef.ps.256", NULL, 0, args, 4);
  return NULL;
}

/* exp(x) = 2**n exp(r). The power is multiplied in two steps, since it may be a subnormal number
   itself. */
static LLVMValueRef build_exp(maker *k, LLVMValueRef x) {
  LLVMValueRef t, p;
  x = where(k, LLVMRealOGT, x, real(k, 89), real(k, 89), x);
  x = where(k, LLVMRealOLT, x, real(k, -104), real(k, -104), x);
  TN_GETP(p, reduced_exp(k, x, &t));
  LLVMValueRef whole = sub(k, as(k, t, k->type), real(k, large)), one = scaled(k, p, whole);
  if (one || tn_error_pending()) return one;
  LLVMValueRef n = LLVMBuildSub(k->f.b, t, integer(k, 0x4b400000), "");
  LLVMValueRef half = LLVMBuildAShr(k->f.b, n, integer(k, 1), "");
  p = mul(k, p, power_of_two(k, half));
  return mul(k, p, power_of_two(k, LLVMBuildSub(k->f.b, n, half, "")));
}

/* The same for -80 < x < 80, where the power is a normal number. The large number in n is shifted
   out. */
static LLVMValueRef bounded_exp(maker *k, LLVMValueRef x) {
  LLVMValueRef n, p;
  TN_GETP(p, reduced_exp(k, x, &n));
  return mul(k, p, power_of_two(k, n));
}

/* log(2**n (1 + m)), sqrt(1/2) <= 1 + m < sqrt(2) */
static LLVMValueRef build_log(maker *k, LLVMValueRef x) {
  static const double c[] = {0.333333126,  -0.250000096, 0.20002119,   -0.166679952, 0.142195464,
                             -0.124055979, 0.118882118,  -0.116756153, 0.0674648969};
  LLVMBuilderRef b = k->f.b;
  LLVMValueRef least = real(k, 0x1p-126), tiny = LLVMBuildFCmp(b, LLVMRealOLT, x, least, "");
  LLVMValueRef y = LLVMBuildSelect(b, tiny, mul(k, x, real(k, 0x1p23)), x, "");
  LLVMValueRef bits = LLVMBuildAdd(b, as(k, y, k->ints), integer(k, 0x3f800000 - 0x3f3504f3), "");
  LLVMValueRef n = LLVMBuildAShr(b, bits, integer(k, 23), "");
  n = LLVMBuildSub(b, n, LLVMBuildSelect(b, tiny, integer(k, 127 + 23), integer(k, 127), ""), "");
  bits = LLVMBuildAnd(b, bits, integer(k, 0x7fffff), "");
  bits = LLVMBuildAdd(b, bits, integer(k, 0x3f3504f3), "");
  LLVMValueRef m = sub(k, as(k, bits, k->type), real(k, 1)), e = LLVMBuildSIToFP(b, n, k->type, "");
  LLVMValueRef z = mul(k, m, m), r = mul(k, mul(k, z, m), POLYNOMIAL(k, m, c));
  r = muladd(k, e, real(k, -2.12194440054690583e-4), r);
  r = muladd(k, z, real(k, -0.5), r);
  r = muladd(k, e, real(k, 0.693359375), add(k, m, r));
  r = where(k, LLVMRealOEQ, x, real(k, __builtin_inf()), x, r);
  r = where(k, LLVMRealOEQ, x, real(k, 0), real(k, -__builtin_inf()), r);
  return where(k, LLVMRealULT, x, real(k, 0), real(k, __builtin_nan("")), r);
}

static LLVMValueRef with_sign(maker *k, LLVMValueRef v, LLVMValueRef of) {
  LLVMValueRef args[2] = {v, of};
  return call(k, "llvm.copysign", args, 2);
}

/* 1 - 2 / (exp(2 |x|) + 1), near zero x + x**3 P(x**2) */
static LLVMValueRef build_tanh(maker *k, LLVMValueRef x) {
  static const double c[] = {-0.333332793, 0.133313565, -0.0537316303, 0.0206101067,
                             -0.00567008109};
  LLVMValueRef a, r, z = mul(k, x, x);
  TN_GETP(a, call(k, "llvm.fabs", &x, 1));
  LLVMValueRef near = where(k, LLVMRealOGT, a, real(k, 20), real(k, 20), a);
  TN_GETP(r, bounded_exp(k, add(k, near, near)));
  r = LLVMBuildFDiv(k->f.b, real(k, 2), add(k, r, real(k, 1)), "");
  LLVMValueRef small = muladd(k, mul(k, a, z), POLYNOMIAL(k, z, c), a);
  r = where(k, LLVMRealOLT, a, real(k, 0.625), small, sub(k, real(k, 1), r));
  return with_sign(k, r, x);
}

/* 1 - exp(Q(|x|)), near zero x + x P(x**2) */
static LLVMValueRef build_erf(maker *k, LLVMValueRef x) {
  static const double c[] = {0.128379166,   -0.376126258,    0.112835851,   -0.0268538117,
                             0.00518832719, -0.000801018931, 7.85384709e-05};
  static const double q[] = {-0.000244685021, -1.12747511,    -0.637516792,  -0.103640526,
                             0.0220877439,    -0.00300856431, 0.000192428978};
  LLVMValueRef a, r, z = mul(k, x, x);
  TN_GETP(a, call(k, "llvm.fabs", &x, 1));
  LLVMValueRef near = where(k, LLVMRealOGT, a, real(k, 4), real(k, 4), a);
  TN_GETP(r, bounded_exp(k, POLYNOMIAL(k, near, q)));
  LLVMValueRef small = muladd(k, a, POLYNOMIAL(k, z, c), a);
  r = where(k, LLVMRealOLT, a, real(k, 1), small, sub(k, real(k, 1), r));
  return with_sign(k, r, x);
}

/* ---- functions of the module ---- */

typedef LLVMValueRef (*body)(maker *k, LLVMValueRef x);

static void mark(cg_module *m, LLVMValueRef fn) {
  static const char *const names[] = {"alwaysinline", "nounwind", "willreturn"};
  for (int i = 0; i < TN_COUNT(names); ++i) {
    unsigned kind = LLVMGetEnumAttributeKindForName(names[i], strlen(names[i]));
    LLVMAddAttributeAtIndex(fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                            LLVMCreateEnumAttribute(m->ctx, kind, 0));
  }
  LLVMSetLinkage(fn, LLVMInternalLinkage);
}

/* What is written relies on the order of its operations. */
static int define(cg_module *m, LLVMValueRef fn, LLVMTypeRef type, int lanes, body build) {
  maker k = {.f = {.m = m, .fn = fn, .name = "polynomial"}, .type = type};
  LLVMFastMathFlags outer = m->fast;
  k.ints = lanes > 1 ? LLVMVectorType(m->i32, (unsigned)lanes) : m->i32;
  k.f.b = LLVMCreateBuilderInContext(m->ctx);
  LLVMPositionBuilderAtEnd(k.f.b, cg_block(&k.f, "entry"));
  m->fast = LLVMFastMathNone;
  LLVMValueRef r = build(&k, LLVMGetParam(fn, 0));
  m->fast = outer;
  if (r) LLVMBuildRet(k.f.b, r);
  LLVMDisposeBuilder(k.f.b);
  mark(m, fn);
  return r ? 0 : -1;
}

static body body_of(tir_op_id op) {
  switch ((int)op) {
  case TIR_OP_exp: return build_exp;
  case TIR_OP_log: return build_log;
  case TIR_OP_tanh: return build_tanh;
  case TIR_OP_erf: return build_erf;
  }
  return NULL;
}

bool cg_is_polynomial(tir_op_id op, tn_dtype t) {
  return t.code == kDLFloat && t.bits == 32 && body_of(op);
}

LLVMValueRef cg_polynomial(cg_fn *f, tir_op_id op, tn_dtype t, LLVMValueRef x, bool bounded) {
  tn_str *name;
  bounded = bounded && op == TIR_OP_exp;
  LLVMTypeRef type = LLVMTypeOf(x), signature = LLVMFunctionType(type, &type, 1, 0);
  TN_GETP(name,
          tn_str_fmt("%s%s.x%d", tn_cstr(tir_op(op)->name), bounded ? ".bounded" : "", t.lanes));
  LLVMValueRef fn = LLVMGetNamedFunction(f->m->mod, tn_cstr(name));
  if (!fn) {
    fn = LLVMAddFunction(f->m->mod, tn_cstr(name), signature);
    TN_TRYP(define(f->m, fn, type, t.lanes, bounded ? bounded_exp : body_of(op)));
  }
  return LLVMBuildCall2(f->b, signature, fn, &x, 1, "");
}
