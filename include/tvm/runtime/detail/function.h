/** The class PackedFunc; what its functions do is defined in packed_func.h. */
#ifndef TVM_RUNTIME_DETAIL_FUNCTION_H_
#define TVM_RUNTIME_DETAIL_FUNCTION_H_

#include <type_traits>
#include <utility>

#include "tvm/runtime/object.h"

namespace tvm {
namespace runtime {

class TVMArgs;
class TVMRetValue;

class PackedFuncObj : public Object {
public:
  static constexpr const char *_type_key = "runtime.PackedFunc";
  TVM_SHIM_NATIVE_OBJECT_INFO(PackedFuncObj)
};

/** A function; null when default-constructed. */
class PackedFunc : public ObjectRef {
public:
  using ContainerType = PackedFuncObj;

  PackedFunc() = default;
  PackedFunc(std::nullptr_t) {}
  explicit PackedFunc(ObjectPtr<Object> n) : ObjectRef(std::move(n)) {}
  /** Of anything that can be called as f(TVMArgs, TVMRetValue *). */
  template <typename F,
            typename = typename std::enable_if<std::is_invocable<
                const typename std::decay<F>::type &, TVMArgs, TVMRetValue *>::value>::type>
  explicit PackedFunc(F f);

  template <typename... Args> inline TVMRetValue operator()(Args &&...args) const;
  inline void CallPacked(TVMArgs args, TVMRetValue *rv) const;
  bool operator==(std::nullptr_t) const { return !defined(); }
  bool operator!=(std::nullptr_t) const { return defined(); }
};

template <typename Signature> class TypedPackedFunc;

} // namespace runtime
} // namespace tvm

#endif // TVM_RUNTIME_DETAIL_FUNCTION_H_
