/* Relay: graphs of operators over tensors, with functions, control flow, algebraic data types and
   references (relay.def).

   Compiler code: what is returned belongs to the current scope, see base/scope.h. A NULL operand
   means that an error is pending: builders pass it through.

   An expression that occurs twice is computed once: sharing is part of the meaning, so passes must
   keep it. Chains of calls and of let may be 100,000 long: nothing may recurse along them. */
#ifndef TN_RELAY_RELAY_H_
#define TN_RELAY_RELAY_H_

#include "base/pmap.h"
#include "ir/ir.h"
#include "relay/relay.def"

/* tenon/runtime.h has its functions */
typedef struct tn_NDArray tn_NDArray;

TN_NODES_FORWARD(TN_RELAY_NODES)
TN_NODES_INDEX(TN_RELAY_NODES, TN_TI_BEGIN_RELAY, relay)
TN_NODES_DECLARE(TN_RELAY_NODES)
_Static_assert((int)TN_TI_END_relay <= (int)TN_TI_BEGIN_DRIVER,
               "the block of type indices of the layer is full");

/** Any Relay expression; the struct holds what they all begin with. */
typedef tn_RelayExpr relay_expr;

/* ---- types ---- */

/** @param shape array of PrimExpr */
TN_API tn_TensorType *relay_tensor_type(tn_arr *shape, tn_dtype dtype);
/** Type of a tensor with the given extents. */
TN_API tn_TensorType *relay_tensor_type_of(const int64_t *shape, int ndim, tn_dtype dtype);
static inline tn_TensorType *relay_scalar_type(tn_dtype dtype) {
  return relay_tensor_type_of(NULL, 0, dtype);
}
TN_API tn_TupleType *relay_tuple_type(tn_arr *fields);
TN_API tn_IncompleteType *relay_incomplete_type(void);
/** An extent that is known at run time only. */
TN_API tn_expr *relay_any(void);
/** Extent i of a tensor type; negative i count from the end. The index must be in range. */
static inline tn_expr *relay_dim(const tn_TensorType *t, int64_t i) {
  return (tn_expr *)tn_arr_obj(t->shape, i < 0 ? t->shape->len + i : i);
}
/** Is every extent a constant? */
TN_API bool relay_is_static(const tn_Type *t);
/** How many tensors a value of the type holds: tuples count what is in them, at any depth. */
TN_API int64_t relay_count_tensors(const tn_Type *t);

/** The type that inference has found for an expression, or NULL. */
static inline tn_Type *relay_type_of(const void *expr) {
  return ((const relay_expr *)expr)->_checked_type_;
}
/** The same as a tensor type. */
static inline tn_TensorType *relay_tensor_type_of_expr(const void *expr) {
  return TN_AS(TensorType, relay_type_of(expr));
}

/* ---- expressions ---- */

/** A new variable. @param type may be NULL */
TN_API tn_RelayVar *relay_var(const char *name, tn_Type *type);
/** A constant of a host or device tensor, kept. */
TN_API tn_Constant *relay_constant(tn_NDArray *data);
/** A scalar constant of a type; the number is converted to it. */
TN_API tn_Constant *relay_const_float(tn_dtype t, double value);
TN_API tn_Constant *relay_const_int(tn_dtype t, int64_t value);
/** A one-dimensional constant of n integers. */
TN_API tn_Constant *relay_const_ints(tn_dtype t, const int64_t *values, int64_t n);
/** The same of float32. */
TN_API tn_Constant *relay_const_floats(const double *values, int64_t n);
/** Is it a constant of one element on the host, and which number? */
TN_API bool relay_as_scalar(const void *expr, double *value);
/** The same for integers and bool only. */
TN_API bool relay_as_int(const void *expr, int64_t *value);
/** The numbers of a constant on the host, *n of them in *out, which the caller frees (tn_free);
 * whole numbers beyond 2^53 are rounded.
 * @return 1, 0 when it is none, -1 with MemoryError */
TN_API int relay_const_numbers(const void *expr, double **out, int64_t *n);
TN_API tn_RelayTuple *relay_tuple(tn_arr *fields);
TN_API tn_TupleGetItem *relay_get_item(void *tuple, int64_t index);
/** A call of any function expression (an Op among them). @param args array of expressions
 * @param attrs may be NULL */
TN_API tn_RelayCall *relay_call_new(void *op, tn_arr *args, tn_Attrs *attrs);
/** A function. @param ret_type, attrs may be NULL */
TN_API tn_RelayFunction *relay_function(tn_arr *params, void *body, tn_Type *ret_type,
                                        tn_DictAttrs *attrs);
TN_API tn_RelayLet *relay_let(tn_RelayVar *var, void *value, void *body);
TN_API tn_RelayIf *relay_if(void *cond, void *t, void *f);
/** The name of the operator that a call calls, or NULL. */
TN_API const char *relay_called_op(const void *expr);
/** Is it a call of that operator? The call, or NULL. */
TN_API tn_RelayCall *relay_as_call(const void *expr, const char *op);
static inline void *relay_arg(const tn_RelayCall *call, int64_t i) {
  return tn_arr_obj(call->args, i);
}

/** Expression i below `expr` in the order of evaluation (callee, arguments; parameters, body;
 * value, variable, body of let; data of match, results of its clauses), NULL after the last.
 * Patterns and type definitions are not among them. */
TN_API const void *relay_operand(const tn_obj *expr, int64_t i);

/** `expr` with variables replaced: `values` maps ids of variables (Id) to expressions. */
TN_API void *relay_substitute(const void *expr, const tn_pmap *values);
/** The same for a function, which loses the parameters that get values. */
TN_API tn_RelayFunction *relay_bind_function(const tn_RelayFunction *f, const tn_pmap *values);
/** Parameters become constants by their names.
 *  @param params map from name to NDArray
 *  @param strict names that the function does not have are an error, not a warning
 *  @param exact the same for arrays of another element type than declared
 *  @return NULL: ValueError when two parameters have that name, or one is declared with another
 *  type, TypeError */
TN_API tn_RelayFunction *relay_bind_params(const tn_RelayFunction *f, const tn_map *params,
                                           bool strict, bool exact);

/** A copy of the node without what passes have found out about it (checked_type), to be given other
 * fields before anybody else sees it. */
TN_API void *relay_fresh_copy(const void *expr);

/** Registers the types, functions and operators of this layer. */
TN_API int relay_init(void);

#endif /* TN_RELAY_RELAY_H_ */
