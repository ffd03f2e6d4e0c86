/* Folders: making them with all above, temporary ones. Errors are OSErrors that name the path and
   what the system says. */
#ifndef TN_BASE_FOLDER_H_
#define TN_BASE_FOLDER_H_

#include "base/buf.h"

/** Makes a folder and those above it, unless they are there. @return 0, or -1 (OSError) */
TN_API int tn_folder_make(const char *path);
/** Makes a folder with a name of its own below TMPDIR, or /tmp, and appends its path.
 *  @return 0, or -1 (OSError, MemoryError) */
TN_API int tn_folder_make_temp(tn_buf *path);
/** Removes a folder with all that is in it; links are not followed. What cannot be removed stays.
 */
TN_API void tn_folder_remove(const char *path);

#endif /* TN_BASE_FOLDER_H_ */
