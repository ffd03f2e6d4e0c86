/* Kernels into code: each is scheduled, lowered and compiled alone, on all cores, unless the cache
   has it from an earlier build. */
#ifndef TN_DRIVER_KERNEL_BUILD_H_
#define TN_DRIVER_KERNEL_BUILD_H_

#include "driver/primitive.h"
#include "tenon/runtime.h"

/** A kernel: what it is made from, and what is known of it once it is built. */
typedef struct {
  const char *name;     /* its symbol; borrowed */
  tn_PrimFunc *program; /* as create_prim_func made it; borrowed */
  bool flat;            /* the program is lowered already; its code is not kept */
  int64_t workspace;    /* bytes of memory that a call allocates */
} kernel_job;

/** The code of kernels, all for one target.
 *  @return module, scope-owned; NULL with the error of the first kernel that failed, named in a
 *  note */
TN_API tn_module *driver_kernels_build(kernel_job *jobs, int64_t n, tn_target *t);

/** Tensor programs of primitive functions. @param kernels name -> relay Function
 *  @return name -> PrimFunc, scope-owned; NULL with the error of the first that failed, named in a
 *  note */
TN_API tn_map *driver_kernel_programs(const tn_map *kernels, tn_target *t);
/** Such programs scheduled and lowered, as one module. Scope-owned, or NULL like
 * driver_kernels_build. */
TN_API tn_IRModule *driver_kernels_lower(const tn_map *programs, tn_target *t);
/** The same of a program whose kernels are for several targets.
 *  @param targets name -> Target, of those that are not for `dflt` */
TN_API tn_map *driver_programs_for_targets(const tn_map *kernels, const tn_map *targets,
                                           tn_target *dflt);
/** The code of tensor programs for several targets as one library: that of the host imports the
 * others. @param programs name -> PrimFunc @param targets as above
 * @param workspace as for driver_programs_build */
TN_API tn_module *driver_build_for_targets(const tn_map *programs, const tn_map *targets,
                                           tn_target *dflt, tn_map *workspace);
/** driver_kernels_build of a map from name to PrimFunc.
 *  @param workspace NULL, or gets name -> bytes of memory that a call allocates */
TN_API tn_module *driver_programs_build(const tn_map *programs, tn_target *t, tn_map *workspace);

#endif /* TN_DRIVER_KERNEL_BUILD_H_ */
