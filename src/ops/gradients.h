/* Gradients of operators that a text in their row cannot say (relay/transforms/op_gradient.h). */
#ifndef TN_OPS_GRADIENTS_H_
#define TN_OPS_GRADIENTS_H_

#include "relay/transforms/op_gradient.h"

/** The operator's name says which of the reductions it is. */
tn_arr *ops_grad_reduce(const relay_grad *g);
tn_arr *ops_grad_variance(const relay_grad *g);
tn_arr *ops_grad_transpose(const relay_grad *g);
tn_arr *ops_grad_reverse(const relay_grad *g);
tn_arr *ops_grad_concatenate(const relay_grad *g);
tn_arr *ops_grad_split(const relay_grad *g);
tn_arr *ops_grad_stack(const relay_grad *g);
tn_arr *ops_grad_strided_slice(const relay_grad *g);
/** How many axes the attributes of strided_slice are about: those listed, or the first ones. */
int64_t ops_sliced_axes(const void *attrs);
tn_arr *ops_grad_take(const relay_grad *g);
tn_arr *ops_grad_gather_nd(const relay_grad *g);
tn_arr *ops_grad_tile(const relay_grad *g);
tn_arr *ops_grad_repeat(const relay_grad *g);
tn_arr *ops_grad_pad(const relay_grad *g);

tn_arr *ops_grad_softmax(const relay_grad *g);
tn_arr *ops_grad_dense(const relay_grad *g);
tn_arr *ops_grad_matmul(const relay_grad *g);
tn_arr *ops_grad_batch_matmul(const relay_grad *g);
tn_arr *ops_grad_bias_add(const relay_grad *g);
tn_arr *ops_grad_leaky_relu(const relay_grad *g);
tn_arr *ops_grad_conv2d(const relay_grad *g);
tn_arr *ops_grad_pool2d(const relay_grad *g);
tn_arr *ops_grad_global_pool(const relay_grad *g);
tn_arr *ops_grad_cross_entropy(const relay_grad *g);

/** A call with one more argument given or not: attributes of one integer list, "axis" say. */
void *ops_call_ints(const char *op, void *x, const char *attr, const int64_t *values, int64_t n);
/** sum over one axis, which stays with extent 1. */
void *ops_sum_axis(void *x, int64_t axis);

#endif /* TN_OPS_GRADIENTS_H_ */
