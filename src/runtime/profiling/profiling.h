/* Profiles: what was called, how long it took, and other metrics, as a report that can be printed.

     tn_profiler *p;
     TN_GET(p, tn_profiler_new(devices, 1, collectors, configuration));
     TN_TRY(tn_profiler_start(p));
     for each call:
       TN_TRY(tn_profiler_start_call(p, "fused_add", device, extra));
       ...
       TN_TRY(tn_profiler_stop_call(p, NULL));
     TN_TRY(tn_profiler_stop(p));
     report = tn_profiler_report(p);
     tn_profiler_free(p);

   A metric is an object: Duration, Percent, Count, Ratio or a string. */
#ifndef TN_RUNTIME_PROFILING_PROFILING_H_
#define TN_RUNTIME_PROFILING_PROFILING_H_

#include "runtime/profiling/profiling.def"
#include "runtime/types.h"
#include "tenon/runtime.h"

TN_NODES_FORWARD(TN_PROFILING_NODES)
TN_NODES_INDEX(TN_PROFILING_NODES, TN_TI_END_runtime, profiling)
TN_NODES_DECLARE(TN_PROFILING_NODES)

/* ---- measuring ---- */

typedef struct tn_profiler tn_profiler;

/** @param collectors array of MetricCollector, or NULL
 *  @param configuration map from string to metric that becomes part of the report, or NULL
 *  @return owned, or NULL (MemoryError, errors of the collectors' init) */
TN_API TN_OWNED tn_profiler *tn_profiler_new(const tn_device *devices, int32_t n,
                                             const tn_arr *collectors, const tn_map *configuration);
TN_API void tn_profiler_free(tn_profiler *p); /**< NULL is allowed */
/** Begins the whole, of which calls are part; waits for the devices. */
TN_API int tn_profiler_start(tn_profiler *p);
TN_API int tn_profiler_stop(tn_profiler *p);
/** Begins a call; calls may nest. @param extra map of its further metrics, or NULL */
TN_API int tn_profiler_start_call(tn_profiler *p, const char *name, tn_device dev,
                                  const tn_map *extra);
/** Ends the innermost call. @param extra metrics known only now, or NULL */
TN_API int tn_profiler_stop_call(tn_profiler *p, const tn_map *extra);
/** What was measured, after tn_profiler_stop. Owned, or NULL. */
TN_API TN_OWNED tn_Report *tn_profiler_report(const tn_profiler *p);

/** "float32[1, 784], float32[128]": types and shapes of the arguments of a call. Owned. */
TN_API TN_OWNED tn_str *tn_shape_string(const DLTensor *const *tensors, int32_t n);

/* ---- reports ---- */

/** The report as a table for people.
 *  @param sort calls that took longest first
 *  @param aggregate calls of one function on one device with the same shapes become one row
 *  @param sums a row with sums, and one with the whole time of each device
 *  @return owned, or NULL */
TN_API TN_OWNED tn_str *tn_report_table(const tn_Report *r, bool sort, bool aggregate, bool sums);
TN_API TN_OWNED tn_str *tn_report_csv(const tn_Report *r); /**< the calls; owned */
TN_API TN_OWNED tn_str *tn_report_json(const tn_Report *r);
/** The report that was written as JSON. Owned, or NULL (ValueError naming the place). */
TN_API TN_OWNED tn_Report *tn_report_from_json(const char *text, size_t n);

/* Metrics, owned by the scope. */
static inline tn_obj *tn_duration(double microseconds) {
  return (tn_obj *)TN_NEW(Duration, .microseconds = microseconds);
}
static inline tn_obj *tn_percent(double percent) {
  return (tn_obj *)TN_NEW(Percent, .percent = percent);
}
static inline tn_obj *tn_count(int64_t value) { return (tn_obj *)TN_NEW(Count, .value = value); }
static inline tn_obj *tn_ratio(double ratio) { return (tn_obj *)TN_NEW(Ratio, .ratio = ratio); }

/** Sum of two metrics of one kind, owned by the scope; of others, and of strings that differ: an
 * empty string. Ratios are not added: the first stays. */
tn_obj *tn_metric_add(tn_obj *a, tn_obj *b);
/** Microseconds of the metric "Duration (us)" of a call, or -1. */
TN_API double tn_call_duration(const tn_map *call);
/** Names of all metrics of the calls: those that each call has, in their usual order, then the
 * others, sorted. Owned by the scope. */
tn_arr *tn_metric_names(const tn_vec *calls);

/** Registers the types, and "runtime.profiling.*"; part of tn_runtime_init. */
int tn_profiling_init(void);
int tn_report_init(void);

#endif /* TN_RUNTIME_PROFILING_PROFILING_H_ */
