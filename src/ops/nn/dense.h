/* Hooks of matrix products with a weight for passes. */
#ifndef TN_OPS_NN_DENSE_H_
#define TN_OPS_NN_DENSE_H_

#include "kernels/kernels.h"
#include "relay/layouts.h"

/** Only the weight has a layout: NC, rows of outputs, unless it is packed or transposed. */
TN_API int ops_layouts_weight(relay_layouts *q);
/** nn.dense, or nn.matmul, with data and weight of bfloat16, where relay.backend.precision allows
 * it.
 */
TN_API void *ops_relax_dense(const relay_replace *r);
/** nn.dense, or nn.matmul, of a constant weight with its rows in blocks, as kernels want it. */
TN_API void *ops_alter_dense(const relay_replace *r);

/** The weight of a dense layer in panels. */
typedef struct {
  int64_t block; /**< rows of the weight in each */
  void *panels;  /**< expression of them: [units / block][features][block], zeros at the end */
} ops_panels;
/** What panels a nn.dense or nn.matmul with types would read. @return 1, 0 where it is best
 * without, -1 */
TN_API int ops_dense_panels(const tn_RelayCall *c, const target_machine *m, ops_panels *out);
/** The same layer, reading its weight from `panels`. Scope-owned; NULL with an error. */
TN_API void *ops_dense_of_panels(const tn_RelayCall *c, const ops_panels *q, void *panels);

#endif /* TN_OPS_NN_DENSE_H_ */
