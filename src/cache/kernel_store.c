#include "cache/kernel_store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/reader.h"
#include "base/json.h"
#include "cache/kernel_store_impl.h"

static const char magic[8] = "TNKERN1\n";
enum { MAX_VALUES = 16, DEFAULT_LIMIT_MIB = 1024 };

static _Atomic int64_t hits, misses, stored;

/* ---- the folder ---- */

static int64_t limit_bytes(void) {
  const char *text = secure_getenv("TENON_CACHE_LIMIT");
  int64_t mib = DEFAULT_LIMIT_MIB;
  if (text && *text && (!tn_text_int(text, strlen(text), &mib) || mib < 0 || mib > INT64_MAX >> 20))
    mib = DEFAULT_LIMIT_MIB;
  return mib << 20;
}

/* Where the cache is; false with a reason where there is none. */
static bool folder_name(char *out, size_t size, const char **reason) {
  const char *own = secure_getenv("TENON_CACHE"), *xdg = secure_getenv("XDG_CACHE_HOME"),
             *home = secure_getenv("HOME");
  int n = -1;
  *out = '\0';
  *reason = "TENON_CACHE turns it off";
  if (own && (strcmp(own, "off") == 0 || strcmp(own, "0") == 0 || !*own)) return false;
  *reason = "neither TENON_CACHE nor XDG_CACHE_HOME nor HOME is set to a full path";
  if (own) n = *own == '/' ? snprintf(out, size, "%s", own) : -1;
  else if (xdg && *xdg == '/') n = snprintf(out, size, "%s/tenon", xdg);
  else if (home && *home == '/') n = snprintf(out, size, "%s/.cache/tenon", home);
  if (n < 0 || (size_t)n >= size) *out = '\0';
  return *out != '\0';
}

/* Makes a folder and those above it. */
static int make_folders(const char *path) {
  char part[STORE_PATH];
  size_t n = strlen(path);
  if (n >= sizeof part) return -1;
  memcpy(part, path, n + 1);
  for (char *p = part + 1; *p; ++p) {
    if (*p != '/') continue;
    *p = '\0';
    if (mkdir(part, 0700) && errno != EEXIST) return -1;
    *p = '/';
  }
  return mkdir(part, 0700) && errno != EEXIST ? -1 : 0;
}

enum { OTHERS_WRITE = S_IWGRP | S_IWOTH };

/* Nobody but this user may put another folder, or an entry, in the place of one. */
static bool is_own(const char *path, bool may_lack) {
  struct stat s;
  if (stat(path, &s) != 0) return may_lack && errno == ENOENT;
  return S_ISDIR(s.st_mode) && s.st_uid == geteuid() && !(s.st_mode & OTHERS_WRITE);
}

bool store_folder(char *out, const char **reason, bool make) {
  char base[STORE_PATH - 64];
  if (!folder_name(base, sizeof base, reason)) return false;
  snprintf(out, STORE_PATH, "%s/kernels", base);
  *reason = "the folder cannot be made";
  if (make && make_folders(out)) return false;
  *reason = "it, or kernels in it, is not a folder of this user that nobody else may write to";
  return is_own(base, !make) && is_own(out, !make);
}

/* The file of a key; makes the folder that it is in. */
static bool file_of(tn_bytes_view key, bool make, char *out) {
  const char *reason;
  char folder[STORE_PATH];
  uint64_t h = tn_hash_bytes(key.data, key.size);
  if (!store_folder(folder, &reason, make)) {
    TN_LOG(DEBUG, "no kernel cache: %s", reason);
    return false;
  }
  int n = snprintf(out, STORE_PATH, "%s/%02x", folder, (unsigned)(h >> 56));
  if (n < 0 || n + 32 >= STORE_PATH) return false;
  if (make && mkdir(out, 0700) && errno != EEXIST) return false;
  snprintf(out + n, (size_t)(STORE_PATH - n), "/%016" PRIx64, h);
  return true;
}

/* ---- reading ---- */

/* Content of a file that this user owns; false when there is none. */
static bool read_file(const char *path, tn_buf *out) {
  struct stat s;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return false;
  bool good = fstat(fd, &s) == 0 && S_ISREG(s.st_mode) && s.st_size > 0 && s.st_size < INT32_MAX &&
              s.st_uid == geteuid() && !(s.st_mode & OTHERS_WRITE);
  if (good) {
    tn_buf_pad(out, '\0', (size_t)s.st_size);
    good = !out->failed;
  }
  for (size_t at = 0; good && at < out->len;) {
    ssize_t n = read(fd, out->data + at, out->len - at);
    if (n < 0 && errno == EINTR) continue;
    good = n > 0;
    if (good) at += (size_t)n;
  }
  if (good) (void)futimens(fd, NULL); /* the time of its last use */
  close(fd);
  return good;
}

static int read_values(tn_reader *r, tn_vec *out) {
  uint64_t n;
  TN_TRY(tn_read_count(r, sizeof(uint64_t), &n));
  TN_CHECK(n <= MAX_VALUES, ValueError, NULL, "too many values");
  for (uint64_t i = 0; i < n; ++i) {
    tn_bytes_view value;
    TN_TRY(tn_read_text(r, &value));
    TN_TRY(tn_vec_push_obj(out, tn_scope_own(tn_bytes_new(value.data, value.size))));
  }
  TN_CHECK(tn_read_left(r) == 0, ValueError, NULL, "more than its values");
  return 0;
}

