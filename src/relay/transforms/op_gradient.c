/* Gradients of operators, see gradient.h. */
#include "relay/transforms/op_gradient.h"

#include "base/error.h"
#include "base/pmap.h"
#include "base/scope.h"
#include "relay/text/text.h"

bool relay_is_differentiable(const tn_Type *t) {
  const tn_TensorType *tensor = TN_AS(TensorType, t);
  const tn_TupleType *tuple = TN_AS(TupleType, t);
  if (tensor) return tensor->dtype.code == kDLFloat || tensor->dtype.code == kDLBfloat;
  for (int64_t i = 0; tuple && i < tuple->fields->len; ++i)
    if (relay_is_differentiable((const tn_Type *)tn_arr_obj(tuple->fields, i))) return true;
  return false;
}

/* A function in another language: (call, adjoint) -> list of expressions or None. */
static tn_arr *by_function(tn_func *f, const relay_grad *g) {
  tn_any ret, args[] = {tn_any_obj(g->call), tn_any_obj(g->d)};
  const char *name = relay_called_op(g->call);
  TN_TRYP(tn_func_call(f, args, 2, &ret));
  tn_obj *o = tn_any_is_obj(&ret) ? tn_scope_own(ret.v.obj) : NULL;
  tn_arr *list = TN_AS(Array, o);
  TN_CHECKP(list && list->len == g->call->args->len, TypeError, NULL,
            "gradient of %s: expected a list of %lld expressions, got %s", name,
            (long long)g->call->args->len, tn_type_key((uint32_t)ret.type_index));
  for (int64_t i = 0; i < list->len; ++i)
    TN_CHECKP(list->items[i].type_index == TN_NONE || TN_IS(RelayExpr, tn_arr_obj(list, i)),
              TypeError, NULL, "gradient of %s: expected an expression or None, got %s at %lld",
              name, tn_type_key((uint32_t)list->items[i].type_index), (long long)i);
  return list;
}

/* The text is the body of fn (%d, %y, %a, %b, %c). */
static tn_arr *by_text(const char *rule, const relay_grad *g) {
  TN_PMAP(values);
  TN_VEC(out);
  tn_str *text;
  relay_expr *e;
  TN_GETP(text, tn_str_fmt("fn (%%d, %%y, %%a, %%b, %%c) { %s }", rule));
  TN_GETP(e, relay_parse_expr("gradient", text, NULL, NULL));
  const tn_RelayFunction *f = TN_AS(RelayFunction, e);
  TN_ICHECKP(f && f->params->len == 5 && g->call->args->len <= 3);
  for (int64_t i = 0; i < 2 + g->call->args->len; ++i) {
    const void *value = i == 0 ? g->d : i == 1 ? g->y : relay_grad_arg(g, i - 2);
    TN_TRYP(tn_pmap_put(&values, ((tn_RelayVar *)tn_arr_obj(f->params, i))->vid, value));
  }
  const tn_RelayTuple *all = relay_substitute(f->body, &values);
  if (!all) return NULL;
  TN_ICHECKP(TN_AS(RelayTuple, all) && all->fields->len == g->call->args->len);
  for (int64_t i = 0; i < all->fields->len; ++i) {
    tn_obj *field = tn_arr_obj(all->fields, i);
    const tn_RelayTuple *none = TN_AS(RelayTuple, field);
    TN_TRYP(tn_vec_push_obj(&out, none && none->fields->len == 0 ? NULL : field));
  }
  return tn_arr_from(&out);
}

tn_arr *relay_op_gradient(const relay_grad *g) {
  const tn_Op *op = TN_AS(Op, g->call->op);
  tn_any found;
  TN_CHECKP(op, ValueError, g->call->span,
            "gradient: expected a call of an operator, got one of %s", tn_obj_key(g->call->op));
  if (ir_op_attr(op, "FPrimalGradient", &found) && tn_any_is_obj(&found)) {
    tn_func *f = TN_AS(Function, found.v.obj);
    TN_CHECKP(f, TypeError, NULL, "FPrimalGradient of %s is not a function", tn_cstr(op->name));
    return by_function(f, g);
  }
  const relay_op_row *row = relay_op_row_of((const tn_obj *)op);
  if (row && row->grad) return row->grad(g);
  if (row && row->grads) return by_text(row->grads, g);
  return TN_RAISEP(OpNotImplemented, g->call->span,
                   "The operator %s has no gradient: relay.op.register_gradient gives it one",
                   tn_cstr(op->name));
}

void *relay_unreduce(void *e, const bool *reduced, int64_t ndim, bool keepdims, void *like) {
  for (int64_t i = 0; i < ndim && !keepdims; ++i) {
    if (!reduced[i] || !e) continue;
    e = relay_call("expand_dims", relay_attrs("expand_dims", 1, "axis", tn_any_int(i)), 1, e);
  }
  return e ? relay_call("broadcast_to_like", NULL, 2, e, like) : NULL;
}
