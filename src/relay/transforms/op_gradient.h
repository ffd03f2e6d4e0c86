/* Gradients of operators: what a call's arguments have to do with a number whose derivative by the
   call's result (the adjoint of the result) is known.

     exp(%a), adjoint %d  ->  (%d * %y,)              %y the result
     add(%a, %b)          ->  (collapse_sum_like(%d, %a), collapse_sum_like(%d, %b))

   A row says it as text (`grads`) or with a function (`grad`); a program says it with
   relay.op.register_gradient. */
#ifndef TN_RELAY_TRANSFORMS_OP_GRADIENT_H_
#define TN_RELAY_TRANSFORMS_OP_GRADIENT_H_

#include "relay/op.h"

/** What a function of a row is given. */
struct relay_grad {
  const tn_RelayCall *call; /**< types of its arguments and of itself are known */
  void *y;                  /**< its result, as an expression */
  void *d;                  /**< adjoint of the result, of the same type */
};
static inline void *relay_grad_arg(const relay_grad *g, int64_t i) { return relay_arg(g->call, i); }
/** The type of argument i, a tensor. */
static inline tn_TensorType *relay_grad_type(const relay_grad *g, int64_t i) {
  return relay_tensor_type_of_expr(relay_arg(g->call, i));
}

/** Do derivatives by values of the type mean anything: is a tensor of floats in it? */
bool relay_is_differentiable(const tn_Type *t);
/** Adjoints that the arguments get. @return array with an expression or None for each argument;
 * NULL: OpNotImplemented where the operator says nothing, the error of what it says */
tn_arr *relay_op_gradient(const relay_grad *g);

/** Ends a rule: the results of a reduction, and their adjoint, spread over the axes that were
 * reduced. @param e of the shape of the result @param keepdims are the axes still there? */
void *relay_unreduce(void *e, const bool *reduced, int64_t ndim, bool keepdims, void *like);

#endif /* TN_RELAY_TRANSFORMS_OP_GRADIENT_H_ */
