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
 *  @return 0, or -1: ValueError for a name that does not fit the format or is not a path within the
 *  archive, and for data of 8 GiB or more; MemoryError */
TN_API int tar_write(tar_file *files, int64_t n, int64_t mtime, tn_buf *out);

/** Files of an archive that nobody vouches for; folders are left out. Names are paths within the
 *  archive without "./" in front: none begins with a slash, none has "." or ".." as a part, no two
 *  are one. Sizes are checked against what is there before anything is made.
 *  @param files the names are owned by the scope, data are views of the archive; to be freed with
 *  tn_free, also after an error
 *  @return 0, or -1: ValueError that names the member, also for links and devices; MemoryError */
TN_API int tar_read(const void *data, size_t size, tar_file **files, int64_t *n);

/** The data of a file. @return false: there is no such file */
TN_API bool tar_find(const tar_file *files, int64_t n, const char *name, tn_bytes_view *out);

#endif /* TN_EXPORT_TAR_H_ */
