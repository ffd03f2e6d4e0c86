/* Pages: the pool begins with the manager and one number for each page, which is 0 when the page is
   free, n at the first of n pages that were given together, and FOLLOWS at the others. */
#include "tvm/runtime/crt/page_allocator.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { TABLE_ALIGN = 16 };
static const uint32_t FOLLOWS = UINT32_MAX;

typedef struct {
  MemoryManagerInterface interface;
  uint8_t *pages;
  uint32_t *table;
  size_t npage;
  unsigned log2;
} page_manager;

int vleak_size;

/* The first of `want` free pages one after another; npage: they do not exist. */
static size_t find_free(const page_manager *m, size_t want) {
  size_t run = 0;
  for (size_t i = 0; i < m->npage; ++i) {
    run = m->table[i] == 0 ? run + 1 : 0;
    if (run == want) return i + 1 - want;
  }
  return m->npage;
}

static tvm_crt_error_t allocate(MemoryManagerInterface *manager, size_t num_bytes, DLDevice dev,
                                void **out_ptr) {
  page_manager *m = (page_manager *)(void *)manager;
  (void)dev;
  *out_ptr = NULL;
  size_t page = (size_t)1 << m->log2, want = num_bytes ? (num_bytes - 1) / page + 1 : 1;
  size_t first = want <= m->npage ? find_free(m, want) : m->npage;
  if (first == m->npage) return kTvmErrorPlatformNoMemory;
  m->table[first] = (uint32_t)want;
  for (size_t i = 1; i < want; ++i) m->table[first + i] = FOLLOWS;
  *out_ptr = m->pages + first * page;
  ++vleak_size;
  return kTvmErrorNoError;
}

static tvm_crt_error_t give_back(MemoryManagerInterface *manager, void *ptr, DLDevice dev) {
  page_manager *m = (page_manager *)(void *)manager;
  (void)dev;
  size_t offset = (size_t)((uintptr_t)ptr - (uintptr_t)m->pages), first = offset >> m->log2;
  bool starts = (uintptr_t)ptr >= (uintptr_t)m->pages && first < m->npage &&
                offset == first << m->log2 && m->table[first] != 0 && m->table[first] != FOLLOWS;
  if (!starts) return kTvmErrorFunctionCallInvalidArg;
  memset(m->table + first, 0, m->table[first] * sizeof *m->table);
  --vleak_size;
  return kTvmErrorNoError;
}

tvm_crt_error_t PageMemoryManagerCreate(MemoryManagerInterface **manager, uint8_t *memory_pool,
                                        size_t memory_pool_size_bytes,
                                        size_t page_size_bytes_log2) {
  size_t skipped = (TABLE_ALIGN - (uintptr_t)memory_pool % TABLE_ALIGN) % TABLE_ALIGN;
  size_t head = (sizeof(page_manager) + TABLE_ALIGN - 1) / TABLE_ALIGN * TABLE_ALIGN;
  *manager = NULL;
  if (page_size_bytes_log2 >= 31 || memory_pool_size_bytes < skipped + head + TABLE_ALIGN)
    return kTvmErrorPlatformNoMemory;
  size_t left = memory_pool_size_bytes - skipped - head - TABLE_ALIGN;
  page_manager *m = (page_manager *)(void *)(memory_pool + skipped);
  *m = (page_manager){.interface = {allocate, give_back},
                      .table = (uint32_t *)(void *)(memory_pool + skipped + head),
                      .npage = left / (((size_t)1 << page_size_bytes_log2) + sizeof *m->table),
                      .log2 = (unsigned)page_size_bytes_log2};
  if (m->npage == 0 || m->npage >= FOLLOWS) return kTvmErrorPlatformNoMemory;
  size_t table = (m->npage * sizeof *m->table + TABLE_ALIGN - 1) / TABLE_ALIGN * TABLE_ALIGN;
  memset(m->table, 0, table);
  m->pages = memory_pool + skipped + head + table;
  vleak_size = 0;
  *manager = &m->interface;
  return kTvmErrorNoError;
}
