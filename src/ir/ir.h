/* The nodes that all dialects share: primitive expressions (expr.def) and places, types,
   attributes, functions and modules (ir.def).

   Compiler code is scope-owned (base/scope.h): what a function here returns is kept alive by the
   current scope. Three ways to make a node:

     TN_NEW(Add, .dtype = a->dtype, .a = a, .b = b)   the fields as given, which must be valid
     TN_MAKE(Add, .a = a, .b = b)                     also checks the node's invariants and fills in
                                                      derived fields (dtype)
     tir_add(a, b)                                    also matches operand types and folds constants
                                                      (ir/expr.h): what most code wants

   A NULL operand means that an error is pending: it passes through all three, so nested calls need
   one check at the end. */
#ifndef TN_IR_IR_H_
#define TN_IR_IR_H_

#include "ir/expr.def"
#include "ir/ir.def"
#include "object/containers.h"
#include "object/dtype.h"

TN_NODES_FORWARD(TN_IR_NODES)
TN_NODES_FORWARD(TN_EXPR_NODES)
TN_NODES_INDEX(TN_IR_NODES, TN_TI_BEGIN_IR, ir)
TN_NODES_INDEX(TN_EXPR_NODES, TN_TI_END_ir, expr)
TN_NODES_DECLARE(TN_IR_NODES)
TN_NODES_DECLARE(TN_EXPR_NODES)
_Static_assert((int)TN_TI_END_expr <= (int)TN_TI_BEGIN_ARITH,
               "the layer's block of type indices is full");

/** Any primitive expression; the struct holds what they all begin with: span and dtype. */
typedef tn_PrimExpr tn_expr;

/** The layout shared by Add ... Or (TN_AS_BINARY): a and b. */
typedef struct {
  tn_obj hdr;
  TN_FIELDS_BinaryOp(TN_AS_MEMBER, BinaryOp)
} tn_BinaryOp;
_Static_assert(offsetof(tn_BinaryOp, b) == offsetof(tn_Or, b),
               "one layout for all binary operators");

static inline bool ir_is_binary(uint32_t type_index) {
  return type_index >= TN_TI_Add && type_index <= TN_TI_Or;
}
/** The node as a binary operator, or NULL. */
#define TN_AS_BINARY(o) ir_as_binary(o)
static inline tn_BinaryOp *ir_as_binary(const void *o) {
  return o && ir_is_binary(((const tn_obj *)o)->type_index) ? (tn_BinaryOp *)(uintptr_t)o : NULL;
}

/** A node whose invariants were checked (see above). NULL on failure: TypeError, ValueError or
 * TVMError. */
#define TN_MAKE(T, ...)         ((tn_##T *)ir_node_check(TN_NEW(T, __VA_ARGS__)))
/** The same with fields that a caller outside has given: their classes are checked. */
#define TN_MAKE_CHECKED(T, ...) ((tn_##T *)ir_node_check(TN_NEW_CHECKED(T, __VA_ARGS__)))
/** Runs the checks of the node's type on a node that is still under construction; NULL passes
 * through. */
TN_API void *ir_node_check(void *node);
/** Every element of an array is a `want`, or TypeError naming `what` and the index. */
TN_API int ir_check_items(const tn_arr *a, const tn_type *want, const char *what,
                          const tn_Span *span);

/** What a type variable stands for; values as in saved files. */
typedef enum {
  IR_KIND_TYPE = 0,
  IR_KIND_SHAPE_VAR = 1,
  IR_KIND_BASE_TYPE = 2,
  IR_KIND_CONSTRAINT = 4,
  IR_KIND_ADT_HANDLE = 5,
  IR_KIND_TYPE_DATA = 6,
} ir_type_kind;

/** How an IterVar iterates; values as in saved files. */
typedef enum {
  IR_ITER_DATA_PAR = 0,
  IR_ITER_THREAD_INDEX = 1,
  IR_ITER_COMM_REDUCE = 2,
  IR_ITER_ORDERED = 3,
  IR_ITER_OPAQUE = 4,
  IR_ITER_UNROLLED = 5,
  IR_ITER_VECTORIZED = 6,
  IR_ITER_PARALLELIZED = 7,
  IR_ITER_TENSORIZED = 8,
} ir_iter_type;

/** Registers the types, operators and functions of this layer; the runtime is already there. */
TN_API int ir_init(void);

#endif /* TN_IR_IR_H_ */
