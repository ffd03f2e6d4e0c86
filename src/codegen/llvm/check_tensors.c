/* Checks of the arguments of kernels by a table (tir/transforms/calls/packed_table.c): a kernel has the
   table and a call; the function that reads it is a separate part in a module of parts. */
#include <llvm-c/IRReader.h>
#include <llvm-c/Linker.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "ir/imm.h"
#include "codegen/llvm/cg.h"

static const char name[] = "__tenon_check_tensors";

/* int check(args, type_ids, num_args, words, text): the first tensor that is not what the words say
   sets its text as the error. Strides of axes with one element do not matter; all tensors are on
   the device of the first. */
static const char source[] =
    "%tensor = type { ptr, i32, i32, i32, i8, i8, i16, ptr, ptr, i64 }\n"
    "declare void @TVMAPISetLastError(ptr)\n"
    "define weak_odr hidden i32 @__tenon_check_tensors(ptr %args, ptr %ids, i32 %num, ptr %words,"
    " ptr %text) {\n"
    "entry:\n"
    "  %count = load i64, ptr %words\n"
    "  %num64 = sext i32 %num to i64\n"
    "  %complete = icmp eq i64 %count, %num64\n"
    "  %message = getelementptr i64, ptr %words, i64 1\n"
    "  %rows = getelementptr i64, ptr %words, i64 2\n"
    "  br i1 %complete, label %next, label %bad\n"
    /* one argument: is it a tensor? */
    "next:\n"
    "  %i = phi i64 [ 0, %entry ], [ %i.next, %good ]\n"
    "  %row = phi ptr [ %rows, %entry ], [ %row.next, %good ]\n"
    "  %device = phi i32 [ 0, %entry ], [ %device.first, %good ]\n"
    "  %done = icmp sge i64 %i, %count\n"
    "  br i1 %done, label %leave, label %kind\n"
    "leave:\n"
    "  ret i32 0\n"
    "kind:\n"
    "  %id.at = getelementptr i32, ptr %ids, i64 %i\n"
    "  %id = load i32, ptr %id.at\n"
    "  %is3 = icmp eq i32 %id, 3\n"
    "  %is4 = icmp eq i32 %id, 4\n"
    "  %is7 = icmp eq i32 %id, 7\n"
    "  %is13 = icmp eq i32 %id, 13\n"
    "  %a = or i1 %is3, %is4\n"
    "  %b = or i1 %is7, %is13\n"
    "  %pointer = or i1 %a, %b\n"
    "  %value.at = getelementptr i64, ptr %args, i64 %i\n"
    "  br i1 %pointer, label %value, label %bad\n"
    "value:\n"
    "  %t = load ptr, ptr %value.at\n"
    "  %null = icmp eq ptr %t, null\n"
    "  br i1 %null, label %bad, label %fields\n"
    /* its fields */
    "fields:\n"
    "  %ndim.at = getelementptr %tensor, ptr %t, i32 0, i32 3\n"
    "  %ndim32 = load i32, ptr %ndim.at\n"
    "  %ndim = sext i32 %ndim32 to i64\n"
    "  %want.ndim.at = getelementptr i64, ptr %row, i64 1\n"
    "  %want.ndim = load i64, ptr %want.ndim.at\n"
    "  %ok.ndim = icmp eq i64 %ndim, %want.ndim\n"
    "  %code.at = getelementptr %tensor, ptr %t, i32 0, i32 4\n"
    "  %code8 = load i8, ptr %code.at\n"
    "  %code = zext i8 %code8 to i64\n"
    "  %want.code.at = getelementptr i64, ptr %row, i64 2\n"
    "  %want.code = load i64, ptr %want.code.at\n"
    "  %ok.code = icmp eq i64 %code, %want.code\n"
    "  %bits.at = getelementptr %tensor, ptr %t, i32 0, i32 5\n"
    "  %bits8 = load i8, ptr %bits.at\n"
    "  %bits = zext i8 %bits8 to i64\n"
    "  %want.bits.at = getelementptr i64, ptr %row, i64 3\n"
    "  %want.bits = load i64, ptr %want.bits.at\n"
    "  %ok.bits = icmp eq i64 %bits, %want.bits\n"
    "  %lanes.at = getelementptr %tensor, ptr %t, i32 0, i32 6\n"
    "  %lanes16 = load i16, ptr %lanes.at\n"
    "  %lanes = zext i16 %lanes16 to i64\n"
    "  %want.lanes.at = getelementptr i64, ptr %row, i64 4\n"
    "  %want.lanes = load i64, ptr %want.lanes.at\n"
    "  %ok.lanes = icmp eq i64 %lanes, %want.lanes\n"
    "  %offset.at = getelementptr %tensor, ptr %t, i32 0, i32 9\n"
    "  %offset = load i64, ptr %offset.at\n"
    "  %want.offset.at = getelementptr i64, ptr %row, i64 5\n"
    "  %want.offset = load i64, ptr %want.offset.at\n"
    "  %ok.offset = icmp eq i64 %offset, %want.offset\n"
    "  %type.at = getelementptr %tensor, ptr %t, i32 0, i32 1\n"
    "  %type32 = load i32, ptr %type.at\n"
    "  %type = sext i32 %type32 to i64\n"
    "  %want.type.at = getelementptr i64, ptr %row, i64 6\n"
    "  %want.type = load i64, ptr %want.type.at\n"
    "  %ok.type = icmp eq i64 %type, %want.type\n"
    "  %device.at = getelementptr %tensor, ptr %t, i32 0, i32 2\n"
    "  %device.own = load i32, ptr %device.at\n"
    "  %is.first = icmp eq i64 %i, 0\n"
    "  %device.first = select i1 %is.first, i32 %device.own, i32 %device\n"
    "  %ok.device = icmp eq i32 %device.own, %device.first\n"
    "  %c1 = and i1 %ok.ndim, %ok.code\n"
    "  %c2 = and i1 %ok.bits, %ok.lanes\n"
    "  %c3 = and i1 %ok.offset, %ok.type\n"
    "  %c4 = and i1 %c1, %c2\n"
    "  %c5 = and i1 %c3, %ok.device\n"
    "  %c = and i1 %c4, %c5\n"
    "  %extents = getelementptr i64, ptr %row, i64 7\n"
    "  %row.next = getelementptr i64, ptr %extents, i64 %want.ndim\n"
    "  %shape.at = getelementptr %tensor, ptr %t, i32 0, i32 7\n"
    "  %strides.at = getelementptr %tensor, ptr %t, i32 0, i32 8\n"
    "  br i1 %c, label %shapes, label %bad\n"
    "shapes:\n"
    "  %shape = load ptr, ptr %shape.at\n"
    "  %strides = load ptr, ptr %strides.at\n"
    "  %compact = icmp eq ptr %strides, null\n"
    "  br label %axis\n"
    /* its extents and strides, from the last axis on */
    "axis:\n"
    "  %k = phi i64 [ %want.ndim, %shapes ], [ %k.next, %axis.good ]\n"
    "  %size = phi i64 [ 1, %shapes ], [ %size.next, %axis.good ]\n"
    "  %axes.done = icmp eq i64 %k, 0\n"
    "  br i1 %axes.done, label %good, label %axis.check\n"
    "axis.check:\n"
    "  %k.next = add i64 %k, -1\n"
    "  %want.at = getelementptr i64, ptr %extents, i64 %k.next\n"
    "  %want = load i64, ptr %want.at\n"
    "  %have.at = getelementptr i64, ptr %shape, i64 %k.next\n"
    "  %have = load i64, ptr %have.at\n"
    "  %ok.extent = icmp eq i64 %want, %have\n"
    "  br i1 %ok.extent, label %axis.stride, label %bad\n"
    "axis.stride:\n"
    "  %one = icmp eq i64 %want, 1\n"
    "  %free = or i1 %one, %compact\n"
    "  br i1 %free, label %axis.good, label %axis.given\n"
    "axis.given:\n"
    "  %stride.at = getelementptr i64, ptr %strides, i64 %k.next\n"
    "  %stride = load i64, ptr %stride.at\n"
    "  %ok.stride = icmp eq i64 %stride, %size\n"
    "  br i1 %ok.stride, label %axis.good, label %bad\n"
    "axis.good:\n"
    "  %size.next = mul i64 %size, %want\n"
    "  br label %axis\n"
    "good:\n"
    "  %i.next = add i64 %i, 1\n"
    "  br label %next\n"
    "bad:\n"
    "  %place = phi ptr [ %message, %entry ], [ %row, %kind ], [ %row, %value ],"
    " [ %row, %fields ], [ %row, %axis.check ], [ %row, %axis.given ]\n"
    "  %at = load i64, ptr %place\n"
    "  %what = getelementptr i8, ptr %text, i64 %at\n"
    "  call void @TVMAPISetLastError(ptr %what)\n"
    "  ret i32 -1\n"
    "}\n";

