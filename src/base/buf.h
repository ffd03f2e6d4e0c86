/* Growing text and byte buffer. A failed allocation sticks: later writes do nothing, and tn_buf_ok
 * or tn_buf_str tell. */
#ifndef TN_BASE_BUF_H_
#define TN_BASE_BUF_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tenon/ffi.h"

typedef struct {
  char *data; /* NUL-terminated once anything was written */
  size_t len, cap;
  bool failed;
} tn_buf;

#define TN_BUF(name) __attribute__((cleanup(tn_buf_fini))) tn_buf name = {0}

TN_API void tn_buf_fini(tn_buf *b);
TN_API void tn_buf_put(tn_buf *b, const void *data, size_t n);
TN_API void tn_buf_puts(tn_buf *b, const char *s);
TN_API void tn_buf_putc(tn_buf *b, char c);
TN_API void tn_buf_printf(tn_buf *b, const char *fmt, ...) TN_PRINTF(2, 3);
TN_API void tn_buf_pad(tn_buf *b, char c, size_t n);
/** Little-endian integers, for binary formats. */
TN_API void tn_buf_u64(tn_buf *b, uint64_t x);
TN_API void tn_buf_u32(tn_buf *b, uint32_t x);
/** Text in double quotes with \\ \" \n \t \r escaped (JSON escapes; UTF-8 is kept). */
TN_API void tn_buf_quote(tn_buf *b, const char *s, size_t n);
/** The shortest decimal text that reads back to the same double ("0.1", "1e+20", "inf", "nan"). */
TN_API void tn_buf_double(tn_buf *b, double x);
/** Extents: 2, ?, 4 for {2, -1, 4}; and with parentheses, as messages have shapes: (2, 3), (2,),
 * (). */
void tn_buf_extents(tn_buf *b, const int64_t *shape, int64_t ndim);
void tn_buf_shape(tn_buf *b, const int64_t *shape, int64_t ndim);
TN_API void tn_buf_clear(tn_buf *b);
/** 0, or -1 when any write failed (MemoryError pending). */
TN_API int tn_buf_ok(const tn_buf *b);
/** The text ("" when empty), or NULL with MemoryError pending. Borrowed. */
TN_API const char *tn_buf_cstr(tn_buf *b);
/** A string object of the content, owned, or NULL (MemoryError). */
TN_API TN_OWNED tn_str *tn_buf_str(const tn_buf *b);

#endif /* TN_BASE_BUF_H_ */
