/* Sums of products of bytes: T.dot(sum, a, b) adds to each lane of 32 bits the products of its four
   bytes of a and b; to one of float32 the products of its two bfloat16, which are given as bits.

   With VNNI that is one instruction where one factor is unsigned and the other signed. Without it,
   the even and the odd bytes of a lane become numbers of 16 bits, which vpmaddwd multiplies and
   adds in pairs: no step saturates, so all ways give the same sums. */
#include <stdio.h>
#include <string.h>

#include "codegen/llvm/cg.h"
#include "target/machine.h"

bool cg_has_feature(const cg_module *m, const char *feature) {
  size_t n = strlen(feature);
  for (const char *at = m->features; *at; at += strcspn(at, ","), at += *at == ',')
    if (strncmp(at + 1, feature, n) == 0 && (at[n + 1] == ',' || !at[n + 1])) return *at == '+';
  return target_cpu_has(m->cpu, feature);
}

typedef struct {
  LLVMValueRef v;
  bool is_signed;
} bytes;

/* ---- one instruction ---- */

static LLVMValueRef by_vnni(cg_fn *f, LLVMValueRef sum, LLVMValueRef a, LLVMValueRef b, int lanes) {
  char name[40];
  LLVMTypeRef words = LLVMVectorType(f->m->i32, (unsigned)lanes);
  LLVMValueRef args[] = {sum, LLVMBuildBitCast(f->b, a, words, ""),
                         LLVMBuildBitCast(f->b, b, words, "")};
  snprintf(name, sizeof name, "llvm.x86.avx512.vpdpbusd.%d", lanes * 32);
  return cg_intrinsic(f, name, NULL, 0, args, 3);
}

/* ---- by pairs ---- */

/* The even (0) or odd (1) bytes of lanes of 16 bits, widened. */
static LLVMValueRef half(cg_fn *f, const bytes *x, int lanes, int odd) {
  LLVMTypeRef t = LLVMVectorType(f->m->i16, 2 * (unsigned)lanes);
  LLVMValueRef v = LLVMBuildBitCast(f->b, x->v, t, "");
  LLVMValueRef eight = cg_splat(f, LLVMConstInt(f->m->i16, 8, 0), 2 * lanes);
  if (odd)
    return x->is_signed ? LLVMBuildAShr(f->b, v, eight, "") : LLVMBuildLShr(f->b, v, eight, "");
  if (x->is_signed) return LLVMBuildAShr(f->b, LLVMBuildShl(f->b, v, eight, ""), eight, "");
  return LLVMBuildAnd(f->b, v, cg_splat(f, LLVMConstInt(f->m->i16, 255, 0), 2 * lanes), "");
}

static LLVMValueRef add_pairs(cg_fn *f, LLVMValueRef sum, LLVMValueRef a, LLVMValueRef b,
                              int lanes) {
  const char *name = lanes == 16  ? "llvm.x86.avx512.pmaddw.d.512"
                     : lanes == 8 ? "llvm.x86.avx2.pmadd.wd"
                                  : "llvm.x86.sse2.pmadd.wd";
  LLVMValueRef args[] = {a, b}, two;
  TN_GETP(two, cg_intrinsic(f, name, NULL, 0, args, 2));
  return LLVMBuildAdd(f->b, sum, two, "");
}

static LLVMValueRef by_pairs(cg_fn *f, LLVMValueRef sum, const bytes *a, const bytes *b,
                             int lanes) {
  for (int odd = 0; odd < 2; ++odd)
    TN_GETP(sum, add_pairs(f, sum, half(f, a, lanes, odd), half(f, b, lanes, odd), lanes));
  return sum;
}

/* ---- bfloat16 ---- */

/* The even (0) or odd (1) numbers of a vector, in lanes of 32 bits: a bfloat16 is the upper half of
   a float. */
static LLVMValueRef floats(cg_fn *f, LLVMValueRef x, int lanes, int odd) {
  LLVMTypeRef words = LLVMVectorType(f->m->i32, (unsigned)lanes);
  LLVMValueRef v = LLVMBuildBitCast(f->b, x, words, "");
  LLVMValueRef upper = cg_splat(f, LLVMConstInt(f->m->i32, 0xffff0000u, 0), lanes);
  v = odd ? LLVMBuildAnd(f->b, v, upper, "")
          : LLVMBuildShl(f->b, v, cg_splat(f, cg_i32(f, 16), lanes), "");
  return LLVMBuildBitCast(f->b, v, LLVMVectorType(f->m->f32, (unsigned)lanes), "");
}

