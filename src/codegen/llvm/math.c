/* Mathematical functions: polynomials for the most frequent of float32, LLVM's intrinsics where it
   has them, else those of the C library, lane by lane. Small floats are computed in float32. */
#include <string.h>

#include "codegen/llvm/cg.h"

typedef struct {
  const char *intrinsic; /* of LLVM, or NULL */
  const char *libm;      /* name for double; float has an f behind it */
  int nargs;
} math_row;

static const math_row rows[TIR_OP_END] = {
    [TIR_OP_exp] = {"llvm.exp", NULL, 1},
    [TIR_OP_exp2] = {"llvm.exp2", NULL, 1},
    [TIR_OP_log] = {"llvm.log", NULL, 1},
    [TIR_OP_log2] = {"llvm.log2", NULL, 1},
    [TIR_OP_log10] = {"llvm.log10", NULL, 1},
    [TIR_OP_sqrt] = {"llvm.sqrt", NULL, 1},
    [TIR_OP_sin] = {"llvm.sin", NULL, 1},
    [TIR_OP_cos] = {"llvm.cos", NULL, 1},
    [TIR_OP_floor] = {"llvm.floor", NULL, 1},
    [TIR_OP_ceil] = {"llvm.ceil", NULL, 1},
    [TIR_OP_trunc] = {"llvm.trunc", NULL, 1},
    [TIR_OP_round] = {"llvm.round", NULL, 1},
    [TIR_OP_nearbyint] = {"llvm.nearbyint", NULL, 1},
    [TIR_OP_fabs] = {"llvm.fabs", NULL, 1},
    [TIR_OP_pow] = {"llvm.pow", NULL, 2},
    [TIR_OP_fma] = {"llvm.fma", NULL, 3},
    [TIR_OP_copysign] = {"llvm.copysign", NULL, 2},
    [TIR_OP_erf] = {NULL, "erf", 1},
    [TIR_OP_tanh] = {NULL, "tanh", 1},
    [TIR_OP_log1p] = {NULL, "log1p", 1},
    [TIR_OP_tan] = {NULL, "tan", 1},
    [TIR_OP_cosh] = {NULL, "cosh", 1},
    [TIR_OP_sinh] = {NULL, "sinh", 1},
    [TIR_OP_asin] = {NULL, "asin", 1},
    [TIR_OP_acos] = {NULL, "acos", 1},
    [TIR_OP_atan] = {NULL, "atan", 1},
    [TIR_OP_asinh] = {NULL, "asinh", 1},
    [TIR_OP_acosh] = {NULL, "acosh", 1},
    [TIR_OP_atanh] = {NULL, "atanh", 1},
    [TIR_OP_fmod] = {NULL, "fmod", 2},
    [TIR_OP_atan2] = {NULL, "atan2", 2},
    [TIR_OP_nextafter] = {NULL, "nextafter", 2},
    [TIR_OP_hypot] = {NULL, "hypot", 2},
};

static const char *libm_name(const math_row *row) {
  return row->libm ? row->libm : row->intrinsic + strlen("llvm.");
}

/* One call for each lane. @param scalar a type of C: float, double or long double */
static LLVMValueRef by_lane(cg_fn *f, const math_row *row, tn_dtype t, LLVMTypeRef scalar,
                            LLVMValueRef *args) {
  const tn_str *name;
  const char *suffix = scalar == f->m->f32 ? "f" : scalar == f->m->f64 ? "" : "l";
  TN_GETP(name, tn_str_fmt("%s%s", libm_name(row), suffix));
  LLVMTypeRef types[3] = {scalar, scalar, scalar};
  LLVMTypeRef type = LLVMFunctionType(scalar, types, (unsigned)row->nargs, 0);
  LLVMValueRef fn = cg_extern(f, tn_cstr(name), type);
  if (t.lanes == 1) return LLVMBuildCall2(f->b, type, fn, args, (unsigned)row->nargs, "");
  LLVMValueRef out = LLVMGetPoison(LLVMTypeOf(args[0]));
  for (int i = 0; i < t.lanes; ++i) {
    LLVMValueRef one[2];
    for (int k = 0; k < row->nargs; ++k)
      one[k] = LLVMBuildExtractElement(f->b, args[k], cg_i32(f, i), "");
    LLVMValueRef v = LLVMBuildCall2(f->b, type, fn, one, (unsigned)row->nargs, "");
    out = LLVMBuildInsertElement(f->b, out, v, cg_i32(f, i), "");
  }
  return out;
}

