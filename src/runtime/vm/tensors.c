/* Instructions that make tensors, and values at the border of the machine. */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "object/dtype.h"
#include "runtime/tensor/tensor.h"
#include "runtime/vm/machine.h"

static tn_dtype dtype_of_words(const int64_t *t) {
  return tn_dtype_of((int)t[0], (int)t[1], (int)t[2]);
}

int tn_vm_put(tn_any *reg, const void *owned) {
  tn_any old = *reg;
  if (!owned) return tn_trace(__FILE__, __LINE__, __func__);
  *reg = tn_any_obj(owned);
  tn_any_release(&old);
  return 0;
}

static tn_dtype scalar_dtype(const tn_any *a) {
  return tn_dtype_of((int)(a->aux & 255), (int)(a->aux >> 8 & 255), 1);
}

int tn_vm_box(const tn_any *a, tn_any *out) {
  if (a->type_index == TN_INT) {
    tn_tensor *t;
    TN_GET(t, tn_tensor_new(NULL, 0, TN_I64, (tn_device){kDLCPU, 0}, NULL));
    memcpy(t->dl.data, &a->v.i64, sizeof a->v.i64);
    *out = tn_any_obj(t);
    return 0;
  }
  if (a->type_index != TN_VM_SCALAR) {
    *out = *a;
    if (tn_any_is_obj(a)) tn_retain(a->v.obj);
    return 0;
  }
  tn_tensor *t;
  TN_GET(t, tn_tensor_new(NULL, 0, scalar_dtype(a), (tn_device){kDLCPU, 0}, NULL));
  memcpy(t->dl.data, &a->v, (size_t)tn_tensor_nbytes(&t->dl));
  *out = tn_any_obj(t);
  return 0;
}

static int64_t int_at(const void *p, tn_dtype t) {
  switch (t.bits) {
  case 64: return *(const int64_t *)p;
  case 32: return t.code == kDLInt ? *(const int32_t *)p : (int64_t) * (const uint32_t *)p;
  case 16: return t.code == kDLInt ? *(const int16_t *)p : *(const uint16_t *)p;
  default: return t.code == kDLInt ? *(const int8_t *)p : *(const uint8_t *)p;
  }
}

/* The types that int_at reads, of at most a word. */
static int check_int(tn_dtype t) {
  bool whole = t.code == kDLInt || t.code == kDLUInt || t.code == kDLBool;
  bool size = t.bits == 1 || t.bits == 8 || t.bits == 16 || t.bits == 32 || t.bits == 64;
  TN_CHECK(whole && size && t.lanes == 1, TypeError, NULL,
           "virtual machine: expected a whole number or bool, got %s", TN_DT(t));
  return 0;
}

int tn_vm_int(tn_any *a, int64_t *out) {
  int64_t word = 0;
  if (a->type_index == TN_INT) {
    *out = a->v.i64;
    return 0;
  }
  if (a->type_index == TN_VM_SCALAR) {
    TN_TRY(check_int(scalar_dtype(a)));
    *out = int_at(&a->v, scalar_dtype(a));
    return 0;
  }
  tn_tensor *t = (tn_tensor *)a->v.obj;
  TN_CHECK(a->type_index == TN_TI_NDArray && tn_tensor_count(&t->dl) == 1, TypeError, NULL,
           "virtual machine: expected a scalar, got %s", tn_type_key((uint32_t)a->type_index));
  TN_TRY(check_int(t->dl.dtype));
  TN_TRY(tn_tensor_copy_to_bytes(&t->dl, &word, (size_t)tn_tensor_nbytes(&t->dl)));
  *out = int_at(&word, t->dl.dtype);
  return 0;
}

/* ---- memory ---- */

/* A tensor in a register, NULL with TypeError. A scalar becomes one there. Borrowed. */
static tn_tensor *tensor_in(tn_any *reg) {
  if (reg->type_index == TN_VM_SCALAR) {
    tn_any boxed;
    TN_TRYP(tn_vm_box(reg, &boxed));
    *reg = boxed;
  }
  TN_CHECKP(reg->type_index == TN_TI_NDArray, TypeError, NULL,
            "virtual machine: expected a tensor, got %s", tn_type_key((uint32_t)reg->type_index));
  return (tn_tensor *)reg->v.obj;
}

/* A shape in a register: extents on the host, one-dimensional int64 (or int32). */
static int shape_in(tn_any *reg, int64_t *out, int32_t *ndim) {
  tn_tensor *t;
  TN_GET(t, tensor_in(reg));
  const DLTensor *dl = &t->dl;
  bool wide = dl->dtype.bits == 64;
  TN_CHECK(dl->ndim == 1 && dl->dtype.code == kDLInt && (wide || dl->dtype.bits == 32) &&
               dl->shape[0] <= TN_VM_MAX_NDIM && tn_device_is_host(dl->device),
           TypeError, NULL,
           "virtual machine: expected a shape of at most %d extents (int64, on the host)",
           TN_VM_MAX_NDIM);
  *ndim = (int32_t)dl->shape[0];
  for (int32_t i = 0; i < *ndim; ++i)
    out[i] = wide ? ((const int64_t *)dl->data)[i] : ((const int32_t *)dl->data)[i];
  return 0;
}

