/* What every C test includes: cmocka in the order it wants, and the library started. */
#ifndef TENON_TESTS_C_TESTING_H_
#define TENON_TESTS_C_TESTING_H_

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "object/functions.h"
#include "tenon/runtime.h"

/* The pending error is of this kind and its message holds `part`; it is cleared. */
#define assert_error(kind_, part)                                                                  \
  do {                                                                                             \
    assert_true(tn_error_pending());                                                               \
    assert_string_equal(tn_error_class(), kind_);                                                  \
    if (!strstr(tn_error_message(), part)) fail_msg("message: %s", tn_error_message());            \
    tn_error_clear();                                                                              \
  } while (0)

static inline int start_runtime(void **state) {
  (void)state;
  return tn_runtime_init();
}

#endif
