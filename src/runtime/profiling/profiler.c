/* Measuring calls, and the global function that profiles one function. See profiling.h. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "object/dtype.h"
#include "object/functions.h"
#include "runtime/module/module.h"
#include "runtime/profiling/profiling.h"
#include "runtime/tensor/tensor.h"

TN_NODES_DEFINE(TN_PROFILING_NODES, profiling_types)
_Static_assert((int)TN_TI_END_profiling <= (int)TN_TI_BEGIN_IR, "the runtime's block is full");

typedef struct {
  tn_device dev;
  int64_t from, ns;
  tn_map *metrics; /* owned */
  tn_arr *started; /* what each collector's start returned; owned, NULL without collectors */
} frame;

struct tn_profiler {
  int32_t ndevice;
  frame *whole; /* of each device */
  tn_arr *collectors;
  tn_map *configuration;
  frame *calls;
  int64_t ncall, cap;
  int64_t *open; /* numbers of the calls that have not ended */
  int64_t nopen, open_cap;
};

/* ---- collectors ---- */

static int64_t ncollector(const tn_profiler *p) { return p->collectors ? p->collectors->len : 0; }

static const tn_MetricCollector *collector(const tn_profiler *p, int64_t i) {
  return (const tn_MetricCollector *)p->collectors->items[i].v.obj;
}

static int init_collectors(const tn_profiler *p) {
  TN_SCOPE(s);
  TN_VEC(devices);
  for (int32_t i = 0; i < p->ndevice; ++i) {
    tn_obj *d;
    TN_GET(d, (tn_obj *)TN_NEW(DeviceWrapper, .device = p->whole[i].dev));
    TN_TRY(tn_vec_push_obj(&devices, d));
  }
  tn_arr *all;
  TN_GET(all, tn_arr_from(&devices));
  for (int64_t i = 0; i < ncollector(p); ++i) {
    tn_any arg = tn_any_obj(all), ret;
    if (!collector(p, i)->init) continue;
    TN_TRY(tn_func_call(collector(p, i)->init, &arg, 1, &ret));
    tn_any_release(&ret);
  }
  return 0;
}

static int start_collectors(const tn_profiler *p, frame *f) {
  TN_VEC(results);
  int err = 0;
  if (ncollector(p) == 0) return 0;
  for (int64_t i = 0; i < ncollector(p) && !err; ++i) {
    tn_any arg = tn_any_device(f->dev), ret = tn_any_none();
    if (collector(p, i)->start) err = tn_func_call(collector(p, i)->start, &arg, 1, &ret);
    if (!err && tn_vec_push(&results, ret)) {
      tn_any_release(&ret);
      err = -1;
    }
  }
  if (!err) err = !(f->started = tn_arr_new(results.items, results.len));
  while (results.len > 0) tn_any_release(&results.items[--results.len]);
  return err ? -1 : 0;
}

static int add_metrics(tn_map *to, const tn_map *from) {
  tn_any key, value;
  for (int64_t i = 0; from && tn_map_at(from, i, &key, &value); ++i)
    TN_TRY(tn_map_set(to, key, value));
  return 0;
}

static int stop_collectors(const tn_profiler *p, frame *f) {
  for (int64_t i = 0; f->started && i < ncollector(p); ++i) {
    tn_any data = f->started->items[i], ret;
    if (data.type_index == TN_NONE || !collector(p, i)->stop) continue;
    TN_TRY(tn_func_call(collector(p, i)->stop, &data, 1, &ret));
    bool map = tn_any_is_obj(&ret) && TN_AS(Map, ret.v.obj);
    int err = map ? add_metrics(f->metrics, (const tn_map *)ret.v.obj) : 0;
    tn_any_release(&ret);
    TN_CHECK(map, TypeError, NULL, "MetricCollector: stop must return a map of metrics");
    TN_TRY(err);
  }
  return 0;
}

/* ---- frames ---- */

