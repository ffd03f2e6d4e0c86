/* Types and conversions of values. */
#include "codegen/llvm/cg.h"

static LLVMTypeRef scalar_type(cg_module *m, tn_dtype t) {
  switch (t.code) {
  case kDLOpaqueHandle: return t.bits == 0 ? m->none : m->ptr;
  case kDLInt:
  case kDLUInt: return LLVMIntTypeInContext(m->ctx, t.bits);
  case kDLBfloat: return t.bits == 16 ? m->i16 : NULL;
  case kDLFloat:
    m->uses_half |= t.bits == 16;
    return t.bits == 16 ? m->f16 : t.bits == 32 ? m->f32 : t.bits == 64 ? m->f64 : NULL;
  }
  return NULL;
}

static LLVMTypeRef with_lanes(LLVMTypeRef type, tn_dtype t) {
  TN_CHECKP(type, CodegenError, NULL, "llvm: no code can be generated for values of type %s",
            TN_DT(t));
  return t.lanes > 1 ? LLVMVectorType(type, t.lanes) : type;
}

LLVMTypeRef cg_type(cg_module *m, tn_dtype t) { return with_lanes(scalar_type(m, t), t); }

LLVMTypeRef cg_memory_type(cg_module *m, tn_dtype t) {
  return with_lanes(ir_is_bool(t) ? m->i8 : scalar_type(m, t), t);
}

LLVMValueRef cg_fast(cg_fn *f, LLVMValueRef v) {
  if (LLVMIsAInstruction(v) && LLVMCanValueUseFastMathFlags(v)) LLVMSetFastMathFlags(v, f->m->fast);
  return v;
}

LLVMValueRef cg_splat(cg_fn *f, LLVMValueRef scalar, int lanes) {
  LLVMTypeRef type = LLVMVectorType(LLVMTypeOf(scalar), (unsigned)lanes);
  LLVMValueRef v = LLVMBuildInsertElement(f->b, LLVMGetPoison(type), scalar, cg_i32(f, 0), "");
  LLVMValueRef zeros = LLVMConstNull(LLVMVectorType(f->m->i32, (unsigned)lanes));
  return LLVMBuildShuffleVector(f->b, v, LLVMGetPoison(type), zeros, "splat");
}

LLVMValueRef cg_const_int(LLVMTypeRef type, uint64_t value) {
  if (LLVMGetTypeKind(type) != LLVMVectorTypeKind) return LLVMConstInt(type, value, 0);
  LLVMValueRef lanes[1024];
  unsigned n = LLVMGetVectorSize(type);
  if (n > 1024) return NULL;
  for (unsigned i = 0; i < n; ++i) lanes[i] = LLVMConstInt(LLVMGetElementType(type), value, 0);
  return LLVMConstVector(lanes, n);
}

static LLVMTypeRef like(cg_module *m, tn_dtype t, int code, int bits) {
  return cg_type(m, tn_dtype_of(code, bits, t.lanes));
}

/* bfloat16 is the upper half of a float. */
static LLVMValueRef from_bf16(cg_fn *f, LLVMValueRef v, tn_dtype t) {
  LLVMTypeRef wide = like(f->m, t, kDLInt, 32);
  v = LLVMBuildShl(f->b, LLVMBuildZExt(f->b, v, wide, ""), cg_const_int(wide, 16), "");
  return LLVMBuildBitCast(f->b, v, like(f->m, t, kDLFloat, 32), "");
}

