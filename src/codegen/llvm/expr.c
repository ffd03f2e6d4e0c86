/* Expressions. A table by type index leads to the function of each node. */
#include "codegen/llvm/cg.h"

#include "base/alloc.h"
#include "tir/analysis.h"

/* ---- constants and variables ---- */

static LLVMValueRef int_imm(cg_fn *f, const tn_IntImm *e) {
  LLVMTypeRef t;
  TN_GETP(t, cg_type(f->m, e->dtype));
  if (e->dtype.code == kDLOpaqueHandle) return LLVMConstNull(t); /* a null pointer */
  return LLVMConstInt(t, (unsigned long long)e->value, ir_is_int(e->dtype));
}

static LLVMValueRef float_imm(cg_fn *f, const tn_FloatImm *e) {
  LLVMTypeRef t;
  TN_GETP(t, cg_type(f->m, e->dtype));
  if (!cg_is_bf16(e->dtype)) return LLVMConstReal(t, e->value);
  return cg_cast(f, LLVMConstReal(f->m->f32, e->value), TN_F32, e->dtype);
}

static LLVMValueRef string_imm(cg_fn *f, const tn_StringImm *e) {
  return LLVMBuildGlobalStringPtr(f->b, tn_cstr(e->value), "str");
}

static LLVMValueRef var(cg_fn *f, const tn_Var *e) {
  LLVMValueRef v = tn_pmap_get(&f->vars, e);
  TN_CHECKP(v, CodegenError, e->span, "llvm: %s: variable %s is used where it is not defined",
            f->name, tn_cstr(e->name));
  return v;
}

/* ---- arithmetic ---- */

static LLVMValueRef int_binary(cg_fn *f, uint32_t op, bool is_signed, LLVMValueRef a,
                               LLVMValueRef b) {
  LLVMBuilderRef bl = f->b;
  bool nsw = f->index && is_signed;
  switch (op) {
  case TN_TI_Add: return nsw ? LLVMBuildNSWAdd(bl, a, b, "") : LLVMBuildAdd(bl, a, b, "");
  case TN_TI_Sub: return nsw ? LLVMBuildNSWSub(bl, a, b, "") : LLVMBuildSub(bl, a, b, "");
  case TN_TI_Mul: return nsw ? LLVMBuildNSWMul(bl, a, b, "") : LLVMBuildMul(bl, a, b, "");
  case TN_TI_Div:
  case TN_TI_Mod:
  case TN_TI_FloorDiv:
  case TN_TI_FloorMod: return cg_divide(f, op, is_signed, a, b);
  case TN_TI_Min:
  case TN_TI_Max: {
    LLVMIntPredicate p = is_signed ? (op == TN_TI_Min ? LLVMIntSLT : LLVMIntSGT)
                                   : (op == TN_TI_Min ? LLVMIntULT : LLVMIntUGT);
    return LLVMBuildSelect(bl, LLVMBuildICmp(bl, p, a, b, ""), a, b, "");
  }
  case TN_TI_EQ: return LLVMBuildICmp(bl, LLVMIntEQ, a, b, "");
  case TN_TI_NE: return LLVMBuildICmp(bl, LLVMIntNE, a, b, "");
  case TN_TI_LT: return LLVMBuildICmp(bl, is_signed ? LLVMIntSLT : LLVMIntULT, a, b, "");
  case TN_TI_LE: return LLVMBuildICmp(bl, is_signed ? LLVMIntSLE : LLVMIntULE, a, b, "");
  case TN_TI_GT: return LLVMBuildICmp(bl, is_signed ? LLVMIntSGT : LLVMIntUGT, a, b, "");
  case TN_TI_GE: return LLVMBuildICmp(bl, is_signed ? LLVMIntSGE : LLVMIntUGE, a, b, "");
  case TN_TI_And: return LLVMBuildAnd(bl, a, b, "");
  case TN_TI_Or: return LLVMBuildOr(bl, a, b, "");
  }
  return NULL;
}

static LLVMValueRef floored(cg_fn *f, LLVMValueRef x) {
  LLVMTypeRef t = LLVMTypeOf(x);
  return cg_intrinsic(f, "llvm.floor", &t, 1, &x, 1);
}

