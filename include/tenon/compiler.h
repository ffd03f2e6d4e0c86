/**
 * Tenon's compiler: one entry for now, the rest is reached through the global functions that it
 * registers.
 */
#ifndef TENON_COMPILER_H_
#define TENON_COMPILER_H_

#include "tenon/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Registers the types, operators, passes and global functions of the compiler (and of the runtime,
 * see tn_runtime_init). Safe to call again, from any thread. 0, or -1 with the thread's error set.
 */
TN_API int tn_compiler_init(void);

#ifdef __cplusplus
}
#endif
#endif /* TENON_COMPILER_H_ */
