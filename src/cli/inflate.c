/* Compressed members of archives (see inflate.h). */
#include "cli/inflate.h"

#include "base/error.h"

#ifdef TN_HAVE_ZLIB

#define ZLIB_CONST
#include <zlib.h>

#include "base/alloc.h"

enum { MAX_FROM_ONE = 1032 }; /* deflate cannot make more bytes of one */

/* As much as `room` bytes; *got tells how many there were. False when the data is damaged. */
static bool inflate_all(const uint8_t *data, size_t n, uint8_t *to, size_t room, size_t *got) {
  z_stream z = {.next_in = data, .avail_in = (uInt)n, .next_out = to, .avail_out = (uInt)room};
  if (inflateInit2(&z, -MAX_WBITS) != Z_OK) return false;
  int end = inflate(&z, Z_FINISH);
  *got = room - z.avail_out;
  inflateEnd(&z);
  return end == Z_STREAM_END;
}

int cli_inflate(const char *what, const uint8_t *data, size_t n, size_t size, tn_buf *out) {
  size_t got = 0;
  TN_CHECK(n < UINT32_MAX && size < UINT32_MAX && size / MAX_FROM_ONE <= n, ValueError, NULL,
           "%s is damaged: %zu compressed bytes cannot become %zu", what, n, size);
  TN_AUTOFREE uint8_t *to = tn_alloc(size + 1); /* one more: a longer stream does not end */
  if (!to) return -1;
  TN_CHECK(inflate_all(data, n, to, size + 1, &got) && got == size, ValueError, NULL,
           "%s is damaged: expected a stream of deflate that becomes %zu bytes", what, size);
  tn_buf_put(out, to, size);
  return tn_buf_ok(out);
}

#else

int cli_inflate(const char *what, const uint8_t *data, size_t n, size_t size, tn_buf *out) {
  (void)data, (void)n, (void)size, (void)out;
  return TN_RAISE(ValueError, NULL,
                  "%s is compressed, and this command was built without zlib: write it with "
                  "numpy.savez, not savez_compressed",
                  what);
}

#endif
