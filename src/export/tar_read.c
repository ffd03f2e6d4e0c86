/* Reading archives: ustar, with the long names of GNU tar and of POSIX.1-2001 (pax). */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/scope.h"
#include "export/tar.h"
#include "object/containers.h"

enum {
  BLOCK = 512,
  NAME_AT = 0,
  NAME_LEN = 100,
  SIZE_AT = 124,
  SUM_AT = 148,
  TYPE_AT = 156,
  MAGIC_AT = 257,
  PREFIX_AT = 345,
  PREFIX_LEN = 155,
  MAX_FILES = 1 << 16
};

typedef struct {
  const uint8_t *at, *end;
  tar_file *files;
  int64_t n, cap;
  tn_str *long_name; /* of the next member; NULL: as its header says */
  int64_t number;    /* of the member */
} reader;

/* Digits between blanks; -1 for anything else, and beyond 8 GiB. */
static int64_t octal(const uint8_t *p, size_t n) {
  int64_t value = 0;
  size_t i = 0;
  while (i < n && p[i] == ' ') ++i;
  if (i == n || p[i] < '0' || p[i] > '7') return -1;
  for (; i < n && p[i] >= '0' && p[i] <= '7'; ++i) value = value * 8 + (p[i] - '0');
  for (; i < n; ++i)
    if (p[i] != ' ' && p[i] != '\0') return -1;
  return value;
}

static bool sum_is_right(const uint8_t *h) {
  int64_t sum = 0;
  for (int i = 0; i < BLOCK; ++i) sum += i >= SUM_AT && i < SUM_AT + 8 ? ' ' : h[i];
  return octal(h + SUM_AT, 8) == sum;
}

static tn_str *text_of(const uint8_t *p, size_t max) {
  return tn_scope_own(tn_str_new_n((const char *)p, strnlen((const char *)p, max)));
}

static tn_str *name_of(const reader *r, const uint8_t *h) {
  tn_str *name, *prefix;
  if (r->long_name) return r->long_name;
  TN_GETP(name, text_of(h + NAME_AT, NAME_LEN));
  bool posix = memcmp(h + MAGIC_AT, "ustar", 6) == 0;
  if (!posix || !h[PREFIX_AT]) return name;
  TN_GETP(prefix, text_of(h + PREFIX_AT, PREFIX_LEN));
  return tn_str_fmt("%s/%s", tn_cstr(prefix), tn_cstr(name));
}

/* A path within the archive: "./" in front and slashes at the end go. NULL for none. */
static tn_str *inside(const tn_str *name) {
  const char *s = tn_cstr(name);
  size_t n = tn_str_len(name);
  bool ok = strlen(s) == n;
  while (n >= 2 && s[0] == '.' && s[1] == '/') s += 2, n -= 2;
  while (n > 1 && s[n - 1] == '/') --n;
  if (n == 1 && s[0] == '.') n = 0;
  ok = ok && (n == 0 || *s != '/');
  for (size_t i = 0; ok && i < n;) {
    size_t part = strcspn(s + i, "/");
    if (part > n - i) part = n - i;
    bool dots = (part == 1 && s[i] == '.') || (part == 2 && s[i] == '.' && s[i + 1] == '.');
    ok = part > 0 && !dots;
    i += part + 1;
  }
  TN_CHECKP(ok, ValueError, NULL, "archive: member %.80s is not a path within the archive", s);
  return tn_scope_own(tn_str_new_n(s, n));
}

