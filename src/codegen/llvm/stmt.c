/* Statements. */
#include "base/alloc.h"
#include "runtime/tensor/tensor.h"
#include "codegen/llvm/cg.h"
#include "tir/script/printer.h"

#include <string.h>

/* ---- control flow ---- */

LLVMBasicBlockRef cg_block(cg_fn *f, const char *name) {
  return LLVMAppendBasicBlockInContext(f->m->ctx, f->fn, name);
}

int cg_return(cg_fn *f, LLVMValueRef value) {
  if (!value) {
    LLVMTypeKind kind = LLVMGetTypeKind(f->ret);
    value = kind == LLVMIntegerTypeKind ? LLVMConstAllOnes(f->ret) : LLVMConstNull(f->ret);
  }
  LLVMBuildRet(f->b, value);
  LLVMPositionBuilderAtEnd(f->b, cg_block(f, "dead"));
  return 0;
}

void cg_check_status(cg_fn *f, LLVMValueRef status) {
  LLVMBasicBlockRef failed = cg_block(f, "failed"), go_on = cg_block(f, "ok");
  LLVMValueRef ok = LLVMBuildICmp(f->b, LLVMIntEQ, status, cg_i32(f, 0), "");
  LLVMBuildCondBr(f->b, ok, go_on, failed);
  LLVMPositionBuilderAtEnd(f->b, failed);
  LLVMTypeKind kind = LLVMGetTypeKind(f->ret);
  LLVMBuildRet(f->b,
               kind == LLVMIntegerTypeKind ? LLVMConstAllOnes(f->ret) : LLVMConstNull(f->ret));
  LLVMPositionBuilderAtEnd(f->b, go_on);
}

LLVMValueRef cg_alloca(cg_fn *f, LLVMTypeRef type, int64_t count, unsigned align,
                       const char *name) {
  LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(f->fn), here = LLVMGetInsertBlock(f->b);
  LLVMMetadataRef line = LLVMGetCurrentDebugLocation2(f->b);
  LLVMValueRef first = LLVMGetFirstInstruction(entry);
  if (first) {
    LLVMPositionBuilderBefore(f->b, first);
  } else {
    LLVMPositionBuilderAtEnd(f->b, entry);
  }
  LLVMTypeRef array = LLVMArrayType2(type, (uint64_t)(count > 0 ? count : 1));
  LLVMValueRef p = LLVMBuildAlloca(f->b, array, name);
  LLVMSetAlignment(p, align);
  LLVMPositionBuilderAtEnd(f->b, here);
  LLVMSetCurrentDebugLocation2(f->b, line);
  return p;
}

int cg_loop(cg_fn *f, const tn_Var *var, LLVMValueRef begin, LLVMValueRef end, LLVMValueRef step,
            const tn_stmt *body) {
  int64_t loops = ++f->m->loops;
  LLVMBasicBlockRef before = LLVMGetInsertBlock(f->b), head = cg_block(f, "for"),
                    in = cg_block(f, "body"), after = cg_block(f, "end");
  LLVMBuildBr(f->b, head);
  LLVMPositionBuilderAtEnd(f->b, head);
  LLVMValueRef i = LLVMBuildPhi(f->b, LLVMTypeOf(begin), tn_cstr(var->name));
  LLVMAddIncoming(i, &begin, &before, 1);
  bool is_signed = ir_is_int(var->dtype);
  LLVMValueRef more = LLVMBuildICmp(f->b, is_signed ? LLVMIntSLT : LLVMIntULT, i, end, "");
  LLVMBuildCondBr(f->b, more, in, after);
  LLVMPositionBuilderAtEnd(f->b, in);
  TN_TRY(tn_pmap_put(&f->vars, var, i));
  TN_TRY(cg_stmt(f, body));
  LLVMValueRef next =
      is_signed ? LLVMBuildNSWAdd(f->b, i, step, "") : LLVMBuildAdd(f->b, i, step, "");
  LLVMBasicBlockRef last = LLVMGetInsertBlock(f->b);
  LLVMValueRef latch = LLVMBuildBr(f->b, head);
  LLVMAddIncoming(i, &next, &last, 1);
  if (f->m->loops == loops) f->m->scalar_loops |= !cg_uses_vectors(in); /* innermost */
  LLVMPositionBuilderAtEnd(f->b, after);
  return cg_mark_loop(f, latch, var, body);
}

static int for_stmt(cg_fn *f, const tn_For *s) {
  LLVMValueRef begin, extent;
  LLVMTypeRef type;
  if (s->kind == TIR_FOR_PARALLEL) return cg_parallel_for(f, s);
  TN_CHECK(s->kind != TIR_FOR_THREAD_BINDING, CodegenError, s->span,
           "llvm: %s: loop %s is bound to a thread axis, which a CPU does not have", f->name,
           tn_cstr(s->loop_var->name));
  TN_GET(begin, cg_expr(f, s->min));
  TN_GET(extent, cg_expr(f, s->extent));
  TN_GET(type, cg_type(f->m, s->loop_var->dtype));
  TN_GET(begin, cg_cast(f, begin, s->min->dtype, s->loop_var->dtype));
  TN_GET(extent, cg_cast(f, extent, s->extent->dtype, s->loop_var->dtype));
  LLVMValueRef end = LLVMBuildNSWAdd(f->b, begin, extent, "");
  if (cg_is_by_turns(s)) return cg_loop_by_turns(f, s, begin, end);
  return cg_loop(f, s->loop_var, begin, end, LLVMConstInt(type, 1, 0), s->body);
}

