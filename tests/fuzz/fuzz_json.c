/* JSON of objects: whatever the text, it is refused with an error that a caller can do something
   with, or gives a value that saves to a text from which an equal value is loaded. The nodes of the
   C tests stand for an IR, so that sharing, variables and binders are met. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../c/testing_nodes.h"
#include "base/json.h"
#include "fuzz.h"
#include "object/path.h"
#include "object/repr.h"
#include "tenon/object.h"
#include "tenon/runtime.h"

static void expect_refusal(void) {
  tn_error_kind kind = tn_error_get_kind();
  require(tn_error_pending() &&
              (kind == TN_ValueError || kind == TN_TypeError || kind == TN_IndexError ||
               kind == TN_AttributeError || kind == TN_KeyError || kind == TN_NotImplementedError),
          "refused otherwise");
  require(*tn_error_message(), "refused without a word");
  tn_error_clear();
}

/* Equal both ways, with equal hashes, under mapped free variables. */
static void check_equal(tn_any x, tn_any y) {
  uint64_t h = 0, k = 1;
  if (tn_assert_equal(x, y, TN_MAP_FREE_VARS)) require(false, "loaded again, it differs");
  require(tn_equal_any(x, y, TN_MAP_FREE_VARS) == 1, "equal");
  require(tn_equal_any(y, x, TN_MAP_FREE_VARS) == 1, "equal the other way round");
  require(!tn_hash_any(x, TN_MAP_FREE_VARS, &h) && !tn_hash_any(y, TN_MAP_FREE_VARS, &k) && h == k,
          "hash");
  require(tn_equal_any(x, x, 0) == 1, "equal to itself");
}

static void check_printing(tn_any x) {
  TN_BUF(text);
  require(!tn_repr_print(&text, x), "print");
}

/* The verdict without variables mapped agrees with the place that is found. */
static void check_mismatch(tn_any x, tn_any y) {
  tn_obj *lp, *rp;
  int c = tn_equal_any(x, y, 0);
  require(c == tn_equal_any(y, x, 0), "the two orders agree");
  require(!tn_first_mismatch(x, y, 0, &lp, &rp), "mismatch");
  require((lp == NULL) == (c == 1), "verdict and place agree");
  if (lp) {
    TN_BUF(text);
    require(!tn_repr_print_marked(&text, x, (tn_ObjectPath *)lp), "print marked");
    require(!tn_repr_print_marked(&text, y, (tn_ObjectPath *)rp), "print marked");
    require(tn_assert_equal(x, y, 0) == -1, "assert");
    tn_error_clear();
  }
  tn_release(lp);
  tn_release(rp);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  static bool started;
  tn_any value, again;
  if (!started) require(!tn_runtime_init() && !register_test_nodes(), "start");
  started = true;
  if (tn_json_load((const char *)data, n, &value)) {
    expect_refusal();
    return 0;
  }
  tn_str *text = tn_json_save(value);
  require(text, "save");
  require(!tn_json_load(tn_str_data(text), tn_str_len(text), &again), "load again");
  check_equal(value, again);
  check_mismatch(value, again);
  check_printing(value);
  tn_str *twice = tn_json_save(again);
  require(twice && tn_str_len(twice) == tn_str_len(text) &&
              memcmp(tn_str_data(twice), tn_str_data(text), tn_str_len(text)) == 0,
          "saved again, it is the same text");
  tn_release(twice);
  tn_release(text);
  tn_any_release(&again);
  tn_any_release(&value);
  return 0;
}
