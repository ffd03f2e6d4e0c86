/* Number of threads: environment, affinity mask, cgroup quota, what the system refuses. */
#include "testing.h"

#include <sched.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/log.h"
#include "child.h"
#include "runtime/threads/cpus.h"

static int start(void **state) {
  unsetenv("TENON_NUM_THREADS");
  unsetenv("TVM_NUM_THREADS");
  unsetenv("OMP_NUM_THREADS");
  tn_set_log_level(TN_LOG_OFF);
  return start_runtime(state);
}

typedef struct {
  const char *tenon, *tvm, *omp;
  int expected;
} setting;

static void set_env(const char *name, const char *value) {
  if (value) setenv(name, value, 1);
  else unsetenv(name);
}

static int child_size(void *arg) {
  const setting *s = arg;
  set_env("TENON_NUM_THREADS", s->tenon);
  set_env("TVM_NUM_THREADS", s->tvm);
  set_env("OMP_NUM_THREADS", s->omp);
  tn_set_num_threads(0);
  return tn_num_threads();
}

static void test_environment(void **state) {
  (void)state;
  tn_set_num_threads(0);
  int usual = tn_num_threads();
  setting settings[] = {
      {"3", "5", "7", 3},        {NULL, "5", "7", 5},   {NULL, NULL, "7", 7},
      {NULL, NULL, "6,2", 6},    {"many", "5", "7", 5}, {"0", NULL, "4", 4},
      {"-2", NULL, NULL, usual}, {"2x", NULL, "9", 9},  {NULL, NULL, NULL, usual},
  };
  for (int i = 0; i < TN_COUNT(settings); ++i)
    assert_int_equal(in_child(child_size, &settings[i]), settings[i].expected);
}

#ifndef UNDER_SANITIZER /* they reserve address space without end */
/* Each task counts itself in an array of int. */
static int note(int task_id, const tn_parallel_env *env, void *data) {
  (void)env;
  ((int *)data)[task_id]++;
  return 0;
}

static void count_warnings(void *ctx, tn_log_level level, const char *file, int line,
                           const char *text) {
  (void)file, (void)line, (void)text;
  *(int *)ctx += level == TN_LOG_WARNING;
}

/* Every thread takes address space for its stack: allows that of a few more. */
static int child_short_of_memory(void *arg) {
  int warnings = 0;
  tn_log_sink sink = {count_warnings, &warnings};
  long pages = 0;
  (void)arg;
  FILE *f = fopen("/proc/self/statm", "r");
  if (!f || fscanf(f, "%ld", &pages) != 1) return 101;
  fclose(f);
  rlim_t size = (rlim_t)(pages * sysconf(_SC_PAGESIZE)) + (36 << 20);
  if (setrlimit(RLIMIT_AS, &(struct rlimit){size, size})) return 102;
  tn_set_log_sink(&sink);
  tn_set_log_level(TN_LOG_WARNING);
  tn_set_num_threads(60);
  int runs[60] = {0};
  if (tn_parallel_launch(note, runs, 60)) return 103;
  for (int i = 0; i < 60; ++i) {
    if (runs[i] != 1) return 104;
  }
  return warnings == 1 ? tn_num_threads() : 105;
}

static void test_fewer_threads_than_asked_for(void **state) {
  (void)state;
  int n = in_child(child_short_of_memory, NULL);
  assert_true(n >= 1 && n < 60);
}
#endif

static int child_on_one_cpu(void *arg) {
  cpu_set_t all, one;
  (void)arg;
  if (sched_getaffinity(0, sizeof all, &all)) return 101;
  CPU_ZERO(&one);
  for (size_t i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++i) {
    if (CPU_ISSET(i, &all)) CPU_SET(i, &one);
  }
  if (sched_setaffinity(0, sizeof one, &one)) return 102;
  tn_set_num_threads(0);
  return tn_cpu_count() == 1 && tn_core_count() == 1 ? tn_num_threads() : 103;
}

static void test_affinity_mask(void **state) {
  (void)state;
  assert_int_equal(in_child(child_on_one_cpu, NULL), 1);
  assert_true(tn_core_count() <= tn_cpu_count());
}

static void write_file(const char *root, const char *name, const char *text) {
  char path[512], *p;
  snprintf(path, sizeof path, "%s/%s", root, name);
  for (p = path + strlen(root) + 1; (p = strchr(p, '/')); ++p) {
    *p = '\0';
    mkdir(path, 0777);
    *p = '/';
  }
  FILE *f = fopen(path, "w");
  assert_non_null(f);
  fputs(text, f);
  fclose(f);
}

static void test_cgroup_quota(void **state) {
  (void)state;
  char root[] = P_tmpdir "/tenon-cgroup-XXXXXX", command[64];
  assert_non_null(mkdtemp(root));
  assert_true(tn_cpu_quota(root) == 0);
  /* version 2: the least of the group and those around it */
  write_file(root, "proc/self/cgroup", "0::/a/b\n");
  write_file(root, "sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  assert_true(tn_cpu_quota(root) == 0);
  write_file(root, "sys/fs/cgroup/a/cpu.max", "250000 100000\n");
  assert_true(tn_cpu_quota(root) == 2.5);
  write_file(root, "sys/fs/cgroup/a/b/cpu.max", "400000 100000\n");
  assert_true(tn_cpu_quota(root) == 2.5);
  /* a container that is shown its path on the host */
  write_file(root, "proc/self/cgroup", "0::/elsewhere/deep\n");
  write_file(root, "sys/fs/cgroup/cpu.max", "50000 100000\n");
  assert_true(tn_cpu_quota(root) == 0.5);
  /* version 1 */
  write_file(root, "proc/self/cgroup", "5:cpuset:/x\n4:cpuacct,cpu:/x\n");
  write_file(root, "sys/fs/cgroup/cpu/x/cpu.cfs_quota_us", "300000\n");
  write_file(root, "sys/fs/cgroup/cpu/x/cpu.cfs_period_us", "100000\n");
  assert_true(tn_cpu_quota(root) == 3);
  write_file(root, "sys/fs/cgroup/cpu/x/cpu.cfs_quota_us", "-1\n");
  assert_true(tn_cpu_quota(root) == 0);
  write_file(root, "proc/self/cgroup", "nonsense\n:\n::\n");
  assert_true(tn_cpu_quota(root) == 0 || tn_cpu_quota(root) == 0.5);
  snprintf(command, sizeof command, "rm -rf %s", root);
  assert_int_equal(system(command), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_environment),
      cmocka_unit_test(test_affinity_mask),
      cmocka_unit_test(test_cgroup_quota),
#ifndef UNDER_SANITIZER
      cmocka_unit_test(test_fewer_threads_than_asked_for),
#endif
  };
  return cmocka_run_group_tests(tests, start, NULL);
}
