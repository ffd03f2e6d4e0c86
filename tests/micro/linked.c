/* A program of the Relay era around a model that is linked in: the C runtime's graph executor
   (tvm/runtime/crt), on memory of a page allocator.

     linked run GRAPH PARAMS BYTES < input > output    "x" of float32; BYTES is the memory's size
     linked refuse GRAPH PARAMS                        what is refused, line by line
     linked NAME GRAPH PARAMS                          a call that ends in TVMPlatformAbort
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tvm/runtime/c_runtime_api.h"
#include "tvm/runtime/crt/crt.h"
#include "tvm/runtime/crt/graph_executor.h"
#include "tvm/runtime/crt/logging.h"
#include "tvm/runtime/crt/packed_func.h"
#include "tvm/runtime/crt/page_allocator.h"

static MemoryManagerInterface *manager;
static const DLDevice cpu = {kDLCPU, 0};

void TVMLogf(const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  vfprintf(stderr, fmt, args);
  va_end(args);
}

void TVMPlatformAbort(tvm_crt_error_t code) {
  fprintf(stderr, "abort: 0x%x\n", (unsigned)code);
  exit(7);
}

tvm_crt_error_t TVMPlatformMemoryAllocate(size_t n, DLDevice dev, void **out) {
  return manager->Allocate(manager, n, dev, out);
}

tvm_crt_error_t TVMPlatformMemoryFree(void *p, DLDevice dev) {
  return manager->Free(manager, p, dev);
}

/* Exactly as long as the file: not ended by 0. */
static char *read_all(const char *path, size_t *n) {
  FILE *f = fopen(path, "rb");
  if (!f) exit(3);
  fseek(f, 0, SEEK_END);
  *n = (size_t)ftell(f);
  rewind(f);
  char *data = malloc(*n);
  if (!data || fread(data, 1, *n, f) != *n) exit(3);
  fclose(f);
  return data;
}

static TVMModuleHandle library(void) {
  TVMPackedFunc f;
  TVMArgs none = TVMArgs_Create(NULL, NULL, 0);
  if (TVMInitializeRuntime() || TVMPackedFunc_InitGlobalFunc(&f, "runtime.SystemLib", &none) ||
      f.Call(&f))
    exit(4);
  return TVMArgs_AsModuleHandle(&f.ret_value, 0);
}

static DLTensor tensor(void *data, int64_t *shape) {
  return (DLTensor){
      .data = data, .device = cpu, .ndim = 2, .dtype = {kDLFloat, 32, 1}, .shape = shape};
}

static int run(const char *graph, const char *params, size_t nparams) {
  TVMGraphExecutor *e;
  if (TVMGraphExecutor_Create(graph, library(), &cpu, &e) ||
      TVMGraphExecutor_LoadParams(e, params, (uint32_t)nparams)) {
    fprintf(stderr, "%s\n", TVMGetLastError());
    return 1;
  }
  float x[4], y[3];
  int64_t shape[] = {1, 4}, result[] = {1, 3};
  DLTensor in = tensor(x, shape), out = tensor(y, result);
  while (fread(x, sizeof x, 1, stdin) == 1) {
    TVMGraphExecutor_SetInput(e, "x", &in);
    TVMGraphExecutor_Run(e);
    if (TVMGraphExecutor_GetOutput(e, 0, &out)) return 2;
    fwrite(y, sizeof y, 1, stdout);
  }
  if (TVMGraphExecutor_GetNumOutputs(e) != 1 || TVMGraphExecutor_GetInputIndex(e, "x") != 0 ||
      TVMGraphExecutor_GetInputIndex(e, "z") != -1 || TVMGraphExecutor_GetNumInputs(e) < 1)
    return 5;
  return TVMGraphExecutor_Release(&e) || e || vleak_size != 0 ? 6 : 0;
}

static void tell(const char *what, int err) {
  printf("%s: %d %s\n", what, err != 0, err ? TVMGetLastError() : "");
}

