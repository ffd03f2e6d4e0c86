/* Bounds, modular sets, simplification and proofs: documented forms, and random expressions whose
   value must not change. */
#include "testing.h"

#include "child.h"

#include <stdio.h>

#include "arith/analyzer.h"
#include "arith_eval.h"
#include "tenon/compiler.h"
#include "tenon/object.h"

static tn_expr *v(const char *name) { return (tn_expr *)tir_var(name, TN_I32); }
static tn_expr *c(int32_t x) { return tir_i32(x); }

static void text_of(const void *e, tn_buf *out) {
  const tn_BinaryOp *o = TN_AS_BINARY(e);
  if (TN_AS(IntImm, e)) {
    tn_buf_printf(out, "%lld", (long long)((const tn_IntImm *)e)->value);
  } else if (TN_AS(Var, e)) {
    tn_buf_printf(out, "%s", tn_cstr(((const tn_Var *)e)->name));
  } else {
    tn_buf_printf(out, "%s(", ((const tn_obj *)e)->type->name);
    if (o) text_of(o->a, out), tn_buf_printf(out, ", "), text_of(o->b, out);
    else if (TN_AS(Not, e)) text_of(((const tn_Not *)e)->a, out);
    else if (TN_AS(Broadcast, e)) text_of(((const tn_Broadcast *)e)->value, out);
    else if (TN_AS(Cast, e)) text_of(((const tn_Cast *)e)->value, out);
    else if (TN_AS(Ramp, e))
      text_of(((const tn_Ramp *)e)->base, out), tn_buf_printf(out, ", "),
          text_of(((const tn_Ramp *)e)->stride, out);
    else if (TN_AS(Select, e))
      text_of(((const tn_Select *)e)->condition, out), tn_buf_printf(out, ", "),
          text_of(((const tn_Select *)e)->true_value, out), tn_buf_printf(out, ", "),
          text_of(((const tn_Select *)e)->false_value, out);
    tn_buf_printf(out, ")");
  }
}

#define assert_form(e, want) assert_form_(e, want, __LINE__)
static void assert_form_(tn_expr *got, tn_expr *want, int line) {
  TN_BUF(x);
  TN_BUF(y);
  assert_non_null(got);
  if (arith_same(got, want)) return;
  text_of(got, &x), text_of(want, &y);
  fail_msg("line %d: got %s, expected %s", line, tn_buf_cstr(&x), tn_buf_cstr(&y));
}

static void know(arith_analyzer *a, tn_expr *x, int64_t lo, int64_t hi) {
  assert_int_equal(arith_set_bound(a, (tn_Var *)x, (arith_bound){lo, hi}, true), 0);
}

#define assert_bound(a, e, lo, hi)                                                                 \
  do {                                                                                             \
    arith_bound b_ = arith_const_bound(a, e);                                                      \
    assert_int_equal(b_.min, lo);                                                                  \
    assert_int_equal(b_.max, hi);                                                                  \
  } while (0)

/* ---- bounds ---- */

