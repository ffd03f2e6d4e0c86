/* Functions put in the place of their calls, and functions that nobody calls.

   Inline: calls of global functions with the attribute Inline=1 become their bodies, or calls of
   function literals where the function is a kernel or another code generator's; where a function is
   a value its literal takes the variable's place. Such functions go when nobody refers to them any
   more. What calls itself is not inlined and stays, as do functions that nobody referred to before:
   they are entries.
   DefuseOps: calls of primitive functions become their bodies, the opposite of FuseOps, as do those
   of other functions that stand where they are called, if their arguments have no effects.
   RemoveUnusedFunctions(entries): what no entry reaches goes.
   InlineCompilerFunctionsBoundTo(vars): the functions of these variables become part of those who
   call them. */
#include "base/error.h"
#include "base/scope.h"
#include "ir/module.h"
#include "relay/infer.h"
#include "relay/expr/call_builder.h"
#include "relay/transforms/purity.h"
#include "relay/transforms/transforms.h"

/* The function's body with arguments for its parameters. */
static relay_expr *body_with(const tn_RelayFunction *f, const tn_arr *args) {
  TN_PMAP(values);
  for (int64_t i = 0; i < f->params->len && i < args->len; ++i) {
    const tn_RelayVar *v = (const tn_RelayVar *)tn_arr_obj(f->params, i);
    TN_TRYP(tn_pmap_put(&values, v->vid, tn_arr_obj(args, i)));
  }
  return relay_substitute(f->body, &values);
}

/* ---- DefuseOps ---- */

/* An argument stands wherever its parameter is read, be it nowhere or in a branch. 1, 0, -1 */
static int have_no_effects(purity *p, const tn_arr *args) {
  int pure = 1;
  for (int64_t i = 0; pure == 1 && i < args->len; ++i) pure = purity_of(p, tn_arr_obj(args, i));
  return pure;
}

static tn_obj *defuse_call(void *ctx, tn_obj *pre, tn_obj *post) {
  (void)pre;
  const tn_RelayCall *c = (const tn_RelayCall *)post;
  const tn_RelayFunction *f = TN_AS(RelayFunction, c->op);
  tn_any found;
  if (f && ir_attrs_flag(f->attrs, "Primitive")) return (tn_obj *)body_with(f, c->args);
  if (!f || f->type_params->len || ir_attrs_get(f->attrs, "Compiler", &found)) return post;
  int pure = have_no_effects(ctx, c->args);
  if (pure != 1) return pure < 0 ? NULL : post;
  TN_GETP(f, relay_rename_bound(f));
  return (tn_obj *)body_with(f, c->args);
}

tn_RelayFunction *relay_defuse_ops(tn_RelayFunction *f, const tn_pass_ctx *c) {
  static const tn_rewrite_case cases[] = {TN_REWRITE(RelayCall, defuse_call)};
  purity p = {.mod = c->mod};
  int err = purity_note_bindings(&p, f);
  tn_RelayFunction *r = err ? NULL : tn_rewrite(f, cases, TN_COUNT(cases), &p);
  purity_fini(&p);
  return r;
}

/* ---- who refers to whom ---- */

typedef struct {
  const tn_IRModule *mod;
  tn_pmap seen; /* GlobalVar -> 1: what it refers to is on the stack, 2: in `order` */
  tn_vec order; /* functions reached, each after those it refers to (but for cycles) */
  tn_vec stack;
} reaching;

static void reaching_fini(reaching *r) {
  tn_pmap_fini(&r->seen);
  tn_vec_fini(&r->order);
  tn_vec_fini(&r->stack);
}

static int push_reference(void *ctx, tn_obj *node) {
  reaching *r = ctx;
  const tn_GlobalVar *v = TN_AS(GlobalVar, node);
  tn_GlobalVar *own = v ? ir_module_find_var(r->mod, tn_cstr(v->name_hint)) : NULL;
  return own && !tn_pmap_has(&r->seen, own) ? tn_vec_push_obj(&r->stack, own) : 0;
}

static int reach(reaching *r, tn_GlobalVar *root) {
  TN_TRY(tn_vec_push_obj(&r->stack, root));
  while (r->stack.len > 0) {
    tn_GlobalVar *v = (tn_GlobalVar *)r->stack.items[r->stack.len - 1].v.obj;
    int64_t state = tn_pmap_get_int(&r->seen, v, 0);
    TN_TRY(tn_pmap_put_int(&r->seen, v, state + 1));
    if (state == 0) {
      TN_TRY(tn_post_order(ir_module_lookup(r->mod, v), push_reference, r));
      continue;
    }
    if (state == 1) TN_TRY(tn_vec_push_obj(&r->order, v));
    --r->stack.len;
  }
  return 0;
}

