/* Executors and runtimes with their options. */
#ifndef TN_DRIVER_EXECUTOR_H_
#define TN_DRIVER_EXECUTOR_H_

#include "driver/executor.def"
#include "relay/relay.h"
#include "target/target.h"

TN_NODES_FORWARD(TN_EXECUTOR_NODES)
TN_NODES_INDEX(TN_EXECUTOR_NODES, TN_TI_END_target, executor)
TN_NODES_DECLARE(TN_EXECUTOR_NODES)

/** Registers the types and "relay.backend.CreateExecutor", "relay.backend.CreateRuntime" and their
 * lists. */
TN_API int driver_executor_init(void);

#endif /* TN_DRIVER_EXECUTOR_H_ */