/* ---- the table of a kernel ---- */

/* The arguments behind the first three as numbers, in which a text is its place in `text`. */
static int fill(cg_fn *f, const tn_Call *call, LLVMValueRef *words, tn_buf *text) {
  for (int64_t i = 3; i < call->args->len; ++i) {
    const tn_StringImm *s = TN_AS(StringImm, tn_arr_obj(call->args, i));
    int64_t n = (int64_t)text->len;
    TN_CHECK(s || tir_as_int(tn_arr_obj(call->args, i), &n), CodegenError, call->span,
             "llvm: %s: tvm_check_tensors: expected a number or text", f->name);
    if (s) tn_buf_put(text, tn_cstr(s->value), tn_str_len(s->value) + 1);
    words[i - 3] = cg_i64(f, n);
  }
  return tn_buf_ok(text);
}

LLVMValueRef cg_check_tensors(cg_fn *f, const tn_Call *call) {
  LLVMTypeRef ptr = f->m->ptr, types[] = {ptr, ptr, f->m->i32, ptr, ptr};
  LLVMTypeRef type = LLVMFunctionType(f->m->i32, types, TN_COUNT(types), 0);
  LLVMValueRef args[TN_COUNT(types)];
  int64_t n = call->args->len - 3;
  TN_BUF(text);
  TN_CHECKP(n > 0, CodegenError, call->span, "llvm: %s: tvm_check_tensors without a table",
            f->name);
  TN_AUTOFREE LLVMValueRef *words = tn_alloc_zero((size_t)n, sizeof(LLVMValueRef));
  if (!words) return NULL;
  for (int i = 0; i < 3; ++i) TN_GETP(args[i], cg_expr(f, cg_arg(call, i)));
  TN_TRYP(fill(f, call, words, &text));
  args[3] = cg_constant(f->m, LLVMConstArray2(f->m->i64, words, (uint64_t)n), "arguments");
  args[4] =
      cg_constant(f->m, LLVMConstStringInContext2(f->m->ctx, text.data, text.len, 1), "texts");
  cg_check_status(f,
                  LLVMBuildCall2(f->b, type, cg_extern(f, name, type), args, TN_COUNT(args), ""));
  return cg_i32(f, 0);
}

