/* Start of the layer. */
#include "relay/dataflow/pattern.h"
#include "relay/relay_impl.h"

int relay_init(void) {
  TN_TRY(relay_nodes_init());
  TN_TRY(relay_api_nodes_init());
  TN_TRY(relay_op_type_init());
  TN_TRY(relay_op_shape_init());
  TN_TRY(relay_facts_init());
  TN_TRY(relay_infer_init());
  TN_TRY(relay_analysis_init());
  TN_TRY(relay_type_repr_init());
  TN_TRY(df_init());
  TN_TRY(relay_transforms_init());
  TN_TRY(relay_bind_init());
  return relay_text_init();
}