static bool is_number(const tn_expr *e, double *value) {
  const tn_Broadcast *b = TN_AS(Broadcast, e);
  const tn_FloatImm *imm = TN_AS(FloatImm, b ? b->value : e);
  if (imm) *value = imm->value;
  return imm != NULL;
}

/* Is it max(low, min(high, x)), or with both the other way round, of numbers below 80? */
static bool is_bounded(const tn_expr *e) {
  double low = -80, high = 80, v;
  for (int i = 0; i < 2; ++i) {
    bool max = TN_AS(Max, e) != NULL;
    if (!max && !TN_AS(Min, e)) return false;
    const tn_BinaryOp *op = (const tn_BinaryOp *)e;
    bool first = is_number(op->a, &v);
    if (!first && !is_number(op->b, &v)) return false;
    *(max ? &low : &high) = v;
    e = first ? op->b : op->a;
  }
  return low > -80 && high < 80;
}

/* x ** 3 and x ** 4: two multiplications, as exact as a function but for the last place. */
static bool is_small_power(tir_op_id op, LLVMValueRef exponent, double *n) {
  LLVMBool inexact;
  if (op != TIR_OP_pow || !LLVMIsConstant(exponent)) return false;
  if (LLVMGetTypeKind(LLVMTypeOf(exponent)) == LLVMVectorTypeKind) {
    if (!LLVMIsAConstantDataVector(exponent)) return false;
    LLVMValueRef first = LLVMGetAggregateElement(exponent, 0);
    for (unsigned i = 1; i < LLVMGetVectorSize(LLVMTypeOf(exponent)); ++i)
      if (LLVMGetAggregateElement(exponent, i) != first) return false;
    exponent = first;
  }
  if (!LLVMIsAConstantFP(exponent)) return false;
  *n = LLVMConstRealGetDouble(exponent, &inexact);
  return *n == 3 || *n == 4;
}

/* A function of the program may have the name of one of libm that the code calls, or that LLVM
   makes of its intrinsic: then that one is not to be had. */
static bool is_hidden(cg_fn *f, const math_row *row, tn_dtype t) {
  const char *base = libm_name(row);
  size_t n = strlen(base);
  LLVMTypeRef number = t.bits == 32 ? f->m->f32 : f->m->f64;
  for (LLVMValueRef fn = LLVMGetFirstFunction(f->m->mod); fn; fn = LLVMGetNextFunction(fn)) {
    size_t len;
    const char *name = LLVMGetValueName2(fn, &len);
    bool same =
        strncmp(name, base, n) == 0 && (t.bits == 32 ? len == n + 1 && name[n] == 'f' : len == n);
    if (same && LLVMGetReturnType(LLVMGlobalGetValueType(fn)) != number) return true;
  }
  return false;
}

static LLVMValueRef apply(cg_fn *f, tir_op_id op, const math_row *row, tn_dtype t,
                          LLVMValueRef *args, bool bounded);

/* The function of double in the place of that of float. */
static LLVMValueRef as_double(cg_fn *f, tir_op_id op, const math_row *row, tn_dtype t,
                              LLVMValueRef *args, bool bounded) {
  tn_dtype wide = tn_dtype_of(kDLFloat, 64, t.lanes);
  LLVMTypeRef to, back;
  LLVMValueRef x[3], y;
  TN_GETP(to, cg_type(f->m, wide));
  TN_GETP(back, cg_type(f->m, t));
  for (int i = 0; i < row->nargs; ++i) x[i] = LLVMBuildFPExt(f->b, args[i], to, "");
  TN_GETP(y, apply(f, op, row, wide, x, bounded));
  return LLVMBuildFPTrunc(f->b, y, back, "");
}

