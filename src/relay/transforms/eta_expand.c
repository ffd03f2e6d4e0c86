/* EtaExpand: constructors and global functions that are used as values become functions that call
   them, so that every one of them is called where it occurs.

     map(@f, %xs)        ->  map(fn (%x: int32) -> int32 { @f(%x) }, %xs)
     map(Cons, %xs)      ->  map(fn [A](%x: A, %xs: List[A]) -> List[A] { Cons(%x, %xs) }, %xs)

   Arguments: expand_constructor, expand_global_var. */
#include "base/error.h"
#include "base/scope.h"
#include "ir/module.h"
#include "relay/infer.h"
#include "relay/transforms/transforms.h"

typedef struct {
  const tn_IRModule *mod;
  bool constructors, functions;
} expanding;

/* fn [type_params](types...) -> result { callee(...) } */
static tn_obj *wrapper(const void *callee, const tn_arr *types, tn_arr *type_params,
                       tn_Type *result) {
  TN_VEC(params);
  for (int64_t i = 0; i < types->len; ++i)
    TN_TRYP(tn_vec_push_obj(&params, relay_var("x", (tn_Type *)tn_arr_obj(types, i))));
  tn_arr *vars;
  void *call;
  TN_GETP(vars, tn_arr_from(&params));
  TN_GETP(call, relay_call_new((void *)(uintptr_t)callee, vars, NULL));
  return (tn_obj *)TN_MAKE(RelayFunction, .params = vars, .type_params = type_params,
                           .ret_type = result, .body = call);
}

static tn_obj *of_constructor(const expanding *x, const tn_Constructor *c) {
  tn_any found;
  TN_CHECKP(tn_map_get(x->mod->type_definitions, tn_any_obj(c->belong_to), &found), ValueError,
            c->span, "EtaExpand: the module has no type with the constructor %s",
            tn_cstr(c->name_hint));
  const tn_arr *own = ((const tn_TypeData *)found.v.obj)->type_vars;
  TN_PMAP(bound);
  TN_VEC(fresh);
  TN_VEC(inputs);
  for (int64_t i = 0; i < own->len; ++i) {
    const tn_TypeVar *v = (const tn_TypeVar *)tn_arr_obj(own, i);
    tn_TypeVar *t;
    TN_GETP(t, TN_NEW(TypeVar, .name_hint = v->name_hint, .kind = v->kind));
    TN_TRYP(tn_pmap_put(&bound, v, t));
    TN_TRYP(tn_vec_push_obj(&fresh, t));
  }
  for (int64_t i = 0; i < c->inputs->len; ++i) {
    tn_Type *t;
    TN_GETP(t, relay_type_bind(tn_arr_obj(c->inputs, i), &bound));
    TN_TRYP(tn_vec_push_obj(&inputs, t));
  }
  tn_arr *vars, *types;
  TN_GETP(vars, tn_arr_from(&fresh));
  TN_GETP(types, tn_arr_from(&inputs));
  tn_Type *made = (tn_Type *)TN_NEW(TypeCall, .func = (tn_Type *)c->belong_to, .args = vars);
  return made ? wrapper(c, types, vars, made) : NULL;
}

static tn_obj *of_function(const expanding *x, const tn_GlobalVar *v) {
  tn_GlobalVar *own = ir_module_find_var(x->mod, tn_cstr(v->name_hint));
  const tn_RelayFunction *f = own ? TN_AS(RelayFunction, ir_module_lookup(x->mod, own)) : NULL;
  TN_VEC(types);
  if (!f) return (tn_obj *)(uintptr_t)v;
  for (int64_t i = 0; i < f->params->len; ++i) {
    const tn_RelayVar *p = (const tn_RelayVar *)tn_arr_obj(f->params, i);
    const tn_Type *t = relay_type_of(p);
    TN_TRYP(tn_vec_push_obj(&types, t ? t : p->type_annotation));
  }
  tn_arr *all;
  TN_GETP(all, tn_arr_from(&types));
  return wrapper(v, all, f->type_params, f->ret_type);
}

/* Callees stay as they are. */
static tn_obj *expand_call(tn_mut *m, tn_RelayCall *c) {
  TN_VEC(args);
  bool callee = TN_AS(GlobalVar, c->op) || TN_AS(Constructor, c->op);
  if (!callee) return tn_mut_children(m, c);
  for (int64_t i = 0; i < c->args->len; ++i) {
    void *a;
    TN_GETP(a, tn_mut_visit(m, relay_arg(c, i)));
    TN_TRYP(tn_vec_push_obj(&args, a));
  }
  tn_arr *now;
  TN_GETP(now, tn_arr_from(&args));
  bool same = true;
  for (int64_t i = 0; i < now->len; ++i) same = same && tn_arr_obj(now, i) == relay_arg(c, i);
  if (same) return (tn_obj *)c;
  return (tn_obj *)TN_MAKE(RelayCall, .span = c->span, .op = c->op, .args = now, .attrs = c->attrs,
                           .type_args = c->type_args);
}

static tn_obj *expand_constructor(tn_mut *m, tn_Constructor *c) {
  const expanding *x = m->ctx;
  return x->constructors ? of_constructor(x, c) : (tn_obj *)c;
}

static tn_obj *expand_global(tn_mut *m, tn_GlobalVar *v) {
  const expanding *x = m->ctx;
  return x->functions ? of_function(x, v) : (tn_obj *)v;
}

/* A pattern names its constructor, which is not a value. */
static tn_obj *keep_pattern(tn_mut *m, tn_PatternConstructor *p) {
  (void)m;
  return (tn_obj *)p;
}

tn_IRModule *relay_eta_expand(tn_IRModule *m, const tn_pass_ctx *c) {
  static const tn_mut_case cases[] = {
      TN_CASE(RelayCall, expand_call), TN_CASE(Constructor, expand_constructor),
      TN_CASE(GlobalVar, expand_global), TN_CASE(PatternConstructor, keep_pattern)};
  expanding x = {.mod = m};
  tn_map *functions;
  if (c->nargs > 0) TN_TRYP(tn_any_to_bool(&c->args[0], &x.constructors));
  if (c->nargs > 1) TN_TRYP(tn_any_to_bool(&c->args[1], &x.functions));
  TN_GETP(m, relay_infer_module(m));
  x.mod = m;
  TN_MUT(mut, cases, &x);
  TN_GETP(functions, tn_scope_own(tn_map_new()));
  for (int64_t i = 0; i < m->functions->len; ++i) {
    const tn_map_entry *e = &m->functions->entries[i];
    void *f = e->value.v.obj;
    if (TN_AS(RelayFunction, f)) TN_GETP(f, tn_mut_visit(&mut, f));
    TN_TRYP(tn_map_set(functions, e->key, tn_any_obj(f)));
  }
  TN_GETP(m, ir_module_with_functions(m, functions));
  return relay_infer_module(m);
}
