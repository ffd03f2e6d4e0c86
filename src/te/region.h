/* Computations over regions: an intrinsic computes a piece of the result from regions of tensors.

     C = te.compute((64, 16), lambda i: vadd(A[i, 0:16], B[i, 0:16]))

   The first axes are loops, as those of any compute. The others have no loops: they are the axes of
   the piece. Nothing is known of the elements but what the intrinsic says of itself. */
#ifndef TN_TE_REGION_H_
#define TN_TE_REGION_H_

#include "te/te.h"

#define TN_FIELDS_TensorComputeOp(F, S)                                                            \
  TN_FIELDS_BaseComputeOp(F, S) F(S, I64, , schedulable_ndim, 0,                                   \
                                  "number of axes that are loops; the others are the piece's")     \
      F(S, REF, TeTensorIntrin, intrin, 0, "computes a piece")                                     \
          F(S, REF, Array(Tensor), inputs, 0, "tensor for each input of intrin")                   \
              F(S, REF, Array, input_regions, 0, "what a piece needs of each: array of Range")     \
                  F(S, REF, Array(PrimExpr), scalar_inputs, 0,                                     \
                    "values of the scalar_params of intrin", "[]")

#define TN_TE_REGION_NODES(N)                                                                      \
  N(TensorComputeOp, BaseComputeOp, "TensorComputeOp", NODE, DAG, region_hooks,                    \
    "pieces by an intrinsic")

TN_NODES_FORWARD(TN_TE_REGION_NODES)
/* the block of the layer is full: the upper end of the driver's */
TN_NODES_INDEX(TN_TE_REGION_NODES, TN_TI_BEGIN_OPS - 4, te_region)
TN_NODES_DECLARE(TN_TE_REGION_NODES)
_Static_assert((int)TN_TI_END_te_region <= (int)TN_TI_BEGIN_OPS,
               "the block of type indices is full");

/** An operation that has axes, or NULL. */
static inline const tn_BaseComputeOp *te_axes_op(const tn_Operation *op) {
  return op && TN_IS(BaseComputeOp, op) ? (const tn_BaseComputeOp *)op : NULL;
}
/** Region of input i: array of Range. */
static inline const tn_arr *te_region_of(const tn_TensorComputeOp *op, int64_t i) {
  return (const tn_arr *)tn_arr_obj(op->input_regions, i);
}
/** Registers the nodes; part of te_init. */
int te_region_init(void);

#endif /* TN_TE_REGION_H_ */
