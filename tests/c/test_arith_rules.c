/* Every rewrite rule, checked by evaluating both sides over random numbers; those that are said to
   hold where numbers wrap around also over all numbers of a byte, of which sums and products do. */
#include "testing.h"

#include <stdio.h>

#include "arith/analyzer.h"
#include "arith/rules.h"
#include "tenon/compiler.h"

static uint64_t state_ = 88172645463325252u;
static uint64_t rnd(void) { /* xorshift64 */
  state_ ^= state_ << 13;
  state_ ^= state_ >> 7;
  return state_ ^= state_ << 17;
}
static int64_t between(int64_t lo, int64_t hi) {
  return lo + (int64_t)(rnd() % (uint64_t)(hi - lo + 1));
}

/* Mostly small numbers, where conditions such as divisibility hold often. */
static void draw(const arith_rule *r, arith_values *v) {
  int64_t spread = rnd() % 4 == 0 ? 100 : 8;
  for (int i = 0; i < ARITH_NVARS; ++i)
    v->var[i] = r->bools & (1u << i) ? between(0, 1) : between(-spread, spread);
  for (int i = 0; i < ARITH_NCONSTS; ++i) v->c[i] = between(-12, 12);
  if (rnd() % 2) v->c[1] = v->c[0] * between(-3, 3);
  else if (rnd() % 2) v->c[0] = v->c[1] * between(-3, 3);
  if (rnd() % 4 == 0) v->c[2] = v->c[0] * v->c[1];
  if (rnd() % 4 == 0) v->c[1] = -v->c[0];
  if (rnd() % 4 == 0) v->c[1] = v->c[0] + 1;
  v->lanes = between(2, 5);
}

/* Any numbers of a byte, small ones among the constants. */
static void draw_bytes(const arith_rule *r, arith_values *v) {
  draw(r, v);
  for (int i = 0; i < ARITH_NVARS; ++i)
    if (!(r->bools & (1u << i))) v->var[i] = between(-128, 127);
  for (int i = 0; i < ARITH_NCONSTS && rnd() % 4 == 0; ++i) v->c[i] = between(-128, 127);
  v->bits = 8;
}

/* 1: both sides are equal, 0: the rule does not apply to these numbers */
static int check(const arith_rule *r, arith_values *v) {
  int64_t holds = 1, lhs, rhs;
  v->lane = 0;
  if (r->cond_pat >= 0 && (!arith_pattern_value(r->cond_pat, v, &holds) || !holds)) return 0;
  for (v->lane = 0; v->lane < v->lanes; ++v->lane) {
    if (!arith_pattern_value(r->lhs_pat, v, &lhs)) return 0;
    if (!arith_pattern_value(r->rhs_pat, v, &rhs)) {
      if (v->bits) return 0; /* a constant does not fit: the rule is not applied */
      fail_msg("%s => %s: the right side is undefined", r->lhs, r->rhs);
    }
    if (lhs != rhs)
      fail_msg(
          "%s => %s if %s: %lld, %lld with x=%lld y=%lld z=%lld w=%lld c1=%lld c2=%lld c3=%lld",
          r->lhs, r->rhs, r->cond, (long long)lhs, (long long)rhs, (long long)v->var[0],
          (long long)v->var[1], (long long)v->var[2], (long long)v->var[3], (long long)v->c[0],
          (long long)v->c[1], (long long)v->c[2]);
  }
  return 1;
}

static void test_both_sides_of_every_rule_are_equal(void **state) {
  (void)state;
  assert_true(arith_rule_count() > 250);
  for (int i = 0; i < arith_rule_count(); ++i) {
    const arith_rule *r = arith_rule_at(i);
    arith_values v = {0};
    int applied = 0;
    for (int k = 0; k < 200000 && applied < 400; ++k) {
      draw(r, &v);
      applied += check(r, &v);
    }
    if (applied < 20) fail_msg("%s: the condition held %d times only", r->lhs, applied);
  }
}

static void test_modular_rules_hold_where_numbers_wrap_around(void **state) {
  int modular = 0;
  (void)state;
  for (int i = 0; i < arith_rule_count(); ++i) {
    const arith_rule *r = arith_rule_at(i);
    arith_values v;
    int applied = 0;
    if (!r->modular) continue;
    ++modular;
    for (int k = 0; k < 200000 && applied < 2000; ++k) {
      v = (arith_values){0};
      draw_bytes(r, &v);
      applied += check(r, &v);
    }
    if (applied < 20) fail_msg("%s: the condition held %d times only", r->lhs, applied);
  }
  assert_true(modular > 50);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_both_sides_of_every_rule_are_equal),
      cmocka_unit_test(test_modular_rules_hold_where_numbers_wrap_around)};
  if (tn_compiler_init()) {
    fprintf(stderr, "%s\n", tn_error_message());
    return 1;
  }
  return cmocka_run_group_tests(tests, NULL, NULL);
}
