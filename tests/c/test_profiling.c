/* Reports of profiles: what is measured, their forms, running out of memory on the way. */
#include "failing_alloc.h"

#include <stdio.h>

#include "runtime/profiling/profiling.h"

static const tn_device cpu = {kDLCPU, 0};

static tn_map *metrics(const char *key, const char *value) {
  tn_map *m = tn_map_new();
  tn_str *s = m ? tn_str_new(value) : NULL;
  int err = s ? tn_map_set(m, tn_any_cstr(key), tn_any_obj(s)) : -1;
  tn_release(s);
  if (!err) return m;
  tn_release(m);
  return NULL;
}

static int two_calls(tn_profiler *p, const tn_map *extra) {
  TN_TRY(tn_profiler_start(p));
  TN_TRY(tn_profiler_start_call(p, "outer", cpu, extra));
  TN_TRY(tn_profiler_start_call(p, "inner", cpu, NULL));
  TN_TRY(tn_profiler_stop_call(p, NULL));
  TN_TRY(tn_profiler_stop_call(p, extra));
  return tn_profiler_stop(p);
}

static tn_Report *profile(void) {
  tn_map *extra = metrics("Hash", "abc"), *about = extra ? metrics("Executor", "Test") : NULL;
  tn_profiler *p = about ? tn_profiler_new(&cpu, 1, NULL, about) : NULL;
  tn_Report *r = p && two_calls(p, extra) == 0 ? tn_profiler_report(p) : NULL;
  tn_profiler_free(p);
  tn_release(extra);
  tn_release(about);
  return r;
}

static void test_nested_calls(void **state) {
  (void)state;
  tn_Report *r = profile();
  assert_non_null(r);
  assert_int_equal(r->calls->len, 2);
  const tn_map *outer = (const tn_map *)tn_arr_obj(r->calls, 0);
  const tn_map *inner = (const tn_map *)tn_arr_obj(r->calls, 1);
  assert_true(tn_str_eq((tn_str *)tn_map_find(outer, "Name"), "outer"));
  assert_true(tn_str_eq((tn_str *)tn_map_find(outer, "Hash"), "abc"));
  assert_true(tn_str_eq((tn_str *)tn_map_find(inner, "Device"), "cpu0"));
  assert_true(tn_call_duration(outer) >= tn_call_duration(inner));
  const tn_map *whole = (const tn_map *)tn_map_find(r->device_metrics, "cpu0");
  assert_true(tn_call_duration(whole) >= tn_call_duration(outer));
  assert_true(TN_AS(Percent, tn_map_find(whole, "Percent"))->percent == 100);
  tn_release(r);
}

static void test_a_call_that_did_not_begin(void **state) {
  (void)state;
  tn_profiler *p = tn_profiler_new(&cpu, 1, NULL, NULL);
  assert_int_equal(tn_profiler_stop_call(p, NULL), -1);
  assert_error("InternalError", "did not begin");
  tn_profiler_free(p);
}

static void test_there_and_back(void **state) {
  (void)state;
  tn_Report *r = profile();
  tn_str *json = tn_report_json(r);
  tn_Report *again = tn_report_from_json(json->data, json->len);
  tn_str *json2 = tn_report_json(again);
  assert_string_equal(json->data, json2->data);
  tn_str *a = tn_report_table(r, true, true, true), *b = tn_report_table(again, true, true, true);
  assert_string_equal(a->data, b->data);
  assert_non_null(strstr(a->data, "\nExecutor: Test\n"));
  tn_release(json), tn_release(json2), tn_release(a), tn_release(b);
  tn_release(r), tn_release(again);
}

static void test_broken_json(void **state) {
  (void)state;
  static const char *const bad[] = {
      "",
      "3",
      "{}",
      "{\"calls\": [], \"device_metrics\": 3}",
      "{\"calls\": [3], \"device_metrics\": {}}",
      "{\"calls\": [{\"a\": {}}], \"device_metrics\": {}}",
      "{\"calls\": [{\"a\": {\"count\": 1.5}}], \"device_metrics\": {}}",
      "{\"calls\": [{\"a\": {\"count\": \"1\"}}], \"device_metrics\": {}}",
      "{\"calls\": [{\"a\": {\"string\": 1}}], \"device_metrics\": {}}",
      "{\"calls\": [{\"a\": {\"hours\": 1}}], \"device_metrics\": {}}",
      "{\"calls\": [], \"device_metrics\": {\"cpu0\": []}}",
      "{\"calls\": [], \"device_metrics\": {}, \"configuration\": 3}",
  };
  for (int i = 0; i < TN_COUNT(bad); ++i) {
    if (tn_report_from_json(bad[i], strlen(bad[i]))) fail_msg("accepted: %s", bad[i]);
    assert_error("ValueError", i == 0 ? "JSON" : "profile report");
  }
}

static int everything(void *ctx) {
  (void)ctx;
  tn_Report *r = profile(), *again = NULL;
  tn_str *json = r ? tn_report_json(r) : NULL, *csv = NULL, *table = NULL;
  if (json) again = tn_report_from_json(json->data, json->len);
  if (again) csv = tn_report_csv(again);
  if (csv) table = tn_report_table(again, true, true, true);
  int err = table ? 0 : -1;
  tn_release(r), tn_release(json), tn_release(again), tn_release(csv), tn_release(table);
  return err;
}

static void test_out_of_memory(void **state) {
  (void)state;
  assert_int_equal(everything(NULL),
                   0); /* the thread's scopes stay allocated once they have grown */
  assert_true(fail_every_allocation(everything, NULL) > 50);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_nested_calls),   cmocka_unit_test(test_a_call_that_did_not_begin),
      cmocka_unit_test(test_there_and_back), cmocka_unit_test(test_broken_json),
      cmocka_unit_test(test_out_of_memory),
  };
  return cmocka_run_group_tests(tests, start_runtime, NULL);
}
