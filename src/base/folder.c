#include "base/folder.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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

int tn_folder_make_temp(tn_buf *path) {
  const char *temp = getenv("TMPDIR");
  size_t begin = path->len;
  tn_buf_printf(path, "%s/tenon-XXXXXX", temp && *temp ? temp : "/tmp");
  TN_TRY(tn_buf_ok(path));
  TN_CHECK(mkdtemp(path->data + begin), OSError, NULL,
           "cannot make a folder for temporary files in %s: %s", temp && *temp ? temp : "/tmp",
           strerror(errno));
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
