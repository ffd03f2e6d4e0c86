/* Constants from numbers, and their numbers. */
#include <string.h>

#include "base/alloc.h"
#include "ir/imm.h"
#include "relay/relay.h"
#include "tenon/runtime.h"

static const tn_device cpu = {kDLCPU, 0};

tn_Constant *relay_constant(tn_NDArray *data) { return TN_NEW(Constant, .data = data); }

/* ---- numbers as elements ---- */

/* Integers wrap around in their type, as the machine does. */
static int put_int(tn_dtype t, int64_t value, void *to) {
  switch (t.bits) {
  case 1: *(uint8_t *)to = value != 0; return 0;
  case 8: *(uint8_t *)to = (uint8_t)value; return 0;
  case 16: *(uint16_t *)to = (uint16_t)value; return 0;
  case 32: *(uint32_t *)to = (uint32_t)value; return 0;
  case 64: *(uint64_t *)to = (uint64_t)value; return 0;
  default:
    return TN_RAISE(TypeError, NULL, "constant: numbers of type %s cannot be made here", TN_DT(t));
  }
}

static int64_t get_int(tn_dtype t, const void *from) {
  bool is_signed = t.code == kDLInt;
  switch (t.bits) {
  case 1:
  case 8: return is_signed ? *(const int8_t *)from : *(const uint8_t *)from;
  case 16: return is_signed ? *(const int16_t *)from : *(const uint16_t *)from;
  case 32: return is_signed ? *(const int32_t *)from : (int64_t) * (const uint32_t *)from;
  default: return *(const int64_t *)from;
  }
}

static int put_float(tn_dtype t, double value, void *to) {
  DLTensor x = {.data = &value, .device = cpu, .dtype = TN_F64};
  DLTensor y = {.data = to, .device = cpu, .dtype = t};
  return tn_tensor_convert(&x, &y);
}

/* ---- constants of numbers ---- */

tn_Constant *relay_const_float(tn_dtype t, double value) {
  tn_tensor *data = tn_scope_own(tn_tensor_new(NULL, 0, t, cpu, NULL));
  if (!data) return NULL;
  void *to = tn_tensor_dl(data)->data;
  TN_TRYP(ir_is_integral(t) ? put_int(t, (int64_t)value, to) : put_float(t, value, to));
  return relay_constant(data);
}

tn_Constant *relay_const_int(tn_dtype t, int64_t value) {
  if (!ir_is_integral(t)) return relay_const_float(t, (double)value);
  tn_tensor *data = tn_scope_own(tn_tensor_new(NULL, 0, t, cpu, NULL));
  if (!data || put_int(t, value, tn_tensor_dl(data)->data)) return NULL;
  return relay_constant(data);
}

tn_Constant *relay_const_ints(tn_dtype t, const int64_t *values, int64_t n) {
  tn_tensor *data = tn_scope_own(tn_tensor_new(&n, 1, t, cpu, NULL));
  if (!data) return NULL;
  size_t size = (size_t)(t.bits + 7) / 8;
  for (int64_t i = 0; i < n; ++i) {
    void *to = (char *)tn_tensor_dl(data)->data + (size_t)i * size;
    TN_TRYP(ir_is_integral(t) ? put_int(t, values[i], to) : put_float(t, (double)values[i], to));
  }
  return relay_constant(data);
}

tn_Constant *relay_const_floats(const double *values, int64_t n) {
  tn_tensor *data = tn_scope_own(tn_tensor_new(&n, 1, TN_F32, cpu, NULL));
  if (!data) return NULL;
  float *to = tn_tensor_dl(data)->data;
  for (int64_t i = 0; i < n; ++i) to[i] = (float)values[i];
  return relay_constant(data);
}

/* ---- numbers of constants ---- */

/* The only element of a constant on the host, or NULL. */
static const void *only_element(const void *expr, tn_dtype *t) {
  const tn_Constant *c = TN_AS(Constant, expr);
  const DLTensor *data = c ? tn_tensor_dl(c->data) : NULL;
  if (!data || data->device.device_type != kDLCPU || tn_tensor_count(data) != 1) return NULL;
  *t = data->dtype;
  return (const char *)data->data + data->byte_offset;
}

bool relay_as_int(const void *expr, int64_t *value) {
  tn_dtype t;
  const void *from = only_element(expr, &t);
  if (!from || !ir_is_integral(t) || t.lanes != 1 || t.bits == 4) return false;
  *value = get_int(t, from);
  return true;
}

bool relay_as_scalar(const void *expr, double *value) {
  tn_dtype t;
  int64_t i;
  const void *from = only_element(expr, &t);
  if (!from) return false;
  if (relay_as_int(expr, &i)) return *value = (double)i, true;
  DLTensor x = {.data = (void *)(uintptr_t)from, .device = cpu, .dtype = t};
  DLTensor y = {.data = value, .device = cpu, .dtype = TN_F64};
  if (tn_tensor_convert(&x, &y) == 0) return true;
  tn_error_clear();
  return false;
}

int relay_const_numbers(const void *expr, double **out, int64_t *n) {
  const tn_Constant *c = TN_AS(Constant, expr);
  const DLTensor *t = c ? tn_tensor_dl(c->data) : NULL;
  if (!t || t->device.device_type != kDLCPU || t->dtype.lanes != 1 || t->dtype.bits % 8) return 0;
  *n = tn_tensor_count(t);
  if (!(*out = tn_alloc_zero((size_t)*n + 1, sizeof **out))) return -1;
  for (int64_t i = 0; i < *n; ++i) {
    char *from = (char *)t->data + t->byte_offset + i * (t->dtype.bits / 8);
    if (ir_is_integral(t->dtype)) {
      (*out)[i] = (double)get_int(t->dtype, from);
      continue;
    }
    DLTensor x = {.data = from, .device = cpu, .dtype = t->dtype};
    DLTensor y = {.data = *out + i, .device = cpu, .dtype = TN_F64};
    if (tn_tensor_convert(&x, &y) == 0) continue;
    tn_error_clear();
    tn_free(*out);
    return *out = NULL, 0;
  }
  return 1;
}
