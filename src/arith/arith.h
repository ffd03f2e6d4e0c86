/* Objects of integer analysis (arith.def) and the start of the layer. What most code wants is
   arith/analyzer.h. */
#ifndef TN_ARITH_ARITH_H_
#define TN_ARITH_ARITH_H_

#include "arith/arith.def"
#include "ir/ir.h"

extern const tn_type_hooks arith_split_hooks, arith_sum_hooks;

TN_NODES_FORWARD(TN_ARITH_NODES)
TN_NODES_INDEX(TN_ARITH_NODES, TN_TI_BEGIN_ARITH, arith)
TN_NODES_DECLARE(TN_ARITH_NODES)
_Static_assert((int)TN_TI_END_expr <= (int)TN_TI_BEGIN_ARITH &&
                   (int)TN_TI_END_arith <= (int)TN_TI_BEGIN_TIR,
               "the layer's block of type indices is full, or the one before it reaches into it");

/** Registers the types and functions of the layer. */
TN_API int arith_init(void);

#endif /* TN_ARITH_ARITH_H_ */
