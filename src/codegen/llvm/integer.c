/* Integers where machines have no answer, or each another one (docs/semantics.md): division by 0
   and of the smallest number by -1, shifts by all bits or more, powers, floats that are near to no
   integer. Constants need no guards. */
#include "codegen/llvm/cg.h"

/* ---- constants ---- */

static bool is_vector(LLVMValueRef v) {
  return LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMVectorTypeKind;
}

static unsigned bits_of(LLVMValueRef v) {
  LLVMTypeRef t = LLVMTypeOf(v);
  return LLVMGetIntTypeWidth(is_vector(v) ? LLVMGetElementType(t) : t);
}

/* A constant in every lane. */
static LLVMValueRef every(LLVMValueRef like, int64_t value) {
  return cg_const_int(LLVMTypeOf(like), (uint64_t)value);
}

/* Are all lanes constants for which `good` holds? They are extended as signed numbers. */
static bool all_lanes(LLVMValueRef v, bool (*good)(int64_t lane, int64_t limit), int64_t limit) {
  if (!LLVMIsConstant(v)) return false;
  if (!is_vector(v)) return LLVMIsAConstantInt(v) && good(LLVMConstIntGetSExtValue(v), limit);
  for (unsigned i = 0; i < LLVMGetVectorSize(LLVMTypeOf(v)); ++i) {
    LLVMValueRef lane = LLVMGetAggregateElement(v, i);
    if (!lane || !LLVMIsAConstantInt(lane) || !good(LLVMConstIntGetSExtValue(lane), limit))
      return false;
  }
  return true;
}

static bool divides(int64_t lane, int64_t is_signed) {
  return lane != 0 && (lane != -1 || !is_signed);
}
static bool is_below(int64_t lane, int64_t limit) { return lane >= 0 && lane < limit; }
static bool is_equal(int64_t lane, int64_t value) { return lane == value; }

/* ---- division ---- */

enum { BYTES_OF_REGISTER = 16 };

static LLVMValueRef int_floor(cg_fn *f, bool mod, LLVMValueRef a, LLVMValueRef b) {
  LLVMBuilderRef bl = f->b;
  LLVMValueRef zero = LLVMConstNull(LLVMTypeOf(a)), r = LLVMBuildSRem(bl, a, b, "");
  LLVMValueRef differ =
      LLVMBuildICmp(bl, LLVMIntSLT, LLVMBuildXor(bl, r, b, ""), zero, ""); /* signs */
  LLVMValueRef adjust =
      LLVMBuildAnd(bl, differ, LLVMBuildICmp(bl, LLVMIntNE, r, zero, ""), "adjust");
  if (mod) return LLVMBuildAdd(bl, r, LLVMBuildSelect(bl, adjust, b, zero, ""), "");
  LLVMValueRef q = LLVMBuildSDiv(bl, a, b, "");
  return LLVMBuildAdd(bl, q, LLVMBuildSExt(bl, adjust, LLVMTypeOf(a), ""), "");
}

static LLVMValueRef divided(cg_fn *f, uint32_t op, bool is_signed, LLVMValueRef a, LLVMValueRef b) {
  bool mod = op == TN_TI_Mod || op == TN_TI_FloorMod;
  if (!is_signed) return mod ? LLVMBuildURem(f->b, a, b, "") : LLVMBuildUDiv(f->b, a, b, "");
  if (op == TN_TI_FloorDiv || op == TN_TI_FloorMod) return int_floor(f, mod, a, b);
  return mod ? LLVMBuildSRem(f->b, a, b, "") : LLVMBuildSDiv(f->b, a, b, "");
}

/* Where there is no quotient the divisor is 1: the remainder is 0, and the smallest number by -1 is
   itself. The quotient by 0 becomes 0 afterwards. */