static void test_bounds_of_arithmetic(void **state) {
  (void)state;
  TN_SCOPE(s);
  TN_ARITH(a);
  tn_expr *x = v("x"), *y = v("y"), *l = (tn_expr *)tir_var("l", TN_I64);
  assert_bound(&a, x, INT32_MIN, INT32_MAX);
  assert_bound(&a, l, ARITH_NEG_INF, ARITH_POS_INF);
  assert_bound(&a, tir_add(l, tir_i64(1)), ARITH_NEG_INF, ARITH_POS_INF);
  know(&a, x, 0, 4);
  know(&a, y, 1, 10);
  assert_bound(&a, tir_add(x, y), 1, 14);
  assert_bound(&a, tir_sub(x, y), -10, 3);
  assert_bound(&a, tir_add(tir_mul(x, y), c(20)), 20, 60);
  assert_bound(&a, tir_floordiv(tir_mul(x, c(3)), y), 0, 12);
  assert_bound(&a, tir_min(tir_sub(x, c(2)), y), -2, 2);
  assert_bound(&a, tir_max(tir_sub(x, c(2)), y), 1, 10);
  assert_bound(&a, tir_floormod(tir_sub(x, c(9)), c(5)), 0, 4);
  assert_bound(&a, tir_floormod(x, c(5)), 0, 4);
  assert_bound(&a, tir_floormod(tir_mul(x, c(4)), c(8)), 0, 4);
  assert_bound(&a, tir_lt(x, y), 0, 1);
  assert_bound(&a, tir_select(tir_lt(x, y), tir_sub(c(0), x), tir_add(y, c(1)), NULL), -4, 11);
  assert_bound(&a, tir_bitwise(TIR_OP_bitwise_and, x, c(2), NULL), 0, 2);
  assert_bound(&a, tir_shift(TIR_OP_shift_right, y, c(1), NULL), 0, 5);
  assert_bound(&a, tir_shift(TIR_OP_shift_left, y, c(2), NULL), 4, 40);
  know(&a, x, -9, 4);
  assert_bound(&a, tir_mod(x, c(3)), -2, 2);
  assert_bound(&a, tir_div(x, c(3)), -3, 1);
  assert_bound(&a, tir_floordiv(x, c(3)), -3, 1);
  know(&a, l, ARITH_NEG_INF, 4);
  assert_bound(&a, tir_mul(l, tir_i64(-2)), -8, ARITH_POS_INF);
  assert_bound(&a, tir_add(l, tir_i64(INT64_MAX)), ARITH_NEG_INF, ARITH_POS_INF);
  assert_bound(&a, tir_cast(TN_I32, l, NULL), INT32_MIN, INT32_MAX);
  tn_expr *u = (tn_expr *)tir_var("u", tn_dtype_of(kDLUInt, 8, 1));
  assert_bound(&a, u, 0, 255);
  assert_bound(&a, tir_add(u, tir_one(u->dtype)), 0, 255);
}

static void test_bounds_from_ranges_and_conditions(void **state) {
  (void)state;
  TN_SCOPE(s);
  TN_ARITH(a);
  tn_expr *x = v("x"), *y = v("y"),
          *n = (tn_expr *)TN_NEW(SizeVar, .dtype = TN_I32, .name = tn_str_from("n"));
  assert_int_equal(arith_bind_range(&a, (tn_Var *)x, tir_range(c(3), c(8)), false), 0);
  assert_bound(&a, x, 3, 10);
  assert_bound(&a, n, 0, INT32_MAX);
  int64_t mark = arith_enter(&a, tir_and(tir_lt(x, c(6)), tir_lt(y, tir_add(x, c(1)))));
  assert_int_equal(mark, 0);
  assert_bound(&a, x, 3, 5);
  assert_bound(&a, y, INT32_MIN, 5);
  int64_t inner = arith_enter(&a, tir_eq(tir_floormod(y, c(4)), c(2)));
  arith_modular m = arith_modular_set(&a, tir_add(y, c(3)));
  assert_int_equal(m.coeff, 4);
  assert_int_equal(m.base, 1);
  arith_leave(&a, inner);
  assert_int_equal(arith_modular_set(&a, y).coeff, 1);
  arith_leave(&a, mark);
  assert_bound(&a, x, 3, 10);
  assert_int_equal(arith_bind_range(&a, (tn_Var *)x, tir_range(c(3), c(9)), false), -1);
  assert_error("ValueError", "variable x: its range is already known");
  assert_int_equal(arith_bind(&a, (tn_Var *)y, c(3), false), 0);
  assert_int_equal(arith_bind(&a, (tn_Var *)y, c(3), false), 0);
  assert_int_equal(arith_bind(&a, (tn_Var *)y, c(4), false), -1);
  assert_error("ValueError", "variable y: its value is already known");
  assert_int_equal(arith_bind(&a, (tn_Var *)y, c(4), true), 0);
  assert_form(arith_simplify(&a, tir_add(x, y)), tir_add(x, c(4)));
}

