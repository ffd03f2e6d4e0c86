/* Between the files of the kernel cache: kernel_store.c reads and writes entries, kernel_evict.c
   looks through the folder. */
#ifndef TN_CACHE_KERNEL_STORE_IMPL_H_
#define TN_CACHE_KERNEL_STORE_IMPL_H_

#include <stdbool.h>
#include <stdint.h>

enum { STORE_PATH = 1200 };

/* The folder of the entries; false with a reason where there is none that can be trusted. Without
   `make` a folder that is not there yet is fine. */
bool store_folder(char *out, const char **reason, bool make);

/* Number and size of the entries. */
void store_count(int64_t *entries, int64_t *bytes);
/* An entry of so many bytes was written: removes old ones when there is too much now. */
void store_grown(int64_t bytes, int64_t limit);

#endif /* TN_CACHE_KERNEL_STORE_IMPL_H_ */
