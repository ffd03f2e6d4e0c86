/* Interval sets, regions and iteration maps from C; running out of memory while simplifying. */
#include "testing.h"

#include <stdio.h>

#include "arith/iter_map.h"
#include "arith/region.h"
#include "failing_alloc.h"
#include "tenon/compiler.h"

static tn_expr *v(const char *name) { return (tn_expr *)tir_var(name, TN_I32); }
static tn_expr *c(int32_t x) { return tir_i32(x); }

static tn_map *ranges_of(tn_expr *x, int32_t nx, tn_expr *y, int32_t ny) {
  tn_map *m = tn_map_with(NULL, tn_any_obj(x), tn_any_obj(tir_range(c(0), c(nx))));
  return tn_map_with(m, tn_any_obj(y), tn_any_obj(tir_range(c(0), c(ny))));
}

#define assert_value(e, want)                                                                      \
  do {                                                                                             \
    int64_t v_ = 0;                                                                                \
    assert_true(tir_as_int((const tn_obj *)(e), &v_));                                             \
    assert_int_equal(v_, want);                                                                    \
  } while (0)

static void test_maps_are_detected_and_inverted(void **state) {
  (void)state;
  TN_SCOPE(s);
  TN_ARITH(a);
  tn_expr *x = v("x"), *y = v("y"), *fused = tir_add(tir_mul(x, c(4)), y);
  tn_map *dom = ranges_of(x, 3, y, 4);
  tn_arr *indices = tn_arr_of(2, tir_floordiv(fused, c(6)), tir_floormod(fused, c(6)));
  tn_IterMapResult *r = iter_map_detect(&a, indices, dom, NULL, ITER_MAP_BIJECTIVE, true);
  assert_int_equal(r->indices->len, 2);
  const tn_IterSumExpr *first = TN_AS(IterSumExpr, tn_arr_obj(r->indices, 0));
  assert_value(((tn_IterSplitExpr *)tn_arr_obj(first->args, 0))->extent, 2);
  tn_map *inverse = iter_map_inverse(&a, r->indices, tn_arr_of(2, c(1), c(5)));
  tn_any value;
  assert_true(tn_map_get(inverse, tn_any_obj(x), &value));
  assert_value(value.v.obj, 2);
  assert_true(tn_map_get(inverse, tn_any_obj(y), &value));
  assert_value(value.v.obj, 3);
  r = iter_map_detect(&a, tn_arr_of(2, x, x), dom, NULL, ITER_MAP_SURJECTIVE, true);
  assert_int_equal(r->indices->len, 0);
  assert_int_equal(r->errors->len, 1);
  tn_arr *parts = iter_map_subspace_divide(&a, tn_arr_of(1, fused), dom, tn_arr_of(1, y), NULL,
                                           ITER_MAP_SURJECTIVE, true);
  assert_int_equal(parts->len, 2);
  assert_value(((tn_IterMark *)tn_arr_obj((tn_arr *)tn_arr_obj(parts, 0), 1))->extent, 4);
  assert_int_equal(arith_const_bound(&a, x).max, INT32_MAX); /* the ranges were forgotten again */
}

static void test_ranges_that_are_no_ranges(void **state) {
  (void)state;
  TN_SCOPE(s);
  TN_ARITH(a);
  tn_expr *x = v("x");
  tn_map *dom = tn_map_with(NULL, tn_any_obj(x), tn_any_obj(c(3)));
  assert_null(iter_map_detect(&a, tn_arr_of(1, x), dom, NULL, ITER_MAP_SURJECTIVE, true));
  assert_error("TypeError", "input_iters: expected a map from Var to Range");
  tn_arr *out;
  assert_int_equal(arith_region_exact(&a, tn_arr_of(1, x), dom, NULL, &out), -1);
  assert_error("TypeError", "region: expected an array of Range");
}

static void test_regions_and_bounds(void **state) {
  (void)state;
  TN_SCOPE(s);
  TN_ARITH(a);
  tn_expr *x = v("x"), *y = v("y"), *n = v("n");
  tn_map *dom = ranges_of(x, 8, y, 4);
  tn_arr *region = tn_arr_of(1, tir_range(tir_mul(x, c(4)), c(4)));
  tn_arr *sets = arith_region_upper(&a, region, dom, NULL);
  assert_value(((tn_IntervalSet *)tn_arr_obj(sets, 0))->max_value, 31);
  tn_IntervalSet *s1 = arith_int_set(&a, tir_sub(n, y), dom);
  assert_true(arith_same(s1->max_value, n));
  s1 = arith_deduce_bound(&a, (tn_Var *)n, tir_lt(tir_mul(n, c(3)), c(10)), NULL, NULL);
  assert_value(s1->max_value, 3);
  assert_true(arith_is_inf(s1->min_value));
  tn_Range *r = arith_interval_range(&a, arith_interval(x, tir_add(x, c(3))), NULL);
  assert_value(r->extent, 4);
}

