/* Graphs of the graph executor: whatever the text, it is refused with an error or gives a graph
   that runs, whose inputs can be set and outputs read. The functions "a", "b", ... fill their last
   argument; larger memories than a few megabytes are refused, as on a small machine. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "object/functions.h"
#include "runtime/graph/executor.h"
#include "runtime/module.h"
#include "runtime/tensor.h"

enum { MOST = 1 << 22 };

static tn_allocator real;
static tn_module *lib;

static void require(bool ok, const char *what) {
  if (ok) return;
  fprintf(stderr, "%s: %s: %s\n", what, tn_error_class(), tn_error_message());
  abort();
}

static void *limited(void *ctx, void *old, size_t size) {
  (void)ctx;
  return size > MOST ? NULL : real.alloc(real.ctx, old, size);
}

/* Reads all arguments but the last, which it fills. */
static int touch(TN_ARGS) {
  unsigned char sum = 1;
  for (int32_t i = 0; i < n; ++i) {
    DLTensor *t;
    TN_TRY(tn_any_to_dltensor(&args[i], &t));
    size_t size = (size_t)tn_tensor_nbytes(t);
    if (size == 0) continue; /* may have no address */
    unsigned char *p = (unsigned char *)t->data + t->byte_offset;
    for (size_t k = 0; k < size && i + 1 < n; ++k) sum = (unsigned char)(sum + p[k]);
    if (i + 1 == n) memset(p, sum, size);
  }
  return 0;
}

static int get_function(tn_module *m, const char *name, tn_func **out) {
  if (name[0] == '\0' || name[1] != '\0') return 0;
  return (*out = tn_module_bind(m, touch, NULL)) ? 0 : -1;
}
static const tn_module_ops ops = {.type_key = "fuzz", .get_function = get_function};

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc, (void)argv;
  require(tn_runtime_init() == 0, "start");
  require((lib = tn_module_new(&ops, NULL)), "module");
  real = tn_set_allocator((tn_allocator){limited, NULL});
  return 0;
}

/* Binds each input and output to an array of its kind, of which one is the other's. */
static int bind_all(tn_graph_executor *x) {
  for (int32_t i = 0; i < x->g.narg && i < 4; ++i) {
    tn_tensor *t;
    TN_GET(t, tn_graph_get_input(x, i));
    tn_tensor *copy = tn_tensor_clone(&t->dl, t->dl.device, NULL);
    tn_any a = tn_any_obj(i % 2 ? t : copy);
    int err = copy ? tn_graph_bind_input(x, i, &a) : -1;
    tn_release(copy);
    tn_release(t);
    TN_TRY(err);
  }
  for (int32_t i = 0; i < x->g.nhead && i < 4; ++i) {
    tn_tensor *t;
    TN_GET(t, tn_graph_get_output(x, i));
    tn_tensor *copy = tn_tensor_clone(&t->dl, t->dl.device, NULL);
    tn_any a = tn_any_obj(i % 2 ? t : copy);
    int err = copy ? tn_graph_bind_output(x, i, &a) : -1;
    tn_release(copy);
    tn_release(t);
    TN_TRY(err);
  }
  return 0;
}

static int run(tn_graph_executor *x) {
  TN_TRY(tn_graph_run(x));
  for (int32_t i = 0; i < x->g.nhead; ++i) {
    tn_tensor *t;
    TN_GET(t, tn_graph_get_output(x, i));
    tn_release(t);
  }
  TN_TRY(bind_all(x));
  return tn_graph_run(x);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  const tn_device cpu = {kDLCPU, 0};
  tn_graph_executor *x = tn_graph_executor_new((const char *)data, n, lib, &cpu, 1);
  if (!x) {
    require(tn_error_pending(), "refused with a reason");
    tn_error_clear();
    return 0;
  }
  if (run(x)) {
    require(tn_error_get_kind() == TN_MemoryError || tn_error_get_kind() == TN_ValueError ||
                tn_error_get_kind() == TN_NotImplementedError,
            "run");
    tn_error_clear();
  }
  tn_graph_executor_free(x);
  return 0;
}