/* The module without functions that were not reached and that `may_go` allows to. */
static tn_IRModule *keep_reached(const reaching *r, bool (*may_go)(const tn_obj *f)) {
  tn_map *left;
  TN_GETP(left, tn_scope_own(tn_map_new()));
  for (int64_t i = 0; i < r->mod->functions->len; ++i) {
    const tn_map_entry *e = &r->mod->functions->entries[i];
    if (tn_pmap_has(&r->seen, e->key.v.obj) || !may_go(e->value.v.obj))
      TN_TRYP(tn_map_set(left, e->key, e->value));
  }
  if (left->len == r->mod->functions->len) return (tn_IRModule *)(uintptr_t)r->mod;
  return ir_module_with_functions(r->mod, left);
}

static bool always(const tn_obj *f) { return f != NULL; }

/* argument: array of names, else `main`; a module without it says not what it is for: all stay */
tn_IRModule *relay_remove_unused_functions(tn_IRModule *m, const tn_pass_ctx *c) {
  __attribute__((cleanup(reaching_fini))) reaching r = {.mod = m};
  tn_arr *names = NULL;
  if (c->nargs > 0 && tn_any_is_obj(&c->args[0]))
    TN_TRYP(tn_any_to_obj(&c->args[0], "Array", (tn_obj **)&names));
  if (!names && !ir_module_find_var(m, "main")) return m;
  for (int64_t i = 0; i < (names ? names->len : 1); ++i) {
    const char *name = "main";
    tn_GlobalVar *v;
    if (names) TN_TRYP(tn_any_to_cstr(&names->items[i], &name));
    TN_GETP(v, ir_module_var(m, name));
    TN_TRYP(reach(&r, v));
  }
  return keep_reached(&r, always);
}

/* ---- Inline ---- */

static bool is_inline(const tn_obj *f) {
  const tn_RelayFunction *own = TN_AS(RelayFunction, f);
  return own && (ir_attrs_flag(own->attrs, "Inline") || ir_attrs_flag(own->attrs, "inline"));
}

typedef struct {
  const tn_IRModule *mod;
  const tn_arr
      *only;    /* GlobalVars whose functions are inlined; NULL: those that say so themselves */
  tn_map *done; /* GlobalVar -> function in which nothing is left to inline */
  const tn_pmap *recursive; /* GlobalVars whose functions call themselves */
} inlining;

static bool is_named(const tn_arr *vars, const tn_GlobalVar *v) {
  for (int64_t i = 0; i < vars->len; ++i) {
    const tn_GlobalVar *own = TN_AS(GlobalVar, tn_arr_obj(vars, i));
    if (own && tn_str_eq(own->name_hint, tn_cstr(v->name_hint))) return true;
  }
  return false;
}

static bool is_wanted(const inlining *in, const tn_GlobalVar *v, const tn_obj *f) {
  if (in->only) return TN_AS(RelayFunction, f) && is_named(in->only, v);
  return is_inline(f) && !tn_pmap_has(in->recursive, v);
}

/* A function that stays a function where it is inlined: one kernel, or another code generator's. */
static bool is_whole(const tn_RelayFunction *f) {
  tn_any found;
  return ir_attrs_flag(f->attrs, "Primitive") || ir_attrs_flag(f->attrs, "Extern") ||
         ir_attrs_get(f->attrs, "Compiler", &found);
}

/* The function that is to take the place of a GlobalVar, NULL: none is. Functions that are not done
 * are those that call one another in a circle: these calls stay. */
static const tn_RelayFunction *wanted_at(const inlining *in, const void *e) {
  const tn_GlobalVar *v = TN_AS(GlobalVar, e);
  tn_any found;
  v = v ? ir_module_find_var(in->mod, tn_cstr(v->name_hint)) : NULL;
  if (!v || !tn_map_get(in->done, tn_any_obj(v), &found) || !is_wanted(in, v, found.v.obj))
    return NULL;
  return (const tn_RelayFunction *)found.v.obj;
}

static tn_obj *inline_value(void *ctx, tn_obj *pre, tn_obj *post) {
  const tn_RelayFunction *f = wanted_at(ctx, pre);
  return f ? relay_rename_bound(f) : post;
}

/* The callee has been taken for a value already; each call gets its own variables. */
static tn_obj *inline_call(void *ctx, tn_obj *pre, tn_obj *post) {
  const inlining *in = ctx;
  const tn_RelayCall *c = (const tn_RelayCall *)post;
  const void *called = ((const tn_RelayCall *)pre)->op;
  const tn_RelayFunction *own = wanted_at(in, called);
  if (!own) return post;
  tn_RelayFunction *f;
  TN_GETP(f, relay_rename_bound(own));
  TN_CHECKP(f->params->len == c->args->len, ValueError, c->span,
            "call of @%s: expected %lld arguments, got %lld",
            tn_cstr(TN_AS(GlobalVar, called)->name_hint), (long long)f->params->len,
            (long long)c->args->len);
  if (!in->only && is_whole(f)) return (tn_obj *)relay_call_new(f, c->args, NULL);
  return (tn_obj *)body_with(f, c->args);
}

