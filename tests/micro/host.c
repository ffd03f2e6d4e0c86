/* The graph runtime for microcontrollers on this machine, with the model of an archive:

     host run GRAPH PARAMS BYTES < inputs > outputs     float32, input after input
     host need GRAPH PARAMS                             least memory that a run is done in
     host damage GRAPH PARAMS TIMES                     damaged texts: refused or run, never worse
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tenon/micro.h"
#include "tvm/runtime/c_runtime_api.h"

extern const tn_micro_library tvmgen_default_library;

typedef struct {
  char *data;
  size_t n;
} text;

static text read_all(const char *path) {
  text t = {NULL, 0};
  FILE *f = fopen(path, "rb");
  if (!f) exit(3);
  fseek(f, 0, SEEK_END);
  t.n = (size_t)ftell(f);
  rewind(f);
  t.data = aligned_alloc(64, (t.n + 64) / 64 * 64);
  if (!t.data || fread(t.data, 1, t.n, f) != t.n) exit(3);
  fclose(f);
  return t;
}

static size_t bytes_of(const DLTensor *t) {
  size_t n = t->dtype.bits / 8;
  for (int32_t d = 0; d < t->ndim; ++d) n *= (size_t)t->shape[d];
  return n;
}

static int run(const tn_micro_model *m) {
  tn_micro_graph *g;
  size_t missing;
  tn_micro_status status = tn_micro_graph_init(m, &g, &missing);
  if (status) {
    fprintf(stderr, "init: %d, missing %zu\n", (int)status, missing);
    return 1;
  }
  DLTensor *in = tn_micro_graph_input(g, "image");
  const DLTensor *out = tn_micro_graph_output(g, 0);
  if (!in || !out || tn_micro_graph_input(g, "p0") || tn_micro_graph_output(g, 1)) return 2;
  while (fread(in->data, 1, bytes_of(in), stdin) == bytes_of(in)) {
    if ((status = tn_micro_graph_run(g))) {
      fprintf(stderr, "run: %d: %s\n", (int)status, TVMGetLastError());
      return 1;
    }
    fwrite(out->data, 1, bytes_of(out), stdout);
  }
  return 0;
}

/* Memory of exactly that size, so that a sanitizer sees what lies beyond. */
static tn_micro_status try(tn_micro_model m, size_t bytes, size_t *missing) {
  tn_micro_graph *g;
  m.memory = aligned_alloc(16, bytes);
  m.memory_bytes = bytes;
  tn_micro_status status = tn_micro_graph_init(&m, &g, missing);
  if (!status) status = tn_micro_graph_run(g);
  free(m.memory);
  return status;
}

static int need(const tn_micro_model *m) {
  size_t missing, bytes = 0;
  for (;; bytes += 16) {
    tn_micro_status status = try(*m, bytes, &missing);
    if (!status) break;
    if (status == TN_MICRO_NO_MEMORY ? missing == 0 : status != TN_MICRO_KERNEL_FAILED) return 2;
    if (status == TN_MICRO_NO_MEMORY) bytes += (missing - 1) / 16 * 16;
  }
  printf("%zu\n", bytes);
  return 0;
}

static unsigned next(unsigned *state) { return (*state = *state * 1664525u + 1013904223u) >> 8; }

static int damage(const tn_micro_model *m, int times) {
  static const char signs[] = "0123456789-,[]{}\":_\\ ";
  unsigned state = 1;
  int refused = 0;
  for (int i = 0; i < times; ++i) {
    tn_micro_model bad = *m;
    size_t gn = m->graph_bytes, pn = m->params_bytes, missing;
    if (i % 7 == 0) gn = next(&state) % gn;
    if (i % 11 == 0) pn = next(&state) % pn;
    char *graph = aligned_alloc(16, gn / 16 * 16 + 16), *params = malloc(pn + 1);
    memcpy(graph, m->graph, gn);
    memcpy(params, m->params, pn);
    for (int k = 0; k < 3 && i % 2 && gn; ++k)
      graph[next(&state) % gn] = signs[next(&state) % (sizeof signs - 1)];
    for (int k = 0; k < 3 && !(i % 2) && pn; ++k)
      params[next(&state) % (k ? pn : pn < 400 ? pn : 400)] = (char)next(&state);
    bad.graph = graph;
    bad.graph_bytes = gn;
    bad.params = params;
    bad.params_bytes = pn;
    refused += try(bad, 1 << 18, &missing) != TN_MICRO_OK;
    free(graph);
    free(params);
  }
  printf("%d\n", refused);
  return 0;
}

int main(int argc, char **argv) {
  if (argc < 4) return 3;
  text graph = read_all(argv[2]), params = read_all(argv[3]);
  size_t bytes = argc > 4 ? (size_t)atol(argv[4]) : 0;
  tn_micro_model m = {graph.data, graph.n, params.data, params.n, &tvmgen_default_library, NULL, 0};
  tn_micro_graph *g;
  m.memory = (void *)8;
  m.memory_bytes = 64;
  if (tn_micro_graph_init(&m, &g, NULL) != TN_MICRO_UNALIGNED) return 2;
  int status;
  m.memory_bytes = bytes / 16 * 16;
  m.memory = aligned_alloc(16, m.memory_bytes);
  if (strcmp(argv[1], "need") == 0) status = need(&m);
  else if (strcmp(argv[1], "damage") == 0) status = damage(&m, (int)bytes);
  else status = run(&m);
  free(m.memory);
  free(graph.data);
  free(params.data);
  return status;
}
