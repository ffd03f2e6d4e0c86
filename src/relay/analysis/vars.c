/* Variables and type variables of expressions, in the order in which they are met. */
#include "base/stack.h"
#include "ir/functor.h"
#include "relay/analysis/analysis.h"

typedef struct {
  const tn_IRModule *mod; /* definitions of data types, may be NULL */
  tn_vec all;             /* each variable once */
  tn_pmap seen, bound;    /* Id, or TypeVar */
} collector;

static void collector_fini(collector *c) {
  tn_vec_fini(&c->all);
  tn_pmap_fini(&c->seen);
  tn_pmap_fini(&c->bound);
}
#define COLLECTOR(name, module)                                                                    \
  __attribute__((cleanup(collector_fini))) collector name = {.mod = (module)}

static int add(collector *c, const void *key, const void *var, bool bound) {
  if (bound) TN_TRY(tn_pmap_put_int(&c->bound, key, 1));
  if (tn_pmap_has(&c->seen, key)) return 0;
  TN_TRY(tn_pmap_put_int(&c->seen, key, 1));
  return tn_vec_push_obj(&c->all, var);
}

static const void *key_of(const tn_obj *var) {
  const tn_RelayVar *v = TN_AS(RelayVar, var);
  return v ? (const void *)v->vid : var;
}

/* Those of the wanted kind. */
static tn_arr *chosen(const collector *c, relay_vars_kind which) {
  TN_VEC(v);
  for (int64_t i = 0; i < c->all.len; ++i) {
    const tn_obj *var = c->all.items[i].v.obj;
    bool bound = tn_pmap_has(&c->bound, key_of(var));
    if (which == RELAY_VARS_ALL || bound == (which == RELAY_VARS_BOUND))
      TN_TRYP(tn_vec_push_obj(&v, var));
  }
  return tn_arr_from(&v);
}

/* ---- variables ---- */

static int add_var(collector *c, const tn_RelayVar *v, bool bound) {
  return add(c, v->vid, v, bound);
}

static int collect(void *ctx, tn_obj *e) {
  collector *c = ctx;
  switch (e->type_index) {
  case TN_TI_RelayVar: return add_var(c, (const tn_RelayVar *)e, false);
  case TN_TI_RelayLet: return add_var(c, ((const tn_RelayLet *)e)->var, true);
  case TN_TI_PatternVar: return add_var(c, ((const tn_PatternVar *)e)->var, true);
  case TN_TI_RelayFunction: {
    const tn_arr *params = ((const tn_RelayFunction *)e)->params;
    for (int64_t i = 0; i < params->len; ++i)
      TN_TRY(add_var(c, (const tn_RelayVar *)tn_arr_obj(params, i), true));
    return 0;
  }
  default: return 0;
  }
}

tn_arr *relay_vars_of(const void *expr, relay_vars_kind which) {
  COLLECTOR(c, NULL);
  TN_TRYP(tn_post_order(expr, collect, &c));
  return chosen(&c, which);
}

/* ---- type variables ---- */

static int add_all(collector *c, const tn_arr *vars) {
  for (int64_t i = 0; i < vars->len; ++i)
    TN_TRY(add(c, tn_arr_obj(vars, i), tn_arr_obj(vars, i), true));
  return 0;
}

static int collect_type(void *ctx, tn_obj *t) {
  collector *c = ctx;
  TN_TRY(tn_stack_check("a type"));
  if (TN_AS(Array, t)) return tn_visit_children(t, collect_type, ctx);
  if (TN_AS(TypeVar, t)) return add(c, t, t, false);
  if (!TN_IS(Type, t) || TN_AS(TensorType, t)) return 0;
  if (TN_AS(FuncType, t)) TN_TRY(add_all(c, ((const tn_FuncType *)t)->type_params));
  const tn_TypeData *d = TN_AS(TypeData, t);
  if (!d) return tn_visit_children(t, collect_type, ctx);
  TN_TRY(add_all(c, d->type_vars));
  for (int64_t i = 0; i < d->constructors->len; ++i)
    TN_TRY(collect_type(ctx, (tn_obj *)((tn_Constructor *)tn_arr_obj(d->constructors, i))->inputs));
  return 0;
}

static int collect_opt(collector *c, const void *type) {
  return type ? collect_type(c, (tn_obj *)(uintptr_t)type) : 0;
}

/* Parameters of a data type are bound by the module that defines it. */
static int collect_definition(collector *c, const tn_Constructor *made) {
  const tn_IRModule *m = c->mod;
  const tn_obj *var =
      m ? tn_map_find(m->global_type_var_map_, tn_cstr(made->belong_to->name_hint)) : NULL;
  tn_any found;
  if (!var || !tn_map_get(m->type_definitions, tn_any_obj(var), &found)) return 0;
  return add_all(c, ((const tn_TypeData *)found.v.obj)->type_vars);
}

static int collect_types(void *ctx, tn_obj *e) {
  collector *c = ctx;
  switch (e->type_index) {
  case TN_TI_RelayVar: return collect_opt(c, ((const tn_RelayVar *)e)->type_annotation);
  case TN_TI_RelayCall: return collect_opt(c, ((const tn_RelayCall *)e)->type_args);
  case TN_TI_Constructor: return collect_definition(c, (const tn_Constructor *)e);
  case TN_TI_RelayFunction:
    TN_TRY(add_all(c, ((const tn_RelayFunction *)e)->type_params));
    return collect_opt(c, ((const tn_RelayFunction *)e)->ret_type);
  default: return 0;
  }
}

tn_arr *relay_type_vars_of(const void *what, const tn_IRModule *m, relay_vars_kind which) {
  COLLECTOR(c, m);
  if (TN_IS(Type, (const tn_obj *)what)) TN_TRYP(collect_opt(&c, what));
  else TN_TRYP(tn_post_order(what, collect_types, &c));
  return chosen(&c, which);
}
