/* Type indices of the runtime layer, from runtime.def. The structs are in the header of each type
 * (tensor.h, module.h). */
#ifndef TN_RUNTIME_TYPES_H_
#define TN_RUNTIME_TYPES_H_

#include "object/containers.h"
#include "runtime/runtime.def"

TN_NODES_FORWARD(TN_RUNTIME_TYPES)
TN_NODES_INDEX(TN_RUNTIME_TYPES, TN_TI_BEGIN_RUNTIME, runtime)

#define TN_AS_RUNTIME_TYPE(Name, Base, key, kind, role, hooks, doc)                                \
  TN_API extern const tn_type tn_type_##Name;
TN_RUNTIME_TYPES(TN_AS_RUNTIME_TYPE)

/** Registers the types of this layer; part of tn_runtime_init. */
int tn_runtime_types_init(void);

#endif /* TN_RUNTIME_TYPES_H_ */
