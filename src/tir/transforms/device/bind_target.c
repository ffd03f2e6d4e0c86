/* Small passes over whole functions: for which target they are, which one is the entry. */
#include "ir/module.h"
#include "tir/device.h"
#include "tir/transforms/transforms.h"

/* A function that names its target keeps it. Where callers from outside need a host and it names
   none, it gets that of the new target. What only the module calls needs no host. */
tn_PrimFunc *tir_bind_target(tn_PrimFunc *f, const tn_pass_ctx *c) {
  TN_CHECKP(c->nargs == 1 && tn_any_is_obj(&c->args[0]), TypeError, NULL,
            "tir.BindTarget: expected a target");
  tn_obj *target = tir_func_attr(f, "target"), *host = tir_target_host(c->args[0].v.obj);
  bool exposed = tir_func_attr(f, "global_symbol") != NULL;
  if (!target && exposed) return tir_with_attr(f, "target", c->args[0].v.obj);
  if (!target) return tir_with_attr(f, "target", tir_target_without_host(c->args[0].v.obj));
  if (!host || tir_target_host(target) || !exposed) return f;
  TN_GETP(target, tir_target_with_host(target, host));
  return tir_with_attr(f, "target", target);
}

/* The only function of a module that is visible outside is its entry. */
tn_IRModule *tir_annotate_entry_func(tn_IRModule *m, const tn_pass_ctx *c) {
  (void)c;
  const tn_map *functions = m->functions;
  const tn_map_entry *entry = NULL;
  int64_t n = 0;
  for (int64_t i = 0; i < functions->len; ++i) {
    const tn_PrimFunc *f = TN_AS(PrimFunc, functions->entries[i].value.v.obj);
    if (!f || (functions->len > 1 && !tir_func_attr(f, "global_symbol"))) continue;
    entry = &functions->entries[i];
    ++n;
  }
  if (n != 1) return m;
  tn_PrimFunc *f = (tn_PrimFunc *)entry->value.v.obj;
  if (ir_attrs_flag(f->attrs, "tir.is_entry_func")) return m;
  f = tir_with_attr(f, "tir.is_entry_func", (tn_obj *)tir_bool(true));
  if (!f) return NULL;
  tn_map *changed = tn_map_with(functions, entry->key, tn_any_obj(f));
  return changed ? ir_module_with_functions(m, changed) : NULL;
}
