/* What host code does besides computing: fields of tensors and values, packed calls, workspace
   memory, returns. */
#include <string.h>

#include "dlpack/dlpack.h"
#include "codegen/llvm/cg.h"
#include "tvm/runtime/c_runtime_api.h"

/* ---- fields of run-time structures ---- */

/* Third argument of tvm_struct_get and tvm_struct_set. */
enum { FIELD_ADDRESS = 0, FIELD_VALUE = 12 };

typedef struct {
  size_t offset;
  int bits; /* 0: a pointer */
} field;

static const field fields[] = {
    {0, 0},
    {offsetof(DLTensor, data), 0},
    {offsetof(DLTensor, shape), 0},
    {offsetof(DLTensor, strides), 0},
    {offsetof(DLTensor, ndim), 32},
    {offsetof(DLTensor, dtype.code), 8},
    {offsetof(DLTensor, dtype.bits), 8},
    {offsetof(DLTensor, dtype.lanes), 16},
    {offsetof(DLTensor, byte_offset), 64},
    {offsetof(DLTensor, device.device_id), 32},
    {offsetof(DLTensor, device.device_type), 32},
};

static LLVMValueRef bytes_on(cg_fn *f, LLVMValueRef p, LLVMValueRef bytes) {
  return LLVMBuildInBoundsGEP2(f->b, f->m->i8, p, &bytes, 1, "");
}

/* Address of a field. @param t type of the value in memory */
static LLVMValueRef field_address(cg_fn *f, const tn_Call *call, tn_dtype *t) {
  int64_t kind;
  LLVMValueRef p, i;
  TN_TRYP(cg_need_args(call, 3));
  TN_GETP(p, cg_expr(f, cg_arg(call, 0)));
  TN_GETP(i, cg_index(f, cg_arg(call, 1)));
  TN_CHECKP(tir_as_int((const tn_obj *)cg_arg(call, 2), &kind) &&
                (kind == FIELD_VALUE || (kind >= 0 && kind < TN_COUNT(fields))),
            CodegenError, call->span, "llvm: %s: unknown field of a structure", f->name);
  size_t size = kind == FIELD_VALUE ? sizeof(TVMValue) : sizeof(DLTensor);
  p = bytes_on(f, p, LLVMBuildMul(f->b, i, cg_i64(f, (int64_t)size), ""));
  if (kind == FIELD_VALUE || kind == FIELD_ADDRESS) return p;
  *t = fields[kind].bits ? tn_dtype_of(kDLInt, fields[kind].bits, 1) : TN_HANDLE;
  return bytes_on(f, p, cg_i64(f, (int64_t)fields[kind].offset));
}

/* Type in which a value of a packed call travels. */
static tn_dtype value_type(tn_dtype t) {
  if (ir_is_integral(t)) return TN_I64;
  return t.code == kDLFloat ? TN_F64 : TN_HANDLE;
}

static bool is_kind(const tn_Call *call, int64_t want) {
  int64_t kind;
  return call->args->len > 2 && tir_as_int((const tn_obj *)cg_arg(call, 2), &kind) && kind == want;
}

static LLVMValueRef struct_get(cg_fn *f, const tn_Call *call) {
  tn_dtype t = value_type(call->dtype);
  LLVMValueRef p;
  LLVMTypeRef type;
  TN_GETP(p, field_address(f, call, &t));
  if (is_kind(call, FIELD_ADDRESS)) return p;
  TN_GETP(type, cg_type(f->m, t));
  return cg_cast(f, LLVMBuildLoad2(f->b, type, p, ""), t, call->dtype);
}

static LLVMValueRef struct_set(cg_fn *f, const tn_Call *call) {
  TN_TRYP(cg_need_args(call, 4));
  const tn_expr *value = cg_arg(call, 3);
  tn_dtype t = value_type(value->dtype);
  LLVMValueRef p, v;
  TN_GETP(p, field_address(f, call, &t));
  TN_GETP(v, cg_expr(f, value));
  TN_GETP(v, cg_cast(f, v, value->dtype, t));
  LLVMBuildStore(f->b, v, p);
  return cg_i32(f, 0);
}

