/* Start of the object layer: its types and the functions registered by name. */
#include "object/object.h"
#include "object/functions.h"

int tn_object_init(void) {
  TN_TRY(tn_object_types_init());
  return 0;
}
