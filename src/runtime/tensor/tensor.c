/* Making tensors: memory of their own, views, memory of others; and giving them up. */
#include "runtime/tensor/tensor.h"

#include <string.h>

#include "base/alloc.h"
#include "object/dtype.h"
#include "runtime/device/device.h"
#include "runtime/tensor/tensor_content.h"

_Static_assert(
    __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
    "raw tensor data is little-endian in files and over DLPack: big-endian machines need "
    "byte swaps that nobody has written");
_Static_assert(offsetof(struct tn_NDArray, dl) == sizeof(tn_obj), "tn_tensor_dl relies on it");

int32_t tn_tensor_type_index(void) { return TN_TI_NDArray; }

/* ---- checks ---- */

int64_t tn_shape_count(const char *what, const int64_t *shape, int32_t ndim) {
  int64_t n = 1;
  bool empty = false, overflow = false;
  TN_CHECK(ndim >= 0 && ndim <= TN_MAX_NDIM, ValueError, NULL, "%s.ndim: expected 0 to %d, got %d",
           what, TN_MAX_NDIM, ndim);
  TN_CHECK(shape || ndim == 0, ValueError, NULL, "%s.shape: expected %d extents, got NULL", what,
           ndim);
  for (int32_t i = 0; i < ndim; ++i) {
    TN_CHECK(shape[i] >= 0, ValueError, NULL, "%s.shape[%d]: expected 0 or more, got %lld", what, i,
             (long long)shape[i]);
    empty |= shape[i] == 0;
    overflow |= __builtin_mul_overflow(n, shape[i], &n);
  }
  if (empty) return 0; /* whatever the other extents */
  TN_CHECK(!overflow, ValueError, NULL, "%s.shape: the number of elements overflows 64 bits", what);
  return n;
}

int64_t tn_shape_nbytes(const char *what, const int64_t *shape, int32_t ndim, tn_dtype dtype) {
  TN_CHECK(dtype.bits > 0 && tn_dtype_lanes(dtype) > 0, ValueError, NULL,
           "%s.dtype: expected a type with a size, got %s", what, TN_DT(dtype));
  int64_t n = tn_shape_count(what, shape, ndim);
  if (n < 0) return -1;
  int64_t nbytes = tn_dtype_bytes(dtype, n);
  TN_CHECK(nbytes >= 0, ValueError, NULL, "%s.shape: the number of bytes overflows 64 bits", what);
  return nbytes;
}

int64_t tn_dtype_item_bytes(tn_dtype t) {
  int64_t bits = (t.bits == 1 ? 8 : t.bits) * t.lanes;
  return bits % 8 ? 0 : bits / 8;
}

tn_dtype tn_dtype_canonical(tn_dtype t) {
  return t.code == kDLBool ? tn_dtype_of(kDLUInt, 1, t.lanes) : t;
}

/* ---- life ---- */

/* A tensor that borrows from nobody yet, with room for shape and, if asked, strides. */
static tn_tensor *tensor_alloc(int32_t ndim, const int64_t *shape, bool strided) {
  size_t n = (size_t)ndim;
  int64_t ndims = strided ? 2 * (int64_t)ndim : ndim;
  tn_tensor *t = tn_obj_alloc(&tn_type_NDArray, tn_array_bytes(sizeof *t, ndims, sizeof *t->dims));
  if (!t) return NULL;
  memset((tn_obj *)t + 1, 0, sizeof *t - sizeof(tn_obj));
  t->memory = TN_MEM_BORROWED;
  if (n) memcpy(t->dims, shape, n * sizeof *shape);
  t->dl.ndim = ndim;
  t->dl.shape = t->dims;
  t->dl.strides = strided ? t->dims + n : NULL;
  return t;
}

/* A finalizer must not replace the error its thread is on the way to report. */
static void free_block(tn_tensor *t) {
  tn_error pending;
  bool any = tn_error_pending();
  if (any) tn_error_take(&pending);
  if (tn_device_free(t->dl.device, t->from.block)) tn_error_clear();
  if (any) tn_error_restore(&pending);
}

static void tensor_fini(tn_obj *self) {
  tn_tensor *t = (tn_tensor *)self;
  switch ((tn_tensor_memory)t->memory) {
  case TN_MEM_BORROWED: break;
  case TN_MEM_DEVICE: free_block(t); break;
  case TN_MEM_DLPACK:
    if (t->from.legacy->deleter) t->from.legacy->deleter(t->from.legacy);
    break;
  case TN_MEM_VERSIONED:
    if (t->from.versioned->deleter) t->from.versioned->deleter(t->from.versioned);
    break;
  }
  tn_release(t->owner); /* never a view itself (root_owner), so this does not nest */
}

