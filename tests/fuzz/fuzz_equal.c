/* Two objects as JSON texts with a 0 byte between them: equality is the same in both orders, equal
   objects have equal hashes, and there is a place where they differ exactly when they do. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../c/testing_nodes.h"
#include "fuzz.h"
#include "object/path.h"
#include "object/repr.h"
#include "tenon/object.h"
#include "tenon/runtime.h"

/* Both paths the other way round are the same paths. */
static void check_places(tn_any x, tn_any y, int flags, bool equal) {
  tn_obj *lp, *rp, *lq, *rq;
  TN_BUF(text);
  require(!tn_first_mismatch(x, y, flags, &lp, &rp) && !tn_first_mismatch(y, x, flags, &lq, &rq),
          "mismatch");
  require((lp == NULL) == equal && (lq == NULL) == equal, "verdict and place agree");
  if (lp) {
    require(tn_path_equal((tn_ObjectPath *)lp, (tn_ObjectPath *)rq) &&
                tn_path_equal((tn_ObjectPath *)rp, (tn_ObjectPath *)lq),
            "the places are the mirror image in the other order");
    require(!tn_repr_print_marked(&text, x, (tn_ObjectPath *)lp) &&
                !tn_repr_print_marked(&text, y, (tn_ObjectPath *)rp),
            "print");
  }
  tn_release(lp);
  tn_release(rp);
  tn_release(lq);
  tn_release(rq);
}

static void check(tn_any x, tn_any y, int flags) {
  uint64_t h = 0, k = 0;
  int c = tn_equal_any(x, y, flags);
  require(c >= 0 && c == tn_equal_any(y, x, flags), "both orders");
  require(!tn_hash_any(x, flags, &h) && !tn_hash_any(y, flags, &k), "hash");
  require(c == 0 || h == k, "equal objects with different hashes");
  check_places(x, y, flags, c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  static bool started;
  const uint8_t *cut = n ? memchr(data, 0, n) : NULL;
  tn_any x, y = tn_any_none();
  if (!started) require(!tn_runtime_init() && !register_test_nodes(), "start");
  started = true;
  if (!cut) return 0;
  size_t first = (size_t)(cut - data);
  if (tn_json_load((const char *)data, first, &x) == 0 &&
      tn_json_load((const char *)cut + 1, n - first - 1, &y) == 0) {
    check(x, y, TN_MAP_FREE_VARS);
    check(x, y, 0);
  }
  tn_error_clear();
  tn_any_release(&x);
  tn_any_release(&y);
  return 0;
}