static LLVMValueRef guarded(cg_fn *f, uint32_t op, bool is_signed, LLVMValueRef a, LLVMValueRef b) {
  LLVMBuilderRef bl = f->b;
  if (all_lanes(b, divides, is_signed)) return divided(f, op, is_signed, a, b);
  LLVMValueRef zero = LLVMBuildICmp(bl, LLVMIntEQ, b, every(b, 0), ""), none = zero;
  if (is_signed) {
    LLVMValueRef least = every(a, (int64_t)(UINT64_C(1) << (bits_of(a) - 1)));
    LLVMValueRef too_large = LLVMBuildAnd(bl, LLVMBuildICmp(bl, LLVMIntEQ, b, every(b, -1), ""),
                                          LLVMBuildICmp(bl, LLVMIntEQ, a, least, ""), "");
    none = LLVMBuildOr(bl, zero, too_large, "");
  }
  LLVMValueRef r = divided(f, op, is_signed, a, LLVMBuildSelect(bl, none, every(b, 1), b, ""));
  if (op == TN_TI_Mod || op == TN_TI_FloorMod) return r;
  return LLVMBuildSelect(bl, zero, every(r, 0), r, "");
}

/* Lanes from `v` and after them the value of `fill`, n in all; or the first n lanes. */
static LLVMValueRef with_lanes(cg_fn *f, LLVMValueRef v, LLVMValueRef fill, unsigned n) {
  unsigned have = LLVMGetVectorSize(LLVMTypeOf(v));
  LLVMValueRef at[BYTES_OF_REGISTER];
  for (unsigned i = 0; i < n; ++i) at[i] = cg_i32(f, i < have ? i : have);
  return LLVMBuildShuffleVector(f->b, v, fill, LLVMConstVector(at, n), "");
}

/* Divisions of bytes in less than a register: LLVM 19 makes zeros of a product with such a quotient
   whose lanes were changed (x86 with AVX2), so the rest of the register is filled up. */
static LLVMValueRef divide_bytes(cg_fn *f, uint32_t op, bool is_signed, LLVMValueRef a,
                                 LLVMValueRef b) {
  unsigned n = LLVMGetVectorSize(LLVMTypeOf(a));
  LLVMValueRef one = cg_splat(f, LLVMConstInt(f->m->i8, 1, 0), (int)n);
  a = with_lanes(f, a, one, BYTES_OF_REGISTER);
  b = with_lanes(f, b, one, BYTES_OF_REGISTER);
  LLVMValueRef r = guarded(f, op, is_signed, a, b);
  return with_lanes(f, r, LLVMGetPoison(LLVMTypeOf(r)), n);
}

LLVMValueRef cg_divide(cg_fn *f, uint32_t op, bool is_signed, LLVMValueRef a, LLVMValueRef b) {
  bool bytes = is_vector(a) && bits_of(a) == 8;
  return bytes && LLVMGetVectorSize(LLVMTypeOf(a)) < BYTES_OF_REGISTER
             ? divide_bytes(f, op, is_signed, a, b)
             : guarded(f, op, is_signed, a, b);
}

/* ---- shifts ---- */

LLVMValueRef cg_shift(cg_fn *f, tir_op_id op, bool is_signed, LLVMValueRef a, LLVMValueRef b) {
  LLVMBuilderRef bl = f->b;
  unsigned bits = bits_of(a);
  bool left = op == TIR_OP_shift_left, known = all_lanes(b, is_below, bits);
  LLVMValueRef in = known ? NULL : LLVMBuildICmp(bl, LLVMIntULT, b, every(b, bits), "");
  if (!left && is_signed)
    return LLVMBuildAShr(bl, a, known ? b : LLVMBuildSelect(bl, in, b, every(b, bits - 1), ""), "");
  LLVMValueRef r = left ? LLVMBuildShl(bl, a, b, "") : LLVMBuildLShr(bl, a, b, "");
  return known ? r : LLVMBuildSelect(bl, in, r, every(a, 0), "");
}

/* ---- powers ---- */