/* long double where C has one that holds more than double, else NULL */
static LLVMTypeRef long_double(cg_fn *f) {
  const char *triple = LLVMGetTarget(f->m->mod);
  if (strstr(triple, "windows")) return NULL;
  if (strncmp(triple, "x86_64", 6) == 0) return LLVMX86FP80TypeInContext(f->m->ctx);
  bool quad = strncmp(triple, "aarch64", 7) == 0 || strncmp(triple, "riscv64", 7) == 0;
  return quad && strstr(triple, "linux") ? LLVMFP128TypeInContext(f->m->ctx) : NULL;
}

/* The function of long double in the place of that of double. */
static LLVMValueRef as_long_double(cg_fn *f, tir_op_id op, const math_row *row, tn_dtype t,
                                   LLVMValueRef *args) {
  LLVMTypeRef wide = long_double(f), to = wide, back;
  LLVMValueRef x[3], y;
  TN_CHECKP(wide, CodegenError, NULL,
            "llvm: %s: a function of the module has the name of the C function of double that %s "
            "needs: give it another name",
            f->name, tn_cstr(tir_op(op)->name));
  if (t.lanes > 1) to = LLVMVectorType(wide, (unsigned)t.lanes);
  TN_GETP(back, cg_type(f->m, t));
  for (int i = 0; i < row->nargs; ++i) x[i] = LLVMBuildFPExt(f->b, args[i], to, "");
  TN_GETP(y, by_lane(f, row, t, wide, x));
  return LLVMBuildFPTrunc(f->b, y, back, "");
}

static LLVMValueRef apply(cg_fn *f, tir_op_id op, const math_row *row, tn_dtype t,
                          LLVMValueRef *args, bool bounded) {
  double n;
  if (cg_is_polynomial(op, t)) return cg_polynomial(f, op, t, args[0], bounded);
  if (row->nargs == 2 && is_small_power(op, args[1], &n)) {
    LLVMValueRef square = LLVMBuildFMul(f->b, args[0], args[0], "");
    return LLVMBuildFMul(f->b, square, n == 3 ? args[0] : square, "");
  }
  if (is_hidden(f, row, t))
    return t.bits == 32 ? as_double(f, op, row, t, args, bounded)
                        : as_long_double(f, op, row, t, args);
  if (row->libm) return by_lane(f, row, t, t.bits == 32 ? f->m->f32 : f->m->f64, args);
  LLVMTypeRef type = LLVMTypeOf(args[0]);
  return cg_intrinsic(f, row->intrinsic, &type, 1, args, row->nargs);
}

static LLVMValueRef table_call(cg_fn *f, tir_op_id op, const tn_Call *call) {
  const math_row *row = &rows[op];
  LLVMValueRef args[3], r;
  TN_TRYP(cg_need_args(call, row->nargs));
  tn_dtype t = cg_arg(call, 0)->dtype;
  if (op == TIR_OP_pow && ir_is_integral(t)) {
    TN_GETP(args[0], cg_expr(f, cg_arg(call, 0)));
    TN_GETP(args[1], cg_expr(f, cg_arg(call, 1)));
    return cg_int_power(f, t, args[0], args[1]);
  }
  TN_CHECKP(ir_is_floating(t), CodegenError, call->span, "llvm: %s: %s of %s", f->name,
            tn_cstr(((tn_Op *)call->op)->name), TN_DT(t));
  tn_dtype wide = cg_is_small_float(t) ? tn_dtype_of(kDLFloat, 32, t.lanes) : t;
  for (int i = 0; i < row->nargs; ++i) {
    TN_GETP(args[i], cg_expr(f, cg_arg(call, i)));
    TN_GETP(args[i], cg_cast(f, args[i], t, wide));
  }
  TN_GETP(r, apply(f, op, row, wide, args, is_bounded(cg_arg(call, 0))));
  return cg_cast(f, r, wide, t);
}

/* ---- those made of others ---- */

static LLVMValueRef constant(cg_fn *f, tn_dtype t, double value) {
  LLVMValueRef v = LLVMConstReal(t.bits == 64 ? f->m->f64 : f->m->f32, value);
  return t.lanes > 1 ? cg_splat(f, v, t.lanes) : v;
}

