/* Relay programs for the virtual machine: passes, kernels, bytecode. */
#ifndef TN_DRIVER_VM_BUILD_H_
#define TN_DRIVER_VM_BUILD_H_

#include "driver/relay_pipeline.h"
#include "tenon/runtime.h"

/** An executable of the function `main` of a module (of every function when there is no `main`)
 *  with the library of its kernels.
 *  @return module of type "VMExecutable", scope-owned; NULL with the error of a pass or code
 *  generator, ValueError for what a program cannot hold */
TN_API tn_module *driver_vm_build(tn_IRModule *m, const driver_targets *t);

/** What of a module only the virtual machine can run, for people; NULL when the graph executor can
 *  run it. @param reason static text @return 0, or -1 with an error of type inference */
TN_API int driver_needs_vm(tn_IRModule *m, const char **reason);

/** "driver.needs_vm"; part of the start of the compiler. */
int driver_needs_vm_init(void);
/** "driver.vm_build", "driver.vm_optimize"; part of the start of the compiler. */
TN_API int driver_vm_init(void);

#endif /* TN_DRIVER_VM_BUILD_H_ */