/* One of a negative exponent is a fraction unless x is 1 or -1, and 0 as an integer. */
static LLVMValueRef negative_power(LLVMBuilderRef b, LLVMValueRef x, LLVMValueRef n) {
  LLVMValueRef zero = every(x, 0), one = every(x, 1), minus = every(x, -1);
  LLVMValueRef odd = LLVMBuildICmp(b, LLVMIntNE, LLVMBuildAnd(b, n, one, ""), zero, "");
  LLVMValueRef r = LLVMBuildSelect(b, LLVMBuildICmp(b, LLVMIntEQ, x, minus, ""),
                                   LLVMBuildSelect(b, odd, minus, one, ""), zero, "");
  return LLVMBuildSelect(b, LLVMBuildICmp(b, LLVMIntEQ, x, one, ""), one, r, "");
}

/* The squares of x whose bits are set in n, multiplied. */
static void build_power(cg_fn *f, bool is_signed, LLVMValueRef x, LLVMValueRef n) {
  LLVMBuilderRef b = f->b;
  LLVMBasicBlockRef entry = cg_block(f, "entry"), negative = cg_block(f, "negative"),
                    loop = cg_block(f, "loop"), end = cg_block(f, "end");
  LLVMTypeRef t = LLVMTypeOf(x);
  LLVMValueRef zero = every(x, 0), one = every(x, 1);
  LLVMPositionBuilderAtEnd(b, entry);
  LLVMValueRef below = LLVMBuildICmp(b, LLVMIntSLT, n, zero, "");
  LLVMBuildCondBr(b, is_signed ? below : LLVMConstNull(f->m->i1), negative, loop);
  LLVMPositionBuilderAtEnd(b, negative);
  LLVMBuildRet(b, negative_power(b, x, n));
  LLVMPositionBuilderAtEnd(b, loop);
  LLVMValueRef r = LLVMBuildPhi(b, t, ""), square = LLVMBuildPhi(b, t, ""),
               left = LLVMBuildPhi(b, t, "");
  LLVMValueRef odd = LLVMBuildICmp(b, LLVMIntNE, LLVMBuildAnd(b, left, one, ""), zero, "");
  LLVMValueRef next[3] = {LLVMBuildSelect(b, odd, LLVMBuildMul(b, r, square, ""), r, ""),
                          LLVMBuildMul(b, square, square, ""), LLVMBuildLShr(b, left, one, "")},
               first[3] = {one, x, n}, phi[3] = {r, square, left};
  for (int i = 0; i < 3; ++i) {
    LLVMAddIncoming(phi[i], &first[i], &entry, 1);
    LLVMAddIncoming(phi[i], &next[i], &loop, 1);
  }
  LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntEQ, next[2], zero, ""), end, loop);
  LLVMPositionBuilderAtEnd(b, end);
  LLVMBuildRet(b, next[0]);
}

static LLVMValueRef power_function(cg_fn *f, tn_dtype t) {
  tn_str *name;
  LLVMTypeRef type;
  TN_GETP(name, tn_str_fmt("power.%c%d", ir_is_int(t) ? 'i' : 'u', (int)t.bits));
  TN_GETP(type, cg_type(f->m, ir_with_lanes(t, 1)));
  LLVMValueRef fn = LLVMGetNamedFunction(f->m->mod, tn_cstr(name));
  if (fn) return fn;
  LLVMTypeRef params[2] = {type, type};
  fn = LLVMAddFunction(f->m->mod, tn_cstr(name), LLVMFunctionType(type, params, 2, 0));
  LLVMSetLinkage(fn, LLVMInternalLinkage);
  cg_fn own = {.m = f->m, .fn = fn, .b = LLVMCreateBuilderInContext(f->m->ctx)};
  build_power(&own, ir_is_int(t), LLVMGetParam(fn, 0), LLVMGetParam(fn, 1));
  LLVMDisposeBuilder(own.b);
  return fn;
}

