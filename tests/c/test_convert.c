/* Conversions between element types, against values worked out with frexp, ldexp and rint. */
#include "testing.h"

#include <float.h>
#include <math.h>

#include "object/dtype.h"
#include "runtime/tensor/float16.h"
#include "runtime/tensor/tensor.h"

/* A 16-bit format: exponent bits and mantissa bits. */
typedef struct {
  int exponent, mantissa;
  uint16_t (*encode)(float x);
  float (*decode)(uint16_t h);
} format;

static const format f16 = {5, 10, tn_float_to_f16, tn_f16_to_float};
static const format bf16 = {8, 7, tn_float_to_bf16, tn_bf16_to_float};

/* The value of a bit pattern, from the definition of the format. */
static double value_of(const format *f, uint16_t h) {
  int bias = (1 << (f->exponent - 1)) - 1, e = h >> f->mantissa & ((1 << f->exponent) - 1);
  int m = h & ((1 << f->mantissa) - 1);
  double sign = h & 0x8000 ? -1 : 1;
  if (e == (1 << f->exponent) - 1) return m ? (double)NAN : sign * HUGE_VAL;
  if (e == 0) return sign * ldexp(m, 1 - bias - f->mantissa);
  return sign * ldexp(m + (1 << f->mantissa), e - bias - f->mantissa);
}

/* The pattern nearest to x, ties to even: rint in units of the last place. */
static uint16_t pattern_of(const format *f, double x) {
  int bias = (1 << (f->exponent - 1)) - 1, e;
  uint16_t sign = signbit(x) ? 0x8000 : 0;
  uint16_t infinity = (uint16_t)(((1 << f->exponent) - 1) << f->mantissa);
  if (isinf(x)) return sign | infinity;
  frexp(x, &e); /* |x| = 0.5..1 * 2^e */
  int unit = (e - 1 < 1 - bias ? 1 - bias : e - 1) - f->mantissa;
  double steps = rint(ldexp(fabs(x), -unit));
  if (steps == 0) return sign;
  double rounded = ldexp(steps, unit);
  if (rounded >= ldexp(1, bias + 1)) return sign | infinity;
  frexp(rounded, &e);
  if (e - 1 < 1 - bias) return (uint16_t)(sign | (int)ldexp(rounded, bias - 1 + f->mantissa));
  int m = (int)ldexp(rounded, f->mantissa - (e - 1)) - (1 << f->mantissa);
  return (uint16_t)(sign | (e - 1 + bias) << f->mantissa | m);
}

static void check_encode(const format *f, double x) {
  uint16_t want = pattern_of(f, x);
  float as_float = (float)x;
  if ((double)as_float == x) assert_int_equal(f->encode(as_float), want);
  assert_int_equal(f->encode(tn_double_to_odd_float(x)), want); /* no double rounding */
}

/* Every pattern decodes to its value and encodes back; so do the points between it and the next one
   that decide the rounding. */
static void check_every_pattern(const format *f) {
  uint16_t nan_bits = (uint16_t)(((1 << f->exponent) - 1) << f->mantissa);
  for (uint32_t i = 0; i < 65536; ++i) {
    uint16_t h = (uint16_t)i;
    double x = value_of(f, h), got = (double)f->decode(h);
    if (isnan(x)) {
      assert_true(isnan(got));
      assert_int_equal(f->encode(f->decode(h)),
                       h | 1 << (f->mantissa - 1)); /* quiet, same payload */
      continue;
    }
    assert_true(got == x && signbit(got) == signbit(x));
    assert_int_equal(f->encode(f->decode(h)), h);
    if ((h & 0x7fff) >= nan_bits) continue;
    double next = value_of(f, (uint16_t)(h + 1)), far = HUGE_VAL; /* away from zero */
    if (isinf(next)) next = 2 * x - value_of(f, (uint16_t)(h - 1));
    double middle = x / 2 + next / 2;
    const double points[] = {middle, nextafter(middle, 0), nextafter(middle, copysign(far, x)),
                             (double)nextafterf((float)middle, 0.0F),
                             (double)nextafterf((float)middle, (float)copysign(far, x))};
    for (int k = 0; k < TN_COUNT(points); ++k) check_encode(f, points[k]);
  }
}

