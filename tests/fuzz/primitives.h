/* Primitives for targets that run what they read: functions named by one letter that fill their
   last argument, and memories of a few megabytes at most, as on a small machine. */
#ifndef TN_TESTS_FUZZ_PRIMITIVES_H_
#define TN_TESTS_FUZZ_PRIMITIVES_H_

#include <string.h>

#include "base/error.h"
#include "fuzz.h"
#include "object/functions.h"
#include "runtime/module/module.h"
#include "runtime/tensor/tensor.h"

enum { MAX_BYTES = 1 << 22 };

static tn_allocator unlimited;
static tn_module *lib;

static void *limited(void *ctx, void *old, size_t size) {
  (void)ctx;
  return size > MAX_BYTES ? NULL : unlimited.alloc(unlimited.ctx, old, size);
}

/* Reads all arguments but the last, which it fills. */
static int touch(TN_ARGS) {
  unsigned char sum = 1;
  for (int32_t i = 0; i < n; ++i) {
    const DLTensor *t;
    TN_TRY(tn_any_to_dltensor(&args[i], &t));
    size_t size = (size_t)tn_tensor_nbytes(t);
    if (size == 0) continue; /* may have no address */
    unsigned char *p = (unsigned char *)t->data + t->byte_offset;
    for (size_t k = 0; k < size && i + 1 < n; ++k) sum = (unsigned char)(sum + p[k]);
    if (i + 1 == n) memset(p, sum & 1, size);
  }
  return 0;
}

static int get_primitive(tn_module *m, const char *name, tn_func **out) {
  if (name[0] == '\0' || name[1] != '\0') return 0;
  return (*out = tn_module_bind(m, touch, NULL)) ? 0 : -1;
}

/* Starts the runtime and makes `lib`. */
static inline void start_primitives(void) {
  static const tn_module_ops ops = {.type_key = "fuzz", .get_function = get_primitive};
  require(tn_runtime_init() == 0, "start");
  require((lib = tn_module_new(&ops, NULL)), "module");
  unlimited = tn_set_allocator((tn_allocator){limited, NULL});
}

#endif /* TN_TESTS_FUZZ_PRIMITIVES_H_ */
