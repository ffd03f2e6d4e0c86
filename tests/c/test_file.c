/* Writing files: whatever fails, at whatever step, the old file stays and no other one is left. */
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/folder.h"
#include "child.h"
#include "testing.h"

/* ---- a folder ---- */

typedef struct {
  char folder[100], path[200];
} place;

static int make_place(void **state) {
  static place p;
  const char *temp = getenv("TMPDIR");
  snprintf(p.folder, sizeof p.folder, "%.60s/test-file-XXXXXX", temp ? temp : "/tmp");
  if (start_runtime(state) || !mkdtemp(p.folder)) return -1;
  snprintf(p.path, sizeof p.path, "%s/file", p.folder);
  *state = &p;
  return 0;
}

static int remove_place(void **state) {
  place *p = *state;
  tn_set_file_hook(NULL, NULL);
  tn_folder_remove(p->folder);
  return 0;
}

static int entries(const place *p) {
  DIR *d = opendir(p->folder);
  int n = 0;
  for (struct dirent *e; (e = readdir(d)) != NULL;) n += e->d_name[0] != '.' || e->d_name[1] == 't';
  closedir(d);
  return n;
}

static void assert_content(const char *path, const char *text) {
  TN_BUF(b);
  assert_int_equal(tn_file_read(path, &b), 0);
  assert_string_equal(tn_buf_cstr(&b), text);
}

static int write_text(const char *path, const char *text) {
  return tn_file_write(path, text, strlen(text));
}

static unsigned mode_of(const char *path) {
  struct stat s;
  assert_int_equal(stat(path, &s), 0);
  return s.st_mode & 07777;
}

/* ---- steps that fail ---- */

typedef struct {
  int at; /* the step that fails; those before it do not */
  int seen;
  int error;        /* what it fails with; 0: the process is killed there */
  const char *only; /* fails always */
} faults;

static int fail_step(void *ctx, const char *name) {
  faults *f = ctx;
  if (f->only && strcmp(f->only, name) == 0) return EOPNOTSUPP;
  if (f->seen++ != f->at) return 0;
  if (!f->error) raise(SIGKILL);
  return f->error;
}

static int write_whole(void *ctx) { return write_text(((const place *)ctx)->path, "new"); }

static int write_params(void *ctx) {
  const place *p = ctx;
  const int64_t shape[] = {3};
  tn_map *m = tn_map_new();
  tn_tensor *t = tn_tensor_new(shape, 1, (tn_dtype){kDLFloat, 32, 1}, (tn_device){kDLCPU, 0}, NULL);
  int err = tn_map_set(m, tn_any_cstr("w"), tn_any_obj(t));
  if (!err) err = tn_params_save_file(m, p->path);
  tn_release(t);
  tn_release(m);
  return err;
}

/* Every step fails once. @return how many there are */
static int fail_every_step(place *p, int (*action)(void *), const char *only) {
  for (int n = 0;; ++n) {
    faults f = {.at = n, .error = ENOSPC, .only = only};
    assert_int_equal(write_text(p->path, "old"), 0);
    tn_set_file_hook(fail_step, &f);
    int err = action(p);
    tn_set_file_hook(NULL, NULL);
    assert_int_equal(entries(p), 1);
    if (f.seen <= n) {
      assert_int_equal(err, 0);
      return n;
    }
    if (!err) continue; /* a file without a name: there is another way */
    assert_error("OSError", "No space left on device");
    assert_content(p->path, "old");
  }
}

static void test_every_step_fails(void **state) {
  place *p = *state;
  /* open, unnamed, write, sync, link, rename */
  assert_int_equal(fail_every_step(p, write_whole, NULL), 6);
  assert_int_equal(fail_every_step(p, write_whole, "unnamed"), 4);
  assert_true(fail_every_step(p, write_params, NULL) > 6);
  assert_true(fail_every_step(p, write_params, "unnamed") > 4);
}

/* What a process left that is killed at any step is removed by the next one that writes the file.
 */
static void test_killed_at_every_step(void **state) {
  place *p = *state;
  for (int named = 0; named < 2; ++named) {
    for (int n = 0;; ++n) {
      faults f = {.at = n, .only = named ? "unnamed" : NULL};
      assert_int_equal(write_text(p->path, "old"), 0);
      tn_set_file_hook(fail_step, &f);
      int status = in_child(write_whole, p);
      tn_set_file_hook(NULL, NULL);
      if (status == 0) break;
      assert_int_equal(status, -SIGKILL);
      TN_BUF(b);
      assert_int_equal(tn_file_read(p->path, &b), 0);
      assert_true(strcmp(b.data, "old") == 0 || strcmp(b.data, "new") == 0);
      assert_true(entries(p) <= 2);
      assert_int_equal(write_text(p->path, "next"), 0);
      assert_int_equal(entries(p), 1);
      assert_content(p->path, "next");
      assert_true(n < 10);
    }
  }
}

