/* Writing archives: a header of one block for each member, its data, padding. */
#include "export/tar.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

enum { BLOCK = 512, RECORD = 20 * BLOCK, NAME_MAX_LEN = 100, PREFIX_MAX_LEN = 155 };
#define SIZE_LIMIT (INT64_C(1) << 33) /* of a member: eleven octal digits */

/* All numbers are octal digits with a NUL or space behind. */
typedef struct {
  char name[NAME_MAX_LEN], mode[8], uid[8], gid[8], size[12], mtime[12], sum[8], type;
  char link[100], magic[6], version[2], user[32], group[32], major[8], minor[8];
  char prefix[PREFIX_MAX_LEN], pad[12];
} header;
_Static_assert(sizeof(header) == BLOCK, "a header is a block");

static void octal(char *out, size_t size, int64_t value) {
  out[size - 1] = '\0';
  for (size_t i = size - 1; i-- > 0; value >>= 3) out[i] = (char)('0' + (value & 7));
}

/* A long name is cut at a slash into prefix and name. */
static int put_name(header *h, const char *path) {
  size_t n = strlen(path), cut = 0;
  if (n > NAME_MAX_LEN) {
    for (size_t i = 1; i < n && i <= PREFIX_MAX_LEN && !cut; ++i)
      if (path[i] == '/' && n - i - 1 <= NAME_MAX_LEN && n - i - 1 > 0) cut = i;
    TN_CHECK(cut, ValueError, NULL, "archive: the name %.40s... is too long: %zu bytes", path, n);
    memcpy(h->prefix, path, cut);
    ++cut;
  }
  memcpy(h->name, path + cut, n - cut);
  return 0;
}

static int put_header(const char *path, bool folder, size_t size, int64_t mtime, tn_buf *out) {
  header h = {.type = folder ? '5' : '0', .user = "root", .group = "root"};
  unsigned sum = 0;
  TN_TRY(put_name(&h, path));
  memcpy(h.magic, "ustar", sizeof h.magic);
  memset(h.version, '0', sizeof h.version);
  memset(h.sum, ' ', sizeof h.sum);
  octal(h.mode, sizeof h.mode, folder ? 0755 : 0644);
  octal(h.uid, sizeof h.uid, 0);
  octal(h.gid, sizeof h.gid, 0);
  octal(h.size, sizeof h.size, (int64_t)size);
  octal(h.mtime, sizeof h.mtime, mtime);
  for (size_t i = 0; i < sizeof h; ++i) sum += ((const unsigned char *)&h)[i];
  octal(h.sum, 7, sum);
  tn_buf_put(out, &h, sizeof h);
  return 0;
}

/* By name, folder by folder: a slash comes before all else. */
static int compare(const void *a, const void *b) {
  const char *x = ((const tar_file *)a)->name, *y = ((const tar_file *)b)->name;
  while (*x && *x == *y) ++x, ++y;
  int p = *x == '/' ? 1 : (unsigned char)*x + (*x != 0);
  int q = *y == '/' ? 1 : (unsigned char)*y + (*y != 0);
  return p - q;
}

static int check_name(const char *name) {
  bool ok = *name && *name != '/';
  for (const char *p = name; ok && *p;) {
    size_t n = strcspn(p, "/");
    ok = n > 0 && !(n == 1 && p[0] == '.') && !(n == 2 && p[0] == '.' && p[1] == '.');
    p += n;
    if (*p == '/' && !*++p) ok = false;
  }
  TN_CHECK(ok, ValueError, NULL, "archive: %s is not a name of a file within an archive", name);
  return 0;
}

/* The folders of `name` that `before` did not lie in. */
static int put_folders(const char *before, const char *name, int64_t mtime, tn_buf *out) {
  size_t same = 0;
  for (size_t i = 0; before[i] && before[i] == name[i]; ++i)
    if (name[i] == '/') same = i + 1;
  for (const char *slash = strchr(name + same, '/'); slash; slash = strchr(slash + 1, '/')) {
    TN_BUF(path);
    tn_buf_printf(&path, "./%.*s/", (int)(slash - name), name);
    TN_TRY(tn_buf_ok(&path));
    TN_TRY(put_header(tn_buf_cstr(&path), true, 0, mtime, out));
  }
  return 0;
}

static int put_file(const tar_file *f, int64_t mtime, tn_buf *out) {
  TN_BUF(path);
  TN_CHECK((uint64_t)f->data.size < (uint64_t)SIZE_LIMIT, ValueError, NULL,
           "archive: %s has %zu bytes, a member has less than 8 GiB", f->name, f->data.size);
  tn_buf_printf(&path, "./%s", f->name);
  TN_TRY(tn_buf_ok(&path));
  TN_TRY(put_header(tn_buf_cstr(&path), false, f->data.size, mtime, out));
  if (f->data.size) tn_buf_put(out, f->data.data, f->data.size);
  tn_buf_pad(out, '\0', (BLOCK - f->data.size % BLOCK) % BLOCK);
  return 0;
}

int tar_write(tar_file *files, int64_t n, int64_t mtime, tn_buf *out) {
  size_t begin = out->len;
  for (int64_t i = 0; i < n; ++i) TN_TRY(check_name(files[i].name));
  TN_CHECK(mtime >= 0 && mtime < SIZE_LIMIT, ValueError, NULL,
           "archive: a date of %" PRId64 " seconds since 1970 does not fit", mtime);
  if (n > 1) qsort(files, (size_t)n, sizeof *files, compare);
  TN_TRY(put_header("./", true, 0, mtime, out));
  for (int64_t i = 0; i < n; ++i) {
    TN_TRY(put_folders(i ? files[i - 1].name : "", files[i].name, mtime, out));
    TN_TRY(put_file(&files[i], mtime, out));
  }
  tn_buf_pad(out, '\0', 2 * BLOCK);
  tn_buf_pad(out, '\0', (RECORD - (out->len - begin) % RECORD) % RECORD);
  return tn_buf_ok(out);
}
