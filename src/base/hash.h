/* Hashing. Values are the same on every machine and in every run, so that they can stand in cache
 * keys and files. */
#ifndef TN_BASE_HASH_H_
#define TN_BASE_HASH_H_

#include <stddef.h>
#include <stdint.h>

#include "tenon/ffi.h"

/** Bijective 64-bit mixer (the finalizer of MurmurHash3). */
static inline uint64_t tn_hash_u64(uint64_t x) {
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdULL;
  x ^= x >> 33;
  x *= 0xc4ceb9fe1a85ec53ULL;
  x ^= x >> 33;
  return x;
}
/** Adds x to a running hash; order matters. */
static inline uint64_t tn_hash_add(uint64_t h, uint64_t x) {
  return tn_hash_u64(h * 0x9e3779b97f4a7c15ULL + x + 0x165667b19e3779f9ULL);
}
/** XXH3 of n bytes (https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md). */
TN_API uint64_t tn_hash_bytes(const void *data, size_t n);

#endif /* TN_BASE_HASH_H_ */
