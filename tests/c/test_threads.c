/* Thread pool: results, errors, barrier, nested and concurrent launches, fork, exit. */
#include "testing.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "child.h"

enum { MAX = 64 };

static int start(void **state) {
  unsetenv("TENON_NUM_THREADS");
  unsetenv("TVM_NUM_THREADS");
  unsetenv("OMP_NUM_THREADS");
  return start_runtime(state);
}

static int four_threads(void **state) {
  (void)state;
  tn_set_num_threads(4);
  return 0;
}

/* ---- results ---- */

typedef struct {
  _Atomic int runs[MAX];
  _Atomic int num_task;
  pthread_t thread[MAX];
} record;

static int note(int task_id, const tn_parallel_env *env, void *data) {
  record *r = data;
  atomic_fetch_add(&r->runs[task_id], 1);
  atomic_store(&r->num_task, env->num_task);
  r->thread[task_id] = pthread_self();
  return 0;
}

static void assert_ran_once(record *r, int n) {
  for (int i = 0; i < MAX; ++i) assert_int_equal(atomic_load(&r->runs[i]), i < n);
  assert_int_equal(atomic_load(&r->num_task), n);
}

static void test_every_task_runs_once(void **state) {
  (void)state;
  for (int n = 1; n <= MAX; ++n) {
    record r = {0};
    assert_int_equal(tn_parallel_launch(note, &r, n), 0);
    assert_ran_once(&r, n);
  }
  record r = {0};
  assert_int_equal(tn_parallel_launch(note, &r, 0), 0);
  assert_ran_once(&r, 4);
}

static void test_task_i_runs_on_thread_i(void **state) {
  (void)state;
  record first = {0}, r = {0};
  assert_int_equal(tn_parallel_launch(note, &first, 4), 0);
  assert_int_equal(tn_parallel_launch(note, &r, 10), 0);
  assert_true(pthread_equal(first.thread[0], pthread_self()));
  for (int i = 0; i < 10; ++i) assert_true(pthread_equal(r.thread[i], first.thread[i % 4]));
  for (int i = 1; i < 4; ++i) assert_false(pthread_equal(first.thread[i], first.thread[i - 1]));
}

static int add_share(int task_id, const tn_parallel_env *env, void *data) {
  int64_t *sums = data;
  for (int i = task_id; i < 1000; i += env->num_task) sums[task_id] += i;
  return 0;
}

static void test_many_launches(void **state) {
  (void)state;
  for (int round = 0; round < 3000; ++round) {
    int64_t sums[8] = {0}, total = 0;
    assert_int_equal(tn_parallel_launch(add_share, sums, 1 + round % 8), 0);
    for (int i = 0; i < 8; ++i) total += sums[i];
    assert_int_equal(total, 499500);
    if (round % 500 == 0) usleep(3000); /* workers fall asleep */
  }
}

static void test_number_of_threads_can_change(void **state) {
  (void)state;
  for (int n = 1; n <= 9; ++n) {
    tn_set_num_threads(n);
    assert_int_equal(tn_num_threads(), n);
    record r = {0};
    assert_int_equal(tn_parallel_launch(note, &r, 0), 0);
    assert_ran_once(&r, n);
  }
  tn_set_num_threads(2);
  record r = {0};
  assert_int_equal(tn_parallel_launch(note, &r, 0), 0);
  assert_ran_once(&r, 2);
}

static void test_number_of_tasks_is_checked(void **state) {
  (void)state;
  assert_int_equal(tn_parallel_launch(note, NULL, -1), -1);
  assert_error("ValueError", "got -1");
}

/* ---- errors ---- */

typedef struct {
  int failing; /* this task and those above it */
  _Atomic int ended;
} failure;

static int fail_from(int task_id, const tn_parallel_env *env, void *data) {
  failure *f = data;
  (void)env;
  atomic_fetch_add(&f->ended, 1);
  if (task_id < f->failing) return 0;
  return TN_RAISE(IndexError, NULL, "task %d went wrong", task_id);
}

