/* The order of the passes that make flat code, and then host functions, of tensor programs. */
#ifndef TN_DRIVER_TIR_PIPELINE_H_
#define TN_DRIVER_TIR_PIPELINE_H_

#include "ir/pass.h"

/** Programs with blocks as flat loops over flat memory, in the current context.
 *  @param simple_mode leave out what makes the result long: loops stay whole
 *  @return scope-owned, or NULL with the error of a pass */
TN_API tn_IRModule *driver_lower(tn_IRModule *m, bool simple_mode);

/** Lowered programs as code for generators: functions with the packed signature for the host, and
 * the kernels they launch.
 *  @param target a Target, with its host where that differs: functions that name none get it
 *  @param on_device scope-owned like on_host; without functions where nothing is launched */
TN_API int driver_split_pipeline(tn_IRModule *lowered, tn_obj *target, tn_IRModule **on_host,
                                 tn_IRModule **on_device);

/** Lowered programs as code for generators with the plain C interface: functions take the data
 *  pointers of their tensors and give 0, or -1.
 *  @return scope-owned, or NULL with the error of a pass */
TN_API tn_IRModule *driver_unpacked_pipeline(tn_IRModule *lowered, tn_obj *target);

/** Lowered programs for one thread.
 *  @param align not 0: large allocations become a workspace that the caller gives, see
 *  tir.WorkspaceToParameter
 *  @return scope-owned, or NULL with the error of a pass */
TN_API tn_IRModule *driver_workspace_pipeline(tn_IRModule *lowered, int64_t align);

/** "driver.lower", "driver.lower_primfunc", "driver.host_pipeline" and "driver.device_pipeline";
 * part of the start of the compiler. */
TN_API int driver_tir_pipeline_init(void);

#endif /* TN_DRIVER_TIR_PIPELINE_H_ */
