/* 16-bit floating point in software: IEEE binary16 and bfloat16 from and to float, rounding to
   nearest, ties to even. In integers only, so that neither the rounding mode nor flush-to-zero of
   the calling thread changes the result. NaNs stay NaNs (quiet, the upper payload bits kept). */
#ifndef TN_RUNTIME_TENSOR_FLOAT16_H_
#define TN_RUNTIME_TENSOR_FLOAT16_H_

#include <stdint.h>
#include <string.h>

static inline uint32_t tn_float_bits(float x) {
  uint32_t u;
  memcpy(&u, &x, sizeof u);
  return u;
}
static inline float tn_float_of_bits(uint32_t u) {
  float x;
  memcpy(&x, &u, sizeof x);
  return x;
}

static inline uint16_t tn_float_to_bf16(float x) {
  uint32_t u = tn_float_bits(x);
  if ((u & 0x7fffffffU) > 0x7f800000U) return (uint16_t)(u >> 16 | 0x40);
  return (uint16_t)((u + 0x7fffU + (u >> 16 & 1)) >> 16);
}

static inline float tn_bf16_to_float(uint16_t h) { return tn_float_of_bits((uint32_t)h << 16); }

static inline uint16_t tn_float_to_f16(float x) {
  uint32_t u = tn_float_bits(x), sign = u >> 16 & 0x8000U, a = u & 0x7fffffffU;
  if (a > 0x7f800000U) return (uint16_t)(sign | 0x7e00U | (a >> 13 & 0x1ffU));
  if (a >= 0x47800000U) return (uint16_t)(sign | 0x7c00U); /* 2^16 and more */
  if (a >= 0x38800000U) { /* 2^-14 and more: the exponent is moved; a carry may make it infinite */
    a += 0xfffU + (a >> 13 & 1);
    return (uint16_t)(sign | (a - 0x38000000U) >> 13);
  }
  uint32_t e = a >> 23; /* subnormal: a multiple of 2^-24 */
  if (e < 102) return (uint16_t)sign;
  uint32_t m = (a & 0x7fffffU) | 0x800000U, shift = 126 - e;
  uint32_t q = m >> shift, rest = m & ((1U << shift) - 1), half = 1U << (shift - 1);
  if (rest > half || (rest == half && q & 1)) ++q;
  return (uint16_t)(sign | q);
}

static inline float tn_f16_to_float(uint16_t h) {
  uint32_t sign = (uint32_t)(h & 0x8000) << 16, e = h >> 10 & 0x1f, m = h & 0x3ff;
  if (e == 0x1f) return tn_float_of_bits(sign | 0x7f800000U | m << 13 | (m ? 0x400000U : 0));
  if (e) return tn_float_of_bits(sign | (e + 112) << 23 | m << 13);
  if (!m) return tn_float_of_bits(sign);
  uint32_t zeros = (uint32_t)__builtin_clz(m) - 21; /* above the leading bit of the ten */
  return tn_float_of_bits(sign | (113 - zeros) << 23 | (m << (zeros + 13) & 0x7fffffU));
}

/** A double as a float rounded to odd (an inexact result gets its last bit set), which a second
 * rounding, to 16 bits, turns into what rounding the double at once would give. */
static inline float tn_double_to_odd_float(double d) {
  float f = (float)d;
  double back = (double)f;
  if (back == d || d != d) return f;
  uint32_t u = tn_float_bits(f);
  if ((back < 0 ? -back : back) > (d < 0 ? -d : d)) --u; /* towards zero; infinity to the largest */
  return tn_float_of_bits(u | 1);
}

#endif /* TN_RUNTIME_TENSOR_FLOAT16_H_ */
