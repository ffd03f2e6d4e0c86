/* PNG files: whatever the bytes are, they are refused with a ValueError or give as many samples as
   the image has. The first byte picks the channels; checksums of chunks are put right, so that
   what is after them is reached. */
#include <stdlib.h>
#include <string.h>

#include "cli/png.h"
#include "fuzz.h"

enum { SIGNATURE = 8, AROUND = 12 /* length, kind and checksum of a chunk */ };

static uint32_t number(const uint8_t *p) {
  return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static uint32_t crc(const uint8_t *p, size_t n) {
  uint32_t c = 0xffffffffu;
  for (size_t i = 0; i < n; ++i) {
    c ^= p[i];
    for (int k = 0; k < 8; ++k) c = c & 1 ? 0xedb88320u ^ (c >> 1) : c >> 1;
  }
  return ~c;
}

static void mend(uint8_t *p, size_t n) {
  for (size_t at = SIGNATURE; n >= AROUND && at <= n - AROUND;) {
    size_t size = number(p + at);
    if (size > n - AROUND - at) return;
    uint32_t sum = crc(p + at + 4, size + 4);
    for (int i = 0; i < 4; ++i) p[at + 8 + size + (size_t)i] = (uint8_t)(sum >> (24 - 8 * i));
    at += size + AROUND;
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  static const int channels[] = {1, 3, 4};
  cli_image p = {0};
  if (n < 2 || n > 1 << 14) return 0;
  uint8_t *copy = malloc(n - 1);
  require(copy, "memory");
  memcpy(copy, data + 1, n - 1);
  mend(copy, n - 1);
  /* time, not safety: images of many pixels are decoded in full */
  bool large = n > 25 && (uint64_t)number(copy + 16) * number(copy + 20) > 1 << 16;
  if (!large && cli_is_png(copy, n - 1)) {
    if (cli_png_read("input", copy, n - 1, channels[data[0] % 3], &p)) {
      tn_error_kind kind = tn_error_get_kind();
      require(kind == TN_ValueError || kind == TN_MemoryError, "refused otherwise");
      tn_error_clear();
    } else {
      require(p.width > 0 && p.height > 0, "an image");
      require(p.samples.len == (size_t)(p.width * p.height * p.channels), "all samples");
    }
  }
  tn_buf_fini(&p.samples);
  free(copy);
  return 0;
}