/* ---- memory ---- */

static int simplify_something(void *ctx) {
  TN_SCOPE(s);
  TN_ARITH(a);
  tn_expr *x, *y, *e, *limit;
  (void)ctx;
  TN_GET(x, v("x"));
  TN_GET(y, v("y"));
  TN_TRY(arith_bind_range(&a, (tn_Var *)x, tir_range(c(0), c(16)), false));
  TN_GET(limit, tir_lt(y, c(8)));
  TN_TRY(arith_enter(&a, limit) < 0);
  TN_GET(e, tir_add(tir_mul(y, c(16)), tir_sub(tir_add(x, c(3)), c(3))));
  TN_GET(e, tir_select(tir_lt(x, y), tir_floordiv(e, c(8)), tir_max(e, x), NULL));
  TN_GET(e, arith_simplify(&a, e));
  return 0;
}

static void test_every_allocation_may_fail(void **state) {
  (void)state;
  assert_true(fail_every_allocation(simplify_something, NULL) > 20);
}

static int detect_something(void) {
  TN_SCOPE(s);
  TN_ARITH(a);
  tn_expr *x, *y, *e;
  tn_map *dom;
  tn_IterMapResult *r;
  tn_arr *sets;
  TN_GET(x, v("x"));
  TN_GET(y, v("y"));
  TN_GET(e, tir_add(tir_mul(x, c(4)), y));
  tn_Range *rx, *ry, *re;
  TN_GET(rx, tir_range(c(0), c(3)));
  TN_GET(ry, tir_range(c(0), c(4)));
  TN_GET(re, tir_range(e, c(2)));
  TN_GET(dom, tn_map_with(NULL, tn_any_obj(x), tn_any_obj(rx)));
  TN_GET(dom, tn_map_with(dom, tn_any_obj(y), tn_any_obj(ry)));
  tn_expr *q, *m, *limit;
  tn_arr *two, *region;
  TN_GET(q, tir_floordiv(e, c(6)));
  TN_GET(m, tir_floormod(e, c(6)));
  TN_GET(limit, tir_lt(e, c(12)));
  TN_GET(two, tn_arr_of(2, q, m));
  TN_GET(r, iter_map_detect(&a, two, dom, limit, ITER_MAP_BIJECTIVE, true));
  TN_GET(two, tn_arr_of(2, x, y));
  if (r->indices->len) TN_TRY(!iter_map_inverse(&a, r->indices, two));
  TN_GET(region, tn_arr_of(1, re));
  TN_GET(sets, arith_region_upper(&a, region, dom, NULL));
  TN_GET(limit, tir_lt(e, c(9)));
  return arith_deduce_bound(&a, (tn_Var *)x, limit, NULL, dom) ? 0 : -1;
}

/* A proof that runs out of memory is not proof: then detection goes on and may give up instead. */
static void test_maps_survive_failing_allocations(void **state) {
  (void)state;
  failing_alloc a = {.most = SIZE_MAX};
  int failures = 0;
  for (int64_t n = 0; n < 1500; ++n) {
    a.countdown = n;
    a.live = 0;
    a.real = tn_set_allocator((tn_allocator){failing_alloc_fn, &a});
    int err = detect_something();
    tn_set_allocator(a.real);
    assert_int_equal(a.live, 0);
    if ((err != 0) != tn_error_pending())
      fail_msg("allocation %lld: %d, %s", (long long)n, err, tn_error_message());
    if (err) assert_string_equal(tn_error_class(), "MemoryError");
    failures += err != 0;
    tn_error_clear();
  }
  assert_true(failures > 50);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_maps_are_detected_and_inverted),
      cmocka_unit_test(test_ranges_that_are_no_ranges),
      cmocka_unit_test(test_regions_and_bounds),
      cmocka_unit_test(test_every_allocation_may_fail),
      cmocka_unit_test(test_maps_survive_failing_allocations),
  };
  if (tn_compiler_init()) {
    fprintf(stderr, "%s\n", tn_error_message());
    return 1;
  }
  return cmocka_run_group_tests(tests, NULL, NULL);
}
