/* Start of the object layer: its types and the functions registered by name. */
#include "object/equal_impl.h"
#include "object/functions.h"
#include "object/json_impl.h"
#include "object/path.h"
#include "object/repr.h"

int tn_object_init(void) {
  TN_TRY(tn_object_types_init());
  TN_TRY(tn_repr_init());
  TN_TRY(tn_path_init());
  TN_TRY(tn_equal_init());
  TN_TRY(tn_json_init());
  return 0;
}