static void test_error_reaches_the_caller(void **state) {
  (void)state;
  for (int failing = 0; failing < 4; ++failing) {
    failure f = {.failing = failing};
    assert_int_equal(tn_parallel_launch(fail_from, &f, 4), -1);
    assert_int_equal(atomic_load(&f.ended), 4);
    assert_string_equal(tn_error_get()->trace[0].func, "fail_from");
    assert_error("IndexError", "went wrong");
  }
  failure last = {.failing = 9};
  assert_int_equal(tn_parallel_launch(fail_from, &last, 10), -1);
  assert_int_equal(atomic_load(&last.ended), 10);
  assert_error("IndexError", "task 9 went wrong");
}

static int fail_silently(int task_id, const tn_parallel_env *env, void *data) {
  (void)env;
  (void)data;
  return task_id == 1 ? -1 : 0;
}

static void test_error_without_a_message(void **state) {
  (void)state;
  assert_int_equal(tn_parallel_launch(fail_silently, NULL, 3), -1);
  assert_error("RuntimeError", "task 1 of 3 of a parallel loop failed without saying why");
  record r = {0};
  assert_int_equal(tn_parallel_launch(note, &r, 4), 0);
  assert_false(tn_error_pending());
}

/* ---- barrier ---- */

typedef struct {
  _Atomic int arrived[MAX];
  _Atomic int wrong;
} phases;

/* After barrier k every task has counted k. */
static int meet(int task_id, const tn_parallel_env *env, void *data) {
  phases *p = data;
  for (int k = 0; k < 50; ++k) {
    atomic_fetch_add(&p->arrived[k], 1);
    if (tn_parallel_barrier(task_id, env)) return -1;
    if (atomic_load(&p->arrived[k]) != env->num_task) atomic_fetch_add(&p->wrong, 1);
  }
  return 0;
}

static void test_barrier(void **state) {
  (void)state;
  for (int n = 0; n <= 4; ++n) {
    phases p = {0};
    assert_int_equal(tn_parallel_launch(meet, &p, n), 0);
    assert_int_equal(atomic_load(&p.wrong), 0);
  }
}

static void test_barrier_of_more_tasks_than_threads(void **state) {
  (void)state;
  phases p = {0};
  assert_int_equal(tn_parallel_launch(meet, &p, 11), 0);
  assert_int_equal(atomic_load(&p.wrong), 0);
  tn_set_num_threads(1);
  phases q = {0};
  assert_int_equal(tn_parallel_launch(meet, &q, 3), 0);
  assert_int_equal(atomic_load(&q.wrong), 0);
}

static int fail_before_meeting(int task_id, const tn_parallel_env *env, void *data) {
  (void)data;
  if (task_id == env->num_task - 1) return TN_RAISE(KeyError, NULL, "did not come");
  return tn_parallel_barrier(task_id, env);
}

static void test_barrier_does_not_wait_for_a_failed_task(void **state) {
  (void)state;
  assert_int_equal(tn_parallel_launch(fail_before_meeting, NULL, 4), -1);
  assert_error("KeyError", "did not come");
  assert_int_equal(tn_parallel_launch(fail_before_meeting, NULL, 9), -1);
  assert_error("KeyError", "did not come");
}

/* ---- nested and concurrent launches ---- */

static int launch_inside(int task_id, const tn_parallel_env *env, void *data) {
  record *r = (record *)data + task_id;
  (void)env;
  if (tn_parallel_launch(note, r, 5)) return -1;
  for (int i = 0; i < 5; ++i) {
    if (!pthread_equal(r->thread[i], pthread_self()))
      return TN_RAISE(RuntimeError, NULL, "a nested task left its thread");
  }
  phases p = {0};
  if (tn_parallel_launch(meet, &p, 3) || atomic_load(&p.wrong)) return -1;
  return tn_parallel_launch(note, (record *)data + 4 + task_id, 0);
}

static void test_nested_launch_runs_on_its_thread(void **state) {
  (void)state;
  record *r = calloc(8, sizeof *r);
  assert_int_equal(tn_parallel_launch(launch_inside, r, 4), 0);
  for (int i = 0; i < 4; ++i) assert_ran_once(&r[i], 5);
  for (int i = 4; i < 8; ++i) assert_ran_once(&r[i], 1);
  free(r);
}

