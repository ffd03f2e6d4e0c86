/* Target strings and their JSON: whatever the text, it is refused with an error or gives a target
   whose own text gives an equal one. */
#include <stdlib.h>
#include <string.h>

#include "base/scope.h"
#include "fuzz.h"
#include "object/functions.h"
#include "target/target.h"
#include "tenon/compiler.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  TN_SCOPE(s);
  require(tn_compiler_init() == 0, "start");
  if (n > 1 << 12) return 0;
  char *text = malloc(n + 1);
  require(text, "memory");
  memcpy(text, data, n);
  text[n] = '\0';
  tn_target *t = target_parse(text);
  free(text);
  require(!t == tn_error_pending(), "refused with an error");
  tn_error_clear();
  if (!t) return 0;
  tn_str *own = target_text(t);
  require(own, "its text");
  tn_target *again = target_parse(tn_cstr(own));
  require(again, "its text is read");
  require(strcmp(tn_cstr(target_text(again)), tn_cstr(own)) == 0, "the same text");
  return 0;
}
