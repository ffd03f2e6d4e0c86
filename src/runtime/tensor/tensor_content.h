/* Hooks of the tensor type: what equality, hash and JSON see of a tensor. */
#ifndef TN_RUNTIME_TENSOR_TENSOR_CONTENT_H_
#define TN_RUNTIME_TENSOR_TENSOR_CONTENT_H_

#include "runtime/tensor/tensor.h"

/** Same shape, dtype and bytes of elements? False with an error pending when a device failed. */
bool tn_tensor_content_equal(const tn_obj *a, const tn_obj *b);
uint64_t tn_tensor_content_hash(const tn_obj *self);
/** Appends the tensor in the parameter format (params.c). */
int tn_tensor_blob_save(const tn_obj *self, tn_buf *out);
tn_obj *tn_tensor_blob_load(const uint8_t *data, size_t n); /**< owned */

#endif /* TN_RUNTIME_TENSOR_TENSOR_CONTENT_H_ */