static int start_frame(const tn_profiler *p, frame *f, tn_device dev) {
  *f = (frame){.dev = dev};
  TN_GET(f->metrics, tn_map_new());
  TN_TRY(start_collectors(p, f));
  TN_TRY(tn_device_sync(dev, NULL));
  f->from = tn_now_ns();
  return 0;
}

static int stop_frame(const tn_profiler *p, frame *f) {
  TN_TRY(tn_device_sync(f->dev, NULL));
  f->ns = tn_now_ns() - f->from;
  return stop_collectors(p, f);
}

static void release_frame(frame *f) {
  tn_release(f->metrics);
  tn_release(f->started);
}

/* ---- the profiler ---- */

void tn_profiler_free(tn_profiler *p) {
  if (!p) return;
  for (int32_t i = 0; p->whole && i < p->ndevice; ++i) release_frame(&p->whole[i]);
  for (int64_t i = 0; i < p->ncall; ++i) release_frame(&p->calls[i]);
  tn_release(p->collectors);
  tn_release(p->configuration);
  tn_free(p->whole);
  tn_free(p->calls);
  tn_free(p->open);
  tn_free(p);
}

static int check_collectors(const tn_arr *collectors) {
  for (int64_t i = 0; collectors && i < collectors->len; ++i)
    TN_CHECK(TN_AS(MetricCollector, tn_arr_obj(collectors, i)), TypeError, NULL,
             "profile: expected metric collectors, got %s",
             tn_type_key((uint32_t)collectors->items[i].type_index));
  return 0;
}

tn_profiler *tn_profiler_new(const tn_device *devices, int32_t n, const tn_arr *collectors,
                             const tn_map *configuration) {
  TN_TRYP(check_collectors(collectors));
  tn_profiler *p = tn_alloc_zero(1, sizeof *p);
  if (!p) return NULL;
  tn_retain(p->collectors = (tn_arr *)(uintptr_t)collectors);
  tn_retain(p->configuration = (tn_map *)(uintptr_t)configuration);
  p->whole = tn_alloc_zero((size_t)n + 1, sizeof *p->whole);
  for (int32_t i = 0; p->whole && i < n; ++i) p->whole[i].dev = devices[i];
  if (p->whole) p->ndevice = n;
  if (p->whole && init_collectors(p) == 0) return p;
  tn_profiler_free(p);
  return NULL;
}

int tn_profiler_start(tn_profiler *p) {
  for (int32_t i = 0; i < p->ndevice; ++i) {
    tn_device dev = p->whole[i].dev;
    release_frame(&p->whole[i]);
    TN_TRY(start_frame(p, &p->whole[i], dev));
  }
  return 0;
}

int tn_profiler_stop(tn_profiler *p) {
  for (int32_t i = 0; i < p->ndevice; ++i) TN_TRY(stop_frame(p, &p->whole[i]));
  return 0;
}

int tn_profiler_start_call(tn_profiler *p, const char *name, tn_device dev, const tn_map *extra) {
  TN_GROW(p->calls, p->cap, p->ncall + 1, return -1);
  TN_GROW(p->open, p->open_cap, p->nopen + 1, return -1);
  frame *f = &p->calls[p->ncall];
  if (start_frame(p, f, dev)) {
    release_frame(f);
    return -1;
  }
  p->open[p->nopen++] = p->ncall++;
  TN_TRY(tn_map_set(f->metrics, tn_any_cstr("Name"), tn_any_cstr(name)));
  TN_TRY(add_metrics(f->metrics, extra));
  f->from = tn_now_ns(); /* what was just done does not count */
  return 0;
}

int tn_profiler_stop_call(tn_profiler *p, const tn_map *extra) {
  TN_CHECK(p->nopen > 0, InternalError, NULL, "profile: a call ends that did not begin");
  frame *f = &p->calls[p->open[--p->nopen]];
  TN_TRY(stop_frame(p, f));
  return add_metrics(f->metrics, extra);
}

/* ---- the report ---- */