static void test_modular_sets(void **state) {
  (void)state;
  TN_SCOPE(s);
  TN_ARITH(a);
  tn_expr *x = v("x"), *y = v("y");
#define assert_modular(e, p, q)                                                                    \
  do {                                                                                             \
    arith_modular m_ = arith_modular_set(&a, e);                                                   \
    assert_int_equal(m_.coeff, p);                                                                 \
    assert_int_equal(m_.base, q);                                                                  \
  } while (0)
  assert_modular(x, 1, 0);
  assert_modular(c(7), 0, 7);
  assert_modular(tir_add(tir_mul(x, c(6)), tir_add(tir_mul(y, c(4)), c(3))), 2, 1);
  assert_modular(tir_mul(tir_add(tir_mul(x, c(4)), c(2)), tir_add(tir_mul(y, c(6)), c(1))), 4, 2);
  assert_modular(tir_floordiv(tir_add(tir_mul(x, c(8)), c(6)), c(4)), 2, 1);
  assert_modular(tir_floormod(tir_add(tir_mul(x, c(8)), c(6)), c(4)), 0, 2);
  assert_modular(tir_max(tir_mul(x, c(3)), tir_mul(y, c(9))), 3, 0);
  assert_modular(tir_select(tir_lt(x, y), tir_mul(x, c(6)), tir_add(tir_mul(y, c(6)), c(2)), NULL),
                 2, 0);
  assert_int_equal(arith_set_modular(&a, (tn_Var *)x, (arith_modular){4, 1}, false), 0);
  assert_modular(tir_add(x, c(3)), 4, 0);
#undef assert_modular
}

/* ---- forms ---- */

static void test_forms_of_rewriting(void **state) {
  (void)state;
  TN_SCOPE(s);
  TN_ARITH(a);
  tn_expr *x = v("x"), *y = v("y"), *z = v("z");
  know(&a, z, 0, 7);
#define R(e, want) assert_form(arith_rewrite_simplify(&a, e), want)
  R(tir_add(tir_sub(x, y), y), x);
  R(tir_sub(tir_add(x, c(3)), tir_sub(x, c(2))), c(5));
  R(tir_add(tir_mul(x, c(2)), tir_mul(x, c(3))), tir_mul(x, c(5)));
  R(tir_floordiv(tir_add(tir_mul(x, c(16)), z), c(8)), tir_mul(x, c(2)));
  R(tir_floormod(tir_add(tir_mul(x, c(8)), z), c(8)), z);
  R(tir_floordiv(z, c(8)), c(0));
  R(tir_min(tir_add(x, c(1)), tir_add(x, c(2))), tir_add(x, c(1)));
  R(tir_min(c(1), tir_min(x, c(10))), tir_min(x, c(1)));
  R(tir_min(tir_sub(c(3), x), c(2)), tir_sub(c(3), tir_max(x, c(1))));
  R(tir_max(tir_min(x, y), x), x);
  R(tir_gt(x, y), tir_lt(y, x));
  R(tir_ge(x, c(5)), tir_le(c(5), x));
  R(tir_le(tir_add(x, c(1)), c(5)), tir_le(x, c(4)));
  R(tir_lt(tir_add(x, c(3)), c(10)), tir_lt(x, c(7)));
  R(tir_lt(tir_mul(x, c(4)), c(10)), tir_lt(x, c(3)));
  R(tir_lt(z, c(8)), tir_bool(true));
  R(tir_eq(tir_add(tir_mul(x, c(2)), c(1)), tir_mul(y, c(2))), tir_bool(false));
  R(tir_ne(tir_sub(x, c(3)), c(4)), tir_ne(x, c(7)));
  R(tir_not(tir_lt(x, y), NULL), tir_le(y, x));
  R(tir_and(tir_lt(x, c(5)), tir_lt(c(9), x)), tir_bool(false));
  R(tir_or(tir_le(x, y), tir_lt(y, x)), tir_bool(true));
  R(tir_select(tir_lt(x, c(0)), tir_min(x, c(3)), c(1), NULL),
    tir_select(tir_lt(x, c(0)), x, c(1), NULL));
  tn_expr *vx = tir_broadcast(x, 4, NULL), *vy = tir_broadcast(y, 4, NULL);
  tn_expr *ramp = (tn_expr *)TN_MAKE(Ramp, .base = x, .stride = c(1), .lanes = 4);
  R(tir_add(vx, vy), tir_broadcast(tir_add(x, y), 4, NULL));
  R(tir_add(ramp, vy), (tn_expr *)TN_MAKE(Ramp, .base = tir_add(x, y), .stride = c(1), .lanes = 4));
  tn_expr *wide = (tn_expr *)TN_MAKE(Ramp, .base = tir_mul(x, c(4)), .stride = c(1), .lanes = 4);
  R(tir_floordiv(wide, tir_broadcast(c(4), 4, NULL)), vx);
#undef R
}

