/* Copies with conversion between element types: floating point of all widths, and the 4-bit
   integers, which are packed two in a byte, the first in the low half. */
#include <string.h>

#include "object/dtype.h"
#include "runtime/device/device.h"
#include "runtime/tensor/float16.h"
#include "runtime/tensor/tensor.h"

/* ---- floating point, by way of float ---- */

/* Data may lie at any address, so elements go through memcpy. */
#define EACH(S, D, expr)                                                                           \
  for (int64_t i = 0; i < n; ++i) {                                                                \
    S x;                                                                                           \
    memcpy(&x, src + i * (int64_t)sizeof(S), sizeof x);                                            \
    D y = (expr);                                                                                  \
    memcpy(dst + i * (int64_t)sizeof(D), &y, sizeof y);                                            \
  }

typedef void (*convert_fn)(const char *src, char *dst, int64_t n);

static void f16_to_f32(const char *src, char *dst, int64_t n) {
  EACH(uint16_t, float, tn_f16_to_float(x))
}
static void bf16_to_f32(const char *src, char *dst, int64_t n) {
  EACH(uint16_t, float, tn_bf16_to_float(x))
}
static void f32_to_f16(const char *src, char *dst, int64_t n) {
  EACH(float, uint16_t, tn_float_to_f16(x))
}
static void f32_to_bf16(const char *src, char *dst, int64_t n) {
  EACH(float, uint16_t, tn_float_to_bf16(x))
}
static void f16_to_bf16(const char *src, char *dst, int64_t n) {
  EACH(uint16_t, uint16_t, tn_float_to_bf16(tn_f16_to_float(x)))
}
static void bf16_to_f16(const char *src, char *dst, int64_t n) {
  EACH(uint16_t, uint16_t, tn_float_to_f16(tn_bf16_to_float(x)))
}
static void f16_to_f64(const char *src, char *dst, int64_t n) {
  EACH(uint16_t, double, (double)tn_f16_to_float(x))
}
static void bf16_to_f64(const char *src, char *dst, int64_t n) {
  EACH(uint16_t, double, (double)tn_bf16_to_float(x))
}
static void f64_to_f16(const char *src, char *dst, int64_t n) {
  EACH(double, uint16_t, tn_float_to_f16(tn_double_to_odd_float(x)))
}
static void f64_to_bf16(const char *src, char *dst, int64_t n) {
  EACH(double, uint16_t, tn_float_to_bf16(tn_double_to_odd_float(x)))
}
static void f32_to_f64(const char *src, char *dst, int64_t n) { EACH(float, double, (double)x) }
static void f64_to_f32(const char *src, char *dst, int64_t n) { EACH(double, float, (float)x) }

enum { F16, BF16, F32, F64, FLOATS };

static const convert_fn float_table[FLOATS][FLOATS] = {
    [F16] = {[BF16] = f16_to_bf16, [F32] = f16_to_f32, [F64] = f16_to_f64},
    [BF16] = {[F16] = bf16_to_f16, [F32] = bf16_to_f32, [F64] = bf16_to_f64},
    [F32] = {[F16] = f32_to_f16, [BF16] = f32_to_bf16, [F64] = f32_to_f64},
    [F64] = {[F16] = f64_to_f16, [BF16] = f64_to_bf16, [F32] = f64_to_f32},
};

static int float_kind(tn_dtype t) {
  if (t.code == kDLBfloat && t.bits == 16) return BF16;
  if (t.code != kDLFloat) return -1;
  return t.bits == 16 ? F16 : t.bits == 32 ? F32 : t.bits == 64 ? F64 : -1;
}

/* ---- 4-bit integers ---- */

static void unpack(const uint8_t *src, uint8_t *dst, int64_t n, bool is_signed) {
  for (int64_t i = 0; i < n; ++i) {
    uint8_t x = i & 1 ? src[i / 2] >> 4 : src[i / 2] & 15;
    dst[i] = is_signed && x & 8 ? x | 0xf0 : x;
  }
}

static int pack(const uint8_t *src, uint8_t *dst, int64_t n, bool is_signed) {
  for (int64_t i = 0; i < n; ++i) {
    int x = is_signed ? (int8_t)src[i] : src[i];
    TN_CHECK(is_signed ? x >= -8 && x <= 7 : x <= 15, ValueError, NULL,
             "convert: element %lld is %d, which is not %s", (long long)i, x,
             is_signed ? "an int4 (-8 to 7)" : "a uint4 (0 to 15)");
    if (i & 1) dst[i / 2] = (uint8_t)(dst[i / 2] | (x & 15) << 4);
    else dst[i / 2] = (uint8_t)(x & 15); /* a last upper half stays 0 */
  }
  return 0;
}

/* ---- */

static int refuse(const DLTensor *src, const DLTensor *dst) {
  return TN_RAISE(TypeError, NULL, "convert: no conversion from %s to %s", TN_DT(src->dtype),
                  TN_DT(dst->dtype));
}

static int check_sides(const DLTensor *src, const DLTensor *dst) {
  TN_CHECK(tn_device_is_host(src->device) && tn_device_is_host(dst->device) &&
               tn_tensor_is_contiguous(src) && tn_tensor_is_contiguous(dst),
           ValueError, NULL, "convert: expected compact tensors on the cpu (copy them first)");
  TN_CHECK(tn_tensor_count(src) == tn_tensor_count(dst), ValueError, NULL,
           "convert: expected %lld elements, got %lld", (long long)tn_tensor_count(dst),
           (long long)tn_tensor_count(src));
  return 0;
}

int tn_tensor_convert(const DLTensor *src, DLTensor *dst) {
  tn_dtype s = tn_dtype_canonical(src->dtype), d = tn_dtype_canonical(dst->dtype);
  const char *from = tn_tensor_first(src);
  char *to = tn_tensor_first(dst);
  TN_TRY(check_sides(src, dst));
  if (tn_dtype_eq(s, d)) return tn_tensor_copy(src, dst);
  if (s.lanes != d.lanes) return refuse(src, dst);
  int64_t n = tn_tensor_count(src) * s.lanes;
  int f = float_kind(s), g = float_kind(d);
  if (f >= 0 && g >= 0) {
    float_table[f][g](from, to, n);
    return 0;
  }
  bool is_signed = s.code == kDLInt,
       integers = s.code == d.code && (is_signed || s.code == kDLUInt);
  if (integers && s.bits == 4 && d.bits == 8) {
    unpack((const uint8_t *)from, (uint8_t *)to, n, is_signed);
    return 0;
  }
  if (integers && s.bits == 8 && d.bits == 4)
    return pack((const uint8_t *)from, (uint8_t *)to, n, is_signed);
  return refuse(src, dst);
}