static void test_sweep(void **state) {
  place *p = *state;
  faults f = {.only = "unnamed", .at = -1};
  char left[PATH_MAX];
  tn_file file;
  tn_set_file_hook(fail_step, &f);
  assert_int_equal(tn_file_begin(&file, p->path, 0), 0);
  assert_true(tn_file_is_aside(strrchr(file.aside, '/') + 1));
  tn_file_sweep(file.aside); /* it is being written */
  assert_int_equal(access(file.aside, F_OK), 0);
  strcpy(left, file.aside);
  close(file.fd); /* as if the process had ended */
  tn_file_sweep(left);
  assert_int_equal(entries(p), 0);
  assert_false(tn_file_is_aside("file"));
  assert_false(tn_file_is_aside(".tenon-0123.new"));
  assert_false(tn_file_is_aside(".new"));
}

/* ---- limits of the system ---- */

static int write_beyond_limit(void *ctx) {
  const place *p = ctx;
  const struct rlimit limit = {1000, 1000};
  char data[3000] = {0};
  signal(SIGXFSZ, SIG_DFL);
  if (setrlimit(RLIMIT_FSIZE, &limit)) return 1;
  if (tn_file_write(p->path, data, sizeof data) == 0) return 2;
  if (!strstr(tn_error_message(), "File too large")) return 3;
  tn_error_clear();
  sigset_t waiting;
  if (sigpending(&waiting) || sigismember(&waiting, SIGXFSZ)) return 4;
  return tn_file_write(p->path, data, 10) ? 5 : 0;
}

static void test_limit_of_file_size(void **state) {
  place *p = *state;
  assert_int_equal(write_text(p->path, "old"), 0);
  assert_int_equal(in_child(write_beyond_limit, p), 0);
  assert_int_equal(entries(p), 1);
}

static void test_device_is_written_as_it_is(void **state) {
  (void)state;
  assert_int_equal(write_text("/dev/null", "new"), 0);
  assert_int_equal(write_text("/dev/full", "new"), -1);
  assert_error("OSError", "/dev/full: No space left on device");
}

/* ---- what the file was ---- */

static void test_mode(void **state) {
  place *p = *state;
  mode_t mask = umask(022);
  assert_int_equal(write_text(p->path, "a"), 0);
  assert_int_equal(mode_of(p->path), 0644);
  assert_int_equal(chmod(p->path, 0600), 0);
  assert_int_equal(write_text(p->path, "b"), 0);
  assert_int_equal(mode_of(p->path), 0600);
  assert_int_equal(tn_file_write_as(p->path, "c", 1, TN_FILE_PROGRAM), 0);
  assert_int_equal(mode_of(p->path), 0700);
  assert_int_equal(chmod(p->path, 0666), 0); /* more than the mask leaves */
  assert_int_equal(write_text(p->path, "d"), 0);
  assert_int_equal(mode_of(p->path), 0666);
  assert_int_equal(unlink(p->path), 0);
  assert_int_equal(tn_file_write_as(p->path, "e", 1, TN_FILE_PROGRAM), 0);
  assert_int_equal(mode_of(p->path), 0755);
  assert_int_equal(unlink(p->path), 0);
  assert_int_equal(tn_file_write_as(p->path, "f", 1, TN_FILE_PRIVATE), 0);
  assert_int_equal(mode_of(p->path), 0600);
  umask(mask);
}

static void test_links_stay(void **state) {
  place *p = *state;
  char link[PATH_MAX], second[PATH_MAX];
  struct stat s;
  snprintf(link, sizeof link, "%s/link", p->folder);
  snprintf(second, sizeof second, "%s/second", p->folder);
  assert_int_equal(symlink("file", link), 0); /* leads nowhere yet */
  assert_int_equal(symlink(link, second), 0);
  for (int i = 0; i < 2; ++i) {
    assert_int_equal(write_text(i ? link : second, i ? "b" : "a"), 0);
    assert_content(p->path, i ? "b" : "a");
    assert_true(lstat(link, &s) == 0 && S_ISLNK(s.st_mode));
  }
  assert_int_equal(unlink(p->path), 0);
  assert_int_equal(symlink("link", p->path), 0); /* a circle */
  assert_int_equal(write_text(p->path, "c"), -1);
  assert_error("OSError", "cannot write");
}

