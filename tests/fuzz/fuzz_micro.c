/* The graph runtime for microcontrollers: graph and parameters that nobody vouches for, in memory
   that may be too small or begin anywhere, are refused with an error code or run without a step
   outside of their memory. Input: two bytes (memory in steps of 16 bytes), one (where it begins),
   two (length of the graph), graph, parameters. Functions read all of their inputs and write all of
   their outputs. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "tenon/micro.h"
#include "tvm/runtime/c_backend_api.h"
#include "tvm/runtime/c_runtime_api.h"

static size_t bytes_of(const DLTensor *t) {
  size_t n = t->dtype.bits == 1 ? 8 : (size_t)t->dtype.bits * t->dtype.lanes;
  for (int32_t d = 0; d < t->ndim; ++d) n *= (size_t)t->shape[d];
  return (n + 7) / 8;
}

static int32_t touch(void *args, int32_t *codes, int32_t n, void *value, int32_t *code,
                     void *resource) {
  unsigned sum = 0;
  (void)value, (void)code, (void)resource;
  void *own = TVMBackendAllocWorkspace(1, 0, 40, 2, 32);
  if (!own) return -1;
  memset(own, 1, 40);
  for (int32_t i = 0; i < n; ++i) {
    const DLTensor *t = ((TVMValue *)args)[i].v_handle;
    require(codes[i] == kTVMDLTensorHandle, "a tensor");
    for (size_t k = 0; k < bytes_of(t); ++k) sum += ((const uint8_t *)t->data)[k];
  }
  /* the last one is an output, if there is any: the runtime knows how many there are */
  const DLTensor *last = n ? ((TVMValue *)args)[n - 1].v_handle : NULL;
  if (last && bytes_of(last)) memset(last->data, (int)(sum & 255), bytes_of(last));
  return TVMBackendFreeWorkspace(1, 0, own);
}

static const tn_micro_function functions[] = {{"touch", touch}, {"touch2", touch}};
static const tn_micro_library library = {2, functions};

static void use(tn_micro_graph *g, size_t bytes) {
  require(tn_micro_graph_bytes(g) <= bytes, "within its memory");
  for (int i = 0; i < 3; ++i) {
    const char *names[] = {"x", "y", "p0"};
    DLTensor *t = tn_micro_graph_input(g, names[i]);
    if (t && bytes_of(t)) memset(t->data, i, bytes_of(t));
  }
  tn_micro_status status = tn_micro_graph_run(g);
  require(status == TN_MICRO_OK || status == TN_MICRO_KERNEL_FAILED, "run");
  unsigned sum = 0;
  for (int32_t i = 0; i < 4; ++i) {
    const DLTensor *t = tn_micro_graph_output(g, i);
    for (size_t k = 0; t && k < bytes_of(t); ++k) sum += ((const uint8_t *)t->data)[k];
  }
  require(sum < 0xffffffffu, "read");
}

static void check(const char *graph, size_t ngraph, const uint8_t *params, size_t nparams,
                  size_t bytes, size_t begin) {
  uint8_t *memory = aligned_alloc(16, bytes + 16);
  tn_micro_graph *g;
  size_t missing = 7;
  if (!memory) return;
  const tn_micro_model m = {graph, ngraph, params, nparams, &library, memory + begin, bytes};
  tn_micro_status status = tn_micro_graph_init(&m, &g, &missing);
  require((status == TN_MICRO_OK) == (g != NULL), "a graph, or none");
  require((status == TN_MICRO_NO_MEMORY) == (missing > 0), "tells what is missing");
  require(begin == 0 || status == TN_MICRO_UNALIGNED, "begins where it must");
  if (g) use(g, bytes);
  free(memory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  if (n < 5) return 0;
  size_t bytes = ((size_t)data[0] | (size_t)data[1] << 8) % 4096 * 16, begin = data[2] % 16;
  size_t ngraph = (size_t)data[3] | (size_t)data[4] << 8;
  data += 5, n -= 5;
  if (ngraph > n) ngraph = n;
  char *graph = malloc(ngraph ? ngraph : 1);
  uint8_t *params = aligned_alloc(16, (n - ngraph + 16) / 16 * 16);
  if (graph && params) {
    if (ngraph) memcpy(graph, data, ngraph);
    if (n > ngraph) memcpy(params, data + ngraph, n - ngraph);
    check(graph, ngraph, params, n - ngraph, bytes, begin);
  }
  free(graph);
  free(params);
  return 0;
}
