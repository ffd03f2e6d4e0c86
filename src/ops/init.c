/* Start of the layer: the families of ops.def. */
#include "ops/ops.def"
#include "ops/ops.h"

#define AS_EXTERN(family) extern const relay_family ops_##family;
OPS_FAMILIES(AS_EXTERN)

#define AS_ITEM(family) &ops_##family,
static const relay_family *const families[] = {OPS_FAMILIES(AS_ITEM)};

int ops_init(void) {
  for (int i = 0; i < TN_COUNT(families); ++i) TN_TRY(relay_family_register(families[i]));
  return 0;
}