/* The remainder has the sign of b, zeros too. */
static LLVMValueRef floor_mod(cg_fn *f, LLVMValueRef a, LLVMValueRef b) {
  LLVMBuilderRef bl = f->b;
  LLVMTypeRef t = LLVMTypeOf(a);
  LLVMValueRef rest = LLVMBuildFRem(bl, a, b, ""), zero = LLVMConstNull(t), args[2] = {zero, b};
  LLVMValueRef none, differ = LLVMBuildXor(bl, LLVMBuildFCmp(bl, LLVMRealOLT, rest, zero, ""),
                                           LLVMBuildFCmp(bl, LLVMRealOLT, b, zero, ""), "");
  TN_GETP(none, cg_intrinsic(f, "llvm.copysign", &t, 1, args, 2));
  LLVMValueRef r = LLVMBuildSelect(bl, differ, LLVMBuildFAdd(bl, rest, b, ""), rest, "");
  return LLVMBuildSelect(bl, LLVMBuildFCmp(bl, LLVMRealOEQ, rest, zero, ""), none, r, "");
}

static bool is_number(LLVMValueRef v) {
  LLVMBool inexact;
  if (!LLVMIsConstant(v)) return false;
  if (LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMVectorTypeKind) {
    for (unsigned i = 0; i < LLVMGetVectorSize(LLVMTypeOf(v)); ++i)
      if (!is_number(LLVMGetAggregateElement(v, i))) return false;
    return true;
  }
  if (!LLVMIsAConstantFP(v)) return false;
  double d = LLVMConstRealGetDouble(v, &inexact);
  return d == d;
}

/* b where it is better or NaN, else a: so NaN stays, and of two zeros the first. One instruction
   where one of them is known to be a number, as in a relu. */
static LLVMValueRef extreme(cg_fn *f, bool max, LLVMValueRef a, LLVMValueRef b) {
  LLVMBuilderRef bl = f->b;
  if (is_number(a)) /* no larger than it: also if b is NaN, not */
    return LLVMBuildSelect(bl, LLVMBuildFCmp(bl, max ? LLVMRealOLE : LLVMRealOGE, b, a, ""), a, b,
                           "");
  LLVMValueRef better = LLVMBuildFCmp(bl, max ? LLVMRealOGT : LLVMRealOLT, b, a, "");
  LLVMValueRef r = LLVMBuildSelect(bl, better, b, a, "");
  if (is_number(b)) return r;
  return LLVMBuildSelect(bl, LLVMBuildFCmp(bl, LLVMRealUNO, b, b, ""), b, r, "");
}

static LLVMValueRef float_binary(cg_fn *f, uint32_t op, LLVMValueRef a, LLVMValueRef b) {
  LLVMBuilderRef bl = f->b;
  switch (op) {
  case TN_TI_Add: return LLVMBuildFAdd(bl, a, b, "");
  case TN_TI_Sub: return LLVMBuildFSub(bl, a, b, "");
  case TN_TI_Mul: return LLVMBuildFMul(bl, a, b, "");
  case TN_TI_Div: return LLVMBuildFDiv(bl, a, b, "");
  case TN_TI_Mod: return LLVMBuildFRem(bl, a, b, "");
  case TN_TI_FloorDiv: return floored(f, LLVMBuildFDiv(bl, a, b, ""));
  case TN_TI_FloorMod: return floor_mod(f, a, b);
  case TN_TI_Min:
  case TN_TI_Max: return extreme(f, op == TN_TI_Max, a, b);
  case TN_TI_EQ: return LLVMBuildFCmp(bl, LLVMRealOEQ, a, b, "");
  case TN_TI_NE: return LLVMBuildFCmp(bl, LLVMRealUNE, a, b, "");
  case TN_TI_LT: return LLVMBuildFCmp(bl, LLVMRealOLT, a, b, "");
  case TN_TI_LE: return LLVMBuildFCmp(bl, LLVMRealOLE, a, b, "");
  case TN_TI_GT: return LLVMBuildFCmp(bl, LLVMRealOGT, a, b, "");
  case TN_TI_GE: return LLVMBuildFCmp(bl, LLVMRealOGE, a, b, "");
  }
  return NULL;
}

static bool gives_bool(uint32_t op) { return op >= TN_TI_EQ && op <= TN_TI_Or; }

LLVMValueRef cg_binary(cg_fn *f, uint32_t op, tn_dtype t, LLVMValueRef a, LLVMValueRef b) {
  LLVMValueRef r;
  if (cg_is_bf16(t)) {
    tn_dtype wide = tn_dtype_of(kDLFloat, 32, t.lanes);
    TN_GETP(a, cg_cast(f, a, t, wide));
    TN_GETP(b, cg_cast(f, b, t, wide));
    TN_GETP(r, cg_binary(f, op, wide, a, b));
    return gives_bool(op) ? r : cg_cast(f, r, wide, t);
  }
  if (t.code == kDLOpaqueHandle || ir_is_integral(t)) {
    r = int_binary(f, op, ir_is_int(t), a, b);
  } else {
    r = float_binary(f, op, a, b);
  }
  TN_CHECKP(r, CodegenError, NULL, "llvm: %s: %s of %s", f->name, tn_type_get(op)->name, TN_DT(t));
  return cg_fast(f, r);
}