/* Rounds to nearest, ties to even:  (x + 0x7fff + (x >> 16 & 1)) >> 16, NaN stays NaN. */
static LLVMValueRef to_bf16(cg_fn *f, LLVMValueRef v, tn_dtype t) {
  LLVMBuilderRef b = f->b;
  LLVMTypeRef wide = like(f->m, t, kDLInt, 32), narrow = like(f->m, t, kDLInt, 16);
  LLVMValueRef nan = LLVMBuildFCmp(b, LLVMRealUNO, v, v, "");
  LLVMValueRef x = LLVMBuildBitCast(b, v, wide, "");
  LLVMValueRef high = LLVMBuildLShr(b, x, cg_const_int(wide, 16), "");
  LLVMValueRef bias = LLVMBuildAdd(b, LLVMBuildAnd(b, high, cg_const_int(wide, 1), ""),
                                   cg_const_int(wide, 0x7fff), "");
  LLVMValueRef r = LLVMBuildLShr(b, LLVMBuildAdd(b, x, bias, ""), cg_const_int(wide, 16), "");
  r = LLVMBuildSelect(b, nan, LLVMBuildOr(b, high, cg_const_int(wide, 0x40), ""), r, "");
  return LLVMBuildTrunc(b, r, narrow, "");
}

static LLVMValueRef to_bool(cg_fn *f, LLVMValueRef v, tn_dtype from) {
  LLVMValueRef zero = LLVMConstNull(LLVMTypeOf(v));
  if (ir_is_integral(from) || from.code == kDLOpaqueHandle)
    return LLVMBuildICmp(f->b, LLVMIntNE, v, zero, "");
  return LLVMBuildFCmp(f->b, LLVMRealUNE, v, zero, "");
}

static LLVMValueRef from_integer(cg_fn *f, LLVMValueRef v, tn_dtype from, tn_dtype to,
                                 LLVMTypeRef type) {
  bool is_signed = ir_is_int(from);
  if (to.code == kDLOpaqueHandle) return LLVMBuildIntToPtr(f->b, v, type, "");
  if (ir_is_integral(to))
    return to.bits == from.bits  ? v
           : to.bits < from.bits ? LLVMBuildTrunc(f->b, v, type, "")
           : is_signed           ? LLVMBuildSExt(f->b, v, type, "")
                                 : LLVMBuildZExt(f->b, v, type, "");
  return is_signed ? LLVMBuildSIToFP(f->b, v, type, "") : LLVMBuildUIToFP(f->b, v, type, "");
}

/* Between vectors of float16 and float32, where no instruction does. */
static bool is_by_steps(const cg_fn *f, tn_dtype from, tn_dtype to) {
  return from.lanes > 1 && from.bits + to.bits == 48 && !cg_converts_float16(f->m);
}

static LLVMValueRef from_float(cg_fn *f, LLVMValueRef v, tn_dtype from, tn_dtype to,
                               LLVMTypeRef type) {
  if (ir_is_integral(to)) return cg_to_integer(f, v, from, to);
  if (is_by_steps(f, from, to)) return cg_convert_float16(f, v, from.lanes, from.bits == 16);
  return to.bits == from.bits  ? v
         : to.bits < from.bits ? LLVMBuildFPTrunc(f->b, v, type, "")
                               : LLVMBuildFPExt(f->b, v, type, "");
}

LLVMValueRef cg_cast(cg_fn *f, LLVMValueRef v, tn_dtype from, tn_dtype to) {
  LLVMTypeRef type;
  if (tn_dtype_eq(from, to)) return v;
  TN_GETP(type, cg_type(f->m, to));
  if (cg_is_bf16(from)) {
    tn_dtype f32 = tn_dtype_of(kDLFloat, 32, from.lanes);
    return cg_cast(f, from_bf16(f, v, from), f32, to);
  }
  if (cg_is_bf16(to)) {
    TN_GETP(v, cg_cast(f, v, from, tn_dtype_of(kDLFloat, 32, from.lanes)));
    return to_bf16(f, v, to);
  }
  if (ir_is_bool(to)) return to_bool(f, v, from);
  if (from.code == kDLOpaqueHandle)
    return to.code == kDLOpaqueHandle ? v : LLVMBuildPtrToInt(f->b, v, type, "");
  if (ir_is_integral(from)) return from_integer(f, v, from, to, type);
  return from_float(f, v, from, to, type);
}
