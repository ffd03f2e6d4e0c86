/* Memory of virtual machines: storages of a device, taken from a pool that keeps what is given back
   for the next one of its size. A pool lives as long as its machine or any of its storages, which
   may be given back on any thread. */
#ifndef TN_RUNTIME_VM_MEMORY_H_
#define TN_RUNTIME_VM_MEMORY_H_

#include "runtime/types.h"
#include "tenon/runtime.h"

typedef struct tn_vm_pool tn_vm_pool;

typedef struct {
  int64_t used;     /* bytes of storages that are in use */
  int64_t reserved; /* the same with what the pool keeps */
  int64_t peak;     /* the most that was reserved */
  int64_t allocs;   /* number of allocations from the device */
} tn_vm_pool_stats;

/** Memory of a device as an object. */
struct tn_VMStorage {
  tn_obj hdr;
  tn_vm_pool *pool;
  void *data;
  int64_t size; /* bytes, rounded up to what the pool hands out */
};

extern const tn_type_hooks tn_vm_storage_hooks;

/** @param keep is memory that is given back kept?  @param limit bytes that may be reserved, 0: all
 *  @return owned (tn_vm_pool_unref), or NULL (MemoryError) */
tn_vm_pool *tn_vm_pool_new(tn_device dev, bool keep, int64_t limit);
void tn_vm_pool_unref(tn_vm_pool *p);
/** At least `size` bytes. Owned, or NULL: MemoryError, ValueError for a negative size, the device's
 * errors. */
TN_OWNED tn_VMStorage *tn_vm_pool_alloc(tn_vm_pool *p, int64_t size);
/** Gives what it keeps back to the device. */
void tn_vm_pool_trim(tn_vm_pool *p);
void tn_vm_pool_set_limit(tn_vm_pool *p, int64_t limit);
tn_vm_pool_stats tn_vm_pool_get_stats(tn_vm_pool *p);
tn_device tn_vm_pool_device(const tn_vm_pool *p);

#endif /* TN_RUNTIME_VM_MEMORY_H_ */