static LLVMValueRef stack_alloca(cg_fn *f, const tn_Call *call) {
  int64_t n;
  TN_TRYP(cg_need_args(call, 2));
  const tn_StringImm *what = TN_AS(StringImm, cg_arg(call, 0));
  TN_CHECKP(what && tir_as_int((const tn_obj *)cg_arg(call, 1), &n) && n >= 0, CodegenError,
            call->span, "llvm: %s: tvm_stack_alloca: expected a kind and a constant number",
            f->name);
  const char *kind = tn_cstr(what->value);
  size_t size = strcmp(kind, "shape") == 0       ? sizeof(int64_t)
                : strcmp(kind, "arg_value") == 0 ? sizeof(TVMValue)
                : strcmp(kind, "arg_tcode") == 0 ? sizeof(int)
                : strcmp(kind, "array") == 0     ? sizeof(DLTensor)
                                                 : 0;
  TN_CHECKP(size, CodegenError, call->span, "llvm: %s: tvm_stack_alloca: unknown kind %s", f->name,
            kind);
  return cg_alloca(f, f->m->i8, (int64_t)size * n, 16, kind);
}

/* ---- packed calls ---- */

static LLVMValueRef module_context(cg_fn *f) {
  LLVMValueRef g = LLVMGetNamedGlobal(f->m->mod, "__tvm_module_ctx");
  return LLVMBuildLoad2(f->b, f->m->ptr, g, "");
}

/* The function of a name, looked up once and kept in a variable. */
static LLVMValueRef packed_handle(cg_fn *f, const char *name) {
  tn_str *symbol;
  TN_GETP(symbol, tn_str_fmt(".packed.%s", name));
  LLVMValueRef g = LLVMGetNamedGlobal(f->m->mod, tn_cstr(symbol));
  if (!g) {
    g = LLVMAddGlobal(f->m->mod, f->m->ptr, tn_cstr(symbol));
    LLVMSetInitializer(g, LLVMConstNull(f->m->ptr));
    LLVMSetLinkage(g, LLVMInternalLinkage);
  }
  LLVMBasicBlockRef find = cg_block(f, "find"), found = cg_block(f, "found");
  LLVMValueRef have = LLVMBuildLoad2(f->b, f->m->ptr, g, "");
  LLVMBuildCondBr(f->b, LLVMBuildIsNull(f->b, have, ""), find, found);
  LLVMPositionBuilderAtEnd(f->b, find);
  LLVMTypeRef params[3] = {f->m->ptr, f->m->ptr, f->m->ptr};
  LLVMTypeRef type = LLVMFunctionType(f->m->i32, params, 3, 0);
  LLVMValueRef args[3] = {module_context(f), LLVMBuildGlobalStringPtr(f->b, name, "name"), g};
  LLVMValueRef get = cg_extern(f, "TVMBackendGetFuncFromEnv", type);
  cg_check_status(f, LLVMBuildCall2(f->b, type, get, args, 3, ""));
  LLVMBuildBr(f->b, found);
  LLVMPositionBuilderAtEnd(f->b, found);
  return LLVMBuildLoad2(f->b, f->m->ptr, g, "");
}

/* Values and codes of a call, and where its result goes: behind its arguments. */
typedef struct {
  const char *name;
  LLVMValueRef values, codes, n, ret_value, ret_code;
} packed_args;