static void test_float16_every_pattern(void **state) {
  (void)state;
  check_every_pattern(&f16);
}

static void test_bfloat16_every_pattern(void **state) {
  (void)state;
  check_every_pattern(&bf16);
}

static uint64_t random_bits(void) { /* xorshift64, Marsaglia 2003 */
  static uint64_t x = 88172645463325252;
  x ^= x << 13;
  x ^= x >> 7;
  return x ^= x << 17;
}

static void test_random_numbers(void **state) {
  (void)state;
  for (int i = 0; i < 300000; ++i) {
    float x = tn_float_of_bits((uint32_t)random_bits());
    double y; /* in the range of both formats more often than random bits would be */
    uint64_t bits = (random_bits() >> 12) | (900 + random_bits() % 200) << 52;
    memcpy(&y, &bits, sizeof y);
    if (isnan(x)) continue;
    check_encode(&f16, (double)x);
    check_encode(&bf16, (double)x);
    check_encode(&f16, y);
    check_encode(&bf16, -y);
  }
}

static void test_extremes(void **state) {
  (void)state;
  const double points[] = {
      0.0,      -0.0,    65504,   65519.99,     65520,        DBL_MAX,  -DBL_MAX, 1e-40,
      DBL_MIN,  FLT_MAX, FLT_MIN, 1e300,        DBL_TRUE_MIN, HUGE_VAL, -1e39,    3.4e38,
      3.395e38, 0x1p-24, 0x1p-25, 0x1.0001p-25, -HUGE_VAL,    0x1p-133, 0x1p-134, 0x1.0001p-134};
  for (int i = 0; i < TN_COUNT(points); ++i) {
    check_encode(&f16, points[i]);
    check_encode(&bf16, points[i]);
  }
  assert_int_equal(tn_float_to_f16(NAN) & 0x7c00, 0x7c00);
  assert_int_not_equal(tn_float_to_f16(tn_float_of_bits(0x7f800001)) & 0x3ff, 0); /* stays a NaN */
  assert_int_not_equal(tn_float_to_bf16(tn_float_of_bits(0xff800001)) & 0x7f, 0);
  assert_true(isnan(tn_double_to_odd_float((double)NAN)));
}

/* ---- tensors ---- */

static tn_tensor *make(const char *dtype, int64_t n) {
  tn_dtype t;
  assert_int_equal(tn_dtype_parse(dtype, strlen(dtype), &t), 0);
  tn_tensor *x = tn_tensor_new(&n, 1, t, (tn_device){kDLCPU, 0}, NULL);
  assert_non_null(x);
  return x;
}

static void test_every_pair_of_floats(void **state) {
  (void)state;
  const char *types[] = {"float16", "bfloat16", "float32", "float64"};
  const double values[] = {1.5, -2.25, 0.0, 1024};
  tn_tensor *exact = make("float64", 4);
  memcpy(exact->dl.data, values, sizeof values);
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 4; ++j) {
      tn_tensor *a = make(types[i], 4), *b = make(types[j], 4), *c = make("float64", 4);
      assert_int_equal(tn_tensor_convert(&exact->dl, &a->dl), 0);
      assert_int_equal(tn_tensor_convert(&a->dl, &b->dl), 0);
      assert_int_equal(tn_tensor_convert(&b->dl, &c->dl), 0);
      assert_memory_equal(c->dl.data, values, sizeof values);
      tn_release(a);
      tn_release(b);
      tn_release(c);
    }
  }
  tn_release(exact);
}

static void test_convert_at_any_address(void **state) {
  (void)state;
  tn_tensor *room = make("int8", 64), *half = make("float16", 3);
  tn_tensor *odd = tn_tensor_view(room, (int64_t[]){3}, 1, TN_F32, 1);
  memcpy(odd->dl.data, ((float[]){1, 2, 65520}), 12);
  assert_int_equal(tn_tensor_convert(&odd->dl, &half->dl), 0);
  assert_memory_equal(half->dl.data, ((uint16_t[]){0x3c00, 0x4000, 0x7c00}), 6);
  tn_release(odd);
  tn_release(half);
  tn_release(room);
}