/* A small constant exponent takes a few products. */
static LLVMValueRef known_power(cg_fn *f, LLVMValueRef x, int64_t n) {
  LLVMValueRef r = every(x, 1);
  for (; n; n >>= 1) {
    if (n & 1) r = LLVMBuildMul(f->b, r, x, "");
    x = LLVMBuildMul(f->b, x, x, "");
  }
  return r;
}

LLVMValueRef cg_int_power(cg_fn *f, tn_dtype t, LLVMValueRef a, LLVMValueRef b) {
  enum { SMALL = 64 };
  LLVMValueRef fn, one[2];
  for (int64_t n = 0; n <= SMALL && LLVMIsConstant(b); ++n)
    if (all_lanes(b, is_equal, n)) return known_power(f, a, n);
  TN_GETP(fn, power_function(f, t));
  LLVMTypeRef type = LLVMGlobalGetValueType(fn);
  if (t.lanes == 1) return LLVMBuildCall2(f->b, type, fn, (LLVMValueRef[]){a, b}, 2, "");
  LLVMValueRef out = LLVMGetPoison(LLVMTypeOf(a));
  for (int i = 0; i < t.lanes; ++i) {
    one[0] = LLVMBuildExtractElement(f->b, a, cg_i32(f, i), "");
    one[1] = LLVMBuildExtractElement(f->b, b, cg_i32(f, i), "");
    LLVMValueRef v = LLVMBuildCall2(f->b, type, fn, one, 2, "");
    out = LLVMBuildInsertElement(f->b, out, v, cg_i32(f, i), "");
  }
  return out;
}

/* ---- floats as integers ---- */

/* Lanes of a vector that one instruction converts to int32, 0: there is none. */
static int lanes_at_once(const cg_fn *f, int lanes) {
  if (!cg_is_x86(f) || lanes % 4 != 0) return 0;
  if (lanes % 16 == 0 && cg_has_feature(f->m, "avx512bw")) return 16;
  return lanes % 8 == 0 && cg_has_feature(f->m, "avx2") ? 8 : 4;
}

static LLVMValueRef convert_at_once(cg_fn *f, LLVMValueRef v, int lanes) {
  enum { AS_IT_IS_SET = 4 };
  LLVMValueRef args[4] = {v, LLVMConstNull(LLVMVectorType(f->m->i32, 16)),
                          LLVMConstAllOnes(LLVMInt16TypeInContext(f->m->ctx)),
                          cg_i32(f, AS_IT_IS_SET)};
  const char *name = lanes == 16  ? "llvm.x86.avx512.mask.cvttps2dq.512"
                     : lanes == 8 ? "llvm.x86.avx.cvtt.ps2dq.256"
                                  : "llvm.x86.sse2.cvttps2dq";
  return cg_intrinsic(f, name, NULL, 0, args, lanes == 16 ? 4 : 1);
}

/* n lanes of a vector from `begin` on; its first lane stands where it has no more. */
static LLVMValueRef part(cg_fn *f, LLVMValueRef v, int begin, int n) {
  LLVMValueRef at[1024];
  if (n > TN_COUNT(at)) return NULL;
  int have = (int)LLVMGetVectorSize(LLVMTypeOf(v));
  for (int i = 0; i < n; ++i) at[i] = cg_i32(f, begin + i < have ? begin + i : 0);
  return LLVMBuildShuffleVector(f->b, v, v, LLVMConstVector(at, (unsigned)n), "");
}

