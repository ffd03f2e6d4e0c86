/* Relay text: whatever it is, it is refused with an error or gives a module whose text reads back
 * to an equal one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/scope.h"
#include "fuzz.h"
#include "object/containers.h"
#include "relay/text/text.h"
#include "tenon/compiler.h"
#include "tenon/object.h"

static void check(const uint8_t *data, size_t n) {
  TN_SCOPE(s);
  tn_str *text = tn_scope_own(tn_str_new_n((const char *)data, n));
  tn_IRModule *m = relay_parse("input", text, NULL, NULL);
  if (!m) {
    require(tn_error_pending(), "refused without an error");
    tn_error_clear();
    return;
  }
  TN_BUF(out);
  relay_print_options opt = {true, true, NULL};
  require(relay_print((const tn_obj *)m, &opt, &out) == 0, "print");
  tn_IRModule *again =
      relay_parse("printed", tn_scope_own(tn_str_new_n(tn_buf_cstr(&out), out.len)), NULL, NULL);
  if (!again) fprintf(stderr, "%s\n", tn_buf_cstr(&out));
  require(again != NULL, "read again");
  if (!tn_equal(m, again, 0)) {
    fprintf(stderr, "%s\n", tn_buf_cstr(&out));
    require(false, "the same program");
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  require(tn_compiler_init() == 0, "start");
  if (n < 1 << 16) check(data, n);
  return 0;
}
