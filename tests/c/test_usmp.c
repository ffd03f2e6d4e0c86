/* Static memory planning: plans are valid, close to what is needed, and tell what is missing. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "testing.h"
#include "tir/usmp/plan.h"

static const char *const algorithms[] = {"greedy_by_size", "greedy_by_conflicts", "hill_climb",
                                         NULL};

static void check_plan(const usmp_buffer *b, int n, const usmp_pool *pools, int npools, int align) {
  for (int i = 0; i < n; ++i) {
    assert_in_range(b[i].pool, 0, npools - 1);
    assert_int_equal(b[i].offset % align, 0);
    int64_t end = b[i].offset + b[i].bytes;
    assert_true(end <= pools[b[i].pool].used);
    assert_true(pools[b[i].pool].limit < 0 || end <= pools[b[i].pool].limit);
    for (int k = 0; k < i; ++k) {
      bool together = b[i].first <= b[k].last && b[k].first <= b[i].last;
      bool apart =
          b[i].pool != b[k].pool || end <= b[k].offset || b[k].offset + b[k].bytes <= b[i].offset;
      assert_true(!together || apart);
    }
  }
}

/* A chain with branches, as networks have them: most values live for a few steps, some long. */
static void make_network(usmp_buffer *b, int n, unsigned *seed) {
  for (int i = 0; i < n; ++i) {
    int length = rand_r(seed) % 8 ? 1 + rand_r(seed) % 2 : rand_r(seed) % 12;
    int64_t bytes = (1 + rand_r(seed) % 64) << (rand_r(seed) % 8);
    b[i] = (usmp_buffer){.name = "x", .bytes = bytes, .first = i, .last = i + length};
  }
}

static void test_plans_of_networks(void **state) {
  (void)state;
  unsigned seed = 1;
  double worst = 1;
  for (int round = 0; round < 200; ++round) {
    usmp_buffer b[60];
    int n = 1 + rand_r(&seed) % 60, align = 1 << (rand_r(&seed) % 7);
    make_network(b, n, &seed);
    int64_t bound = usmp_lower_bound(b, n, align);
    for (int a = 0; a < 4; ++a) {
      usmp_pool pool = {.name = "p", .limit = -1};
      assert_int_equal(usmp_plan(b, n, &pool, 1, align, algorithms[a]), 0);
      check_plan(b, n, &pool, 1, align);
      assert_true(pool.used + align > bound);
      if (!algorithms[a] && (double)pool.used > worst * (double)bound)
        worst = (double)pool.used / (double)bound;
    }
  }
  assert_true(worst <= 1.1);
}

static void test_several_pools(void **state) {
  (void)state;
  unsigned seed = 7;
  for (int round = 0; round < 100; ++round) {
    usmp_buffer b[40];
    make_network(b, 40, &seed);
    int64_t bound = usmp_lower_bound(b, 40, 16);
    usmp_pool pools[] = {{.name = "dtcm", .limit = bound / 3},
                         {.name = "sram", .limit = bound / 2},
                         {.name = "external", .limit = -1}};
    assert_int_equal(usmp_plan(b, 40, pools, 3, 16, algorithms[round % 4]), 0);
    check_plan(b, 40, pools, 3, 16);
  }
}

static void expect_error(const char *text) {
  const char *message = tn_error_message();
  if (!strstr(message, text)) fail_msg("%s", message);
  tn_error_clear();
}

static void test_what_does_not_fit(void **state) {
  (void)state;
  usmp_buffer b[] = {{.name = "a", .bytes = 100, .first = 0, .last = 1},
                     {.name = "b", .bytes = 60, .first = 1, .last = 2}};
  usmp_pool pools[] = {{.name = "small", .limit = 50}, {.name = "large", .limit = 140}};
  assert_int_equal(usmp_plan(b, 2, pools, 2, 4, "greedy_by_size"), -1);
  expect_error(
      "memory plan: b (60 bytes) fits into none of the pools: small of 50 bytes needs 10 more");
  pools[0].limit = 60;
  assert_int_equal(usmp_plan(b, 2, pools, 2, 4, NULL), 0);
  check_plan(b, 2, pools, 2, 4);
  assert_int_equal(usmp_plan(b, 2, pools, 2, 4, "best_fit"), -1);
  expect_error("expected greedy_by_size, greedy_by_conflicts or hill_climb, got best_fit");
  assert_int_equal(usmp_plan(b, 2, pools, 0, 4, NULL), -1);
  expect_error("no memory pool");
  b[0].bytes = INT64_MAX / 2;
  assert_int_equal(usmp_plan(b, 2, pools, 2, 4, NULL), -1);
  expect_error("a is too large");
}

static void test_nothing_to_plan(void **state) {
  (void)state;
  usmp_pool pool = {.name = "p", .limit = 0, .used = 9};
  for (int a = 0; a < 4; ++a) {
    assert_int_equal(usmp_plan(NULL, 0, &pool, 1, 16, algorithms[a]), 0);
    assert_int_equal(pool.used, 0);
  }
  assert_int_equal(usmp_lower_bound(NULL, 0, 16), 0);
  usmp_buffer empty = {.name = "e"};
  assert_int_equal(usmp_plan(&empty, 1, &pool, 1, 16, NULL), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_plans_of_networks),
      cmocka_unit_test(test_several_pools),
      cmocka_unit_test(test_what_does_not_fit),
      cmocka_unit_test(test_nothing_to_plan),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
