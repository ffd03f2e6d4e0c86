/* Calls of intrinsics, of functions of the module, and of packed functions. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "codegen/interp/interp.h"

static const tn_expr *arg(const tn_Call *call, int64_t i) {
  return (const tn_expr *)tn_arr_obj(call->args, i);
}

static int need(in_frame *f, const tn_Call *call, int64_t n) {
  TN_CHECK(call->args->len >= n, CodegenError, call->span,
           "stackvm: %s: %s: expected at least %d arguments, got %d", f->name,
           tn_cstr(((const tn_Op *)call->op)->name), (int)n, (int)call->args->len);
  return 0;
}

static bool is_void(tn_dtype t) { return t.code == kDLOpaqueHandle && t.bits == 0; }

/* ---- functions of the module ---- */

/* A function without a result says whether it failed. */
static int call_function(in_frame *f, const tn_Call *call, in_value *out) {
  const tn_GlobalVar *v = (const tn_GlobalVar *)call->op;
  const tn_PrimFunc *callee = TN_AS(PrimFunc, ir_module_lookup(f->m->ir, v));
  in_value *values;
  TN_CHECK(callee, CodegenError, call->span,
           "stackvm: %s: %s is not a tensor program of the module", f->name, tn_cstr(v->name_hint));
  TN_GET(values, tn_alloc_zero((size_t)call->args->len + 1, sizeof *values));
  int err = 0;
  for (int64_t i = 0; !err && i < call->args->len; ++i)
    err = in_eval(f, arg(call, i), 0, &values[i]);
  if (!err) err = in_run(f->m, callee, tn_cstr(v->name_hint), values, call->args->len, out);
  tn_free(values);
  if (err) return -1;
  return is_void(call->dtype) && out->i != 0 ? tn_legacy_unpark() : 0;
}

/* ---- packed functions: name, values, codes, begin, end ---- */

static int result_of(tn_dtype t, const TVMValue *v, in_value *out) {
  if (ir_is_integral(t)) {
    out->i = in_wrap(t, (uint64_t)v->v_int64);
  } else if (t.code == kDLOpaqueHandle) {
    out->p = v->v_handle;
  } else {
    out->f = in_round(t, v->v_float64);
  }
  return 0;
}

static int call_packed(in_frame *f, const tn_Call *call, bool by_symbol, in_value *out) {
  in_value x[5];
  TVMFunctionHandle func;
  TN_TRY(need(f, call, 5));
  const tn_StringImm *name = TN_AS(StringImm, arg(call, 0));
  TN_CHECK(name, CodegenError, call->span, "stackvm: %s: packed call: expected a name", f->name);
  for (int i = 1; i < 5; ++i) TN_TRY(in_eval(f, arg(call, i), 0, &x[i]));
  TVMValue *values = (TVMValue *)x[1].p + x[3].i, *ret = (TVMValue *)x[1].p + x[4].i;
  int *codes = (int *)x[2].p + x[3].i, *ret_code = (int *)x[2].p + x[4].i;
  int n = (int)(x[4].i - x[3].i);
  if (by_symbol) {
    const char *symbol = tn_cstr(name->value);
    const tn_PrimFunc *callee = in_find(f->m, symbol);
    TN_CHECK(callee, CodegenError, call->span, "stackvm: %s: no function %s is in the module",
             f->name, symbol);
    TN_TRY(in_run_packed(f->m, callee, symbol, values, codes, n, ret, ret_code));
  } else {
    if (TVMBackendGetFuncFromEnv(&f->m->lib, tn_cstr(name->value), &func) ||
        TVMFuncCall(func, values, codes, n, ret, ret_code))
      return tn_legacy_unpark();
  }
  return is_void(call->dtype) ? 0 : result_of(call->dtype, ret, out);
}

/* ---- run-time structures ---- */

enum { FIELD_VALUE = 12 };

/* The member of a tensor: its place and type. */
static int member(in_frame *f, const tn_Call *call, DLTensor *t, int64_t kind, void **at,
                  tn_dtype *type) {
  static const tn_dtype i32 = {kDLInt, 32, 1}, i64 = {kDLInt, 64, 1}, u8 = {kDLUInt, 8, 1},
                        u16 = {kDLUInt, 16, 1}, pointer = {kDLOpaqueHandle, 64, 1};
  switch (kind) {
  case 1: *at = &t->data, *type = pointer; return 0;
  case 2: *at = &t->shape, *type = pointer; return 0;
  case 3: *at = &t->strides, *type = pointer; return 0;
  case 4: *at = &t->ndim, *type = i32; return 0;
  case 5: *at = &t->dtype.code, *type = u8; return 0;
  case 6: *at = &t->dtype.bits, *type = u8; return 0;
  case 7: *at = &t->dtype.lanes, *type = u16; return 0;
  case 8: *at = &t->byte_offset, *type = i64; return 0;
  case 9: *at = &t->device.device_id, *type = i32; return 0;
  case 10: *at = &t->device.device_type, *type = i32; return 0;
  }
  return TN_RAISE(CodegenError, call->span, "stackvm: %s: unknown field %d of a structure", f->name,
                  (int)kind);
}

