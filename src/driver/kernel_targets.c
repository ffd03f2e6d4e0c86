/* Kernels of one program for several targets: a library for each target, the host's on top. */
#include "base/error.h"
#include "base/scope.h"
#include "driver/kernel_build.h"
#include "object/functions.h"
#include "runtime/module/module.h"

static tn_target *target_of(const tn_map *targets, tn_any name, tn_target *dflt) {
  tn_any found;
  return tn_map_get(targets, name, &found) ? (tn_target *)found.v.obj : dflt;
}

/* The kernels of a target. */
static tn_map *those_for(const tn_map *kernels, const tn_map *targets, tn_target *dflt,
                         const tn_target *t) {
  tn_map *out;
  TN_GETP(out, tn_scope_own(tn_map_new()));
  for (int64_t i = 0; i < kernels->len; ++i) {
    const tn_map_entry *e = &kernels->entries[i];
    if (target_of(targets, e->key, dflt) == t) TN_TRYP(tn_map_set(out, e->key, e->value));
  }
  return out;
}

/* One imports the other, the host's on top. */
static tn_module *join(tn_module *a, const tn_target *of_a, tn_module *b) {
  if (!a || !b) return a ? a : b;
  bool first = target_device_type(of_a) == kDLCPU;
  tn_module *top = first ? a : b;
  return tn_module_import(top, first ? b : a) ? NULL : top;
}

static int add_all(const tn_map *from, tn_map *into) {
  for (int64_t i = 0; i < from->len; ++i)
    TN_TRY(tn_map_set(into, from->entries[i].key, from->entries[i].value));
  return 0;
}

/* The targets in use, each once; the default one when there are no kernels. */
static int list_targets(const tn_map *kernels, const tn_map *targets, tn_target *dflt,
                        tn_vec *out) {
  if (kernels->len == 0) return tn_vec_push_obj(out, dflt);
  for (int64_t i = 0; i < kernels->len; ++i) {
    tn_target *t = target_of(targets, kernels->entries[i].key, dflt);
    bool known = false;
    for (int64_t k = 0; k < out->len; ++k) known = known || out->items[k].v.obj == (tn_obj *)t;
    if (!known) TN_TRY(tn_vec_push_obj(out, t));
  }
  return 0;
}

tn_map *driver_programs_for_targets(const tn_map *kernels, const tn_map *targets, tn_target *dflt) {
  TN_VEC(used);
  tn_map *programs;
  TN_TRYP(list_targets(kernels, targets, dflt, &used));
  TN_GETP(programs, tn_scope_own(tn_map_new()));
  for (int64_t i = 0; i < used.len; ++i) {
    tn_target *t = (tn_target *)used.items[i].v.obj;
    tn_map *own;
    TN_GETP(own, those_for(kernels, targets, dflt, t));
    TN_GETP(own, driver_kernel_programs(own, t));
    TN_TRYP(add_all(own, programs));
  }
  return programs;
}

tn_module *driver_build_for_targets(const tn_map *programs, const tn_map *targets, tn_target *dflt,
                                    tn_map *workspace) {
  TN_VEC(used);
  tn_module *lib = NULL;
  TN_TRYP(list_targets(programs, targets, dflt, &used));
  for (int64_t i = 0; i < used.len; ++i) {
    tn_target *t = (tn_target *)used.items[i].v.obj;
    tn_map *own;
    tn_module *part;
    TN_GETP(own, those_for(programs, targets, dflt, t));
    TN_GETP(part, driver_programs_build(own, t, workspace));
    TN_GETP(lib, join(part, t, lib));
  }
  return lib;
}