static LLVMValueRef dot_bf16(cg_fn *f, LLVMValueRef sum, LLVMValueRef a, LLVMValueRef b,
                             int lanes) {
  char name[48];
  LLVMTypeRef t = LLVMVectorType(LLVMBFloatTypeInContext(f->m->ctx), 2 * (unsigned)lanes);
  if (cg_has_feature(f->m, "avx512bf16") && (lanes == 4 || lanes == 8 || lanes == 16)) {
    LLVMValueRef args[] = {sum, LLVMBuildBitCast(f->b, a, t, ""), LLVMBuildBitCast(f->b, b, t, "")};
    snprintf(name, sizeof name, "llvm.x86.avx512bf16.dpbf16ps.%d", lanes * 32);
    return cg_intrinsic(f, name, NULL, 0, args, 3);
  }
  LLVMTypeRef type = LLVMTypeOf(sum);
  for (int odd = 0; odd < 2; ++odd) {
    LLVMValueRef args[] = {floats(f, a, lanes, odd), floats(f, b, lanes, odd), sum};
    TN_GETP(sum, cg_intrinsic(f, "llvm.fmuladd", &type, 1, args, 3));
  }
  return sum;
}

/* ---- any processor ---- */

static LLVMValueRef widened(cg_fn *f, const bytes *x, int lanes, int group, int i) {
  LLVMValueRef at[256];
  for (int k = 0; k < lanes; ++k) at[k] = cg_i32(f, k * group + i);
  LLVMValueRef poison = LLVMGetPoison(LLVMTypeOf(x->v));
  LLVMValueRef v =
      LLVMBuildShuffleVector(f->b, x->v, poison, LLVMConstVector(at, (unsigned)lanes), "");
  LLVMTypeRef t = LLVMVectorType(f->m->i32, (unsigned)lanes);
  return x->is_signed ? LLVMBuildSExt(f->b, v, t, "") : LLVMBuildZExt(f->b, v, t, "");
}

static LLVMValueRef one_by_one(cg_fn *f, LLVMValueRef sum, const bytes *a, const bytes *b,
                               int lanes, int group) {
  for (int i = 0; i < group; ++i)
    sum = LLVMBuildAdd(
        f->b, sum,
        LLVMBuildMul(f->b, widened(f, a, lanes, group, i), widened(f, b, lanes, group, i), ""), "");
  return sum;
}

bool cg_is_x86(const cg_fn *f) { return strncmp(LLVMGetTarget(f->m->mod), "x86_64", 6) == 0; }

/* Vectors of these lanes have instructions under these features. */
static bool has_vnni(const cg_fn *f, int lanes) {
  if (cg_has_feature(f->m, "avx512vnni")) return lanes == 16 || lanes == 8 || lanes == 4;
  return cg_has_feature(f->m, "avxvnni") && (lanes == 8 || lanes == 4);
}

static bool has_pairs(const cg_fn *f, int lanes) {
  return lanes == 16  ? cg_has_feature(f->m, "avx512bw")
         : lanes == 8 ? cg_has_feature(f->m, "avx2") || cg_has_feature(f->m, "avx512bw")
                      : lanes == 4;
}

LLVMValueRef cg_dot(cg_fn *f, const tn_Call *call) {
  LLVMValueRef sum;
  bytes a, b;
  TN_TRYP(cg_need_args(call, 3));
  tn_dtype t = cg_arg(call, 1)->dtype, u = cg_arg(call, 2)->dtype;
  int lanes = call->dtype.lanes, group = lanes > 0 ? t.lanes / lanes : 0;
  bool floats_of_bits = tn_dtype_eq(ir_with_lanes(call->dtype, 1), TN_F32);
  bool fits = (floats_of_bits ? t.bits == 16 && u.bits == 16 && group == 2
                              : tn_dtype_eq(ir_with_lanes(call->dtype, 1), TN_I32)) &&
              ir_is_integral(t) && ir_is_integral(u) && t.lanes == u.lanes && group > 0 &&
              t.lanes == group * lanes && t.bits < 32 && u.bits < 32 && lanes <= 256;
  TN_CHECKP(fits, CodegenError, call->span,
            "llvm: %s: tir.dot: expected sums of int32 and two factors of as many small integers "
            "for each lane, or sums of float32 and pairs of uint16, got %s, %s and %s",
            f->name, TN_DT(call->dtype), TN_DT(t), TN_DT(u));
  TN_GETP(sum, cg_expr(f, cg_arg(call, 0)));
  TN_GETP(a.v, cg_expr(f, cg_arg(call, 1)));
  TN_GETP(b.v, cg_expr(f, cg_arg(call, 2)));
  a.is_signed = ir_is_int(t), b.is_signed = ir_is_int(u);
  if (floats_of_bits) return dot_bf16(f, sum, a.v, b.v, lanes);
  bool words = group == 2 && t.bits == 16 && u.bits == 16 && a.is_signed && b.is_signed;
  if (words && cg_is_x86(f) && has_pairs(f, lanes)) return add_pairs(f, sum, a.v, b.v, lanes);
  if (group != 4 || t.bits != 8 || u.bits != 8 || !cg_is_x86(f))
    return one_by_one(f, sum, &a, &b, lanes, group);
  if (a.is_signed != b.is_signed && has_vnni(f, lanes))
    return a.is_signed ? by_vnni(f, sum, b.v, a.v, lanes) : by_vnni(f, sum, a.v, b.v, lanes);
  if (has_pairs(f, lanes)) return by_pairs(f, sum, &a, &b, lanes);
  return one_by_one(f, sum, &a, &b, lanes, group);
}
