/** Expressions of tensor programs: variables and constants. */
#ifndef TVM_TIR_EXPR_H_
#define TVM_TIR_EXPR_H_

#include "tvm/ir/expr.h"
#include "tvm/tir/var.h"

#endif // TVM_TIR_EXPR_H_