/* ---- the function ---- */

static int add_source(cg_module *m) {
  char *message = NULL;
  LLVMModuleRef mod = NULL;
  LLVMMemoryBufferRef text =
      LLVMCreateMemoryBufferWithMemoryRangeCopy(source, sizeof source - 1, name);
  if (LLVMParseIRInContext(m->ctx, text, &mod, &message)) /* takes the text */
    return cg_raise(name, message);
  LLVMSetTarget(mod, LLVMGetTarget(m->mod));
  LLVMSetDataLayout(mod, LLVMGetDataLayoutStr(m->mod));
  TN_CHECK(!LLVMLinkModules2(m->mod, mod), CodegenError, NULL, "llvm: %s cannot be linked", name);
  return 0;
}

static tn_arr *make_part(cg_code *c, tn_target *t) {
  cg_module m;
  TN_TRYP(cg_code_open(c, name, &m));
  TN_TRYP(add_source(&m));
  TN_TRYP(cg_optimize(&m, cg_code_machine(c), cg_opt_level(t)));
  return cg_code_part(c, tn_arr_of(0));
}

tn_arr *cg_check_part(tn_target *t) {
  cg_code *c = cg_code_new(t);
  tn_arr *part = c ? make_part(c, t) : NULL;
  if (c) cg_code_free(c);
  return part;
}