static LLVMValueRef binary(cg_fn *f, const tn_BinaryOp *e) {
  LLVMValueRef a, b;
  TN_GETP(a, cg_expr(f, e->a));
  TN_GETP(b, cg_expr(f, e->b));
  return cg_binary(f, e->hdr.type_index, e->a->dtype, a, b);
}

static LLVMValueRef not_expr(cg_fn *f, const tn_Not *e) {
  LLVMValueRef a;
  TN_GETP(a, cg_expr(f, e->a));
  return LLVMBuildNot(f->b, a, "");
}

static LLVMValueRef cast(cg_fn *f, const tn_Cast *e) {
  LLVMValueRef v;
  if (cg_is_rounding(f, e)) return cg_rounded(f, e);
  v = cg_cast_bf16(f, e);
  if (v || tn_error_pending()) return v;
  TN_GETP(v, cg_expr(f, e->value));
  return cg_cast(f, v, e->value->dtype, e->dtype);
}

static LLVMValueRef select_expr(cg_fn *f, const tn_Select *e) {
  LLVMValueRef c, a, b;
  TN_GETP(c, cg_expr(f, e->condition));
  TN_GETP(a, cg_expr(f, e->true_value));
  TN_GETP(b, cg_expr(f, e->false_value));
  return LLVMBuildSelect(f->b, c, a, b, "");
}

static LLVMValueRef let(cg_fn *f, const tn_Let *e) {
  TN_TRYP(cg_let(f, e->var, e->value));
  return cg_expr(f, e->body);
}

/* ---- vectors ---- */

static LLVMValueRef ramp(cg_fn *f, const tn_Ramp *e) {
  LLVMValueRef base, stride;
  int n = (int)e->lanes;
  TN_GETP(base, cg_expr(f, e->base));
  TN_GETP(stride, cg_expr(f, e->stride));
  LLVMTypeRef t = LLVMTypeOf(base);
  TN_AUTOFREE LLVMValueRef *steps = tn_alloc_zero((size_t)n, sizeof *steps);
  if (!steps) return NULL;
  for (int i = 0; i < n; ++i) steps[i] = LLVMConstInt(t, (unsigned long long)i, 0);
  LLVMValueRef v = LLVMConstVector(steps, (unsigned)n);
  v = LLVMBuildMul(f->b, v, cg_splat(f, stride, n), "");
  return LLVMBuildAdd(f->b, cg_splat(f, base, n), v, "ramp");
}

static LLVMValueRef broadcast(cg_fn *f, const tn_Broadcast *e) {
  LLVMValueRef v;
  TN_GETP(v, cg_expr(f, e->value));
  return cg_splat(f, v, (int)e->lanes);
}

/* Appends the lanes of a value to a vector that is being put together. */
static LLVMValueRef append(cg_fn *f, LLVMValueRef to, int *at, LLVMValueRef v, int lanes) {
  for (int i = 0; i < lanes; ++i) {
    LLVMValueRef x = lanes == 1 ? v : LLVMBuildExtractElement(f->b, v, cg_i32(f, i), "");
    to = LLVMBuildInsertElement(f->b, to, x, cg_i32(f, (*at)++), "");
  }
  return to;
}

static LLVMValueRef shuffle(cg_fn *f, const tn_Shuffle *e) {
  int total = 0, at = 0;
  for (int64_t i = 0; i < e->vectors->len; ++i)
    total += ((const tn_expr *)tn_arr_obj(e->vectors, i))->dtype.lanes;
  tn_dtype t = ((const tn_expr *)tn_arr_obj(e->vectors, 0))->dtype;
  LLVMTypeRef scalar;
  TN_GETP(scalar, cg_type(f->m, ir_with_lanes(t, 1)));
  LLVMValueRef all = LLVMGetPoison(LLVMVectorType(scalar, (unsigned)total));
  for (int64_t i = 0; i < e->vectors->len; ++i) {
    const tn_expr *x = (const tn_expr *)tn_arr_obj(e->vectors, i);
    LLVMValueRef v;
    TN_GETP(v, cg_expr(f, x));
    all = append(f, all, &at, v, x->dtype.lanes);
  }
  LLVMTypeRef type;
  TN_GETP(type, cg_type(f->m, e->dtype));
  LLVMValueRef out = e->indices->len > 1 ? LLVMGetPoison(type) : NULL;
  for (int64_t i = 0; i < e->indices->len; ++i) {
    LLVMValueRef k;
    TN_GETP(k, cg_expr(f, tn_arr_obj(e->indices, i)));
    LLVMValueRef x = LLVMBuildExtractElement(f->b, all, k, "");
    out = out ? LLVMBuildInsertElement(f->b, out, x, cg_i32(f, i), "") : x;
  }
  return out;
}

