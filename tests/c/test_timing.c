/* Time evaluator and what it needs: counts of calls, options, errors, cache flushing. */
#include "testing.h"

#include <unistd.h>

#include "base/clock.h"
#include "failing_alloc.h"
#include "runtime/profiling/timing.h"

typedef struct {
  int calls, preprocs, fail_at;
  int64_t last_arg;
  unsigned us;
} record;

static int counted(void *self, const tn_any *args, int32_t n, tn_any *ret) {
  record *r = self;
  (void)ret;
  TN_TRY(tn_check_nargs("counted", n, 1));
  TN_TRY(tn_any_to_int(&args[0], &r->last_arg));
  if (++r->calls == r->fail_at) return TN_RAISE(KeyError, NULL, "call %d", r->calls);
  if (r->us) usleep(r->us);
  return 0;
}

static int preproc(void *self, const tn_any *args, int32_t n, tn_any *ret) {
  record *r = self;
  (void)args, (void)ret;
  r->preprocs += n == 1;
  return 0;
}

static const tn_timing plain = {.device = {kDLCPU, 0},
                                .number = 3,
                                .repeat = 4,
                                .limit_zero_time_iterations = 100,
                                .repeats_to_cooldown = 1};

/* Runs the evaluator of `counted` with the argument 7. */
static int evaluate(record *r, const tn_timing *how, tn_any *ret) {
  tn_any arg = tn_any_int(7);
  tn_func *f = tn_func_new(counted, r, NULL);
  if (!f) return -1;
  tn_func *e = tn_time_evaluator(f, how);
  tn_release(f);
  if (!e) return -1;
  int err = tn_func_call(e, &arg, 1, ret);
  tn_release(e);
  return err;
}

static void test_counts_and_results(void **state) {
  (void)state;
  record r = {.us = 1000};
  tn_any ret;
  assert_int_equal(evaluate(&r, &plain, &ret), 0);
  assert_int_equal(r.calls, 1 + 3 * 4);
  assert_int_equal(r.last_arg, 7);
  tn_bytes_view b = tn_bytes_get((tn_bytes *)ret.v.obj);
  assert_int_equal(b.size, 4 * sizeof(double));
  for (int i = 0; i < 4; ++i) {
    double seconds;
    memcpy(&seconds, b.data + (size_t)i * sizeof seconds, sizeof seconds);
    assert_true(seconds >= 0.001 && seconds < 5);
  }
  tn_any_release(&ret);
}

static void test_number_grows_to_the_wanted_time(void **state) {
  (void)state;
  record r = {.us = 100};
  tn_any ret;
  tn_timing how = plain;
  how.number = 1;
  how.repeat = 2;
  how.min_repeat_ms = 10;
  int64_t from = tn_now_ns();
  assert_int_equal(evaluate(&r, &how, &ret), 0);
  assert_true(tn_now_ns() - from >= 2 * 10 * 1000000);
  assert_true(r.calls > 4 && r.calls < 1000);
  tn_any_release(&ret);
}

static void test_preproc_cooldown_and_eviction(void **state) {
  (void)state;
  record r = {0};
  tn_any ret;
  tn_timing how = plain;
  how.preproc = tn_func_new(preproc, &r, NULL);
  how.cooldown_interval_ms = 20;
  how.repeats_to_cooldown = 2;
  how.cache_flush_bytes = 1 << 16;
  int64_t from = tn_now_ns();
  assert_int_equal(evaluate(&r, &how, &ret), 0);
  assert_true(tn_now_ns() - from >= 2 * 19 * 1000000);
  assert_int_equal(r.preprocs, 4);
  tn_any_release(&ret);
  tn_release(how.preproc);
}

