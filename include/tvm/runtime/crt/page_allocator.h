/** Memory from one block that the program gives, in pages. */
#ifndef TVM_RUNTIME_CRT_PAGE_ALLOCATOR_H_
#define TVM_RUNTIME_CRT_PAGE_ALLOCATOR_H_

#include <stdlib.h>

#include "tvm/runtime/c_runtime_api.h"
#include "tvm/runtime/crt/error_codes.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Pieces of memory that were not given back. */
extern int vleak_size;

typedef struct MemoryManagerInterface MemoryManagerInterface;
struct MemoryManagerInterface {
  tvm_crt_error_t (*Allocate)(MemoryManagerInterface *manager, size_t num_bytes, DLDevice dev,
                              void **out_ptr);
  tvm_crt_error_t (*Free)(MemoryManagerInterface *manager, void *ptr, DLDevice dev);
};

/** @param memory_pool  its start holds the tables of the pages
 *  @return kTvmErrorPlatformNoMemory: it has no room for a page */
tvm_crt_error_t PageMemoryManagerCreate(MemoryManagerInterface **manager, uint8_t *memory_pool,
                                        size_t memory_pool_size_bytes, size_t page_size_bytes_log2);

#ifdef __cplusplus
}
#endif
#endif /* TVM_RUNTIME_CRT_PAGE_ALLOCATOR_H_ */
