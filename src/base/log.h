/* Messages for people: what the library notices but does not fail over.

     TN_LOG(WARNING, "TENON_NUM_THREADS: expected a positive number, got \"%s\"", text);

   A message below the level in force costs one load. Levels come from the variable TENON_LOG: a
   level ("debug", "info", "warning", "error", "off"), or several items "PREFIX=LEVEL" for the
   source files whose path starts with PREFIX, separated by commas:

     TENON_LOG=info               everything from info on
     TENON_LOG=src/runtime=debug  the runtime in detail, the rest as usual: warnings

   Without it, TVM_LOG_DEBUG set to anything but 0 means debug. Messages go to standard error unless
   the host has set a sink (tenon/runtime.h). Nothing is allocated and no lock is held. */
#ifndef TN_BASE_LOG_H_
#define TN_BASE_LOG_H_

#include <stdatomic.h>

#include "base/error.h"
#include "tenon/runtime.h"

/** Lowest level that any message is written at; everything before the environment has been read. */
TN_API extern _Atomic int tn_log_least;

TN_API void tn_log(tn_log_level level, const char *file, int line, const char *fmt, ...)
    TN_PRINTF(4, 5);

#define TN_LOG(level, ...)                                                                         \
  do {                                                                                             \
    if (TN_LOG_##level >= atomic_load_explicit(&tn_log_least, memory_order_relaxed))               \
      tn_log(TN_LOG_##level, __FILE__, __LINE__, __VA_ARGS__);                                     \
  } while (0)

/** A likely mistake that does not stop the work: a warning, or with `strict` a ValueError that
 * leaves the function with -1. */
#define TN_SUSPECT(strict, ...)                                                                    \
  do {                                                                                             \
    if (strict) return TN_RAISE(ValueError, NULL, __VA_ARGS__);                                    \
    TN_LOG(WARNING, __VA_ARGS__);                                                                  \
  } while (0)

#endif /* TN_BASE_LOG_H_ */