static int read_packed(cg_fn *f, const tn_Call *call, packed_args *p) {
  LLVMValueRef values, codes, begin, end;
  TN_TRY(cg_need_args(call, 5));
  const tn_StringImm *name = TN_AS(StringImm, cg_arg(call, 0));
  TN_CHECK(name, CodegenError, call->span, "llvm: %s: packed call: expected a name", f->name);
  p->name = tn_cstr(name->value);
  TN_GET(values, cg_expr(f, cg_arg(call, 1)));
  TN_GET(codes, cg_expr(f, cg_arg(call, 2)));
  TN_GET(begin, cg_index(f, cg_arg(call, 3)));
  TN_GET(end, cg_index(f, cg_arg(call, 4)));
  LLVMTypeRef slot = f->m->i64, code = f->m->i32;
  p->values = LLVMBuildInBoundsGEP2(f->b, slot, values, &begin, 1, "");
  p->codes = LLVMBuildInBoundsGEP2(f->b, code, codes, &begin, 1, "");
  p->ret_value = LLVMBuildInBoundsGEP2(f->b, slot, values, &end, 1, "");
  p->ret_code = LLVMBuildInBoundsGEP2(f->b, code, codes, &end, 1, "");
  p->n = LLVMBuildTrunc(f->b, LLVMBuildSub(f->b, end, begin, ""), f->m->i32, "");
  return 0;
}

static LLVMValueRef packed_result(cg_fn *f, const tn_Call *call, const packed_args *p) {
  tn_dtype t = value_type(call->dtype);
  LLVMTypeRef type;
  if (call->dtype.code == kDLOpaqueHandle && call->dtype.bits == 0) return cg_i32(f, 0);
  TN_GETP(type, cg_type(f->m, t));
  return cg_cast(f, LLVMBuildLoad2(f->b, type, p->ret_value, ""), t, call->dtype);
}

static LLVMValueRef call_packed(cg_fn *f, const tn_Call *call) {
  packed_args p;
  LLVMValueRef handle;
  TN_TRYP(read_packed(f, call, &p));
  TN_GETP(handle, packed_handle(f, p.name));
  LLVMTypeRef ptr = f->m->ptr, params[6] = {ptr, ptr, ptr, f->m->i32, ptr, ptr};
  LLVMTypeRef type = LLVMFunctionType(f->m->i32, params, 6, 0);
  LLVMValueRef args[6] = {handle, p.values, p.codes, p.n, p.ret_value, p.ret_code};
  cg_check_status(f, LLVMBuildCall2(f->b, type, cg_extern(f, "TVMFuncCall", type), args, 6, ""));
  return packed_result(f, call, &p);
}

/* A function with the packed signature, called by its symbol. */
static LLVMValueRef call_cpacked(cg_fn *f, const tn_Call *call) {
  packed_args p;
  LLVMValueRef resource = LLVMConstNull(f->m->ptr);
  TN_TRYP(read_packed(f, call, &p));
  if (call->args->len > 5 && cg_arg(call, 5)->dtype.code == kDLOpaqueHandle)
    TN_GETP(resource, cg_expr(f, cg_arg(call, 5)));
  LLVMTypeRef ptr = f->m->ptr, params[6] = {ptr, ptr, f->m->i32, ptr, ptr, ptr};
  LLVMTypeRef type = LLVMFunctionType(f->m->i32, params, 6, 0);
  LLVMValueRef args[6] = {p.values, p.codes, p.n, p.ret_value, p.ret_code, resource};
  cg_check_status(f, LLVMBuildCall2(f->b, type, cg_extern(f, p.name, type), args, 6, ""));
  return packed_result(f, call, &p);
}

/* ---- memory ---- */

static LLVMValueRef workspace(cg_fn *f, const tn_Call *call, bool alloc) {
  const char *name = alloc ? "TVMBackendAllocWorkspace" : "TVMBackendFreeWorkspace";
  int n = alloc ? 5 : 3;
  LLVMTypeRef i32 = f->m->i32, ptr = f->m->ptr;
  LLVMTypeRef params[5] = {i32, i32, alloc ? f->m->i64 : ptr, i32, i32};
  LLVMTypeRef type = LLVMFunctionType(alloc ? ptr : i32, params, (unsigned)n, 0);
  LLVMValueRef args[5];
  TN_TRYP(cg_need_args(call, n));
  for (int i = 0; i < n; ++i) {
    const tn_expr *e = cg_arg(call, i);
    tn_dtype t = i != 2 ? TN_I32 : alloc ? TN_I64 : TN_HANDLE;
    TN_GETP(args[i], cg_expr(f, e));
    TN_GETP(args[i], cg_cast(f, args[i], e->dtype, t));
  }
  return LLVMBuildCall2(f->b, type, cg_extern(f, name, type), args, (unsigned)n, "");
}