static LLVMValueRef composed(cg_fn *f, tir_op_id op, tn_dtype t, LLVMValueRef x) {
  LLVMBuilderRef b = f->b;
  LLVMTypeRef type = LLVMTypeOf(x);
  LLVMValueRef one = constant(f, t, 1), r, two[2];
  switch ((int)op) {
  case TIR_OP_rsqrt:
    TN_GETP(r, cg_intrinsic(f, "llvm.sqrt", &type, 1, &x, 1));
    return cg_fast(f, LLVMBuildFDiv(b, one, r, ""));
  case TIR_OP_sigmoid:
    x = LLVMBuildFNeg(b, x, "");
    TN_GETP(r, apply(f, TIR_OP_exp, &rows[TIR_OP_exp], t, &x, false));
    return cg_fast(f, LLVMBuildFDiv(b, one, LLVMBuildFAdd(b, one, r, ""), ""));
  }
  two[0] = constant(f, t, 10), two[1] = x; /* exp10 */
  return cg_intrinsic(f, "llvm.pow", &type, 1, two, 2);
}

static LLVMValueRef compose(cg_fn *f, tir_op_id op, const tn_Call *call) {
  LLVMValueRef x, r;
  TN_TRYP(cg_need_args(call, 1));
  tn_dtype t = cg_arg(call, 0)->dtype;
  tn_dtype wide = cg_is_small_float(t) ? tn_dtype_of(kDLFloat, 32, t.lanes) : t;
  TN_GETP(x, cg_expr(f, cg_arg(call, 0)));
  TN_GETP(x, cg_cast(f, x, t, wide));
  TN_GETP(r, composed(f, op, wide, x));
  return cg_cast(f, r, wide, t);
}

static LLVMValueRef classify(cg_fn *f, tir_op_id op, const tn_Call *call) {
  LLVMValueRef x;
  TN_TRYP(cg_need_args(call, 1));
  tn_dtype t = cg_arg(call, 0)->dtype;
  tn_dtype wide = cg_is_small_float(t) ? tn_dtype_of(kDLFloat, 32, t.lanes) : t;
  TN_GETP(x, cg_expr(f, cg_arg(call, 0)));
  TN_GETP(x, cg_cast(f, x, t, wide));
  if (op == TIR_OP_isnan) return LLVMBuildFCmp(f->b, LLVMRealUNO, x, x, "");
  LLVMTypeRef type = LLVMTypeOf(x);
  LLVMValueRef inf = constant(f, wide, __builtin_inf());
  TN_GETP(x, cg_intrinsic(f, "llvm.fabs", &type, 1, &x, 1));
  return LLVMBuildFCmp(f->b, op == TIR_OP_isinf ? LLVMRealOEQ : LLVMRealOLT, x, inf, "");
}

static LLVMValueRef count_bits(cg_fn *f, tir_op_id op, const tn_Call *call) {
  LLVMValueRef args[2], r;
  TN_TRYP(cg_need_args(call, 1));
  tn_dtype t = cg_arg(call, 0)->dtype;
  TN_GETP(args[0], cg_expr(f, cg_arg(call, 0)));
  args[1] = LLVMConstInt(f->m->i1, 0, 0);
  LLVMTypeRef type = LLVMTypeOf(args[0]);
  bool clz = op == TIR_OP_clz;
  TN_GETP(r, cg_intrinsic(f, clz ? "llvm.ctlz" : "llvm.ctpop", &type, 1, args, clz ? 2 : 1));
  return cg_cast(f, r, tn_dtype_of(kDLUInt, t.bits, t.lanes), call->dtype);
}

static LLVMValueRef ldexp_call(cg_fn *f, const tn_Call *call) {
  LLVMValueRef x, k, args[1];
  TN_TRYP(cg_need_args(call, 2));
  tn_dtype t = cg_arg(call, 0)->dtype;
  TN_GETP(x, cg_expr(f, cg_arg(call, 0)));
  TN_GETP(k, cg_expr(f, cg_arg(call, 1)));
  TN_GETP(args[0], cg_cast(f, k, cg_arg(call, 1)->dtype, t));
  LLVMTypeRef type = LLVMTypeOf(args[0]);
  TN_GETP(args[0], cg_intrinsic(f, "llvm.exp2", &type, 1, args, 1));
  return cg_binary(f, TN_TI_Mul, t, x, args[0]);
}

