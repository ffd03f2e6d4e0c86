#include "runtime/profiling/timing.h"

#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "runtime/module/module.h"
#include "runtime/tensor/tensor.h"

typedef struct {
  tn_func *f; /* owned, as is how.preproc */
  tn_timing how;
} evaluator;

static void evaluator_free(void *self) {
  evaluator *e = self;
  tn_release(e->f);
  tn_release(e->how.preproc);
  tn_free(e);
}

/* ---- one measurement ---- */

static int call(tn_func *f, const tn_any *args, int32_t n) {
  tn_any ret;
  TN_TRY(tn_func_call(f, args, n, &ret));
  tn_any_release(&ret);
  return 0;
}

/* Nanoseconds of `number` calls. */
static int measure(const evaluator *e, int64_t number, const tn_any *args, int32_t n, int64_t *ns) {
  int64_t from = tn_now_ns();
  for (int64_t i = 0; i < number; ++i) TN_TRY(call(e->f, args, n));
  TN_TRY(tn_device_sync(e->how.device, NULL));
  *ns = tn_now_ns() - from;
  return 0;
}

/* Copies half of a block on the device over its other half, so that caches hold only that. */
static int evict(const evaluator *e) {
  size_t half = (size_t)e->how.cache_flush_bytes / 2, all = half * 2;
  tn_dtype byte = {kDLUInt, 8, 1};
  if (half == 0) return 0;
  void *block;
  TN_GET(block, tn_device_alloc(e->how.device, all, TN_TENSOR_ALIGN, byte, NULL));
  int err = tn_device_copy(block, 0, e->how.device, block, half, e->how.device, half, NULL) ||
            tn_device_sync(e->how.device, NULL);
  if (tn_device_free(e->how.device, block) || err) return -1;
  return 0;
}

/* Next number of calls, after `number` of them took ns: what the last time promises to be enough,
   and half as many again so that the search ends. */
static int64_t more_calls(int64_t number, int64_t ns, int64_t wanted_ns) {
  double need = ns > 0 ? (double)wanted_ns / (double)ns * (double)number + 1 : 0;
  double grown = (double)number * 1.618 + 1;
  double next = need > grown ? need : grown;
  return next < 1e12 ? (int64_t)next : (int64_t)1e12;
}

/* Seconds of one call; `*number` is where the next repetition starts. */
static int repetition(const evaluator *e, const tn_any *args, int32_t n, int64_t *number,
                      double *seconds) {
  int64_t ns = 0, wanted = e->how.min_repeat_ms * 1000000, zeros = 0;
  TN_TRY(evict(e));
  if (e->how.preproc) TN_TRY(call(e->how.preproc, args, n));
  TN_TRY(measure(e, *number, args, n, &ns));
  while (ns < wanted && zeros < e->how.limit_zero_time_iterations) {
    *number = more_calls(*number, ns, wanted);
    TN_TRY(measure(e, *number, args, n, &ns));
    zeros += ns == 0;
  }
  *seconds = (double)ns / 1e9 / (double)*number;
  return 0;
}

static void pause_for(int64_t ms) {
  struct timespec t = {ms / 1000, ms % 1000 * 1000000};
  nanosleep(&t, NULL); /* a signal may cut it short */
}

static int evaluate(void *self, const tn_any *args, int32_t n, tn_any *ret) {
  const evaluator *e = self;
  int64_t number = e->how.number;
  TN_AUTOFREE double *seconds = tn_alloc_zero((size_t)e->how.repeat, sizeof *seconds);
  if (!seconds) return -1;
  TN_TRY(call(e->f, args, n)); /* what is done only at the first call does not count */
  TN_TRY(tn_device_sync(e->how.device, NULL));
  for (int64_t i = 0; i < e->how.repeat; ++i) {
    TN_TRY(repetition(e, args, n, &number, &seconds[i]));
    if (e->how.cooldown_interval_ms > 0 && i % e->how.repeats_to_cooldown == 0)
      pause_for(e->how.cooldown_interval_ms);
  }
  return tn_ret_owned(ret, tn_bytes_new(seconds, (size_t)e->how.repeat * sizeof *seconds));
}

/* ---- the function that measures ---- */

static int check_range(const char *name, int64_t value, int64_t least, int64_t most) {
  TN_CHECK(value >= least && value <= most, ValueError, NULL,
           "time_evaluator.%s: expected %lld to %lld, got %lld", name, (long long)least,
           (long long)most, (long long)value);
  return 0;
}

