/* The exported Relay-era symbols for tensors, devices and streams. A TVMArrayHandle is the DLTensor
   inside a tensor object, except where a function only reads the description: those take any
   DLTensor. */
#include "base/error.h"
#include "runtime/library/legacy_abi.h"

#include "object/dtype.h"
#include "runtime/tensor/tensor.h"

static tn_device device_of(int device_type, int device_id) {
  return (tn_device){(DLDeviceType)device_type, device_id};
}

static int end(int err) { return err ? tn_legacy_fail() : 0; }

/* ---- tensors ---- */

static int give(tn_tensor *t, TVMArrayHandle *out) {
  *out = t ? tn_tensor_dl(t) : NULL;
  return t ? 0 : tn_legacy_fail();
}

int TVMArrayAlloc(const tvm_index_t *shape, int ndim, int code, int bits, int lanes,
                  int device_type, int device_id, TVMArrayHandle *out) {
  if (tn_runtime_init()) return tn_legacy_fail();
  return give(tn_tensor_new(shape, ndim, tn_dtype_of(code, bits, lanes),
                            device_of(device_type, device_id), NULL),
              out);
}

int TVMArrayFree(TVMArrayHandle handle) {
  if (handle) tn_release(tn_tensor_of_dl(handle));
  return 0;
}

int TVMArrayCopyFromBytes(TVMArrayHandle handle, void *data, size_t nbytes) {
  if (tn_tensor_check_writable(tn_tensor_of_dl(handle))) return tn_legacy_fail();
  return end(tn_tensor_copy_from_bytes(handle, data, nbytes));
}

int TVMArrayCopyToBytes(TVMArrayHandle handle, void *data, size_t nbytes) {
  return end(tn_tensor_copy_to_bytes(handle, data, nbytes));
}

/* Copies are ordered after everything on the current stream; one that names another stream waits
   for that first. */
static int copy(const DLTensor *from, DLTensor *to, TVMStreamHandle stream) {
  tn_device dev = tn_device_is_host(from->device) ? to->device : from->device;
  if (stream) TN_TRY(tn_device_sync(dev, stream));
  return tn_tensor_copy(from, to);
}

int TVMArrayCopyFromTo(TVMArrayHandle from, TVMArrayHandle to, TVMStreamHandle stream) {
  return end(copy(from, to, stream));
}

int TVMDeviceCopyDataFromTo(DLTensor *from, DLTensor *to, TVMStreamHandle stream) {
  return end(copy(from, to, stream));
}

int TVMArrayFromDLPack(DLManagedTensor *from, TVMArrayHandle *out) {
  return give(tn_tensor_from_dlpack(from), out);
}

int TVMArrayToDLPack(TVMArrayHandle from, DLManagedTensor **out) {
  *out = tn_tensor_to_dlpack(tn_tensor_of_dl(from));
  return end(!*out);
}

void TVMDLManagedTensorCallDeleter(DLManagedTensor *t) {
  if (t && t->deleter) t->deleter(t);
}

/* ---- devices ---- */

int TVMDeviceAllocDataSpace(DLDevice dev, size_t nbytes, size_t alignment, DLDataType type_hint,
                            void **out) {
  *out = tn_runtime_init() ? NULL : tn_device_alloc(dev, nbytes, alignment, type_hint, NULL);
  return end(!*out);
}

int TVMDeviceAllocDataSpaceWithScope(DLDevice dev, int ndim, const int64_t *shape, DLDataType dtype,
                                     const char *mem_scope, void **out) {
  int64_t count = 1;
  *out = NULL;
  if (tn_runtime_init()) return tn_legacy_fail();
  for (int i = 0; i < ndim; ++i) {
    if (shape[i] < 0 || __builtin_mul_overflow(count, shape[i], &count)) count = -1;
    if (count < 0) break;
  }
  int64_t nbytes = tn_dtype_bytes(dtype, count);
  if (nbytes < 0) {
    TN_RAISE(ValueError, NULL,
             "TVMDeviceAllocDataSpaceWithScope: the shape has a negative extent "
             "or more bytes than can be counted");
    return tn_legacy_fail();
  }
  *out = tn_device_alloc(dev, (size_t)nbytes, TN_TENSOR_ALIGN, dtype, mem_scope);
  return end(!*out);
}

int TVMDeviceFreeDataSpace(DLDevice dev, void *ptr) { return end(tn_device_free(dev, ptr)); }

int TVMSynchronize(int device_type, int device_id, TVMStreamHandle stream) {
  if (tn_runtime_init()) return tn_legacy_fail();
  return end(tn_device_sync(device_of(device_type, device_id), stream));
}

/* ---- streams ---- */

static const tn_device_api *api_of(int device_type) {
  return tn_runtime_init() ? NULL : tn_device_api_of(device_type, false);
}

/* A device without streams runs everything in order: the operations then do nothing. */
int TVMStreamCreate(int device_type, int device_id, TVMStreamHandle *out) {
  const tn_device_api *api = api_of(device_type);
  *out = NULL;
  if (!api) return tn_legacy_fail();
  return api->stream_new ? end(api->stream_new(api->self, device_of(device_type, device_id), out))
                         : 0;
}

int TVMStreamFree(int device_type, int device_id, TVMStreamHandle stream) {
  const tn_device_api *api = api_of(device_type);
  if (!api) return tn_legacy_fail();
  return api->stream_free
             ? end(api->stream_free(api->self, device_of(device_type, device_id), stream))
             : 0;
}

int TVMSetStream(int device_type, int device_id, TVMStreamHandle stream) {
  const tn_device_api *api = api_of(device_type);
  if (!api) return tn_legacy_fail();
  return api->stream_set
             ? end(api->stream_set(api->self, device_of(device_type, device_id), stream))
             : 0;
}

int TVMStreamStreamSynchronize(int device_type, int device_id, TVMStreamHandle src,
                               TVMStreamHandle dst) {
  const tn_device_api *api = api_of(device_type);
  if (!api) return tn_legacy_fail();
  return api->stream_wait
             ? end(api->stream_wait(api->self, device_of(device_type, device_id), src, dst))
             : 0;
}
