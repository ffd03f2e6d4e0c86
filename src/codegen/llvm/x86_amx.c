/* Matrix registers (AMX): eight tiles of up to 16 rows of 64 bytes.

     tile_config(rows, groups)         tiles 0 ... 5 have so many rows, 6 and 7 one for each group
                                       of values that share a lane; a row of 4 and 5 has so many
     tile_product(c, a, w, row tiles, column tiles,
                  c's bytes between row tiles, between rows; the same of a; w's between rows;
                  what is fetched into the cache meanwhile, lines of it in each iteration, kind;
                  for each loop, outermost first: iterations, bytes that a and w go on by)

   A product loads up to 2 x 2 tiles of c, adds in each iteration the products of tiles of a (rows
   of 16 groups) and of w (16 rows of groups for 16 columns), and stores them again. A row of w
   holds the columns of both tiles. Groups are pairs of bfloat16 (kind 0), or four bytes: kind 4, 1
   more where those of a have a sign, 2 more where those of w have one.

   Linux lets a process use the registers once it has asked for them. Code asks itself, once for
   each module: what loads it need not know. */
#include <string.h>

#include "codegen/llvm/cg.h"

enum {
  ROW_BYTES = 64,
  FIRST_A = 4,
  FIRST_W = 6,
  MAX_ROWS = 16,
  LANE_BYTES = 4,
  FIXED_ARGS = 13, /* before those of the loops */
  FETCH_ARG = 10,
  KIND_ARG = 12,
  KIND_BYTES = 4, /* and more: of bytes */
  KIND_A_SIGN = 1,
  KIND_W_SIGN = 2,
  KIND_FROM_ZERO = 8, /* a bit: the sums begin with zero */
  MAX_LOOPS = 4,
  ARCH_PRCTL = 158,
  ASK_FOR_STATE = 0x1023,
  TILE_DATA = 18
};

static LLVMValueRef tile(cg_fn *f, int64_t n) {
  return LLVMConstInt(f->m->i8, (unsigned long long)n, 0);
}

static LLVMValueRef at(cg_fn *f, LLVMValueRef p, LLVMValueRef bytes) {
  return LLVMBuildGEP2(f->b, f->m->i8, p, &bytes, 1, "");
}

static int emit(cg_fn *f, const char *name, LLVMValueRef *args, int n) {
  return cg_intrinsic(f, name, NULL, 0, args, n) ? 0 : -1;
}

/* ---- permission and configuration ---- */

/* The answer of the system: 0 when tiles may be used. */
static LLVMValueRef ask(cg_fn *f) {
  LLVMTypeRef params[] = {f->m->i64, f->m->i64, f->m->i64},
              type = LLVMFunctionType(f->m->i64, params, 3, 0);
  const char *code = "syscall",
             *places =
                 "={rax},{rax},{rdi},{rsi},~{rcx},~{r11},~{memory},~{dirflag},~{fpsr},~{flags}";
  LLVMValueRef fn = LLVMGetInlineAsm(type, code, strlen(code), places, strlen(places), 1, 0,
                                     LLVMInlineAsmDialectATT, 0);
  LLVMValueRef args[] = {cg_i64(f, ARCH_PRCTL), cg_i64(f, ASK_FOR_STATE), cg_i64(f, TILE_DATA)};
  return LLVMBuildCall2(f->b, type, fn, args, 3, "");
}

/* Whether it was asked already; any thread may write the same. */
static LLVMValueRef asked_flag(cg_fn *f) {
  static const char name[] = "tile_permission";
  LLVMValueRef g = LLVMGetNamedGlobal(f->m->mod, name);
  if (g) return g;
  g = LLVMAddGlobal(f->m->mod, f->m->i8, name);
  LLVMSetLinkage(g, LLVMInternalLinkage);
  LLVMSetInitializer(g, LLVMConstNull(f->m->i8));
  return g;
}

static void access_flag(LLVMValueRef access) {
  LLVMSetOrdering(access, LLVMAtomicOrderingMonotonic);
  LLVMSetAlignment(access, 1);
}

