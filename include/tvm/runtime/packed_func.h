/**
 * PackedFunc: a function of any signature, with arguments and result of any type.
 *
 *     PackedFunc f([](TVMArgs args, TVMRetValue *rv) { int a = args[0]; *rv = a + 1; });
 *     int two = f(1);
 *     TypedPackedFunc<int(int)> g([](int a) { return a + 1; });
 *
 * A conversion that does not fit throws "TypeError: expected int, but got str". An error of the
 * function that is called throws EnvErrorAlreadySet.
 */
#ifndef TVM_RUNTIME_PACKED_FUNC_H_
#define TVM_RUNTIME_PACKED_FUNC_H_

#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

#include "tvm/runtime/detail/function.h"
#include "tvm/runtime/detail/typed.h"
#include "tvm/runtime/detail/values.h"
#include "tvm/runtime/module.h"

namespace tvm {
namespace runtime {

namespace detail {

/** Makes the exception that is being handled the error of the library. Returns -1. */
inline int ReportException() noexcept {
  try {
    throw;
  } catch (const EnvErrorAlreadySet &e) {
    /* usually the very error that still waits in the thread: leave it as it is */
    if (std::strcmp(TVMGetLastError(), e.what()) != 0) TVMAPISetLastError(e.what());
  } catch (const Error &e) {
    tn_raise_text(e.what());
    if (e.file()) tn_trace(e.file(), e.lineno(), "<C++>");
  } catch (const std::bad_alloc &) {
    TVMAPISetLastError("MemoryError: out of memory");
  } catch (const std::out_of_range &e) {
    tn_raise(TN_IndexError, nullptr, 0, nullptr, nullptr, "%s", e.what());
  } catch (const std::exception &e) {
    tn_raise(TN_RuntimeError, nullptr, 0, nullptr, nullptr, "%s", e.what());
  } catch (...) {
    TVMAPISetLastError("RuntimeError: an exception that is not a std::exception");
  }
  return -1;
}

template <typename F>
int CallBody(TVMValue *values, int *codes, int n, TVMRetValueHandle ret, void *self) {
  try {
    TVMRetValue rv;
    (*static_cast<const F *>(self))(TVMArgs(values, codes, n), &rv);
    rv.SetResult(ret);
    return 0;
  } catch (...) {
    return ReportException();
  }
}

/** Calls f in the convention of compiled functions. */
template <typename F>
int CallExported(const F &f, TVMValue *values, int *codes, int n, TVMValue *out_value,
                 int *out_code) {
  try {
    TVMRetValue rv;
    f(TVMArgs(values, codes, n), &rv);
    rv.MoveToCHost(out_value, out_code);
    return 0;
  } catch (...) {
    return ReportException();
  }
}

template <typename F> void DeleteBody(void *self) { delete static_cast<F *>(self); }

} // namespace detail

template <typename F, typename> PackedFunc::PackedFunc(F f) {
  TVMFunctionHandle out = nullptr;
  auto body = std::unique_ptr<F>(new F(std::move(f)));
  detail::CheckLast(
      TVMFuncCreateFromCFunc(detail::CallBody<F>, body.get(), detail::DeleteBody<F>, &out));
  body.release();
  data_ = ObjectPtr<Object>::Adopt(static_cast<tn_obj *>(out));
}

inline void PackedFunc::CallPacked(TVMArgs args, TVMRetValue *rv) const {
  TVMValue value;
  int code = kTVMNullptr;
  if (!defined()) throw Error("TypeError: a null PackedFunc was called");
  detail::CheckLast(TVMFuncCall(handle(), const_cast<TVMValue *>(args.values),
                                const_cast<int *>(args.type_codes), args.num_args, &value, &code));
  rv->TakeResult(value, code);
}

template <typename... Args> inline TVMRetValue PackedFunc::operator()(Args &&...args) const {
  constexpr int n = static_cast<int>(sizeof...(Args));
  TVMValue values[n + 1] = {}; // one more than needed: an array cannot be empty
  int codes[n + 1] = {};
  TVMArgsSetter setter(values, codes);
  int i = 0;
  (setter(static_cast<size_t>(i++), std::forward<Args>(args)), ...);
  (void)i, (void)setter;
  TVMRetValue rv;
  CallPacked(TVMArgs(values, codes, n), &rv);
  return rv;
}

inline PackedFunc ModuleNode::GetFunction(const std::string &name, bool query_imports) const {
  tn_func *f = nullptr;
  detail::CheckCall(tn_module_get_function(module(), name.c_str(), query_imports, &f));
  return detail::AdoptRef<PackedFunc>(reinterpret_cast<tn_obj *>(f));
}

inline PackedFunc Module::GetFunction(const std::string &name, bool query_imports) const {
  return get()->GetFunction(name, query_imports);
}

inline bool RuntimeEnabled(const std::string &target) {
  TVMFunctionHandle f = nullptr;
  detail::CheckLast(TVMFuncGetGlobal("runtime.RuntimeEnabled", &f));
  return detail::AdoptRef<PackedFunc>(static_cast<tn_obj *>(f))(target);
}

} // namespace runtime

using runtime::PackedFunc;
using runtime::TVMArgs;
using runtime::TVMRetValue;
using runtime::TypedPackedFunc;

} // namespace tvm

#endif // TVM_RUNTIME_PACKED_FUNC_H_