static void test_canonical_forms(void **state) {
  (void)state;
  TN_SCOPE(s);
  TN_ARITH(a);
  tn_expr *x = v("x"), *y = v("y"), *z = v("z");
  know(&a, z, 0, 3);
#define C(e, want) assert_form(arith_canonical_simplify(&a, e), want)
  C(tir_add(y, tir_mul(x, c(8))), tir_add(tir_mul(x, c(8)), y));
  C(tir_add(tir_mul(x, c(8)), y), tir_add(tir_mul(x, c(8)), y));
  C(tir_add(c(1), tir_sub(y, x)), tir_sub(tir_add(y, c(1)), x));
  C(tir_sub(tir_sub(y, c(1)), x), tir_sub(tir_sub(y, x), c(1)));
  C(tir_add(tir_mul(tir_floordiv(x, c(8)), c(8)), tir_floormod(x, c(8))), x);
  C(tir_add(tir_floormod(x, c(8)), tir_mul(tir_floordiv(x, c(8)), c(8))), x);
  C(tir_add(tir_mul(tir_floormod(tir_floordiv(x, c(4)), c(8)), c(4)), tir_floormod(x, c(4))),
    tir_floormod(x, c(32)));
  C(tir_floordiv(tir_add(tir_mul(x, c(4)), y), c(4)), tir_add(tir_floordiv(y, c(4)), x));
  C(tir_floordiv(tir_add(tir_mul(x, c(4)), z), c(4)), x);
  C(tir_floormod(tir_add(tir_mul(x, c(4)), z), c(4)), z);
  C(tir_floordiv(tir_floordiv(x, c(3)), c(5)), tir_floordiv(x, c(15)));
  C(tir_floormod(tir_floordiv(tir_floormod(x, c(64)), c(4)), c(2)),
    tir_floordiv(tir_floormod(x, c(8)), c(4)));
  C(tir_mul(tir_sub(x, y), c(2)), tir_sub(tir_mul(x, c(2)), tir_mul(y, c(2))));
  C(tir_floormod(tir_sub(x, c(5)), c(3)), tir_floormod(tir_add(x, c(1)), c(3)));
#undef C
}

static void test_floats_and_wrapping_types_are_left_alone(void **state) {
  (void)state;
  TN_SCOPE(s);
  TN_ARITH(a);
  tn_expr *f = (tn_expr *)tir_var("f", TN_F32),
          *u = (tn_expr *)tir_var("u", tn_dtype_of(kDLUInt, 8, 1));
  tn_expr *e = tir_mul(f, tir_f32(0));
  assert_form(arith_simplify(&a, e), e);
  e = tir_sub(tir_add(f, tir_f32(1)), f);
  assert_form(arith_simplify(&a, e), e);
  e = tir_not(tir_lt(f, tir_f32(1)), NULL);
  assert_form(arith_simplify(&a, e), e);
  e = tir_lt(tir_add(u, tir_one(u->dtype)), tir_const_int(u->dtype, 3));
  assert_form(arith_simplify(&a, e), e);
  assert_form(arith_simplify(&a, tir_add(f, tir_mul(tir_f32(2), tir_f32(3)))),
              tir_add(f, tir_f32(6)));
}

