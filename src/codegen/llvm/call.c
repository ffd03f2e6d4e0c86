/* Calls: bits, choices, functions of the module, C functions, LLVM intrinsics. */
#include <llvm-c/IRReader.h>
#include <string.h>

#include "base/alloc.h"
#include "codegen/llvm/cg.h"

int cg_need_args(const tn_Call *call, int64_t n) {
  TN_CHECK(call->args->len >= n, CodegenError, call->span,
           "llvm: %s: expected at least %lld arguments, got %lld",
           tn_cstr(((tn_Op *)call->op)->name), (long long)n, (long long)call->args->len);
  return 0;
}

LLVMValueRef cg_intrinsic(cg_fn *f, const char *name, LLVMTypeRef *types, int ntypes,
                          LLVMValueRef *args, int nargs) {
  unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
  TN_CHECKP(id, CodegenError, NULL, "llvm: unknown intrinsic %s", name);
  LLVMValueRef fn = LLVMGetIntrinsicDeclaration(f->m->mod, id, types, (size_t)ntypes);
  LLVMTypeRef type = LLVMIntrinsicGetType(f->m->ctx, id, types, (size_t)ntypes);
  return cg_fast(f, LLVMBuildCall2(f->b, type, fn, args, (unsigned)nargs, ""));
}

LLVMValueRef cg_extern(cg_fn *f, const char *name, LLVMTypeRef type) {
  LLVMValueRef fn = LLVMGetNamedFunction(f->m->mod, name);
  return fn ? fn : LLVMAddFunction(f->m->mod, name, type);
}

/* ---- C functions and functions of the module ---- */

/* Call with the arguments from the `first` on; handles of no bits mean no result. */
static LLVMValueRef call_with(cg_fn *f, const tn_Call *call, const char *name, int64_t first) {
  int64_t n = call->args->len - first;
  LLVMTypeRef ret;
  TN_AUTOFREE LLVMValueRef *args = tn_alloc_zero((size_t)n + 1, sizeof *args);
  TN_AUTOFREE LLVMTypeRef *types = tn_alloc_zero((size_t)n + 1, sizeof *types);
  if (!args || !types) return NULL;
  TN_GETP(ret, cg_type(f->m, call->dtype));
  for (int64_t i = 0; i < n; ++i) {
    TN_GETP(args[i], cg_expr(f, cg_arg(call, first + i)));
    types[i] = LLVMTypeOf(args[i]);
  }
  LLVMTypeRef type = LLVMFunctionType(ret, types, (unsigned)n, 0);
  return LLVMBuildCall2(f->b, type, cg_extern(f, name, type), args, (unsigned)n, "");
}

static LLVMValueRef call_extern(cg_fn *f, const tn_Call *call) {
  TN_TRYP(cg_need_args(call, 1));
  const tn_StringImm *name = TN_AS(StringImm, cg_arg(call, 0));
  TN_CHECKP(name, CodegenError, call->span, "llvm: call_extern: expected the name of a function");
  return call_with(f, call, tn_cstr(name->value), 1);
}

static LLVMValueRef call_function(cg_fn *f, const tn_Call *call) {
  const tn_GlobalVar *v = (const tn_GlobalVar *)call->op;
  const tn_PrimFunc *callee = TN_AS(PrimFunc, ir_module_lookup(f->m->ir, v));
  TN_CHECKP(callee, CodegenError, call->span, "llvm: %s: %s is not a tensor program of the module",
            f->name, tn_cstr(v->name_hint));
  const char *name = cg_symbol(v, callee);
  LLVMValueRef fn = LLVMGetNamedFunction(f->m->mod, name);
  bool is_void = LLVMGetReturnType(LLVMGlobalGetValueType(fn)) == f->m->none;
  if (is_void || call->dtype.code != kDLOpaqueHandle || call->dtype.bits != 0)
    return call_with(f, call, name, 0);
  /* no result: what the function returns is its status */
  LLVMValueRef r;
  tn_Call *status;
  TN_GETP(status, TN_NEW(Call, .op = call->op, .args = call->args, .dtype = TN_I32));
  TN_GETP(r, call_with(f, status, name, 0));
  if (LLVMTypeOf(r) == f->m->i32) cg_check_status(f, r);
  return r;
}

