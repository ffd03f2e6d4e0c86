/* The device API of the CPU. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "runtime/threads/cpus.h"
#include "runtime/device/device.h"

static int get_attr(void *self, tn_device dev, tn_device_attr kind, tn_any *out) {
  (void)self, (void)dev;
  long page = sysconf(_SC_PAGESIZE);
  switch ((int)kind) {
  case TN_DEV_EXIST: *out = tn_any_int(1); break;
  case TN_DEV_MULTI_PROCESSOR_COUNT: *out = tn_any_int(tn_cpu_count()); break;
  case TN_DEV_TOTAL_GLOBAL_MEMORY: *out = tn_any_int(sysconf(_SC_PHYS_PAGES) * page); break;
  case TN_DEV_AVAILABLE_GLOBAL_MEMORY: *out = tn_any_int(sysconf(_SC_AVPHYS_PAGES) * page); break;
  default: break; /* the rest belongs to accelerators: None */
  }
  return 0;
}

/* Large memory is first touched several times faster in huge pages, and used faster too: reading
   weights, a core would otherwise wait for the tables of pages. */
static const size_t huge_page = (size_t)1 << 21;

/* Bytes of the huge pages that an allocation gets; its last one may be filled to three quarters
   only, and is then part of it. */
static size_t in_huge_pages(size_t nbytes) {
  size_t most = SIZE_MAX - huge_page;
  return nbytes > most ? 0 : (nbytes + huge_page / 4) & ~(huge_page - 1);
}

static void ask_for_huge_pages(void *data, size_t nbytes) {
#ifdef MADV_HUGEPAGE
  madvise(data, nbytes, MADV_HUGEPAGE);
#else
  (void)data, (void)nbytes;
#endif
}

static int alloc(void *self, tn_device dev, size_t nbytes, size_t align, tn_dtype dtype,
                 const char *mem_scope, void **out) {
  (void)self, (void)dev, (void)dtype;
  TN_CHECK(!mem_scope || !*mem_scope || strcmp(mem_scope, "global") == 0, ValueError, NULL,
           "the cpu has no memory of scope \"%s\", only \"global\"", mem_scope);
  TN_CHECK((align & (align - 1)) == 0, ValueError, NULL,
           "cpu memory: expected a power of two as alignment, got %zu", align);
  size_t pages = in_huge_pages(nbytes);
  *out = tn_alloc_aligned(nbytes < pages ? pages : nbytes,
                          pages && align < huge_page ? huge_page : align);
  if (!*out) return -1;
  if (pages) ask_for_huge_pages(*out, pages);
  return 0;
}

static int release(void *self, tn_device dev, void *data) {
  (void)self, (void)dev;
  tn_free_aligned(data);
  return 0;
}

static int copy(void *self, const void *src, size_t src_offset, tn_device src_dev, void *dst,
                size_t dst_offset, tn_device dst_dev, size_t nbytes, void *stream) {
  (void)self, (void)src_dev, (void)dst_dev, (void)stream;
  if (nbytes) memmove((char *)dst + dst_offset, (const char *)src + src_offset, nbytes);
  return 0;
}

static int sync_nothing(void *self, tn_device dev, void *stream) {
  (void)self, (void)dev, (void)stream;
  return 0;
}

static int stream_new(void *self, tn_device dev, void **out) {
  (void)self, (void)dev;
  *out = NULL; /* everything is in order */
  return 0;
}

static int stream_wait(void *self, tn_device dev, void *src, void *dst) {
  (void)self, (void)dev, (void)src, (void)dst;
  return 0;
}

const tn_device_api tn_cpu_api = {
    .size = sizeof(tn_device_api),
    .get_attr = get_attr,
    .alloc = alloc,
    .free = release,
    .copy = copy,
    .sync = sync_nothing,
    .stream_new = stream_new,
    .stream_free = sync_nothing,
    .stream_set = sync_nothing,
    .stream_wait = stream_wait,
};
