/* Bounds-checked reading of binary formats. */
#include "base/reader.h"

#include "base/error.h"

int tn_read_bytes(tn_reader *r, uint64_t n, const uint8_t **out) {
  TN_CHECK(n <= tn_read_left(r), ValueError, NULL,
           "data ends too early: %llu bytes wanted at offset %zu, %zu left", (unsigned long long)n,
           r->pos, tn_read_left(r));
  *out = r->data + r->pos;
  r->pos += (size_t)n;
  return 0;
}

/* A little-endian number of n bytes. */
static int number(tn_reader *r, int n, uint64_t *out) {
  const uint8_t *p = NULL;
  *out = 0;
  TN_TRY(tn_read_bytes(r, (uint64_t)n, &p));
  for (int i = n - 1; i >= 0; --i) *out = *out << 8 | p[i];
  return 0;
}

int tn_read_u8(tn_reader *r, uint8_t *out) {
  uint64_t x;
  TN_TRY(number(r, 1, &x));
  *out = (uint8_t)x;
  return 0;
}

int tn_read_u16(tn_reader *r, uint16_t *out) {
  uint64_t x;
  TN_TRY(number(r, 2, &x));
  *out = (uint16_t)x;
  return 0;
}

int tn_read_u32(tn_reader *r, uint32_t *out) {
  uint64_t x;
  TN_TRY(number(r, 4, &x));
  *out = (uint32_t)x;
  return 0;
}

int tn_read_u64(tn_reader *r, uint64_t *out) {
  TN_TRY(number(r, 8, out));
  return 0;
}

int tn_read_i64(tn_reader *r, int64_t *out) {
  uint64_t x;
  TN_TRY(number(r, 8, &x));
  *out = (int64_t)x;
  return 0;
}

int tn_read_count(tn_reader *r, size_t item_size, uint64_t *out) {
  size_t at = r->pos;
  TN_TRY(number(r, 8, out));
  TN_CHECK(*out <= tn_read_left(r) / item_size, ValueError, NULL,
           "count at offset %zu is larger than the data: %llu items of at least %zu bytes, %zu "
           "bytes left",
           at, (unsigned long long)*out, item_size, tn_read_left(r));
  return 0;
}

int tn_read_text(tn_reader *r, tn_bytes_view *out) {
  uint64_t n;
  TN_TRY(tn_read_count(r, 1, &n));
  TN_TRY(tn_read_bytes(r, n, &out->data));
  out->size = (size_t)n;
  return 0;
}