const tn_type_hooks tn_tensor_hooks = {
    .fini = tensor_fini,
    .blob_save = tn_tensor_blob_save,
    .blob_load = tn_tensor_blob_load,
    .content_equal = tn_tensor_content_equal,
    .content_hash = tn_tensor_content_hash,
};

tn_tensor *tn_tensor_new(const int64_t *shape, int32_t ndim, tn_dtype dtype, tn_device dev,
                         const char *mem_scope) {
  dtype = tn_dtype_canonical(dtype);
  int64_t nbytes = tn_shape_nbytes("tensor", shape, ndim, dtype);
  if (nbytes < 0) return NULL;
  tn_tensor *t = tensor_alloc(ndim, shape, false);
  if (!t) return NULL;
  t->dl.dtype = dtype;
  t->dl.device = dev;
  t->from.block = tn_device_alloc(dev, (size_t)nbytes, TN_TENSOR_ALIGN, dtype, mem_scope);
  if (!t->from.block) {
    tn_release(t);
    return NULL;
  }
  t->memory = TN_MEM_DEVICE;
  t->dl.data = t->from.block;
  return t;
}

/* The object a view of (part of) `o` keeps alive: views of views hold the first owner, so that
   releasing them never nests. */
static tn_obj *root_owner(tn_obj *o) {
  while (o && o->type_index == TN_TI_NDArray && ((tn_tensor *)o)->owner)
    o = ((tn_tensor *)o)->owner;
  tn_retain(o);
  return o;
}

/* Adds to the address where the device's data is one, else to the offset: compiled code asks for an
   offset of 0. */
static void move_data(DLTensor *dl, void *data, uint64_t offset) {
  bool address = tn_device_is_address(dl->device);
  dl->data = address && data ? (char *)data + offset : data;
  dl->byte_offset = address ? 0 : offset;
}

tn_tensor *tn_tensor_view(tn_tensor *base, const int64_t *shape, int32_t ndim, tn_dtype dtype,
                          int64_t byte_offset) {
  int64_t have = tn_tensor_nbytes(&base->dl);
  dtype = tn_dtype_canonical(dtype);
  int64_t nbytes = tn_shape_nbytes("view", shape, ndim, dtype);
  if (nbytes < 0) return NULL;
  TN_CHECKP(tn_tensor_is_contiguous(&base->dl), ValueError, NULL,
            "view: the tensor is not compact (copy it first)");
  TN_CHECKP(byte_offset >= 0 && byte_offset <= have && nbytes <= have - byte_offset, ValueError,
            NULL, "view: %lld bytes at offset %lld reach beyond the %lld bytes of the tensor",
            (long long)nbytes, (long long)byte_offset, (long long)have);
  tn_tensor *t = tensor_alloc(ndim, shape, false);
  if (!t) return NULL;
  t->dl.dtype = dtype;
  t->dl.device = base->dl.device;
  move_data(&t->dl, base->dl.data, base->dl.byte_offset + (uint64_t)byte_offset);
  t->owner = root_owner(&base->hdr);
  t->read_only = base->read_only;
  return t;
}

/* Can every element be reached with 64-bit arithmetic? */
static int check_strides(const char *what, const DLTensor *dl) {
  int64_t reach = 0, step, item = tn_dtype_item_bytes(dl->dtype);
  if (item == 0) item = 1;
  for (int32_t i = 0; i < dl->ndim; ++i) {
    if (dl->shape[i] == 0) return 0;
    bool over = dl->strides[i] == INT64_MIN; /* has no magnitude */
    int64_t stride = over ? 0 : dl->strides[i] < 0 ? -dl->strides[i] : dl->strides[i];
    over |= __builtin_mul_overflow(dl->shape[i] - 1, stride, &step);
    over |= __builtin_mul_overflow(step, item, &step);
    over |= __builtin_add_overflow(reach, step, &reach);
    TN_CHECK(!over, ValueError, NULL, "%s.strides[%d]: %lld overflows 64 bits", what, i,
             (long long)dl->strides[i]);
  }
  return 0;
}