/* tvm_access_ptr(type, data, offset, extent, mask) */
static LLVMValueRef access_ptr(cg_fn *f, const tn_Call *call) {
  LLVMTypeRef t;
  LLVMValueRef p, i;
  TN_TRYP(cg_need_args(call, 3));
  TN_GETP(t, cg_memory_type(f->m, cg_arg(call, 0)->dtype));
  TN_GETP(p, cg_expr(f, cg_arg(call, 1)));
  TN_GETP(i, cg_index(f, cg_arg(call, 2)));
  return LLVMBuildInBoundsGEP2(f->b, t, p, &i, 1, "");
}

static LLVMValueRef byte_offset(cg_fn *f, const tn_Call *call) {
  LLVMValueRef p, i;
  TN_TRYP(cg_need_args(call, 2));
  TN_GETP(p, cg_expr(f, cg_arg(call, 0)));
  TN_GETP(i, cg_index(f, cg_arg(call, 1)));
  return LLVMBuildGEP2(f->b, f->m->i8, p, &i, 1, "");
}

static LLVMValueRef address_of(cg_fn *f, const tn_Call *call) {
  TN_TRYP(cg_need_args(call, 1));
  const tn_BufferLoad *load = TN_AS(BufferLoad, cg_arg(call, 0));
  TN_CHECKP(load, CodegenError, call->span, "llvm: %s: address_of: expected an element of a buffer",
            f->name);
  return cg_address(f, load);
}

static LLVMValueRef mem_copy(cg_fn *f, const tn_Call *call) {
  LLVMValueRef to, from, n;
  TN_TRYP(cg_need_args(call, 3));
  TN_GETP(to, cg_expr(f, cg_arg(call, 0)));
  TN_GETP(from, cg_expr(f, cg_arg(call, 1)));
  TN_GETP(n, cg_index(f, cg_arg(call, 2)));
  return LLVMBuildMemCpy(f->b, to, 1, from, 1, n);
}

static LLVMValueRef prefetch(cg_fn *f, const tn_Call *call) {
  LLVMValueRef args[4];
  TN_TRYP(cg_need_args(call, 4));
  for (int i = 0; i < 4; ++i) TN_GETP(args[i], cg_expr(f, cg_arg(call, i)));
  return cg_intrinsic(f, "llvm.prefetch", &f->m->ptr, 1, args, 4);
}

static LLVMValueRef assume(cg_fn *f, const tn_Call *call) {
  LLVMValueRef holds;
  TN_TRYP(cg_need_args(call, 1));
  if (cg_arg(call, 0)->dtype.lanes != 1) return cg_i32(f, 0); /* nobody asks for it by lane */
  TN_GETP(holds, cg_expr(f, cg_arg(call, 0)));
  return cg_intrinsic(f, "llvm.assume", NULL, 0, &holds, 1);
}

static LLVMValueRef atomic_add(cg_fn *f, const tn_Call *call) {
  LLVMValueRef p, v;
  TN_TRYP(cg_need_args(call, 2));
  TN_GETP(p, cg_expr(f, cg_arg(call, 0)));
  TN_GETP(v, cg_expr(f, cg_arg(call, 1)));
  LLVMAtomicRMWBinOp op =
      ir_is_integral(call->dtype) ? LLVMAtomicRMWBinOpAdd : LLVMAtomicRMWBinOpFAdd;
  return LLVMBuildAtomicRMW(f->b, op, p, v, LLVMAtomicOrderingMonotonic, 0);
}

/* ---- leaving ---- */

