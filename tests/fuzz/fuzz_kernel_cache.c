/* Entries of the kernel cache: whatever a file holds, its values are found or there are none, and
   no error is left. The checksum is put right where the first byte is odd, so that what is after it
   is reached. */
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/scope.h"
#include "cache/kernel_store.h"
#include "fuzz.h"
#include "object/containers.h"
#include "tenon/compiler.h"

enum { HEAD = 16 }; /* magic and checksum */

static char root[] = "/tmp/tenon-fuzz-XXXXXX", path[PATH_MAX];
static const tn_bytes_view key = {(const uint8_t *)"key", 3};

static void clear(void) {
  (void)kernel_store_clear();
  char *slash = strrchr(path, '/');
  (void)unlink(path);
  for (int i = 0; i < 2; ++i) {
    *slash = '\0';
    (void)rmdir(path);
    slash = strrchr(path, '/');
  }
  (void)rmdir(root);
}

/* Sets `path` to the key's file, in its own cache whose folders exist. */
static void start(void) {
  require(tn_compiler_init() == 0, "start");
  require(mkdtemp(root) && setenv("TENON_CACHE", root, 1) == 0, "folder");
  kernel_store_put(key, tn_arr_of(1, tn_scope_own(tn_bytes_new("value", 5))));
  tn_arr *found = kernel_store_get(key);
  require(found && found->len == 1, "stored");
  uint64_t h = tn_hash_bytes(key.data, key.size);
  snprintf(path, sizeof path, "%s/kernels/%02x/%016" PRIx64, root, (unsigned)(h >> 56), h);
  require(access(path, R_OK) == 0, "the key's file");
  atexit(clear);
}

static void write_entry(const uint8_t *data, size_t n, bool mend) {
  uint8_t *copy = malloc(n + 1);
  require(copy, "memory");
  memcpy(copy, data, n);
  if (mend && n >= HEAD) {
    uint64_t sum = tn_hash_bytes(copy + HEAD, n - HEAD);
    memcpy(copy, "TNKERN1\n", 8);
    for (int i = 0; i < 8; ++i) copy[8 + i] = (uint8_t)(sum >> (8 * i));
  }
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  require(fd >= 0 && write(fd, copy, n) == (ssize_t)n, "write");
  close(fd);
  free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  static bool started;
  TN_SCOPE(s);
  if (!started) start();
  started = true;
  if (n < 1 || n > 1 << 14) return 0;
  write_entry(data + 1, n - 1, data[0] & 1);
  const tn_arr *found = kernel_store_get(key);
  require(!tn_error_pending(), "no error");
  for (int64_t i = 0; found && i < found->len; ++i) {
    tn_bytes_view value;
    require(tn_any_to_bytes(&found->items[i], &value) == 0 && value.size < n, "a value");
  }
  return 0;
}
