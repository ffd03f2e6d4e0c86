/* Packing: plans are valid, close to what is needed, and tell what is missing; blocks hold one buffer
   at a time. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "failing_alloc.h"
#include "testing.h"
#include "pack/pack.h"

static const pack_algorithm algorithms[] = {PACK_IN_ORDER,     PACK_FIRST_FIT,  PACK_BY_SIZE,
                                            PACK_BY_CONFLICTS, PACK_HILL_CLIMB, PACK_BEST};
enum { NALGORITHMS = sizeof algorithms / sizeof *algorithms };

static bool together(const pack_buffer *a, const pack_buffer *b) {
  return a->first <= b->last && b->first <= a->last;
}

static void check_plan(const pack_buffer *b, int n, const pack_pool *pools, int npools, int align) {
  for (int i = 0; i < n; ++i) {
    assert_in_range(b[i].pool, 0, npools - 1);
    assert_true(b[i].offset >= 0 && b[i].offset % (b[i].align ? b[i].align : align) == 0);
    int64_t end = b[i].offset + b[i].bytes;
    assert_true(end <= pools[b[i].pool].used);
    assert_true(pools[b[i].pool].limit < 0 || end <= pools[b[i].pool].limit);
    for (int k = 0; k < i; ++k) {
      bool apart =
          b[i].pool != b[k].pool || end <= b[k].offset || b[k].offset + b[k].bytes <= b[i].offset;
      assert_true(!together(&b[i], &b[k]) || apart);
    }
  }
}

/* A chain with branches, as networks have them: most values live for a few steps, some long. */
static void make_network(pack_buffer *b, int n, unsigned *seed) {
  for (int i = 0; i < n; ++i) {
    int length = rand_r(seed) % 8 ? 1 + rand_r(seed) % 2 : rand_r(seed) % 12;
    int64_t bytes = 1 + rand_r(seed) % 64;
    bytes <<= rand_r(seed) % 8;
    b[i] = (pack_buffer){.name = "x", .bytes = bytes, .first = i, .last = i + length};
  }
}

static void test_plans_of_networks(void **state) {
  (void)state;
  unsigned seed = 1;
  double worst = 1;
  for (int round = 0; round < 200; ++round) {
    pack_buffer b[60];
    int n = 1 + rand_r(&seed) % 60, align = 1 << (rand_r(&seed) % 7);
    make_network(b, n, &seed);
    int64_t bound = pack_lower_bound(b, n, align);
    int64_t sum = 0, used[NALGORITHMS];
    for (int i = 0; i < n; ++i) sum += (b[i].bytes + align - 1) / align * align;
    for (int a = 0; a < NALGORITHMS; ++a) {
      pack_pool pool = {.name = "p", .limit = -1};
      assert_int_equal(pack_plan(b, n, &pool, 1, align, algorithms[a]), 0);
      check_plan(b, n, &pool, 1, align);
      assert_true(pool.used + align > bound && pool.used <= sum);
      used[a] = pool.used;
      if (algorithms[a] == PACK_BEST && (double)pool.used > worst * (double)bound)
        worst = (double)pool.used / (double)bound;
    }
    assert_true(used[1] <= used[0] && used[1] <= used[NALGORITHMS - 1]);
  }
  assert_true(worst <= 1.1);
}

