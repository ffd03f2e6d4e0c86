/* Timing for the benchmark programs: rounds in which the candidates take turns, so that a change of
   the machine's pace meets all of them, and the median over the rounds. */
#ifndef TENON_BENCH_TIMING_H_
#define TENON_BENCH_TIMING_H_

#include <stdint.h>
#include <stdlib.h>
#include <time.h>

static inline double bench_now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int bench_less(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Sorts the samples. */
static inline double bench_median(double *samples, int n) {
  qsort(samples, (size_t)n, sizeof *samples, bench_less);
  return n % 2 ? samples[n / 2] : (samples[n / 2 - 1] + samples[n / 2]) / 2;
}

#endif