static int get_permission(cg_fn *f) {
  LLVMValueRef flag = asked_flag(f), known = LLVMBuildLoad2(f->b, f->m->i8, flag, "");
  access_flag(known);
  LLVMBasicBlockRef asking = cg_block(f, "ask"), failed = cg_block(f, "refused"),
                    granted = cg_block(f, "granted"), go_on = cg_block(f, "tiles");
  LLVMValueRef zero = LLVMConstNull(f->m->i8);
  LLVMBuildCondBr(f->b, LLVMBuildICmp(f->b, LLVMIntEQ, known, zero, ""), asking, go_on);
  LLVMPositionBuilderAtEnd(f->b, asking);
  LLVMValueRef ok = LLVMBuildICmp(f->b, LLVMIntEQ, ask(f), cg_i64(f, 0), "");
  LLVMBuildCondBr(f->b, ok, granted, failed);
  LLVMPositionBuilderAtEnd(f->b, failed);
  LLVMValueRef text = LLVMBuildGlobalStringPtr(
      f->b,
      "this processor, or its operating system, has no matrix registers (AMX): compile for "
      "the processor that the code is to run on",
      "refusal");
  LLVMTypeRef type = LLVMFunctionType(f->m->none, &f->m->ptr, 1, 0);
  LLVMBuildCall2(f->b, type, cg_extern(f, "TVMAPISetLastError", type), &text, 1, "");
  TN_TRY(cg_return(f, NULL));
  LLVMBuildUnreachable(f->b);
  LLVMPositionBuilderAtEnd(f->b, granted);
  access_flag(LLVMBuildStore(f->b, LLVMConstInt(f->m->i8, 1, 0), flag));
  LLVMBuildBr(f->b, go_on);
  LLVMPositionBuilderAtEnd(f->b, go_on);
  return 0;
}

/* Byte 0: the palette; 16-bit lengths of rows from byte 16 on, numbers of rows from 48 on. */
static LLVMValueRef configuration(cg_fn *f, int rows, int groups) {
  char bytes[64] = {1};
  for (int i = 0; i < 8; ++i) {
    bool of_a = i >= FIRST_A && i < FIRST_W;
    bytes[16 + 2 * i] = (char)(of_a ? LANE_BYTES * groups : ROW_BYTES);
    bytes[48 + i] = (char)(i < FIRST_W ? rows : groups);
  }
  LLVMValueRef data = LLVMConstStringInContext(f->m->ctx, bytes, sizeof bytes, 1);
  LLVMValueRef g = cg_constant(f->m, data, "tile_config");
  LLVMSetAlignment(g, 64);
  return g;
}

static int constant_arg(const tn_Call *call, int64_t i, int64_t least, int64_t most, int64_t *out) {
  TN_CHECK(tir_as_int((const tn_obj *)cg_arg(call, i), out) && *out >= least && *out <= most,
           CodegenError, call->span,
           "llvm: %s: argument %lld: expected a constant from %lld to %lld",
           tn_cstr(((tn_Op *)call->op)->name), (long long)i, (long long)least, (long long)most);
  return 0;
}

static int config(cg_fn *f, const tn_Call *call) {
  int64_t rows, groups;
  TN_TRY(cg_need_args(call, 2));
  TN_TRY(constant_arg(call, 0, 1, MAX_ROWS, &rows));
  TN_TRY(constant_arg(call, 1, 1, ROW_BYTES / LANE_BYTES, &groups));
  TN_TRY(get_permission(f));
  LLVMValueRef p = configuration(f, (int)rows, (int)groups);
  return emit(f, "llvm.x86.ldtilecfg", &p, 1);
}

/* ---- products ---- */

typedef struct {
  LLVMValueRef c, a, w, fetch; /* addresses */
  int64_t lines;               /* fetched in each iteration */
  const char *multiply;        /* the instruction */
  bool from_zero;
  int64_t tiles[2];                                 /* along rows, along columns */
  LLVMValueRef c_tile, c_row, a_tile, a_row, w_row; /* bytes */
  int64_t iterations[MAX_LOOPS];
  LLVMValueRef a_step[MAX_LOOPS], w_step[MAX_LOOPS];
  int loops;
} product;

