/* How much of the thread's stack is left: recursive code over programs of any depth asks before it
   goes deeper, and reports an error instead of overflowing. */
#ifndef TN_BASE_STACK_H_
#define TN_BASE_STACK_H_

#include <stddef.h>

#include "tenon/ffi.h"

/** Bytes left of the calling thread's stack, SIZE_MAX where that cannot be found out. */
TN_API size_t tn_stack_left(void);
/** 0, or -1 (RuntimeError "WHAT is nested too deeply") when little is left. */
TN_API int tn_stack_check(const char *what);

#endif /* TN_BASE_STACK_H_ */
