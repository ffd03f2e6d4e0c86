/* Tensor expressions: what is computed, element by element, before anything is said about how.

   create_prim_func turns them into a tensor program of blocks, which schedules then work on. */
#ifndef TN_TE_TE_H_
#define TN_TE_TE_H_

#include "te/te.def"
#include "tir/tir.h"

TN_NODES_FORWARD(TN_TE_NODES)
TN_NODES_INDEX(TN_TE_NODES, TN_TI_BEGIN_TE, te)
TN_NODES_DECLARE(TN_TE_NODES)
_Static_assert((int)TN_TI_END_te <= (int)TN_TI_BEGIN_RELAY,
               "the block of type indices of the layer is full");

TN_API int te_num_outputs(const tn_Operation *op);
TN_API tn_dtype te_output_dtype(const tn_Operation *op, int64_t i);
TN_API tn_arr *te_output_shape(const tn_Operation *op, int64_t i);
/** Result i of an operation. IndexError when there are fewer. */
TN_API tn_Tensor *te_output(tn_Operation *op, int64_t i);
/** Tensors an operation reads, each once, in the order of their first use. */
TN_API tn_arr *te_inputs(const tn_Operation *op);
/** Do both name the same result of the same operation? */
TN_API bool te_same_tensor(const tn_Tensor *a, const tn_Tensor *b);
/** Operations that `tensors` need, inputs before users. */
TN_API tn_arr *te_post_order(const tn_arr *tensors);

/** A tensor program with the tensors as parameters, in order: inputs and results.
 *  @param tensors array of Tensor (0-dimensional Var among them become scalar parameters)
 *  @return PrimFunc, or NULL: ValueError, TypeError naming the operation */
TN_API tn_PrimFunc *te_create_prim_func(const tn_arr *tensors);

/** Gradients of a tensor, by reverse mode: each result is head times the Jacobian, of shape
 * head.shape[:-output.ndim] + input.shape.
 *  @param inputs array of Tensor; those the output does not depend on get zeros
 *  @param head NULL: the identity, of shape output.shape + output.shape
 *  @return array of Tensor, or NULL: TypeError, ValueError; TenonError where there is no derivative
 */
TN_API tn_arr *te_gradient(tn_Tensor *output, const tn_arr *inputs, tn_Tensor *head);

TN_API int te_init(void);

#endif /* TN_TE_TE_H_ */
