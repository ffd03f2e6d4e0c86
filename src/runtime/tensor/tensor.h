/* Tensors: a DLTensor as an object. The public operations are in tenon/runtime.h; here are the
   layout and what the runtime's own files share.

   A tensor owns memory of its device, or borrows it: from another object (`owner`: the tensor a
   view was made of, a file mapping) or from a DLPack producer, whose deleter is called when the
   tensor goes. `dl.strides` is NULL for every compact tensor, whatever the producer said, so "NULL
   means compact" is the one test that compiled code needs. Booleans are uint1, one byte each. */
#ifndef TN_RUNTIME_TENSOR_TENSOR_H_
#define TN_RUNTIME_TENSOR_TENSOR_H_

#include "runtime/types.h"
#include "tenon/runtime.h"

/** Whose memory a tensor's data is. */
typedef enum {
  TN_MEM_BORROWED,  /* of `owner` (or, without one, of a caller who promised to keep it) */
  TN_MEM_DEVICE,    /* of the tensor: `block`, allocated through the device's API */
  TN_MEM_DLPACK,    /* of a producer: `legacy` */
  TN_MEM_VERSIONED, /* of a producer: `versioned` */
} tn_tensor_memory;

struct tn_NDArray {
  tn_obj hdr;
  DLTensor dl; /* directly behind the header: see tn_tensor_dl */
  tn_obj *owner;
  union {
    void *block;
    DLManagedTensor *legacy;
    DLManagedTensorVersioned *versioned;
  } from;
  uint8_t memory; /* tn_tensor_memory */
  bool read_only; /* the producer asked that nobody writes */
  int64_t dims[]; /* shape, then strides when there are any */
};

extern const tn_type_hooks tn_tensor_hooks;

/** Elements of a shape.
 *  @param what name for messages ("tensor", "from_dlpack")
 *  @return the count, or -1: ValueError when ndim is out of range, shape is NULL though ndim > 0,
 *  an extent is negative, or the count overflows. */
int64_t tn_shape_count(const char *what, const int64_t *shape, int32_t ndim);
/** Bytes of a compact tensor of this shape and type, or -1 (ValueError, as above and for a dtype
 *  without size). */
int64_t tn_shape_nbytes(const char *what, const int64_t *shape, int32_t ndim, tn_dtype dtype);
/** Bytes of one element; 0 for types packed below a byte (int4). */
int64_t tn_dtype_item_bytes(tn_dtype dtype);
/** The library's spelling of a dtype: DLPack's bool becomes uint1. */
tn_dtype tn_dtype_canonical(tn_dtype dtype);

/** ValueError for a tensor that is read-only: whoever writes to one that others gave asks before.
 */
int tn_tensor_check_writable(const tn_tensor *t);

/** Address of the first element of a tensor in host memory; NULL data of an empty one stays NULL.
 */
static inline char *tn_tensor_first(const DLTensor *dl) {
  return dl->byte_offset ? (char *)dl->data + dl->byte_offset : dl->data;
}

/** Gives a tensor whose memory nobody keeps for it memory of its own, with the same content. */
TN_API int tn_tensor_own_memory(tn_tensor *t);

/** Makes the holder of a value, a tensor or tuples of such, the only one who sees the memory of its
 * tensors: those that others hold too are replaced by copies. @param value owned, also on failure
 */
TN_API int tn_unshare(tn_any *value);

/** ValueError: "what: expected shape (2, 3), got (3,)". */
int tn_wrong_shape(const char *what, const int64_t *shape, int32_t ndim, const DLTensor *given);

/** Calls fn for runs of elements that correspond in two host tensors of one shape, in row-major
   order: n elements of `item` bytes, `sa` and `sb` bytes apart. Dimensions are merged where both
   layouts allow, so compact tensors are one run. Stops when fn returns non-zero, and returns that.
   Item sizes below a byte are the caller's to treat: `item` must be positive. */
typedef int (*tn_run_fn)(void *ctx, char *a, int64_t sa, char *b, int64_t sb, int64_t n,
                         int64_t item);
int tn_tensor_walk(const DLTensor *a, const DLTensor *b, int64_t item, tn_run_fn fn, void *ctx);

/** Registers the functions "runtime.Tensor*"; part of tn_runtime_init. */
int tn_tensor_api_init(void);

#endif /* TN_RUNTIME_TENSOR_TENSOR_H_ */
