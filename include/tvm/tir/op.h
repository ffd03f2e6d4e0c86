/**
 * Operators on expressions. They fold constants, and throw "TypeError: ..." and the like where an
 * operator does not take its operands. The compiler does the work: it has to be in the process.
 *
 *     PrimExpr twice(Var x) { return x * 2; }
 */
#ifndef TVM_TIR_OP_H_
#define TVM_TIR_OP_H_

#include "tvm/tir/expr.h"

namespace tvm {

#define TVM_SHIM_BINARY(function, name)                                                            \
  inline PrimExpr function(PrimExpr a, PrimExpr b) {                                               \
    return detail::CallCompiler(name, a, b, nullptr);                                              \
  }
#define TVM_SHIM_UNARY(function, name)                                                             \
  inline PrimExpr function(PrimExpr a) { return detail::CallCompiler(name, a, nullptr); }

TVM_SHIM_BINARY(operator+, "tir._OpAdd")
TVM_SHIM_BINARY(operator-, "tir._OpSub")
TVM_SHIM_BINARY(operator*, "tir._OpMul")
TVM_SHIM_BINARY(operator/, "tir._OpDiv") /* integers round towards zero, as in C */
TVM_SHIM_BINARY(operator<, "tir._OpLT")
TVM_SHIM_BINARY(operator<=, "tir._OpLE")
TVM_SHIM_BINARY(operator>, "tir._OpGT")
TVM_SHIM_BINARY(operator>=, "tir._OpGE")
TVM_SHIM_BINARY(operator==, "tir._OpEQ")
TVM_SHIM_BINARY(operator!=, "tir._OpNE")
TVM_SHIM_BINARY(operator&&, "tir._OpAnd")
TVM_SHIM_BINARY(operator||, "tir._OpOr")
TVM_SHIM_BINARY(operator&, "tir.bitwise_and")
TVM_SHIM_BINARY(operator|, "tir.bitwise_or")
TVM_SHIM_BINARY(operator^, "tir.bitwise_xor")
TVM_SHIM_BINARY(operator<<, "tir.left_shift")
TVM_SHIM_BINARY(operator>>, "tir.right_shift")
TVM_SHIM_UNARY(operator-, "tir._OpNeg")
TVM_SHIM_UNARY(operator!, "tir._OpNot")
TVM_SHIM_UNARY(operator~, "tir.bitwise_not")

TVM_SHIM_BINARY(add, "tir._OpAdd")
TVM_SHIM_BINARY(sub, "tir._OpSub")
TVM_SHIM_BINARY(mul, "tir._OpMul")
TVM_SHIM_BINARY(div, "tir._OpDiv")
TVM_SHIM_BINARY(truncdiv, "tir._OpTruncDiv")
TVM_SHIM_BINARY(truncmod, "tir._OpTruncMod")
TVM_SHIM_BINARY(floordiv, "tir._OpFloorDiv")
TVM_SHIM_BINARY(floormod, "tir._OpFloorMod")
TVM_SHIM_BINARY(indexdiv, "tir._OpIndexDiv")
TVM_SHIM_BINARY(indexmod, "tir._OpIndexMod")
TVM_SHIM_BINARY(ceildiv, "tir._OpCeilDiv")
TVM_SHIM_BINARY(max, "tir._OpMax")
TVM_SHIM_BINARY(min, "tir._OpMin")
TVM_SHIM_BINARY(pow, "tir._OpPow")
TVM_SHIM_UNARY(abs, "tir.abs")
TVM_SHIM_UNARY(likely, "tir.likely")
TVM_SHIM_UNARY(floor, "tir.floor")
TVM_SHIM_UNARY(ceil, "tir.ceil")
TVM_SHIM_UNARY(round, "tir.round")
TVM_SHIM_UNARY(trunc, "tir.trunc")

#undef TVM_SHIM_BINARY
#undef TVM_SHIM_UNARY

/** b where the condition holds, else c. */
inline PrimExpr if_then_else(PrimExpr cond, PrimExpr b, PrimExpr c) {
  return detail::CallCompiler("tir._OpIfThenElse", cond, b, c, nullptr);
}
/** The value as another type. */
inline PrimExpr cast(const runtime::DataType &t, PrimExpr value) {
  return detail::CallCompiler("tir._cast", runtime::DLDataType2String(t), value, nullptr);
}

} // namespace tvm

#endif // TVM_TIR_OP_H_
