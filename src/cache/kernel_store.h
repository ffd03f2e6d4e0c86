/* Compiled kernels in the user's cache folder, found by what they were made of. A key is a text
   that says everything the value depends on; it is stored with the value and compared as a whole,
   so that a hash that two keys share does no harm:

     FOLDER/kernels/3f/3f9a01c2d4e5f607     magic, checksum, key, values

   The folder is $TENON_CACHE ("off": no cache), else $XDG_CACHE_HOME/tenon, else ~/.cache/tenon. It
   must belong to the user, and nobody else may write to it: what it holds is run. Files are written
   aside and renamed, so that processes never see half of one; what is damaged is removed and counts
   as absent. Beyond the limit ($TENON_CACHE_LIMIT in MiB, else 1024) the files not used for longest
   go first. Nothing here fails a build: without a folder, or on a full disk, there is no cache. */
#ifndef TN_CACHE_KERNEL_STORE_H_
#define TN_CACHE_KERNEL_STORE_H_

#include "base/buf.h"
#include "object/functions.h"

typedef struct {
  char folder[1024]; /* "" without one */
  char reason[160];  /* why there is no cache; "" when there is one */
  int64_t entries, bytes, limit;
  int64_t hits, misses, stored; /* of this process */
} kernel_store_info;

/** The values stored for a key.
 *  @return array of Bytes, scope-owned; NULL when there are none, without an error */
TN_API tn_arr *kernel_store_get(tn_bytes_view key);
/** Stores values (array of Bytes) for a key, if that is possible. */
TN_API void kernel_store_put(tn_bytes_view key, const tn_arr *values);
/** Is there a cache at all? */
TN_API bool kernel_store_enabled(void);
/** @param count look through the folder for `entries` and `bytes` */
TN_API void kernel_store_tell(kernel_store_info *out, bool count);
/** Removes all entries. @return how many, or -1 (OSError) */
TN_API int64_t kernel_store_clear(void);

/** "driver.kernel_cache_info" and "driver.kernel_cache_clear"; part of the start of the compiler. */
TN_API int cache_init(void);

#endif /* TN_CACHE_KERNEL_STORE_H_ */
