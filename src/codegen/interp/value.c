/* Numbers of all types, and how they lie in memory. */
#include <math.h>
#include <string.h>

#include "runtime/tensor/float16.h"
#include "codegen/interp/interp.h"

int64_t in_wrap(tn_dtype t, uint64_t v) {
  if (t.bits >= 64 || t.bits == 0) return (int64_t)v;
  if (ir_is_bool(t)) return v != 0;
  uint64_t mask = (UINT64_C(1) << t.bits) - 1, sign = UINT64_C(1) << (t.bits - 1);
  v &= mask;
  return (int64_t)(ir_is_int(t) && (v & sign) ? v | ~mask : v);
}

double in_round(tn_dtype t, double v) {
  if (t.bits >= 64) return v;
  if (t.bits == 32) return (double)(float)v;
  if (t.code == kDLBfloat) return (double)tn_bf16_to_float(tn_float_to_bf16((float)v));
  return (double)tn_f16_to_float(tn_float_to_f16(tn_double_to_odd_float(v)));
}

size_t in_size(const in_frame *f, tn_dtype t) {
  int b = t.bits;
  bool whole = b == 8 || b == 16 || b == 32 || b == 64;
  if (ir_is_bool(t)) return 1;
  if (ir_is_integral(t) && whole) return (size_t)b / 8;
  if (t.code == kDLFloat && whole && b >= 16) return (size_t)b / 8;
  if (t.code == kDLBfloat && b == 16) return 2;
  if (t.code == kDLOpaqueHandle && b == 64) return sizeof(void *);
  TN_RAISE(CodegenError, NULL, "stackvm: %s: no values of type %s in memory", f->name, TN_DT(t));
  return 0;
}

static double read_float(tn_dtype t, uint64_t raw) {
  double d;
  if (t.bits == 32) return (double)tn_float_of_bits((uint32_t)raw);
  if (t.code == kDLBfloat) return (double)tn_bf16_to_float((uint16_t)raw);
  if (t.bits == 16) return (double)tn_f16_to_float((uint16_t)raw);
  memcpy(&d, &raw, sizeof d);
  return d;
}

static uint64_t write_float(tn_dtype t, double d) {
  uint64_t raw;
  if (t.bits == 32) return tn_float_bits((float)d);
  if (t.code == kDLBfloat) return tn_float_to_bf16((float)d);
  if (t.bits == 16) return tn_float_to_f16((float)d);
  memcpy(&raw, &d, sizeof raw);
  return raw;
}

int in_read(const in_frame *f, tn_dtype t, const void *at, in_value *out) {
  uint64_t raw = 0; /* little-endian, as the machines that are supported */
  size_t size;
  TN_GET(size, in_size(f, t));
  TN_CHECK(at, ValueError, NULL, "stackvm: %s: a null pointer is read", f->name);
  memcpy(&raw, at, size);
  if (t.code == kDLFloat || t.code == kDLBfloat) {
    out->f = read_float(t, raw);
  } else {
    out->i = in_wrap(t, raw);
  }
  return 0;
}

int in_write(const in_frame *f, tn_dtype t, void *at, in_value v) {
  size_t size;
  TN_GET(size, in_size(f, t));
  TN_CHECK(at, ValueError, NULL, "stackvm: %s: a null pointer is written", f->name);
  uint64_t raw = t.code == kDLFloat || t.code == kDLBfloat ? write_float(t, v.f) : (uint64_t)v.i;
  memcpy(at, &raw, size);
  return 0;
}

in_value in_cast(tn_dtype from, tn_dtype to, in_value v) {
  bool from_float = from.code == kDLFloat || from.code == kDLBfloat;
  bool to_float = to.code == kDLFloat || to.code == kDLBfloat;
  if (from_float && to_float) return (in_value){.f = in_round(to, v.f)};
  if (from_float) return (in_value){.i = ir_int_of_float(v.f, to)};
  if (!to_float) /* any number but 0 is true */
    return (in_value){.i = ir_is_bool(to) ? v.i != 0 : in_wrap(to, (uint64_t)v.i)};
  return (in_value){.f = ir_float_of_int(v.i, from, to)};
}
