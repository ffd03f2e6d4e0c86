/* The order of the passes over Relay programs, up to kernels. */
#ifndef TN_DRIVER_RELAY_PIPELINE_H_
#define TN_DRIVER_RELAY_PIPELINE_H_

#include "relay/devices/devices.h"
#include "driver/executor.h"

/** What a program is built for, and how. */
typedef struct {
  tn_target *main; /* that of computations that say nothing */
  tn_CompilationConfig *config;
  bool several;     /* more than one target */
  bool link_params; /* constants are part of the code of kernels */
  bool crt;         /* a runtime of boards reads the graph: it knows no joins */
  bool linked;      /* and finds functions in a table that the program is linked with */
} driver_targets;
/** Targets from a value: one in any form, or an array of them. TypeError, ValueError: none, two for
 * the same kind of device, none for what says nothing. */
TN_API int driver_targets_from(const tn_any *value, driver_targets *out);
/** Those of a build for a runtime, which may ask for code that is linked into a program.
 *  @param runtime  or NULL */
TN_API int driver_targets_for(const tn_any *value, const tn_Runtime *runtime, driver_targets *out);
/** Does a runtime ask for that? Only this library has a table of such functions. */
TN_API bool driver_is_system_lib(const tn_Runtime *runtime);

/** The same of one target. */
TN_API int driver_target_only(tn_target *t, driver_targets *out);

/** A program in which every call of an operator is in a primitive function, for the graph executor;
 * in the current context, whose level and options decide which passes run. Types are known
 * afterwards.
 *  @param planned  are values on more than one device? PlanDevices has run then
 *  @return scope-owned, or NULL with the error of a pass */
TN_API tn_IRModule *driver_relay_graph_pipeline(tn_IRModule *m, const driver_targets *t,
                                                bool *planned);
/** The same for the virtual machine: primitive functions, everything in A-normal form, with its
 * memory. Conditions are where the host can read them.
 *  @param planned  is anything on another device than the host? */
TN_API tn_IRModule *driver_relay_vm_pipeline(tn_IRModule *m, const driver_targets *t,
                                             bool *planned);
/** The part of it that does not depend on the executor. */
TN_API tn_IRModule *driver_relay_optimize(tn_IRModule *m, const driver_targets *t);

#endif /* TN_DRIVER_RELAY_PIPELINE_H_ */