static void put_type(tn_buf *out, LLVMTypeRef t) {
  char *text = LLVMPrintTypeToString(t);
  tn_buf_puts(out, text);
  LLVMDisposeMessage(text);
}

/* An overloaded intrinsic has the types that it was chosen by in its name. LLVM works them out when
   it reads a declaration with the plain name; which of the types count is not to be had otherwise.
   @return the module that holds the declaration, or NULL with CodegenError */
static LLVMModuleRef mangled(cg_fn *f, const char *base, LLVMTypeRef type) {
  TN_BUF(text);
  char *message = NULL;
  LLVMModuleRef out = NULL;
  LLVMTypeRef params[16];
  unsigned n = LLVMCountParamTypes(type);
  TN_CHECKP(n <= TN_COUNT(params), CodegenError, NULL, "llvm: %s: more than %d arguments", base,
            (int)TN_COUNT(params));
  LLVMGetParamTypes(type, params);
  tn_buf_puts(&text, "declare ");
  put_type(&text, LLVMGetReturnType(type));
  tn_buf_printf(&text, " @%s(", base);
  for (unsigned i = 0; i < n; ++i) {
    if (i) tn_buf_puts(&text, ", ");
    put_type(&text, params[i]);
  }
  tn_buf_puts(&text, ")\n");
  const char *code;
  TN_GETP(code, tn_buf_cstr(&text));
  LLVMMemoryBufferRef memory = LLVMCreateMemoryBufferWithMemoryRangeCopy(code, text.len, base);
  if (LLVMParseIRInContext(f->m->ctx, memory, &out, &message)) return cg_raise(base, message), NULL;
  return out;
}

/* The declaration of an intrinsic for arguments of these types. */
static LLVMValueRef declare(cg_fn *f, const tn_Call *call, unsigned id, LLVMTypeRef type) {
  size_t len = 0;
  const char *name = LLVMIntrinsicGetName(id, &len);
  if (!LLVMIntrinsicIsOverloaded(id)) return LLVMGetIntrinsicDeclaration(f->m->mod, id, NULL, 0);
  tn_str *base = tn_scope_own(tn_str_new_n(name, len));
  LLVMModuleRef holder;
  TN_GETP(holder, base ? mangled(f, tn_cstr(base), type) : NULL);
  LLVMValueRef found = LLVMGetFirstFunction(holder), fn = NULL;
  name = found ? LLVMGetValueName2(found, &len) : "";
  tn_str *full = tn_scope_own(tn_str_new_n(name, found ? len : 0));
  if (full && found && len > base->len) {
    fn = LLVMGetNamedFunction(f->m->mod, tn_cstr(full));
    if (!fn) fn = LLVMAddFunction(f->m->mod, tn_cstr(full), type);
  }
  LLVMDisposeModule(holder);
  TN_CHECKP(fn, CodegenError, call->span,
            "llvm: the intrinsic %s is not for arguments and a result of these types",
            tn_cstr(base));
  return fn;
}

/* Arguments: number of the intrinsic, how many arguments make up its signature, the arguments. */
static LLVMValueRef call_llvm(cg_fn *f, const tn_Call *call) {
  int64_t id, n = call->args->len - 2;
  LLVMTypeRef ret;
  LLVMValueRef fn;
  TN_TRYP(cg_need_args(call, 2));
  TN_CHECKP(tir_as_int((const tn_obj *)cg_arg(call, 0), &id), CodegenError, call->span,
            "llvm: call_llvm_intrin: expected the number of an intrinsic");
  TN_AUTOFREE LLVMValueRef *args = tn_alloc_zero((size_t)n + 1, sizeof *args);
  TN_AUTOFREE LLVMTypeRef *types = tn_alloc_zero((size_t)n + 1, sizeof *types);
  if (!args || !types) return NULL;
  for (int64_t i = 0; i < n; ++i) {
    TN_GETP(args[i], cg_expr(f, cg_arg(call, i + 2)));
    types[i] = LLVMTypeOf(args[i]);
  }
  TN_GETP(ret, cg_type(f->m, call->dtype));
  TN_GETP(fn, declare(f, call, (unsigned)id, LLVMFunctionType(ret, types, (unsigned)n, false)));
  LLVMTypeRef type = LLVMGlobalGetValueType(fn);
  TN_CHECKP(LLVMCountParamTypes(type) == (unsigned)n, CodegenError, call->span,
            "llvm: call_llvm_intrin: the intrinsic takes %u arguments, got %lld",
            LLVMCountParamTypes(type), (long long)n);
  return LLVMBuildCall2(f->b, type, fn, args, (unsigned)n, "");
}

