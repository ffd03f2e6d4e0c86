/* Archives in the ustar format (POSIX.1-1988), written so that equal content gives equal bytes. */
#ifndef TN_EXPORT_TAR_H_
#define TN_EXPORT_TAR_H_

#include "base/buf.h"

typedef struct {
  const char *name; /* path within the archive, with slashes: "codegen/host/src/lib0.c" */
  tn_bytes_view data;
} tar_file;

/** Appends an archive of files and the folders that they lie in: members are called "./NAME", stand
 *  in the order of their names, and belong to root (user and group 0).
 *  @param files sorted in place
 *  @param mtime of every member: seconds since 1970
 *  @return 0, or -1: ValueError for a name that does not fit the format or is no path within the
 *  archive, and for data of 8 GiB or more; MemoryError */
TN_API int tar_write(tar_file *files, int64_t n, int64_t mtime, tn_buf *out);

#endif /* TN_EXPORT_TAR_H_ */
