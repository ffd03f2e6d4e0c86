/* Parameter blobs and single tensors: whatever the bytes, they are refused with a ValueError or
   give tensors that save to bytes which load to the same again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "fuzz.h"
#include "object/containers.h"
#include "runtime/tensor/params.h"

static void expect_refusal(void) {
  require(tn_error_pending() && tn_error_get_kind() == TN_ValueError, "refused otherwise");
  tn_error_clear();
}

static void check_list(const uint8_t *data, size_t n) {
  tn_map *m = tn_params_load(data, n);
  if (!m) {
    expect_refusal();
    return;
  }
  tn_bytes *b = tn_params_save(m);
  require(b, "save");
  tn_map *again = tn_params_load(tn_bytes_get(b).data, tn_bytes_get(b).size);
  require(again && tn_map_len(again) == tn_map_len(m), "load again");
  tn_any key, x, y;
  for (int64_t i = 0; tn_map_at(m, i, &key, &x); ++i) {
    require(tn_map_get(again, key, &y), "name");
    require(tn_type_NDArray.hooks->content_equal(x.v.obj, y.v.obj), "content");
  }
  tn_release(again);
  tn_release(b);
  tn_release(m);
}

static void check_tensor(const uint8_t *data, size_t n) {
  tn_tensor *t = tn_tensor_load(data, n);
  if (!t) {
    expect_refusal();
    return;
  }
  tn_bytes *b = tn_tensor_save(t);
  require(b && tn_bytes_get(b).size <= n, "save");
  tn_tensor *again = tn_tensor_load(tn_bytes_get(b).data, tn_bytes_get(b).size);
  require(again, "load again");
  require(tn_type_NDArray.hooks->content_equal(&t->hdr, &again->hdr), "content");
  tn_release(again);
  tn_release(b);
  tn_release(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  const uint64_t magic = TN_ARRAY_MAGIC;
  require(tn_runtime_init() == 0, "start");
  if (n >= sizeof magic && memcmp(data, &magic, sizeof magic) == 0) check_tensor(data, n);
  else check_list(data, n);
  return 0;
}
