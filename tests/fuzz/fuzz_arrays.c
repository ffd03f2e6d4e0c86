/* Arrays of numpy: whatever the bytes are, they are refused with a ValueError or give tensors that
   can be written and read back as the same. Checksums of archives are not put right: members that
   are stored have none that is looked at before their content. */
#include <string.h>

#include "base/scope.h"
#include "cli/npz.h"
#include "fuzz.h"
#include "object/containers.h"
#include "runtime/tensor/tensor.h"

static void refused(void) {
  tn_error_kind kind = tn_error_get_kind();
  require(kind == TN_ValueError || kind == TN_MemoryError, "refused otherwise");
  tn_error_clear();
}

static void check_array(const tn_tensor *t) {
  TN_BUF(out);
  const DLTensor *d = tn_tensor_dl(t);
  size_t bytes = (size_t)tn_tensor_count(d) * ((size_t)d->dtype.bits / 8);
  require(cli_npy_put(&out, d) == 0, "written");
  tn_tensor *again = cli_npy_parse("again", (const uint8_t *)out.data, out.len);
  require(again, "read back");
  const DLTensor *e = tn_tensor_dl(again);
  require(e->ndim == d->ndim && tn_tensor_count(e) == tn_tensor_count(d), "the same extents");
  require(!bytes || memcmp((char *)e->data + e->byte_offset, (char *)d->data + d->byte_offset,
                           bytes) == 0,
          "the same values");
  tn_release(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  TN_SCOPE(s);
  require(tn_runtime_init() == 0, "start");
  if (n > 1 << 16) return 0;
  if (cli_is_npy(data, n)) {
    tn_tensor *t = cli_npy_parse("input", data, n);
    if (t) check_array(t);
    else refused();
    tn_release(t);
    return 0;
  }
  const tn_map *arrays = cli_npz_parse("input", data, n);
  if (!arrays) refused();
  for (int64_t i = 0; arrays && i < arrays->len; ++i)
    check_array((const tn_tensor *)arrays->entries[i].value.v.obj);
  return 0;
}
