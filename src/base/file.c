/* Writing files. The other file has no name at all until it is complete (O_TMPFILE), where the
   system can do that: then nothing stays of a process that is killed. It gets a name beside the
   file's and is renamed at once, as only a rename replaces a file. Elsewhere it has that name from
   the start. Its lock (flock) is held as long as it is written, and ends with the process, so that
   a name whose lock is free is left over. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/hash.h"

static const char aside_head[] = ".tenon-", aside_tail[] = ".new";
enum { NAMES = 64, HASH_DIGITS = 16 };

int tn_file_read(const char *path, tn_buf *out) {
  char block[4096];
  size_t n;
  FILE *f = fopen(path, "rbe");
  TN_CHECK(f, OSError, NULL, "cannot open %s: %s", path, strerror(errno));
  while ((n = fread(block, 1, sizeof block, f)) > 0) tn_buf_put(out, block, n);
  int failed = ferror(f) ? errno : 0;
  fclose(f);
  TN_CHECK(!failed, OSError, NULL, "cannot read %s: %s", path, strerror(failed));
  return tn_buf_ok(out);
}

/* ---- what tests make fail ---- */

static tn_file_hook hook;
static void *hook_ctx;

void tn_set_file_hook(tn_file_hook new_hook, void *ctx) {
  hook = new_hook;
  hook_ctx = ctx;
}

/* May the step be done? Else errno says why not. */
static bool step(const char *name) {
  int failed = hook ? hook(hook_ctx, name) : 0;
  if (failed) errno = failed;
  return !failed;
}

/* ---- the other file ---- */

static bool is_named(int fd, const char *path) {
  struct stat a, b;
  return fstat(fd, &a) == 0 && lstat(path, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* Whoever holds the lock of the file that has a name may remove the name, nobody else: so the name
   is looked at again once the lock is held. */
void tn_file_sweep(const char *path) {
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return;
  if (flock(fd, LOCK_EX | LOCK_NB) == 0 && is_named(fd, path)) (void)unlink(path);
  close(fd);
}

bool tn_file_is_aside(const char *name) {
  size_t n = strlen(name), head = sizeof aside_head - 1, tail = sizeof aside_tail - 1;
  return n > head + HASH_DIGITS + tail && memcmp(name, aside_head, head) == 0 &&
         strspn(name + head, "0123456789abcdef") >= HASH_DIGITS &&
         memcmp(name + n - tail, aside_tail, tail) == 0;
}

/* The i-th name beside a file's. */
static bool name_aside(tn_file *f, int i) {
  const char *slash = strrchr(f->path, '/'), *name = slash ? slash + 1 : f->path;
  int n =
      snprintf(f->aside, sizeof f->aside, "%.*s%s%0*" PRIx64 "-%d%s", (int)(name - f->path),
               f->path, aside_head, HASH_DIGITS, tn_hash_bytes(name, strlen(name)), i, aside_tail);
  if (n > 0 && (size_t)n < sizeof f->aside) return true;
  errno = ENAMETOOLONG;
  return false;
}

/* Calls `take` with one name after the other until it succeeds. */
static bool take_name(tn_file *f, bool (*take)(tn_file *f)) {
  for (int i = 0; i < NAMES; ++i) {
    if (!name_aside(f, i)) return false;
    if (take(f)) return true;
    if (errno != EEXIST) return false;
    tn_file_sweep(f->aside);
    if (take(f)) return true;
    if (errno != EEXIST) return false;
  }
  return false;
}

static bool lock(int fd) { return flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK; }

/* Until it is locked, a new file can be taken for one that was left over. */
static bool make_named(tn_file *f) {
  f->fd = open(f->aside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, f->mode);
  if (f->fd < 0) return false;
  if (lock(f->fd) && is_named(f->fd, f->aside)) return true;
  close(f->fd);
  f->fd = -1;
  errno = EEXIST;
  return false;
}

static void content_path(const tn_file *f, char out[40]) {
  snprintf(out, 40, "/proc/self/fd/%d", f->fd);
}

static bool give_name(tn_file *f) {
  char content[40];
  content_path(f, content);
  return linkat(AT_FDCWD, content, AT_FDCWD, f->aside, AT_SYMLINK_FOLLOW) == 0;
}

/* A file without a name, where the folder's file system has such. */
static bool make_unnamed(tn_file *f) {
  char folder[PATH_MAX], content[40];
  const char *slash = strrchr(f->path, '/');
  snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - f->path) + 1 : 1,
           slash ? f->path : ".");
  f->fd = step("unnamed") ? open(folder, O_WRONLY | O_TMPFILE | O_CLOEXEC, f->mode) : -1;
  if (f->fd < 0) return false;
  content_path(f, content);
  if (lock(f->fd) && access(content, F_OK) == 0) return true;
  close(f->fd);
  f->fd = -1;
  return false;
}

static bool make_aside(tn_file *f) {
  f->unnamed = make_unnamed(f);
  return f->unnamed || take_name(f, make_named);
}

/* ---- the file itself ---- */

