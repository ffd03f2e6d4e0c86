// The C++ headers of Relay-era programs (include/tvm/runtime): as extensions and deployers use
// them.
#include <dlpack/dlpack.h>
#include <tvm/runtime/c_backend_api.h>
#include <tvm/runtime/container/adt.h>
#include <tvm/runtime/container/array.h>
#include <tvm/runtime/container/map.h>
#include <tvm/runtime/container/shape_tuple.h>
#include <tvm/runtime/device_api.h>
#include <tvm/runtime/module.h>
#include <tvm/runtime/ndarray.h>
#include <tvm/runtime/packed_func.h>
#include <tvm/runtime/registry.h>

#include <cmath>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <set>
#include <csetjmp>
#include <string>
#include <vector>

extern "C" {
#include <cmocka.h>
}

using namespace tvm::runtime;

namespace {

// ---- what an extension registers ----

void MyAdd(TVMArgs args, TVMRetValue *rv) {
  int a = args[0];
  int b = args[1];
  *rv = a + b;
}
TVM_REGISTER_GLOBAL("test.shim.myadd").set_body(MyAdd);
TVM_REGISTER_GLOBAL("test.shim.callhello").set_body([](TVMArgs args, TVMRetValue *) {
  PackedFunc f = args[0];
  f("hello world");
});
TVM_REGISTER_GLOBAL("test.shim.scale").set_body_typed([](double x, int64_t n) {
  return x * static_cast<double>(n);
});

class IntVectorObj : public Object {
public:
  std::vector<int> items;
  static int alive;
  IntVectorObj() { ++alive; }
  virtual ~IntVectorObj() { --alive; } // a vtable: the base is not at the start
  static constexpr const char *_type_key = "test.shim.IntVector";
  TVM_DECLARE_BASE_OBJECT_INFO(IntVectorObj, Object)
};
int IntVectorObj::alive = 0;

class NamedVectorObj : public IntVectorObj {
public:
  std::string name = "named";
  static constexpr const char *_type_key = "test.shim.NamedVector";
  TVM_DECLARE_FINAL_OBJECT_INFO(NamedVectorObj, IntVectorObj)
};

class IntVector : public ObjectRef {
public:
  TVM_DEFINE_MUTABLE_OBJECT_REF_METHODS(IntVector, ObjectRef, IntVectorObj)
};
TVM_REGISTER_OBJECT_TYPE(IntVectorObj);

TVM_REGISTER_GLOBAL("test.shim.ivec").set_body([](TVMArgs args, TVMRetValue *rv) {
  auto n = make_object<IntVectorObj>();
  for (int i = 0; i < args.size(); ++i) n->items.push_back(args[i].operator int());
  *rv = IntVector(n);
});
TVM_REGISTER_GLOBAL("test.shim.ivec_get").set_body([](TVMArgs args, TVMRetValue *rv) {
  IntVector v = args[0];
  *rv = v->items[static_cast<size_t>(args[1].operator int())];
});

enum class Color : int { kRed = 0, kBlue = 7 };

// ---- helpers ----

const PackedFunc &Get(const std::string &name) {
  const PackedFunc *f = Registry::Get(name);
  assert_non_null(f);
  return *f;
}

// Runs f, which must throw, and returns the text.
template <typename F> std::string Thrown(F f) {
  try {
    f();
  } catch (const Error &e) {
    return e.what();
  }
  fail_msg("%s", "nothing was thrown");
  return "";
}

void AssertEqual(const std::string &got, const std::string &want) {
  assert_string_equal(got.c_str(), want.c_str());
}

// ---- functions ----

void TestRegistry(void **) {
  int five = Get("test.shim.myadd")(2, 3);
  assert_int_equal(five, 5);
  assert_null(Registry::Get("test.shim.nothing"));
  assert_ptr_equal(Registry::Get("test.shim.myadd"), Registry::Get("test.shim.myadd"));
  std::vector<std::string> names = Registry::ListNames();
  assert_true(std::set<std::string>(names.begin(), names.end()).count("test.shim.scale") == 1);
  AssertEqual(Thrown([] { Registry::Register("test.shim.myadd").set_body(MyAdd); }).substr(0, 15),
              "Global PackedFu");
  Registry::Register("test.shim.temporary").set_body_typed([]() { return 1; });
  const PackedFunc *old = Registry::Get("test.shim.temporary");
  Registry::Register("test.shim.temporary", true).set_body_typed([]() { return 2; });
  assert_int_equal(Get("test.shim.temporary")().operator int(), 2);
  assert_int_equal((*old)().operator int(), 1); // stays valid
  assert_true(Registry::Remove("test.shim.temporary"));
  assert_false(Registry::Remove("test.shim.temporary"));
}

void TestPlainArguments(void **) {
  PackedFunc echo([](TVMArgs args, TVMRetValue *rv) { *rv = args[0]; });
  int64_t big = INT64_MAX;
  assert_true(echo(big).operator int64_t() == big);
  assert_true(std::fabs(echo(2.5f).operator double() - 2.5) < 1e-12);
  assert_true(echo(3).operator double() > 2.9); // an int is taken where a float is wanted
  assert_true(echo(true).operator bool());
  std::string text = echo("text"), other = echo(std::string("x"));
  AssertEqual(text, "text");
  AssertEqual(other, "x");
  assert_int_equal(echo(nullptr).type_code(), kTVMNullptr);
  assert_null(echo(nullptr).operator void *());
  assert_ptr_equal(echo(static_cast<void *>(&big)).operator void *(), &big);
  DLDevice dev = echo(DLDevice{kDLCUDA, 3});
  assert_true(dev.device_type == kDLCUDA && dev.device_id == 3);
  DataType t = echo(DataType::Float(16, 4));
  assert_true(t == DataType::Float(16, 4));
  DLDataType parsed = echo("int8x4");
  assert_true(DataType(parsed) == DataType::Int(8, 4));
  AssertEqual(echo(DataType::Bool()), "bool");
  assert_int_equal(static_cast<int>(echo(Color::kBlue)), 7);
  TVMByteArray bytes{"a\0b", 3};
  std::string back = echo(bytes);
  assert_true(back == std::string("a\0b", 3));
  PackedFunc inner = echo(echo);
  assert_true(inner.same_as(echo));
  PackedFunc none = echo(nullptr);
  assert_true(none == nullptr);
}

void TestConversionsThatDoNotFit(void **) {
  AssertEqual(Thrown([] { Get("test.shim.myadd")(4, "five"); }),
              "TypeError: expected int, but got str");
  AssertEqual(Thrown([] { Get("test.shim.myadd")(4); }),
              "TypeError: argument 1 is missing, 1 were given");
  AssertEqual(Thrown([] { Get("test.shim.myadd")(int64_t(1) << 40, 1); }),
              "ValueError: 1099511627776 does not fit an int");
  AssertEqual(Thrown([] { Get("test.shim.callhello")(1); }),
              "TypeError: expected runtime.PackedFunc, but got int");
  AssertEqual(Thrown([] { Get("test.shim.callhello")(String("s")); }),
              "TypeError: expected runtime.PackedFunc, but got str");
  AssertEqual(Thrown([] { Get("test.shim.scale")(1.0, "x"); }),
              "TypeError: test.shim.scale: argument 1: expected int, but got str");
  AssertEqual(Thrown([] { Get("test.shim.scale")(1.0); }),
              "TypeError: test.shim.scale: expected 2 arguments, got 1");
  AssertEqual(Thrown([] { PackedFunc()(); }), "TypeError: a null PackedFunc was called");
}

void TestTypedFunctions(void **) {
  TypedPackedFunc<int(int, const std::string &)> f(
      [](int a, const std::string &s) { return a + static_cast<int>(s.size()); });
  assert_int_equal(f(1, "abc"), 4);
  PackedFunc packed = f;
  assert_int_equal(packed(2, "").operator int(), 2);
  TypedPackedFunc<int(int, const std::string &)> again = packed;
  assert_int_equal(again(0, "z"), 1);
  int seen = 0;
  TypedPackedFunc<void(int)> sink([&seen](int x) { seen = x; });
  Registry::Register("test.shim.twice").set_body_typed([](TypedPackedFunc<void(int)> g, int x) {
    g(x);
    g(2 * x);
  });
  Get("test.shim.twice")(sink, 21);
  assert_int_equal(seen, 42);
  TypedPackedFunc<PackedFunc(int)> adder([](int a) {
    return PackedFunc([a](TVMArgs args, TVMRetValue *rv) { *rv = a + args[0].operator int(); });
  });
  assert_int_equal(adder(40)(2).operator int(), 42);
  TypedPackedFunc<Color(Color)> color([](Color c) { return c; });
  assert_true(color(Color::kBlue) == Color::kBlue);
  Registry::Remove("test.shim.twice");
}

void TestManyArguments(void **) {
  PackedFunc count([](TVMArgs args, TVMRetValue *rv) {
    int sum = 0;
    for (int i = 0; i < args.num_args; ++i) sum += args[i].operator int();
    *rv = sum;
  });
  int sum = count(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20);
  assert_int_equal(sum, 210);
  assert_int_equal(count().operator int(), 0);
}

// ---- errors ----

void TestErrorClasses(void **) {
  struct {
    PackedFunc f;
    const char *text;
  } cases[] = {
      {PackedFunc([](TVMArgs, TVMRetValue *) { ICHECK_EQ(1 + 1, 3) << "sums"; }),
       "InternalError: Check failed: 1 + 1 == 3 (2 vs. 3) : sums"},
      {PackedFunc([](TVMArgs, TVMRetValue *) { ICHECK(false) << "ValueError: inner"; }),
       "InternalError: Check failed: (false) is false: ValueError: inner"},
      {PackedFunc([](TVMArgs, TVMRetValue *) { CHECK(1 > 2) << "ValueError: too small"; }),
       "ValueError: too small"},
      {PackedFunc([](TVMArgs, TVMRetValue *) { CHECK_LT(2, 1); }),
       "Check failed: 2 < 1 (2 vs. 1) : "},
      {PackedFunc([](TVMArgs, TVMRetValue *) { LOG(FATAL) << "no layout " << 7; }),
       "InternalError: no layout 7"},
      {PackedFunc([](TVMArgs, TVMRetValue *) { LOG(FATAL) << "KeyError: absent"; }),
       "KeyError: absent"},
      {PackedFunc([](TVMArgs, TVMRetValue *) { (void)std::vector<int>().at(3); }), nullptr},
      {PackedFunc([](TVMArgs, TVMRetValue *) { throw std::runtime_error("plain: words"); }),
       "RuntimeError: plain: words"},
      {PackedFunc([](TVMArgs, TVMRetValue *) { throw std::bad_alloc(); }),
       "MemoryError: out of memory"},
      {PackedFunc([](TVMArgs, TVMRetValue *) { throw 3; }),
       "RuntimeError: an exception that is not a std::exception"},
      {PackedFunc([](TVMArgs, TVMRetValue *) { throw Error("no class at all"); }),
       "no class at all"},
  };
  for (auto &c : cases) {
    std::string text = Thrown([&c] { c.f(); });
    if (c.text) AssertEqual(text, c.text);
    else AssertEqual(text.substr(0, 12), "IndexError: ");
  }
}

// An error of C code that goes through two C++ functions arrives as it was, trace included.
int RaiseInC(void *, const tn_any *, int32_t, tn_any *) {
  return TN_RAISE(KeyError, nullptr, "deep down");
}

void TestErrorsPassThrough(void **) {
  tn_func *c = tn_func_new(RaiseInC, nullptr, nullptr);
  PackedFunc deep = tvm::runtime::detail::AdoptRef<PackedFunc>(reinterpret_cast<tn_obj *>(c));
  PackedFunc outer([deep](TVMArgs, TVMRetValue *rv) { *rv = deep(); });
  tn_any ret;
  assert_int_equal(tn_func_call(reinterpret_cast<tn_func *>(outer.handle()), nullptr, 0, &ret), -1);
  assert_string_equal(tn_error_class(), "KeyError");
  assert_string_equal(tn_error_message(), "deep down");
  assert_int_equal(tn_error_get_kind(), TN_KeyError);
  tn_error_clear();
  // one that was handled on the way is gone
  PackedFunc handled([deep](TVMArgs, TVMRetValue *rv) {
    try {
      deep();
    } catch (const EnvErrorAlreadySet &e) {
      *rv = std::string(e.what());
    }
  });
  AssertEqual(handled(), "KeyError: deep down");
}

void TestMacrosAreStatements(void **) {
  bool other = false;
  if (other) ICHECK_EQ(1, 2);
  else other = true;
  assert_true(other);
  int evaluated = 0;
  CHECK_EQ(++evaluated, 1);
  ICHECK(true) << (evaluated = 5);
  assert_int_equal(evaluated, 1);
  LOG_IF(FATAL, false) << "not reached";
  VLOG(1) << "not shown";
  assert_ptr_equal(ICHECK_NOTNULL(&evaluated), &evaluated);
}

// ---- tensors ----

void TestTensors(void **) {
  DLDevice cpu{kDLCPU, 0};
  NDArray a = NDArray::Empty({2, 3}, DataType::Float(32), cpu);
  std::vector<float> data{1, 2, 3, 4, 5, 6}, back(6);
  a.CopyFromBytes(data.data(), 24);
  assert_int_equal(a->ndim, 2);
  assert_int_equal(a->shape[1], 3);
  assert_true(a.DataType() == DataType::Float(32) && a.IsContiguous());
  assert_int_equal(GetDataSize(*a.operator->()), 24);
  NDArray view = a.CreateView({3, 2}, DataType::Float(32));
  assert_ptr_equal(view->data, a->data);
  NDArray copy = view.CopyTo(cpu);
  assert_ptr_not_equal(copy->data, a->data);
  copy.CopyToBytes(back.data(), 24);
  assert_true(back == data);
  NDArray shared = NDArray::FromDLPack(a.ToDLPack());
  assert_ptr_equal(shared->data, a->data);
  assert_int_equal(shared.Shape().back(), 3);
  NDArray target = NDArray::Empty({2, 3}, DataType::Float(32), cpu);
  target.CopyFrom(shared);
  assert_true(static_cast<float *>(target->data)[5] > 5.5f);
  AssertEqual(Thrown([&] { a.CreateView({100}, DataType::Float(32)); }).substr(0, 11),
              "ValueError:");
  // as arguments: counted, by description, and through an ObjectRef
  PackedFunc f([](TVMArgs args, TVMRetValue *rv) {
    DLTensor *t = args[0];
    *rv = static_cast<float *>(t->data)[0];
  });
  assert_true(f(a).operator double() > 0.5);
  assert_true(f(const_cast<DLTensor *>(a.operator->())).operator double() > 0.5);
  PackedFunc id([](TVMArgs args, TVMRetValue *rv) {
    NDArray t = args[0];
    *rv = t;
  });
  NDArray same = id(ObjectRef(a));
  assert_true(same.same_as(a));
  int before = a.use_count();
  {
    TVMRetValue rv = id(a);
    assert_int_equal(a.use_count(), before + 1);
    TVMRetValue second = rv, third(std::move(rv));
    assert_int_equal(a.use_count(), before + 2);
  }
  assert_int_equal(a.use_count(), before);
}

void TestDevices(void **) {
  DLDevice cpu{kDLCPU, 0};
  DeviceAPI *api = DeviceAPI::Get(cpu);
  void *p = api->AllocDataSpace(cpu, 100, kAllocAlignment, DataType::UInt(8));
  assert_true(reinterpret_cast<uintptr_t>(p) % kAllocAlignment == 0);
  api->FreeDataSpace(cpu, p);
  api->StreamSync(cpu, nullptr);
  TVMRetValue exists;
  api->GetAttr(cpu, kExist, &exists);
  assert_int_equal(exists.operator int(), 1);
  assert_null(DeviceAPI::Get(DLDevice{kDLMetal, 0}, true));
  AssertEqual(Thrown([] { DeviceAPI::Get(DLDevice{kDLMetal, 0}); }).substr(0, 12), "DeviceError:");
  assert_string_equal(DeviceName(kDLCPU), "cpu");
}

// ---- containers ----

void TestContainers(void **) {
  Array<String> a{"x", "y"};
  a.push_back("z");
  a.Set(0, "w");
  std::string all;
  for (String s : a) all += s;
  AssertEqual(all, "wyz");
  AssertEqual(Thrown([&] { (void)a[3]; }), "IndexError: array index 3 out of range of 3");
  Map<String, Array<String>> m{{"first", a}};
  m.Set("second", Array<String>());
  assert_int_equal(m.size(), 2);
  assert_true(m.count("first") == 1 && m.count("third") == 0);
  AssertEqual(m.at("first").back(), "z");
  AssertEqual((*m.find("second")).first, "second");
  assert_true(m.find("third") == m.end());
  AssertEqual(Thrown([&] { m["third"]; }), "IndexError: key is not in Map");
  assert_true(m.Get("third") == nullptr);
  ShapeTuple shape{2, 3, 4};
  int64_t product = 1;
  for (int64_t d : shape) product *= d;
  assert_int_equal(product, 24);
  ADT tuple = ADT::Tuple(a, shape);
  assert_int_equal(tuple.size(), 2);
  assert_int_equal(tuple.tag(), 0);
  assert_true(tuple[1].as<ShapeTupleObj>() != nullptr);
  assert_null(tuple[1].as<ArrayNode>());
  // through a function, with the type checked
  PackedFunc f([](TVMArgs args, TVMRetValue *rv) {
    Map<String, Array<String>> map = args[0];
    Optional<String> maybe = args[1];
    *rv = maybe.defined() ? map.at(maybe.value()) : Array<String>();
  });
  Array<String> found = f(m, "first"), empty = f(m, nullptr);
  assert_true(found.same_as(a) && empty.empty());
  AssertEqual(Thrown([&] { f(a, nullptr); }), "TypeError: expected Map, but got Array");
  String sum = String("a\0b", 3) + "c";
  assert_int_equal(sum.size(), 4);
  assert_true(String("a") < String("b") && String("a") == "a" && std::string("a") == String("a"));
}

// ---- objects of C++ classes ----

void TestOwnObjects(void **) {
  int before = IntVectorObj::alive;
  {
    IntVector v = Get("test.shim.ivec")(10, 20, 30);
    assert_int_equal(v->items.size(), 3);
    assert_int_equal(Get("test.shim.ivec_get")(v, 2).operator int(), 30);
    v->items[2] = 31;
    assert_int_equal(Get("test.shim.ivec_get")(v, 2).operator int(), 31);
    assert_string_equal(tn_obj_key(v.handle()), "test.shim.IntVector");
    AssertEqual(v->GetTypeKey(), "test.shim.IntVector");
    assert_int_equal(v.use_count(), 1);
    ObjectRef any = v;
    assert_ptr_equal(any.as<IntVectorObj>(), v.get());
    assert_null(any.as<NamedVectorObj>());
    AssertEqual(Thrown([&] { Get("test.shim.ivec_get")(String("no"), 0); }),
                "TypeError: expected test.shim.IntVector, but got str");
    AssertEqual(Thrown([&] { Get("test.shim.ivec_get")(Array<String>(), 0); }),
                "TypeError: expected test.shim.IntVector, but got Array");
    ObjectPtr<NamedVectorObj> named = make_object<NamedVectorObj>();
    IntVector base(named);
    assert_true(base->IsInstance<NamedVectorObj>() && base->IsInstance<IntVectorObj>());
    AssertEqual(base.as<NamedVectorObj>()->name, "named");
    assert_true(Downcast<IntVector>(ObjectRef(base)).same_as(base));
    assert_true(GetRef<IntVector>(base.get()).same_as(base));
    Thrown([&] { Downcast<String>(base); });
    Array<IntVector> in_container{v, base};
    assert_int_equal(in_container[0]->items[0], 10);
    assert_int_equal(IntVectorObj::alive, before + 2);
  }
  assert_int_equal(IntVectorObj::alive, before);
}

// ---- modules ----

void TestModules(void **) {
  Module m = Module::LoadFromFile(TENON_TEST_MODULES "/packed.so");
  assert_string_equal(m->type_key(), "library");
  PackedFunc add_one = m.GetFunction("add_one"), missing = m.GetFunction("missing");
  assert_true(missing == nullptr);
  DLTensor *x, *y;
  int64_t shape[] = {4};
  TVMArrayAlloc(shape, 1, kDLFloat, 32, 1, kDLCPU, 0, &x);
  TVMArrayAlloc(shape, 1, kDLFloat, 32, 1, kDLCPU, 0, &y);
  for (int i = 0; i < 4; ++i) static_cast<float *>(x->data)[i] = static_cast<float>(i);
  add_one(x, y);
  assert_true(static_cast<float *>(y->data)[3] > 3.5f);
  TVMArrayFree(x);
  TVMArrayFree(y);
  AssertEqual(Thrown([&] { add_one(1); }), "TypeError: add_one: num_args should be 2");
  AssertEqual(Thrown([] { Module::LoadFromFile("/no/file.so"); }),
              "ValueError: cannot find file /no/file.so");
  Module other = Module::LoadFromFile(TENON_TEST_MODULES "/packed.so");
  m.Import(other);
  assert_true(m->imports().size() == 1 && m->imports()[0].same_as(other));
  AssertEqual(Thrown([&] { other->Import(m); }).substr(0, 11), "ValueError:");
  Module system = Get("runtime.SystemLib")();
  assert_string_equal(system->type_key(), "library");
  assert_true(RuntimeEnabled("cpu"));
}

// ---- functions exported as compiled ones are ----

std::string Join(const std::string &a, int64_t b) { return a + std::to_string(b); }
TVM_DLL_EXPORT_TYPED_FUNC(test_shim_join, Join)

void TestExportedFunctions(void **) {
  TVMBackendRegisterSystemLibSymbol("test_shim_join", reinterpret_cast<void *>(test_shim_join));
  Module system = Get("runtime.SystemLib")("test_shim_");
  PackedFunc join = system.GetFunction("join");
  AssertEqual(join("a", 1), "a1");
  AssertEqual(Thrown([&] { join(1, 1); }),
              "TypeError: test_shim_join: argument 0: expected str, but got int");
}

} // namespace

int main() {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(TestRegistry),
      cmocka_unit_test(TestPlainArguments),
      cmocka_unit_test(TestConversionsThatDoNotFit),
      cmocka_unit_test(TestTypedFunctions),
      cmocka_unit_test(TestManyArguments),
      cmocka_unit_test(TestErrorClasses),
      cmocka_unit_test(TestErrorsPassThrough),
      cmocka_unit_test(TestMacrosAreStatements),
      cmocka_unit_test(TestTensors),
      cmocka_unit_test(TestDevices),
      cmocka_unit_test(TestContainers),
      cmocka_unit_test(TestOwnObjects),
      cmocka_unit_test(TestModules),
      cmocka_unit_test(TestExportedFunctions),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
