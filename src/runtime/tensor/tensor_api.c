/* Tensors as Python makes and fills them: the functions "runtime.Tensor*" that have no counterpart
   in the extension. Extents are given one by one, so that no array has to be made for a call. */
#include "object/dtype.h"
#include "object/functions.h"
#include "runtime/tensor/tensor.h"

/* Arguments from `first` on as a shape. `dims` has room for TN_MAX_NDIM. */
static int shape_args(const char *name, const tn_any *args, int32_t n, int32_t first,
                      int64_t *dims) {
  TN_CHECK(n - first <= TN_MAX_NDIM, ValueError, NULL, "%s: expected at most %d dimensions, got %d",
           name, TN_MAX_NDIM, n - first);
  for (int32_t i = first; i < n; ++i) TN_TRY(tn_any_to_int(&args[i], &dims[i - first]));
  return 0;
}

/* (dtype, device, mem_scope or None, extent...) -> tensor */
static int empty(TN_ARGS) {
  int64_t dims[TN_MAX_NDIM];
  tn_dtype dtype;
  tn_device dev;
  const char *scope = NULL;
  TN_CHECK(n >= 3, TypeError, NULL, "runtime.TensorEmpty: expected dtype, device and scope");
  TN_TRY(tn_any_to_dtype(&args[0], &dtype));
  TN_TRY(tn_any_to_device(&args[1], &dev));
  if (args[2].type_index != TN_NONE) TN_TRY(tn_any_to_cstr(&args[2], &scope));
  TN_TRY(shape_args("runtime.TensorEmpty", args, n, 3, dims));
  return tn_ret_owned(ret, tn_tensor_new(dims, n - 3, dtype, dev, scope));
}

/* (tensor, dtype, byte offset, extent...) -> view */
static int view(TN_ARGS) {
  int64_t dims[TN_MAX_NDIM], offset;
  tn_tensor *t;
  tn_dtype dtype;
  TN_CHECK(n >= 3, TypeError, NULL, "runtime.TensorView: expected tensor, dtype and byte offset");
  TN_TRY(tn_any_to_tensor(&args[0], &t));
  TN_TRY(tn_any_to_dtype(&args[1], &dtype));
  TN_TRY(tn_any_to_int(&args[2], &offset));
  TN_TRY(shape_args("runtime.TensorView", args, n, 3, dims));
  return tn_ret_owned(ret, tn_tensor_view(t, dims, n - 3, dtype, offset));
}

static int bytes_args(const char *name, const tn_any *args, int32_t n, void **data,
                      int64_t *nbytes) {
  TN_TRY(tn_check_nargs(name, n, 3));
  TN_TRY(tn_any_to_ptr(&args[1], data));
  TN_TRY(tn_any_to_int(&args[2], nbytes));
  TN_CHECK(*nbytes >= 0, ValueError, NULL, "%s: expected a number of bytes, got %lld", name,
           (long long)*nbytes);
  return 0;
}

/* (tensor, address, number of bytes): the elements, compact, from host memory */
static int copy_from_bytes(TN_ARGS) {
  DLTensor *t;
  void *data;
  int64_t nbytes;
  TN_TRY(bytes_args("runtime.TensorCopyFromBytes", args, n, &data, &nbytes));
  TN_TRY(tn_any_to_writable(&args[0], &t));
  TN_TRY(tn_tensor_copy_from_bytes(t, data, (size_t)nbytes));
  return 0;
}

static int copy_to_bytes(TN_ARGS) {
  const DLTensor *t;
  void *data;
  int64_t nbytes;
  TN_TRY(bytes_args("runtime.TensorCopyToBytes", args, n, &data, &nbytes));
  TN_TRY(tn_any_to_dltensor(&args[0], &t));
  TN_TRY(tn_tensor_copy_to_bytes(t, data, (size_t)nbytes));
  return 0;
}

/* (address of a DLTensor) -> tensor over its memory; the caller keeps both alive */
static int from_handle(TN_ARGS) {
  void *dl;
  TN_NARGS("runtime.TensorFromHandle", 1);
  TN_TRY(tn_any_to_ptr(&args[0], &dl));
  TN_CHECK(dl, ValueError, NULL, "runtime.TensorFromHandle: the address is null");
  return tn_ret_owned(ret, tn_tensor_from_dltensor(dl, NULL));
}

/* (tensor) -> address of its DLTensor, valid while the tensor lives */
static int handle(TN_ARGS) {
  tn_tensor *t;
  TN_NARGS("runtime.TensorHandle", 1);
  TN_TRY(tn_any_to_tensor(&args[0], &t));
  *ret = tn_any_ptr(tn_tensor_dl(t));
  return 0;
}

/* (src, dst): elements across devices and layouts */
static int copy(TN_ARGS) {
  const DLTensor *src;
  DLTensor *dst;
  TN_NARGS("runtime.TensorCopyFromTo", 2);
  TN_TRY(tn_any_to_dltensor(&args[0], &src));
  TN_TRY(tn_any_to_writable(&args[1], &dst));
  TN_TRY(tn_tensor_copy(src, dst));
  return 0;
}

/* (src, dst): the same between element types, for those that numpy does not have */
static int convert(TN_ARGS) {
  const DLTensor *src;
  DLTensor *dst;
  TN_NARGS("runtime.TensorConvert", 2);
  TN_TRY(tn_any_to_dltensor(&args[0], &src));
  TN_TRY(tn_any_to_writable(&args[1], &dst));
  TN_TRY(tn_tensor_convert(src, dst));
  return 0;
}

static const tn_func_row rows[] = {
    {"runtime.TensorEmpty", empty},
    {"runtime.TensorView", view},
    {"runtime.TensorCopyFromBytes", copy_from_bytes},
    {"runtime.TensorCopyToBytes", copy_to_bytes},
    {"runtime.TensorCopyFromTo", copy},
    {"runtime.TensorConvert", convert},
    {"runtime.TensorFromHandle", from_handle},
    {"runtime.TensorHandle", handle},
};

int tn_tensor_api_init(void) { return tn_func_register_rows(rows, TN_COUNT(rows)); }
