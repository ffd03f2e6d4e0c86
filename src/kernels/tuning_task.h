/* What a kernel class leaves open, and who decides it.

   A class that has chosen its tiles by its rules makes a task of them: what is computed, as a
   workload, and knobs with their values. A source may know better, a record of measurements say,
   and gives other values, which are taken when kernels can be made with them.

     kernel_task t = {0};
     ... kernel_task_workload(&t, "dense_pack.x86"); kernel_task_tensor(&t, ...);
     kernel_knob *rows = kernel_task_knob(&t, "tile_m", chosen);
     kernel_knob_may(rows, 1); ...
     TN_TRY(kernel_task_ask(&t, fits, &problem));
     ... rows->value ...
     kernel_task_fini(&t); */
#ifndef TN_KERNELS_TUNING_TASK_H_
#define TN_KERNELS_TUNING_TASK_H_

#include "base/buf.h"
#include "kernels/kernels.h"

enum { KERNEL_KNOBS = 8, KERNEL_VALUES = 64 };

typedef struct {
  const char *name;           /* static */
  int64_t value;              /* what the rules chose; after kernel_task_ask what holds */
  bool given;                 /* a source gave it */
  int64_t may[KERNEL_VALUES]; /* values that kernels can be made with, other knobs permitting */
  int n;
} kernel_knob;

typedef struct {
  tn_buf workload; /* JSON, without spaces: the list of name and arguments that records have */
  kernel_knob knobs[KERNEL_KNOBS];
  int n;
} kernel_task;

/** Begins the workload of a task. */
TN_API void kernel_task_workload(kernel_task *t, const char *name);
/** Adds ["TENSOR",[extents],"dtype"] to it. */
TN_API void kernel_task_tensor(kernel_task *t, const int64_t *extents, int n, tn_dtype dtype);
/** Adds a list of numbers. */
TN_API void kernel_task_list(kernel_task *t, const int64_t *values, int n);
/** Adds a value that is written down as JSON. */
TN_API void kernel_task_value(kernel_task *t, const char *json);
/** Adds "dtype". */
TN_API void kernel_task_dtype(kernel_task *t, tn_dtype dtype);
/** A knob with what the rules chose; one more than KERNEL_KNOBS is an error of the caller. */
TN_API kernel_knob *kernel_task_knob(kernel_task *t, const char *name, int64_t chosen);
/** A value that the knob may have; those beyond KERNEL_VALUES are not offered. */
TN_API void kernel_knob_may(kernel_knob *k, int64_t value);
/** The same for all divisors of n up to `most`. */
TN_API void kernel_knob_may_divide(kernel_knob *k, int64_t n, int64_t most);

/** Asks the source for other values. What it gives is taken as a whole or, with a warning, not at
 * all: values that a knob may not have, or that do not go together.
 *  @param fits whether the values go together; NULL: all do
 *  @return 0; -1 with the source's error, or MemoryError */
TN_API int kernel_task_ask(kernel_task *t, bool (*fits)(const kernel_task *t, const void *ctx),
                           const void *ctx);
TN_API void kernel_task_fini(kernel_task *t);

/** Sets `value` and `given` of knobs that it knows; 0, or -1 with an error. */
typedef int (*kernel_task_source)(kernel_task *t);
TN_API void kernels_set_task_source(kernel_task_source f);

#endif /* TN_KERNELS_TUNING_TASK_H_ */
