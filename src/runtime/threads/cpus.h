/* How many processors this process may use: affinity mask, physical cores, cgroup quota, and the
   environment variables that say otherwise. */
#ifndef TN_RUNTIME_THREADS_CPUS_H_
#define TN_RUNTIME_THREADS_CPUS_H_

#include "tenon/ffi.h"

/** Logical processors in the affinity mask of the calling thread, at least 1. */
TN_API int tn_cpu_count(void);
/** The same, counting the hardware threads of one core once. */
TN_API int tn_core_count(void);
/** Processors' worth of time that the cgroup (version 1 or 2) and those around it allow, or 0
    without a limit.
    @param root prefix of /proc and /sys: "" on the running system, a folder in tests */
TN_API double tn_cpu_quota(const char *root);
/** Number of threads for parallel loops when the program has not chosen one: the first of
    TENON_NUM_THREADS, TVM_NUM_THREADS, OMP_NUM_THREADS (its first item) that is a positive number,
    otherwise the cores allowed, no more than the quota rounded down (threads above it would be
    stopped in turn while the others wait for them). At least 1. */
int tn_default_threads(void);

#endif /* TN_RUNTIME_THREADS_CPUS_H_ */
