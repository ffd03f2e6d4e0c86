/* Starts the layer. */
#include "base/error.h"
#include "te/region.h"
#include "te/schedule/te_schedule.h"
#include "te/te.h"
#include "te/te_impl.h"

int te_init(void) {
  TN_TRY(te_nodes_init());
  TN_TRY(te_region_init());
  return te_schedule_init();
}
