/* Records of measurements: whatever the text, it is refused with a ValueError or gives a table that
   answers. */
#include <string.h>

#include "base/scope.h"
#include "tune/records.h"
#include "fuzz.h"
#include "object/containers.h"
#include "tenon/compiler.h"

static void check(const char *text, size_t n) {
  TN_SCOPE(s);
  records *r = records_read(text, n, "input");
  if (!r) {
    require(tn_error_pending() && tn_error_get_kind() == TN_ValueError, "refused otherwise");
    tn_error_clear();
    return;
  }
  tn_target *t = target_parse("llvm -mcpu=skylake-avx512");
  require(t, "target");
  const char *found = records_best(r, t, "[\"dense_pack.x86\",[\"TENSOR\",[8,64],\"float32\"]]");
  require(!found || found[0] == '[', "an entity is a list");
  records_free(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  require(tn_compiler_init() == 0, "start");
  if (n < 1 << 16) check((const char *)data, n);
  return 0;
}
