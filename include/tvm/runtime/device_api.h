/** Memory and streams of a device. */
#ifndef TVM_RUNTIME_DEVICE_API_H_
#define TVM_RUNTIME_DEVICE_API_H_

#include <ostream>
#include <string>

#include "tvm/runtime/ndarray.h"
#include "tvm/runtime/packed_func.h"

namespace tvm {
namespace runtime {

/** What a device can be asked for. */
enum DeviceAttrKind : int {
  kExist = 0,
  kMaxThreadsPerBlock = 1,
  kWarpSize = 2,
  kMaxSharedMemoryPerBlock = 3,
  kComputeVersion = 4,
  kDeviceName = 5,
  kMaxClockRate = 6,
  kMultiProcessorCount = 7,
  kMaxThreadDimensions = 8,
  kMaxRegistersPerBlock = 9,
  kGcnArch = 10,
  kApiVersion = 11,
  kDriverVersion = 12
};

/** Alignment of memory for tensors and for temporary memory, in bytes. */
constexpr int kAllocAlignment = 64;
constexpr int kTempAllocaAlignment = 64;

inline const char *DeviceName(int device_type) {
  const char *name = tn_device_type_name(device_type);
  return name ? name : "unknown";
}

/** Operations on the devices of one type; all of them throw when they fail. */
class DeviceAPI {
public:
  /** @return the operations; nullptr for a missing device if that is allowed */
  static DeviceAPI *Get(Device dev, bool allow_missing = false) {
    static DeviceAPI api;
    detail::CheckCall(tn_runtime_init());
    if (tn_device_api_of(dev.device_type, allow_missing)) return &api;
    if (!allow_missing) detail::ThrowPending();
    return nullptr;
  }
  void GetAttr(Device dev, DeviceAttrKind kind, TVMRetValue *rv) {
    *rv = detail::AdoptRef<PackedFunc>(static_cast<tn_obj *>(Global("runtime.GetDeviceAttr")))(
        static_cast<int>(dev.device_type), dev.device_id, static_cast<int>(kind));
  }
  void *AllocDataSpace(Device dev, size_t nbytes, size_t alignment, DLDataType type_hint) {
    return detail::CheckNew(
        static_cast<char *>(tn_device_alloc(dev, nbytes, alignment, type_hint, nullptr)));
  }
  void FreeDataSpace(Device dev, void *ptr) { detail::CheckCall(tn_device_free(dev, ptr)); }
  void CopyDataFromTo(DLTensor *from, DLTensor *to, TVMStreamHandle stream = nullptr) {
    detail::CheckLast(TVMDeviceCopyDataFromTo(from, to, stream));
  }
  void StreamSync(Device dev, TVMStreamHandle stream) {
    detail::CheckCall(tn_device_sync(dev, stream));
  }
  TVMStreamHandle CreateStream(Device dev) {
    TVMStreamHandle out = nullptr;
    detail::CheckLast(TVMStreamCreate(dev.device_type, dev.device_id, &out));
    return out;
  }
  void FreeStream(Device dev, TVMStreamHandle stream) {
    detail::CheckLast(TVMStreamFree(dev.device_type, dev.device_id, stream));
  }
  void SetStream(Device dev, TVMStreamHandle stream) {
    detail::CheckLast(TVMSetStream(dev.device_type, dev.device_id, stream));
  }

private:
  static TVMFunctionHandle Global(const char *name) {
    TVMFunctionHandle f = nullptr;
    detail::CheckLast(TVMFuncGetGlobal(name, &f));
    return f;
  }
};

} // namespace runtime
} // namespace tvm

inline std::ostream &operator<<(std::ostream &os, DLDevice dev) {
  return os << ::tvm::runtime::DeviceName(dev.device_type) << '(' << dev.device_id << ')';
}

#endif // TVM_RUNTIME_DEVICE_API_H_