static int while_stmt(cg_fn *f, const tn_While *s) {
  LLVMValueRef c;
  LLVMBasicBlockRef head = cg_block(f, "while"), in = cg_block(f, "body"),
                    after = cg_block(f, "end");
  LLVMBuildBr(f->b, head);
  LLVMPositionBuilderAtEnd(f->b, head);
  TN_GET(c, cg_expr(f, s->condition));
  LLVMBuildCondBr(f->b, c, in, after);
  LLVMPositionBuilderAtEnd(f->b, in);
  TN_TRY(cg_stmt(f, s->body));
  LLVMBuildBr(f->b, head);
  LLVMPositionBuilderAtEnd(f->b, after);
  return 0;
}

static int if_stmt(cg_fn *f, const tn_IfThenElse *s) {
  LLVMValueRef c;
  TN_GET(c, cg_expr(f, s->condition));
  LLVMBasicBlockRef yes = cg_block(f, "then"), no = s->else_case ? cg_block(f, "else") : NULL,
                    after = cg_block(f, "end");
  LLVMBuildCondBr(f->b, c, yes, no ? no : after);
  LLVMPositionBuilderAtEnd(f->b, yes);
  TN_TRY(cg_stmt(f, s->then_case));
  LLVMBuildBr(f->b, after);
  if (no) {
    LLVMPositionBuilderAtEnd(f->b, no);
    TN_TRY(cg_stmt(f, s->else_case));
    LLVMBuildBr(f->b, after);
  }
  LLVMPositionBuilderAtEnd(f->b, after);
  return 0;
}

enum { PART = 32 }; /* statements with loops in one function of a long program */

static bool is_short(const tn_obj *s) {
  return s->type_index == TN_TI_BufferStore || s->type_index == TN_TI_Evaluate;
}

/* Long sequences of loops are divided among functions, see parallel.c. */
static int in_parts(cg_fn *f, const tn_SeqStmt *s) {
  TN_VEC(part);
  int64_t loops = 0;
  for (int64_t i = 0; i < s->seq->len; ++i) {
    TN_TRY(tn_vec_push(&part, s->seq->items[i]));
    loops += !is_short(tn_arr_obj(s->seq, i));
    if (loops < PART && i + 1 < s->seq->len) continue;
    tn_stmt *body;
    TN_GET(body, tir_seq(&part));
    TN_TRY(cg_outline(f, body));
    part.len = loops = 0;
  }
  return 0;
}

static int seq_stmt(cg_fn *f, const tn_SeqStmt *s) {
  int64_t loops = 0;
  for (int64_t i = 0; i < s->seq->len; ++i) loops += !is_short(tn_arr_obj(s->seq, i));
  if (loops > 2 * PART) return in_parts(f, s);
  for (int64_t i = 0; i < s->seq->len; ++i) TN_TRY(cg_stmt(f, (tn_stmt *)tn_arr_obj(s->seq, i)));
  return 0;
}

static int evaluate(cg_fn *f, const tn_Evaluate *s) {
  if (s->value->hdr.type_index == TN_TI_IntImm) return 0;
  LLVMValueRef v;
  TN_GET(v, cg_expr(f, s->value));
  return 0;
}

/* "Assert fail: CONDITION, MESSAGE": the last line of the condition's text, which defines its free
   variables first. */
static tn_str *assert_text(const tn_AssertStmt *s) {
  const tn_StringImm *message = TN_AS(StringImm, s->message);
  tn_str *condition;
  TN_GETP(condition, script_print((tn_obj *)s->condition, NULL));
  const char *line = strrchr(tn_cstr(condition), '\n');
  line = line ? line + 1 : tn_cstr(condition);
  return message ? tn_str_fmt("Assert fail: %s, %s", line, tn_cstr(message->value))
                 : tn_str_fmt("Assert fail: %s", line);
}

static int assert_stmt(cg_fn *f, const tn_AssertStmt *s) {
  LLVMValueRef c;
  tn_str *message;
  TN_GET(c, cg_expr(f, s->condition));
  TN_GET(message, assert_text(s));
  LLVMBasicBlockRef failed = cg_block(f, "assert_fail"), ok = cg_block(f, "assert_ok");
  LLVMBuildCondBr(f->b, c, ok, failed);
  LLVMPositionBuilderAtEnd(f->b, failed);
  LLVMValueRef msg = LLVMBuildGlobalStringPtr(f->b, tn_cstr(message), "assert");
  LLVMTypeRef type = LLVMFunctionType(f->m->none, &f->m->ptr, 1, 0);
  LLVMBuildCall2(f->b, type, cg_extern(f, "TVMAPISetLastError", type), &msg, 1, "");
  LLVMTypeKind kind = LLVMGetTypeKind(f->ret);
  LLVMBuildRet(f->b,
               kind == LLVMIntegerTypeKind ? LLVMConstAllOnes(f->ret) : LLVMConstNull(f->ret));
  LLVMPositionBuilderAtEnd(f->b, ok);
  return cg_stmt(f, s->body);
}

