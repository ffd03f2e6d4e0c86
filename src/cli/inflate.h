/* Compressed members of archives, where the command was built with zlib. */
#ifndef TN_CLI_INFLATE_H_
#define TN_CLI_INFLATE_H_

#include "base/buf.h"

/** Appends the content of a member that was compressed with deflate. Nothing is allocated that so
 * few bytes cannot become.
 * @param what names it in messages
 * @param size bytes that it is said to have: fewer or more are an error
 * @return 0, or -1: ValueError, also in a build without zlib; MemoryError */
int cli_inflate(const char *what, const uint8_t *data, size_t n, size_t size, tn_buf *out);

#endif /* TN_CLI_INFLATE_H_ */