static void test_several_pools(void **state) {
  (void)state;
  unsigned seed = 7;
  for (int round = 0; round < 100; ++round) {
    pack_buffer b[40];
    make_network(b, 40, &seed);
    int64_t bound = pack_lower_bound(b, 40, 16);
    pack_pool pools[] = {{.name = "dtcm", .limit = bound / 3},
                         {.name = "sram", .limit = bound / 2},
                         {.name = "external", .limit = -1}};
    assert_int_equal(pack_plan(b, 40, pools, 3, 16, algorithms[round % NALGORITHMS]), 0);
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
  pack_buffer b[] = {{.name = "a", .bytes = 100, .first = 0, .last = 1},
                     {.name = "b", .bytes = 60, .first = 1, .last = 2}};
  pack_pool pools[] = {{.name = "small", .limit = 50}, {.name = "large", .limit = 140}};
  assert_int_equal(pack_plan(b, 2, pools, 2, 4, PACK_BY_SIZE), -1);
  expect_error(
      "memory plan: b (60 bytes) fits into none of the pools: small of 50 bytes needs 10 more");
  pools[0].limit = 60;
  assert_int_equal(pack_plan(b, 2, pools, 2, 4, PACK_BEST), 0);
  check_plan(b, 2, pools, 2, 4);
  assert_int_equal(pack_plan(b, 2, pools, 0, 4, PACK_BEST), -1);
  expect_error("no memory pool");
  b[0].bytes = INT64_MAX / 2;
  assert_int_equal(pack_plan(b, 2, pools, 2, 4, PACK_BEST), -1);
  expect_error("a is too large");
}

static void test_nothing_to_plan(void **state) {
  (void)state;
  pack_pool pool = {.name = "p", .limit = 0, .used = 9};
  for (int a = 0; a < NALGORITHMS; ++a) {
    assert_int_equal(pack_plan(NULL, 0, &pool, 1, 16, algorithms[a]), 0);
    assert_int_equal(pool.used, 0);
  }
  assert_int_equal(pack_lower_bound(NULL, 0, 16), 0);
  pack_buffer empty = {.name = "e"};
  assert_int_equal(pack_plan(&empty, 1, &pool, 1, 16, PACK_BEST), 0);
}

/* Buffers that ask for an alignment get it, whichever is placed first. */
static void test_alignments(void **state) {
  (void)state;
  unsigned seed = 3;
  for (int round = 0; round < 60; ++round) {
    pack_buffer b[20];
    pack_pool pool = {.name = "p", .limit = -1};
    make_network(b, 20, &seed);
    for (int i = 0; i < 20; ++i) b[i].align = rand_r(&seed) % 2 ? 1 + rand_r(&seed) % 48 : 0;
    assert_int_equal(pack_plan(b, 20, &pool, 1, 8, algorithms[round % NALGORITHMS]), 0);
    check_plan(b, 20, &pool, 1, 8);
  }
}

/* What is told counts, not the steps. */
static void test_conflicts_that_are_told(void **state) {
  (void)state;
  static const uint8_t conflicts[] = {1, 1, 0, 1, 1, 0, 0, 0, 1};
  pack_buffer b[] = {{.name = "a", .bytes = 8, .first = 0, .last = 0},
                     {.name = "b", .bytes = 8, .first = 5, .last = 5},
                     {.name = "c", .bytes = 12, .first = 0, .last = 5}};
  pack_pool pool = {.name = "p", .limit = -1};
  assert_int_equal(pack_plan_conflicts(b, 3, conflicts, 16, &pool, 1, 4, PACK_BEST), 0);
  assert_int_equal(pool.used, 16);
  assert_int_not_equal(b[0].offset, b[1].offset);
}

/* ---- blocks ---- */

/* A block that an odd number began takes odd numbers only. */
static bool not_odd_first(const void *ctx, int64_t first, int64_t bytes, int64_t next) {
  (void)ctx, (void)bytes;
  return first % 2 == 0 || next % 2 == 1;
}

static int64_t check_blocks(const pack_buffer *b, int n, const int64_t *sizes, int64_t nblocks) {
  int64_t total = 0, largest[64] = {0}, next = 0;
  for (int i = 0; i < n; ++i) {
    int k = b[i].pool;
    assert_in_range(k, 0, nblocks - 1);
    assert_int_equal(b[i].offset, 0);
    assert_true(k <= next); /* numbered in the order of the buffers */
    if (k == next) ++next;
    if (b[i].bytes > largest[k]) largest[k] = b[i].bytes;
    for (int j = 0; j < i; ++j) {
      if (b[j].pool != k) continue;
      assert_false(together(&b[i], &b[j]));
      assert_true(b[i].kind == b[j].kind && b[i].kind >= 0);
    }
  }
  assert_int_equal(next, nblocks);
  for (int64_t k = 0; k < nblocks; ++k) {
    assert_int_equal(sizes[k], largest[k]);
    total += sizes[k];
  }
  return total;
}

static void test_blocks(void **state) {
  (void)state;
  static const pack_sharing hows[] = {{0}, {.range = 16}, {.fits = not_odd_first}};
  unsigned seed = 5;
  double over = 0;
  for (int round = 0; round < 200; ++round) {
    pack_buffer b[60];
    int64_t sizes[60], sum = 0;
    int n = 1 + rand_r(&seed) % 60, kinds = 1 + rand_r(&seed) % 2;
    make_network(b, n, &seed);
    for (int i = 0; i < n; ++i) {
      b[i].kind = rand_r(&seed) % 16 ? rand_r(&seed) % kinds : -1;
      if (rand_r(&seed) % 16 == 0) b[i].last = PACK_FOREVER;
      sum += b[i].bytes;
    }
    for (int h = -1; h < 3; ++h) {
      const pack_sharing *how = h < 0 ? NULL : &hows[h];
      int64_t nblocks = pack_blocks(b, n, how, sizes);
      int64_t total = check_blocks(b, n, sizes, nblocks);
      int64_t bound = pack_lower_bound(b, n, 1);
      assert_true(total >= bound && total <= sum);
      if (h < 0) over += (double)total / (double)(bound ? bound : 1);
    }
  }
  assert_true(over / 200 < 1.45);
}

/* A chain needs two blocks; what is larger makes one grow. */
static void test_blocks_of_a_chain(void **state) {
  (void)state;
  int64_t sizes[4];
  pack_buffer b[] = {{.bytes = 8, .first = 0, .last = 1},
                     {.bytes = 4, .first = 1, .last = 2},
                     {.bytes = 9, .first = 2, .last = 3},
                     {.bytes = 4, .first = 3, .last = PACK_FOREVER}};
  assert_int_equal(pack_blocks(b, 4, NULL, sizes), 2);
  assert_int_equal(sizes[0], 9);
  assert_int_equal(sizes[1], 4);
  assert_int_equal(b[3].pool, 1);
  assert_int_equal(pack_blocks(NULL, 0, NULL, sizes), 0);
}

/* Sizes that differ more than the range keep apart, either way round. */
static void test_range(void **state) {
  (void)state;
  static const pack_sharing how = {.range = 16};
  for (int larger = 16; larger <= 32; larger += 16)
    for (int first = 0; first < 2; ++first) {
      int64_t sizes[2];
      pack_buffer b[] = {{.bytes = 10, .first = first, .last = first},
                         {.bytes = 10 * larger, .first = !first, .last = !first}};
      assert_int_equal(pack_blocks(b, 2, &how, sizes), larger == 16 ? 1 : 2);
    }
}

/* In the order of time the small one would take the large block, and a second one would be made. */
static void test_the_largest_first_is_better_here(void **state) {
  (void)state;
  int64_t sizes[4];
  pack_buffer b[] = {{.bytes = 10, .first = 0, .last = 1},
                     {.bytes = 2, .first = 0, .last = 4},
                     {.bytes = 3, .first = 2, .last = 6},
                     {.bytes = 10, .first = 5, .last = 7}};
  assert_int_equal(pack_blocks(b, 4, NULL, sizes), 3);
  assert_int_equal(sizes[0] + sizes[1] + sizes[2], 15);
  assert_int_equal(b[0].pool, b[3].pool);
}

static int plan_both(void *ctx) {
  (void)ctx;
  unsigned seed = 9;
  pack_buffer b[20];
  pack_pool pool = {.name = "p", .limit = -1};
  int64_t sizes[20];
  make_network(b, 20, &seed);
  return pack_plan(b, 20, &pool, 1, 4, PACK_BEST) || pack_blocks(b, 20, NULL, sizes) < 0 ? -1 : 0;
}

static void test_running_out_of_memory(void **state) {
  (void)state;
  assert_true(fail_every_allocation(plan_both, NULL) > 3);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_plans_of_networks),
      cmocka_unit_test(test_several_pools),
      cmocka_unit_test(test_what_does_not_fit),
      cmocka_unit_test(test_nothing_to_plan),
      cmocka_unit_test(test_alignments),
      cmocka_unit_test(test_conflicts_that_are_told),
      cmocka_unit_test(test_blocks),
      cmocka_unit_test(test_blocks_of_a_chain),
      cmocka_unit_test(test_range),
      cmocka_unit_test(test_the_largest_first_is_better_here),
      cmocka_unit_test(test_running_out_of_memory),
  };
  return cmocka_run_group_tests(tests, start_runtime, NULL);
}
