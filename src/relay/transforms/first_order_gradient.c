/* FirstOrderGradient: a function of operators gives its derivatives by its parameters too.

     fn (%x) { exp(%x) }
   =>
     fn (%x) { %0 = exp(%x); (%0, (ones_like(%0) * %0,)) }

   For results that are tensors the derivative is that of the sum of their elements. Programs
   without branches, functions and references only: relay.transform.gradient handles these.

   The adjoint of an expression is a tree: an expression, None where nothing has been added yet, or
   an Array of trees for the fields of a tuple. */
#include "base/error.h"
#include "base/pmap.h"
#include "relay/transforms/op_gradient.h"
#include "relay/infer.h"
#include "relay/expr/call_builder.h"
#include "relay/transforms/transforms.h"

typedef struct {
  tn_vec nodes;    /* calls, tuples and their fields, operands first */
  tn_pmap adjoint; /* expression, or id of a variable -> tree */
} gradients;

/* ---- trees ---- */

static const void *key_of(const void *e) {
  const tn_RelayVar *v = TN_AS(RelayVar, e);
  return v ? (const void *)v->vid : e;
}

/* The fields of a tree of n fields, NULL with an error. */
static tn_arr *fields_of(tn_obj *tree, int64_t n) {
  TN_VEC(v);
  if (TN_AS(Array, tree)) return (tn_arr *)tree;
  for (int64_t i = 0; i < n; ++i)
    TN_TRYP(tn_vec_push_obj(&v, tree ? relay_get_item(tree, i) : NULL));
  return tn_arr_from(&v);
}

static int add(tn_obj *a, tn_obj *b, tn_obj **out) {
  const tn_arr *x = TN_AS(Array, a), *y = TN_AS(Array, b);
  *out = a ? a : b;
  if (!a || !b) return 0;
  if (!x && !y) {
    TN_GET(*out, relay_binary("add", a, b));
    return 0;
  }
  int64_t n = x ? x->len : y->len;
  TN_VEC(v);
  TN_GET(x, fields_of(a, n));
  TN_GET(y, fields_of(b, n));
  for (int64_t i = 0; i < n; ++i) {
    TN_TRY(add(tn_arr_obj(x, i), tn_arr_obj(y, i), out));
    TN_TRY(tn_vec_push_obj(&v, *out));
  }
  TN_GET(*out, (tn_obj *)tn_arr_from(&v));
  return 0;
}

static int contribute(gradients *g, const void *to, tn_obj *tree) {
  tn_obj *sum;
  if (!tree) return 0;
  TN_TRY(add(tn_pmap_get(&g->adjoint, key_of(to)), tree, &sum));
  return tn_pmap_put(&g->adjoint, key_of(to), sum);
}

/* The tree as an expression of the type of `e`, zero where nothing was added. */
static tn_obj *whole(tn_obj *tree, void *e, const tn_Type *type) {
  const tn_TupleType *tuple = TN_AS(TupleType, type);
  tn_arr *fields;
  TN_VEC(v);
  if (!e) return NULL;
  if (!tuple) return tree ? tree : relay_call("zeros_like", NULL, 1, e);
  if (tree && !TN_AS(Array, tree)) return tree;
  TN_GETP(fields, fields_of(tree, tuple->fields->len));
  for (int64_t i = 0; i < tuple->fields->len; ++i)
    TN_TRYP(tn_vec_push_obj(&v, whole(tn_arr_obj(fields, i), relay_get_item(e, i),
                                      (const tn_Type *)tn_arr_obj(tuple->fields, i))));
  return (tn_obj *)relay_tuple(tn_arr_from(&v));
}

/* The derivative of a result by itself. */
static tn_obj *seed(void *e, const tn_Type *type) {
  const tn_TupleType *tuple = TN_AS(TupleType, type);
  TN_VEC(v);
  if (!e || !relay_is_differentiable(type)) return NULL;
  if (!tuple) return relay_call("ones_like", NULL, 1, e);
  for (int64_t i = 0; i < tuple->fields->len; ++i) {
    const tn_Type *field = (const tn_Type *)tn_arr_obj(tuple->fields, i);
    TN_TRYP(tn_vec_push_obj(&v, seed(relay_get_item(e, i), field)));
  }
  return (tn_obj *)tn_arr_from(&v);
}

/* ---- the way back ---- */

