/* Constants of functions are also listed in the module: attribute "constants". An allocation says
   which one it is by its irmod_storage_idx; equal constants are listed once. */
#include "ir/module.h"
#include "tenon/object.h"
#include "tir/transforms/transforms.h"

typedef struct {
  tn_vec constants; /* NDArray */
} extractor;

/* Position of the constant in the list, or -1 with an error. */
static int64_t position(extractor *x, tn_NDArray *data) {
  for (int64_t i = 0; i < x->constants.len; ++i) {
    const tn_obj *other = x->constants.items[i].v.obj;
    int same = other == (tn_obj *)data ? 1 : tn_equal(other, data, 0);
    if (same) return same < 0 ? -1 : i;
  }
  return tn_vec_push_obj(&x->constants, data) ? -1 : x->constants.len - 1;
}

static tn_obj *extract(tn_mut *m, tn_AllocateConst *op) {
  tn_AllocateConst *r = tn_mut_children(m, op);
  if (!r || !r->data) return (tn_obj *)r;
  int64_t at = position(m->ctx, r->data);
  if (at < 0) return NULL;
  tn_AllocateConst copy = *r;
  TN_GETP(copy.irmod_storage_idx, (tn_obj *)tir_i32((int32_t)at));
  return tn_node_copy(&tn_type_AllocateConst, &copy);
}

static tn_IRModule *extract_all(extractor *x, tn_IRModule *mod) {
  static const tn_mut_case cases[] = {TN_CASE(AllocateConst, extract)};
  const tn_arr *old = NULL;
  tn_map *functions = mod->functions;
  tn_any found;
  TN_MUT(m, cases, x);
  if (mod->attrs && ir_attrs_get(mod->attrs, "constants", &found)) old = (tn_arr *)found.v.obj;
  for (int64_t i = 0; old && i < old->len; ++i) TN_TRYP(tn_vec_push(&x->constants, old->items[i]));
  int64_t before = x->constants.len;
  for (int64_t i = 0; i < mod->functions->len; ++i) {
    const tn_map_entry *e = &mod->functions->entries[i];
    tn_PrimFunc *f = TN_AS(PrimFunc, e->value.v.obj);
    if (!f) continue;
    tn_PrimFunc *r = tir_with_body(f, tn_mut_visit(&m, f->body));
    if (!r) return NULL;
    if (r != f) TN_GETP(functions, tn_map_with(functions, e->key, tn_any_obj(r)));
  }
  if (functions == mod->functions && x->constants.len == before) return mod;
  tn_IRModule *r = ir_module_with_functions(mod, functions);
  tn_arr *all = tn_arr_from(&x->constants);
  tn_DictAttrs *attrs = all ? ir_attrs_with(mod->attrs, "constants", tn_any_obj(all)) : NULL;
  if (!r || !attrs) return NULL;
  tn_IRModule copy = *r;
  copy.attrs = attrs;
  return ir_node_check(tn_node_copy(&tn_type_IRModule, &copy));
}

tn_IRModule *tir_extract_constants(tn_IRModule *m, const tn_pass_ctx *c) {
  (void)c;
  extractor x = {0};
  tn_IRModule *r = extract_all(&x, m);
  tn_vec_fini(&x.constants);
  return r;
}
