/** Memory and streams of a device. */
#ifndef TVM_RUNTIME_DEVICE_API_H_
#define TVM_RUNTIME_DEVICE_API_H_

#include <ostream>
#include <string>

#include "tvm/runtime/ndarray.h"
#include "tvm/runtime/packed_func.h"

namespace tvm {
namespace runtime {

namespace detail {
struct DeviceTable;
}

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

/**
 * Operations on the devices of one type; all of them throw when they fail. A class derived from it
 * serves a type of device by its name:
 *
 *     TVM_REGISTER_GLOBAL("device_api.ext_dev").set_body([](TVMArgs, TVMRetValue *rv) {
 *       static MyDevices *devices = new MyDevices();
 *       *rv = static_cast<void *>(static_cast<DeviceAPI *>(devices));
 *     });
 *
 * The function is called once, when it is registered.
 */
class DeviceAPI {
public:
  virtual ~DeviceAPI() = default;
  /** @return the operations; nullptr for a missing device if that is allowed */
  static DeviceAPI *Get(Device dev, bool allow_missing = false);

  virtual void SetDevice(Device dev) = 0;
  /** Leaves the result null for an attribute that the device does not have. */
  virtual void GetAttr(Device dev, DeviceAttrKind kind, TVMRetValue *rv) = 0;
  virtual void *AllocDataSpace(Device dev, size_t nbytes, size_t alignment,
                               DLDataType type_hint) = 0;
  virtual void FreeDataSpace(Device dev, void *ptr) = 0;
  virtual void StreamSync(Device dev, TVMStreamHandle stream) = 0;

