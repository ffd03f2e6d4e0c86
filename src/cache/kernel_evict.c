/* The kernel cache as a whole: how large it is, and which entries go when it is too large, those
   that were not used for longest. The folder is looked through when a process writes its first
   entry, and again whenever what was added to that reaches the limit. */
#include <dirent.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "cache/kernel_store.h"
#include "cache/kernel_store_impl.h"

typedef struct {
  char name[24]; /* "3f/3f9a01c2d4e5f607" */
  int64_t bytes;
  struct timespec used;
} entry;

typedef struct {
  entry *items;
  int64_t n, cap, bytes;
} listing;

static bool is_hex(const char *s, size_t n) {
  return strlen(s) == n && strspn(s, "0123456789abcdef") == n;
}

/* A file: an entry, or the rest of a write that was cut off. */
static int look_at_file(const char *folder, const char *part, const char *name, listing *out) {
  char path[STORE_PATH + 600];
  struct stat s;
  snprintf(path, sizeof path, "%s/%s/%s", folder, part, name);
  if (lstat(path, &s) != 0 || !S_ISREG(s.st_mode)) return 0;
  if (!is_hex(name, 16)) {
    if (tn_file_is_aside(name)) tn_file_sweep(path);
    return 0;
  }
  TN_GROW(out->items, out->cap, out->n + 1, return -1);
  entry *e = &out->items[out->n++];
  snprintf(e->name, sizeof e->name, "%.2s/%.16s", part, name);
  e->bytes = s.st_size;
  e->used = s.st_mtim;
  out->bytes += s.st_size;
  return 0;
}

static int look_into(const char *folder, const char *part, listing *out) {
  char path[STORE_PATH + 300];
  snprintf(path, sizeof path, "%s/%s", folder, part);
  DIR *d = opendir(path);
  int err = 0;
  for (struct dirent *e; d && !err && (e = readdir(d)) != NULL;)
    err = look_at_file(folder, part, e->d_name, out);
  if (d) closedir(d);
  return err;
}

/* All entries; without a folder there are none. */
static int list_entries(const char *folder, listing *out) {
  DIR *d = opendir(folder);
  int err = 0;
  for (struct dirent *e; d && !err && (e = readdir(d)) != NULL;)
    if (is_hex(e->d_name, 2)) err = look_into(folder, e->d_name, out);
  if (d) closedir(d);
  return err;
}

static int by_use(const void *a, const void *b) {
  const entry *x = a, *y = b;
  if (x->used.tv_sec != y->used.tv_sec) return x->used.tv_sec < y->used.tv_sec ? -1 : 1;
  if (x->used.tv_nsec != y->used.tv_nsec) return x->used.tv_nsec < y->used.tv_nsec ? -1 : 1;
  return strcmp(x->name, y->name);
}

/* Removes entries, the oldest first, until no more than `keep` bytes are left. */
static int64_t shrink(const char *folder, listing *l, int64_t keep) {
  char path[STORE_PATH + 32];
  int64_t removed = 0;
  if (l->n) qsort(l->items, (size_t)l->n, sizeof *l->items, by_use);
  for (int64_t i = 0; i < l->n && l->bytes > keep; ++i) {
    snprintf(path, sizeof path, "%s/%s", folder, l->items[i].name);
    if (unlink(path) == 0) ++removed;
    l->bytes -= l->items[i].bytes;
  }
  return removed;
}

void store_count(int64_t *entries, int64_t *bytes) {
  char folder[STORE_PATH];
  const char *reason;
  listing l = {0};
  if (store_folder(folder, &reason, false) && list_entries(folder, &l)) tn_error_clear();
  *entries = l.n;
  *bytes = l.bytes;
  tn_free(l.items);
}

void store_grown(int64_t bytes, int64_t limit) {
  /* Bytes in the folder, as far as this process knows. Threads that both find it too large look
     twice, which does no harm. */
  static _Atomic int64_t known = -1;
  char folder[STORE_PATH];
  const char *reason;
  listing l = {0};
  int64_t before = atomic_load(&known);
  if (before >= 0 && atomic_fetch_add(&known, bytes) + bytes <= limit) return;
  if (!store_folder(folder, &reason, false)) return;
  if (list_entries(folder, &l)) tn_error_clear();
  if (l.bytes > limit) (void)shrink(folder, &l, limit / 10 * 9);
  atomic_store(&known, l.bytes);
  tn_free(l.items);
}

int64_t kernel_store_clear(void) {
  char folder[STORE_PATH];
  const char *reason;
  listing l = {0};
  TN_CHECK(store_folder(folder, &reason, false), OSError, NULL, "no kernel cache: %s", reason);
  if (list_entries(folder, &l)) {
    tn_free(l.items);
    return -1;
  }
  int64_t all = l.n, removed = shrink(folder, &l, -1);
  tn_free(l.items);
  TN_CHECK(removed == all, OSError, NULL, "%s: %lld of %lld entries could not be removed", folder,
           (long long)(all - removed), (long long)all);
  return removed;
}
