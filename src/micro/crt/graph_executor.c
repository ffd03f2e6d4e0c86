/* TVMGraphExecutor over the graph runtime (tenon/micro.h): memory comes from the platform, texts and
   parameters are copied, tensors go in and out by copies. */
#include "tvm/runtime/crt/graph_executor.h"

#include <stdbool.h>
#include <string.h>

#include "micro/crt/library.h"
#include "micro/crt/memory.h"
#include "micro/graph_impl.h"
#include "tvm/runtime/crt/logging.h"

struct TVMGraphExecutor {
  tn_micro_model model;
  tn_micro_library library;
  tn_micro_graph *graph;
  char *json;                   /* all three are from crt_take */
  tn_micro_function *functions; /* those of the library, with their names */
};

static int fail(const char *message) {
  TVMAPISetLastError(message);
  return -1;
}

static void check(int err, tvm_crt_error_t code, const char *what) {
  if (!err) return;
  TVMLogf("%s: %s\n", what, TVMGetLastError());
  TVMPlatformAbort(code);
}

static int fail_with(tn_micro_status status) {
  static const char *const texts[] = {
      [-TN_MICRO_BAD_GRAPH] = "the graph is damaged, or uses what this runtime has not",
      [-TN_MICRO_BAD_PARAMS] = "the parameters are damaged, or not those of the graph",
      [-TN_MICRO_NO_MEMORY] = "the platform has too little memory",
      [-TN_MICRO_UNALIGNED] = "memory is not aligned",
      [-TN_MICRO_NO_FUNCTION] = "the library lacks a function of the graph"};
  if (status == TN_MICRO_OK) return 0;
  return status == TN_MICRO_KERNEL_FAILED ? -1 : fail(texts[-status]);
}

/* ---- making one ---- */

/* Length of the object that the text begins with; 0: it does not end where the text does. */
static size_t json_length(const char *text) {
  int depth = 0;
  bool quoted = false;
  const char *s = text;
  if (*s != '{') return 0;
  for (; *s; ++s) {
    if (quoted && *s == '\\' && s[1]) ++s;
    else if (*s == '"') quoted = !quoted;
    else if (!quoted && (*s == '{' || *s == '[')) ++depth;
    else if (!quoted && (*s == '}' || *s == ']') && --depth == 0) return (size_t)(s + 1 - text);
  }
  return 0;
}

static int take_functions(TVMGraphExecutor *e, const TVMModule *m) {
  int32_t n = crt_library_count(m);
  const char *name = NULL;
  e->functions = crt_take((size_t)n * sizeof *e->functions + 1);
  if (!e->functions) return fail_with(TN_MICRO_NO_MEMORY);
  for (int32_t i = 0; i < n; ++i) {
    union {
      TVMBackendPackedCFunc from;
      tn_micro_kernel to;
    } call = {m->registry->funcs[i]}; /* the same signature over other names of its types */
    name = crt_library_next(m, name);
    e->functions[i] = (tn_micro_function){name, call.to};
  }
  e->library = (tn_micro_library){n, e->functions};
  e->model.library = &e->library;
  return 0;
}

static int take_json(TVMGraphExecutor *e, const char *text) {
  while (*text == ' ' || *text == '\t' || *text == '\r' || *text == '\n') ++text;
  size_t n = json_length(text);
  if (!n) return fail_with(TN_MICRO_BAD_GRAPH);
  if (!(e->json = crt_take(n))) return fail_with(TN_MICRO_NO_MEMORY);
  memcpy(e->json, text, n);
  e->model.graph = e->json;
  e->model.graph_bytes = n;
  return 0;
}

/* The graph in `bytes` of memory. */
static tn_micro_status try_graph(TVMGraphExecutor *e, size_t bytes, size_t *missing) {
  crt_give(e->model.memory);
  e->graph = NULL;
  e->model.memory_bytes = bytes;
  *missing = 0;
  e->model.memory = crt_take(bytes);
  return e->model.memory ? tn_micro_graph_init(&e->model, &e->graph, missing) : TN_MICRO_NO_MEMORY;
}

/* Looks for an amount that is enough, then takes what is used of it. */
static int take_graph(TVMGraphExecutor *e) {
  size_t missing, bytes = 4096;
  tn_micro_status status = try_graph(e, bytes, &missing);
  while (status == TN_MICRO_NO_MEMORY && missing && missing < SIZE_MAX / 4 - bytes) {
    bytes += missing > bytes / 4 ? missing : bytes / 4;
    status = try_graph(e, bytes, &missing);
  }
  if (status == TN_MICRO_OK) status = try_graph(e, tn_micro_graph_bytes(e->graph), &missing);
  return fail_with(status);
}

