/* Expressions that are built with their types, see typed_builder.h. */
#include "relay/expr/typed_builder.h"

#include "base/error.h"
#include "base/scope.h"
#include "ir/functor.h"
#include "object/functions.h"
#include "relay/expr/expr_info.h"
#include "tenon/object.h"

void *relay_typed(void *e, const void *type) {
  relay_expr *r = e;
  if (!r || !type) return NULL;
  tn_retain((void *)(uintptr_t)type);
  tn_release(r->_checked_type_);
  r->_checked_type_ = (tn_Type *)(uintptr_t)type;
  return r;
}

static tn_arr *types_of(const tn_arr *all) {
  TN_VEC(types);
  for (int64_t i = 0; i < all->len; ++i)
    TN_TRYP(tn_vec_push_obj(&types, relay_type_of(tn_arr_obj(all, i))));
  return tn_arr_from(&types);
}

/* The types of the arguments are noted in the call: so inference knows that they are still the
   same. */
void *relay_typed_call(const char *op, void *attrs, tn_arr *args, const void *type) {
  tn_RelayCall *c = relay_call_args(op, attrs, args);
  tn_arr *types = c && type ? types_of(args) : NULL;
  return types ? TN_NEW(RelayCall, .op = c->op, .args = args, .attrs = c->attrs, .type_args = types,
                        ._checked_type_ = (tn_Type *)(uintptr_t)type)
               : NULL;
}

void *relay_typed_tuple(tn_arr *fields) {
  tn_arr *types = fields ? types_of(fields) : NULL;
  return types ? relay_typed(relay_tuple(fields), relay_tuple_type(types)) : NULL;
}

void *relay_typed_field(void *tuple, int64_t index) {
  const tn_TupleType *t = tuple ? TN_AS(TupleType, relay_type_of(tuple)) : NULL;
  if (!tuple) return NULL;
  TN_CHECKP(t && index < t->fields->len, TypeError, NULL, "field %lld of what has no such field",
            (long long)index);
  return relay_typed(relay_get_item(tuple, index), tn_arr_obj(t->fields, index));
}

void *relay_typed_let(void *var, void *value, void *body) {
  return var && value && body ? TN_NEW(RelayLet, .var = var, .value = value, .body = body,
                                       ._checked_type_ = relay_type_of(body))
                              : NULL;
}

void *relay_with_blocks(const void *e, void *(*block)(void *ctx, const void *body), void *ctx) {
  const tn_RelayIf *c = TN_AS(RelayIf, e);
  const tn_Match *m = TN_AS(Match, e);
  const tn_RelayFunction *f = relay_is_kernel(e) ? NULL : TN_AS(RelayFunction, e);
  if (f) {
    tn_RelayFunction copy = *f;
    TN_GETP(copy.body, block(ctx, f->body));
    return tn_node_copy(&tn_type_RelayFunction, &copy);
  }
  if (c) {
    tn_RelayIf copy = *c;
    TN_GETP(copy.true_branch, block(ctx, c->true_branch));
    TN_GETP(copy.false_branch, block(ctx, c->false_branch));
    return tn_node_copy(&tn_type_RelayIf, &copy);
  }
  if (!m) return (void *)(uintptr_t)e;
  tn_Match copy = *m;
  TN_VEC(all);
  for (int64_t i = 0; i < m->clauses->len; ++i) {
    const tn_Clause *one = (const tn_Clause *)tn_arr_obj(m->clauses, i);
    void *r;
    TN_GETP(r, block(ctx, one->rhs));
    TN_TRYP(tn_vec_push_obj(&all, TN_NEW(Clause, .lhs = one->lhs, .rhs = r)));
  }
  TN_GETP(copy.clauses, tn_arr_from(&all));
  return tn_node_copy(&tn_type_Match, &copy);
}