static int read_kind(const tn_Call *call, product *p) {
  static const char *const of_bytes[] = {"llvm.x86.tdpbuud", "llvm.x86.tdpbsud", "llvm.x86.tdpbusd",
                                         "llvm.x86.tdpbssd"};
  int64_t kind;
  TN_TRY(constant_arg(call, KIND_ARG, 0, 2 * KIND_FROM_ZERO - 1, &kind));
  p->from_zero = kind & KIND_FROM_ZERO;
  kind &= ~(int64_t)KIND_FROM_ZERO;
  TN_CHECK(!kind || kind >= KIND_BYTES, CodegenError, call->span,
           "llvm: tile_product: argument %d: unknown kind of product: %lld", KIND_ARG,
           (long long)kind);
  p->multiply = kind ? of_bytes[kind - KIND_BYTES] : "llvm.x86.tdpbf16ps";
  return 0;
}

static int read_product(cg_fn *f, const tn_Call *call, product *p) {
  int64_t n = call->args->len - FIXED_ARGS;
  LLVMValueRef *fixed[] = {&p->c,      &p->a,     &p->w,     NULL,      NULL, &p->c_tile, &p->c_row,
                           &p->a_tile, &p->a_row, &p->w_row, &p->fetch, NULL, NULL};
  TN_TRY(cg_need_args(call, FIXED_ARGS));
  TN_CHECK(n % 3 == 0 && n / 3 <= MAX_LOOPS, CodegenError, call->span,
           "llvm: tile_product: expected three arguments for each of up to %d loops", MAX_LOOPS);
  for (int i = 0; i < FIXED_ARGS; ++i) {
    bool pointer = i < 3 || i == FETCH_ARG;
    if (i == KIND_ARG) TN_TRY(read_kind(call, p));
    else if (i == FETCH_ARG + 1) TN_TRY(constant_arg(call, i, 0, 64, &p->lines));
    else if (!fixed[i]) TN_TRY(constant_arg(call, i, 1, 2, &p->tiles[i - 3]));
    else TN_GET(*fixed[i], pointer ? cg_expr(f, cg_arg(call, i)) : cg_index(f, cg_arg(call, i)));
  }
  p->loops = (int)(n / 3);
  for (int i = 0; i < p->loops; ++i) {
    TN_TRY(constant_arg(call, FIXED_ARGS + 3 * i, 1, INT32_MAX, &p->iterations[i]));
    TN_GET(p->a_step[i], cg_index(f, cg_arg(call, FIXED_ARGS + 3 * i + 1)));
    TN_GET(p->w_step[i], cg_index(f, cg_arg(call, FIXED_ARGS + 3 * i + 2)));
  }
  return 0;
}

static int clear_sums(cg_fn *f, const product *p) {
  for (int64_t i = 0; i < 2 * p->tiles[0]; ++i) {
    LLVMValueRef number = tile(f, i);
    if (i % 2 < p->tiles[1]) TN_TRY(emit(f, "llvm.x86.tilezero", &number, 1));
  }
  return 0;
}

/* Loads or stores the sums. */
static int move_sums(cg_fn *f, const product *p, const char *intrinsic) {
  for (int64_t r = 0; r < p->tiles[0]; ++r)
    for (int64_t v = 0; v < p->tiles[1]; ++v) {
      LLVMValueRef row = at(f, p->c, LLVMBuildMul(f->b, p->c_tile, cg_i64(f, r), ""));
      LLVMValueRef args[] = {tile(f, 2 * r + v), at(f, row, cg_i64(f, v * ROW_BYTES)), p->c_row};
      TN_TRY(emit(f, intrinsic, args, 3));
    }
  return 0;
}

/* Lines for later, into the second level of cache. @return where to go on */
static LLVMValueRef fetch_lines(cg_fn *f, const product *p, LLVMValueRef from) {
  for (int64_t i = 0; i < p->lines; ++i) {
    LLVMValueRef args[] = {at(f, from, cg_i64(f, i * ROW_BYTES)), cg_i32(f, 0), cg_i32(f, 2),
                           cg_i32(f, 1)};
    if (!cg_intrinsic(f, "llvm.prefetch", &f->m->ptr, 1, args, 4)) return NULL;
  }
  return at(f, from, cg_i64(f, p->lines * ROW_BYTES));
}

