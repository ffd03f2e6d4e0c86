/* Start of the layer. */
#include "relay/relay.h"
#include "relay/relay_impl.h"

int relay_init(void) {
  TN_TRY(relay_nodes_init());
  TN_TRY(relay_api_nodes_init());
  return relay_text_init();
}