static tn_tensor *borrow(const char *what, const DLTensor *src) {
  DLTensor dl = *src;
  TN_CHECKP(dl.dtype.code != kDLBool || dl.dtype.bits == 8, ValueError, NULL,
            "%s.dtype: expected 8 bits for a bool, got %d", what, dl.dtype.bits);
  dl.dtype = tn_dtype_canonical(dl.dtype);
  int64_t nbytes = tn_shape_nbytes(what, dl.shape, dl.ndim, dl.dtype);
  if (nbytes < 0) return NULL;
  TN_CHECKP(dl.data || nbytes == 0, ValueError, NULL, "%s.data: expected %lld bytes, got NULL",
            what, (long long)nbytes);
  TN_CHECKP(dl.byte_offset <= INT64_MAX, ValueError, NULL, "%s.byte_offset: %llu is out of range",
            what, (unsigned long long)dl.byte_offset);
  bool strided = dl.strides && !tn_tensor_is_contiguous(&dl);
  if (strided) TN_TRYP(check_strides(what, &dl));
  tn_tensor *t = tensor_alloc(dl.ndim, dl.shape, strided);
  if (!t) return NULL;
  if (strided) memcpy(t->dl.strides, dl.strides, (size_t)dl.ndim * sizeof *dl.strides);
  t->dl.dtype = dl.dtype;
  t->dl.device = dl.device;
  move_data(&t->dl, dl.data, dl.byte_offset);
  return t;
}

tn_tensor *tn_tensor_from_dltensor(const DLTensor *dl, tn_obj *owner) {
  TN_CHECKP(dl, ValueError, NULL, "tensor: expected a DLTensor, got NULL");
  tn_tensor *t = borrow("tensor", dl);
  if (!t) return NULL;
  t->owner = root_owner(owner);
  t->read_only =
      owner && owner->type_index == TN_TI_NDArray && ((const tn_tensor *)owner)->read_only;
  return t;
}

tn_tensor *tn_tensor_from_dlpack(DLManagedTensor *m) {
  TN_CHECKP(m, ValueError, NULL, "from_dlpack: expected a tensor, got NULL");
  tn_tensor *t = borrow("from_dlpack", &m->dl_tensor);
  if (!t) return NULL;
  t->memory = TN_MEM_DLPACK;
  t->from.legacy = m;
  return t;
}

tn_tensor *tn_tensor_from_dlpack_versioned(DLManagedTensorVersioned *m) {
  TN_CHECKP(m, ValueError, NULL, "from_dlpack: expected a tensor, got NULL");
  TN_CHECKP(m->version.major == DLPACK_MAJOR_VERSION, ValueError, NULL,
            "from_dlpack.version: expected DLPack %d, got %u.%u", DLPACK_MAJOR_VERSION,
            m->version.major, m->version.minor);
  tn_tensor *t = borrow("from_dlpack", &m->dl_tensor);
  if (!t) return NULL;
  t->memory = TN_MEM_VERSIONED;
  t->from.versioned = m;
  t->read_only = (m->flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0;
  return t;
}

int tn_tensor_own_memory(tn_tensor *t) {
  if (t->memory != TN_MEM_BORROWED || t->owner) return 0;
  tn_tensor *copy;
  TN_GET(copy, tn_tensor_clone(&t->dl, t->dl.device, NULL));
  t->from.block = copy->from.block;
  t->dl.data = copy->dl.data;
  t->dl.byte_offset = 0;
  t->dl.strides = NULL;
  t->memory = TN_MEM_DEVICE;
  copy->memory = TN_MEM_BORROWED; /* of nothing: it goes */
  tn_release(copy);
  return 0;
}

/* ---- questions ---- */

bool tn_tensor_is_read_only(const tn_tensor *t) { return t->read_only; }
bool tn_tensor_is_view(const tn_tensor *t) { return t->owner != NULL; }

int tn_any_to_tensor(const tn_any *a, tn_tensor **out) {
  tn_obj *o = a->type_index == TN_RVALUE ? *a->v.rvalue : tn_any_is_obj(a) ? a->v.obj : NULL;
  TN_CHECK(o && o->type_index == TN_TI_NDArray, TypeError, NULL, "expected %s, got %s",
           tn_type_NDArray.key, o ? tn_obj_key(o) : tn_type_key((uint32_t)a->type_index));
  *out = (tn_tensor *)o;
  return 0;
}

int tn_any_to_dltensor(const tn_any *a, const DLTensor **out) {
  tn_tensor *t;
  if (a->type_index == TN_DLTENSOR && a->v.dltensor) {
    *out = a->v.dltensor;
    return 0;
  }
  if (tn_any_to_tensor(a, &t)) return -1;
  *out = &t->dl;
  return 0;
}

int tn_tensor_check_writable(const tn_tensor *t) {
  TN_CHECK(!t->read_only, ValueError, NULL,
           "the tensor is read-only: it cannot be written (copy it, and write to the copy)");
  return 0;
}

int tn_any_to_writable(const tn_any *a, DLTensor **out) {
  tn_tensor *t;
  if (a->type_index == TN_DLTENSOR && a->v.dltensor) {
    *out = a->v.dltensor;
    return 0;
  }
  if (tn_any_to_tensor(a, &t) || tn_tensor_check_writable(t)) return -1;
  *out = &t->dl;
  return 0;
}
