/* Memory pools (pools.def): plain data that static memory planning and export read. */
#ifndef TN_IR_POOLS_H_
#define TN_IR_POOLS_H_

#include "ir/pass.h"
#include "ir/pools.def"

TN_NODES_FORWARD(TN_POOL_NODES)
TN_NODES_INDEX(TN_POOL_NODES, TN_TI_END_pass, pool)
TN_NODES_DECLARE(TN_POOL_NODES)
_Static_assert((int)TN_TI_END_pool <= (int)TN_TI_BEGIN_ARITH,
               "the layer's block of type indices is full");

#endif /* TN_IR_POOLS_H_ */
