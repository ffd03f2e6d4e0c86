/* Whole files: reading into a buffer, writing from memory. Errors are OSErrors that name the path
   and what the system says. */
#ifndef TN_BASE_FILE_H_
#define TN_BASE_FILE_H_

#include "base/buf.h"

/** Appends the content of a file. @return 0, or -1 (OSError, MemoryError) */
TN_API int tn_file_read(const char *path, tn_buf *out);
/** Writes a file anew. @return 0, or -1 (OSError) */
TN_API int tn_file_write(const char *path, const void *data, size_t n);

#endif /* TN_BASE_FILE_H_ */