static void test_proofs(void **state) {
  (void)state;
  TN_SCOPE(s);
  TN_ARITH(a);
  tn_expr *x = v("x"), *y = v("y"), *n = v("n");
  know(&a, x, 0, 15);
  know(&a, y, 0, 7);
  assert_true(arith_prove(&a, tir_lt(tir_add(tir_mul(x, c(8)), y), c(128))));
  assert_false(arith_prove(&a, tir_lt(tir_add(tir_mul(x, c(8)), y), c(127))));
  assert_true(arith_prove_equal(&a, tir_mul(tir_add(x, y), c(2)),
                                tir_add(tir_mul(y, c(2)), tir_mul(x, c(2)))));
  assert_false(arith_prove_equal(&a, x, y));
  assert_false(arith_prove(&a, tir_lt(x, n)));
  int64_t mark = arith_enter(&a, tir_lt(x, n));
  assert_true(arith_prove(&a, tir_lt(x, n)));
  assert_true(arith_prove(&a, tir_not(tir_le(n, x), NULL)));
  assert_true(arith_prove(&a, tir_lt(c(0), n)));
  arith_leave(&a, mark);
  assert_false(arith_prove(&a, tir_lt(x, n)));
  assert_true(arith_prove_ge(&a, x, 0));
  assert_true(arith_prove_lt(&a, x, 16));
  assert_true(arith_prove(&a, tir_le(tir_floordiv(n, c(4)), tir_floordiv(tir_add(n, c(4)), c(4)))));
}

static void test_symbolic_bounds_and_conditions_prove(void **state) {
  (void)state;
  TN_SCOPE(s);
  TN_ARITH(a);
  tn_expr *i = v("i"), *j = v("j"), *n = v("n"), *m = v("m"), *k = v("k");
  assert_int_equal(arith_bind_range(&a, (tn_Var *)i, tir_range(c(0), n), false), 0);
  assert_int_equal(arith_bind_range(&a, (tn_Var *)j, tir_range(c(0), c(4)), false), 0);
  assert_true(arith_prove(&a, tir_lt(i, n)));
  assert_true(arith_prove(&a, tir_lt(tir_add(tir_mul(i, c(4)), j), tir_mul(n, c(4)))));
  assert_false(
      arith_prove(&a, tir_lt(tir_add(tir_mul(i, c(4)), j), tir_sub(tir_mul(n, c(4)), c(1)))));
  assert_false(arith_prove(&a, tir_lt(i, m)));
  assert_form(arith_simplify(&a, tir_select(tir_lt(i, n), j, m, NULL)), j);
  int64_t mark = arith_enter(&a, tir_le(n, m));
  assert_true(arith_prove(&a, tir_lt(i, m)));
  assert_true(arith_enter(&a, tir_lt(m, k)) > 0);
  assert_true(arith_prove(&a, tir_lt(n, k)));
  assert_true(arith_prove(&a, tir_lt(tir_add(i, c(1)), k)));
  assert_false(arith_prove(&a, tir_lt(tir_add(i, c(2)), k)));
  arith_leave(&a, mark);
  assert_false(arith_prove(&a, tir_lt(i, m)));
}

/* ---- random ---- */

static void check_values(program *p, arith_analyzer *a, tn_expr *e, tn_expr *r, const char *what) {
  arith_bound b = arith_const_bound(a, e);
  arith_modular m = arith_modular_set(a, e);
  for (int k = 0; k < 25; ++k) {
    int64_t x, y;
    if (!draw_values(p)) return;
    if (!eval(p, e, &x)) continue;
    TN_BUF(t1);
    TN_BUF(t2);
    bool same = eval(p, r, &y) && x == y;
    bool fits = x >= b.min && x <= b.max;
    bool congruent = m.coeff == 0 ? x == m.base : (x - m.base) % m.coeff == 0;
    if (same && fits && congruent) continue;
    text_of(e, &t1), text_of(r, &t2);
    fail_msg("%s: %s is %lld, %s is %lld; bound [%lld, %lld], %lld + %lld k; x=%lld y=%lld z=%lld "
             "w=%lld",
             what, tn_buf_cstr(&t1), (long long)x, tn_buf_cstr(&t2), (long long)y, (long long)b.min,
             (long long)b.max, (long long)m.base, (long long)m.coeff, (long long)p->value[0],
             (long long)p->value[1], (long long)p->value[2], (long long)p->value[3]);
  }
}

