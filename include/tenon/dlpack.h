/**
 * The DLPack structures (protocol version 1.1), spelled so that a file may also include
 * <dlpack/dlpack.h>.
 *
 * Layouts follow the DLPack specification (https://dmlc.github.io/dlpack/latest/c_api.html): a
 * producer hands a DLManagedTensor (legacy) or DLManagedTensorVersioned to one consumer, which
 * calls its deleter exactly once.
 */
#ifndef TENON_DLPACK_H_
#define TENON_DLPACK_H_

#include <stddef.h>
#include <stdint.h>

#ifndef DLPACK_DLPACK_H_
#define DLPACK_DLPACK_H_

#ifdef __cplusplus
extern "C" {
#endif

#define DLPACK_MAJOR_VERSION 1
#define DLPACK_MINOR_VERSION 1

typedef struct {
  uint32_t major;
  uint32_t minor;
} DLPackVersion;

typedef enum {
  kDLCPU = 1,
  kDLCUDA = 2,
  kDLCUDAHost = 3,
  kDLOpenCL = 4,
  kDLVulkan = 7,
  kDLMetal = 8,
  kDLVPI = 9,
  kDLROCM = 10,
  kDLROCMHost = 11,
  kDLExtDev = 12,
  kDLCUDAManaged = 13,
  kDLOneAPI = 14,
  kDLWebGPU = 15,
  kDLHexagon = 16,
} DLDeviceType;

typedef struct {
  DLDeviceType device_type;
  int32_t device_id;
} DLDevice;

typedef enum {
  kDLInt = 0U,
  kDLUInt = 1U,
  kDLFloat = 2U,
  kDLOpaqueHandle = 3U,
  kDLBfloat = 4U,
  kDLComplex = 5U,
  kDLBool = 6U,
  kDLFloat8_e4m3fn = 10U,
  kDLFloat8_e5m2 = 12U,
} DLDataTypeCode;

typedef struct {
  uint8_t code;   /**< a DLDataTypeCode */
  uint8_t bits;   /**< bits of one lane */
  uint16_t lanes; /**< vector lanes, 1 for a scalar */
} DLDataType;

typedef struct {
  void *data; /**< start of the allocation; the first element is byte_offset bytes further */
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t *shape;   /**< ndim extents */
  int64_t *strides; /**< ndim strides in elements, or NULL for compact row-major */
  uint64_t byte_offset;
} DLTensor;

typedef struct DLManagedTensor {
  DLTensor dl_tensor;
  void *manager_ctx;
  void (*deleter)(struct DLManagedTensor *self);
} DLManagedTensor;

#define DLPACK_FLAG_BITMASK_READ_ONLY (1UL << 0UL)
#define DLPACK_FLAG_BITMASK_IS_COPIED (1UL << 1UL)

typedef struct DLManagedTensorVersioned {
  DLPackVersion version;
  void *manager_ctx;
  void (*deleter)(struct DLManagedTensorVersioned *self);
  uint64_t flags; /**< DLPACK_FLAG_BITMASK_* */
  DLTensor dl_tensor;
} DLManagedTensorVersioned;

#ifdef __cplusplus
}
#endif
#endif /* DLPACK_DLPACK_H_ */
#endif /* TENON_DLPACK_H_ */
