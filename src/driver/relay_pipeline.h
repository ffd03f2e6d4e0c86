/* The order of the passes over Relay programs, up to kernels. */
#ifndef TN_DRIVER_RELAY_PIPELINE_H_
#define TN_DRIVER_RELAY_PIPELINE_H_

#include "ir/pass.h"
#include "target/target.h"

/** A program in which every call of an operator is in a primitive function, for the graph executor;
 * in the current context, whose level and options decide which passes run. Types are known
 * afterwards.
 *  @return scope-owned, or NULL with the error of a pass */
TN_API tn_IRModule *driver_relay_graph_pipeline(tn_IRModule *m, tn_target *t);
/** The same for the virtual machine: primitive functions, everything in A-normal form. */
TN_API tn_IRModule *driver_relay_vm_pipeline(tn_IRModule *m, tn_target *t);
/** The part of it that does not depend on the executor. */
TN_API tn_IRModule *driver_relay_optimize(tn_IRModule *m, tn_target *t);

#endif /* TN_DRIVER_RELAY_PIPELINE_H_ */
