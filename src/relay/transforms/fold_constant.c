/* FoldConstant: what depends on constants only is computed.

     add(1f, 2f) -> 3f        shape_of(%x: Tensor[(2, 3), float32]) -> meta[relay.Constant][0]
     (%a, %b).0 -> %a

   Types are inferred first and are known afterwards. */
#include "base/error.h"
#include "base/scope.h"
#include "ir/module.h"
#include "relay/evaluate.h"
#include "relay/infer.h"
#include "relay/transforms/transforms.h"

/* Extents of a static tensor need no computing. */
static tn_obj *fold_shape(const tn_RelayCall *c, const tn_TensorType *t) {
  int64_t dims[64], count = 1;
  tn_TensorType *own = relay_tensor_type_of_expr(c);
  const char *name = relay_called_op(c);
  if (!own || !t || t->shape->len > 64 || !relay_is_static((const tn_Type *)t)) return NULL;
  for (int64_t i = 0; i < t->shape->len; ++i) count *= dims[i] = relay_int_at(t->shape, i);
  bool size = strcmp(name, "ndarray_size") == 0;
  return (tn_obj *)(size ? relay_const_int(own->dtype, count)
                         : relay_const_ints(own->dtype, dims, t->shape->len));
}

/* ctx: points to whether quantized operators are folded, which other passes want to see */
static tn_obj *fold_call(void *ctx, tn_obj *pre, tn_obj *post) {
  const bool *fold_qnn = ctx;
  tn_RelayCall *c = (tn_RelayCall *)post;
  const char *name = relay_called_op(c);
  if (!name || (!*fold_qnn && strncmp(name, "qnn.", 4) == 0)) return post;
  if (strcmp(name, "shape_of") == 0 || strcmp(name, "ndarray_size") == 0) {
    const tn_RelayCall *before = (const tn_RelayCall *)pre;
    tn_obj *folded = fold_shape(before, relay_tensor_type_of_expr(relay_arg(before, 0)));
    if (folded || tn_error_pending()) return folded;
  }
  if (post != pre) { /* the copy has the type of what it was made from */
    tn_retain(((relay_expr *)pre)->_checked_type_);
    tn_release(((relay_expr *)c)->_checked_type_);
    ((relay_expr *)c)->_checked_type_ = ((relay_expr *)pre)->_checked_type_;
  }
  return relay_can_evaluate(c) ? (tn_obj *)relay_evaluate(c) : post;
}

static tn_obj *fold_get_item(void *ctx, tn_obj *pre, tn_obj *post) {
  (void)ctx, (void)pre;
  const tn_TupleGetItem *e = (const tn_TupleGetItem *)post;
  const tn_RelayTuple *t = TN_AS(RelayTuple, e->tuple_value);
  return t && e->index < t->fields->len ? tn_arr_obj(t->fields, e->index) : post;
}

/* A condition that is known: one branch. */
static tn_obj *fold_if(void *ctx, tn_obj *pre, tn_obj *post) {
  (void)ctx, (void)pre;
  const tn_RelayIf *e = (const tn_RelayIf *)post;
  double value;
  if (!relay_as_scalar(e->cond, &value)) return post;
  return (tn_obj *)(value != 0 ? e->true_branch : e->false_branch);
}

static const tn_rewrite_case cases[] = {
    TN_REWRITE(RelayCall, fold_call),
    TN_REWRITE(TupleGetItem, fold_get_item),
    TN_REWRITE(RelayIf, fold_if),
};

/* argument: are quantized operators folded? */
tn_IRModule *relay_fold_constant(tn_IRModule *m, const tn_pass_ctx *c) {
  int64_t qnn = 0;
  if (c->nargs > 0 && c->args[0].type_index != TN_NONE) TN_TRYP(tn_any_to_int(&c->args[0], &qnn));
  bool fold_qnn = qnn != 0;
  tn_map *functions;
  TN_GETP(m, relay_infer_module(m));
  TN_GETP(functions, tn_scope_own(tn_map_new()));
  for (int64_t i = 0; i < m->functions->len; ++i) {
    const tn_map_entry *e = &m->functions->entries[i];
    const tn_RelayFunction *f = TN_AS(RelayFunction, e->value.v.obj);
    tn_obj *folded = e->value.v.obj;
    if (f && !ir_attrs_flag(f->attrs, "Primitive"))
      TN_GETP(folded, tn_rewrite(f, cases, TN_COUNT(cases), &fold_qnn));
    TN_TRYP(tn_map_set(functions, e->key, tn_any_obj(folded)));
  }
  TN_GETP(m, ir_module_with_functions(m, functions));
  return relay_infer_module(m);
}

/* The same for an expression: what importers use. */
relay_expr *relay_fold_expr(relay_expr *e) {
  bool fold_qnn = false;
  TN_GETP(e, relay_infer_expr(e, NULL));
  return tn_rewrite(e, cases, TN_COUNT(cases), &fold_qnn);
}