static int nested_failure(int task_id, const tn_parallel_env *env, void *data) {
  (void)env;
  (void)data;
  failure f = {.failing = 2};
  return task_id == 1 ? tn_parallel_launch(fail_from, &f, 3) : 0;
}

static void test_nested_error(void **state) {
  (void)state;
  assert_int_equal(tn_parallel_launch(nested_failure, NULL, 4), -1);
  assert_error("IndexError", "task 2 went wrong");
}

static void *launch_often(void *arg) {
  _Atomic int *wrong = arg;
  for (int round = 0; round < 400; ++round) {
    int64_t sums[8] = {0}, total = 0;
    failure f = {.failing = 1};
    if (tn_parallel_launch(add_share, sums, 1 + round % 8)) atomic_fetch_add(wrong, 1);
    for (int i = 0; i < 8; ++i) total += sums[i];
    if (total != 499500) atomic_fetch_add(wrong, 1);
    if (tn_parallel_launch(fail_from, &f, 2) == 0 || !tn_error_pending())
      atomic_fetch_add(wrong, 1);
    tn_error_clear();
    if (round % 50 == 0) {
      phases p = {0};
      if (tn_parallel_launch(meet, &p, 4) || atomic_load(&p.wrong)) atomic_fetch_add(wrong, 1);
      tn_set_num_threads(3 + round % 4);
    }
  }
  return NULL;
}

static void test_launches_from_several_threads(void **state) {
  (void)state;
  _Atomic int wrong = 0;
  pthread_t threads[5];
  for (int i = 0; i < 5; ++i)
    assert_int_equal(pthread_create(&threads[i], NULL, launch_often, &wrong), 0);
  for (int i = 0; i < 5; ++i) pthread_join(threads[i], NULL);
  assert_int_equal(atomic_load(&wrong), 0);
}

/* ---- waiting hooks ---- */

static _Atomic int entered, left;
static void *enter_wait(void) {
  atomic_fetch_add(&entered, 1);
  return &entered;
}
static void leave_wait(void *token) { atomic_fetch_add(&left, token == &entered); }

static int slow_task(int task_id, const tn_parallel_env *env, void *data) {
  (void)env;
  (void)data;
  if (task_id == 1) usleep(20000);
  return 0;
}

static void test_wait_hooks(void **state) {
  (void)state;
  tn_set_wait_hooks(enter_wait, leave_wait);
  assert_int_equal(tn_parallel_launch(slow_task, NULL, 2), 0);
  tn_set_wait_hooks(NULL, NULL);
  assert_int_equal(atomic_load(&entered), 1);
  assert_int_equal(atomic_load(&left), 1);
}

/* ---- fork ---- */

static void *keep_busy(void *arg) {
  _Atomic bool *stop = arg;
  int64_t sums[4] = {0};
  while (!atomic_load(stop)) tn_parallel_launch(add_share, sums, 4);
  return NULL;
}

#ifndef UNDER_TSAN /* it does not support threads in the child of a process with threads */
static int child_launches(void *arg) {
  (void)arg;
  for (int round = 0; round < 20; ++round) {
    record r = {0};
    if (tn_parallel_launch(note, &r, 4)) return 1;
    for (int i = 0; i < 4; ++i) {
      if (atomic_load(&r.runs[i]) != 1) return 2;
    }
    if (pthread_equal(r.thread[0], r.thread[1])) return 3;
  }
  return 0;
}

static void test_fork_while_another_thread_launches(void **state) {
  (void)state;
  _Atomic bool stop = false;
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, keep_busy, &stop), 0);
  for (int i = 0; i < 20; ++i) assert_int_equal(in_child(child_launches, NULL), 0);
  atomic_store(&stop, true);
  pthread_join(thread, NULL);
  assert_int_equal(child_launches(NULL), 0);
}

static int fork_in_task(int task_id, const tn_parallel_env *env, void *data) {
  pid_t *child = data;
  (void)env;
  if (task_id == 0) *child = fork();
  if (task_id == 0 && *child == 0) alarm(20);
  return 0;
}