/* The place that a path means: links are followed, also one that leads to no file yet. */
static bool resolve(tn_file *f, const char *path, int links) {
  char to[PATH_MAX], next[2 * PATH_MAX];
  if (realpath(path, f->path)) return true;
  if (errno != ENOENT) return false;
  ssize_t n = readlink(path, to, sizeof to);
  const char *slash = strrchr(path, '/');
  errno = links ? ENAMETOOLONG : ELOOP;
  if (n >= (ssize_t)sizeof to || !links) return false;
  if (n < 0) return snprintf(f->path, sizeof f->path, "%s", path) < (int)sizeof f->path;
  int folder = *to == '/' || !slash ? 0 : (int)(slash - path) + 1;
  snprintf(next, sizeof next, "%.*s%.*s", folder, path, (int)n, to);
  return resolve(f, next, links - 1);
}

/* A new file's mode is what the mask of the process leaves of this. */
static mode_t new_mode(int flags) {
  mode_t mode = flags & TN_FILE_PRIVATE ? 0600 : 0666;
  return flags & TN_FILE_PROGRAM ? mode | (mode & 0444) >> 2 : mode;
}

/* Owner and mode of the file that was there. What the system does not allow (only root may give
   files away) is left as it is. */
static bool keep_mode(const tn_file *f, const struct stat *old) {
  if (old->st_uid != geteuid() || old->st_gid != getegid())
    if (fchown(f->fd, old->st_uid, old->st_gid) != 0) errno = 0;
  return fchmod(f->fd, f->mode) == 0;
}

static bool begin(tn_file *f, const char **what) {
  struct stat old;
  bool there = step("open") && stat(f->given, &old) == 0;
  if (!there && errno != ENOENT) return false;
  if (there && !S_ISREG(old.st_mode)) {
    f->direct = true;
    f->fd = open(f->given, O_WRONLY | O_CLOEXEC);
    return f->fd >= 0;
  }
  enum { LINKS = 8 };
  f->mode = new_mode(f->flags);
  if (there) {
    f->mode = old.st_mode & 0777;
    if (f->flags & TN_FILE_PROGRAM) f->mode |= (f->mode & 0444) >> 2;
    if (faccessat(AT_FDCWD, f->given, W_OK, AT_EACCESS) != 0) return false;
  }
  if (!resolve(f, f->given, LINKS)) return false;
  if (there) *what = "write a new file beside";
  return make_aside(f) && (!there || keep_mode(f, &old));
}

static int fail(const tn_file *f, const char *what) {
  return TN_RAISE(OSError, NULL, "cannot %s %s: %s", what, f->given, strerror(errno));
}

static void drop(tn_file *f) {
  if (!f->direct && !f->unnamed && f->fd >= 0) (void)unlink(f->aside);
  if (f->fd >= 0) close(f->fd);
  f->fd = -1;
}

int tn_file_begin(tn_file *f, const char *path, int flags) {
  *f = (tn_file){.fd = -1, .flags = flags, .given = path};
  const char *what = "write";
  if (begin(f, &what)) return 0;
  fail(f, what);
  drop(f);
  return -1;
}

/* write, without the end of the process where the file would grow beyond the limit (RLIMIT_FSIZE):
   the signal is for this thread, and waits until it is taken off. */
static ssize_t write_some(int fd, const void *data, size_t n) {
  const struct timespec at_once = {0};
  sigset_t limit, before, waiting;
  sigemptyset(&limit);
  sigaddset(&limit, SIGXFSZ);
  pthread_sigmask(SIG_BLOCK, &limit, &before);
  bool waits = sigpending(&waiting) == 0 && sigismember(&waiting, SIGXFSZ);
  ssize_t done = step("write") ? write(fd, data, n) : -1;
  int failed = errno;
  if (done < 0 && failed == EFBIG && !waits) (void)sigtimedwait(&limit, NULL, &at_once);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  errno = failed;
  return done;
}

int tn_file_put(void *file, const void *data, size_t n) {
  const tn_file *f = file;
  const char *p = data;
  while (n) {
    ssize_t done = write_some(f->fd, p, n);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return fail(f, "write");
    p += done;
    n -= (size_t)done;
  }
  return 0;
}

static bool commit(tn_file *f) {
  if (!(f->flags & TN_FILE_LOSABLE) && !(step("sync") && fsync(f->fd) == 0)) return false;
  if (f->unnamed && !(step("link") && take_name(f, give_name))) return false;
  f->unnamed = false;
  return step("rename") && rename(f->aside, f->path) == 0;
}

/* What is on the disk cannot fail to be closed; only a device can. */
int tn_file_end(tn_file *f, int err) {
  if (!err && !f->direct && !commit(f)) err = fail(f, "write");
  if (err) {
    drop(f);
    return err;
  }
  int closed = close(f->fd);
  return closed == 0 || !f->direct ? 0 : fail(f, "write");
}

int tn_file_write_as(const char *path, const void *data, size_t n, int flags) {
  tn_file f;
  TN_TRY(tn_file_begin(&f, path, flags));
  int err = tn_file_put(&f, data, n);
  TN_TRY(tn_file_end(&f, err));
  return 0;
}

int tn_file_write(const char *path, const void *data, size_t n) {
  TN_TRY(tn_file_write_as(path, data, n, 0));
  return 0;
}
