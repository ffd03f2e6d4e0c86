/** Functions with a C++ signature as packed functions, and back. Included by packed_func.h. */
#ifndef TVM_RUNTIME_DETAIL_TYPED_H_
#define TVM_RUNTIME_DETAIL_TYPED_H_

#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "tvm/runtime/detail/values.h"

namespace tvm {
namespace runtime {

namespace detail {

/** Signature of a lambda, function object or function. */
template <typename F> struct SignatureOf : SignatureOf<decltype(&F::operator())> {};
template <typename R, typename... Args> struct SignatureOf<R(Args...)> { using type = R(Args...); };
template <typename R, typename... Args>
struct SignatureOf<R (*)(Args...)> : SignatureOf<R(Args...)> {};
template <typename C, typename R, typename... Args>
struct SignatureOf<R (C::*)(Args...)> : SignatureOf<R(Args...)> {};
template <typename C, typename R, typename... Args>
struct SignatureOf<R (C::*)(Args...) const> : SignatureOf<R(Args...)> {};

/** Argument i as a T; the error names the function and the argument. */
template <typename T> T Unpack(const TVMArgs &args, int i, const char *name) {
  using Plain = typename std::remove_cv<typename std::remove_reference<T>::type>::type;
  if constexpr (std::is_same<Plain, TVMArgValue>::value) {
    return args[i];
  } else {
    try {
      return args[i].As<Plain>();
    } catch (const Error &e) {
      std::string text = e.what(), place = std::string(name) + ": argument " + std::to_string(i);
      size_t colon = NamesErrorClass(text) ? text.find(':') : std::string::npos;
      if (colon == std::string::npos) throw Error(place + ": " + text);
      throw Error(text.substr(0, colon + 2) + place + ": " + text.substr(colon + 2));
    }
  }
}

template <typename Signature> struct CallTyped;
template <typename R, typename... Args> struct CallTyped<R(Args...)> {
  using Indices = std::index_sequence_for<Args...>;
  /* an argument taken by reference is a temporary of the call */
  template <typename F, size_t... I>
  static void Run(const F &f, const char *name, const TVMArgs &args, TVMRetValue *rv,
                  std::index_sequence<I...>) {
    using Temporaries = std::tuple<typename std::decay<Args>::type...>;
    constexpr int n = static_cast<int>(sizeof...(Args));
    if (args.num_args != n)
      throw Error(std::string("TypeError: ") + name + ": expected " + std::to_string(n) +
                  " arguments, got " + std::to_string(args.num_args));
    Temporaries temporaries{
        Unpack<typename std::decay<Args>::type>(args, static_cast<int>(I), name)...};
    (void)temporaries;
    if constexpr (std::is_void<R>::value) f(static_cast<Args>(std::get<I>(temporaries))...);
    else *rv = R(f(static_cast<Args>(std::get<I>(temporaries))...));
  }
};

/** A packed function that calls f. */
template <typename Signature, typename F> PackedFunc PackTyped(F f, std::string name);

} // namespace detail

/** A packed function of known signature. */
template <typename R, typename... Args> class TypedPackedFunc<R(Args...)> {
public:
  using TSelf = TypedPackedFunc<R(Args...)>;

  TypedPackedFunc() = default;
  TypedPackedFunc(std::nullptr_t) {}
  TypedPackedFunc(PackedFunc packed) : packed_(std::move(packed)) {}
  TypedPackedFunc(const TVMArgValue &value) : packed_(value.AsObjectRef<PackedFunc>()) {}
  TypedPackedFunc(const TVMRetValue &value) : packed_(value.AsObjectRef<PackedFunc>()) {}
  template <typename F, typename = typename std::enable_if<
                            std::is_invocable_r<R, const F &, Args...>::value>::type>
  TypedPackedFunc(const F &f, std::string name = "a function")
      : packed_(detail::PackTyped<R(Args...)>(f, std::move(name))) {}

  R operator()(Args... args) const {
    TVMRetValue rv = packed_(std::forward<Args>(args)...);
    if constexpr (!std::is_void<R>::value) {
      if constexpr (std::is_same<R, TVMRetValue>::value) return rv;
      else return rv.As<typename std::decay<R>::type>();
    }
  }
  operator PackedFunc() const { return packed_; }
  const PackedFunc &packed() const { return packed_; }
  bool operator==(std::nullptr_t) const { return packed_ == nullptr; }
  bool operator!=(std::nullptr_t) const { return packed_ != nullptr; }

private:
  PackedFunc packed_;
};

namespace detail {
template <typename Signature, typename F> PackedFunc PackTyped(F f, std::string name) {
  return PackedFunc([f, name](TVMArgs args, TVMRetValue *rv) {
    CallTyped<Signature>::Run(f, name.c_str(), args, rv, typename CallTyped<Signature>::Indices());
  });
}
} // namespace detail

} // namespace runtime
} // namespace tvm

#endif // TVM_RUNTIME_DETAIL_TYPED_H_
