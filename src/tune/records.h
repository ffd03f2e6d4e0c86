/* Records of measurements: which tiles kernels were fastest with. A file has one JSON object a
   line, as old programs wrote them:

     {"input": ["llvm -mcpu=skylake", "dense_pack.x86", [["TENSOR", [8, 64], "float32"], ...], {}],
      "config": {"index": 0, "code_hash": null, "entity": [["tile_m", "ot", 4], ...]},
      "result": [[seconds, ...], error, all, time], "version": 0.2, "tvm_version": "..."}

   Empty lines, comments (#) and records of other versions are left out, as are those of
   measurements that failed and of targets that are not known.

   Kernels (tune/task.h) ask the sources that the thread has entered, the innermost first: tables
   of records, or functions of programs. Where none was entered, the records that ship with the
   library are asked, unless the option relay.backend.records says "off". */
#ifndef TN_TUNE_RECORDS_H_
#define TN_TUNE_RECORDS_H_

#include "base/buf.h"
#include "target/target.h"
#include "tune/task.h"

typedef struct records records;

/** Reads records. @param name of the file, for errors
 *  @return owned; NULL: ValueError naming the line, MemoryError */
TN_API records *records_read(const char *text, size_t n, const char *name);
TN_API void records_free(records *r);
TN_API int64_t records_count(const records *r);
/** The fastest record of a workload for a target. A record that names a processor (mcpu), a model
 * or a number of cores is for that one only, and goes before one that names less.
 *  @param workload as tune/task.h writes it
 *  @return the "entity" of its configuration as JSON, borrowed; NULL: there is none */
TN_API const char *records_best(const records *r, const tn_target *t, const char *workload);

/** The name of the processor that a target's code is for; "": it is not known. Borrowed. */
TN_API const char *records_processor(const tn_target *t);
/** Does a record of a target count for another one, and how much of it does it name?
 *  @return -1: it does not */
TN_API int records_fit(const tn_target *of, const tn_target *t);

/** A source of records: f(target, workload, knobs) gives the entity as JSON, or None where it knows
 * nothing. Workload and knobs ({"tile_m": [chosen, [what it may be, ...]]}) are JSON.
 *  @param key says all that its answers depend on; NULL: they may change, so that compiled kernels
 *  are not kept, and only the calling thread asks */
TN_API int records_enter(tn_func *f, tn_str *key);
/** Leaves the innermost one. ValueError: there is none. */
TN_API int records_exit(void);
/** A source that answers from a text of records; scope-owned. Its key is the text. */
TN_API tn_func *records_source(const char *text, size_t n, const char *name);

/** The sources of this thread, for another one that works for it: borrowed, may be NULL. */
TN_API tn_arr *records_current(void);
/** Sets them. @return those before, owned by the caller */
TN_API tn_arr *records_use(tn_arr *sources);
/** May other threads ask the sources, and compiled kernels be kept? Appends what they depend on. */
TN_API bool records_key(tn_buf *out);

/** Sets `value` and `given` of the knobs of a task that a source knows, the innermost one first; 0,
 * or -1 with the source's error. Part of tune_task_ask. */
int records_ask(tune_task *t);

/** "tune.records_..."; part of the start of the compiler. */
TN_API int tune_init(void);

#endif /* TN_TUNE_RECORDS_H_ */
