/* ChangeBatch({%x: 0}, 16): inputs have another extent along an axis, and all that follows from it.

     fn (%x: Tensor[(1, 8), float32]) { nn.relu(%x) }
   =>
     fn (%x: Tensor[(16, 8), float32]) { nn.relu(%x) } */
#include "base/alloc.h"
#include "base/error.h"
#include "ir/functor.h"
#include "ir/imm.h"
#include "relay/infer.h"
#include "relay/transforms/change_batch.h"
#include "relay/transforms/transforms.h"

static tn_RelayVar *changed(const tn_RelayVar *v, int64_t axis, tn_expr *extent) {
  const tn_TensorType *t = TN_AS(TensorType, v->type_annotation);
  tn_arr *shape;
  TN_VEC(dims);
  TN_CHECKP(t, TypeError, v->span, "%%%s is not a tensor", tn_cstr(v->vid->name_hint));
  if (axis < 0) axis += t->shape->len;
  TN_CHECKP(axis >= 0 && axis < t->shape->len, ValueError, v->span, "%%%s has no axis %lld",
            tn_cstr(v->vid->name_hint), (long long)axis);
  for (int64_t i = 0; i < t->shape->len; ++i)
    TN_TRYP(tn_vec_push_obj(&dims, i == axis ? (tn_obj *)extent : tn_arr_obj(t->shape, i)));
  TN_GETP(shape, tn_arr_from(&dims));
  return relay_var(tn_cstr(v->vid->name_hint), (tn_Type *)relay_tensor_type(shape, t->dtype));
}

static int add_let(void *ctx, tn_obj *node) {
  const tn_RelayLet *l = TN_AS(RelayLet, node);
  return l ? tn_pmap_put_int(ctx, l->var->vid, 1) : 0;
}

/* Types that were found before are found again, those of variables that let binds too. */
static tn_obj *forget(void *ctx, tn_obj *pre, tn_obj *post) {
  const tn_RelayVar *v = TN_AS(RelayVar, post);
  (void)pre;
  if (!v) return relay_fresh_copy(post);
  if (!tn_pmap_has(ctx, v->vid)) return post;
  return (tn_obj *)TN_NEW(RelayVar, .vid = v->vid, .span = v->span);
}

tn_RelayFunction *relay_with_extents(const tn_RelayFunction *f, const int64_t *axes,
                                     tn_expr *extent) {
  static const tn_rewrite_case cases[] = {
      TN_REWRITE(RelayCall, forget),    TN_REWRITE(RelayTuple, forget),
      TN_REWRITE(TupleGetItem, forget), TN_REWRITE(RelayIf, forget),
      TN_REWRITE(RelayLet, forget),     TN_REWRITE(RelayVar, forget)};
  TN_PMAP(values);
  TN_PMAP(lets);
  TN_VEC(params);
  for (int64_t i = 0; i < f->params->len; ++i) {
    tn_RelayVar *v = (tn_RelayVar *)tn_arr_obj(f->params, i), *now = v;
    if (axes[i] != RELAY_NO_AXIS) TN_GETP(now, changed(v, axes[i], extent));
    if (now != v) TN_TRYP(tn_pmap_put(&values, v->vid, now));
    TN_TRYP(tn_vec_push_obj(&params, now));
  }
  void *body = relay_substitute(f->body, &values);
  if (!body || tn_post_order(body, add_let, &lets)) return NULL;
  body = tn_rewrite(body, cases, TN_COUNT(cases), &lets);
  return body ? relay_function(tn_arr_from(&params), body, NULL, f->attrs) : NULL;
}

/* Keys are variables or their names. */
static const tn_map_entry *entry_of(const tn_map *axes, const tn_RelayVar *v) {
  for (int64_t i = 0; i < axes->len; ++i) {
    const tn_any *key = &axes->entries[i].key;
    const tn_RelayVar *own = tn_any_is_obj(key) ? TN_AS(RelayVar, key->v.obj) : NULL;
    const tn_str *name = tn_any_is_obj(key) ? TN_AS(String, key->v.obj) : NULL;
    if (own ? own->vid == v->vid : name && tn_str_eq(name, tn_cstr(v->vid->name_hint)))
      return &axes->entries[i];
  }
  return NULL;
}

/* arguments: map from variables or names to axes, the extent */
tn_RelayFunction *relay_change_batch(tn_RelayFunction *f, const tn_pass_ctx *c) {
  tn_map *axes = NULL;
  int64_t size = 16;
  if (c->nargs > 0) TN_TRYP(tn_arg_obj(c->args, c->nargs, 0, &tn_type_Map, (tn_obj **)&axes));
  if (c->nargs > 1) TN_TRYP(tn_any_to_int(&c->args[1], &size));
  TN_CHECKP(axes, TypeError, NULL, "ChangeBatch: expected a map of variables to axes");
  TN_CHECKP(size > 0 && size <= INT32_MAX, ValueError, NULL,
            "ChangeBatch: expected a positive extent, got %lld", (long long)size);
  TN_AUTOFREE int64_t *own = tn_alloc_zero((size_t)f->params->len + 1, sizeof *own);
  for (int64_t i = 0; own && i < f->params->len; ++i) {
    const tn_map_entry *e = entry_of(axes, (const tn_RelayVar *)tn_arr_obj(f->params, i));
    own[i] = RELAY_NO_AXIS;
    if (e) TN_TRYP(tn_any_to_int(&e->value, &own[i]));
  }
  TN_GETP(f, own ? relay_with_extents(f, own, tir_i32((int32_t)size)) : NULL);
  return relay_infer_expr(f, c->mod);
}
