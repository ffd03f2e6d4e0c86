/* Values for variables: parameters of a function become constants. */
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "base/pmap.h"
#include "base/scope.h"
#include "base/text.h"
#include "ir/functor.h"
#include "object/functions.h"
#include "relay/relay.h"
#include "relay/relay_impl.h"
#include "relay/type_text.h"
#include "tenon/runtime.h"

static tn_obj *replace(void *ctx, tn_obj *pre, tn_obj *post) {
  tn_obj *value = tn_pmap_get(ctx, ((const tn_RelayVar *)pre)->vid);
  return value ? value : post;
}

static const tn_rewrite_case cases[] = {TN_REWRITE(RelayVar, replace)};

void *relay_substitute(const void *expr, const tn_pmap *values) {
  return tn_rewrite(expr, cases, TN_COUNT(cases), (void *)(uintptr_t)values);
}

tn_RelayFunction *relay_bind_function(const tn_RelayFunction *f, const tn_pmap *values) {
  TN_VEC(params);
  relay_expr *body;
  TN_GETP(body, relay_substitute(f->body, values));
  for (int64_t i = 0; i < f->params->len; ++i) {
    const tn_RelayVar *v = (const tn_RelayVar *)tn_arr_obj(f->params, i);
    if (!tn_pmap_has(values, v->vid)) TN_TRYP(tn_vec_push_obj(&params, v));
  }
  if (params.len == f->params->len && body == f->body) return (tn_RelayFunction *)(uintptr_t)f;
  tn_RelayFunction *r;
  tn_arr *left;
  TN_GETP(left, tn_arr_from(&params));
  TN_GETP(r, relay_function(left, body, f->ret_type, f->attrs));
  tn_any types = tn_any_obj(f->type_params), span = tn_any_obj(f->span);
  TN_TRYP(tn_field_set((tn_obj *)r, tn_type_field(&tn_type_RelayFunction, "type_params"), &types));
  if (f->span)
    TN_TRYP(tn_field_set((tn_obj *)r, tn_type_field(&tn_type_RelayFunction, "span"), &span));
  return r;
}

static tn_RelayVar *param_named(const tn_RelayFunction *f, const char *name, int *count) {
  tn_RelayVar *found = NULL;
  *count = 0;
  for (int64_t i = 0; i < f->params->len; ++i) {
    tn_RelayVar *v = (tn_RelayVar *)tn_arr_obj(f->params, i);
    if (!tn_str_eq(v->vid->name_hint, name)) continue;
    found = v;
    ++*count;
  }
  return found;
}

/* An array for a parameter with a type: of its shape, as far as the program states it. With
 * elements of another type than declared the program computes with those, if it can. */
static int check_type(const tn_RelayVar *v, const char *name, const tn_tensor *t, bool exact) {
  const tn_TensorType *want = TN_AS(TensorType, v->type_annotation);
  const DLTensor *dl = tn_tensor_dl(t);
  if (!want) return 0;
  bool fits = dl->ndim == want->shape->len, same = tn_dtype_eq(dl->dtype, want->dtype);
  for (int32_t i = 0; fits && i < dl->ndim; ++i) {
    int64_t n;
    if (relay_known_int(want->shape, i, &n)) fits = n == dl->shape[i];
  }
  if (fits && same) return 0;
  const char *declared = relay_type_text(want),
             *given = relay_type_text(relay_tensor_type_of(dl->shape, dl->ndim, dl->dtype));
  TN_CHECK(fits, ValueError, v->span, "params: %s is declared as %s, the array given is %s", name,
           declared, given);
  TN_SUSPECT(exact, "params: %s is declared as %s, the array given is %s", name, declared, given);
  return 0;
}

static int no_parameter(const tn_RelayFunction *f, const char *name, bool strict) {
  tn_near near = {.name = name};
  for (int64_t i = 0; i < f->params->len; ++i)
    tn_near_offer(&near, tn_cstr(((const tn_RelayVar *)tn_arr_obj(f->params, i))->vid->name_hint));
  TN_SUSPECT(strict, "params: the function has no parameter %s%s", name, tn_near_text(&near));
  return 0;
}

tn_RelayFunction *relay_bind_params(const tn_RelayFunction *f, const tn_map *params, bool strict,
                                    bool exact) {
  TN_SCOPE(s);
  TN_PMAP(values);
  for (int64_t i = 0; i < params->len; ++i) {
    const char *name;
    tn_tensor *t;
    int count;
    TN_TRYP(tn_any_to_cstr(&params->entries[i].key, &name));
    TN_TRYP(tn_any_to_tensor(&params->entries[i].value, &t));
    const tn_RelayVar *v = param_named(f, name, &count);
    if (!v) {
      TN_TRYP(no_parameter(f, name, strict));
      continue;
    }
    TN_CHECKP(count == 1, TenonError, v->span, "Multiple args in the function have name %s", name);
    TN_TRYP(check_type(v, name, t, exact));
    tn_Constant *c;
    TN_GETP(c, relay_constant((tn_NDArray *)t));
    TN_TRYP(tn_pmap_put(&values, v->vid, c));
  }
  return tn_scope_return(s, relay_bind_function(f, &values));
}

/* relay.ir.Bind(expression, map from Var to expression) */
static int bind(TN_ARGS) {
  TN_NARGS("relay.bind", 2);
  TN_ARG_OBJ(RelayExpr, e, 0);
  TN_ARG_ITEMS(Map(RelayVar, RelayExpr), given, 1);
  TN_PMAP(values);
  for (int64_t i = 0; i < given->len; ++i) {
    const tn_RelayVar *v =
        tn_any_is_obj(&given->entries[i].key) ? TN_AS(RelayVar, given->entries[i].key.v.obj) : NULL;
    TN_CHECK(v && tn_any_is_obj(&given->entries[i].value), TypeError, NULL,
             "relay.bind: expected variables with their expressions");
    TN_TRY(tn_pmap_put(&values, v->vid, given->entries[i].value.v.obj));
  }
  const tn_RelayFunction *f = TN_AS(RelayFunction, e);
  return tn_ret_obj(ret,
                    f ? (void *)relay_bind_function(f, &values) : relay_substitute(e, &values));
}

/* (function, arrays by name[, strict: unknown names are an error[, exact: other types too]]) */
static int bind_params(TN_ARGS) {
  bool strict = false;
  TN_CHECK(n >= 2 && n <= 4, TypeError, NULL,
           "relay.build_module.BindParamsByName: expected 2 to 4 arguments, got %d", n);
  TN_ARG_OBJ(RelayFunction, f, 0);
  TN_ARG_ITEMS(Map(String, Object), params, 1);
  if (n > 2) TN_TRY(tn_any_to_bool(&args[2], &strict));
  bool exact = strict;
  if (n > 3) TN_TRY(tn_any_to_bool(&args[3], &exact));
  return tn_ret_obj(ret, relay_bind_params(f, params, strict, exact));
}

static const tn_func_row rows[] = {
    {"relay.ir.Bind", bind},
    {"relay.build_module.BindParamsByName", bind_params},
};

int relay_bind_init(void) { return tn_func_register_rows(rows, TN_COUNT(rows)); }
