/* Archives in Model Library Format: whatever the bytes are, they are refused with an error or tell
   what a model is made of; nothing is compiled. Checksums are put right first, so that what is
   behind them is reached. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/scope.h"
#include "export/archive.h"
#include "fuzz.h"
#include "object/containers.h"
#include "tenon/compiler.h"

enum { BLOCK = 512, MAX = 1 << 17 };

static size_t size_of(const uint8_t *header) {
  size_t size = 0;
  for (int i = 124; i < 136 && header[i] >= '0' && header[i] <= '7'; ++i)
    size = size * 8 + (size_t)(header[i] - '0');
  return size;
}

static void mend(uint8_t *data, size_t n) {
  for (size_t at = 0; n >= BLOCK && at <= n - BLOCK;) {
    uint8_t *h = data + at;
    unsigned sum = 0;
    for (int i = 0; i < BLOCK; ++i) sum += i >= 148 && i < 156 ? ' ' : h[i];
    if (sum == 8 * ' ') return; /* the end */
    char text[9];
    snprintf(text, sizeof text, "%06o", sum & 0777777u);
    memcpy(h + 148, text, 7);
    h[155] = ' ';
    size_t size = size_of(h);
    if (size > n - at - BLOCK) return;
    at += BLOCK + (size + BLOCK - 1) / BLOCK * BLOCK;
  }
}

static void check(const uint8_t *data, size_t n) {
  TN_SCOPE(s);
  mlf_archive a;
  mlf_stored m;
  int err = mlf_archive_read(&a, data, n);
  if (!err) err = mlf_archive_model(&a, NULL, &m);
  require(!err == !tn_error_pending(), "refused with an error");
  if (err) tn_error_clear();
  else require(tn_str_len(m.name) > 0 && !strchr(tn_cstr(m.name), '/'), "a name of a file");
  for (int64_t i = 0; i < a.nfile; ++i) {
    const tar_file *f = &a.files[i];
    require(f->data.data >= data && f->data.data + f->data.size <= data + n, "inside");
    require(f->name[0] && f->name[0] != '/' && strncmp(f->name, "../", 3) != 0, "a path inside");
  }
  mlf_archive_fini(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  require(tn_compiler_init() == 0, "start");
  if (n > MAX) return 0;
  uint8_t *copy = malloc(n ? n : 1);
  if (!copy) return 0;
  if (n) memcpy(copy, data, n);
  mend(copy, n);
  check(copy, n);
  free(copy);
  return 0;
}