/* "cpu0"; owned by the scope */
static tn_str *device_name(tn_device dev) {
  const char *name = tn_device_type_name((int)dev.device_type);
  return name ? tn_str_fmt("%s%d", name, dev.device_id)
              : tn_str_fmt("device%d_%d", (int)dev.device_type, dev.device_id);
}

static int put(tn_map *m, const char *key, const void *metric) {
  return metric ? tn_map_set(m, tn_any_cstr(key), tn_any_obj(metric)) : -1;
}

/* A copy of a frame's metrics with those that all frames have; owned by the scope. */
static tn_map *frame_metrics(const frame *f, int64_t all_ns) {
  tn_map *m = tn_scope_own(tn_map_new());
  double us = (double)f->ns / 1e3;
  double percent = all_ns > 0 ? (double)f->ns * 100 / (double)all_ns : 0;
  bool ok = m && add_metrics(m, f->metrics) == 0 && put(m, "Duration (us)", tn_duration(us)) == 0 &&
            put(m, "Percent", tn_percent(percent)) == 0 &&
            put(m, "Device", device_name(f->dev)) == 0 && put(m, "Count", tn_count(1)) == 0;
  return ok ? m : NULL;
}

static tn_Report *make_report(const tn_profiler *p) {
  TN_VEC(calls);
  int64_t all_ns = 0;
  for (int32_t i = 0; i < p->ndevice; ++i) {
    if (p->whole[i].ns > all_ns) all_ns = p->whole[i].ns;
  }
  for (int64_t i = 0; i < p->ncall; ++i) {
    tn_map *m = frame_metrics(&p->calls[i], all_ns);
    if (!m) return NULL;
    TN_TRYP(tn_vec_push_obj(&calls, m));
  }
  tn_map *devices = tn_scope_own(tn_map_new()), *configuration = tn_scope_own(tn_map_new());
  if (!devices || !configuration) return NULL;
  for (int32_t i = 0; i < p->ndevice; ++i) {
    tn_map *m = frame_metrics(&p->whole[i], all_ns);
    tn_str *name = m ? device_name(p->whole[i].dev) : NULL;
    if (!name || tn_map_set(devices, tn_any_obj(name), tn_any_obj(m))) return NULL;
  }
  TN_TRYP(put(configuration, "Number of threads", tn_count(tn_num_threads())));
  TN_TRYP(add_metrics(configuration, p->configuration));
  tn_arr *all = tn_arr_from(&calls);
  if (!all) return NULL;
  return TN_NEW(Report, .calls = all, .device_metrics = devices, .configuration = configuration);
}

tn_Report *tn_profiler_report(const tn_profiler *p) {
  TN_SCOPE(s);
  tn_Report *r = make_report(p);
  tn_retain(r);
  return r;
}

tn_str *tn_shape_string(const DLTensor *const *tensors, int32_t n) {
  TN_BUF(b);
  for (int32_t i = 0; i < n; ++i) {
    const DLTensor *t = tensors[i];
    tn_buf_printf(&b, "%s%s[", i ? ", " : "", TN_DT(t->dtype));
    tn_buf_extents(&b, t->shape, t->ndim);
    tn_buf_putc(&b, ']');
  }
  return tn_buf_str(&b);
}

/* ---- profiling one function ---- */

typedef struct {
  tn_module *m;
  tn_str *name;
  tn_arr *collectors;
  tn_device dev;
  int64_t warmup;
} profiled;

static void profiled_free(void *self) {
  profiled *f = self;
  tn_release(f->m);
  tn_release(f->name);
  tn_release(f->collectors);
  tn_free(f);
}

static int call(tn_func *f, const tn_any *args, int32_t n) {
  tn_any ret;
  TN_TRY(tn_func_call(f, args, n, &ret));
  tn_any_release(&ret);
  return 0;
}

