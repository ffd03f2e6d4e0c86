/* Pools of storages: blocks that were given back wait in a list for their size. Sizes are rounded
   up to a quarter of a power of two, so that at most a fifth of a block is lost and tensors whose
   extents vary find blocks again. */
#include "runtime/vm/memory.h"

#include <pthread.h>

#include "base/alloc.h"
#include "base/error.h"
#include "object/dtype.h"

enum {
  SMALLEST = 6 /* log2 of the smallest block */,
  STEPS = 4,
  CLASSES = (62 - SMALLEST) * STEPS
};

typedef struct {
  void **blocks;
  int64_t n, cap;
} block_list;

struct tn_vm_pool {
  pthread_mutex_t lock; /* guards everything below */
  tn_device dev;
  bool keep;
  int64_t refs, limit;
  tn_vm_pool_stats stats;
  block_list free[CLASSES];
};

/* The class of a size and the bytes of its blocks. */
static int class_of(int64_t size, int64_t *rounded) {
  if (size <= (1 << SMALLEST)) size = 1 << SMALLEST;
  int log = 63 - __builtin_clzll((uint64_t)size);
  int64_t step = ((int64_t)1 << log) / STEPS, base = (int64_t)1 << log;
  int64_t k = (size - base + step - 1) / step;
  *rounded = base + k * step;
  return (log - SMALLEST) * STEPS + (int)k;
}

tn_vm_pool *tn_vm_pool_new(tn_device dev, bool keep, int64_t limit) {
  tn_vm_pool *p = tn_alloc_zero(1, sizeof *p);
  if (!p) return NULL;
  pthread_mutex_init(&p->lock, NULL);
  p->dev = dev;
  p->keep = keep;
  p->limit = limit;
  p->refs = 1;
  return p;
}

/* Takes the last kept block out of the pool; the lock is held. */
static void *take_any(tn_vm_pool *p) {
  for (int c = CLASSES - 1; c >= 0; --c) {
    block_list *l = &p->free[c];
    if (!l->n) continue;
    int64_t size = (((int64_t)1 << (SMALLEST + c / STEPS)) / STEPS) * (STEPS + c % STEPS);
    p->stats.reserved -= size;
    return l->blocks[--l->n];
  }
  return NULL;
}

void tn_vm_pool_trim(tn_vm_pool *p) {
  for (;;) {
    pthread_mutex_lock(&p->lock);
    void *data = take_any(p);
    pthread_mutex_unlock(&p->lock);
    if (!data) return;
    if (tn_device_free(p->dev, data)) tn_error_clear();
  }
}

static void pool_free(tn_vm_pool *p) {
  tn_vm_pool_trim(p);
  for (int c = 0; c < CLASSES; ++c) tn_free(p->free[c].blocks);
  pthread_mutex_destroy(&p->lock);
  tn_free(p);
}

void tn_vm_pool_unref(tn_vm_pool *p) {
  if (!p) return;
  pthread_mutex_lock(&p->lock);
  bool last = --p->refs == 0;
  pthread_mutex_unlock(&p->lock);
  if (last) pool_free(p);
}

/* ---- taking ---- */

/* A kept block, or room under the limit for a new one: 1, 0, or -1 when there is none. */
static int reserve(tn_vm_pool *p, int c, int64_t size, void **data) {
  block_list *l = &p->free[c];
  pthread_mutex_lock(&p->lock);
  int found = l->n > 0;
  if (found) *data = l->blocks[--l->n];
  else if (p->limit > 0 && size > p->limit - p->stats.reserved) found = -1;
  if (found >= 0) {
    p->stats.used += size;
    ++p->refs;
  }
  if (found == 0) {
    p->stats.reserved += size;
    ++p->stats.allocs;
    if (p->stats.reserved > p->stats.peak) p->stats.peak = p->stats.reserved;
  }
  pthread_mutex_unlock(&p->lock);
  return found;
}

static void unreserve(tn_vm_pool *p, int64_t size) {
  pthread_mutex_lock(&p->lock);
  p->stats.used -= size;
  p->stats.reserved -= size;
  pthread_mutex_unlock(&p->lock);
  tn_vm_pool_unref(p);
}

/* Memory of the device; when it has none, once more without what the pool keeps. */
static void *from_device(tn_vm_pool *p, int64_t size) {
  const tn_dtype bytes = {kDLUInt, 8, 1};
  void *data = tn_device_alloc(p->dev, (size_t)size, TN_TENSOR_ALIGN, bytes, NULL);
  if (data) return data;
  tn_error_clear();
  tn_vm_pool_trim(p);
  return tn_device_alloc(p->dev, (size_t)size, TN_TENSOR_ALIGN, bytes, NULL);
}

static void *take(tn_vm_pool *p, int c, int64_t size) {
  void *data = NULL;
  int found = reserve(p, c, size, &data);
  if (found < 0) {
    tn_vm_pool_trim(p);
    found = reserve(p, c, size, &data);
  }
  TN_CHECKP(found >= 0, MemoryError, NULL,
            "virtual machine: %lld more bytes are over the limit of %lld: %lld are in use",
            (long long)size, (long long)p->limit, (long long)p->stats.used);
  if (found) return data;
  data = from_device(p, size);
  if (!data) unreserve(p, size);
  return data;
}

/* Room for one more block in a list. */
static bool has_room(block_list *l) {
  TN_GROW(l->blocks, l->cap, l->n + 1, return false);
  return true;
}

static void give_back(tn_vm_pool *p, void *data, int64_t size) {
  int64_t rounded;
  block_list *l = &p->free[class_of(size, &rounded)];
  pthread_mutex_lock(&p->lock);
  p->stats.used -= size;
  bool kept = p->keep && has_room(l);
  if (kept) l->blocks[l->n++] = data;
  else p->stats.reserved -= size;
  pthread_mutex_unlock(&p->lock);
  if (!kept && tn_device_free(p->dev, data)) tn_error_clear();
  tn_vm_pool_unref(p);
}

static void storage_fini(tn_obj *self) {
  tn_VMStorage *s = (tn_VMStorage *)self;
  give_back(s->pool, s->data, s->size);
}

const tn_type_hooks tn_vm_storage_hooks = {.fini = storage_fini};

tn_VMStorage *tn_vm_pool_alloc(tn_vm_pool *p, int64_t size) {
  int64_t rounded;
  TN_CHECKP(size >= 0, ValueError, NULL, "virtual machine: memory of %lld bytes", (long long)size);
  if (size > ((int64_t)1 << 61)) return (void)tn_raise_no_memory(SIZE_MAX), NULL;
  int c = class_of(size, &rounded);
  void *data;
  TN_GETP(data, take(p, c, rounded));
  tn_VMStorage *s = tn_obj_alloc(&tn_type_VMStorage, sizeof *s);
  if (!s) {
    give_back(p, data, rounded);
    return NULL;
  }
  s->pool = p;
  s->data = data;
  s->size = rounded;
  return s;
}

/* ---- asking ---- */

void tn_vm_pool_set_limit(tn_vm_pool *p, int64_t limit) {
  pthread_mutex_lock(&p->lock);
  p->limit = limit;
  pthread_mutex_unlock(&p->lock);
}

tn_vm_pool_stats tn_vm_pool_get_stats(tn_vm_pool *p) {
  pthread_mutex_lock(&p->lock);
  tn_vm_pool_stats s = p->stats;
  pthread_mutex_unlock(&p->lock);
  return s;
}

tn_device tn_vm_pool_device(const tn_vm_pool *p) { return p->dev; }
