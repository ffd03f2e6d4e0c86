#include "base/buf.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/number.h"

void tn_buf_fini(tn_buf *b) {
  tn_free(b->data);
  *b = (tn_buf){0};
}

static bool reserve(tn_buf *b, size_t more) {
  size_t need;
  if (b->failed) return false;
  if (__builtin_add_overflow(b->len, more, &need) || __builtin_add_overflow(need, 1, &need)) {
    b->failed = true;
    tn_raise_no_memory(SIZE_MAX);
    return false;
  }
  if (need <= b->cap) return true;
  size_t cap = b->cap < 64 ? 64 : b->cap + b->cap / 2;
  if (cap < need) cap = need;
  char *data = tn_realloc(b->data, cap);
  if (!data) {
    b->failed = true;
    return false;
  }
  b->data = data;
  b->cap = cap;
  return true;
}

void tn_buf_put(tn_buf *b, const void *data, size_t n) {
  if (!reserve(b, n)) return;
  if (n) memcpy(b->data + b->len, data, n);
  b->len += n;
  b->data[b->len] = '\0';
}

void tn_buf_puts(tn_buf *b, const char *s) { tn_buf_put(b, s, strlen(s)); }
void tn_buf_putc(tn_buf *b, char c) { tn_buf_put(b, &c, 1); }

void tn_buf_pad(tn_buf *b, char c, size_t n) {
  if (!reserve(b, n)) return;
  memset(b->data + b->len, c, n);
  b->len += n;
  b->data[b->len] = '\0';
}

/* Into the room that there is, which mostly suffices. */
void tn_buf_printf(tn_buf *b, const char *fmt, ...) {
  va_list ap;
  for (size_t room, n; !b->failed; (void)reserve(b, n)) {
    room = b->cap - b->len;
    va_start(ap, fmt);
    n = (size_t)vsnprintf(room ? b->data + b->len : NULL, room, fmt, ap);
    va_end(ap);
    if (n > INT_MAX) return;
    if (n >= room) continue;
    b->len += n;
    return;
  }
}

void tn_buf_u64(tn_buf *b, uint64_t x) {
  uint8_t bytes[8];
  for (int i = 0; i < 8; ++i) bytes[i] = (uint8_t)(x >> (8 * i));
  tn_buf_put(b, bytes, sizeof bytes);
}

void tn_buf_u32(tn_buf *b, uint32_t x) {
  uint8_t bytes[4];
  for (int i = 0; i < 4; ++i) bytes[i] = (uint8_t)(x >> (8 * i));
  tn_buf_put(b, bytes, sizeof bytes);
}

void tn_buf_quote(tn_buf *b, const char *s, size_t n) {
  tn_buf_putc(b, '"');
  for (size_t i = 0; i < n; ++i) {
    unsigned char c = (unsigned char)s[i];
    switch (c) {
    case '"': tn_buf_puts(b, "\\\""); break;
    case '\\': tn_buf_puts(b, "\\\\"); break;
    case '\n': tn_buf_puts(b, "\\n"); break;
    case '\r': tn_buf_puts(b, "\\r"); break;
    case '\t': tn_buf_puts(b, "\\t"); break;
    default:
      if (c < 0x20) tn_buf_printf(b, "\\u%04x", c);
      else tn_buf_putc(b, (char)c);
    }
  }
  tn_buf_putc(b, '"');
}

void tn_buf_double(tn_buf *b, double x) {
  char text[TN_DOUBLE_TEXT];
  tn_buf_puts(b, tn_double_text(x, text));
}

void tn_buf_extents(tn_buf *b, const int64_t *shape, int64_t ndim) {
  for (int64_t i = 0; i < ndim; ++i) {
    if (i) tn_buf_puts(b, ", ");
    if (shape[i] < 0) tn_buf_putc(b, '?');
    else tn_buf_printf(b, "%lld", (long long)shape[i]);
  }
}

void tn_buf_shape(tn_buf *b, const int64_t *shape, int64_t ndim) {
  tn_buf_putc(b, '(');
  tn_buf_extents(b, shape, ndim);
  tn_buf_puts(b, ndim == 1 ? ",)" : ")");
}

void tn_buf_clear(tn_buf *b) {
  b->len = 0;
  b->failed = false;
  if (b->data) b->data[0] = '\0';
}

int tn_buf_ok(const tn_buf *b) {
  if (!b->failed) return 0;
  return tn_error_pending() ? -1 : tn_raise_no_memory(0);
}

const char *tn_buf_cstr(tn_buf *b) {
  if (tn_buf_ok(b)) return NULL;
  return b->data ? b->data : "";
}

tn_str *tn_buf_str(const tn_buf *b) {
  return tn_buf_ok(b) ? NULL : tn_str_new_n(b->data ? b->data : "", b->len);
}
