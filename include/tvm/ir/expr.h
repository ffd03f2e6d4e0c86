/** References to expressions over numbers. See tvm/tir/op.h for what makes them of others. */
#ifndef TVM_IR_EXPR_H_
#define TVM_IR_EXPR_H_

#include <cstdint>
#include <string>
#include <utility>

#include "tvm/runtime/container/string.h"
#include "tvm/runtime/packed_func.h"
#include "tvm/runtime/registry.h"

namespace tvm {

namespace detail {
/** Calls a function of the compiler. */
template <typename... Args> runtime::TVMRetValue CallCompiler(const char *name, Args &&...args) {
  const runtime::PackedFunc *f = runtime::Registry::Get(name);
  if (!f)
    throw runtime::Error(std::string("RuntimeError: ") + name +
                         " is not registered: load the compiler (libtenon), as Python does");
  return (*f)(std::forward<Args>(args)...);
}
} // namespace detail

class PrimExprNode : public runtime::Object {
public:
  static constexpr const char *_type_key = "PrimExpr";
  TVM_SHIM_NATIVE_OBJECT_INFO(PrimExprNode)
};

class PrimExpr : public runtime::ObjectRef {
public:
  PrimExpr() = default;
  TVM_SHIM_REF_BASE(PrimExpr, runtime::ObjectRef, PrimExprNode)
  /** Constants of int32 and float32. */
  PrimExpr(int32_t value) : PrimExpr(Constant(static_cast<int64_t>(value), "int32")) {}
  PrimExpr(float value) : PrimExpr(Constant(static_cast<double>(value), "float32")) {}

private:
  template <typename T> static PrimExpr Constant(T value, const char *dtype) {
    return detail::CallCompiler("node._const", value, runtime::String(dtype));
  }
};

} // namespace tvm

#endif // TVM_IR_EXPR_H_
