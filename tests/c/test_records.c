/* Records of measurements: which lines are records, which record is taken, running out of memory;
   builds of C programs that ask a file. */
#include "testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "base/scope.h"
#include "tune/records.h"
#include "failing_alloc.h"
#include "object/containers.h"
#include "tenon/compiler.h"

#define LINE(target, seconds, value)                                                               \
  "{\"input\": [\"" target "\", \"dense_pack.x86\", [[\"TENSOR\", [8, 64], \"float32\"],\tnull, "  \
  "\"a \\\" b\"], {}], \"config\": {\"index\": 0, \"code_hash\": null, \"entity\": "               \
  "[[\"tile_m\", \"ot\", " value "]]}, \"result\": [[" seconds "], 0, 1.0, 2.0], "                 \
  "\"version\": 0.2}\n"

static const char workload[] = "[\"dense_pack.x86\",[\"TENSOR\",[8,64],\"float32\"],null,"
                               "\"a \\\" b\"]";

static tn_target *target(const char *text) {
  tn_target *t = target_parse(text);
  assert_non_null(t);
  return t;
}

static void test_the_fastest_one_is_taken(void **state) {
  (void)state;
  TN_SCOPE(s);
  const char text[] = "# comment\r\n\n" LINE("llvm", "3, 1", "2") LINE("llvm", "1.5", "4")
      LINE("llvm -mcpu=haswell", "1e-3", "8");
  records *r = records_read(text, sizeof text - 1, "text");
  assert_non_null(r);
  assert_int_equal(records_count(r), 3);
  assert_string_equal(records_best(r, target("llvm"), workload), "[[\"tile_m\",\"ot\",4]]");
  assert_string_equal(records_best(r, target("llvm -mcpu=haswell"), workload),
                      "[[\"tile_m\",\"ot\",8]]");
  assert_null(records_best(r, target("c"), workload));
  assert_null(records_best(r, target("llvm"), "[\"dense_pack.x86\"]"));
  records_free(r);
}

static void test_lines_that_are_no_records(void **state) {
  (void)state;
  static const char *const bad[] = {"x",
                                    "{",
                                    "[1]",
                                    "3",
                                    "\"\"",
                                    "{\"version\": 0.2}",
                                    "{\"version\": 0.2, \"input\": [\"llvm\", \"a\", []], "
                                    "\"config\": [], \"result\": [[1], 0]}",
                                    "{\"version\": 0.2, \"input\": [\"llvm\", \"a\", []], "
                                    "\"config\": {\"entity\": []}, \"result\": [[null], 0]}"};
  for (int i = 0; i < (int)(sizeof bad / sizeof *bad); ++i) {
    TN_SCOPE(s);
    assert_null(records_read(bad[i], strlen(bad[i]), "text"));
    assert_string_equal(tn_error_class(), "ValueError");
    tn_error_clear();
  }
}

static int read_some(void *ctx) {
  TN_SCOPE(s);
  records *r = records_read(ctx, strlen(ctx), "text");
  records_free(r);
  return r ? 0 : -1;
}

static void test_running_out_of_memory(void **state) {
  (void)state;
  char text[] = LINE("llvm", "1", "2") LINE("llvm", "2", "3");
  assert_int_equal(read_some(text), 0); /* what is made once is made */
  assert_true(fail_every_allocation(read_some, text) > 0);
}

static void test_files(void **state) {
  (void)state;
  TN_SCOPE(s);
  TN_BUF(key);
  char path[] = "/tmp/tenon_records_XXXXXX";
  const char text[] = LINE("llvm", "1", "2");
  int fd = mkstemp(path);
  assert_true(fd >= 0 && close(fd) == 0);
  assert_int_equal(tn_file_write(path, text, sizeof text - 1), 0);
  assert_int_equal(tn_records_enter(path), 0);
  assert_int_equal(tn_records_enter("/dev/null"), 0);
  assert_int_equal(records_current()->len, 4);
  assert_true(records_key(&key));
  assert_non_null(strstr(tn_buf_cstr(&key), "tile_m"));
  assert_int_equal(tn_records_exit(), 0);
  assert_int_equal(tn_records_exit(), 0);
  assert_null(records_current());
  assert_int_equal(tn_records_exit(), -1);
  tn_error_clear();
  assert_int_equal(tn_file_write(path, "{\n", 2), 0);
  assert_int_equal(tn_records_enter(path), -1);
  assert_string_equal(tn_error_class(), "ValueError");
  tn_error_clear();
  assert_int_equal(tn_records_enter("/no/such/file"), -1);
  assert_string_equal(tn_error_class(), "OSError");
  tn_error_clear();
  (void)unlink(path);
}

/* Programs that call the library open no scopes. */
static void test_without_a_scope(void **state) {
  (void)state;
  for (int i = 0; i < 3; ++i) assert_int_equal(tn_records_enter("/dev/null"), 0);
  for (int i = 0; i < 3; ++i) assert_int_equal(tn_records_exit(), 0);
  assert_null(records_current());
}

static int start(void **state) {
  (void)state;
  return tn_compiler_init();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_the_fastest_one_is_taken),
      cmocka_unit_test(test_lines_that_are_no_records),
      cmocka_unit_test(test_running_out_of_memory),
      cmocka_unit_test(test_files),
      cmocka_unit_test(test_without_a_scope),
  };
  return cmocka_run_group_tests(tests, start, NULL);
}
