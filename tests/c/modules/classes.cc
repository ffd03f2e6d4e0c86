// A library as Relay-era programs write them in C++: arrays of their own class, a device, and
// functions over the compiler's expressions. tests/python/test_cpp_classes.py builds and loads it.
#include <tvm/runtime/container/array.h>
#include <tvm/runtime/device_api.h>
#include <tvm/runtime/ndarray.h>
#include <tvm/runtime/packed_func.h>
#include <tvm/runtime/registry.h>
#include <tvm/tir/op.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

using namespace tvm;
using namespace tvm::runtime;
using tvm::tir::Var;

namespace test_classes {

// ---- an array that knows where it came from ----

class Tagged : public NDArray {
public:
  class Container : public NDArray::Container {
  public:
    explicit Container(int64_t n, std::string tag)
        : tag(std::move(tag)), data(static_cast<size_t>(n), 1.5f), shape{n} {
      type_index_ = RuntimeTypeIndex();
      dl_tensor =
          DLTensor{data.data(), {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, shape.data(), nullptr, 0};
      ++alive;
    }
    ~Container() { --alive; }
    std::string tag;
    std::vector<float> data;
    std::vector<int64_t> shape;
    static int alive;
    static constexpr const uint32_t _type_index = TypeIndex::kDynamic;
    static constexpr const char *_type_key = "test.classes.Tagged";
    TVM_DECLARE_FINAL_OBJECT_INFO(Container, NDArray::Container);
  };
  Tagged() {}
  explicit Tagged(ObjectPtr<Object> n) : NDArray(n) {}
  Tagged(int64_t n, std::string tag) {
    Container *made = new Container(n, std::move(tag));
    made->SetDeleter([](Object *obj) { delete static_cast<Container *>(obj); });
    data_ = GetObjectPtr<Object>(made);
  }
  const std::string &tag() const { return static_cast<Container *>(get_mutable())->tag; }
  using ContainerType = Container;
};
int Tagged::Container::alive = 0;
TVM_REGISTER_OBJECT_TYPE(Tagged::Container);

// A class that forgets its number.
class Nameless : public NDArray::Container {};

TVM_REGISTER_GLOBAL("test.classes.make").set_body([](TVMArgs args, TVMRetValue *rv) {
  *rv = Tagged(args[0], args[1].operator std::string());
  ICHECK_EQ(rv->type_code(), kTVMNDArrayHandle);
});
TVM_REGISTER_GLOBAL("test.classes.tag").set_body_typed([](Tagged t) { return t.tag(); });
TVM_REGISTER_GLOBAL("test.classes.alive").set_body_typed([] { return Tagged::Container::alive; });
// The sum of any array's elements: of the library's, and of ours.
TVM_REGISTER_GLOBAL("test.classes.sum").set_body_typed([](NDArray x) {
  double sum = 0;
  for (int64_t i = 0; i < x.Shape()[0]; ++i) sum += static_cast<const float *>(x->data)[i];
  return sum;
});
TVM_REGISTER_GLOBAL("test.classes.view").set_body_typed([](NDArray x) {
  return x.CreateView(ShapeTuple({1}), DataType::Float(32));
});
TVM_REGISTER_GLOBAL("test.classes.copy").set_body([](TVMArgs args, TVMRetValue *rv) {
  DLTensor *from = args[0];
  NDArray to = NDArray::Empty(ShapeTuple(from->shape, from->shape + 1), from->dtype, {kDLCPU, 0});
  to.CopyFrom(from);
  *rv = to;
});
TVM_REGISTER_GLOBAL("test.classes.nameless").set_body([](TVMArgs, TVMRetValue *) {
  Nameless made;
  made.SetDeleter([](Object *) {});
});
TVM_REGISTER_GLOBAL("test.classes.unowned").set_body([](TVMArgs, TVMRetValue *) {
  Nameless made;
  GetObjectPtr<Object>(&made);
});

// ---- a device whose memory is counted ----

class Counted : public DeviceAPI {
public:
  std::map<void *, size_t> pieces;
  void SetDevice(Device) final {}
  void GetAttr(Device, DeviceAttrKind kind, TVMRetValue *rv) final {
    if (kind == kExist) *rv = 1;
    if (kind == kDeviceName) *rv = "counted";
    if (kind == kWarpSize) throw Error("ValueError: it has no warps");
  }
  void *AllocDataSpace(Device, size_t nbytes, size_t alignment, DLDataType) final {
    if (nbytes > 1 << 20) return nullptr;
    void *p = std::aligned_alloc(alignment, (nbytes / alignment + 1) * alignment);
    pieces[p] = nbytes;
    return p;
  }
  void FreeDataSpace(Device, void *ptr) final {
    pieces.erase(ptr);
    std::free(ptr);
  }
  void StreamSync(Device, TVMStreamHandle) final {}

protected:
  void CopyDataFromTo(const void *from, size_t from_offset, void *to, size_t to_offset, size_t n,
                      Device, Device, DLDataType, TVMStreamHandle) final {
    std::memcpy(static_cast<char *>(to) + to_offset, static_cast<const char *>(from) + from_offset,
                n);
  }
};

Counted *counted() {
  static Counted *devices = new Counted();
  return devices;
}
TVM_REGISTER_GLOBAL("device_api.ext_dev").set_body([](TVMArgs, TVMRetValue *rv) {
  *rv = static_cast<void *>(static_cast<DeviceAPI *>(counted()));
});
TVM_REGISTER_GLOBAL("test.classes.pieces").set_body_typed([] {
  return static_cast<int64_t>(counted()->pieces.size());
});
TVM_REGISTER_GLOBAL("test.classes.devices").set_body_typed([](std::string name) {
  const PackedFunc *f = Registry::Get("device_api." + name);
  return f ? 1 : 0;
});
// The operations of the CPU and of the device: memory, copies, streams.
TVM_REGISTER_GLOBAL("test.classes.use").set_body_typed([](int type) {
  Device dev{static_cast<DLDeviceType>(type), 0};
  DeviceAPI *api = DeviceAPI::Get(dev);
  int64_t shape[] = {4};
  float data[] = {1, 2, 3, 4};
  DLTensor host{data, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, shape, nullptr, 0};
  DLTensor there = host;
  there.device = dev;
  there.data = api->AllocWorkspace(dev, sizeof data, host.dtype);
  api->CopyDataFromTo(&host, &there);
  data[3] = 0;
  api->CopyDataFromTo(&there, &host);
  TVMStreamHandle stream = api->CreateStream(dev);
  api->SetStream(dev, stream);
  api->StreamSync(dev, stream);
  api->SetStream(dev, nullptr);
  api->FreeStream(dev, stream);
  api->FreeWorkspace(dev, there.data);
  return static_cast<double>(data[3]);
});

// ---- expressions ----

TVM_REGISTER_GLOBAL("test.classes.expressions").set_body_typed([](Var a, PrimExpr b) {
  return Array<PrimExpr>({a + b,
                          a - 1,
                          2 * a,
                          a / b,
                          a < b,
                          a == b,
                          !(a != b),
                          (a > 0) && (b >= a),
                          (a <= 0) || (b < 1),
                          -a,
                          ~a,
                          a & b,
                          a | 3,
                          a ^ b,
                          a << 2,
                          a >> b,
                          floordiv(a, 4),
                          floormod(a, b),
                          truncmod(a, b),
                          max(a, b),
                          min(a, 0),
                          if_then_else(a > b, a, b),
                          cast(DataType::Float(32), a),
                          abs(a),
                          PrimExpr(2.5f)});
});
TVM_REGISTER_GLOBAL("test.classes.var").set_body_typed([](std::string name) {
  return Var(name, DataType::Int(64));
});

} // namespace test_classes

// What a library declares without the table of global functions.
extern "C" int test_classes_declare(TVMFunctionHandle declare) {
  const PackedFunc &f = GetRef<PackedFunc>(static_cast<PackedFuncObj *>(declare));
  f("mul", PackedFunc([](TVMArgs args, TVMRetValue *rv) {
      int x = args[0], y = args[1];
      *rv = x * y;
    }));
  f("none", nullptr);
  return 0;
}
extern "C" int test_classes_declare_nothing(TVMFunctionHandle) { return 3; }
