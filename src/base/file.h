/* Whole files: reading into a buffer, and the one way of writing them.

   A file that is written appears at once and whole: its bytes go to another file of the same
   folder, to the disk, and only then under the name. Whatever happens on the way (a full disk, a
   limit, an error, the end of the process) the file that was there stays as it was. What a killed
   process leaves behind is removed by the next one that writes the same file, see tn_file_sweep.
   Threads and processes that write one path at the same time do not mix: the last one wins.

     tn_file f;
     TN_TRY(tn_file_begin(&f, path, 0));
     int err = put_list(tn_file_put, &f, ...);
     return tn_file_end(&f, err);

   A file that was there keeps its mode, and links keep leading to it. Pipes, terminals and devices
   are written as they are. Errors are OSErrors that name the path and what the system says. */
#ifndef TN_BASE_FILE_H_
#define TN_BASE_FILE_H_

#include <limits.h>

#include "base/buf.h"

/** Appends the content of a file. @return 0, or -1 (OSError, MemoryError) */
TN_API int tn_file_read(const char *path, tn_buf *out);

enum {
  TN_FILE_PROGRAM = 1, /* may be executed, as what linkers write */
  TN_FILE_LOSABLE = 2, /* need not outlast a power failure: temporary files, caches */
  TN_FILE_PRIVATE = 4  /* where it is new, others may not read it */
};

/* A file that is being written. */
typedef struct {
  int fd;
  int flags;
  bool direct;  /* a pipe or device: there is no other file */
  bool unnamed; /* the other file has no name yet */
  unsigned mode;
  const char *given;
  char path[PATH_MAX], aside[PATH_MAX];
} tn_file;

/** Begins to write a file. @param path must live until the end @return 0, or -1 (OSError) */
TN_API int tn_file_begin(tn_file *f, const char *path, int flags);
/** Appends bytes. @param file a tn_file @return 0, or -1 (OSError) */
int tn_file_put(void *file, const void *data, size_t n);
/** Ends it: the file appears unless there was an error. @param err 0, or -1 with an error pending
 *  @return 0, or -1 (the error that was, or an OSError) */
int tn_file_end(tn_file *f, int err);

/** Writes a whole file; the flags are 0 in the first. @return 0, or -1 (OSError) */
TN_API int tn_file_write(const char *path, const void *data, size_t n);
TN_API int tn_file_write_as(const char *path, const void *data, size_t n, int flags);

/** Is this the name of a file (without folder) that tn_file_begin writes aside? */
TN_API bool tn_file_is_aside(const char *name);
/** Removes such a file if the process that wrote it is gone. */
TN_API void tn_file_sweep(const char *path);

/* For tests: called before each step of writing; an errno makes the step fail. */
typedef int (*tn_file_hook)(void *ctx, const char *step);
TN_API void tn_set_file_hook(tn_file_hook hook, void *ctx);

#endif /* TN_BASE_FILE_H_ */
