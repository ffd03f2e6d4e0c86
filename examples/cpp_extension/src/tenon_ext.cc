// The extension of examples/c_extension against the C++ headers of the Relay-era interface, as an
// existing extension is written: nothing in here knows that the library below is another one.
#include <tvm/runtime/packed_func.h>
#include <tvm/runtime/registry.h>

using namespace tvm::runtime;

void MyAdd(TVMArgs args, TVMRetValue *rv) {
  int a = args[0]; // converted to the type that is asked for, or a TypeError
  int b = args[1];
  *rv = a + b;
}

TVM_REGISTER_GLOBAL("cpp_ext.myadd").set_body(MyAdd);

TVM_REGISTER_GLOBAL("cpp_ext.callhello").set_body([](TVMArgs args, TVMRetValue *rv) {
  PackedFunc f = args[0];
  f("hello world");
});

// A function that is made from another one and a number.
TVM_REGISTER_GLOBAL("cpp_ext.bind_add").set_body([](TVMArgs args, TVMRetValue *rv) {
  PackedFunc add = args[0];
  int b = args[1];
  *rv = PackedFunc([add, b](TVMArgs inner, TVMRetValue *result) { *result = add(b, inner[0]); });
});

// An object of a class of the extension's own; Python holds and passes it like any other.
class IntVectorObj : public Object {
public:
  std::vector<int> items;
  static constexpr const char *_type_key = "cpp_ext.IntVector";
  TVM_DECLARE_FINAL_OBJECT_INFO(IntVectorObj, Object);
};

class IntVector : public ObjectRef {
public:
  TVM_DEFINE_OBJECT_REF_METHODS(IntVector, ObjectRef, IntVectorObj);
};

TVM_REGISTER_OBJECT_TYPE(IntVectorObj);

TVM_REGISTER_GLOBAL("cpp_ext.ivec_create").set_body([](TVMArgs args, TVMRetValue *rv) {
  auto n = make_object<IntVectorObj>();
  for (int i = 0; i < args.size(); ++i) n->items.push_back(args[i].operator int());
  *rv = IntVector(n);
});

TVM_REGISTER_GLOBAL("cpp_ext.ivec_get").set_body_typed([](IntVector v, int i) {
  CHECK(i >= 0 && i < static_cast<int>(v->items.size()))
      << "IndexError: " << i << " of " << v->items.size();
  return v->items[static_cast<size_t>(i)];
});

// The sum of a float32 tensor.
TVM_REGISTER_GLOBAL("cpp_ext.sum").set_body_typed([](NDArray x) {
  CHECK(x.DataType() == DataType::Float(32)) << "TypeError: expected float32, got " << x.DataType();
  CHECK(x->device.device_type == kDLCPU && x.IsContiguous()) << "ValueError: not in host memory";
  const float *data = static_cast<const float *>(x->data);
  int64_t n = 1;
  for (int64_t d : x.Shape()) n *= d;
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += static_cast<double>(data[i]);
  return sum;
});