static int field_of(in_frame *f, const tn_Call *call, in_value x[3]) {
  TN_TRY(need(f, call, 3));
  for (int i = 0; i < 3; ++i) TN_TRY(in_eval(f, arg(call, i), 0, &x[i]));
  TN_CHECK(x[0].p || x[2].i == 0, ValueError, call->span, "stackvm: %s: a field of a null pointer",
           f->name);
  return 0;
}

static int struct_get(in_frame *f, const tn_Call *call, in_value *out) {
  in_value x[3];
  void *at;
  tn_dtype type;
  TN_TRY(field_of(f, call, x));
  if (x[2].i == FIELD_VALUE) return result_of(call->dtype, (TVMValue *)x[0].p + x[1].i, out);
  DLTensor *t = (DLTensor *)x[0].p + x[1].i;
  if (x[2].i == 0) {
    out->p = t;
    return 0;
  }
  TN_TRY(member(f, call, t, x[2].i, &at, &type));
  TN_TRY(in_read(f, type, at, out));
  *out = in_cast(type, call->dtype, *out);
  return 0;
}

static int struct_set(in_frame *f, const tn_Call *call) {
  in_value x[3], v;
  void *at;
  tn_dtype type;
  TN_TRY(field_of(f, call, x));
  TN_TRY(need(f, call, 4));
  TN_TRY(in_eval(f, arg(call, 3), 0, &v));
  if (x[2].i == FIELD_VALUE) {
    memcpy((TVMValue *)x[0].p + x[1].i, &v, sizeof v);
    return 0;
  }
  TN_TRY(member(f, call, (DLTensor *)x[0].p + x[1].i, x[2].i, &at, &type));
  return in_write(f, type, at, in_cast(arg(call, 3)->dtype, type, v));
}

/* One block for each such call: it lives until the function ends. */
static int stack_alloca(in_frame *f, const tn_Call *call, in_value *out) {
  in_value n;
  TN_TRY(need(f, call, 2));
  const tn_StringImm *what = TN_AS(StringImm, arg(call, 0));
  TN_CHECK(what, CodegenError, call->span, "stackvm: %s: tvm_stack_alloca: expected a kind",
           f->name);
  out->p = tn_pmap_get(&f->stack, call);
  if (out->p) return 0;
  TN_TRY(in_eval(f, arg(call, 1), 0, &n));
  size_t size = strcmp(tn_cstr(what->value), "array") == 0 ? sizeof(DLTensor) : sizeof(TVMValue);
  TN_GET(out->p, tn_alloc_zero(n.i > 0 ? (size_t)n.i : 1, size));
  if (tn_pmap_put(&f->stack, call, out->p) == 0) return 0;
  tn_free(out->p);
  return -1;
}

static int workspace(in_frame *f, const tn_Call *call, bool give_back, in_value *out) {
  in_value x[5] = {{0}};
  TN_TRY(need(f, call, give_back ? 3 : 5));
  for (int i = 0; i < (give_back ? 3 : 5); ++i) TN_TRY(in_eval(f, arg(call, i), 0, &x[i]));
  if (give_back) {
    out->i = TVMBackendFreeWorkspace((int)x[0].i, (int)x[1].i, x[2].p);
  } else {
    out->p = TVMBackendAllocWorkspace((int)x[0].i, (int)x[1].i, (uint64_t)x[2].i, (int)x[3].i,
                                      (int)x[4].i);
  }
  return 0;
}

/* ---- bits and others ---- */

/* Shifted by all bits or more, or by a negative number: nothing is left but the sign. */
static uint64_t shift(tir_op_id op, tn_dtype t, int64_t a, uint64_t by) {
  bool all = by >= t.bits;
  if (op == TIR_OP_shift_left) return all ? 0 : (uint64_t)a << by;
  if (ir_is_int(t)) return (uint64_t)(a >> (all ? 63 : by));
  return all ? 0 : (uint64_t)a >> by;
}

static int bits(in_frame *f, tir_op_id op, const tn_Call *call, int lane, in_value *out) {
  in_value a, b;
  TN_TRY(need(f, call, 2));
  TN_TRY(in_eval(f, arg(call, 0), lane, &a));
  TN_TRY(in_eval(f, arg(call, 1), lane, &b));
  uint64_t x = (uint64_t)a.i, y = (uint64_t)b.i;
  uint64_t v = op == TIR_OP_bitwise_and   ? x & y
               : op == TIR_OP_bitwise_or  ? x | y
               : op == TIR_OP_bitwise_xor ? x ^ y
                                          : shift(op, arg(call, 0)->dtype, a.i, y);
  out->i = in_wrap(call->dtype, v);
  return 0;
}

static int reinterpret(in_frame *f, const tn_Call *call, int lane, in_value *out) {
  in_value v;
  uint64_t raw = 0;
  TN_TRY(need(f, call, 1));
  TN_TRY(in_eval(f, arg(call, 0), lane, &v));
  TN_TRY(in_write(f, arg(call, 0)->dtype, &raw, v));
  return in_read(f, call->dtype, &raw, out);
}

