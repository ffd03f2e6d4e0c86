/* Handing tensors to other libraries through DLPack (https://dmlc.github.io/dlpack/latest/), legacy
   and versioned. Taking them over is in tensor.c.

   What is handed out is one block: the managed tensor, a copy of the shape, and the strides, which
   newer consumers insist on. */
#include <string.h>

#include "base/alloc.h"
#include "object/dtype.h"
#include "runtime/tensor/tensor.h"

/* numpy and torch know booleans as DLPack's bool of 8 bits, not as one-bit integers. */
static tn_dtype exported(tn_dtype t) {
  return t.code == kDLUInt && t.bits == 1 ? tn_dtype_of(kDLBool, 8, t.lanes) : t;
}

/* Row-major strides; products that overflow occur only where there are no elements. */
static void compact_strides(const DLTensor *dl, int64_t *strides) {
  int64_t step = 1;
  for (int32_t i = dl->ndim - 1; i >= 0; --i) {
    strides[i] = step;
    if (dl->shape[i] > 1 && __builtin_mul_overflow(step, dl->shape[i], &step)) step = 1;
  }
}

/* Fills `out` from t, with shape and strides in `dims` (room for both). */
static void describe(const tn_tensor *t, DLTensor *out, int64_t *dims) {
  size_t n = (size_t)t->dl.ndim;
  *out = t->dl;
  out->dtype = exported(t->dl.dtype);
  out->shape = dims;
  out->strides = dims + n;
  if (n) memcpy(out->shape, t->dl.shape, n * sizeof *dims);
  if (t->dl.strides) memcpy(out->strides, t->dl.strides, n * sizeof *dims);
  else compact_strides(&t->dl, out->strides);
}

static void drop_legacy(DLManagedTensor *m) {
  tn_release(m->manager_ctx);
  tn_free(m);
}

static void drop_versioned(DLManagedTensorVersioned *m) {
  tn_release(m->manager_ctx);
  tn_free(m);
}

/* A managed tensor with room for shape and strides behind it. */
static size_t bytes_with_layout(size_t head, const tn_tensor *t) {
  return tn_array_bytes(head, t->dl.ndim, 2 * sizeof(int64_t));
}

DLManagedTensor *tn_tensor_to_dlpack(tn_tensor *t) {
  TN_CHECKP(
      !t->read_only, ValueError, NULL,
      "to_dlpack: the tensor is read-only, which the legacy DLPack protocol cannot say (ask for "
      "a versioned capsule, or copy)");
  DLManagedTensor *m = tn_alloc(bytes_with_layout(sizeof *m, t));
  if (!m) return NULL;
  describe(t, &m->dl_tensor, (int64_t *)(m + 1));
  tn_retain(t);
  m->manager_ctx = t;
  m->deleter = drop_legacy;
  return m;
}

DLManagedTensorVersioned *tn_tensor_to_dlpack_versioned(tn_tensor *t) {
  DLManagedTensorVersioned *m = tn_alloc(bytes_with_layout(sizeof *m, t));
  if (!m) return NULL;
  describe(t, &m->dl_tensor, (int64_t *)(m + 1));
  tn_retain(t);
  m->version = (DLPackVersion){DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
  m->manager_ctx = t;
  m->deleter = drop_versioned;
  m->flags = t->read_only ? DLPACK_FLAG_BITMASK_READ_ONLY : 0;
  return m;
}
