/* Graphs of the graph executor: whatever the text, it is refused with an error or gives a graph
   that runs, whose inputs can be set and outputs read. The functions "a", "b", ... fill their last
   argument; larger memories than a few megabytes are refused, as on a small machine. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "object/functions.h"
#include "primitives.h"
#include "runtime/graph/executor.h"
#include "runtime/module/module.h"
#include "runtime/tensor/tensor.h"

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc, (void)argv;
  start_primitives();
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