/* ---- bits and choices ---- */

static LLVMValueRef bits(cg_fn *f, tir_op_id op, const tn_Call *call) {
  LLVMValueRef a, b;
  TN_TRYP(cg_need_args(call, op == TIR_OP_bitwise_not ? 1 : 2));
  TN_GETP(a, cg_expr(f, cg_arg(call, 0)));
  if (op == TIR_OP_bitwise_not) return LLVMBuildNot(f->b, a, "");
  TN_GETP(b, cg_expr(f, cg_arg(call, 1)));
  switch ((int)op) {
  case TIR_OP_bitwise_and: return LLVMBuildAnd(f->b, a, b, "");
  case TIR_OP_bitwise_or: return LLVMBuildOr(f->b, a, b, "");
  case TIR_OP_bitwise_xor: return LLVMBuildXor(f->b, a, b, "");
  }
  return cg_shift(f, op, ir_is_int(cg_arg(call, 0)->dtype), a, b);
}

static LLVMValueRef if_then_else(cg_fn *f, const tn_Call *call) {
  LLVMValueRef c, v[2];
  LLVMBasicBlockRef from[2], start[2] = {cg_block(f, "yes"), cg_block(f, "no")},
                             after = cg_block(f, "choice");
  TN_TRYP(cg_need_args(call, 3));
  TN_GETP(c, cg_expr(f, cg_arg(call, 0)));
  LLVMBuildCondBr(f->b, c, start[0], start[1]);
  for (int i = 0; i < 2; ++i) {
    LLVMPositionBuilderAtEnd(f->b, start[i]);
    TN_GETP(v[i], cg_expr(f, cg_arg(call, i + 1)));
    from[i] = LLVMGetInsertBlock(f->b);
    LLVMBuildBr(f->b, after);
  }
  LLVMPositionBuilderAtEnd(f->b, after);
  if (LLVMTypeOf(v[0]) == f->m->none) return v[0];
  LLVMValueRef phi = LLVMBuildPhi(f->b, LLVMTypeOf(v[0]), "");
  LLVMAddIncoming(phi, v, from, 2);
  return phi;
}

static LLVMValueRef large_uint(cg_fn *f, const tn_Call *call) {
  int64_t low = 0, high = 0;
  LLVMTypeRef t;
  TN_TRYP(cg_need_args(call, 2));
  tir_as_int((const tn_obj *)cg_arg(call, 0), &low);
  tir_as_int((const tn_obj *)cg_arg(call, 1), &high);
  TN_GETP(t, cg_type(f->m, call->dtype));
  return LLVMConstInt(t, (uint64_t)high << 32 | ((uint64_t)low & 0xffffffffu), 0);
}

/* Part of a vector: lanes begin ... begin + n - 1 of a and b put together. */
static LLVMValueRef part(cg_fn *f, LLVMValueRef a, LLVMValueRef b, int begin, int n) {
  TN_AUTOFREE LLVMValueRef *lanes = tn_alloc_zero((size_t)n + 1, sizeof *lanes);
  if (!lanes) return NULL;
  for (int i = 0; i < n; ++i) lanes[i] = cg_i32(f, begin + i);
  return LLVMBuildShuffleVector(f->b, a, b, LLVMConstVector(lanes, (unsigned)n), "");
}