static LLVMValueRef ret(cg_fn *f, const tn_Call *call) {
  LLVMValueRef v;
  TN_TRYP(cg_need_args(call, 1));
  TN_GETP(v, cg_expr(f, cg_arg(call, 0)));
  TN_CHECKP(LLVMTypeOf(v) == f->ret, CodegenError, call->span,
            "llvm: %s: returns %s here and something else elsewhere", f->name,
            TN_DT(cg_arg(call, 0)->dtype));
  cg_return(f, v);
  return cg_i32(f, 0);
}

static LLVMValueRef throw_error(cg_fn *f) {
  cg_return(f, NULL);
  return cg_i32(f, 0);
}

/* tvm_check_return(expected, unexpected, call) */
static LLVMValueRef check_return(cg_fn *f, const tn_Call *call) {
  LLVMValueRef want, got, value;
  TN_TRYP(cg_need_args(call, 3));
  TN_GETP(want, cg_expr(f, cg_arg(call, 0)));
  TN_GETP(value, cg_expr(f, cg_arg(call, 1)));
  TN_GETP(got, cg_expr(f, cg_arg(call, 2)));
  LLVMBasicBlockRef failed = cg_block(f, "failed"), ok = cg_block(f, "ok");
  LLVMBuildCondBr(f->b, LLVMBuildICmp(f->b, LLVMIntEQ, got, want, ""), ok, failed);
  LLVMPositionBuilderAtEnd(f->b, failed);
  LLVMBuildRet(f->b, LLVMTypeOf(value) == f->ret ? value : LLVMConstAllOnes(f->ret));
  LLVMPositionBuilderAtEnd(f->b, ok);
  return cg_i32(f, 0);
}

static LLVMValueRef is_null(cg_fn *f, const tn_Call *call) {
  LLVMValueRef p;
  TN_TRYP(cg_need_args(call, 1));
  TN_GETP(p, cg_expr(f, cg_arg(call, 0)));
  return LLVMBuildIsNull(f->b, p, "");
}

LLVMValueRef cg_host(cg_fn *f, tir_op_id op, const tn_Call *call, bool *done) {
  LLVMTypeRef t;
  switch ((int)op) {
  case TIR_OP_ret: return ret(f, call);
  case TIR_OP_tvm_throw_last_error: return throw_error(f);
  case TIR_OP_tvm_check_return: return check_return(f, call);
  case TIR_OP_tvm_check_tensors: return cg_check_tensors(f, call);
  case TIR_OP_tvm_struct_get: return struct_get(f, call);
  case TIR_OP_tvm_struct_set: return struct_set(f, call);
  case TIR_OP_tvm_stack_alloca: return stack_alloca(f, call);
  case TIR_OP_tvm_call_packed_lowered: return call_packed(f, call);
  case TIR_OP_tvm_call_cpacked_lowered: return call_cpacked(f, call);
  case TIR_OP_TVMBackendAllocWorkspace: return workspace(f, call, true);
  case TIR_OP_TVMBackendFreeWorkspace: return workspace(f, call, false);
  case TIR_OP_tvm_access_ptr: return access_ptr(f, call);
  case TIR_OP_handle_add_byte_offset: return byte_offset(f, call);
  case TIR_OP_address_of: return address_of(f, call);
  case TIR_OP_isnullptr: return is_null(f, call);
  case TIR_OP_mem_copy: return mem_copy(f, call);
  case TIR_OP_prefetch: return prefetch(f, call);
  case TIR_OP_atomic_add: return atomic_add(f, call);
  case TIR_OP_assume: return assume(f, call);
  case TIR_OP_tvm_storage_sync:
  case TIR_OP_start_profile_intrinsic:
  case TIR_OP_end_profile_intrinsic: return cg_i32(f, 0); /* nothing to do on a CPU */
  case TIR_OP_type_annotation:
  case TIR_OP_undef: TN_GETP(t, cg_type(f->m, call->dtype)); return LLVMGetUndef(t);
  }
  *done = false;
  return NULL;
}
