/* Tensors by content: equality and hash, which structural comparison of constants uses. Two tensors
   are equal when shape, dtype and the bytes of the elements are, on whatever device and in whatever
   layout; so NaN equals itself and 0 differs from -0. */
#include <string.h>

#include "base/hash.h"
#include "object/dtype.h"
#include "runtime/device/device.h"
#include "runtime/tensor/tensor_content.h"

/* Bits of the last byte that belong to elements (packed types may leave some over). */
static uint8_t tail_mask(const DLTensor *dl) {
  int64_t rest = tn_tensor_count(dl) % 8 * dl->dtype.bits * dl->dtype.lanes % 8;
  return (uint8_t)(dl->dtype.bits == 1 || rest == 0 ? 0xff : (1 << rest) - 1);
}

/* The tensor itself when its elements can be read here, else a compact copy. Owned; NULL with an
   error. */
static tn_tensor *on_host(const tn_tensor *t) {
  if (!tn_device_is_host(t->dl.device))
    return tn_tensor_clone(&t->dl, (tn_device){kDLCPU, 0}, NULL);
  tn_retain(t);
  return (tn_tensor *)(uintptr_t)t;
}

/* ---- equality ---- */

static int differ(void *ctx, char *a, int64_t sa, char *b, int64_t sb, int64_t n, int64_t item) {
  (void)ctx;
  if (sa == item && sb == item) return memcmp(a, b, (size_t)(n * item)) != 0;
  for (int64_t i = 0; i < n; ++i) {
    if (memcmp(a + i * sa, b + i * sb, (size_t)item) != 0) return 1;
  }
  return 0;
}

static bool equal_packed(const DLTensor *a, const DLTensor *b) {
  int64_t n = tn_tensor_nbytes(a);
  const char *pa = tn_tensor_first(a), *pb = tn_tensor_first(b);
  if (n == 0) return true;
  return memcmp(pa, pb, (size_t)(n - 1)) == 0 && ((pa[n - 1] ^ pb[n - 1]) & tail_mask(a)) == 0;
}

static bool equal_on_host(const DLTensor *a, const DLTensor *b) {
  int64_t item = tn_dtype_item_bytes(a->dtype);
  if (item) return tn_tensor_walk(a, b, item, differ, NULL) == 0;
  return equal_packed(a, b);
}

bool tn_tensor_content_equal(const tn_obj *x, const tn_obj *y) {
  const tn_tensor *a = (const tn_tensor *)x, *b = (const tn_tensor *)y;
  if (a->dl.ndim != b->dl.ndim || !tn_dtype_eq(a->dl.dtype, b->dl.dtype)) return false;
  if (memcmp(a->dims, b->dims, (size_t)a->dl.ndim * sizeof *a->dims) != 0) return false;
  tn_tensor *p = on_host(a), *q = p ? on_host(b) : NULL;
  bool equal = q && equal_on_host(&p->dl, &q->dl); /* no memory: not known to be equal */
  tn_release(p);
  tn_release(q);
  return equal;
}

/* ---- hash ---- */

/* The bytes of the elements in order, hashed in pieces of one size: so the hash does not depend on
   how the elements lie in memory. */
typedef struct {
  uint64_t hash;
  size_t used;
  char piece[4096];
} hasher;

static void hash_put(hasher *h, const char *data, size_t n) {
  while (n) {
    size_t take = sizeof h->piece - h->used;
    if (take > n) take = n;
    if (take == sizeof h->piece) { /* whole: no need to copy */
      h->hash = tn_hash_add(h->hash, tn_hash_bytes(data, take));
    } else {
      memcpy(h->piece + h->used, data, take);
      h->used += take;
      if (h->used == sizeof h->piece) {
        h->hash = tn_hash_add(h->hash, tn_hash_bytes(h->piece, h->used));
        h->used = 0;
      }
    }
    data += take;
    n -= take;
  }
}

static int hash_run(void *ctx, char *a, int64_t sa, char *b, int64_t sb, int64_t n, int64_t item) {
  (void)b, (void)sb;
  if (sa == item) hash_put(ctx, a, (size_t)(n * item));
  else
    for (int64_t i = 0; i < n; ++i) hash_put(ctx, a + i * sa, (size_t)item);
  return 0;
}

static void hash_packed(hasher *h, const DLTensor *dl) {
  int64_t n = tn_tensor_nbytes(dl);
  if (n == 0) return;
  const char *p = tn_tensor_first(dl);
  char last = (char)(p[n - 1] & tail_mask(dl));
  hash_put(h, p, (size_t)(n - 1));
  hash_put(h, &last, 1);
}

uint64_t tn_tensor_content_hash(const tn_obj *self) {
  const tn_tensor *t = (const tn_tensor *)self;
  hasher h = {.hash = (uint64_t)t->dl.dtype.code << 32 | (uint64_t)t->dl.dtype.bits << 16 |
                      t->dl.dtype.lanes};
  int64_t item = tn_dtype_item_bytes(t->dl.dtype);
  for (int32_t i = 0; i < t->dl.ndim; ++i) h.hash = tn_hash_add(h.hash, (uint64_t)t->dl.shape[i]);
  tn_tensor *host = on_host(t);
  if (!host) return h.hash; /* the error is pending */
  if (item) tn_tensor_walk(&host->dl, &host->dl, item, hash_run, &h);
  else hash_packed(&h, &host->dl);
  tn_release(host);
  return h.used ? tn_hash_add(h.hash, tn_hash_bytes(h.piece, h.used)) : h.hash;
}