/* Ranges of the variables; in every second program one depends on another, in some a condition
   holds. */
static void learn(program *p, arith_analyzer *a, uint64_t i) {
  p->related = i % 2;
  for (int k = 0; k < NVARS; ++k) {
    tn_Range *r = tir_range(c((int32_t)p->lo[k]), c((int32_t)(p->hi[k] - p->lo[k] + 1)));
    if (p->related && k == NVARS - 1) r = tir_range((tn_expr *)p->var[0], c(6));
    assert_int_equal(arith_bind_range(a, p->var[k], r, false), 0);
  }
  p->holds = i % 4 < 2 ? NULL : random_bool(p, 2);
  if (!p->holds) tn_error_clear();
  else assert_true(arith_enter(a, p->holds) >= 0);
}

static void test_random_expressions_keep_their_value(void **state) {
  (void)state;
  for (uint64_t i = 0; i < 3000; ++i) {
    TN_SCOPE(s);
    TN_ARITH(a);
    program p;
    new_program(&p, i);
    learn(&p, &a, i);
    tn_expr *e = i % 3 == 2 ? random_bool(&p, 4) : random_int(&p, 4);
    if (!e) { /* a division by a folded zero */
      tn_error_clear();
      continue;
    }
    tn_expr *r = arith_rewrite_simplify(&a, e);
    assert_non_null(r);
    check_values(&p, &a, e, r, "rewrite");
    r = arith_canonical_simplify(&a, e);
    assert_non_null(r);
    check_values(&p, &a, e, r, "canonical");
    r = arith_simplify_steps(&a, e, 4);
    assert_non_null(r);
    check_values(&p, &a, e, r, "simplify");
  }
}

static void test_long_chains_take_no_exponential_time(void **state) {
  (void)state;
  TN_SCOPE(s);
  TN_ARITH(a);
  tn_expr *m = v("x"), *t = m;
  for (int i = 0; i < 150; ++i) {
    tn_expr *y = v("y");
    m = tir_max(m, tir_add(y, c(i)));
    t = tir_select(tir_lt(y, c(3)), t, y, NULL);
  }
  assert_non_null(arith_simplify(&a, m));
  assert_non_null(arith_simplify(&a, t));
}

static void test_deep_expressions_are_an_error_not_a_crash(void **state) {
  (void)state;
#ifdef UNDER_TSAN
  skip(); /* the sanitizer itself follows 65,536 calls at most */
#endif
  TN_SCOPE(s);
  TN_ARITH(a);
  tn_expr *e = v("x");
  for (int i = 0; i < 200000; ++i) e = tir_max(tir_sub(c(i), e), v("y"));
  assert_null(arith_simplify(&a, e));
  assert_error("RuntimeError", "too deep");
  arith_bound b = arith_const_bound(&a, e);
  assert_true(b.min < 0 && b.max >= INT32_MAX);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_bounds_of_arithmetic),
      cmocka_unit_test(test_bounds_from_ranges_and_conditions),
      cmocka_unit_test(test_modular_sets),
      cmocka_unit_test(test_forms_of_rewriting),
      cmocka_unit_test(test_canonical_forms),
      cmocka_unit_test(test_floats_and_wrapping_types_are_left_alone),
      cmocka_unit_test(test_proofs),
      cmocka_unit_test(test_symbolic_bounds_and_conditions_prove),
      cmocka_unit_test(test_random_expressions_keep_their_value),
      cmocka_unit_test(test_long_chains_take_no_exponential_time),
      cmocka_unit_test(test_deep_expressions_are_an_error_not_a_crash),
  };
  if (tn_compiler_init()) {
    fprintf(stderr, "%s\n", tn_error_message());
    return 1;
  }
  return cmocka_run_group_tests(tests, NULL, NULL);
}
