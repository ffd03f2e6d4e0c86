#include "base/file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

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

int tn_file_write(const char *path, const void *data, size_t n) {
  FILE *f = fopen(path, "wbe");
  TN_CHECK(f, OSError, NULL, "cannot open %s for writing: %s", path, strerror(errno));
  int failed = n && fwrite(data, 1, n, f) != n ? errno : 0;
  if (fclose(f) != 0 && !failed) failed = errno;
  TN_CHECK(!failed, OSError, NULL, "cannot write %s: %s", path, strerror(failed));
  return 0;
}
