/* Type descriptions of memory pools. */
#include "ir/pools.h"

#include "ir/ir_impl.h"

TN_NODES_DEFINE(TN_POOL_NODES, pool_types)

int ir_pools_init(void) { return tn_type_register_table(pool_types, TN_COUNT(pool_types)); }
