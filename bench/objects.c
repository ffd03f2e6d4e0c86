/* Time of the generic algorithms on object graphs: structural hash and equality, JSON save and
   load.

     objects [--json] [--nodes N] [--rounds N]

   Two graphs of N nodes (100,000 unless told otherwise): a balanced expression tree of nodes that
   compare by content, and a graph like a network's, a chain of calls of which each is used by the
   next two, whose sharing counts. Each is compared with a copy of it. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "object/functions.h"
#include "objects.def"
#include "tenon/object.h"
#include "tenon/runtime.h"
#include "timing.h"

TN_NODES_FORWARD(BENCH_NODES)
TN_NODES_INDEX(BENCH_NODES, TN_TI_BEGIN_DYNAMIC, bench)
TN_NODES_DECLARE(BENCH_NODES)
TN_NODES_DEFINE(BENCH_NODES, bench_types)

static int fail(void) {
  fprintf(stderr, "%s: %s\n", tn_error_class(), tn_error_message());
  return 1;
}

/* ---- graphs ---- */

static tn_obj *tree(int64_t n, tn_BVar *x) {
  if (n < 2) return (tn_obj *)TN_NEW(BAdd, .dtype = x->dtype, .a = (tn_obj *)x, .b = (tn_obj *)x);
  return (tn_obj *)TN_NEW(BAdd, .dtype = x->dtype, .a = tree(n / 2, x),
                          .b = tree(n - 1 - n / 2, x));
}

static tn_obj *expression(int64_t n) {
  return tree(n, TN_NEW(BVar, .name = tn_str_from("x"), .dtype = {kDLInt, 32, 1}));
}

static tn_obj *network(int64_t n) {
  tn_BVar *x = TN_NEW(BVar, .name = tn_str_from("data"), .dtype = {kDLFloat, 32, 1});
  tn_obj *last[2] = {(tn_obj *)x, (tn_obj *)x};
  for (int64_t i = 0; i < n / 2; ++i) { /* a call and the array of its arguments */
    tn_obj *call = (tn_obj *)TN_NEW(BCall, .op = tn_str_from(i % 2 ? "nn.relu" : "add"),
                                    .args = tn_arr_of(2, last[0], last[1]));
    last[0] = last[1];
    last[1] = call;
  }
  return last[1];
}

static const struct {
  const char *name;
  tn_obj *(*make)(int64_t n);
} graphs[] = {{"tree", expression}, {"network", network}};

/* ---- what is measured ---- */

typedef struct {
  tn_obj *lhs, *rhs;
  tn_str *text;
} input;

static int hash(const input *in) {
  uint64_t h;
  return tn_hash(in->lhs, TN_MAP_FREE_VARS, &h);
}
static int equal(const input *in) {
  return tn_equal(in->lhs, in->rhs, TN_MAP_FREE_VARS) == 1 ? 0 : -1;
}
static int save(const input *in) {
  tn_str *text = tn_json_save(tn_any_obj(in->lhs));
  tn_release(text);
  return text ? 0 : -1;
}
static int load(const input *in) {
  tn_any value;
  if (tn_json_load(tn_str_data(in->text), tn_str_len(in->text), &value)) return -1;
  tn_any_release(&value);
  return 0;
}

static const struct {
  const char *name;
  int (*run)(const input *in);
} actions[] = {{"hash", hash}, {"equal", equal}, {"save JSON", save}, {"load JSON", load}};

enum { NGRAPH = TN_COUNT(graphs), NACTION = TN_COUNT(actions), MAX_ROUNDS = 101 };

/* Median ms of each action. */
static int measure(const input *in, int rounds, double median[NACTION]) {
  double samples[NACTION][MAX_ROUNDS];
  for (int r = 0; r < rounds; ++r) {
    for (int a = 0; a < NACTION; ++a) {
      double from = bench_now_ns();
      if (actions[a].run(in)) return -1;
      samples[a][r] = (bench_now_ns() - from) / 1e6;
    }
  }
  for (int a = 0; a < NACTION; ++a) median[a] = bench_median(samples[a], rounds);
  return 0;
}

static void print_text(int64_t n, int rounds, double median[NGRAPH][NACTION]) {
  printf("graphs of %lld nodes, ms, median of %d rounds\n%-12s", (long long)n, rounds, "");
  for (int a = 0; a < NACTION; ++a) printf("%12s", actions[a].name);
  printf("\n");
  for (int g = 0; g < NGRAPH; ++g) {
    printf("%-12s", graphs[g].name);
    for (int a = 0; a < NACTION; ++a) printf("%12.2f", median[g][a]);
    printf("\n");
  }
}

static void print_json(int64_t n, int rounds, double median[NGRAPH][NACTION]) {
  printf("{\"benchmark\": \"objects\", \"nodes\": %lld, \"rounds\": %d, \"unit\": \"ms\", "
         "\"results\": [",
         (long long)n, rounds);
  for (int i = 0; i < NGRAPH * NACTION; ++i)
    printf("%s\n  {\"graph\": \"%s\", \"action\": \"%s\", \"median\": %.3f}", i ? "," : "",
           graphs[i / NACTION].name, actions[i % NACTION].name, median[i / NACTION][i % NACTION]);
  printf("\n]}\n");
}

int main(int argc, char **argv) {
  bool json = false;
  int rounds = 7;
  int64_t n = 100000;
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], "--json") == 0) json = true;
    else if (strcmp(argv[i], "--nodes") == 0 && i + 1 < argc) n = atoll(argv[++i]);
    else if (strcmp(argv[i], "--rounds") == 0 && i + 1 < argc) rounds = atoi(argv[++i]);
    else return fprintf(stderr, "usage: objects [--json] [--nodes N] [--rounds N]\n"), 2;
  }
  if (rounds < 1 || rounds > MAX_ROUNDS) rounds = 7;
  if (n < 2) n = 2;
  if (tn_runtime_init() || tn_type_register_table(bench_types, TN_COUNT(bench_types)))
    return fail();
  double median[NGRAPH][NACTION];
  for (int g = 0; g < NGRAPH; ++g) {
    TN_SCOPE(s);
    input in = {graphs[g].make(n), graphs[g].make(n), NULL};
    if (!in.lhs || !in.rhs) return fail();
    in.text = tn_scope_own(tn_json_save(tn_any_obj(in.lhs)));
    if (!in.text || measure(&in, rounds, median[g])) return fail();
  }
  json ? print_json(n, rounds, median) : print_text(n, rounds, median);
  return 0;
}
