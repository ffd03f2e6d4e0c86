/* What a kernel class leaves open, and who decides it.

   A class of kernels that has chosen its tiles by its rules makes a task of them: what is
   computed, as a workload, and knobs with their values. Records of measurements (records.h) may
   know better ones, which are taken when kernels can be made with them.

     tune_task t = {0};
     ... tune_task_workload(&t, "dense_pack.x86"); tune_task_tensor(&t, ...);
     tune_knob *rows = tune_task_knob(&t, "tile_m", chosen);
     tune_knob_may(rows, 1); ...
     TN_TRY(tune_task_ask(&t, fits, &problem));
     ... rows->value ...
     tune_task_fini(&t); */
#ifndef TN_TUNE_TASK_H_
#define TN_TUNE_TASK_H_

#include "base/buf.h"
#include "object/object.h"

enum { TUNE_KNOBS = 8, TUNE_VALUES = 64 };

typedef struct {
  const char *name;         /* static */
  int64_t value;            /* what the rules chose; after tune_task_ask what holds */
  bool given;               /* a record gave it */
  int64_t may[TUNE_VALUES]; /* values that kernels can be made with, other knobs permitting */
  int n;
} tune_knob;

typedef struct {
  tn_buf workload; /* JSON, without spaces: the list of name and arguments that records have */
  tune_knob knobs[TUNE_KNOBS];
  int n;
} tune_task;

/** Begins the workload of a task. */
TN_API void tune_task_workload(tune_task *t, const char *name);
/** Adds ["TENSOR",[extents],"dtype"] to it. */
TN_API void tune_task_tensor(tune_task *t, const int64_t *extents, int n, tn_dtype dtype);
/** Adds a list of numbers. */
TN_API void tune_task_list(tune_task *t, const int64_t *values, int n);
/** Adds a value that is written down as JSON. */
TN_API void tune_task_value(tune_task *t, const char *json);
/** Adds "dtype". */
TN_API void tune_task_dtype(tune_task *t, tn_dtype dtype);
/** A knob with what the rules chose; one more than TUNE_KNOBS is an error of the caller. */
TN_API tune_knob *tune_task_knob(tune_task *t, const char *name, int64_t chosen);
/** A value that the knob may have; those beyond TUNE_VALUES are not offered. */
TN_API void tune_knob_may(tune_knob *k, int64_t value);
/** The same for all divisors of n up to `most`. */
TN_API void tune_knob_may_divide(tune_knob *k, int64_t n, int64_t most);

/** Asks the records for other values. What they give is taken as a whole or, with a warning, not at
 * all: values that a knob may not have, or that do not go together.
 *  @param fits whether the values go together; NULL: all do
 *  @return 0; -1 with the error of a source of records, or MemoryError */
TN_API int tune_task_ask(tune_task *t, bool (*fits)(const tune_task *t, const void *ctx),
                         const void *ctx);
TN_API void tune_task_fini(tune_task *t);

#endif /* TN_TUNE_TASK_H_ */
