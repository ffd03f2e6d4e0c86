/* Builders of expressions: operand types, folding against plain C arithmetic, checks. */
#include "testing.h"

#include <float.h>
#include <math.h>

#include "ir/expr.h"
#include "tenon/compiler.h"

static tn_dtype type_of(const char *text) {
  tn_dtype t;
  assert_int_equal(tn_dtype_parse(text, strlen(text), &t), 0);
  return t;
}

static tn_expr *v(const char *name, tn_dtype t) { return (tn_expr *)tir_var(name, t); }

static uint64_t state_ = 88172645463325252u;
static uint64_t rnd(void) { /* xorshift64 */
  state_ ^= state_ << 13;
  state_ ^= state_ >> 7;
  return state_ ^= state_ << 17;
}

typedef __int128 wide;

/* x modulo 2**bits as a number of the type */
static wide narrow(wide x, tn_dtype t) {
  wide m = (wide)1 << t.bits;
  x %= m;
  if (x < 0) x += m;
  return t.code == kDLInt && x >= m / 2 ? x - m : x;
}

static wide floor_div(wide a, wide b) {
  wide q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

static wide expected(uint32_t op, wide a, wide b) {
  switch (op) {
  case TN_TI_Add: return a + b;
  case TN_TI_Sub: return a - b;
  case TN_TI_Mul: return a * b;
  case TN_TI_Div: return a / b;
  case TN_TI_Mod: return a % b;
  case TN_TI_FloorDiv: return floor_div(a, b);
  case TN_TI_FloorMod: return a - floor_div(a, b) * b;
  case TN_TI_Min: return a < b ? a : b;
  case TN_TI_Max: return a > b ? a : b;
  case TN_TI_EQ: return a == b;
  case TN_TI_NE: return a != b;
  case TN_TI_LT: return a < b;
  case TN_TI_LE: return a <= b;
  case TN_TI_GT: return a > b;
  default: return a >= b;
  }
}

/* The value of a constant, also one above INT64_MAX. */
static wide value_of(const tn_expr *e) {
  int64_t i;
  if (tir_as_int((const tn_obj *)e, &i)) return i;
  tn_Call *c = tir_as_call((const tn_obj *)e, TIR_OP_large_uint_imm);
  assert_non_null(c);
  return (wide)((tn_IntImm *)tn_arr_obj(c->args, 0))->value |
         (wide)((tn_IntImm *)tn_arr_obj(c->args, 1))->value << 32;
}

/* Mostly values near the ends and near zero. */
static int64_t pick(tn_dtype t) {
  uint64_t r = rnd() % 3, small = rnd() % 7 - 3; /* wraps below zero */
  uint64_t x = r == 0 ? small : r == 1 ? (UINT64_C(1) << (rnd() % 64)) + small : rnd();
  int64_t w = ir_wrap_int((int64_t)x, t);
  return t.code == kDLUInt && w < 0 ? INT64_MAX : w;
}

static void test_integers_fold_as_the_machine_computes(void **state) {
  (void)state;
  static const char *const types[] = {"int8",  "int16",  "int32",  "int64",
                                      "uint8", "uint16", "uint32", "uint64"};
  for (int i = 0; i < 20000; ++i) {
    TN_SCOPE(s);
    tn_dtype t = type_of(types[rnd() % TN_COUNT(types)]);
    uint32_t op = TN_TI_Add + (uint32_t)(rnd() % (TN_TI_And - TN_TI_Add));
    int64_t a = pick(t), b = pick(t);
    if (b == 0 && op >= TN_TI_Div && op <= TN_TI_FloorMod) continue;
    tn_expr *r = tir_binary(op, tir_int(t, a), tir_int(t, b), NULL);
    assert_non_null(r);
    bool index = t.code == kDLInt && t.bits >= 32;
    if ((op == TN_TI_Mod || op == TN_TI_FloorMod) && !index) {
      assert_int_equal(r->hdr.type_index, op); /* remainders are folded as indices only */
      continue;
    }
    wide want = expected(op, a, b);
    tn_dtype type = op >= TN_TI_EQ ? TN_BOOL1 : t;
    assert_true(tn_dtype_eq(r->dtype, type));
    if (value_of(r) != narrow(want, type))
      fail_msg("%s %s: %lld, %lld", TN_DT(t), tn_type_get(op)->name, (long long)a, (long long)b);
  }
}

static void test_bits_fold_as_the_machine_computes(void **state) {
  (void)state;
  static const char *const types[] = {"int8", "int32", "int64", "uint8", "uint32", "uint64"};
  for (int i = 0; i < 5000; ++i) {
    TN_SCOPE(s);
    tn_dtype t = type_of(types[rnd() % TN_COUNT(types)]);
    int64_t a = pick(t), b = pick(t), k = (int64_t)(rnd() % t.bits);
    tn_expr *x = tir_int(t, a), *y = tir_int(t, b);
    assert_true(value_of(tir_bitwise(TIR_OP_bitwise_and, x, y, NULL)) == narrow(a & b, t));
    assert_true(value_of(tir_bitwise(TIR_OP_bitwise_or, x, y, NULL)) == narrow(a | b, t));
    assert_true(value_of(tir_bitwise(TIR_OP_bitwise_xor, x, y, NULL)) == narrow(a ^ b, t));
    assert_true(value_of(tir_bitwise_not(x, NULL)) == narrow(~(wide)a, t));
    tn_expr *n = tir_int(t, k);
    assert_true(value_of(tir_shift(TIR_OP_shift_left, x, n, NULL)) ==
                narrow((wide)a * ((wide)1 << k), t));
    assert_true(value_of(tir_shift(TIR_OP_shift_right, x, n, NULL)) == floor_div(a, (wide)1 << k));
  }
}

static double float_value(const tn_expr *e) {
  const tn_FloatImm *f = TN_AS(FloatImm, e);
  assert_non_null(f);
  return f->value;
}

static void test_float32_folds_in_float32(void **state) {
  (void)state;
  for (int i = 0; i < 5000; ++i) {
    TN_SCOPE(s);
    float a = (float)((double)(int64_t)rnd() / 1e15), b = (float)((double)(int64_t)rnd() / 1e17);
    tn_expr *x = tir_f32((double)a), *y = tir_f32((double)b);
    volatile float sum = a + b, product = a * b, ratio = a / b;
    assert_true(float_value(tir_add(x, y)) == (double)sum);
    assert_true(float_value(tir_mul(x, y)) == (double)product);
    assert_true(float_value(tir_div(x, y)) == (double)ratio);
    assert_true(tir_is_one(tir_lt(x, y)) == (a < b));
  }
  TN_SCOPE(s);
  assert_true(isinf(float_value(tir_mul(tir_f32(3e30), tir_f32(3e30)))));
  assert_true(isnan(float_value(tir_mul(tir_f32((double)INFINITY), tir_f32(0)))));
  assert_true(float_value(tir_div(tir_float(TN_F64, 1), tir_float(TN_F64, 3))) == 1.0 / 3);
  tn_dtype half = type_of("float16");
  assert_non_null(
      TN_AS(Add, tir_add(tir_float(half, 1), tir_float(half, 2)))); /* left to the target */
}

static void test_casts_of_constants(void **state) {
  (void)state;
  TN_SCOPE(s);
  assert_true(value_of(tir_cast(type_of("int8"), tir_i32(300), NULL)) == 44);
  assert_true(value_of(tir_cast(type_of("uint64"), tir_i32(-1), NULL)) == (wide)UINT64_MAX);
  assert_true(value_of(tir_cast(TN_BOOL1, tir_i32(7), NULL)) == 1);
  assert_true(value_of(tir_cast(TN_I32, tir_f32(-2.9), NULL)) == -2);
  assert_true(value_of(tir_cast(TN_I32, tir_f32(3e9), NULL)) == INT32_MIN);
  assert_true(value_of(tir_cast(TN_I64, tir_f32((double)NAN), NULL)) == INT64_MIN);
  assert_true(value_of(tir_cast(type_of("int8"), tir_f32(1e20), NULL)) == 0);
  assert_true(value_of(tir_cast(type_of("uint8"), tir_f32(-1.5), NULL)) == 255);
  assert_true(value_of(tir_cast(type_of("uint64"), tir_f32(1.5e19), NULL)) ==
              (wide)15000000000000000000.0f);
  assert_true(isinf(float_value(tir_cast(type_of("float16"), tir_f32(1e6), NULL))));
  assert_true(float_value(tir_cast(TN_F32, tir_float(type_of("float16"), 0.1), NULL)) ==
              0.0999755859375);
  assert_true(float_value(tir_cast(TN_F32, tir_float(type_of("bfloat16"), 0.1), NULL)) ==
              0.10009765625);
  assert_true(float_value(tir_cast(TN_F32, tir_i64(0x1000001000000001), NULL)) ==
              (double)(float)0x1000001000000001);
  assert_true(float_value(tir_cast(TN_F32, tir_float(TN_F64, 0.1), NULL)) == (double)0.1f);
  assert_true(float_value(tir_cast(TN_F32, tir_i32(16777217), NULL)) == 16777216.0);
  tn_expr *b = tir_cast(type_of("int32x4"), tir_f32(2), NULL);
  assert_non_null(TN_AS(Broadcast, b));
  tn_expr *r = (tn_expr *)TN_MAKE(Ramp, .base = v("x", TN_I32), .stride = tir_i32(1), .lanes = 4);
  assert_non_null(TN_AS(Ramp, tir_cast(type_of("int64x4"), r, NULL)));
  assert_non_null(TN_AS(Cast, tir_cast(type_of("float32x4"), r, NULL)));
  assert_null(tir_cast(type_of("int32x8"), r, NULL));
  assert_error("TVMError", "lanes");
}

static void test_operand_types_meet(void **state) {
  (void)state;
  static const char *const cases[][3] = {
      {"bool", "int32", "int32"},        {"int32", "float32", "float32"},
      {"int32", "int64", "int64"},       {"uint32", "int8", "uint32"},
      {"uint32", "int32", "uint32"},     {"int64", "uint32", "int64"},
      {"float16", "float32", "float32"}, {"bfloat16", "float32", "float32"},
      {"bfloat16", "int64", "bfloat16"}, {"int8", "int8", "int8"},
      {"bool", "bool", "int32"},         {"uint8", "int8", "uint8"},
      {"float16", "int64", "float16"},   {"int32", "float32x4", "float32x4"},
      {"int8x4", "int32", "int32x4"},    {"bool", "float32", "float32"},
  };
  for (int i = 0; i < TN_COUNT(cases); ++i) {
    TN_SCOPE(s);
    tn_expr *a = v("a", type_of(cases[i][0])), *b = v("b", type_of(cases[i][1]));
    tn_Add *ab = TN_AS(Add, tir_add(a, b)), *ba = TN_AS(Add, tir_add(b, a));
    assert_string_equal(TN_DT(ab->dtype), cases[i][2]);
    assert_string_equal(TN_DT(ba->dtype), cases[i][2]);
    assert_true(tn_dtype_eq(ab->a->dtype, ab->dtype) && tn_dtype_eq(ab->b->dtype, ab->dtype));
    assert_int_equal(tir_lt(a, b)->dtype.bits, 1);
    assert_int_equal(tir_lt(a, b)->dtype.lanes, ab->dtype.lanes);
  }
  TN_SCOPE(s);
  tn_expr *p = v("p", TN_BOOL1), *q = v("q", TN_BOOL1);
  assert_string_equal(TN_DT(tir_max(p, q)->dtype), "bool");
  assert_null(tir_add(v("a", type_of("int32x2")), v("b", type_of("float32x4"))));
  assert_error("TVMError", "Cannot match type int32x2 vs float32x4");
  assert_null(tir_add(v("a", TN_HANDLE), v("b", TN_I32)));
  assert_error("TVMError", "Cannot match type handle vs int32");
  assert_null(tir_add(v("a", TN_HANDLE), v("b", TN_HANDLE)));
  assert_error("TVMError", "number type");
  assert_non_null(tir_eq(v("a", TN_HANDLE), v("b", TN_HANDLE)));
}

static void test_identities(void **state) {
  (void)state;
  TN_SCOPE(s);
  tn_expr *x = v("x", TN_I32), *f = v("f", TN_F32), *p = v("p", TN_BOOL1);
  tn_expr *zero = tir_i32(0), *one = tir_i32(1), *yes = tir_bool(true), *no = tir_bool(false);
  assert_ptr_equal(tir_add(x, zero), x);
  assert_ptr_equal(tir_add(zero, x), x);
  assert_ptr_equal(tir_sub(x, zero), x);
  assert_ptr_equal(tir_mul(x, one), x);
  assert_ptr_equal(tir_mul(one, x), x);
  assert_true(tir_is_zero(tir_mul(x, zero)));
  assert_true(tir_is_zero(tir_mod(x, one)));
  assert_true(tir_is_zero(tir_floormod(x, one)));
  assert_ptr_equal(tir_floordiv(x, one), x);
  assert_ptr_equal(tir_min(x, x), x);
  assert_non_null(TN_AS(Div, tir_div(one, x)));
  assert_non_null(TN_AS(Mul, tir_mul(f, tir_f32(0)))); /* f may be infinite */
  assert_non_null(TN_AS(Add, tir_add(f, tir_f32(0)))); /* f may be -0.0 */
  assert_ptr_equal(tir_add(f, tir_f32(-0.0)), f);
  assert_ptr_equal(tir_sub(f, tir_f32(0)), f);
  assert_ptr_equal(tir_mul(f, tir_f32(1)), f);
  assert_non_null(TN_AS(FloorDiv, tir_floordiv(f, tir_f32(1))));
  assert_ptr_equal(tir_and(p, yes), p);
  assert_ptr_equal(tir_and(no, p), no);
  assert_ptr_equal(tir_or(p, no), p);
  assert_ptr_equal(tir_or(yes, p), yes);
  assert_true(tir_is_one(tir_not(no, NULL)));
  assert_ptr_equal(tir_if_then_else(yes, x, one, NULL), x);
  assert_ptr_equal(tir_likely(yes, NULL), yes);
  assert_true(value_of(tir_ceildiv(tir_i32(10), tir_i32(4), NULL)) == 3);
}

static void test_what_cannot_be_right_is_refused(void **state) {
  (void)state;
  TN_SCOPE(s);
  tn_expr *x = v("x", TN_I32), *f = v("f", TN_F32), *p = v("p", TN_BOOL1);
  for (uint32_t op = TN_TI_Div; op <= TN_TI_FloorMod; ++op) {
    assert_int_equal(tir_check_written(op, tir_i32(0), NULL), -1);
    assert_error("TVMError", "Divide by zero");
    assert_true(tir_is_zero(tir_binary(op, x, tir_i32(0), NULL))); /* what computers make of it */
  }
  assert_int_equal(tir_check_shift(x, tir_i32(32), NULL), -1);
  assert_error("TVMError", "Shift amount must be non-negative and less than 32");
  assert_int_equal(tir_check_shift(x, tir_i32(-1), NULL), -1);
  assert_error("TVMError", "Shift amount must be non-negative");
  assert_null(tir_bitwise(TIR_OP_bitwise_and, x, f, NULL));
  assert_error("TVMError", "integer type, got float32");
  assert_null(tir_and(p, x));
  assert_error("TVMError", "Expected boolean argument as RHS of && operator (logical AND)");
  assert_null(tir_not(x, NULL));
  assert_error("TVMError", "Expected boolean argument");
  assert_null(tir_if_then_else(x, x, x, NULL));
  assert_error("TVMError", "if_then_else only accept the condition to be boolean type");
  assert_null(tir_float_binary(TIR_OP_pow, x, x, NULL));
  assert_error("TVMError", "power only applies to float");
  assert_null(tir_truncdiv(f, x, NULL));
  assert_error("TVMError", "integer type");
  assert_null(tir_add(tir_add(x, tir_truncdiv(f, x, NULL)), x));
  assert_error("TVMError", "integer type"); /* flows through */
}

static void test_intrinsics(void **state) {
  (void)state;
  TN_SCOPE(s);
  tn_expr *x = v("x", TN_I32), *f = v("f", TN_F32);
  assert_string_equal(tn_cstr(tir_op(TIR_OP_exp)->name), "tir.exp");
  assert_int_equal(tir_call_effect((tn_obj *)tir_op(TIR_OP_exp)), TIR_EFFECT_PURE);
  assert_int_equal(tir_call_effect((tn_obj *)ir_op_get("tir.call_extern")), TIR_EFFECT_OPAQUE);
  assert_true(tir_op_vectorizable((tn_obj *)tir_op(TIR_OP_tanh)));
  tn_expr *e = tir_call(TN_F32, TIR_OP_exp, 1, f);
  assert_non_null(tir_as_call((tn_obj *)e, TIR_OP_exp));
  assert_null(tir_as_call((tn_obj *)e, TIR_OP_tanh));
  assert_ptr_equal(tir_rounding(TIR_OP_floor, x, NULL), x);
  assert_true(float_value(tir_rounding(TIR_OP_round, tir_f32(2.5), NULL)) == 3);
  assert_true(float_value(tir_rounding(TIR_OP_nearbyint, tir_f32(2.5), NULL)) == 2);
  assert_true(float_value(tir_rounding(TIR_OP_ceil, tir_f32(2.1), NULL)) == 3);
  assert_true(tir_is_zero(tir_isnan(x, NULL)));
  assert_true(tir_is_one(tir_isfinite(tir_f32(1), NULL)));
  assert_true(tir_is_zero(tir_isfinite(tir_f32((double)INFINITY), NULL)));
  assert_non_null(TN_AS(Select, tir_abs(x, NULL)));
  assert_true(value_of(tir_abs(tir_i32(-5), NULL)) == 5);
  assert_true(float_value(tir_float_binary(TIR_OP_pow, tir_f32(2), tir_f32(10), NULL)) == 1024);
  assert_true(value_of(tir_power(tir_i32(3), tir_i32(40), NULL)) == 689956897);
  assert_true(value_of(tir_power(tir_i32(-1), tir_i32(-3), NULL)) == -1);
}

static int start_compiler(void **state) {
  (void)state;
  return tn_compiler_init();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_integers_fold_as_the_machine_computes),
      cmocka_unit_test(test_bits_fold_as_the_machine_computes),
      cmocka_unit_test(test_float32_folds_in_float32),
      cmocka_unit_test(test_casts_of_constants),
      cmocka_unit_test(test_operand_types_meet),
      cmocka_unit_test(test_identities),
      cmocka_unit_test(test_what_cannot_be_right_is_refused),
      cmocka_unit_test(test_intrinsics),
  };
  return cmocka_run_group_tests(tests, start_compiler, NULL);
}
