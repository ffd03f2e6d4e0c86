/* The pieces of a memory that a device has by name become one: part of tir.StorageRewrite.

     A = T.allocate([8], "float32", "local.L0A")       A = T.allocate([12], "float32", "local.L0A")
     B = T.allocate([8], "int16", "local.L0A")    ->
     use(A[i], B[j])                                   use(A[i], B[j + 16])

   Such a memory has one begin, which tvm.info.mem.SCOPE may tell (head_address): allocations beside
   each other would all begin there. A piece of unknown size, or whose pointer is used itself, stays
   alone; one of the latter may be the begin. */
#include <string.h>

#include "base/alloc.h"
#include "pack/pack.h"
#include "tir/device.h"
#include "tir/transforms/storage/storage_impl.h"
#include "tir/transforms/transforms.h"

enum { BYTE = 8, ALIGN_BYTES = 8, MAX_VECTOR = 1 << 20 };

bool storage_is_named(const char *scope) {
  static const char *const kinds[] = {"global", "shared", "local", "warp"};
  static const char *const known[] = {".dyn", ".workspace", ".vtcm", ".texture", ".barrier"};
  const char *name = NULL;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds && !name; ++i)
    if (strncmp(scope, kinds[i], strlen(kinds[i])) == 0) name = scope + strlen(kinds[i]);
  if (!name || !*name) return false;
  for (size_t i = 0; i < sizeof known / sizeof *known; ++i)
    if (strncmp(name, known[i], strlen(known[i])) == 0) return false;
  return true;
}

static storage_entry *entry_at(const tn_vec *v, int64_t i) { return v->items[i].v.ptr; }

static bool is_mergeable(const storage_entry *e) {
  const tn_Allocate *first = (const tn_Allocate *)e->allocs.items[0].v.obj;
  return e->bits >= 0 && storage_is_named(e->scope) && !first->annotations->len;
}

/* The first piece of the memory at the place, one that has to be the begin before others. */
static storage_entry *base_of(const tn_vec *made, const char *scope) {
  storage_entry *base = NULL;
  for (int64_t i = 0; i < made->len; ++i) {
    storage_entry *e = entry_at(made, i);
    if (strcmp(e->scope, scope) != 0 || !is_mergeable(e)) continue;
    if (!base || (e->fixed && !base->fixed)) base = e;
  }
  return base;
}

static int check_size(const storage_entry *base, const tn_MemoryInfo *info) {
  const tn_Allocate *op = (const tn_Allocate *)base->allocs.items[0].v.obj;
  TN_CHECK(
      !info || base->total <= info->max_num_bits, ValueError, op->span,
      "Allocation exceed bound of memory %s: %lld bits are in use at once, tvm.info.mem.%s has "
      "max_num_bits=%lld",
      base->scope, (long long)base->total, base->scope, (long long)info->max_num_bits);
  return 0;
}

/* Bytes of the longest vector that the memory takes, 0 where nothing is known of it. */
static int vector_bytes(const storage_entry *base, const tn_MemoryInfo *info, int64_t *bytes) {
  const tn_Allocate *op = (const tn_Allocate *)base->allocs.items[0].v.obj;
  *bytes = info ? info->max_simd_bits / BYTE : 0;
  TN_CHECK(*bytes <= MAX_VECTOR, ValueError, op->span,
           "tvm.info.mem.%s: max_simd_bits is at most %lld, got %lld", base->scope,
           (long long)MAX_VECTOR * BYTE, (long long)info->max_simd_bits);
  return 0;
}

/* Bits that the place of a piece is a multiple of. */
static int64_t step_of(const storage_entry *e, int64_t simd) {
  int64_t step = ALIGN_BYTES;
  while (step < e->align || step < simd) step *= 2;
  return step * BYTE;
}

/* Gives the pieces of the memory their places behind its first; all are needed all the time. */
static int merge(const tn_vec *made, storage_entry *base) {
  const tn_Allocate *op = (const tn_Allocate *)base->allocs.items[0].v.obj;
  TN_AUTOFREE pack_buffer *buffers = tn_alloc_zero((size_t)made->len + 1, sizeof *buffers);
  pack_pool pool = {.name = base->scope, .limit = -1};
  tn_MemoryInfo *info = NULL;
  int64_t simd, n = 0;
  if (!buffers) return -1;
  TN_TRY(tir_memory_info(base->scope, op->span, &info));
  TN_TRY(vector_bytes(base, info, &simd));
  buffers[n++] = (pack_buffer){.name = tn_cstr(base->var->name), .bytes = base->bits};
  for (int64_t i = 0; i < made->len; ++i) {
    storage_entry *e = entry_at(made, i);
    if (e == base || e->fixed || strcmp(e->scope, base->scope) != 0 || !is_mergeable(e)) continue;
    e->base = base;
    buffers[n++] =
        (pack_buffer){.name = tn_cstr(e->var->name), .bytes = e->bits, .align = step_of(e, simd)};
  }
  /* the order given is kept, so that the base begins where the memory begins */
  TN_TRY(pack_plan(buffers, n, &pool, 1, 1, PACK_IN_ORDER));
  for (int64_t i = 0, k = 1; i < made->len; ++i)
    if (entry_at(made, i)->base == base) entry_at(made, i)->offset = buffers[k++].offset;
  base->total = pool.used;
  return check_size(base, info);
}

int storage_merge(storage_live *x) {
  for (int64_t i = 0; i < x->n; ++i) {
    storage_entry *e = x->all[i]->entry;
    if (!e || e->base || e->total || !is_mergeable(e)) continue;
    storage_entry *base = base_of(&e->place->made, e->scope);
    if (!base->total) TN_TRY(merge(&e->place->made, base));
  }
  return 0;
}