static int check_timing(const tn_timing *t) {
  const int64_t day_ms = 86400000;
  TN_TRY(check_range("number", t->number, 1, INT32_MAX));
  TN_TRY(check_range("repeat", t->repeat, 1, INT32_MAX));
  TN_TRY(check_range("min_repeat_ms", t->min_repeat_ms, 0, day_ms));
  TN_TRY(check_range("limit_zero_time_iterations", t->limit_zero_time_iterations, 0, INT32_MAX));
  TN_TRY(check_range("cooldown_interval_ms", t->cooldown_interval_ms, 0, day_ms));
  TN_TRY(check_range("repeats_to_cooldown", t->repeats_to_cooldown, 1, INT32_MAX));
  return check_range("cache_flush_bytes", t->cache_flush_bytes, 0, INT64_MAX);
}

tn_func *tn_time_evaluator(tn_func *f, const tn_timing *how) {
  TN_TRYP(check_timing(how));
  evaluator *e = tn_alloc(sizeof *e);
  if (!e) return NULL;
  *e = (evaluator){f, *how};
  tn_func *made = tn_func_new(evaluate, e, evaluator_free);
  if (!made) {
    tn_free(e);
    return NULL;
  }
  tn_retain(f);
  tn_retain(how->preproc);
  return made;
}

/* A global function that must exist. Owned. */
static tn_func *require_global(const char *name) {
  tn_func *f = tn_func_find(name);
  if (!f) TN_RAISE(ValueError, NULL, "Cannot find global function %s", name);
  return f;
}

/* (module or None, function name, device type, device id, number, repeat, min_repeat_ms,
   limit_zero_time_iterations, cooldown_interval_ms, repeats_to_cooldown, cache_flush_bytes,
   name of a global function or "") */
static int time_evaluator(TN_ARGS) {
  tn_module *m = NULL;
  const char *name, *preproc;
  int64_t x[9];
  TN_NARGS("runtime.TimeEvaluator", 12);
  if (args[0].type_index != TN_NONE) TN_TRY(tn_arg_module(args, n, 0, &m));
  TN_TRY(tn_any_to_cstr(&args[1], &name));
  for (int i = 0; i < 9; ++i) TN_TRY(tn_any_to_int(&args[2 + i], &x[i]));
  TN_TRY(tn_any_to_cstr(&args[11], &preproc));
  tn_timing how = {.device = {(DLDeviceType)x[0], (int32_t)x[1]},
                   .number = x[2],
                   .repeat = x[3],
                   .min_repeat_ms = x[4],
                   .limit_zero_time_iterations = x[5],
                   .cooldown_interval_ms = x[6],
                   .repeats_to_cooldown = x[7],
                   .cache_flush_bytes = x[8]};
  tn_func *f = m ? tn_module_require(m, name, true) : require_global(name);
  if (f && *preproc) how.preproc = require_global(preproc);
  tn_func *made = f && (!*preproc || how.preproc) ? tn_time_evaluator(f, &how) : NULL;
  tn_release(f);
  tn_release(how.preproc);
  return tn_ret_owned(ret, made);
}

/* ---- caches ---- */

void tn_cache_flush(const void *data, size_t n) {
  enum { LINE = 64 }; /* at most that of the processors below */
  const char *from = data;
  for (size_t i = 0; i < n; i += LINE) {
#if defined(__x86_64__) || defined(__SSE2__)
    __builtin_ia32_clflush(from + i);
#elif defined(__aarch64__)
    __asm__ volatile("dc civac, %0" ::"r"(from + i) : "memory");
#endif
  }
  if (n) {
#if defined(__x86_64__) || defined(__SSE2__)
    __builtin_ia32_clflush(from + n - 1); /* the data may start inside a line */
    __builtin_ia32_mfence();
#elif defined(__aarch64__)
    __asm__ volatile("dc civac, %0\n\tdsb ish" ::"r"(from + n - 1) : "memory");
#else
    (void)from;
#endif
  }
}

/* The first argument often is the input, which a caller would find in the caches too. */
static int cache_flush_cpu_non_first_arg(TN_ARGS) {
  for (int32_t i = 1; i < n; ++i) {
    const DLTensor *t;
    TN_TRY(tn_any_to_dltensor(&args[i], &t));
    if (tn_device_is_host(t->device))
      tn_cache_flush(tn_tensor_first(t), (size_t)tn_tensor_nbytes(t));
  }
  return 0;
}

int tn_timing_init(void) {
  static const tn_func_row rows[] = {
      {"runtime.TimeEvaluator", time_evaluator},
      {"cache_flush_cpu_non_first_arg", cache_flush_cpu_non_first_arg},
  };
  return tn_func_register_rows(rows, TN_COUNT(rows));
}