/* round(x * y * 2^s / 2^q) of int32, in 64 bits */
static LLVMValueRef multiply_shift(cg_fn *f, const tn_Call *call) {
  LLVMValueRef v[4];
  LLVMBuilderRef b = f->b;
  TN_TRYP(cg_need_args(call, 4));
  tn_dtype wide = tn_dtype_of(kDLInt, 64, call->dtype.lanes);
  for (int i = 0; i < 4; ++i) {
    TN_GETP(v[i], cg_expr(f, cg_arg(call, i)));
    tn_dtype t = cg_arg(call, i)->dtype;
    TN_GETP(v[i], cg_cast(f, v[i], t, tn_dtype_of(kDLInt, 64, t.lanes)));
    if (t.lanes < wide.lanes) v[i] = cg_splat(f, v[i], wide.lanes);
  }
  LLVMTypeRef type = LLVMTypeOf(v[0]);
  LLVMValueRef zero = LLVMConstNull(type), one = cg_i64(f, 1);
  if (wide.lanes > 1) one = cg_splat(f, one, wide.lanes);
  LLVMValueRef up = LLVMBuildICmp(b, LLVMIntSGT, v[3], zero, "");
  LLVMValueRef left = LLVMBuildSelect(b, up, v[3], zero, "");
  LLVMValueRef right =
      LLVMBuildAdd(b, v[2], LLVMBuildSelect(b, up, zero, LLVMBuildNeg(b, v[3], ""), ""), "");
  LLVMValueRef x = LLVMBuildMul(b, LLVMBuildShl(b, v[0], left, ""), v[1], "");
  LLVMValueRef half = LLVMBuildShl(b, one, LLVMBuildSub(b, right, one, ""), "");
  x = LLVMBuildAShr(b, LLVMBuildAdd(b, x, half, ""), right, "");
  return cg_cast(f, x, wide, call->dtype);
}

/* ---- floats as integers ---- */

bool cg_is_rounding(const cg_fn *f, const tn_Cast *e) {
  const tn_Call *c = TN_AS(Call, e->value);
  int lanes = e->dtype.lanes;
  return c && tir_op_number((const tn_obj *)c->op) == TIR_OP_nearbyint && cg_is_x86(f) &&
         e->value->dtype.bits == 32 && e->value->dtype.code == kDLFloat && ir_is_int(e->dtype) &&
         e->dtype.bits == 32 &&
         (lanes == 4 || (lanes == 8 && cg_has_feature(f->m, "avx2")) ||
          (lanes == 16 && cg_has_feature(f->m, "avx512bw")));
}

LLVMValueRef cg_rounded(cg_fn *f, const tn_Cast *e) {
  enum { AS_IT_IS_SET = 4 };
  LLVMValueRef x, args[4];
  int lanes = e->dtype.lanes;
  TN_GETP(x, cg_expr(f, cg_arg((const tn_Call *)e->value, 0)));
  args[0] = x;
  if (lanes < 16)
    return cg_intrinsic(f, lanes == 4 ? "llvm.x86.sse2.cvtps2dq" : "llvm.x86.avx.cvt.ps2dq.256",
                        NULL, 0, args, 1);
  args[1] = LLVMConstNull(LLVMVectorType(f->m->i32, 16));
  args[2] = LLVMConstAllOnes(LLVMInt16TypeInContext(f->m->ctx));
  args[3] = cg_i32(f, AS_IT_IS_SET);
  return cg_intrinsic(f, "llvm.x86.avx512.mask.cvtps2dq.512", NULL, 0, args, 4);
}

LLVMValueRef cg_math(cg_fn *f, tir_op_id op, const tn_Call *call, bool *done) {
  if (rows[op].nargs) return table_call(f, op, call);
  switch ((int)op) {
  case TIR_OP_rsqrt:
  case TIR_OP_sigmoid:
  case TIR_OP_exp10: return compose(f, op, call);
  case TIR_OP_isnan:
  case TIR_OP_isinf:
  case TIR_OP_isfinite: return classify(f, op, call);
  case TIR_OP_popcount:
  case TIR_OP_clz: return count_bits(f, op, call);
  case TIR_OP_ldexp: return ldexp_call(f, call);
  case TIR_OP_q_multiply_shift: return multiply_shift(f, call);
  }
  *done = false;
  return NULL;
}
