/* A list of bindings under construction, see let_list.h. */
#include "relay/expr/let_list.h"

#include "base/error.h"
#include "base/scope.h"
#include "relay/expr/typed_builder.h"
#include "tenon/object.h"

int relay_lets_put(relay_lets *l, tn_RelayVar *var, void *value) {
  if (!var || !value) return -1;
  TN_TRY(tn_vec_push_obj(&l->vars, var));
  return tn_vec_push_obj(&l->values, value);
}

void *relay_lets_bind(relay_lets *l, void *value, tn_Type *type) {
  tn_RelayVar *v;
  if (!value || TN_AS(RelayVar, value)) return value;
  TN_GETP(v, relay_var("x", NULL));
  if (type) {
    tn_retain(type);
    v->_checked_type_ = type;
  }
  return relay_lets_put(l, v, value) ? NULL : v;
}

void *relay_lets_around(const relay_lets *l, void *result) {
  for (int64_t i = l->vars.len; result && i-- > 0;)
    result = relay_let((tn_RelayVar *)l->vars.items[i].v.obj, l->values.items[i].v.obj, result);
  return result;
}

void relay_lets_fini(relay_lets *l) {
  tn_vec_fini(&l->vars);
  tn_vec_fini(&l->values);
}

void *relay_lets_name(relay_lets *l, const char *name, void *value) {
  tn_RelayVar *v;
  TN_GETP(value, value);
  TN_GETP(v, relay_typed(relay_var(name, NULL), relay_type_of(value)));
  return relay_lets_put(l, v, value) ? NULL : v;
}

void *relay_lets_typed(const relay_lets *l, void *result) {
  for (int64_t i = l->vars.len; result && i-- > 0;)
    result = relay_typed_let(l->vars.items[i].v.obj, l->values.items[i].v.obj, result);
  return result;
}