static int large_uint(in_frame *f, const tn_Call *call, in_value *out) {
  in_value low, high;
  TN_TRY(need(f, call, 2));
  TN_TRY(in_eval(f, arg(call, 0), 0, &low));
  TN_TRY(in_eval(f, arg(call, 1), 0, &high));
  out->i = (int64_t)((uint64_t)high.i << 32 | ((uint64_t)low.i & 0xffffffffU));
  return 0;
}

/* Intrinsics of one argument, and the choice. */
static int one(in_frame *f, tir_op_id op, const tn_Call *call, int lane, in_value *out) {
  in_value x;
  TN_TRY(need(f, call, op == TIR_OP_if_then_else ? 3 : 1));
  TN_TRY(in_eval(f, arg(call, 0), lane, &x));
  *out = x;
  switch ((int)op) {
  case TIR_OP_if_then_else: return in_eval(f, arg(call, x.i ? 1 : 2), lane, out);
  case TIR_OP_bitwise_not: out->i = in_wrap(call->dtype, ~(uint64_t)x.i); break;
  case TIR_OP_isnan: out->i = isnan(x.f) != 0; break;
  case TIR_OP_isinf: out->i = isinf(x.f) != 0; break;
  case TIR_OP_isfinite: out->i = isfinite(x.f) != 0; break;
  case TIR_OP_isnullptr: out->i = x.p == NULL; break;
  case TIR_OP_ret: f->result = x, f->returned = true; break;
  default: break; /* likely, tvm_thread_invariant: the argument */
  }
  return 0;
}

/* (expected, unexpected, call): the function returns `unexpected` when the call gave something else
 */
static int check_return(in_frame *f, const tn_Call *call, in_value *out) {
  in_value want, got;
  TN_TRY(need(f, call, 3));
  TN_TRY(in_eval(f, arg(call, 0), 0, &want));
  TN_TRY(in_eval(f, arg(call, 2), 0, &got));
  if (want.i == got.i) return 0;
  TN_TRY(in_eval(f, arg(call, 1), 0, out));
  f->result = *out;
  f->returned = true;
  return 0;
}

int in_call(in_frame *f, const tn_Call *call, int lane, in_value *out) {
  bool found;
  out->i = 0;
  if (call->op->hdr.type_index == TN_TI_GlobalVar) return call_function(f, call, out);
  tir_op_id op = tir_op_number((const tn_obj *)call->op);
  TN_TRY(in_math(f, op, call, 0, lane, out, &found));
  if (!found) TN_TRY(in_memory_call(f, op, call, lane, out, &found));
  if (found) return 0;
  switch ((int)op) {
  case TIR_OP_bitwise_and:
  case TIR_OP_bitwise_or:
  case TIR_OP_bitwise_xor:
  case TIR_OP_shift_left:
  case TIR_OP_shift_right: return bits(f, op, call, lane, out);
  case TIR_OP_bitwise_not:
  case TIR_OP_likely:
  case TIR_OP_ignore_loop_partition:
  case TIR_OP_tvm_thread_invariant:
  case TIR_OP_isnan:
  case TIR_OP_isinf:
  case TIR_OP_isfinite:
  case TIR_OP_isnullptr:
  case TIR_OP_ret:
  case TIR_OP_if_then_else: return one(f, op, call, lane, out);
  case TIR_OP_large_uint_imm: return large_uint(f, call, out);
  case TIR_OP_reinterpret: return reinterpret(f, call, lane, out);
  case TIR_OP_tvm_struct_get: return struct_get(f, call, out);
  case TIR_OP_tvm_struct_set: return struct_set(f, call);
  case TIR_OP_tvm_stack_alloca: return stack_alloca(f, call, out);
  case TIR_OP_tvm_call_packed_lowered: return call_packed(f, call, false, out);
  case TIR_OP_tvm_call_cpacked_lowered: return call_packed(f, call, true, out);
  case TIR_OP_TVMBackendAllocWorkspace: return workspace(f, call, false, out);
  case TIR_OP_TVMBackendFreeWorkspace: return workspace(f, call, true, out);
  case TIR_OP_tvm_throw_last_error: return tn_legacy_unpark();
  case TIR_OP_assume:
  case TIR_OP_prefetch:
  case TIR_OP_type_annotation:
  case TIR_OP_undef:
  case TIR_OP_start_profile_intrinsic:
  case TIR_OP_end_profile_intrinsic:
  case TIR_OP_tvm_storage_sync: return 0;
  case TIR_OP_call_extern:
  case TIR_OP_call_pure_extern: return in_call_extern(f, call, lane, out);
  case TIR_OP_tvm_check_return: return check_return(f, call, out);
  }
  return TN_RAISE(CodegenError, call->span,
                  "stackvm: %s: the intrinsic %s cannot be interpreted: lower it first", f->name,
                  op == TIR_OP_END ? "?" : tn_cstr(((tn_Op *)call->op)->name));
}
