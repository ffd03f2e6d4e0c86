/** Optional<T>: a reference that may be to nothing, for classes whose references may not. */
#ifndef TVM_RUNTIME_CONTAINER_OPTIONAL_H_
#define TVM_RUNTIME_CONTAINER_OPTIONAL_H_

#include <utility>

#include "tvm/runtime/object.h"

namespace tvm {
namespace runtime {

struct NullOptType {};
static constexpr NullOptType NullOpt{};

template <typename T> class Optional : public ObjectRef {
public:
  using ContainerType = typename T::ContainerType;
  static constexpr bool _type_is_nullable = true;

  Optional() = default;
  explicit Optional(ObjectPtr<Object> n) : ObjectRef(std::move(n)) {}
  Optional(NullOptType) {}
  explicit Optional(std::nullptr_t) {}
  Optional(T value) : ObjectRef(value.ptr()) {}

  T value() const {
    ICHECK(defined()) << "the optional value is not set";
    return T(data_);
  }
  T value_or(T other) const { return defined() ? T(data_) : other; }
  explicit operator bool() const { return defined(); }
  bool operator==(std::nullptr_t) const { return !defined(); }
  bool operator!=(std::nullptr_t) const { return defined(); }
};

} // namespace runtime

using runtime::NullOpt;
using runtime::Optional;

} // namespace tvm

#endif // TVM_RUNTIME_CONTAINER_OPTIONAL_H_