/* ---- dispatch ---- */

typedef LLVMValueRef (*expr_case)(cg_fn *f, const tn_obj *e);
#define CASE(T, fn) [TN_TI_##T] = (expr_case)(void (*)(void))(fn)

static const expr_case cases[] = {
    CASE(IntImm, int_imm),
    CASE(FloatImm, float_imm),
    CASE(StringImm, string_imm),
    CASE(Var, var),
    CASE(SizeVar, var),
    CASE(Cast, cast),
    CASE(Add, binary),
    CASE(Sub, binary),
    CASE(Mul, binary),
    CASE(Div, binary),
    CASE(Mod, binary),
    CASE(FloorDiv, binary),
    CASE(FloorMod, binary),
    CASE(Min, binary),
    CASE(Max, binary),
    CASE(EQ, binary),
    CASE(NE, binary),
    CASE(LT, binary),
    CASE(LE, binary),
    CASE(GT, binary),
    CASE(GE, binary),
    CASE(And, binary),
    CASE(Or, binary),
    CASE(Not, not_expr),
    CASE(Select, select_expr),
    CASE(Ramp, ramp),
    CASE(Broadcast, broadcast),
    CASE(Shuffle, shuffle),
    CASE(Let, let),
    CASE(Call, cg_call),
    CASE(BufferLoad, cg_load),
};

LLVMValueRef cg_expr(cg_fn *f, const void *e) {
  uint32_t i = ((const tn_obj *)e)->type_index;
  TN_CHECKP(i < (uint32_t)TN_COUNT(cases) && cases[i], CodegenError, ((const tn_expr *)e)->span,
            "llvm: %s: an expression of type %s is left in the program", f->name, tn_obj_key(e));
  return cases[i](f, e);
}

/* ---- indices ---- */

static bool is_sum_or_product(const tn_expr *e) {
  uint32_t op = e->hdr.type_index;
  return ir_is_int(e->dtype) && e->dtype.lanes == 1 &&
         (op == TN_TI_Add || op == TN_TI_Sub || op == TN_TI_Mul);
}

/* Sums and products of an index are those of 64 bits: what does not overflow is the same, and all
   addresses of a tile are one register plus constants. */
static LLVMValueRef wide_index(cg_fn *f, const tn_expr *e) {
  LLVMValueRef a, b;
  if (is_sum_or_product(e)) {
    TN_GETP(a, wide_index(f, ((const tn_Add *)e)->a));
    TN_GETP(b, wide_index(f, ((const tn_Add *)e)->b));
    return int_binary(f, e->hdr.type_index, true, a, b);
  }
  a = e->hdr.type_index == TN_TI_Var ? tn_pmap_get(&f->wide, e) : NULL;
  if (a) return a;
  TN_GETP(a, cg_expr(f, e));
  return cg_cast(f, a, e->dtype, tn_dtype_of(kDLInt, 64, e->dtype.lanes));
}

LLVMValueRef cg_index(cg_fn *f, const tn_expr *e) {
  bool outer = f->index;
  f->index = tir_is_place(f->data, e); /* what is computed of data may overflow */
  LLVMValueRef v = wide_index(f, e);
  f->index = outer;
  return v;
}

static bool is_of_variables(const tn_expr *e) {
  if (!is_sum_or_product(e)) return TN_AS(Var, e) || TN_AS(IntImm, e);
  return is_of_variables(((const tn_Add *)e)->a) && is_of_variables(((const tn_Add *)e)->b);
}

int cg_let(cg_fn *f, const tn_Var *var, const tn_expr *value) {
  LLVMValueRef v;
  TN_GET(v, cg_expr(f, value));
  TN_TRY(tn_pmap_put(&f->vars, var, v));
  if (!is_sum_or_product(value) || !is_of_variables(value)) return 0;
  TN_GET(v, cg_index(f, value)); /* for indices; LLVM drops it where there are none */
  return tn_pmap_put(&f->wide, var, v);
}
