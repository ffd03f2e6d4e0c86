/* Cost of the graph executor itself: chains of kernels that add one to one number, called as
   compiled code and as functions of the library.

     graph_executor [--json] [--rounds N]

   Prints the time of a run of chains of several lengths, the cost of each further operator, and the
   time to make an executor. A kernel's own time (an indirect call, a load, an addition, a store) is
   part of the numbers; the first column has it alone, called in a loop. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "../tests/c/graph_module.h"
#include "runtime/graph/executor.h"
#include "timing.h"

enum { MAX_ROUNDS = 101, NCHAIN = 5 };
static const int lengths[NCHAIN] = {1, 10, 100, 1000, 10000};
static const char *const kinds[] = {"add1", "twice"};
static const char *const kind_names[] = {"compiled", "function"};

static tn_graph_executor *make_chain(const tn_buf *json, tn_module *lib) {
  const tn_device cpu = {kDLCPU, 0};
  tn_graph_executor *x = tn_graph_executor_new(json->data, json->len, lib, &cpu, 1);
  if (!x) fprintf(stderr, "%s\n", tn_error_message());
  return x;
}

/* ns of one run, mean of enough for a millisecond */
static double time_run(tn_graph_executor *x, int length) {
  int n = 1000000 / (20 * length) + 1;
  double from = bench_now_ns();
  for (int i = 0; i < n; ++i) {
    if (tn_graph_run(x)) return -1;
  }
  return (bench_now_ns() - from) / n;
}

/* ns of the kernel alone */
static double time_kernel(tn_graph_executor *x) {
  enum { CALLS = 100000 };
  int (*volatile code)(TVMValue *, int *, int, TVMValue *, int *, void *) = add1;
  tn_graph_op *op = &x->ops[0];
  double from = bench_now_ns();
  for (int i = 0; i < CALLS; ++i) code(op->values, op->codes, op->narg, NULL, NULL, NULL);
  return (bench_now_ns() - from) / CALLS;
}

typedef struct {
  double create_us, run_ns; /* of a chain: once, and the median of the rounds */
} result;

static bool measure(tn_module *lib, const char *kind, int length, int rounds, result *out,
                    double *kernel_ns) {
  TN_BUF(json);
  double samples[MAX_ROUNDS];
  put_chain(&json, length, kind, 1);
  double from = bench_now_ns();
  tn_graph_executor *x = make_chain(&json, lib);
  if (!x) return false;
  out->create_us = (bench_now_ns() - from) / 1e3;
  for (int r = 0; r < rounds; ++r) samples[r] = time_run(x, length);
  out->run_ns = bench_median(samples, rounds);
  if (x->ops[0].code) *kernel_ns = time_kernel(x);
  tn_graph_executor_free(x);
  return true;
}

static void print_text(result r[2][NCHAIN], double kernel_ns) {
  printf("a kernel alone: %.1f ns\n%-12s%10s%14s%18s%14s\n", kernel_ns, "", "operators", "run, ns",
         "ns per operator", "create, us");
  for (int k = 0; k < 2; ++k) {
    for (int c = 0; c < NCHAIN; ++c)
      printf("%-12s%10d%14.1f%18.2f%14.1f\n", kind_names[k], lengths[c], r[k][c].run_ns,
             r[k][c].run_ns / lengths[c], r[k][c].create_us);
  }
}

static void print_json(result r[2][NCHAIN], double kernel_ns) {
  printf("{\"benchmark\": \"graph_executor\", \"kernel_ns\": %.2f, \"results\": [", kernel_ns);
  for (int i = 0; i < 2 * NCHAIN; ++i) {
    const result *x = &r[i / NCHAIN][i % NCHAIN];
    printf("%s\n  {\"kernels\": \"%s\", \"operators\": %d, \"run_ns\": %.1f, \"create_us\": %.1f}",
           i ? "," : "", kind_names[i / NCHAIN], lengths[i % NCHAIN], x->run_ns, x->create_us);
  }
  printf("\n]}\n");
}

int main(int argc, char **argv) {
  bool json = false;
  int rounds = 21;
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], "--json") == 0) json = true;
    else if (strcmp(argv[i], "--rounds") == 0 && i + 1 < argc) rounds = atoi(argv[++i]);
    else return fprintf(stderr, "usage: graph_executor [--json] [--rounds N]\n"), 2;
  }
  if (rounds < 1 || rounds > MAX_ROUNDS) rounds = 21;
  if (tn_runtime_init()) return 1;
  tn_module *lib = graph_module();
  result results[2][NCHAIN];
  double kernel_ns = 0;
  for (int i = 0; i < 2 * NCHAIN; ++i) {
    if (!measure(lib, kinds[i / NCHAIN], lengths[i % NCHAIN], rounds,
                 &results[i / NCHAIN][i % NCHAIN], &kernel_ns))
      return 1;
  }
  tn_release(lib);
  (json ? print_json : print_text)(results, kernel_ns);
  return 0;
}