static void test_four_bit_integers(void **state) {
  (void)state;
  const int8_t values[] = {-8, 7, 3, -1, 0};
  tn_tensor *wide = make("int8", 5), *narrow = make("int4", 5), *back = make("int8", 5);
  memcpy(wide->dl.data, values, 5);
  assert_int_equal(tn_tensor_convert(&wide->dl, &narrow->dl), 0);
  assert_memory_equal(narrow->dl.data, "\x78\xf3\x00", 3); /* the first in the low half */
  assert_int_equal(tn_tensor_convert(&narrow->dl, &back->dl), 0);
  assert_memory_equal(back->dl.data, values, 5);
  ((int8_t *)wide->dl.data)[3] = 8;
  assert_int_equal(tn_tensor_convert(&wide->dl, &narrow->dl), -1);
  assert_error("ValueError", "element 3 is 8, which is not an int4");
  tn_release(wide);
  tn_release(narrow);
  tn_release(back);
  wide = make("uint8", 2), narrow = make("uint4", 2), back = make("uint8", 2);
  memcpy(wide->dl.data, "\x0f\x08", 2);
  assert_int_equal(tn_tensor_convert(&wide->dl, &narrow->dl), 0);
  assert_memory_equal(narrow->dl.data, "\x8f", 1);
  assert_int_equal(tn_tensor_convert(&narrow->dl, &back->dl), 0);
  assert_memory_equal(back->dl.data, "\x0f\x08", 2);
  ((uint8_t *)wide->dl.data)[0] = 200;
  assert_int_equal(tn_tensor_convert(&wide->dl, &narrow->dl), -1);
  assert_error("ValueError", "element 0 is 200, which is not a uint4");
  tn_release(wide);
  tn_release(narrow);
  tn_release(back);
}

static void test_refused(void **state) {
  (void)state;
  tn_tensor *f = make("float32", 3), *i = make("int32", 3), *four = make("float16", 4);
  tn_tensor *same = make("float32", 3), *lanes = make("float16x3", 1);
  assert_int_equal(tn_tensor_convert(&f->dl, &i->dl), -1);
  assert_error("TypeError", "no conversion from float32 to int32");
  assert_int_equal(tn_tensor_convert(&f->dl, &four->dl), -1);
  assert_error("ValueError", "expected 4 elements, got 3");
  assert_int_equal(tn_tensor_convert(&f->dl, &lanes->dl), -1);
  assert_error("ValueError", "expected 1 elements");
  memset(f->dl.data, 7, 12);
  assert_int_equal(tn_tensor_convert(&f->dl, &same->dl), 0); /* a plain copy */
  assert_memory_equal(f->dl.data, same->dl.data, 12);
  DLTensor gaps = f->dl;
  gaps.shape = (int64_t[]){2};
  gaps.strides = (int64_t[]){2};
  assert_int_equal(tn_tensor_convert(&gaps, &four->dl), -1);
  assert_error("ValueError", "expected compact tensors on the cpu");
  tn_release(f);
  tn_release(i);
  tn_release(four);
  tn_release(same);
  tn_release(lanes);
}

static void test_function(void **state) {
  (void)state;
  tn_tensor *a = make("float32", 1), *b = make("bfloat16", 1);
  tn_func *convert = tn_func_find("runtime.TensorConvert");
  tn_any args[] = {tn_any_obj(a), tn_any_obj(b)}, ret;
  *(float *)a->dl.data = 1.00390625F; /* 1 + 2^-8: a tie, to even */
  assert_int_equal(tn_func_call(convert, args, 2, &ret), 0);
  assert_int_equal(*(uint16_t *)b->dl.data, 0x3f80);
  args[1] = tn_any_int(1);
  assert_int_equal(tn_func_call(convert, args, 2, &ret), -1);
  assert_error("TypeError", "expected runtime.NDArray, got int");
  tn_release(convert);
  tn_release(a);
  tn_release(b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_float16_every_pattern),
      cmocka_unit_test(test_bfloat16_every_pattern),
      cmocka_unit_test(test_random_numbers),
      cmocka_unit_test(test_extremes),
      cmocka_unit_test(test_every_pair_of_floats),
      cmocka_unit_test(test_convert_at_any_address),
      cmocka_unit_test(test_four_bit_integers),
      cmocka_unit_test(test_refused),
      cmocka_unit_test(test_function),
  };
  return cmocka_run_group_tests(tests, start_runtime, NULL);
}
