/* Intrinsics of pointers, of parts of vectors, and of bits. */
#include <math.h>
#include <string.h>

#include "codegen/interp/interp.h"

static const tn_expr *arg(const tn_Call *call, int64_t i) {
  return (const tn_expr *)tn_arr_obj(call->args, i);
}

static int address_of(in_frame *f, const tn_Call *call, in_value *out) {
  char *p;
  const tn_BufferLoad *load = TN_AS(BufferLoad, arg(call, 0));
  TN_CHECK(load, CodegenError, call->span,
           "stackvm: %s: address_of: expected an element of a buffer", f->name);
  TN_TRY(in_element(f, load->buffer, load->indices, 0, &p));
  out->p = p;
  return 0;
}

/* A pointer, arguments from the first on, and how many times `size` bytes behind it. */
static int pointer_plus(in_frame *f, const tn_Call *call, int64_t first, size_t size,
                        in_value *out) {
  in_value p, n;
  TN_TRY(in_eval(f, arg(call, first), 0, &p));
  TN_TRY(in_eval(f, arg(call, first + 1), 0, &n));
  out->p = p.p ? (char *)p.p + n.i * (int64_t)size : NULL;
  return 0;
}

static int access_ptr(in_frame *f, const tn_Call *call, in_value *out) {
  size_t size;
  TN_GET(size, in_size(f, ir_with_lanes(arg(call, 0)->dtype, 1)));
  return pointer_plus(f, call, 1, size, out);
}

static int copy(in_frame *f, const tn_Call *call) {
  in_value to, from, n;
  TN_TRY(in_eval(f, arg(call, 0), 0, &to));
  TN_TRY(in_eval(f, arg(call, 1), 0, &from));
  TN_TRY(in_eval(f, arg(call, 2), 0, &n));
  TN_CHECK(n.i <= 0 || (to.p && from.p), ValueError, call->span,
           "stackvm: %s: mem_copy: a null pointer", f->name);
  if (n.i > 0) memcpy(to.p, from.p, (size_t)n.i);
  return 0;
}

static int vector_part(in_frame *f, tir_op_id op, const tn_Call *call, int lane, in_value *out) {
  int n = arg(call, 0)->dtype.lanes;
  if (op == TIR_OP_vectorcombine)
    return in_eval(f, arg(call, lane < n ? 0 : 1), lane < n ? lane : lane - n, out);
  return in_eval(f, arg(call, 0), op == TIR_OP_vectorhigh ? lane + n / 2 : lane, out);
}

static int count_bits(in_frame *f, tir_op_id op, const tn_Call *call, int lane, in_value *out) {
  in_value v;
  tn_dtype t = arg(call, 0)->dtype;
  TN_TRY(in_eval(f, arg(call, 0), lane, &v));
  uint64_t x = (uint64_t)in_wrap(tn_dtype_of(kDLUInt, t.bits, 1), (uint64_t)v.i);
  out->i = op == TIR_OP_popcount ? __builtin_popcountll(x)
           : x                   ? __builtin_clzll(x) - (64 - t.bits)
                                 : t.bits;
  return 0;
}

static int scale(in_frame *f, const tn_Call *call, int lane, in_value *out) {
  in_value x, k;
  tn_dtype t = arg(call, 1)->dtype;
  TN_TRY(in_eval(f, arg(call, 0), lane, &x));
  TN_TRY(in_eval(f, arg(call, 1), lane, &k));
  double n = t.code == kDLFloat || t.code == kDLBfloat ? k.f : (double)k.i;
  out->f = in_round(call->dtype, x.f * exp2(n));
  return 0;
}

/* How many arguments each takes. */
static int arity(tir_op_id op) {
  switch ((int)op) {
  case TIR_OP_address_of:
  case TIR_OP_vectorhigh:
  case TIR_OP_vectorlow:
  case TIR_OP_popcount:
  case TIR_OP_clz: return 1;
  case TIR_OP_handle_add_byte_offset:
  case TIR_OP_vectorcombine:
  case TIR_OP_ldexp: return 2;
  case TIR_OP_tvm_access_ptr:
  case TIR_OP_mem_copy: return 3;
  }
  return 0;
}

int in_memory_call(in_frame *f, tir_op_id op, const tn_Call *call, int lane, in_value *out,
                   bool *found) {
  *found = arity(op) != 0;
  if (!*found) return 0;
  TN_CHECK(call->args->len >= arity(op), CodegenError, call->span,
           "stackvm: %s: %s: expected at least %d arguments, got %d", f->name,
           tn_cstr(((const tn_Op *)call->op)->name), arity(op), (int)call->args->len);
  switch ((int)op) {
  case TIR_OP_address_of: return address_of(f, call, out);
  case TIR_OP_handle_add_byte_offset: return pointer_plus(f, call, 0, 1, out);
  case TIR_OP_tvm_access_ptr: return access_ptr(f, call, out);
  case TIR_OP_mem_copy: return copy(f, call);
  case TIR_OP_popcount:
  case TIR_OP_clz: return count_bits(f, op, call, lane, out);
  case TIR_OP_ldexp: return scale(f, call, lane, out);
  default: return vector_part(f, op, call, lane, out);
  }
}
