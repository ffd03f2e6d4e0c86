/* ONNX models: whatever the bytes, they are refused with an error or give a model whose tensors are
   refused with an error or read. */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/scope.h"
#include "fuzz.h"
#include "import/onnx/model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  if (tn_runtime_init()) abort();
  TN_SCOPE(s);
  onnx_model m;
  if (onnx_model_parse(&m, data, n) == 0) {
    const onnx_graph *g = m.proto->graph;
    for (size_t i = 0; i < g->n_initializer; ++i)
      if (!onnx_read_tensor(&m, g->initializer[i])) tn_error_clear();
    for (size_t i = 0; i < g->n_sparse_initializer; ++i)
      if (g->sparse_initializer[i]->n_dims < 8 && !onnx_read_sparse(&m, g->sparse_initializer[i]))
        tn_error_clear();
  } else if (!tn_error_pending()) abort();
  tn_error_clear();
  onnx_model_fini(&m);
  return 0;
}
