/* What the fuzz targets share. */
#ifndef TN_TESTS_FUZZ_H_
#define TN_TESTS_FUZZ_H_

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "tenon/runtime.h"

/* Called by libFuzzer, which declares neither. */
int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* Stops the run, telling what does not hold and the pending error. */
static inline void require(bool ok, const char *what) {
  if (ok) return;
  if (tn_error_pending())
    fprintf(stderr, "%s: %s: %s\n", what, tn_error_class(), tn_error_message());
  else fprintf(stderr, "%s: no error\n", what);
  abort();
}

#endif /* TN_TESTS_FUZZ_H_ */