static void test_places_that_cannot_be_written(void **state) {
  place *p = *state;
  char path[PATH_MAX];
  assert_int_equal(write_text(p->folder, "x"), -1);
  assert_error("OSError", "Is a directory");
  assert_int_equal(write_text("/nonexistent/x", "x"), -1);
  assert_error("OSError", "/nonexistent/x: No such file or directory");
  assert_int_equal(write_text(p->path, "old"), 0);
  snprintf(path, sizeof path, "%s/x", p->path);
  assert_int_equal(write_text(path, "x"), -1);
  assert_error("OSError", "Not a directory");
  assert_int_equal(write_text("", "x"), -1);
  assert_error("OSError", "No such file or directory");
  if (geteuid() == 0) return; /* who may write everywhere */
  assert_int_equal(chmod(p->path, 0400), 0);
  assert_int_equal(write_text(p->path, "x"), -1);
  assert_error("OSError", "Permission denied");
  assert_content(p->path, "old");
}

static void test_long_name(void **state) {
  place *p = *state;
  char path[PATH_MAX + 300];
  int n = snprintf(path, sizeof path, "%s/%0255d", p->folder, 1);
  faults f = {.only = "unnamed", .at = -1};
  tn_set_file_hook(fail_step, &f);
  assert_int_equal(write_text(path, "x"), 0);
  path[n] = 'a', path[n + 1] = '\0';
  assert_int_equal(write_text(path, "x"), -1);
  assert_error("OSError", "File name too long");
}

/* ---- several at once ---- */

static void *write_often(void *arg) {
  const char *path = ((place *)arg)->path;
  char data[5000];
  memset(data, 'a' + (int)((uintptr_t)pthread_self() >> 12 & 15), sizeof data);
  for (int i = 0; i < 100; ++i)
    if (tn_file_write_as(path, data, sizeof data, TN_FILE_LOSABLE)) return arg;
  return NULL;
}

static void test_threads_write_one_file(void **state) {
  place *p = *state;
  enum { THREADS = 4 };
  pthread_t threads[THREADS];
  faults f = {.only = "unnamed", .at = -1};
  for (int named = 0; named < 2; ++named) {
    if (named) tn_set_file_hook(fail_step, &f);
    for (int i = 0; i < THREADS; ++i)
      assert_int_equal(pthread_create(&threads[i], NULL, write_often, p), 0);
    for (int i = 0; i < THREADS; ++i) {
      void *failed;
      assert_int_equal(pthread_join(threads[i], &failed), 0);
      assert_null(failed);
    }
    TN_BUF(b);
    assert_int_equal(tn_file_read(p->path, &b), 0);
    assert_int_equal(b.len, 5000);
    for (size_t i = 1; i < b.len; ++i) assert_int_equal(b.data[i], b.data[0]);
    assert_int_equal(entries(p), 1);
  }
}

static void *save_often(void *arg) {
  for (int i = 0; i < 50; ++i)
    if (write_params(arg)) return arg;
  return NULL;
}

static void test_threads_save_parameters_to_one_file(void **state) {
  place *p = *state;
  pthread_t threads[2];
  void *failed[2];
  for (int i = 0; i < 2; ++i) assert_int_equal(pthread_create(&threads[i], NULL, save_often, p), 0);
  for (int i = 0; i < 2; ++i) assert_int_equal(pthread_join(threads[i], &failed[i]), 0);
  assert_null(failed[0]);
  assert_null(failed[1]);
  tn_map *m = tn_params_load_file(p->path, false);
  assert_non_null(m);
  tn_release(m);
  assert_int_equal(entries(p), 1);
}

/* ---- folders for temporary files ---- */

static int make_temp(void *ctx, bool die) {
  setenv("TMPDIR", ((const place *)ctx)->folder, 1);
  TN_TEMP_FOLDER(f);
  if (tn_temp_folder_make(&f)) return 100;
  if (die) raise(SIGKILL);
  return entries(ctx);
}

static int make_and_die(void *ctx) { return make_temp(ctx, true); }
static int make_and_end(void *ctx) { return make_temp(ctx, false); }

/* A new process, as each looks for such folders once. */
static void test_folder_of_a_killed_process(void **state) {
  place *p = *state;
  assert_int_equal(in_child(make_and_die, p), -SIGKILL);
  assert_int_equal(in_child(make_and_die, p), -SIGKILL);
  assert_int_equal(entries(p), 1);
  assert_int_equal(in_child(make_and_end, p), 1);
  assert_int_equal(entries(p), 0);
}

int main(void) {
#define TEST(f) cmocka_unit_test_setup_teardown(f, make_place, remove_place)
  const struct CMUnitTest tests[] = {
      TEST(test_every_step_fails),
      TEST(test_killed_at_every_step),
      TEST(test_sweep),
      TEST(test_limit_of_file_size),
      TEST(test_device_is_written_as_it_is),
      TEST(test_mode),
      TEST(test_links_stay),
      TEST(test_places_that_cannot_be_written),
      TEST(test_long_name),
      TEST(test_threads_write_one_file),
      TEST(test_threads_save_parameters_to_one_file),
      TEST(test_folder_of_a_killed_process),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