static void test_fork_inside_a_task(void **state) {
  (void)state;
  pid_t child = -1;
  int status, err = tn_parallel_launch(fork_in_task, &child, 4);
  if (child == 0) {
    bool told = err == -1 && tn_error_get_kind() == TN_RuntimeError;
    tn_error_clear();
    _exit(told ? child_launches(NULL) : 9);
  }
  assert_int_equal(err, 0);
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 0);
}
#endif

/* ---- end of the process ---- */

static int exit_in_task(int task_id, const tn_parallel_env *env, void *data) {
  (void)env;
  if (task_id == *(int *)data) exit(0);
  return 0;
}

/* What the program does when it was started by ends_well: ends in some state of the pool. */
static int end_process(const char *how) {
  static _Atomic bool stop; /* never set */
  pthread_t thread;
  int caller = 0, worker = 1;
  record r = {0};
  if (start_runtime(NULL)) return 1;
  tn_set_num_threads(4);
  if (tn_parallel_launch(note, &r, 0)) return 2;
  if (strcmp(how, "busy") == 0) {
    if (pthread_create(&thread, NULL, keep_busy, (void *)(uintptr_t)&stop)) return 3;
    usleep(10000);
  }
  if (strcmp(how, "caller") == 0) tn_parallel_launch(exit_in_task, &caller, 4);
  if (strcmp(how, "worker") == 0) tn_parallel_launch(exit_in_task, &worker, 4);
  return 0;
}

static void ends_well(const char *how) {
  char path[256], command[512];
  ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
  assert_true(n > 0);
  path[n] = '\0';
  snprintf(command, sizeof command, "timeout 20 %s --end %s", path, how);
  assert_int_equal(system(command), 0);
}

static void test_process_ends(void **state) {
  (void)state;
  ends_well("idle");
  ends_well("busy");
  ends_well("caller");
  ends_well("worker");
}

static void test_global_functions(void **state) {
  (void)state;
  tn_any ret, args[] = {tn_any_int(1), tn_any_int(5)};
  tn_func *get = tn_func_find("runtime.NumThreads");
  tn_func *set = tn_func_find("runtime.SetNumThreads");
  tn_func *config = tn_func_find("runtime.config_threadpool");
  assert_int_equal(tn_func_call(config, args, 2, &ret), 0);
  assert_int_equal(tn_func_call(get, NULL, 0, &ret), 0);
  assert_int_equal(ret.v.i64, 5);
  args[0] = tn_any_int(3);
  assert_int_equal(tn_func_call(set, args, 1, &ret), 0);
  assert_int_equal(tn_num_threads(), 3);
  assert_int_equal(tn_func_call(config, NULL, 0, &ret), -1);
  assert_error("TypeError", "expected a mode and a count");
  tn_release(get);
  tn_release(set);
  tn_release(config);
}

#define POOL_TEST(f) cmocka_unit_test_setup(f, four_threads)

int main(int argc, char **argv) {
  if (argc == 3 && strcmp(argv[1], "--end") == 0) return end_process(argv[2]);
  const struct CMUnitTest tests[] = {
      POOL_TEST(test_every_task_runs_once),
      POOL_TEST(test_task_i_runs_on_thread_i),
      POOL_TEST(test_many_launches),
      POOL_TEST(test_number_of_threads_can_change),
      POOL_TEST(test_number_of_tasks_is_checked),
      POOL_TEST(test_error_reaches_the_caller),
      POOL_TEST(test_error_without_a_message),
      POOL_TEST(test_barrier),
      POOL_TEST(test_barrier_of_more_tasks_than_threads),
      POOL_TEST(test_barrier_does_not_wait_for_a_failed_task),
      POOL_TEST(test_nested_launch_runs_on_its_thread),
      POOL_TEST(test_nested_error),
      POOL_TEST(test_launches_from_several_threads),
      POOL_TEST(test_wait_hooks),
#ifndef UNDER_TSAN
      POOL_TEST(test_fork_while_another_thread_launches),
      POOL_TEST(test_fork_inside_a_task),
#endif
      cmocka_unit_test(test_process_ends),
      cmocka_unit_test(test_global_functions),
  };
  return cmocka_run_group_tests(tests, start, NULL);
}
