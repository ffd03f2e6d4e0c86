/* Measuring how long a function takes: what Module.time_evaluator stands on. */
#ifndef TN_RUNTIME_PROFILING_TIMING_H_
#define TN_RUNTIME_PROFILING_TIMING_H_

#include "object/functions.h"
#include "tenon/runtime.h"

/** How to measure. */
typedef struct {
  tn_device device;                   /* waited for at both ends of a repetition */
  int64_t number;                     /* calls of a repetition */
  int64_t repeat;                     /* repetitions */
  int64_t min_repeat_ms;              /* `number` grows until a repetition takes so long, */
  int64_t limit_zero_time_iterations; /* or has taken no time at all so often */
  int64_t cooldown_interval_ms;       /* pause after each ... */
  int64_t repeats_to_cooldown;        /* ... so many repetitions */
  int64_t cache_flush_bytes;          /* copied on the device before each repetition */
  tn_func *preproc; /* called with the arguments before each repetition, or NULL */
} tn_timing;

/** A function that passes its arguments to f, once unmeasured and then as `how` says, and returns
    the seconds of a call in each repetition: bytes of `repeat` doubles.
    @return owned, or NULL (ValueError for counts out of range, MemoryError) */
TN_API TN_OWNED tn_func *tn_time_evaluator(tn_func *f, const tn_timing *how);

/** Drops the lines of n bytes from the caches, where the processor lets a program do so. */
void tn_cache_flush(const void *data, size_t n);

/** Registers the global functions of this file. Called once by tn_runtime_init. */
int tn_timing_init(void);

#endif /* TN_RUNTIME_PROFILING_TIMING_H_ */
