/* Reading and writing whole files. */
#include "cli/file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

int cli_read_file(const char *path, tn_buf *out) {
  bool standard = strcmp(path, "-") == 0;
  FILE *f = standard ? stdin : fopen(path, "rb");
  TN_CHECK(f, OSError, NULL, "cannot open %s: %s", path, strerror(errno));
  char block[16384];
  size_t n;
  errno = 0;
  while ((n = fread(block, 1, sizeof block, f)) > 0) tn_buf_put(out, block, n);
  int why = ferror(f) ? errno : 0;
  if (!standard) fclose(f);
  TN_CHECK(!why, OSError, NULL, "cannot read %s: %s", path, strerror(why));
  return tn_buf_ok(out);
}

int cli_write_file(const char *path, const void *data, size_t n) {
  bool standard = strcmp(path, "-") == 0;
  FILE *f = standard ? stdout : fopen(path, "wb");
  TN_CHECK(f, OSError, NULL, "cannot write %s: %s", path, strerror(errno));
  bool ok = fwrite(data, 1, n, f) == n;
  int why = errno;
  if (!standard && fclose(f) && ok) {
    ok = false;
    why = errno;
  }
  TN_CHECK(ok, OSError, NULL, "cannot write %s: %s", path, strerror(why));
  return 0;
}