/* alloc_storage: d size align code bits lanes device */
int tn_vm_alloc_storage(tn_vm_machine *m, const int64_t *w, tn_any *r) {
  tn_any *size = &r[w[2]];
  int64_t shape[TN_VM_MAX_NDIM], n;
  int32_t ndim;
  bool number = size->type_index != TN_TI_NDArray || ((tn_tensor *)size->v.obj)->dl.ndim == 0;
  if (number) TN_TRY(tn_vm_int(size, &n));
  else {
    TN_TRY(shape_in(size, shape, &ndim));
    n = tn_shape_nbytes("virtual machine", shape, ndim, dtype_of_words(w + 4));
    if (n < 0) return -1;
  }
  return tn_vm_put(&r[w[1]], tn_vm_pool_alloc(m->pools[w[7]], n));
}

static int make_tensor(tn_any *dst, const tn_any *storage, int64_t offset, tn_dtype t,
                       int64_t *shape, int32_t ndim) {
  TN_CHECK(storage->type_index == TN_TI_VMStorage, TypeError, NULL,
           "virtual machine: expected memory, got %s", tn_type_key((uint32_t)storage->type_index));
  const tn_VMStorage *s = (const tn_VMStorage *)storage->v.obj;
  int64_t n = tn_shape_nbytes("virtual machine", shape, ndim, t);
  if (n < 0) return -1;
  TN_CHECK(offset <= s->size && n <= s->size - offset, ValueError, NULL,
           "virtual machine: a tensor of %lld bytes at %lld in memory of %lld bytes", (long long)n,
           (long long)offset, (long long)s->size);
  tn_device dev = tn_vm_pool_device(s->pool);
  bool host = tn_device_is_host(dev);
  DLTensor dl = {.data = host ? (char *)s->data + offset : s->data,
                 .device = dev,
                 .ndim = ndim,
                 .dtype = t,
                 .shape = shape,
                 .byte_offset = host ? 0 : (uint64_t)offset};
  return tn_vm_put(dst, tn_tensor_from_dltensor(&dl, storage->v.obj));
}

/* d storage offset code bits lanes, then count and extents, or the register of a shape */
int tn_vm_alloc_tensor(tn_vm_machine *m, const int64_t *w, tn_any *r) {
  int64_t shape[TN_VM_MAX_NDIM];
  int32_t ndim;
  (void)m;
  if (w[0] == TN_VM_ALLOC_TENSOR) {
    ndim = (int32_t)w[7];
    memcpy(shape, w + 8, (size_t)ndim * sizeof *shape);
  } else TN_TRY(shape_in(&r[w[7]], shape, &ndim));
  return make_tensor(&r[w[1]], &r[w[2]], w[3], dtype_of_words(w + 4), shape, ndim);
}

/* ---- shapes ---- */

/* A shape as a tensor, int64 on the host. */
static int put_shape(tn_vm_machine *m, const int64_t *shape, int64_t ndim, tn_any *dst) {
  tn_VMStorage *s;
  TN_GET(s, tn_vm_pool_alloc(m->host_pool, ndim * (int64_t)sizeof *shape));
  if (ndim) memcpy(s->data, shape, (size_t)ndim * sizeof *shape);
  tn_any storage = tn_any_obj(s);
  int err = make_tensor(dst, &storage, 0, TN_I64, &ndim, 1);
  tn_release(s);
  return err;
}

int tn_vm_shape_in(tn_any *reg, const int64_t **shape, int64_t *ndim) {
  tn_tensor *t;
  *ndim = 0;
  if (reg->type_index == TN_VM_SCALAR) return 0;
  TN_GET(t, tensor_in(reg));
  *ndim = t->dl.ndim;
  *shape = t->dl.shape;
  return 0;
}

int tn_vm_shape_of(tn_vm_machine *m, const int64_t *w, tn_any *r) {
  int64_t ndim;
  const int64_t *shape = NULL;
  TN_TRY(tn_vm_shape_in(&r[w[2]], &shape, &ndim));
  return put_shape(m, shape, ndim, &r[w[1]]);
}

int tn_vm_extent(tn_any *r, const int64_t *registers, int64_t number, int64_t *out) {
  int64_t ndim, at = -(number + 1);
  const int64_t *shape = NULL;
  *out = number;
  if (number >= 0) return 0;
  TN_TRY(tn_vm_shape_in(&r[registers[at / TN_VM_MAX_NDIM]], &shape, &ndim));
  TN_CHECK(at % TN_VM_MAX_NDIM < ndim, ValueError, NULL,
           "virtual machine: extent %lld of a tensor of %lld dimensions",
           (long long)(at % TN_VM_MAX_NDIM), (long long)ndim);
  *out = shape[at % TN_VM_MAX_NDIM];
  return 0;
}