/* ---- memory and names ---- */

static int let_stmt(cg_fn *f, const tn_LetStmt *s) {
  TN_TRY(cg_let(f, s->var, s->value));
  return cg_stmt(f, s->body);
}

static int allocate(cg_fn *f, const tn_Allocate *s) {
  int64_t count = s->dtype.lanes, extent;
  LLVMTypeRef t;
  for (int64_t i = 0; i < s->extents->len; ++i) {
    TN_CHECK(tir_as_int(tn_arr_obj(s->extents, i), &extent), CodegenError, s->span,
             "llvm: %s: allocation of %s has an extent that is not constant: lower it to workspace "
             "memory first (tir.LowerTVMBuiltin)",
             f->name, tn_cstr(s->buffer_var->name));
    TN_CHECK(!__builtin_mul_overflow(count, extent, &count) && count >= 0, CodegenError, s->span,
             "llvm: %s: allocation of %s is too large", f->name, tn_cstr(s->buffer_var->name));
  }
  TN_GET(t, cg_memory_type(f->m, ir_with_lanes(s->dtype, 1)));
  LLVMValueRef p = cg_alloca(f, t, count, TIR_ALIGNMENT, tn_cstr(s->buffer_var->name));
  TN_TRY(tn_pmap_put(&f->vars, s->buffer_var, p));
  return cg_stmt(f, s->body);
}

static int allocate_const(cg_fn *f, const tn_AllocateConst *s) {
  TN_CHECK(s->data, CodegenError, s->span, "llvm: %s: constant %s has no content", f->name,
           tn_cstr(s->buffer_var->name));
  const DLTensor *dl = tn_tensor_dl((const tn_tensor *)s->data);
  TN_CHECK(tn_tensor_is_contiguous(dl) && tn_device_is_host(dl->device), CodegenError, s->span,
           "llvm: %s: constant %s is not a compact tensor of the host", f->name,
           tn_cstr(s->buffer_var->name));
  const char *bytes = (const char *)dl->data + dl->byte_offset;
  LLVMValueRef init = LLVMConstStringInContext2(f->m->ctx, bytes, (size_t)tn_tensor_nbytes(dl), 1);
  LLVMValueRef g = cg_constant(f->m, init, tn_cstr(s->buffer_var->name));
  LLVMSetAlignment(g, TIR_ALIGNMENT);
  const char *section = tir_constant_section(s);
  if (section) LLVMSetSection(g, section);
  TN_TRY(tn_pmap_put(&f->vars, s->buffer_var, g));
  return cg_stmt(f, s->body);
}

static int decl_buffer(cg_fn *f, const tn_DeclBuffer *s) { return cg_stmt(f, s->body); }

static int attr_stmt(cg_fn *f, const tn_AttrStmt *s) {
  const char *key = tn_cstr(s->attr_key);
  if (strcmp(key, "pragma_parallel_launch_point") == 0) return cg_launch_point(f, s->body);
  if (strcmp(key, "coproc_uop_scope") == 0) return cg_run_once(f, s->value, s->body);
  if (strcmp(key, "pragma_parallel_barrier_when_finish") == 0) {
    TN_TRY(cg_stmt(f, s->body));
    return cg_barrier(f);
  }
  if (strcmp(key, "pragma_parallel_stride_pattern") == 0) {
    bool outer = f->stride_pattern;
    f->stride_pattern = true;
    int err = cg_stmt(f, s->body);
    f->stride_pattern = outer;
    return err;
  }
  return cg_stmt(f, s->body);
}

/* ---- dispatch ---- */

typedef int (*stmt_case)(cg_fn *f, const tn_obj *s);
#define CASE(T, fn) [TN_TI_##T] = (stmt_case)(void (*)(void))(fn)

static const stmt_case cases[] = {
    CASE(LetStmt, let_stmt),       CASE(AttrStmt, attr_stmt), CASE(AssertStmt, assert_stmt),
    CASE(BufferStore, cg_store),   CASE(Allocate, allocate),  CASE(AllocateConst, allocate_const),
    CASE(DeclBuffer, decl_buffer), CASE(SeqStmt, seq_stmt),   CASE(IfThenElse, if_stmt),
    CASE(Evaluate, evaluate),      CASE(For, for_stmt),       CASE(While, while_stmt),
};

int cg_stmt(cg_fn *f, const tn_stmt *s) {
  uint32_t i = s->hdr.type_index;
  TN_CHECK(i < (uint32_t)TN_COUNT(cases) && cases[i], CodegenError, tir_stmt_span(s),
           "llvm: %s: a statement of type %s is left in the program: lower it first", f->name,
           tn_obj_key(s));
  cg_debug_stmt(f, s);
  return cases[i](f, (const tn_obj *)s) ? tir_error_in(s) : 0;
}