static void test_errors(void **state) {
  (void)state;
  tn_any ret;
  for (int at = 1; at <= 13; ++at) {
    record r = {.fail_at = at};
    assert_int_equal(evaluate(&r, &plain, &ret), -1);
    assert_error("KeyError", "call");
    assert_int_equal(r.calls, at);
  }
  record r = {0};
  tn_timing how = plain;
  how.number = 0;
  assert_int_equal(evaluate(&r, &how, &ret), -1);
  assert_error("ValueError", "time_evaluator.number: expected 1 to 2147483647, got 0");
  how = plain;
  how.repeat = -1;
  assert_int_equal(evaluate(&r, &how, &ret), -1);
  assert_error("ValueError", "time_evaluator.repeat");
  assert_int_equal(r.calls, 0);
}

static int evaluate_once(void *ctx) {
  tn_any ret;
  if (evaluate(ctx, &plain, &ret)) return -1;
  tn_any_release(&ret);
  return 0;
}

static void test_out_of_memory(void **state) {
  (void)state;
  record r = {0};
  assert_true(fail_every_allocation(evaluate_once, &r) >= 4);
}

static void test_global_function(void **state) {
  (void)state;
  record r = {0};
  assert_int_equal(tn_func_register("test.counted", counted, &r, NULL, 0), 0);
  assert_int_equal(tn_func_register("test.preproc", preproc, &r, NULL, 0), 0);
  tn_func *make = tn_func_find("runtime.TimeEvaluator");
  tn_any ret, times, arg = tn_any_int(1);
  tn_any args[] = {tn_any_none(),   tn_any_cstr("test.counted"),
                   tn_any_int(1),   tn_any_int(0),
                   tn_any_int(2),   tn_any_int(3),
                   tn_any_int(0),   tn_any_int(100),
                   tn_any_int(0),   tn_any_int(1),
                   tn_any_int(256), tn_any_cstr("test.preproc")};
  assert_int_equal(tn_func_call(make, args, 12, &ret), 0);
  assert_int_equal(tn_func_call((tn_func *)ret.v.obj, &arg, 1, &times), 0);
  assert_int_equal(r.calls, 7);
  assert_int_equal(r.preprocs, 3);
  tn_any_release(&times);
  tn_any_release(&ret);
  args[11] = tn_any_cstr("test.absent");
  assert_int_equal(tn_func_call(make, args, 12, &ret), -1);
  assert_error("ValueError", "Cannot find global function test.absent");
  tn_release(make);
  assert_int_equal(tn_func_remove("test.counted"), 0);
  assert_int_equal(tn_func_remove("test.preproc"), 0);
}

static void test_cache_flush(void **state) {
  (void)state;
  int64_t shapes[] = {3, 0, 1000};
  tn_any ret, args[3];
  tn_func *flush = tn_func_find("cache_flush_cpu_non_first_arg");
  for (int i = 0; i < 3; ++i) {
    tn_device cpu = {kDLCPU, 0};
    tn_tensor *t = tn_tensor_new(&shapes[i], 1, (tn_dtype){kDLFloat, 32, 1}, cpu, NULL);
    memset(tn_tensor_dl(t)->data, i, (size_t)shapes[i] * 4);
    args[i] = tn_any_obj(t);
  }
  assert_int_equal(tn_func_call(flush, args, 3, &ret), 0);
  const DLTensor *dl;
  assert_int_equal(tn_any_to_dltensor(&args[2], &dl), 0);
  for (int i = 0; i < 4000; ++i) assert_int_equal(((char *)dl->data)[i], 2);
  assert_int_equal(tn_func_call(flush, NULL, 0, &ret), 0);
  tn_any bad[] = {args[0], tn_any_int(3)};
  assert_int_equal(tn_func_call(flush, bad, 2, &ret), -1);
  assert_error("TypeError", "int");
  for (int i = 0; i < 3; ++i) tn_any_release(&args[i]);
  tn_release(flush);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_counts_and_results),
      cmocka_unit_test(test_number_grows_to_the_wanted_time),
      cmocka_unit_test(test_preproc_cooldown_and_eviction),
      cmocka_unit_test(test_errors),
      cmocka_unit_test(test_out_of_memory),
      cmocka_unit_test(test_global_function),
      cmocka_unit_test(test_cache_flush),
  };
  return cmocka_run_group_tests(tests, start_runtime, NULL);
}