/* "path" among the records "LENGTH KEY=VALUE\n" of a pax header. */
static int read_pax(reader *r, const uint8_t *p, size_t size) {
  const uint8_t *end = p + size;
  while (p < end && *p) {
    size_t length = 0, digits = 0;
    for (; digits < 9 && p + digits < end && p[digits] >= '0' && p[digits] <= '9'; ++digits)
      length = length * 10 + (size_t)(p[digits] - '0');
    bool ok = digits && length > digits + 1 && length <= (size_t)(end - p) && p[digits] == ' ' &&
              p[length - 1] == '\n';
    TN_CHECK(ok, ValueError, NULL, "archive: member %" PRId64 ": a record that is none", r->number);
    const uint8_t *key = p + digits + 1;
    size_t rest = length - digits - 2;
    if (rest > 5 && memcmp(key, "path=", 5) == 0)
      TN_GET(r->long_name, tn_scope_own(tn_str_new_n((const char *)key + 5, rest - 5)));
    TN_CHECK(rest < 5 || memcmp(key, "size=", 5) != 0, ValueError, NULL,
             "archive: member %" PRId64 ": sizes of 8 GiB and more are not read", r->number);
    p += length;
  }
  return 0;
}

static int add(reader *r, const tn_str *name, const uint8_t *data, size_t size) {
  TN_CHECK(r->n < MAX_FILES, ValueError, NULL, "archive: more than %d files", MAX_FILES);
  TN_GROW(r->files, r->cap, r->n + 1, return -1);
  r->files[r->n++] = (tar_file){tn_cstr(name), {data, size}};
  return 0;
}

static int read_member(reader *r, const uint8_t *h, const uint8_t *data, size_t size) {
  tn_str *name;
  char type = (char)h[TYPE_AT];
  if (type == 'x') return read_pax(r, data, size);
  if (type == 'g') return 0;
  if (type == 'L') {
    TN_GET(r->long_name, text_of(data, size));
    return 0;
  }
  TN_GET(name, name_of(r, h));
  r->long_name = NULL;
  TN_CHECK(type == '0' || type == '\0' || type == '5', ValueError, NULL,
           "archive: member %.80s is neither file nor folder", tn_cstr(name));
  TN_GET(name, inside(name));
  if (type == '5') return 0;
  TN_CHECK(tn_str_len(name), ValueError, NULL, "archive: a file without a name");
  return add(r, name, data, size);
}

static bool is_end(const uint8_t *h) {
  for (int i = 0; i < BLOCK; ++i)
    if (h[i]) return false;
  return true;
}

static int read_all(reader *r) {
  for (; r->end - r->at >= BLOCK && !is_end(r->at); ++r->number) {
    const uint8_t *h = r->at;
    TN_CHECK(sum_is_right(h), ValueError, NULL,
             "archive: member %" PRId64 ": its checksum is wrong", r->number);
    int64_t size = octal(h + SIZE_AT, 12);
    const uint8_t *data = h + BLOCK;
    TN_CHECK(size >= 0 && size <= r->end - data, ValueError, NULL,
             "archive: member %" PRId64 " is cut off", r->number);
    TN_TRY(read_member(r, h, data, (size_t)size));
    int64_t padded = (size + BLOCK - 1) / BLOCK * BLOCK;
    r->at = padded <= r->end - data ? data + padded : r->end;
  }
  return 0;
}

static int by_name(const void *a, const void *b) {
  return strcmp(((const tar_file *)a)->name, ((const tar_file *)b)->name);
}

int tar_read(const void *data, size_t size, tar_file **files, int64_t *n) {
  reader r = {.at = data, .end = (const uint8_t *)data + size};
  int err =
      size < BLOCK ? TN_RAISE(ValueError, NULL, "archive: %zu bytes are none", size) : read_all(&r);
  *files = r.files;
  *n = r.n;
  TN_TRY(err);
  if (r.n > 1) qsort(r.files, (size_t)r.n, sizeof *r.files, by_name);
  for (int64_t i = 1; i < r.n; ++i)
    TN_CHECK(strcmp(r.files[i - 1].name, r.files[i].name) != 0, ValueError, NULL,
             "archive: two members are called %.80s", r.files[i].name);
  return 0;
}

bool tar_find(const tar_file *files, int64_t n, const char *name, tn_bytes_view *out) {
  tar_file key = {.name = name};
  const tar_file *found = n ? bsearch(&key, files, (size_t)n, sizeof *files, by_name) : NULL;
  if (found) *out = found->data;
  return found != NULL;
}
