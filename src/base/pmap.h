/* Side table from pointers to values: memo tables, counts, numbering. Keys and values are borrowed.

     TN_PMAP(seen);
     if (tn_pmap_get(&seen, node)) ...
     TN_TRY(tn_pmap_put(&seen, node, copy));

   Open addressing with linear probing; a NULL key is not allowed. */
#ifndef TN_BASE_PMAP_H_
#define TN_BASE_PMAP_H_

#include "tenon/ffi.h"

typedef struct {
  const void *key;
  union {
    void *ptr;
    int64_t i64;
  } v;
} tn_pmap_slot;

typedef struct {
  tn_pmap_slot *slots;
  size_t len, cap; /* cap is 0 or a power of two */
} tn_pmap;

#define TN_PMAP(name) __attribute__((cleanup(tn_pmap_fini))) tn_pmap name = {0}

TN_API void tn_pmap_fini(tn_pmap *m);
TN_API void *tn_pmap_get(const tn_pmap *m, const void *key); /**< NULL when absent */
TN_API int tn_pmap_put(tn_pmap *m, const void *key, const void *value);
TN_API int tn_pmap_put_int(tn_pmap *m, const void *key, int64_t value);
TN_API int64_t tn_pmap_get_int(const tn_pmap *m, const void *key, int64_t absent);
TN_API bool tn_pmap_has(const tn_pmap *m, const void *key);
/** The slot of key, made (with a zero value) if absent; NULL on MemoryError. Valid until the next
 * insertion. */
TN_API tn_pmap_slot *tn_pmap_slot_of(tn_pmap *m, const void *key);

#endif /* TN_BASE_PMAP_H_ */
