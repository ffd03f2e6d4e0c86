/**
 * The table of global functions.
 *
 *     TVM_REGISTER_GLOBAL("my.add").set_body([](TVMArgs args, TVMRetValue *rv) { ... });
 *     TVM_REGISTER_GLOBAL("my.mul").set_body_typed([](int a, int b) { return a * b; });
 *     const PackedFunc *f = Registry::Get("my.add");
 */
#ifndef TVM_RUNTIME_REGISTRY_H_
#define TVM_RUNTIME_REGISTRY_H_

#include <iostream>
#include <list>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tvm/runtime/device_api.h"
#include "tvm/runtime/packed_func.h"

namespace tvm {
namespace runtime {

/** An entry of the table. */
class Registry {
public:
  Registry &set_body(PackedFunc f) {
    try {
      detail::CheckLast(TVMFuncRegisterGlobal(name_.c_str(), f.handle(), override_));
      int device = detail::DeviceTypeOfGlobal(name_);
      if (device > 0) detail::RegisterDevices(device, f);
    } catch (const std::exception &e) {
      /* an exception from a static constructor would end the process that loads the library */
      if (!at_load_) throw;
      std::cerr << "TVM_REGISTER_GLOBAL: " << e.what() << std::endl;
    }
    return *this;
  }
  template <typename F,
            typename = typename std::enable_if<std::is_invocable<
                const typename std::decay<F>::type &, TVMArgs, TVMRetValue *>::value>::type>
  Registry &set_body(F f) {
    return set_body(PackedFunc(std::move(f)));
  }
  /** A function, lambda or function object with arguments of C++ types. */
  template <typename F> Registry &set_body_typed(F f) {
    using Signature = typename detail::SignatureOf<typename std::decay<F>::type>::type;
    return set_body(detail::PackTyped<Signature>(std::move(f), name_));
  }
  /** A method of the object behind a reference, which becomes the first argument. */
  template <typename T, typename R, typename... Args>
  Registry &set_body_method(R (T::*f)(Args...)) {
    return set_body_typed([f](T ref, Args... args) -> R { return (ref.*f)(args...); });
  }
  template <typename T, typename R, typename... Args>
  Registry &set_body_method(R (T::*f)(Args...) const) {
    return set_body_typed([f](const T ref, Args... args) -> R { return (ref.*f)(args...); });
  }

  static Registry &Register(const std::string &name, bool override = false) {
    return New(name, override, false);
  }
  /** For TVM_REGISTER_GLOBAL: a name that is taken is reported on stderr. */
  static Registry &RegisterAtLoad(const std::string &name) { return New(name, false, true); }

  static bool Remove(const std::string &name) { return TVMFuncRemoveGlobal(name.c_str()) == 0; }
  /** The function called `name`, or nullptr; valid for the life of the process. */
  static const PackedFunc *Get(const std::string &name) {
    TVMFunctionHandle handle = nullptr;
    detail::CheckLast(TVMFuncGetGlobal(name.c_str(), &handle));
    PackedFunc f = handle ? detail::AdoptRef<PackedFunc>(static_cast<tn_obj *>(handle))
                          : DevicesOfLibrary(name);
    if (f == nullptr) return nullptr;
    std::lock_guard<std::mutex> guard(Known().lock);
    std::list<PackedFunc> &versions = Known().functions[name];
    for (const PackedFunc &known : versions) {
      if (known.same_as(f) || !handle) return &known;
    }
    versions.push_back(f);
    return &versions.back();
  }
  static std::vector<std::string> ListNames() {
    int n = 0;
    const char **names = nullptr;
    detail::CheckLast(TVMFuncListGlobalNames(&n, &names));
    return std::vector<std::string>(names, names + n);
  }

private:
  Registry(const std::string &name, bool override, bool at_load)
      : name_(name), override_(override), at_load_(at_load) {}

  struct Table {
    std::mutex lock;
    std::list<Registry> entries;
    std::unordered_map<std::string, std::list<PackedFunc>> functions;
  };
  static Table &Known() {
    static Table *table = new Table(); /* outlives static destructors */
    return *table;
  }
  static Registry &New(const std::string &name, bool override, bool at_load) {
    std::lock_guard<std::mutex> guard(Known().lock);
    Known().entries.push_back(Registry(name, override, at_load));
    return Known().entries.back();
  }

  /** "device_api.cpu": the operations of devices that the library has need no function. */
  static PackedFunc DevicesOfLibrary(const std::string &name) {
    int type = detail::DeviceTypeOfGlobal(name);
    if (type <= 0 || !tn_device_api_of(type, true)) return nullptr;
    DeviceAPI *api = DeviceAPI::Get(Device{static_cast<DLDeviceType>(type), 0});
    return PackedFunc([api](TVMArgs, TVMRetValue *rv) { *rv = static_cast<void *>(api); });
  }

  std::string name_;
  bool override_, at_load_;
};

} // namespace runtime
} // namespace tvm

/** Registers a function when the library is loaded; to be followed by .set_body(...). */
#define TVM_REGISTER_GLOBAL(OpName)                                                                \
  static __attribute__((unused)) ::tvm::runtime::Registry &TVM_SHIM_JOIN(                          \
      tvm_global_, __COUNTER__) = ::tvm::runtime::Registry::RegisterAtLoad(OpName)

/** Exports a C++ function under `ExportName` as compiled functions are: a module finds it. */
#define TVM_DLL_EXPORT_PACKED_FUNC(ExportName, Function)                                           \
  extern "C" TVM_DLL int ExportName(TVMValue *args, int *type_codes, int num_args,                 \
                                    TVMValue *out_value, int *out_code, void *) {                  \
    return ::tvm::runtime::detail::CallExported(Function, args, type_codes, num_args, out_value,   \
                                                out_code);                                         \
  }
#define TVM_DLL_EXPORT_TYPED_FUNC(ExportName, Function)                                            \
  extern "C" TVM_DLL int ExportName(TVMValue *args, int *type_codes, int num_args,                 \
                                    TVMValue *out_value, int *out_code, void *) {                  \
    using Signature = typename ::tvm::runtime::detail::SignatureOf<                                \
        typename std::decay<decltype(Function)>::type>::type;                                      \
    auto body = [](::tvm::runtime::TVMArgs a, ::tvm::runtime::TVMRetValue *rv) {                   \
      using Call = ::tvm::runtime::detail::CallTyped<Signature>;                                   \
      Call::Run(Function, #ExportName, a, rv, typename Call::Indices());                           \
    };                                                                                             \
    return ::tvm::runtime::detail::CallExported(body, args, type_codes, num_args, out_value,       \
                                                out_code);                                         \
  }

#endif // TVM_RUNTIME_REGISTRY_H_
