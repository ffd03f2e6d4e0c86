/* TVMScript from any text: parsing ends with a program or an error; a program prints, and what was
   printed parses to an equal program. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/scope.h"
#include "fuzz.h"
#include "tenon/compiler.h"
#include "tenon/object.h"
#include "tir/script/build.h"
#include "tir/script/printer.h"

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc, (void)argv;
  return tn_compiler_init();
}

static tn_obj *parse(const char *text, size_t n) {
  ast_source src = {"fuzz", text, (int)n, 1, 0};
  script_options opt = {0};
  return script_parse(&src, &opt);
}

static void require_of(bool ok, const char *what, const char *text) {
  if (!ok) fprintf(stderr, "%s\n", text);
  require(ok, what);
}

static void check(const char *text, size_t n) {
  TN_SCOPE(s);
  tn_obj *program = parse(text, n);
  if (!program) {
    require_of(tn_error_pending(), "failed without an error", text);
    return;
  }
  tn_str *printed = script_print(program, NULL);
  require_of(printed != NULL, "does not print", text);
  tn_obj *again = parse(tn_str_data(printed), tn_str_len(printed));
  require_of(again != NULL, "what was printed does not parse", tn_str_data(printed));
  require_of(tn_equal(program, again, TN_MAP_FREE_VARS) == 1,
             "printed and parsed, it is another program", tn_str_data(printed));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  if (n > 1 << 16 || memchr(data, 0, n)) return 0;
  char *text = malloc(n + 1);
  if (!text) return 0;
  memcpy(text, data, n);
  text[n] = '\0';
  check(text, n);
  tn_error_clear();
  free(text);
  return 0;
}
