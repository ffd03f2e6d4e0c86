/* The tn_type of each row of runtime.def. */
#include "runtime/types.h"

#include "object/functions.h"
#include "runtime/module/module.h"
#include "runtime/tensor/tensor.h"
#include "runtime/vm/machine.h"

_Static_assert((int)TN_TI_END_runtime <= (int)TN_TI_BEGIN_IR, "the runtime's block is full");

TN_NODES_DEFINE(TN_RUNTIME_TYPES, runtime_types)

int tn_runtime_types_init(void) {
  return tn_type_register_table(runtime_types, TN_COUNT(runtime_types));
}
