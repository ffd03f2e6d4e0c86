/** References to variables of tensor programs. */
#ifndef TVM_TIR_VAR_H_
#define TVM_TIR_VAR_H_

#include <utility>

#include "tvm/ir/expr.h"

namespace tvm {
namespace tir {

class VarNode : public PrimExprNode {
public:
  static constexpr const char *_type_key = "tir.Var";
  TVM_SHIM_NATIVE_OBJECT_INFO(VarNode)
};

class Var : public PrimExpr {
public:
  TVM_SHIM_REF_BASE(Var, PrimExpr, VarNode)
  /** A new variable. */
  explicit Var(runtime::String name = "v", runtime::DataType dtype = runtime::DataType::Int(32))
      : Var(Make(std::move(name), dtype)) {}

private:
  static Var Make(runtime::String name, runtime::DataType dtype) {
    return detail::CallCompiler("tir.Var", std::move(name), runtime::DLDataType2String(dtype),
                                nullptr);
  }
};

} // namespace tir
} // namespace tvm

#endif // TVM_TIR_VAR_H_
