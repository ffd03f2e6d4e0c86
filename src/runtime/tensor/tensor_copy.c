/* Layout of tensors and copies between them: any strides on the host, compact tensors on devices.
 */
#include <string.h>

#include "object/dtype.h"
#include "runtime/device/device.h"
#include "runtime/tensor/tensor.h"

int64_t tn_tensor_count(const DLTensor *dl) {
  int64_t n = 1;
  for (int32_t i = 0; i < dl->ndim; ++i) {
    if (dl->shape[i] == 0) return 0; /* extents beside it may overflow */
  }
  for (int32_t i = 0; i < dl->ndim; ++i) n *= dl->shape[i];
  return n;
}

int64_t tn_tensor_nbytes(const DLTensor *dl) {
  return tn_dtype_bytes(tn_dtype_canonical(dl->dtype), tn_tensor_count(dl));
}

bool tn_tensor_is_contiguous(const DLTensor *dl) {
  int64_t expected = 1;
  if (!dl->strides || tn_tensor_count(dl) == 0) return true;
  for (int32_t i = dl->ndim - 1; i >= 0; --i) {
    if (dl->shape[i] == 1) continue;
    if (dl->strides[i] != expected) return false;
    expected *= dl->shape[i];
  }
  return true;
}

bool tn_tensor_is_aligned(const DLTensor *dl, size_t align) {
  return ((uintptr_t)dl->data + dl->byte_offset) % align == 0;
}

/* ---- walking two tensors of one shape ---- */

typedef struct {
  int32_t ndim;
  int64_t shape[TN_MAX_NDIM], sa[TN_MAX_NDIM], sb[TN_MAX_NDIM]; /* strides in bytes */
} layout;

/* Byte strides of a tensor. */
static void byte_strides(const DLTensor *dl, int64_t item, int64_t *out) {
  int64_t step = item;
  for (int32_t i = dl->ndim - 1; i >= 0; --i) {
    out[i] = dl->strides ? dl->strides[i] * item : step;
    step *= dl->shape[i];
  }
}

/* Drops dimensions of extent 1 and merges neighbours that are one run in both tensors. */
static void merge_dims(layout *l) {
  int32_t n = 0;
  for (int32_t i = 0; i < l->ndim; ++i) {
    if (l->shape[i] == 1) continue;
    bool joins =
        n > 0 && l->sa[n - 1] == l->shape[i] * l->sa[i] && l->sb[n - 1] == l->shape[i] * l->sb[i];
    if (joins) l->shape[n - 1] *= l->shape[i];
    else l->shape[n++] = l->shape[i];
    l->sa[n - 1] = l->sa[i];
    l->sb[n - 1] = l->sb[i];
  }
  if (n == 0) {
    l->shape[0] = 1;
    l->sa[0] = l->sb[0] = 0;
    n = 1;
  }
  l->ndim = n;
}

int tn_tensor_walk(const DLTensor *a, const DLTensor *b, int64_t item, tn_run_fn fn, void *ctx) {
  layout l;
  int64_t at[TN_MAX_NDIM] = {0}; /* the place in the dimensions before the last */
  char *pa = tn_tensor_first(a), *pb = tn_tensor_first(b);
  TN_CHECK(a->ndim >= 0 && a->ndim <= TN_MAX_NDIM, ValueError, NULL,
           "tensor.ndim: expected 0 to %d, got %d", TN_MAX_NDIM, a->ndim);
  if (tn_tensor_count(a) == 0) return 0;
  l.ndim = a->ndim;
  if (l.ndim) memcpy(l.shape, a->shape, (size_t)l.ndim * sizeof *l.shape);
  byte_strides(a, item, l.sa);
  byte_strides(b, item, l.sb);
  merge_dims(&l);
  int32_t last = l.ndim - 1;
  for (;;) {
    int r = fn(ctx, pa, l.sa[last], pb, l.sb[last], l.shape[last], item);
    if (r) return r;
    int32_t d = last - 1;
    for (; d >= 0; --d) { /* count up, as an odometer does */
      pa += l.sa[d];
      pb += l.sb[d];
      if (++at[d] < l.shape[d]) break;
      pa -= l.sa[d] * l.shape[d];
      pb -= l.sb[d] * l.shape[d];
      at[d] = 0;
    }
    if (d < 0) return 0;
  }
}

/* ---- copies ---- */

#define COPY_ITEMS(size)                                                                           \
  for (int64_t i = 0; i < n; ++i) memcpy(b + i * sb, a + i * sa, size)

static int copy_run(void *ctx, char *a, int64_t sa, char *b, int64_t sb, int64_t n, int64_t item) {
  (void)ctx;
  if (n == 1 || (sa == item && sb == item)) {
    memmove(b, a, (size_t)(n * item));
    return 0;
  }
  switch (item) { /* sizes known to the compiler become loads and stores */
  case 1: COPY_ITEMS(1); break;
  case 2: COPY_ITEMS(2); break;
  case 4: COPY_ITEMS(4); break;
  case 8: COPY_ITEMS(8); break;
  default: COPY_ITEMS((size_t)item); break;
  }
  return 0;
}

