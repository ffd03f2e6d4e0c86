/* LambdaLift: functions inside functions become functions of the module; what they use from outside
   is given to a function that makes them.

     def @main(%x) { let %f = fn (%y) { %f(%y + %x) }; %f }
   =>
     def @main(%x) { let %f = @lifted(%x); %f }
     def @lifted(%x) { fn (%y, Closure=1) { let %f = @lifted(%x); %f(%y + %x) } }

   One that uses nothing from outside is its name only. Kernels, and functions for other code
   generators, stay. */
#include <inttypes.h>

#include "base/error.h"
#include "base/scope.h"
#include "ir/expr.h"
#include "ir/module.h"
#include "relay/analysis/analysis.h"
#include "relay/infer.h"
#include "relay/transforms/transforms.h"
#include "tenon/object.h"

typedef struct {
  tn_IRModule *mod;
  const tn_RelayFunction *whole; /* the function of the module that is looked at */
  tn_map *functions;             /* GlobalVar -> function: what there is and what is lifted */
  tn_pmap bound_to;              /* function -> variable that it is bound to */
} lifting;

static int note_binding(void *ctx, tn_obj *node) {
  lifting *l = ctx;
  const tn_RelayLet *let = TN_AS(RelayLet, node);
  if (!let || !TN_AS(RelayFunction, let->value)) return 0;
  return tn_pmap_put(&l->bound_to, let->value, let->var);
}

static bool stays(const tn_RelayFunction *f) {
  tn_any found;
  return ir_attrs_flag(f->attrs, "Primitive") || ir_attrs_flag(f->attrs, "Closure") ||
         ir_attrs_get(f->attrs, "Compiler", &found);
}

static bool is_taken(const lifting *l, const char *name) {
  for (int64_t i = 0; i < l->functions->len; ++i) {
    const tn_GlobalVar *v = (const tn_GlobalVar *)l->functions->entries[i].key.v.obj;
    if (tn_str_eq(v->name_hint, name)) return true;
  }
  return ir_module_find_var(l->mod, name) != NULL;
}

static tn_GlobalVar *new_name(const lifting *l, const tn_RelayFunction *f) {
  uint64_t hash;
  TN_TRYP(tn_hash(f, TN_MAP_FREE_VARS, &hash));
  for (int i = 0;; ++i) {
    tn_str *s = i ? tn_str_fmt("lifted_name%" PRIu64 "_%d", hash, i)
                  : tn_str_fmt("lifted_name%" PRIu64, hash);
    if (!s) return NULL;
    if (!is_taken(l, tn_cstr(s))) return ir_global_var(tn_cstr(s));
  }
}

/* What a function uses from outside, without the variable that it is bound to. */
static tn_arr *captured_by(const tn_RelayFunction *f, const tn_RelayVar *self) {
  tn_arr *all;
  TN_VEC(v);
  TN_GETP(all, relay_free_vars(f));
  for (int64_t i = 0; i < all->len; ++i) {
    const tn_RelayVar *var = (const tn_RelayVar *)tn_arr_obj(all, i);
    if (!self || self->vid != var->vid) TN_TRYP(tn_vec_push_obj(&v, var));
  }
  return tn_arr_from(&v);
}

static relay_expr *call_maker(tn_GlobalVar *name, tn_arr *captured) {
  return captured->len ? (relay_expr *)relay_call_new(name, captured, NULL) : (relay_expr *)name;
}

/* The function with its own variable replaced by what makes it. */
static void *without_self(const void *f, const tn_RelayVar *self, relay_expr *maker) {
  TN_PMAP(values);
  if (!self) return (void *)(uintptr_t)f;
  TN_TRYP(tn_pmap_put(&values, self->vid, maker));
  return relay_substitute(f, &values);
}

/* fn (captured) { f }, with its own variables */
static tn_RelayFunction *maker_of(tn_RelayFunction *f, const tn_arr *captured, tn_Type *type) {
  TN_PMAP(values);
  TN_VEC(params);
  void *body;
  tn_any one = tn_any_obj(tir_i32(1));
  TN_GETP(f, (tn_RelayFunction *)ir_func_with_attr((const tn_BaseFunc *)f, "Closure", one));
  for (int64_t i = 0; i < captured->len; ++i) {
    const tn_RelayVar *v = (const tn_RelayVar *)tn_arr_obj(captured, i);
    tn_Type *t = relay_type_of(v);
    tn_RelayVar *own;
    TN_GETP(own, relay_var(tn_cstr(v->vid->name_hint), t ? t : v->type_annotation));
    TN_TRYP(tn_pmap_put(&values, v->vid, own));
    TN_TRYP(tn_vec_push_obj(&params, own));
  }
  TN_GETP(body, relay_substitute(f, &values));
  return relay_function(tn_arr_from(&params), body, type, NULL);
}

static tn_obj *lift(void *ctx, tn_obj *pre, tn_obj *post) {
  lifting *l = ctx;
  tn_RelayFunction *f = (tn_RelayFunction *)post;
  if (pre == (const tn_obj *)l->whole || stays(f)) return post;
  const tn_RelayVar *self = tn_pmap_get(&l->bound_to, pre);
  tn_Type *type = relay_type_of(pre);
  tn_GlobalVar *name;
  tn_arr *captured;
  relay_expr *made;
  TN_GETP(captured, captured_by(f, self));
  TN_GETP(name, new_name(l, f));
  TN_GETP(made, call_maker(name, captured));
  TN_GETP(f, without_self(f, self, made));
  if (captured->len) TN_GETP(f, maker_of(f, captured, type));
  TN_TRYP(tn_map_set(l->functions, tn_any_obj(name), tn_any_obj(f)));
  return (tn_obj *)made;
}

static void *lift_all(lifting *l, tn_RelayFunction *f) {
  static const tn_rewrite_case cases[] = {TN_REWRITE(RelayFunction, lift)};
  if (stays(f)) return f;
  l->whole = f;
  TN_TRYP(tn_post_order(f, note_binding, l));
  return tn_rewrite(f, cases, TN_COUNT(cases), l);
}

tn_IRModule *relay_lambda_lift(tn_IRModule *m, const tn_pass_ctx *c) {
  lifting l = {.mod = m};
  (void)c;
  TN_GETP(m, relay_infer_module(m));
  TN_GETP(l.functions, tn_scope_own(tn_map_new()));
  int err = 0;
  for (int64_t i = 0; i < m->functions->len && !err; ++i) {
    const tn_map_entry *e = &m->functions->entries[i];
    void *f = e->value.v.obj;
    if (TN_AS(RelayFunction, f)) f = lift_all(&l, f);
    err = !f || tn_map_set(l.functions, e->key, tn_any_obj(f));
  }
  tn_pmap_fini(&l.bound_to);
  if (err) return NULL;
  TN_GETP(m, ir_module_with_functions(m, l.functions));
  return relay_infer_module(m);
}
