#include "base/base64.h"

#include <string.h>

#include "base/error.h"

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void tn_base64_encode(tn_buf *out, const void *data, size_t n) {
  const uint8_t *p = data;
  char four[4];
  for (size_t i = 0; i < n; i += 3) {
    size_t left = n - i;
    uint32_t x =
        (uint32_t)p[i] << 16 | (left > 1 ? (uint32_t)p[i + 1] << 8 : 0) | (left > 2 ? p[i + 2] : 0);
    four[0] = digits[x >> 18];
    four[1] = digits[x >> 12 & 63];
    four[2] = left > 1 ? digits[x >> 6 & 63] : '=';
    four[3] = left > 2 ? digits[x & 63] : '=';
    tn_buf_put(out, four, sizeof four);
  }
}

static int value_of(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  return c == '+' ? 62 : c == '/' ? 63 : -1;
}

static bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

int tn_base64_decode(tn_buf *out, const char *text, size_t n) {
  uint32_t x = 0;
  size_t ndigit = 0, npad = 0;
  for (size_t i = 0; i < n; ++i) {
    if (is_blank(text[i])) continue;
    int v = value_of(text[i]);
    npad += text[i] == '=';
    TN_CHECK(text[i] == '=' || (v >= 0 && npad == 0), ValueError, NULL,
             "base64: unexpected character at position %zu", i);
    if (v < 0) continue;
    x = x << 6 | (uint32_t)v;
    if (++ndigit % 4) continue;
    char three[3] = {(char)(x >> 16), (char)(x >> 8), (char)x};
    tn_buf_put(out, three, sizeof three);
  }
  size_t rest = ndigit % 4;
  TN_CHECK(rest != 1 && npad <= 2 && (npad == 0 || (rest + npad) == 4), ValueError, NULL,
           "base64: the text is cut off (%zu digits)", ndigit);
  if (rest == 2) tn_buf_putc(out, (char)(x >> 4));
  if (rest == 3) {
    tn_buf_putc(out, (char)(x >> 10));
    tn_buf_putc(out, (char)(x >> 2));
  }
  return tn_buf_ok(out);
}
