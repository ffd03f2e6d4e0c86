/* Monotonic time. */
#ifndef TN_BASE_CLOCK_H_
#define TN_BASE_CLOCK_H_

#include <stdint.h>

#include "tenon/ffi.h"

/** Nanoseconds since an arbitrary start; never goes back. */
TN_API int64_t tn_now_ns(void);

#endif /* TN_BASE_CLOCK_H_ */
