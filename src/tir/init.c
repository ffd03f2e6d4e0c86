/* Starts the layer, its nodes first. */
#include "base/error.h"
#include "tir/tir.h"
#include "tir/tir_impl.h"
#include "tir/usmp/algo.h"

static int (*const parts[])(void) = {
    tir_nodes_init,          doc_init,          stmt_functor_init,
    specialize_init,         buffer_flat_init,  layout_init,
    verify_memory_init,      data_indices_init, verify_gpu_code_init,
    memory_constraints_init, analysis_init,     index_map_init,
    usmp_algo_init,          schedule_init,     transforms_init,
};

int tir_init(void) {
  for (int i = 0; i < TN_COUNT(parts); ++i) TN_TRY(parts[i]());
  return 0;
}
