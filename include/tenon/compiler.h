/**
 * Tenon's compiler: few entries for now, the rest is reached through the global functions that it
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

/** Builds of this thread take tiles of kernels from a file of records of measurements (see
 * docs/records.md) until tn_records_exit, instead of from those that ship with the library. A file
 * that is entered later is asked first.
 *  @param path of a file of records, UTF-8
 *  @return 0, or -1 with the thread's error set: OSError, ValueError naming the line that is not a
 *  record */
TN_API int tn_records_enter(const char *path);
/** Ends the last tn_records_enter of this thread. 0, or -1 (ValueError: there is none). */
TN_API int tn_records_exit(void);

#ifdef __cplusplus
}
#endif
#endif /* TENON_COMPILER_H_ */
