#include "base/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

int tn_folder_make(const char *path) {
  TN_BUF(part);
  size_t n = strlen(path);
  for (size_t i = 1; i <= n; ++i) {
    struct stat s;
    if (path[i] != '/' && path[i] != '\0') continue;
    tn_buf_clear(&part);
    tn_buf_put(&part, path, i);
    TN_TRY(tn_buf_ok(&part));
    const char *name = tn_buf_cstr(&part);
    if (mkdir(name, 0777) == 0 || (errno == EEXIST && stat(name, &s) == 0 && S_ISDIR(s.st_mode)))
      continue;
    return TN_RAISE(OSError, NULL, "cannot make the folder %s: %s", name, strerror(errno));
  }
  return 0;
}

static int remove_one(const char *path, const struct stat *s, int kind, struct FTW *at) {
  (void)s, (void)kind, (void)at;
  remove(path);
  return 0;
}

void tn_folder_remove(const char *path) {
  enum { OPEN_FOLDERS = 16 };
  nftw(path, remove_one, OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS);
}

/* ---- temporary ones ---- */

static const char temp_head[] = "tenon-build-";
enum { HEAD = sizeof temp_head - 1, RANDOM = 6, TRIES = 16 };

static const char *temp_place(void) {
  const char *temp = secure_getenv("TMPDIR");
  return temp && *temp ? temp : "/tmp";
}

/* Opens and locks a folder of this user; -1 with errno EWOULDBLOCK where another process uses it,
   ENOENT where it is gone. */
static int lock_folder(const char *path) {
  struct stat s, named;
  int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return -1;
  int failed = EPERM;
  if (fstat(fd, &s) == 0 && s.st_uid == geteuid()) {
    failed = flock(fd, LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
    if (!failed && (lstat(path, &named) != 0 || named.st_ino != s.st_ino)) failed = ENOENT;
  }
  if (!failed) return fd;
  close(fd);
  errno = failed;
  return -1;
}

/* What killed processes left goes, once in the life of this one. */
static void sweep(void) {
  static atomic_flag done = ATOMIC_FLAG_INIT;
  if (atomic_flag_test_and_set(&done)) return;
  DIR *d = opendir(temp_place());
  for (struct dirent *e; d && (e = readdir(d)) != NULL;) {
    char path[PATH_MAX];
    if (strncmp(e->d_name, temp_head, HEAD) != 0 || strlen(e->d_name) != HEAD + RANDOM) continue;
    int n = snprintf(path, sizeof path, "%s/%s", temp_place(), e->d_name);
    int fd = n < (int)sizeof path ? lock_folder(path) : -1;
    if (fd < 0) continue;
    tn_folder_remove(path);
    close(fd);
  }
  if (d) closedir(d);
}

/* Until it is locked, a new folder looks as if it were left over, and another process may remove
   it. Where the file system has no locks, none is removed. */
static bool make_temp(tn_temp_folder *f) {
  for (int i = 0; i < TRIES; ++i) {
    memset(f->path.data + f->path.len - RANDOM, 'X', RANDOM);
    if (!mkdtemp(f->path.data)) return false;
    f->lock = lock_folder(f->path.data);
    if (f->lock >= 0 || (errno != EWOULDBLOCK && errno != ENOENT)) return true;
  }
  return false;
}

int tn_temp_folder_make(tn_temp_folder *f) {
  f->lock = -1;
  sweep();
  tn_buf_printf(&f->path, "%s/%sXXXXXX", temp_place(), temp_head);
  TN_TRY(tn_buf_ok(&f->path));
  if (make_temp(f)) return 0;
  tn_buf_clear(&f->path);
  return TN_RAISE(OSError, NULL, "cannot make a folder for temporary files in %s: %s", temp_place(),
                  strerror(errno));
}

void tn_temp_folder_fini(tn_temp_folder *f) {
  if (f->path.len) tn_folder_remove(f->path.data);
  if (f->lock >= 0) close(f->lock);
  f->lock = -1;
  tn_buf_fini(&f->path);
}
