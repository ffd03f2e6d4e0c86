#include "driver/function_info.h"

#include "base/error.h"
#include "base/scope.h"
#include "ir/imm.h"
#include "object/functions.h"

static tn_map *by_target(tn_target *t, tn_any value) {
  return tn_map_with(NULL, tn_any_obj(t), value);
}

/* Target -> bytes; which: 0 workspace, 1 inputs and outputs, 2 constants. */
static tn_map *sizes_of(tn_target *t, const main_needs *x, int n, int which) {
  tn_map *out;
  TN_GETP(out, tn_scope_own(tn_map_new()));
  for (int i = 0; i < n; ++i) {
    int64_t bytes = which == 0 ? x[i].workspace : which == 1 ? x[i].io : x[i].constants;
    tn_target *own = x[i].target ? x[i].target : t;
    TN_TRYP(tn_map_set(out, tn_any_obj(own), tn_any_obj(tir_i64(bytes))));
  }
  return out;
}

static tn_FunctionInfo *info_of(tn_target *t, const main_needs *x, int n) {
  tn_map *sizes[3], *tir, *relay;
  for (int i = 0; i < 3; ++i) TN_GETP(sizes[i], sizes_of(t, x, n, i));
  TN_GETP(tir, x->func ? by_target(t, tn_any_obj(x->func)) : tn_scope_own(tn_map_new()));
  TN_GETP(relay, by_target(t, tn_any_obj(x->relay)));
  return (tn_FunctionInfo *)TN_NEW(FunctionInfo, .workspace_sizes = sizes[0], .io_sizes = sizes[1],
                                   .constant_sizes = sizes[2], .tir_primfuncs = tir,
                                   .relay_primfuncs = relay);
}

int64_t driver_io_bytes(const tn_PrimFunc *f) {
  int64_t total = 0;
  for (int64_t i = 0; i < f->buffer_map->len; ++i) {
    const tn_Buffer *b = (const tn_Buffer *)f->buffer_map->entries[i].value.v.obj;
    int64_t n = 1, extent;
    for (int64_t k = 0; k < b->shape->len; ++k)
      n *= tir_as_int(tn_arr_obj(b->shape, k), &extent) ? extent : 0;
    total += tn_dtype_bytes(b->dtype, n);
  }
  return total;
}

static int put(tn_map *out, tn_any name, tn_target *t, const main_needs *x, int n) {
  tn_FunctionInfo *info;
  TN_GET(info, info_of(t, x, n));
  return tn_map_set(out, name, tn_any_obj(info));
}

tn_map *driver_function_infos(tn_target *t, const tn_map *targets, const tn_map *programs,
                              const tn_map *relays, const tn_map *workspace, const main_needs *main,
                              int nmain) {
  tn_map *out;
  TN_GETP(out, tn_scope_own(tn_map_new()));
  for (int64_t i = 0; i < programs->len; ++i) {
    const tn_map_entry *e = &programs->entries[i];
    tn_any bytes, relay, own;
    if (!targets || !tn_map_get(targets, e->key, &own)) own = tn_any_obj(t);
    if (!workspace || !tn_map_get(workspace, e->key, &bytes)) bytes = tn_any_int(0);
    bool known = tn_map_get(relays, e->key, &relay);
    main_needs x = {.workspace = bytes.v.i64, .func = (tn_PrimFunc *)e->value.v.obj};
    x.io = driver_io_bytes(x.func);
    x.relay = known ? (const tn_RelayFunction *)relay.v.obj : main->relay;
    TN_TRYP(put(out, e->key, (tn_target *)own.v.obj, &x, 1));
  }
  TN_TRYP(put(out, tn_any_cstr(DRIVER_MAIN_INFO), t, main, nmain));
  return out;
}
