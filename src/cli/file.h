/* Files as the command reads and writes them. */
#ifndef TN_CLI_FILE_H_
#define TN_CLI_FILE_H_

#include "base/buf.h"

/* The whole of a file, or of standard input for "-", appended to `out`. OSError. */
int cli_read_file(const char *path, tn_buf *out);
/* Replaces a file, or writes to standard output for "-". OSError. */
int cli_write_file(const char *path, const void *data, size_t n);

#endif /* TN_CLI_FILE_H_ */
