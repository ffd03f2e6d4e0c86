/* tenon bench: how long a compiled model takes, run after run. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/error.h"
#include "cli/cli.h"
#include "cli/model.h"
#include "cli/progress.h"
#include "object/functions.h"

enum { MIN_RUNS = 5, MAX_RUNS = 1000000 };

const cli_option cli_bench_options[] = {
    {"repeat", 'n', "N", "number of runs (default: as many as fit into a second, at least 5)",
     NULL},
    {"warmup", 'w', "N", "runs before those that are measured (default 3)", NULL},
    {"model", 'm', "NAME",
     "which model of an archive in Model Library Format (default: the only one)", NULL},
    {"input", 'i', "NAME:SHAPE", "extents of an input that the model leaves open; repeatable",
     NULL},
    {"json", 0, NULL, "as JSON, times in seconds", NULL},
    {0},
};

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Inputs are zero: the time of the operators does not depend on what they read. */
static int clear_inputs(cli_model *m) {
  for (int32_t i = 0; i < cli_model_ninput(m); ++i) {
    tn_tensor *t;
    if (!cli_model_is_given(m, i)) continue;
    TN_GET(t, cli_model_get_input(m, i));
    const DLTensor *dl = tn_tensor_dl(t);
    memset((char *)dl->data + dl->byte_offset, 0, (size_t)tn_tensor_nbytes(dl));
    tn_release(t);
  }
  return 0;
}

/* @param runs 0: until a second has passed. @return number of runs, -1 with an error */
static int64_t measure(const cli_args *a, cli_model *m, int64_t runs, double **times) {
  int64_t n = 0, cap = 0;
  double *list = NULL, begin = now();
  cli_count count = {.args = a, .total = runs};
  while (runs ? n < runs : n < MIN_RUNS || (now() - begin < 1 && n < MAX_RUNS)) {
    if (n == cap) {
      cap = cap ? cap * 2 : 256;
      double *grown = tn_realloc_array(list, cap, sizeof *list);
      if (!grown) return tn_free(list), -1;
      list = grown;
    }
    double start = now();
    if (cli_model_run(m)) return tn_free(list), -1;
    list[n++] = now() - start;
    cli_count_run(&count, n);
  }
  cli_count_end(&count);
  *times = list;
  return n;
}

/* Largest memory of this process in bytes, that of the library included; 0 when it is not known. */
static long long peak_memory(void) {
  long long kb = 0;
  char line[128];
  FILE *f = fopen("/proc/self/status", "r");
  while (f && fgets(line, sizeof line, f))
    if (sscanf(line, "VmHWM: %lld", &kb) == 1) break;
  if (f) fclose(f);
  return kb * 1024;
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* The smallest time that `part` of the runs do not exceed. */
static double percentile(const double *sorted, int64_t n, double part) {
  int64_t i = (int64_t)((double)n * part + 0.999999) - 1;
  return sorted[i < 0 ? 0 : i >= n ? n - 1 : i];
}

static int tell(const cli_args *a, double *times, int64_t n) {
  double sum = 0;
  qsort(times, (size_t)n, sizeof *times, ascending);
  for (int64_t i = 0; i < n; ++i) sum += times[i];
  const struct {
    const char *name;
    double value;
  } rows[] = {{"min", times[0]},
              {"median", percentile(times, n, 0.5)},
              {"p90", percentile(times, n, 0.9)},
              {"p99", percentile(times, n, 0.99)},
              {"max", times[n - 1]},
              {"mean", sum / (double)n}};
  double rate = sum > 0 ? (double)n / sum : 0;
  bool json = cli_has(a, "json");
  printf(json ? "{\"runs\": %lld" : "runs        %12lld\n", (long long)n);
  for (int i = 0; i < TN_COUNT(rows); ++i)
    if (json) printf(", \"%s\": %.9f", rows[i].name, rows[i].value);
    else printf("%-12s%12.3f us\n", rows[i].name, rows[i].value * 1e6);
  if (json) printf(", \"runs_per_second\": %.3f, \"memory_bytes\": %lld}\n", rate, peak_memory());
  else
    printf("throughput  %12.1f runs/s\nmemory      %12.1f MiB\n", rate,
           (double)peak_memory() / (1 << 20));
  return 0;
}

int cli_bench(const cli_args *a) {
  CLI_MODEL(m);
  int64_t runs, warmup;
  double *times = NULL;
  TN_TRY(cli_int(a, "repeat", 0, 1, MAX_RUNS, &runs));
  TN_TRY(cli_int(a, "warmup", 3, 0, MAX_RUNS, &warmup));
  TN_TRY(cli_model_open(&m, a));
  TN_TRY(clear_inputs(&m));
  for (int64_t i = 0; i < warmup; ++i) TN_TRY(cli_model_run(&m));
  int64_t n = measure(a, &m, runs, &times);
  if (n < 0) return -1;
  int err = tell(a, times, n);
  tn_free(times);
  return err;
}