int TVMGraphExecutor_Create(const char *sym_json, TVMModuleHandle module_handle,
                            const DLDevice *devices, TVMGraphExecutor **executor) {
  *executor = NULL;
  if (!module_handle) return fail("the library of the graph is missing");
  if (devices[0].device_type != kDLCPU) return fail("the C runtime runs on the CPU only");
  TVMGraphExecutor *e = crt_take(sizeof *e);
  if (!e) return fail_with(TN_MICRO_NO_MEMORY);
  *e = (TVMGraphExecutor){.graph = NULL};
  if (take_json(e, sym_json) || take_functions(e, (const TVMModule *)module_handle) ||
      take_graph(e)) {
    (void)TVMGraphExecutor_Release(&e);
    return -1;
  }
  *executor = e;
  return 0;
}

int TVMGraphExecutor_Release(TVMGraphExecutor **executor) {
  TVMGraphExecutor *e = *executor;
  *executor = NULL;
  if (!e) return 0;
  crt_give(e->json);
  crt_give(e->functions);
  crt_give(e->model.memory);
  crt_give(e);
  return 0;
}

/* ---- using it ---- */

int TVMGraphExecutor_LoadParams(TVMGraphExecutor *e, const char *param_blob,
                                const uint32_t param_size) {
  tn_micro_model given = {.params = param_blob, .params_bytes = param_size};
  e->graph->copies = true;
  int err = fail_with(micro_read_params(e->graph, &given));
  memset(e->graph->constant, 0, (size_t)e->graph->nnode); /* they may be set and loaded again */
  return err;
}

int TVMGraphExecutor_GetInputIndex(TVMGraphExecutor *e, const char *name) {
  for (int32_t i = 0; i < e->graph->narg; ++i)
    if (micro_text_is(e->graph->nodes[e->graph->args[i]].name, name)) return i;
  return -1;
}

int TVMGraphExecutor_GetNumInputs(TVMGraphExecutor *e) { return e->graph->narg; }
int TVMGraphExecutor_GetNumOutputs(TVMGraphExecutor *e) { return e->graph->nhead; }

static bool is_compact(const DLTensor *t) {
  int64_t step = 1;
  for (int32_t d = t->ndim; t->strides && d-- > 0; step *= t->shape[d])
    if (t->shape[d] != 1 && t->strides[d] != step) return false;
  return true;
}

static int copy(const DLTensor *from, DLTensor *to, bool extents) {
  int64_t bytes = micro_value_bytes(from);
  bool fits = bytes >= 0 && from->dtype.code == to->dtype.code &&
              from->dtype.bits == to->dtype.bits && from->dtype.lanes == to->dtype.lanes &&
              micro_value_bytes(to) == bytes && (!extents || from->ndim == to->ndim);
  for (int32_t d = 0; fits && extents && d < from->ndim; ++d) fits = from->shape[d] == to->shape[d];
  if (!fits) return fail("the tensor has another type or other extents than the graph's value");
  if (!is_compact(from) || !is_compact(to)) return fail("the tensor is not compact");
  memcpy((char *)to->data + to->byte_offset, (const char *)from->data + from->byte_offset,
         (size_t)bytes);
  return 0;
}

void TVMGraphExecutor_SetInput(TVMGraphExecutor *e, const char *name, DLTensor *data_in) {
  DLTensor *to = tn_micro_graph_input(e->graph, name);
  if (!to) (void)fail("the graph has no input of that name");
  check(!to, kTvmErrorExecutorModuleNoSuchInput, name);
  check(copy(data_in, to, true), kTvmErrorFunctionCallInvalidArg, name);
}

void TVMGraphExecutor_Run(TVMGraphExecutor *e) {
  check(fail_with(tn_micro_graph_run(e->graph)), kTvmErrorPlatformCheckFailure, "graph executor");
}

int TVMGraphExecutor_GetOutput(TVMGraphExecutor *e, const int32_t index, DLTensor *out) {
  const DLTensor *from = tn_micro_graph_output(e->graph, index);
  return from ? copy(from, out, false) : fail("the graph has fewer outputs");
}
