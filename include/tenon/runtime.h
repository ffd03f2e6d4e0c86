/**
 * Tenon's runtime: memory, tensors, devices, modules, parallel loops. Needs ffi.h only; no
 * compiler.
 */
#ifndef TENON_RUNTIME_H_
#define TENON_RUNTIME_H_

#include "tenon/ffi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- memory
 * -------------------------------------------------------------------------------------------------
 */

/** One function for everything: old == NULL allocates, size == 0 frees, otherwise resizes; NULL
 * when it cannot. */
typedef struct {
  void *(*alloc)(void *ctx, void *old, size_t size);
  void *ctx;
} tn_allocator;

/** Replaces the allocator of the whole library (a zero struct restores malloc); returns the one
 * before. Blocks are freed by the allocator in force, so replace it before anything was made, or
 * wrap the one that is returned. */
TN_API tn_allocator tn_set_allocator(tn_allocator a);

/* ---- start
 * --------------------------------------------------------------------------------------------------
 */

/** Registers the types and global functions of the runtime. Called by every entry that needs it
 * (loading the Python extension, the compiler, a compiled library); call it first in a C program.
 * Safe to call again, from any thread. */
TN_API int tn_runtime_init(void);

#ifdef __cplusplus
}
#endif
#endif /* TENON_RUNTIME_H_ */
