/* Reading and writing whole files. */
#include "cli/file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"

int cli_read_file(const char *path, tn_buf *out) {
  char block[4096];
  size_t n;
  if (strcmp(path, "-") != 0) return tn_file_read(path, out);
  while ((n = fread(block, 1, sizeof block, stdin)) > 0) tn_buf_put(out, block, n);
  TN_CHECK(!ferror(stdin), OSError, NULL, "cannot read standard input: %s", strerror(errno));
  return tn_buf_ok(out);
}

int cli_write_file(const char *path, const void *data, size_t n) {
  if (strcmp(path, "-") != 0) return tn_file_write(path, data, n);
  TN_CHECK(fwrite(data, 1, n, stdout) == n, OSError, NULL, "cannot write standard output: %s",
           strerror(errno));
  return 0;
}
