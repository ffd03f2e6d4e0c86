/* Log: levels, rules of the environment, sinks. */
#include "testing.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"

typedef struct {
  _Atomic int count;
  int level, line;
  char file[64], text[4096];
} record;

static void keep(void *ctx, tn_log_level level, const char *file, int line, const char *text) {
  record *r = ctx;
  atomic_fetch_add(&r->count, 1);
  r->level = (int)level;
  r->line = line;
  snprintf(r->file, sizeof r->file, "%s", file);
  snprintf(r->text, sizeof r->text, "%s", text);
}

static _Atomic int told;
static void count(void *ctx, tn_log_level level, const char *file, int line, const char *text) {
  (void)ctx, (void)level, (void)file, (void)line, (void)text;
  atomic_fetch_add(&told, 1);
}

static void test_warnings_by_default(void **state) {
  (void)state;
  record r = {0};
  tn_log_sink sink = {keep, &r};
  tn_set_log_sink(&sink);
  TN_LOG(DEBUG, "quiet");
  TN_LOG(INFO, "quiet");
  assert_int_equal(r.count, 0);
  TN_LOG(WARNING, "%d of %s", 3, "four");
  int line = __LINE__ - 1;
  assert_int_equal(r.count, 1);
  assert_int_equal(r.level, TN_LOG_WARNING);
  assert_int_equal(r.line, line);
  assert_string_equal(r.file, "tests/c/test_log.c");
  assert_string_equal(r.text, "3 of four");
  TN_LOG(ERROR, "loud");
  assert_int_equal(r.count, 2);
  tn_set_log_sink(NULL);
}

static void test_level_can_change(void **state) {
  (void)state;
  record r = {0};
  tn_log_sink sink = {keep, &r};
  tn_set_log_sink(&sink);
  tn_set_log_level(TN_LOG_DEBUG);
  TN_LOG(DEBUG, "told");
  assert_int_equal(r.count, 1);
  tn_set_log_level(TN_LOG_OFF);
  TN_LOG(ERROR, "not told");
  assert_int_equal(r.count, 1);
  tn_set_log_level(TN_LOG_WARNING);
  tn_set_log_sink(NULL);
}

static void test_long_messages_are_cut(void **state) {
  (void)state;
  record r = {0};
  tn_log_sink sink = {keep, &r};
  tn_set_log_sink(&sink);
  TN_LOG(ERROR, "%s%5000s", "start", "end");
  size_t n = strlen(r.text);
  assert_true(n > 1000 && n < 4000);
  assert_memory_equal(r.text, "start", 5);
  assert_string_equal(r.text + n - 3, "...");
  tn_set_log_sink(NULL);
}

static void *log_often(void *arg) {
  for (int i = 0; i < 1000; ++i) TN_LOG(WARNING, "message %d of %s", i, (const char *)arg);
  return NULL;
}

static void test_from_several_threads(void **state) {
  (void)state;
  tn_log_sink sink = {count, NULL};
  pthread_t threads[4];
  char name[] = "thread";
  tn_set_log_sink(&sink);
  for (int i = 0; i < 4; ++i)
    assert_int_equal(pthread_create(&threads[i], NULL, log_often, name), 0);
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
  tn_set_log_sink(NULL);
  assert_int_equal(told, 4000);
}

/* Messages of each level as a program started with the variables writes them: "DIWE" for all. */
static void run_again(const char *variables, const char *expected) {
  char command[512], out[4096] = "", got[8] = "", path[256];
  ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
  assert_true(n > 0);
  path[n] = '\0';
  snprintf(command, sizeof command, "env -u TENON_LOG -u TVM_LOG_DEBUG %s %s --messages 2>&1",
           variables, path);
  FILE *f = popen(command, "r");
  assert_non_null(f);
  size_t len = fread(out, 1, sizeof out - 1, f);
  out[len] = '\0';
  assert_int_equal(pclose(f), 0);
  static const char *const messages[] = {"D!", "I!", "W!", "E!"};
  for (int i = 0, at = 0; i < 4; ++i) {
    if (strstr(out, messages[i])) got[at++] = messages[i][0];
  }
  if (strcmp(got, expected) != 0) fail_msg("%s: %s", variables, out);
}

static int write_messages(void) {
  TN_LOG(DEBUG, "D!");
  TN_LOG(INFO, "I!");
  TN_LOG(WARNING, "W!");
  TN_LOG(ERROR, "E!");
  return 0;
}

static void test_environment(void **state) {
  (void)state;
  run_again("", "WE");
  run_again("TENON_LOG=debug", "DIWE");
  run_again("TENON_LOG=info", "IWE");
  run_again("TENON_LOG=error", "E");
  run_again("TENON_LOG=off", "");
  run_again("TENON_LOG=3", "E");
  run_again("TENON_LOG=loud", "WE");
  run_again("TENON_LOG=,=,x=,=x", "WE");
  run_again("TVM_LOG_DEBUG=1", "DIWE");
  run_again("TVM_LOG_DEBUG=0", "WE");
  run_again("TVM_LOG_DEBUG=1 TENON_LOG=error", "E");
  run_again("TENON_LOG=src/=debug", "WE");
  run_again("TENON_LOG=tests/=debug", "DIWE");
  run_again("TENON_LOG=tests/c/test_log.c=error,tests/=debug,info", "E");
}

int main(int argc, char **argv) {
  if (argc == 2 && strcmp(argv[1], "--messages") == 0) return write_messages();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_warnings_by_default),   cmocka_unit_test(test_level_can_change),
      cmocka_unit_test(test_long_messages_are_cut), cmocka_unit_test(test_from_several_threads),
      cmocka_unit_test(test_environment),
  };
  unsetenv("TENON_LOG");
  unsetenv("TVM_LOG_DEBUG");
  return cmocka_run_group_tests(tests, start_runtime, NULL);
}
