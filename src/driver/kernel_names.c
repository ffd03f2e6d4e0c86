/* Names of kernels, see kernel_names.h. */
#include "driver/kernel_names.h"

#include <inttypes.h>

#include "base/error.h"
#include "base/scope.h"
#include "driver/external.h"
#include "driver/primitive.h"
#include "object/functions.h"
#include "tenon/object.h"

int kernel_names_init(kernel_names *k, const char *prefix) {
  k->prefix = prefix;
  TN_GET(k->kernels, tn_scope_own(tn_map_new()));
  TN_GET(k->externals, tn_scope_own(tn_map_new()));
  TN_GET(k->targets, tn_scope_own(tn_map_new()));
  TN_GET(k->by_hash, tn_scope_own(tn_map_new()));
  TN_GET(k->taken, tn_scope_own(tn_map_new()));
  return 0;
}

const char *kernel_names_unique(kernel_names *k, const char *name) {
  tn_any used;
  tn_str *s = tn_str_from(name);
  for (int64_t i = 1; s && tn_map_get(k->taken, tn_any_obj(s), &used); ++i)
    s = tn_str_fmt("%s_%" PRId64, name, i);
  return s && tn_map_set(k->taken, tn_any_obj(s), tn_any_int(1)) == 0 ? tn_cstr(s) : NULL;
}

static const char *external_name(kernel_names *k, const tn_RelayFunction *f) {
  const char *symbol;
  tn_any known;
  TN_GETP(symbol, external_symbol(f));
  bool same = tn_map_get(k->externals, tn_any_cstr(symbol), &known);
  TN_CHECKP(!same || tn_equal(known.v.obj, f, 0) == 1, ValueError, f->span,
            "two different functions have the global_symbol \"%s\"", symbol);
  if (!same) TN_TRYP(tn_map_set(k->externals, tn_any_cstr(symbol), tn_any_obj(f)));
  return symbol;
}

const char *kernel_names_of(kernel_names *k, const tn_RelayFunction *f, tn_target *t) {
  uint64_t hash;
  tn_any found;
  if (external_is(f)) return external_name(k, f);
  TN_TRYP(tn_hash(f, 0, &hash));
  tn_any key = tn_any_int((int64_t)hash);
  const tn_arr *same = tn_map_get(k->by_hash, key, &found) ? (const tn_arr *)found.v.obj : NULL;
  for (int64_t i = 0; same && i < same->len; i += 3)
    if (tn_arr_obj(same, i + 2) == (tn_obj *)t && tn_equal(tn_arr_obj(same, i), f, 0))
      return tn_cstr((const tn_str *)tn_arr_obj(same, i + 1));
  tn_str *own, *full;
  const char *name;
  TN_GETP(own, driver_primitive_name(f));
  TN_GETP(full, tn_str_fmt("%s%s", k->prefix, tn_cstr(own)));
  TN_GETP(name, kernel_names_unique(k, tn_cstr(full)));
  TN_VEC(list);
  for (int64_t i = 0; same && i < same->len; ++i) TN_TRYP(tn_vec_push(&list, same->items[i]));
  TN_TRYP(tn_vec_push_obj(&list, f));
  TN_TRYP(tn_vec_push_obj(&list, tn_str_from(name)));
  TN_TRYP(tn_vec_push_obj(&list, t));
  if (t) TN_TRYP(tn_map_set(k->targets, tn_any_cstr(name), tn_any_obj(t)));
  TN_TRYP(tn_map_set(k->by_hash, key, tn_any_obj(tn_arr_from(&list))));
  TN_TRYP(tn_map_set(k->kernels, tn_any_cstr(name), tn_any_obj(f)));
  return name;
}