/* The instruction gives the smallest integer for what does not fit. */
static LLVMValueRef convert_vector(cg_fn *f, LLVMValueRef v, int lanes, int step) {
  LLVMValueRef low, high;
  if (lanes == step) return convert_at_once(f, v, lanes);
  int half = lanes / 2 % step ? step : lanes / 2; /* an odd number of pieces: one by one */
  TN_GETP(low, convert_vector(f, part(f, v, 0, half), half, step));
  TN_GETP(high, convert_vector(f, part(f, v, half, lanes - half), lanes - half, step));
  int longer = lanes - half > half ? lanes - half : half;
  if (half < longer) low = part(f, low, 0, longer); /* a shuffle takes vectors of one length */
  LLVMValueRef at[1024];
  if (lanes > TN_COUNT(at)) return NULL;
  for (int i = 0; i < lanes; ++i) at[i] = cg_i32(f, i < half ? i : longer + i - half);
  return LLVMBuildShuffleVector(f->b, low, high, LLVMConstVector(at, (unsigned)lanes), "");
}

/* To int32 or int64; what does not fit, and NaN, is the smallest. */
static LLVMValueRef to_signed(cg_fn *f, LLVMValueRef v, tn_dtype from, int bits) {
  LLVMTypeRef type, real = LLVMTypeOf(v);
  LLVMValueRef size;
  int at_once = from.bits == 32 && bits == 32 && from.lanes <= 1024 && from.lanes > 1
                    ? lanes_at_once(f, from.lanes)
                    : 0;
  if (at_once) return convert_vector(f, v, from.lanes, at_once);
  TN_GETP(type, cg_type(f->m, tn_dtype_of(kDLInt, bits, from.lanes)));
  LLVMTypeRef scalar = from.bits == 64 ? f->m->f64 : f->m->f32;
  LLVMValueRef limit = LLVMConstReal(scalar, bits == 32 ? 0x1p31 : 0x1p63);
  LLVMValueRef least = LLVMConstReal(scalar, bits == 32 ? -0x1p31 : -0x1p63);
  if (from.lanes > 1)
    limit = cg_splat(f, limit, from.lanes), least = cg_splat(f, least, from.lanes);
  LLVMValueRef args[1] = {v};
  LLVMFastMathFlags outer = f->m->fast;
  f->m->fast = LLVMFastMathNone;
  size = cg_intrinsic(f, "llvm.fabs", &real, 1, args, 1);
  f->m->fast = outer;
  if (!size) return NULL;
  LLVMValueRef fits = LLVMBuildFCmp(f->b, LLVMRealOLT, size, limit, "");
  return LLVMBuildFPToSI(f->b, LLVMBuildSelect(f->b, fits, v, least, ""), type, "");
}

/* From 2**63 on uint64 is what lies above that, and the highest bit. */
static LLVMValueRef to_uint64(cg_fn *f, LLVMValueRef v, tn_dtype from) {
  LLVMBuilderRef b = f->b;
  LLVMValueRef low, high, half = LLVMConstReal(from.bits == 64 ? f->m->f64 : f->m->f32, 0x1p63);
  if (from.lanes > 1) half = cg_splat(f, half, from.lanes);
  TN_GETP(low, to_signed(f, v, from, 64));
  TN_GETP(high, to_signed(f, LLVMBuildFSub(b, v, half, ""), from, 64));
  high = LLVMBuildXor(b, high, every(high, INT64_MIN), "");
  return LLVMBuildSelect(b, LLVMBuildFCmp(b, LLVMRealOGE, v, half, ""), high, low, "");
}

LLVMValueRef cg_to_integer(cg_fn *f, LLVMValueRef v, tn_dtype from, tn_dtype to) {
  tn_dtype wide = tn_dtype_of(kDLFloat, 32, from.lanes);
  if (from.bits < 32) {
    TN_GETP(v, cg_cast(f, v, from, wide));
    from = wide;
  }
  if (ir_is_uint(to) && to.bits == 64) return to_uint64(f, v, from);
  int bits = to.bits > (ir_is_uint(to) ? 16 : 32) ? 64 : 32;
  TN_GETP(v, to_signed(f, v, from, bits));
  return cg_cast(f, v, tn_dtype_of(kDLInt, bits, from.lanes), to);
}
