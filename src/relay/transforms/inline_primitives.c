/* InlinePrimitives: kernels that are bound to a variable, or are functions of the module, stand
   where they are called.

     let %f = fn (%p, Primitive=1) { exp(%p) }; %f(%x)  ->  fn (%p, Primitive=1) { exp(%p) }(%x) */
#include "base/error.h"
#include "base/scope.h"
#include "ir/module.h"
#include "relay/expr/call_builder.h"
#include "relay/transforms/transforms.h"

typedef struct {
  const tn_IRModule *mod;
  tn_pmap kernels; /* id of a variable -> kernel */
  tn_pmap values;  /* ids of those that are not only called */
} inlining;

static const tn_RelayFunction *kernel_in(const void *e) {
  const tn_RelayFunction *f = TN_AS(RelayFunction, e);
  return f && ir_attrs_flag(f->attrs, "Primitive") ? f : NULL;
}

/* Operands other than a callee, and than the variable that a let binds. */
static bool is_value(const tn_obj *node, int64_t i) {
  return !(TN_AS(RelayCall, node) && i == 0) && !(TN_AS(RelayLet, node) && i == 1) &&
         !TN_AS(RelayFunction, node);
}

static int look(void *ctx, tn_obj *node) {
  inlining *in = ctx;
  const void *e;
  const tn_RelayLet *l = TN_AS(RelayLet, node);
  if (l && kernel_in(l->value)) TN_TRY(tn_pmap_put(&in->kernels, l->var->vid, l->value));
  if (!tn_obj_is(node, &tn_type_RelayExpr)) return 0;
  for (int64_t i = 0; (e = relay_operand(node, i)) != NULL; ++i) {
    const tn_RelayVar *v = TN_AS(RelayVar, e);
    if (v && is_value(node, i)) TN_TRY(tn_pmap_put_int(&in->values, v->vid, 1));
  }
  return 0;
}

/* The kernel that a callee stands for. */
static const void *kernel_of(const inlining *in, const void *callee) {
  const tn_RelayVar *v = TN_AS(RelayVar, callee);
  const tn_GlobalVar *g = TN_AS(GlobalVar, callee);
  tn_GlobalVar *own = g ? ir_module_find_var(in->mod, tn_cstr(g->name_hint)) : NULL;
  if (v) return tn_pmap_get(&in->kernels, v->vid);
  return own ? kernel_in(ir_module_lookup(in->mod, own)) : NULL;
}

static tn_obj *inline_call(void *ctx, tn_obj *pre, tn_obj *post) {
  const tn_RelayCall *c = (const tn_RelayCall *)post;
  const void *kernel = kernel_of(ctx, c->op);
  (void)pre;
  if (!kernel) return post;
  TN_GETP(kernel, relay_rename_bound(kernel)); /* each call has one of its own */
  return (tn_obj *)TN_MAKE(RelayCall, .span = c->span, .op = (relay_expr *)(uintptr_t)kernel,
                           .args = c->args, .attrs = c->attrs, .type_args = c->type_args,
                           ._checked_type_ = c->_checked_type_);
}

static tn_obj *drop_binding(void *ctx, tn_obj *pre, tn_obj *post) {
  const inlining *in = ctx;
  const tn_RelayLet *before = (const tn_RelayLet *)pre, *now = (const tn_RelayLet *)post;
  const void *id = before->var->vid;
  bool goes = tn_pmap_has(&in->kernels, id) && !tn_pmap_has(&in->values, id);
  return goes ? (tn_obj *)now->body : post;
}

tn_IRModule *relay_inline_primitives(tn_IRModule *m, const tn_pass_ctx *c) {
  static const tn_rewrite_case cases[] = {TN_REWRITE(RelayCall, inline_call),
                                          TN_REWRITE(RelayLet, drop_binding)};
  inlining in = {.mod = m};
  tn_map *functions;
  int err = 0;
  (void)c;
  TN_GETP(functions, tn_scope_own(tn_map_new()));
  for (int64_t i = 0; i < m->functions->len && !err; ++i) {
    const tn_map_entry *e = &m->functions->entries[i];
    void *f = e->value.v.obj;
    if (kernel_in(f)) continue;
    if (TN_AS(RelayFunction, f)) {
      err = tn_post_order(f, look, &in) != 0;
      f = err ? NULL : tn_rewrite(f, cases, TN_COUNT(cases), &in);
    }
    err = !f || tn_map_set(functions, e->key, tn_any_obj(f));
  }
  tn_pmap_fini(&in.kernels);
  tn_pmap_fini(&in.values);
  return err ? NULL : ir_module_with_functions(m, functions);
}
