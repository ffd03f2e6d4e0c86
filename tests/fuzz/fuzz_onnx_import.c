/* ONNX models as graphs: whatever the nodes, the import ends with an error or gives a module. */
#include "base/error.h"
#include "base/scope.h"
#include "fuzz.h"
#include "import/onnx/import.h"
#include "object/containers.h"
#include "tenon/compiler.h"

/* A model may ask for large constants; they end as an error here. */
enum { MAX_BYTES = 1 << 24 };

static tn_allocator unlimited;

static void *limited(void *ctx, void *old, size_t size) {
  (void)ctx;
  return size > MAX_BYTES ? NULL : unlimited.alloc(unlimited.ctx, old, size);
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc, (void)argv;
  require(tn_compiler_init() == 0, "start");
  unlimited = tn_set_allocator((tn_allocator){limited, NULL});
  return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  TN_SCOPE(s);
  onnx_model m;
  if (onnx_model_parse(&m, data, n) == 0) {
    tn_map *params = tn_scope_own(tn_map_new());
    tn_IRModule *mod =
        params
            ? onnx_import(&m, NULL, (onnx_options){.freeze = n % 2, .strict = n % 3 == 0}, params)
            : NULL;
    if (!mod) require(tn_error_pending(), "refused with a reason");
  }
  tn_error_clear();
  onnx_model_fini(&m);
  return 0;
}
