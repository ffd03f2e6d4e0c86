#include "base/hash.h"

#define XXH_INLINE_ALL
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wcast-qual"
#include <xxhash.h>
#pragma GCC diagnostic pop

uint64_t tn_hash_bytes(const void *data, size_t n) { return XXH3_64bits(data, n); }