/* make_shape: d tensors extents */
int tn_vm_make_shape(tn_vm_machine *m, const int64_t *w, tn_any *r) {
  int64_t out[TN_VM_MAX_NDIM], n = w[3 + w[2]];
  for (int64_t i = 0; i < n; ++i) TN_TRY(tn_vm_extent(r, w + 3, w[4 + w[2] + i], &out[i]));
  return put_shape(m, out, n, &r[w[1]]);
}

int tn_vm_reshape(tn_vm_machine *m, const int64_t *w, tn_any *r) {
  int64_t shape[TN_VM_MAX_NDIM];
  int32_t ndim;
  tn_tensor *t;
  (void)m;
  TN_GET(t, tensor_in(&r[w[2]]));
  TN_TRY(shape_in(&r[w[3]], shape, &ndim));
  int64_t n = tn_shape_count("reshape", shape, ndim);
  if (n < 0) return -1;
  TN_CHECK(n == tn_tensor_count(&t->dl), ValueError, NULL,
           "reshape: %lld elements cannot become %lld", (long long)tn_tensor_count(&t->dl),
           (long long)n);
  return tn_vm_put(&r[w[1]], tn_tensor_view(t, shape, ndim, t->dl.dtype, 0));
}

int tn_vm_device_copy(tn_vm_machine *m, const int64_t *w, tn_any *r) {
  tn_tensor *t;
  TN_GET(t, tensor_in(&r[w[2]]));
  return tn_vm_put(&r[w[1]], tn_tensor_clone(&t->dl, m->devices[w[4]], NULL));
}

/* ---- arguments ---- */

static bool fits(const tn_vm_machine *m, const DLTensor *dl, tn_device dev) {
  return dl->device.device_type == dev.device_type && dl->device.device_id == dev.device_id &&
         tn_tensor_is_contiguous(dl) &&
         (!tn_device_is_host(dev) || tn_tensor_is_aligned(dl, m->align));
}

/* Primitives may count on the natural alignment of elements at least. */
static bool is_natural(const DLTensor *dl) {
  int64_t item = tn_dtype_item_bytes(dl->dtype);
  return item <= 0 || tn_tensor_is_aligned(dl, (size_t)(item & -item));
}

/* A tensor on the device, laid out as primitives want it. */
static int fitted(const tn_vm_machine *m, const tn_any *a, const DLTensor *dl, tn_device dev,
                  tn_any *out) {
  if (a->type_index == TN_TI_NDArray && fits(m, dl, dev) && is_natural(dl))
    return tn_any_own(a, out);
  tn_tensor *t;
  TN_GET(t, tn_tensor_clone(dl, dev, NULL));
  *out = tn_any_obj(t);
  return 0;
}

/* The same for tensors in a tuple or sequence; other data is as its owner has made it. */
static int fitted_fields(const tn_vm_machine *m, const tn_any *a, tn_device dev, tn_any *out) {
  const tn_tuple *t = (const tn_tuple *)a->v.obj;
  bool all = true;
  for (int64_t i = 0; i < t->len && all; ++i) {
    const tn_any *x = &t->fields[i];
    all = x->type_index != TN_TI_NDArray || fits(m, tn_tensor_dl((tn_tensor *)x->v.obj), dev);
  }
  if (all) return tn_any_own(a, out);
  int64_t n = 0;
  int err = 0;
  TN_AUTOFREE tn_any *fields = tn_alloc_zero((size_t)t->len + 1, sizeof *fields);
  if (!fields) return -1;
  for (; n < t->len && !err; n += !err) {
    const tn_any *x = &t->fields[n];
    bool tensor = x->type_index == TN_TI_NDArray;
    err = tensor ? fitted(m, x, tn_tensor_dl((tn_tensor *)x->v.obj), dev, &fields[n])
                 : tn_any_own(x, &fields[n]);
  }
  tn_tuple *made = err ? NULL : tn_tuple_new(t->tag, fields, n);
  while (n > 0) tn_any_release(&fields[--n]);
  return tn_ret_owned(out, made);
}

int tn_vm_argument(const tn_vm_machine *m, const tn_vm_function *f, int32_t i, const tn_any *a,
                   tn_any *out) {
  tn_device dev = m->devices[f->param_devices[i]];
  const DLTensor *dl;
  *out = tn_any_none();
  if (a->type_index == TN_NONE) return tn_vm_check_argument(f, i, a); /* it is missing */
  if (tn_any_is_obj(a) && a->type_index != TN_TI_NDArray) {
    bool data = a->type_index == TN_TI_ADT;
    bool known = data || a->type_index == TN_TI_VMClosure || a->type_index == TN_TI_VMRef;
    TN_CHECK(known, TypeError, NULL,
             "%s: parameter %s: expected a tensor, an ADT or a closure, got %s", f->name,
             f->params[i], tn_type_key((uint32_t)a->type_index));
    TN_TRY(tn_vm_check_argument(f, i, a));
    return data ? fitted_fields(m, a, dev, out) : tn_any_own(a, out);
  }
  if (tn_any_to_dltensor(a, &dl)) return tn_error_note("%s: parameter %s", f->name, f->params[i]);
  TN_TRY(tn_vm_check_argument(f, i, a));
  return fitted(m, a, dl, dev, out);
}
