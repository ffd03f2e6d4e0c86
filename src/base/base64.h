/* Base64 (RFC 4648, with padding). */
#ifndef TN_BASE_BASE64_H_
#define TN_BASE_BASE64_H_

#include "base/buf.h"

TN_API void tn_base64_encode(tn_buf *out, const void *data, size_t n);
/** Appends what `text` stands for; white space is skipped, padding may be missing. 0, or -1
   (ValueError naming the position, MemoryError). */
TN_API int tn_base64_decode(tn_buf *out, const char *text, size_t n);

#endif /* TN_BASE_BASE64_H_ */
