/* Files of shared libraries: what is known of one before the loader sees it, and copies in memory.

   The loader of the operating system tells libraries apart by name and inode. A file that was
   replaced since (by another of its name, or by other content) would be the library of before, so
   files are compared here; and what writes to a file while it is mapped writes to the code that
   runs, so libraries of moderate size are loaded from copies. */
#ifndef TN_RUNTIME_LIBRARY_LIBRARY_FILE_H_
#define TN_RUNTIME_LIBRARY_LIBRARY_FILE_H_

#include <stdbool.h>
#include <sys/stat.h>

/** What tells one content of a file from another. */
typedef struct {
  struct stat at; /* when it was opened */
  bool fresh;     /* written just before: it may change without another time */
  bool program;   /* has an interpreter, as few libraries have */
} tn_library_id;

/** Opens a file and checks that it is a whole shared library for this machine.
 *  @return its descriptor, or -1: an error that says what the file is instead */
int tn_library_open(const char *path, tn_library_id *id);
/** Is the file of an id, whose content is also that of `copy` (-1: none), what is in `file` now? */
bool tn_library_same(const tn_library_id *old, int copy, const tn_library_id *now, int file);
/** The same file, maybe with other content? */
bool tn_library_same_place(const tn_library_id *a, const tn_library_id *b);
/** A copy of a file in memory, called like `path`. -1: the system has none (no error) */
int tn_library_copy(int file, const char *path);
/** Name by which the loader opens a descriptor. */
enum { TN_LIBRARY_NAME = 32 };
const char *tn_library_fd_name(int file, char out[TN_LIBRARY_NAME]);

#endif /* TN_RUNTIME_LIBRARY_LIBRARY_FILE_H_ */
