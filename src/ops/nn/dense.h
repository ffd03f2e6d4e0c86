/* Hooks of matrix products with a weight for passes. */
#ifndef TN_OPS_NN_DENSE_H_
#define TN_OPS_NN_DENSE_H_

#include "relay/layouts.h"

/** Only the weight has a layout: NC, rows of outputs, unless it is packed or transposed. */
TN_API int ops_layouts_weight(relay_layouts *q);
/** nn.dense, or nn.matmul, of a constant weight with its rows in blocks, as kernels want it. */
TN_API void *ops_alter_dense(const relay_replace *r);

#endif /* TN_OPS_NN_DENSE_H_ */