static int refuse(const char *graph, size_t ngraph, const char *params, size_t nparams) {
  TVMGraphExecutor *e;
  TVMPackedFunc f;
  TVMArgs none = TVMArgs_Create(NULL, NULL, 0);
  const DLDevice gpu = {kDLCUDA, 0};
  void *page;
  char *half = calloc(ngraph / 2 + 1, 1);
  if (!half) return 3;
  memcpy(half, graph, ngraph / 2);
  tell("half", TVMGraphExecutor_Create(half, library(), &cpu, &e));
  tell("text", TVMGraphExecutor_Create("model", library(), &cpu, &e));
  tell("empty", TVMGraphExecutor_Create("{}", library(), &cpu, &e));
  tell("gpu", TVMGraphExecutor_Create(graph, library(), &gpu, &e));
  tell("none", TVMGraphExecutor_Create(graph, NULL, &cpu, &e));
  tell("global", TVMPackedFunc_InitGlobalFunc(&f, "runtime.Other", &none));
  tell("name", TVMPackedFunc_InitModuleFunc(&f, library(), "other", &none));
  if (TVMGraphExecutor_Create(graph, library(), &cpu, &e)) return 1;
  for (size_t n = 0; n < nparams; ++n) {
    char *part = malloc(n + 1); /* of just that length, which the sanitizer sees */
    memcpy(part, params, n);
    if (n && !TVMGraphExecutor_LoadParams(e, part, (uint32_t)n)) return 2;
    free(part);
  }
  tell("params", TVMGraphExecutor_LoadParams(e, params, (uint32_t)nparams - 1));
  tell("again", TVMGraphExecutor_LoadParams(e, params, (uint32_t)nparams));
  float y[4];
  int64_t shape[] = {1, 4};
  DLTensor out = tensor(y, shape);
  tell("output", TVMGraphExecutor_GetOutput(e, 1, &out));
  tell("size", TVMGraphExecutor_GetOutput(e, 0, &out));
  tell("free", manager->Free(manager, half, cpu) == kTvmErrorFunctionCallInvalidArg ? 0 : 1);
  tell("page", manager->Allocate(manager, 0, cpu, &page) || manager->Free(manager, page, cpu) ||
                   manager->Free(manager, page, cpu) == kTvmErrorNoError);
  free(half);
  return TVMGraphExecutor_Release(&e);
}

static int end(const char *how, const char *graph) {
  TVMGraphExecutor *e;
  float x[8] = {0};
  int64_t shape[] = {1, 4}, strides[] = {8, 2};
  DLTensor in = tensor(x, shape);
  if (TVMGraphExecutor_Create(graph, library(), &cpu, &e)) return 1;
  if (strcmp(how, "name") == 0) TVMGraphExecutor_SetInput(e, "z", &in);
  if (strcmp(how, "extent") == 0) shape[1] = 3;
  if (strcmp(how, "type") == 0) in.dtype.code = kDLInt;
  if (strcmp(how, "strides") == 0) in.strides = strides;
  if (strcmp(how, "args") == 0) (void)TVMArgs_Create(NULL, NULL, TVM_CRT_MAX_ARGS + 1);
  if (strcmp(how, "module") == 0) {
    TVMArgs none = TVMArgs_Create(NULL, NULL, 0);
    (void)TVMArgs_AsModuleHandle(&none, 0);
  }
  TVMGraphExecutor_SetInput(e, "x", &in);
  return 0;
}

int main(int argc, char **argv) {
  static uint8_t pool[1 << 20];
  size_t ngraph, nparams, bytes = argc > 4 ? (size_t)atoi(argv[4]) : sizeof pool - 1;
  if (argc < 4) return 3;
  char *graph = read_all(argv[2], &ngraph), *params = read_all(argv[3], &nparams);
  /* one byte off: a pool may begin anywhere */
  if (PageMemoryManagerCreate(&manager, pool + 1, bytes, 8)) return fputs("no page\n", stderr), 1;
  int rc = strcmp(argv[1], "run") == 0      ? run(graph, params, nparams)
           : strcmp(argv[1], "refuse") == 0 ? refuse(graph, ngraph, params, nparams)
                                            : end(argv[1], graph);
  free(graph);
  free(params);
  return rc;
}