static LLVMValueRef vector_op(cg_fn *f, tir_op_id op, const tn_Call *call) {
  LLVMValueRef a, b;
  TN_TRYP(cg_need_args(call, op == TIR_OP_vectorcombine ? 2 : 1));
  int n = cg_arg(call, 0)->dtype.lanes;
  TN_GETP(a, cg_expr(f, cg_arg(call, 0)));
  if (op == TIR_OP_vectorcombine) {
    TN_GETP(b, cg_expr(f, cg_arg(call, 1)));
    return part(f, a, b, 0, 2 * n);
  }
  return part(f, a, LLVMGetPoison(LLVMTypeOf(a)), op == TIR_OP_vectorhigh ? n / 2 : 0, n / 2);
}

static LLVMValueRef reinterpret(cg_fn *f, const tn_Call *call) {
  LLVMValueRef v;
  LLVMTypeRef t;
  TN_TRYP(cg_need_args(call, 1));
  TN_GETP(v, cg_expr(f, cg_arg(call, 0)));
  TN_GETP(t, cg_type(f->m, call->dtype));
  bool from_ptr = cg_arg(call, 0)->dtype.code == kDLOpaqueHandle;
  bool to_ptr = call->dtype.code == kDLOpaqueHandle;
  if (from_ptr && !to_ptr) return LLVMBuildPtrToInt(f->b, v, t, "");
  if (to_ptr && !from_ptr) return LLVMBuildIntToPtr(f->b, v, t, "");
  return LLVMBuildBitCast(f->b, v, t, "");
}

/* ---- dispatch ---- */

static LLVMValueRef unknown(cg_fn *f, const tn_Call *call) {
  return TN_RAISEP(CodegenError, call->span,
                   "llvm: %s: no code for the intrinsic %s: lower it first (tir.LowerIntrin, "
                   "tir.LowerTVMBuiltin)",
                   f->name, tn_cstr(((tn_Op *)call->op)->name));
}

static LLVMValueRef first_arg(cg_fn *f, const tn_Call *call) {
  TN_TRYP(cg_need_args(call, 1));
  return cg_expr(f, cg_arg(call, 0));
}

LLVMValueRef cg_call(cg_fn *f, const tn_Call *call) {
  bool done = true;
  if (call->op->hdr.type_index == TN_TI_GlobalVar) return call_function(f, call);
  tir_op_id op = tir_op_number((const tn_obj *)call->op);
  switch ((int)op) {
  case TIR_OP_bitwise_and:
  case TIR_OP_bitwise_or:
  case TIR_OP_bitwise_xor:
  case TIR_OP_bitwise_not:
  case TIR_OP_shift_left:
  case TIR_OP_shift_right: return bits(f, op, call);
  case TIR_OP_if_then_else: return if_then_else(f, call);
  case TIR_OP_likely:
  case TIR_OP_ignore_loop_partition:
  case TIR_OP_tvm_thread_invariant: return first_arg(f, call);
  case TIR_OP_large_uint_imm: return large_uint(f, call);
  case TIR_OP_reinterpret: return reinterpret(f, call);
  case TIR_OP_dot: return cg_dot(f, call);
  case TIR_OP_call_extern:
  case TIR_OP_call_pure_extern: return call_extern(f, call);
  case TIR_OP_call_llvm_intrin:
  case TIR_OP_call_llvm_pure_intrin: return call_llvm(f, call);
  case TIR_OP_tvm_static_handle: return cg_static_handle(f);
  case TIR_OP_vectorhigh:
  case TIR_OP_vectorlow:
  case TIR_OP_vectorcombine: return vector_op(f, op, call);
  case TIR_OP_END:
    return TN_RAISEP(CodegenError, call->span, "llvm: %s: call of something that is not a function",
                     f->name);
  }
  LLVMValueRef v = cg_tiles(f, op, call, &done);
  if (done) return v;
  done = true;
  v = cg_math(f, op, call, &done);
  if (!done) {
    done = true;
    v = cg_host(f, op, call, &done);
  }
  return done ? v : unknown(f, call);
}
