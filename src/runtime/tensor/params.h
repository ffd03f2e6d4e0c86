/* The parameter format, shared by params_save.c and params_load.c. All numbers little-endian:

     list   u64 magic, u64 0, u64 count, count names (u64 length, bytes), u64 count, count arrays
     array  u64 magic, u64 0, i32 device type (1), i32 device id (0), i32 ndim,
            dtype (u8 code, u8 bits, u16 lanes), ndim i64 extents, i64 bytes of data, data

   Data is compact and row-major; packed types (int4) are rounded up to whole bytes. */
#ifndef TN_RUNTIME_TENSOR_PARAMS_H_
#define TN_RUNTIME_TENSOR_PARAMS_H_

#include "runtime/tensor/tensor.h"

#define TN_PARAMS_MAGIC UINT64_C(0xF7E58D4F05049CB7)
#define TN_ARRAY_MAGIC  UINT64_C(0xDD5E40F096B4A13F)

/* bytes of an array but for its extents and data */
enum { TN_ARRAY_FIXED_BYTES = 40 };

/** Reads one array: a read-only view of the reader's data, at any address, when that has an owner,
 * else a copy. Owned, or NULL: ValueError "Invalid DLTensor file format". */
TN_OWNED tn_tensor *tn_tensor_read(tn_reader *r);

int tn_params_save_init(void);
int tn_params_load_init(void);

#endif /* TN_RUNTIME_TENSOR_PARAMS_H_ */
