/* Folders: making them with all above, temporary ones. Errors are OSErrors that name the path and
   what the system says. */
#ifndef TN_BASE_FOLDER_H_
#define TN_BASE_FOLDER_H_

#include "base/buf.h"

/** Makes a folder and those above it, unless they are there. @return 0, or -1 (OSError) */
TN_API int tn_folder_make(const char *path);
/** Removes a folder with all that is in it; links are not followed. What cannot be removed stays.
 */
TN_API void tn_folder_remove(const char *path);

/* A folder for temporary files. It is locked as long as it is used, and the lock ends with the
   process: what a killed process leaves behind is removed by a later one. */
typedef struct {
  tn_buf path;
  int lock;
} tn_temp_folder;

/** Makes one with its own name below TMPDIR, or /tmp. @return 0, or -1 (OSError, MemoryError)
 */
TN_API int tn_temp_folder_make(tn_temp_folder *f);
/** Removes it with all that is in it; does nothing where none was made. */
TN_API void tn_temp_folder_fini(tn_temp_folder *f);

/* A variable whose folder, once made, is removed when it goes out of scope. */
#define TN_TEMP_FOLDER(name)                                                                       \
  __attribute__((cleanup(tn_temp_folder_fini))) tn_temp_folder name = {.lock = -1}

#endif /* TN_BASE_FOLDER_H_ */