  virtual size_t GetDataSize(const DLTensor &arr, Optional<String> mem_scope = NullOpt) {
    (void)mem_scope;
    return runtime::GetDataSize(arr);
  }
  /** Copies compact tensors. */
  virtual void CopyDataFromTo(DLTensor *from, DLTensor *to, TVMStreamHandle stream = nullptr) {
    ICHECK(IsContiguous(*from) && IsContiguous(*to)) << "copy: the tensors are not compact";
    ICHECK_EQ(runtime::GetDataSize(*from), runtime::GetDataSize(*to)) << "copy: other sizes";
    CopyDataFromTo(from->data, from->byte_offset, to->data, to->byte_offset,
                   runtime::GetDataSize(*from), from->device, to->device, from->dtype, stream);
  }
  virtual TVMStreamHandle CreateStream(Device) { return nullptr; }
  virtual void FreeStream(Device, TVMStreamHandle) {}
  virtual void SetStream(Device, TVMStreamHandle) {}
  virtual void SyncStreamFromTo(Device dev, TVMStreamHandle from, TVMStreamHandle) {
    StreamSync(dev, from);
  }
  /** Memory for a call. */
  virtual void *AllocWorkspace(Device dev, size_t nbytes, DLDataType type_hint = {}) {
    return AllocDataSpace(dev, nbytes, kTempAllocaAlignment, type_hint);
  }
  virtual void FreeWorkspace(Device dev, void *ptr) { FreeDataSpace(dev, ptr); }

protected:
  friend struct detail::DeviceTable;
  virtual void CopyDataFromTo(const void *, size_t, void *, size_t, size_t, Device, Device,
                              DLDataType, TVMStreamHandle) {
    throw Error("DeviceError: the device's class does not copy: it defines no CopyDataFromTo");
  }
};

namespace detail {

/** What the library has for a type of device. */
class LibraryDevices : public DeviceAPI {
public:
  void SetDevice(Device) override {}
  void GetAttr(Device dev, DeviceAttrKind kind, TVMRetValue *rv) override {
    TVMFunctionHandle f = nullptr;
    CheckLast(TVMFuncGetGlobal("runtime.GetDeviceAttr", &f));
    *rv = AdoptRef<PackedFunc>(static_cast<tn_obj *>(f))(static_cast<int>(dev.device_type),
                                                         dev.device_id, static_cast<int>(kind));
  }
  void *AllocDataSpace(Device dev, size_t nbytes, size_t alignment, DLDataType type_hint) override {
    return CheckNew(
        static_cast<char *>(tn_device_alloc(dev, nbytes, alignment, type_hint, nullptr)));
  }
  void FreeDataSpace(Device dev, void *ptr) override { CheckCall(tn_device_free(dev, ptr)); }
  void CopyDataFromTo(DLTensor *from, DLTensor *to, TVMStreamHandle stream = nullptr) override {
    CheckLast(TVMDeviceCopyDataFromTo(from, to, stream));
  }
  void StreamSync(Device dev, TVMStreamHandle stream) override {
    CheckCall(tn_device_sync(dev, stream));
  }
  TVMStreamHandle CreateStream(Device dev) override {
    TVMStreamHandle out = nullptr;
    CheckLast(TVMStreamCreate(dev.device_type, dev.device_id, &out));
    return out;
  }
  void FreeStream(Device dev, TVMStreamHandle stream) override {
    CheckLast(TVMStreamFree(dev.device_type, dev.device_id, stream));
  }
  void SetStream(Device dev, TVMStreamHandle stream) override {
    CheckLast(TVMSetStream(dev.device_type, dev.device_id, stream));
  }
  /** The type it stands for; 0 for operations that are not of this class. */
  static int TypeOf(const DeviceAPI *api) {
    for (int type = 1; type < TN_DEVICE_REMOTE; ++type)
      if (api == &All()[type]) return type;
    return 0;
  }
  static LibraryDevices *All() {
    static LibraryDevices *all = new LibraryDevices[TN_DEVICE_REMOTE + 1]; /* never deleted */
    return all;
  }
};

/** A class of C++ as the table of functions that the library calls; `self` is the DeviceAPI. */
struct DeviceTable {
  template <typename F> static int Guard(F f) {
    try {
      f();
      return 0;
    } catch (...) {
      return ReportException();
    }
  }
  static DeviceAPI *Of(void *self) { return static_cast<DeviceAPI *>(self); }
  static int Attr(void *self, tn_device dev, tn_device_attr kind, tn_any *out) {
    return Guard([&] {
      TVMRetValue rv;
      Of(self)->GetAttr(dev, static_cast<DeviceAttrKind>(kind), &rv);
      *out = tn_any_none();
      if (rv.type_code() == kTVMArgInt) *out = tn_any_int(rv);
      else if (rv.type_code() != kTVMNullptr)
        *out = tn_any_obj(ObjectPtr<Object>(String(rv.operator std::string()).ptr()).Detach());
    });
  }
  static int Alloc(void *self, tn_device dev, size_t nbytes, size_t align, tn_dtype dtype,
                   const char *, void **out) {
    return Guard([&] {
      *out = Of(self)->AllocDataSpace(dev, nbytes, align, dtype);
      if (!*out) throw Error("MemoryError: the device has no memory left");
    });
  }
  static int Free(void *self, tn_device dev, void *data) {
    return Guard([&] { Of(self)->FreeDataSpace(dev, data); });
  }
  static int Copy(void *self, const void *src, size_t src_offset, tn_device src_dev, void *dst,
                  size_t dst_offset, tn_device dst_dev, size_t nbytes, void *stream) {
    return Guard([&] {
      Of(self)->CopyDataFromTo(src, src_offset, dst, dst_offset, nbytes, src_dev, dst_dev,
                               runtime::DataType::UInt(8), stream);
    });
  }
  static int Sync(void *self, tn_device dev, void *stream) {
    return Guard([&] { Of(self)->StreamSync(dev, stream); });
  }
  static int StreamNew(void *self, tn_device dev, void **out) {
    return Guard([&] { *out = Of(self)->CreateStream(dev); });
  }
  static int StreamFree(void *self, tn_device dev, void *stream) {
    return Guard([&] { Of(self)->FreeStream(dev, stream); });
  }
  static int StreamSet(void *self, tn_device dev, void *stream) {
    return Guard([&] { Of(self)->SetStream(dev, stream); });
  }
  static int StreamWait(void *self, tn_device dev, void *src, void *dst) {
    return Guard([&] { Of(self)->SyncStreamFromTo(dev, src, dst); });
  }
  /** Lives as long as the process, as the library asks. */
  static const tn_device_api *New(DeviceAPI *api) {
    return new tn_device_api{sizeof(tn_device_api),
                             api,
                             Attr,
                             Alloc,
                             Free,
                             Copy,
                             Sync,
                             StreamNew,
                             StreamFree,
                             StreamSet,
                             StreamWait};
  }
};

/** Type of device that a global function "device_api.NAME" is for, -1 for other functions. */
inline int DeviceTypeOfGlobal(const std::string &name) {
  static const char prefix[] = "device_api.";
  if (name.compare(0, sizeof prefix - 1, prefix) != 0) return -1;
  CheckCall(tn_runtime_init());
  return tn_device_type_find(name.c_str() + sizeof prefix - 1);
}
/** The operations that a function gives, for a type of device. */
inline void RegisterDevices(int type, const PackedFunc &give) {
  void *ptr = give();
  if (!ptr) throw Error("ValueError: the function of a device gave no DeviceAPI");
  DeviceAPI *api = static_cast<DeviceAPI *>(ptr);
  int other = LibraryDevices::TypeOf(api);
  const tn_device_api *table =
      other ? CheckNew(const_cast<tn_device_api *>(tn_device_api_of(other, false)))
            : DeviceTable::New(api);
  CheckCall(tn_device_register_api(type, table));
}

} // namespace detail

inline DeviceAPI *DeviceAPI::Get(Device dev, bool allow_missing) {
  int type = static_cast<int>(dev.device_type);
  detail::CheckCall(tn_runtime_init());
  if (tn_device_api_of(type, allow_missing))
    return &detail::LibraryDevices::All()[type < TN_DEVICE_REMOTE ? type : TN_DEVICE_REMOTE];
  if (!allow_missing) detail::ThrowPending();
  return nullptr;
}

} // namespace runtime
} // namespace tvm

inline std::ostream &operator<<(std::ostream &os, DLDevice dev) {
  return os << ::tvm::runtime::DeviceName(dev.device_type) << '(' << dev.device_id << ')';
}

#endif // TVM_RUNTIME_DEVICE_API_H_
