/* What target cuda learns of this machine's devices. */
#include <string.h>

#include "base/error.h"
#include "base/scope.h"
#include "object/containers.h"
#include "target/target_impl.h"
#include "tenon/runtime.h"

int target_cuda_complete(tn_map *attrs) {
  tn_device first = {kDLCUDA, 0};
  tn_any version = tn_any_none();
  tn_str *arch;
  const char *text;
  int64_t exists;
  if (tn_map_find(attrs, "arch")) return 0;
  TN_TRY(tn_device_get_attr(first, TN_DEV_EXIST, &version));
  TN_TRY(tn_any_to_int(&version, &exists));
  TN_GET(arch, tn_str_from("sm_50"));
  if (exists) {
    TN_TRY(tn_device_get_attr(first, TN_DEV_COMPUTE_VERSION, &version));
    if (tn_any_is_obj(&version)) tn_scope_own(version.v.obj);
    TN_TRY(tn_any_to_cstr(&version, &text));
    const char *dot = strchr(text, '.');
    TN_GET(arch, tn_str_fmt("sm_%.*s%s", dot ? (int)(dot - text) : (int)strlen(text), text,
                            dot ? dot + 1 : ""));
  }
  return tn_map_set(attrs, tn_any_cstr("arch"), tn_any_obj(arch));
}