/* 1: read, 0: another key's, -1: damaged. */
static int read_entry(const tn_buf *file, tn_bytes_view key, tn_vec *out) {
  tn_reader r = {(const uint8_t *)file->data, file->len, 0};
  const uint8_t *start;
  uint64_t sum;
  tn_bytes_view found;
  TN_TRY(tn_read_bytes(&r, sizeof magic, &start));
  TN_CHECK(memcmp(start, magic, sizeof magic) == 0, ValueError, NULL, "not an entry");
  TN_TRY(tn_read_u64(&r, &sum));
  TN_CHECK(sum == tn_hash_bytes(r.data + r.pos, tn_read_left(&r)), ValueError, NULL, "damaged");
  TN_TRY(tn_read_text(&r, &found));
  if (found.size != key.size || memcmp(found.data, key.data, key.size) != 0) return 0;
  TN_TRY(read_values(&r, out));
  return 1;
}

static tn_arr *find(tn_bytes_view key) {
  TN_BUF(file);
  TN_VEC(values);
  char path[STORE_PATH];
  if (!file_of(key, false, path) || !read_file(path, &file)) return NULL;
  int found = read_entry(&file, key, &values);
  if (found > 0) return tn_arr_from(&values);
  if (found < 0 && tn_error_get() && tn_error_get()->kind != TN_MemoryError) {
    TN_LOG(WARNING, "kernel cache: %s is damaged and was removed", path);
    (void)unlink(path);
  }
  return NULL;
}

tn_arr *kernel_store_get(tn_bytes_view key) {
  tn_arr *values = find(key);
  if (!values) tn_error_clear();
  atomic_fetch_add(values ? &hits : &misses, 1);
  return values;
}

/* ---- writing ---- */

static int entry_bytes(tn_bytes_view key, const tn_arr *values, tn_buf *out) {
  TN_BUF(body);
  tn_buf_u64(&body, key.size);
  tn_buf_put(&body, key.data, key.size);
  tn_buf_u64(&body, (uint64_t)values->len);
  for (int64_t i = 0; i < values->len; ++i) {
    tn_bytes_view b;
    TN_TRY(tn_any_to_bytes(&values->items[i], &b));
    tn_buf_u64(&body, b.size);
    tn_buf_put(&body, b.data, b.size);
  }
  TN_TRY(tn_buf_ok(&body));
  tn_buf_put(out, magic, sizeof magic);
  tn_buf_u64(out, tn_hash_bytes(body.data, body.len));
  tn_buf_put(out, body.data, body.len);
  return tn_buf_ok(out);
}

void kernel_store_put(tn_bytes_view key, const tn_arr *values) {
  TN_BUF(file);
  char path[STORE_PATH];
  int64_t limit = limit_bytes();
  if (entry_bytes(key, values, &file)) {
    tn_error_clear();
    return;
  }
  if ((int64_t)file.len > limit / 4 || !file_of(key, true, path)) return;
  if (tn_file_write_as(path, file.data, file.len, TN_FILE_LOSABLE | TN_FILE_PRIVATE)) {
    TN_LOG(DEBUG, "kernel cache: %s", tn_error_message());
    tn_error_clear();
    return;
  }
  atomic_fetch_add(&stored, 1);
  store_grown((int64_t)file.len, limit);
}

/* ---- about it ---- */

bool kernel_store_enabled(void) {
  char folder[STORE_PATH];
  const char *reason;
  return store_folder(folder, &reason, false);
}

void kernel_store_tell(kernel_store_info *out, bool count) {
  char folder[STORE_PATH];
  const char *reason = "";
  memset(out, 0, sizeof *out);
  (void)folder_name(out->folder, sizeof out->folder, &reason);
  bool good = store_folder(folder, &reason, false);
  if (!good) snprintf(out->reason, sizeof out->reason, "%s", reason);
  out->limit = limit_bytes();
  out->hits = atomic_load(&hits);
  out->misses = atomic_load(&misses);
  out->stored = atomic_load(&stored);
  if (good && count) store_count(&out->entries, &out->bytes);
}

static int info(TN_ARGS) {
  TN_NARGS("driver.kernel_cache_info", 0);
  kernel_store_info i;
  tn_map *m;
  kernel_store_tell(&i, true);
  const struct {
    const char *key;
    int64_t value;
  } rows[] = {{"entries", i.entries}, {"bytes", i.bytes},   {"limit", i.limit},
              {"hits", i.hits},       {"misses", i.misses}, {"stored", i.stored}};
  TN_GET(m, tn_scope_own(tn_map_new()));
  TN_TRY(tn_map_set(m, tn_any_cstr("folder"), tn_any_obj(tn_str_from(i.folder))));
  TN_TRY(tn_map_set(m, tn_any_cstr("reason"), tn_any_obj(tn_str_from(i.reason))));
  for (int k = 0; k < TN_COUNT(rows); ++k)
    TN_TRY(tn_map_set(m, tn_any_cstr(rows[k].key), tn_any_int(rows[k].value)));
  return tn_ret_obj(ret, m);
}

static int clear(TN_ARGS) {
  TN_NARGS("driver.kernel_cache_clear", 0);
  int64_t removed = kernel_store_clear();
  *ret = tn_any_int(removed);
  return removed < 0 ? -1 : 0;
}

static const tn_func_row rows[] = {{"driver.kernel_cache_info", info},
                                   {"driver.kernel_cache_clear", clear}};

int cache_init(void) { return tn_func_register_rows(rows, TN_COUNT(rows)); }