static int back_through_call(gradients *g, const tn_RelayCall *c, tn_obj *tree) {
  const tn_Type *type = relay_type_of(c);
  tn_arr *parts;
  if (!relay_is_differentiable(type)) return 0;
  relay_grad q = {.call = c, .y = (void *)(uintptr_t)c};
  TN_GET(q.d, whole(tree, q.y, type));
  TN_GET(parts, relay_op_gradient(&q));
  for (int64_t i = 0; i < c->args->len; ++i)
    if (relay_is_differentiable(relay_type_of(relay_arg(c, i))))
      TN_TRY(contribute(g, relay_arg(c, i), tn_arr_obj(parts, i)));
  return 0;
}

static int back_through_tuple(gradients *g, const tn_RelayTuple *t, tn_obj *tree) {
  tn_arr *fields;
  TN_GET(fields, fields_of(tree, t->fields->len));
  for (int64_t i = 0; i < fields->len; ++i)
    TN_TRY(contribute(g, tn_arr_obj(t->fields, i), tn_arr_obj(fields, i)));
  return 0;
}

static int back_through_field(gradients *g, const tn_TupleGetItem *e, tn_obj *tree) {
  const tn_TupleType *type = TN_AS(TupleType, relay_type_of(e->tuple_value));
  TN_VEC(v);
  tn_arr *all;
  TN_ICHECK(type);
  for (int64_t i = 0; i < type->fields->len; ++i)
    TN_TRY(tn_vec_push_obj(&v, i == e->index ? tree : NULL));
  TN_GET(all, tn_arr_from(&v));
  return contribute(g, e->tuple_value, (tn_obj *)all);
}

static int go_back(gradients *g) {
  for (int64_t i = g->nodes.len; i-- > 0;) {
    tn_obj *e = g->nodes.items[i].v.obj, *tree = tn_pmap_get(&g->adjoint, e);
    if (!tree) continue;
    if (TN_AS(RelayCall, e)) TN_TRY(back_through_call(g, (const tn_RelayCall *)e, tree));
    if (TN_AS(RelayTuple, e)) TN_TRY(back_through_tuple(g, (const tn_RelayTuple *)e, tree));
    if (TN_AS(TupleGetItem, e)) TN_TRY(back_through_field(g, (const tn_TupleGetItem *)e, tree));
  }
  return 0;
}

static int collect(void *ctx, tn_obj *node) {
  gradients *g = ctx;
  if (!TN_IS(RelayExpr, node)) return 0;
  const relay_expr *e = (const relay_expr *)node;
  switch (node->type_index) {
  case TN_TI_RelayVar:
  case TN_TI_Constant:
  case TN_TI_Op: return 0;
  case TN_TI_RelayTuple:
  case TN_TI_TupleGetItem: return tn_vec_push_obj(&g->nodes, node);
  case TN_TI_RelayCall:
    if (TN_AS(Op, ((const tn_RelayCall *)node)->op)) return tn_vec_push_obj(&g->nodes, node);
    break;
  default: break;
  }
  return TN_RAISE(ValueError, e->span,
                  "FirstOrderGradient: %s is not an operator, tuple, variable or constant: use "
                  "relay.transform.gradient",
                  tn_obj_key(node));
}

static tn_RelayFunction *differentiate(gradients *g, const tn_RelayFunction *f) {
  TN_VEC(derivatives);
  tn_RelayTuple *all;
  TN_TRYP(tn_post_order(f->body, collect, g));
  TN_TRYP(contribute(g, f->body, seed(f->body, relay_type_of(f->body))));
  if (tn_error_pending()) return NULL;
  TN_TRYP(go_back(g));
  for (int64_t i = 0; i < f->params->len; ++i) {
    tn_RelayVar *v = (tn_RelayVar *)tn_arr_obj(f->params, i);
    tn_obj *d;
    TN_GETP(d, whole(tn_pmap_get(&g->adjoint, v->vid), v, relay_type_of(v)));
    TN_TRYP(tn_vec_push_obj(&derivatives, d));
  }
  TN_GETP(all, relay_tuple(tn_arr_from(&derivatives)));
  return relay_function(f->params, relay_tuple(tn_arr_of(2, f->body, all)), NULL, f->attrs);
}

tn_RelayFunction *relay_first_order_gradient(tn_RelayFunction *f, const tn_pass_ctx *c) {
  gradients g = {0};
  TN_GETP(f, relay_to_graph_normal_form(f, c));
  TN_GETP(f, relay_infer_expr(f, c->mod));
  tn_RelayFunction *r = differentiate(&g, f);
  tn_vec_fini(&g.nodes);
  tn_pmap_fini(&g.adjoint);
  return r;
}