/* One call of f under a profiler; `*out` owned. */
static int profile_once(tn_profiler *p, tn_func *f, const char *name, tn_device dev,
                        const tn_any *args, int32_t n, tn_map **out) {
  TN_TRY(tn_profiler_start_call(p, name, dev, NULL));
  TN_TRY(call(f, args, n));
  TN_TRY(tn_profiler_stop_call(p, NULL));
  TN_GET(*out, tn_map_new());
  tn_any key, value;
  const tn_map *all = p->calls[p->ncall - 1].metrics;
  for (int64_t i = 0; tn_map_at(all, i, &key, &value); ++i) {
    if (strcmp(((const tn_str *)key.v.obj)->data, "Name") == 0) continue;
    if (tn_map_set(*out, key, value) == 0) continue;
    tn_release(*out);
    return -1;
  }
  return 0;
}

/* Returns what the collectors measured of one call. */
static int run_profiled(void *self, const tn_any *args, int32_t n, tn_any *ret) {
  const profiled *how = self;
  tn_func *f;
  tn_map *metrics = NULL;
  TN_TRY(tn_module_get_function(how->m, how->name->data, true, &f));
  TN_CHECK(f, TenonError, NULL, "There is no function called \"%s\" in the module",
           how->name->data);
  int err = 0;
  for (int64_t i = 0; i < how->warmup && !err; ++i) err = call(f, args, n);
  tn_profiler *p = err ? NULL : tn_profiler_new(&how->dev, 1, how->collectors, NULL);
  if (p) err = profile_once(p, f, how->name->data, how->dev, args, n, &metrics);
  else err = -1;
  tn_profiler_free(p);
  tn_release(f);
  return err ? -1 : tn_ret_owned(ret, metrics);
}

/* (module, function, device type, device id, warm-up calls, collectors) */
static int profile_function(TN_ARGS) {
  tn_module *m;
  const char *name;
  int64_t x[3];
  TN_NARGS("runtime.profiling.ProfileFunction", 6);
  TN_TRY(tn_arg_module(args, n, 0, &m));
  TN_TRY(tn_any_to_cstr(&args[1], &name));
  for (int i = 0; i < 3; ++i) TN_TRY(tn_any_to_int(&args[2 + i], &x[i]));
  TN_ARG_OPT_ITEMS(Array(MetricCollector), collectors, 5);
  TN_TRY(check_collectors(collectors));
  profiled *f = tn_alloc(sizeof *f);
  if (!f) return -1;
  *f = (profiled){m, tn_str_new(name), collectors, {(DLDeviceType)x[0], (int32_t)x[1]}, x[2]};
  tn_retain(m);
  tn_retain(collectors);
  tn_func *made = f->name ? tn_func_new(run_profiled, f, profiled_free) : NULL;
  if (!made) profiled_free(f);
  return tn_ret_owned(ret, made);
}

/* (init, start, stop): functions, or None */
static int metric_collector(TN_ARGS) {
  TN_NARGS("runtime.profiling.MetricCollector", 3);
  TN_ARG_OPT(Function, init, 0);
  TN_ARG_OPT(Function, start, 1);
  TN_ARG_OPT(Function, stop, 2);
  return tn_ret_obj(ret, TN_NEW(MetricCollector, .init = init, .start = start, .stop = stop));
}

static int device_wrapper(TN_ARGS) {
  tn_device dev;
  TN_NARGS("runtime.profiling.DeviceWrapper", 1);
  TN_TRY(tn_any_to_device(&args[0], &dev));
  return tn_ret_obj(ret, TN_NEW(DeviceWrapper, .device = dev));
}

static const tn_func_row rows[] = {
    {"runtime.profiling.ProfileFunction", profile_function},
    {"runtime.profiling.MetricCollector", metric_collector},
    {"runtime.profiling.DeviceWrapper", device_wrapper},
};

int tn_profiling_init(void) {
  TN_TRY(tn_type_register_table(profiling_types, TN_COUNT(profiling_types)));
  TN_TRY(tn_func_register_rows(rows, TN_COUNT(rows)));
  return tn_report_init();
}