static tn_IRModule *inline_all(tn_IRModule *m, const tn_arr *only, const tn_pmap *recursive) {
  static const tn_rewrite_case cases[] = {TN_REWRITE(RelayCall, inline_call),
                                          TN_REWRITE(GlobalVar, inline_value)};
  __attribute__((cleanup(reaching_fini))) reaching r = {.mod = m};
  inlining in = {.mod = m, .only = only, .recursive = recursive};
  tn_map *functions;
  TN_GETP(in.done, tn_scope_own(tn_map_new()));
  for (int64_t i = 0; i < m->functions->len; ++i)
    TN_TRYP(reach(&r, (tn_GlobalVar *)m->functions->entries[i].key.v.obj));
  for (int64_t i = 0; i < r.order.len; ++i) {
    tn_obj *f = (tn_obj *)ir_module_lookup(m, (tn_GlobalVar *)r.order.items[i].v.obj);
    if (TN_AS(RelayFunction, f)) TN_GETP(f, tn_rewrite(f, cases, TN_COUNT(cases), &in));
    TN_TRYP(tn_map_set(in.done, r.order.items[i], tn_any_obj(f)));
  }
  TN_GETP(functions, tn_scope_own(tn_map_new())); /* in the order of the module */
  for (int64_t i = 0; i < m->functions->len; ++i) {
    tn_any key = m->functions->entries[i].key, value;
    if (tn_map_get(in.done, key, &value)) TN_TRYP(tn_map_set(functions, key, value));
  }
  return ir_module_with_functions(m, functions);
}

/* Who is referred to in a module: by itself, or by others. */
typedef struct {
  const tn_IRModule *mod;
  const tn_GlobalVar *from;
  tn_pmap recursive, called;
} references;

static void references_fini(references *r) {
  tn_pmap_fini(&r->recursive);
  tn_pmap_fini(&r->called);
}

static int note_reference(void *ctx, tn_obj *node) {
  references *r = ctx;
  const tn_GlobalVar *v = TN_AS(GlobalVar, node);
  tn_GlobalVar *own = v ? ir_module_find_var(r->mod, tn_cstr(v->name_hint)) : NULL;
  return own ? tn_pmap_put_int(own == r->from ? &r->recursive : &r->called, own, 1) : 0;
}

static int find_references(references *r) {
  for (int64_t i = 0; i < r->mod->functions->len; ++i) {
    const tn_map_entry *e = &r->mod->functions->entries[i];
    r->from = (const tn_GlobalVar *)e->key.v.obj;
    TN_TRY(tn_post_order(e->value.v.obj, note_reference, r));
  }
  return 0;
}

tn_IRModule *relay_inline(tn_IRModule *m, const tn_pass_ctx *c) {
  __attribute__((cleanup(reaching_fini))) reaching r = {0};
  __attribute__((cleanup(references_fini))) references refs = {.mod = m};
  (void)c;
  TN_TRYP(find_references(&refs));
  TN_GETP(m, inline_all(m, NULL, &refs.recursive));
  r.mod = m;
  for (int64_t i = 0; i < m->functions->len; ++i) {
    const tn_map_entry *e = &m->functions->entries[i];
    if (!is_inline(e->value.v.obj) || tn_pmap_has(&refs.recursive, e->key.v.obj) ||
        !tn_pmap_has(&refs.called, e->key.v.obj))
      TN_TRYP(reach(&r, (tn_GlobalVar *)e->key.v.obj));
  }
  return keep_reached(&r, is_inline);
}

/* argument: array of GlobalVar */
tn_IRModule *relay_inline_compiler_functions(tn_IRModule *m, const tn_pass_ctx *c) {
  tn_arr *vars;
  tn_map *left;
  TN_CHECKP(c->nargs == 1, TypeError, NULL,
            "InlineCompilerFunctionsBoundTo: expected a list of GlobalVar");
  TN_TRYP(tn_any_to_obj(&c->args[0], "Array", (tn_obj **)&vars));
  TN_GETP(m, inline_all(m, vars, NULL));
  TN_GETP(left, tn_scope_own(tn_map_new()));
  for (int64_t i = 0; i < m->functions->len; ++i) {
    const tn_map_entry *e = &m->functions->entries[i];
    if (!is_named(vars, (const tn_GlobalVar *)e->key.v.obj))
      TN_TRYP(tn_map_set(left, e->key, e->value));
  }
  return ir_module_with_functions(m, left);
}