static bool same_shape(const DLTensor *a, const DLTensor *b) {
  if (a->ndim != b->ndim) return false;
  for (int32_t i = 0; i < a->ndim; ++i) {
    if (a->shape[i] != b->shape[i]) return false;
  }
  return true;
}

int tn_wrong_shape(const char *what, const int64_t *shape, int32_t ndim, const DLTensor *given) {
  TN_BUF(text);
  tn_buf_printf(&text, "%s: expected shape ", what);
  tn_buf_shape(&text, shape, ndim);
  tn_buf_puts(&text, ", got ");
  tn_buf_shape(&text, given->shape, given->ndim);
  const char *message = tn_buf_cstr(&text);
  return message ? TN_RAISE(ValueError, NULL, "%s", message) : -1;
}

static int copy_on_host(const DLTensor *src, DLTensor *dst, bool compact) {
  if (compact) {
    size_t n = (size_t)tn_tensor_nbytes(src);
    if (n) memmove(tn_tensor_first(dst), tn_tensor_first(src), n);
    return 0;
  }
  int64_t item = tn_dtype_item_bytes(tn_dtype_canonical(src->dtype));
  TN_CHECK(item, NotImplementedError, NULL,
           "copy: a tensor of type %s, packed below a byte, must be compact", TN_DT(src->dtype));
  return tn_tensor_walk(src, dst, item, copy_run, NULL);
}

static int copy_on_device(const DLTensor *src, DLTensor *dst) {
  return tn_device_copy(src->data, (size_t)src->byte_offset, src->device, dst->data,
                        (size_t)dst->byte_offset, dst->device, (size_t)tn_tensor_nbytes(src), NULL);
}

/* One side is on a device, and a side on the host has gaps: goes through a compact tensor there. */
static int copy_staged(const DLTensor *src, DLTensor *dst) {
  const tn_device host = {kDLCPU, 0};
  bool from_host = tn_device_is_host(src->device);
  const DLTensor *strided = from_host ? src : dst, *other = from_host ? dst : src;
  TN_CHECK(tn_device_is_host(strided->device) && tn_tensor_is_contiguous(other),
           NotImplementedError, NULL,
           "copy: a tensor on a device must be compact to be copied (make it so there first)");
  tn_tensor *stage = tn_tensor_new(src->shape, src->ndim, src->dtype, host, NULL);
  if (!stage) return -1;
  int err = tn_tensor_copy(src, &stage->dl) || tn_tensor_copy(&stage->dl, dst);
  tn_release(stage);
  return err ? -1 : 0;
}

int tn_tensor_copy(const DLTensor *src, DLTensor *dst) {
  bool compact = tn_tensor_is_contiguous(src) && tn_tensor_is_contiguous(dst);
  bool host = tn_device_is_host(src->device) && tn_device_is_host(dst->device);
  TN_CHECK(tn_dtype_eq(tn_dtype_canonical(src->dtype), tn_dtype_canonical(dst->dtype)), ValueError,
           NULL, "copy: expected dtype %s, got %s", TN_DT(dst->dtype), TN_DT(src->dtype));
  if (!same_shape(src, dst) && !(compact && tn_tensor_count(src) == tn_tensor_count(dst)))
    return tn_wrong_shape("copy", dst->shape, dst->ndim, src);
  if (host) return copy_on_host(src, dst, compact);
  return compact ? copy_on_device(src, dst) : copy_staged(src, dst);
}

tn_tensor *tn_tensor_clone(const DLTensor *src, tn_device dev, const char *mem_scope) {
  tn_tensor *t = tn_tensor_new(src->shape, src->ndim, src->dtype, dev, mem_scope);
  if (t && tn_tensor_copy(src, &t->dl)) {
    tn_release(t);
    return NULL;
  }
  return t;
}

/* A compact description of host memory with the shape and type of `like`. */
static int as_bytes(const DLTensor *like, const void *data, size_t nbytes, DLTensor *out) {
  int64_t expected = tn_tensor_nbytes(like);
  TN_CHECK(expected >= 0 && (uint64_t)expected == nbytes, ValueError, NULL,
           "copy: the tensor has %lld bytes, the memory %llu", (long long)expected,
           (unsigned long long)nbytes);
  *out = *like;
  out->data = (void *)(uintptr_t)data;
  out->device = (tn_device){kDLCPU, 0};
  out->strides = NULL;
  out->byte_offset = 0;
  return 0;
}

int tn_tensor_copy_from_bytes(DLTensor *dst, const void *data, size_t nbytes) {
  DLTensor src;
  TN_TRY(as_bytes(dst, data, nbytes, &src));
  return tn_tensor_copy(&src, dst);
}

int tn_tensor_copy_to_bytes(const DLTensor *src, void *data, size_t nbytes) {
  DLTensor dst;
  TN_TRY(as_bytes(src, data, nbytes, &dst));
  return tn_tensor_copy(src, &dst);
}