static int one_iteration(cg_fn *f, const product *p, LLVMValueRef a, LLVMValueRef w) {
  for (int64_t v = 0; v < p->tiles[1]; ++v) {
    LLVMValueRef args[] = {tile(f, FIRST_W + v), at(f, w, cg_i64(f, v * ROW_BYTES)), p->w_row};
    TN_TRY(emit(f, "llvm.x86.tileloadd64", args, 3));
  }
  for (int64_t r = 0; r < p->tiles[0]; ++r) {
    LLVMValueRef row = at(f, a, LLVMBuildMul(f->b, p->a_tile, cg_i64(f, r), ""));
    LLVMValueRef args[] = {tile(f, FIRST_A + r), row, p->a_row};
    TN_TRY(emit(f, "llvm.x86.tileloadd64", args, 3));
    for (int64_t v = 0; v < p->tiles[1]; ++v) {
      LLVMValueRef three[] = {tile(f, 2 * r + v), tile(f, FIRST_A + r), tile(f, FIRST_W + v)};
      TN_TRY(emit(f, p->multiply, three, 3));
    }
  }
  return 0;
}

static int loop(cg_fn *f, const product *p, int level, LLVMValueRef a, LLVMValueRef w,
                LLVMValueRef *fetched) {
  if (level == p->loops) {
    if (p->lines) TN_GET(*fetched, fetch_lines(f, p, *fetched));
    return one_iteration(f, p, a, w);
  }
  LLVMBasicBlockRef before = LLVMGetInsertBlock(f->b), body = cg_block(f, "iteration"),
                    after = cg_block(f, "turned");
  LLVMValueRef zero = cg_i64(f, 0);
  LLVMBuildBr(f->b, body);
  LLVMPositionBuilderAtEnd(f->b, body);
  LLVMValueRef i = LLVMBuildPhi(f->b, f->m->i64, ""), pa = LLVMBuildPhi(f->b, f->m->ptr, ""),
               pw = LLVMBuildPhi(f->b, f->m->ptr, ""), pf = LLVMBuildPhi(f->b, f->m->ptr, "");
  LLVMAddIncoming(i, &zero, &before, 1);
  LLVMAddIncoming(pa, &a, &before, 1);
  LLVMAddIncoming(pw, &w, &before, 1);
  LLVMAddIncoming(pf, fetched, &before, 1);
  *fetched = pf;
  TN_TRY(loop(f, p, level + 1, pa, pw, fetched));
  LLVMValueRef next = LLVMBuildAdd(f->b, i, cg_i64(f, 1), ""), na = at(f, pa, p->a_step[level]),
               nw = at(f, pw, p->w_step[level]);
  LLVMBasicBlockRef last = LLVMGetInsertBlock(f->b);
  LLVMAddIncoming(i, &next, &last, 1);
  LLVMAddIncoming(pa, &na, &last, 1);
  LLVMAddIncoming(pw, &nw, &last, 1);
  LLVMAddIncoming(pf, fetched, &last, 1);
  LLVMValueRef more = LLVMBuildICmp(f->b, LLVMIntULT, next, cg_i64(f, p->iterations[level]), "");
  LLVMBuildCondBr(f->b, more, body, after);
  LLVMPositionBuilderAtEnd(f->b, after);
  return 0;
}

static int emit_product(cg_fn *f, const tn_Call *call) {
  product p;
  TN_TRY(read_product(f, call, &p));
  TN_TRY(p.from_zero ? clear_sums(f, &p) : move_sums(f, &p, "llvm.x86.tileloadd64"));
  TN_TRY(loop(f, &p, 0, p.a, p.w, &p.fetch));
  return move_sums(f, &p, "llvm.x86.tilestored64");
}

LLVMValueRef cg_tiles(cg_fn *f, tir_op_id op, const tn_Call *call, bool *done) {
  int r = 0;
  switch ((int)op) {
  case TIR_OP_tile_config: r = config(f, call); break;
  case TIR_OP_tile_release: r = emit(f, "llvm.x86.tilerelease", NULL, 0); break;
  case TIR_OP_tile_product: r = emit_product(f, call); break;
  default: *done = false; return NULL;
  }
  return r ? NULL : cg_i32(f, 0);
}
