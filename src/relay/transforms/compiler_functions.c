/* Functions with the attribute Compiler, which other code generators get.

   OutlineCompilerFunctionsWithExistingGlobalSymbols: function literals become functions of the
   module under the name that their attribute global_symbol says. MarkCompilerFunctionsAsExtern:
   functions of the module that are compiled already get Extern=1 in the place of Compiler. Both
   take the name of a code generator, "" stands for any. */
#include "base/error.h"
#include "base/scope.h"
#include "ir/imm.h"
#include "ir/module.h"
#include "relay/infer.h"
#include "relay/transforms/transforms.h"
#include "tenon/object.h"

typedef struct {
  const char *compiler; /* "": any */
  const tn_IRModule *mod;
  tn_map *functions; /* of the module, with those that are new */
} outlining;

static bool is_of(const tn_RelayFunction *f, const char *compiler) {
  const char *own = f ? ir_attrs_str(f->attrs, "Compiler") : NULL;
  return own && (!*compiler || strcmp(own, compiler) == 0);
}

static int read_filter(const tn_pass_ctx *c, const char **out) {
  *out = "";
  return c->nargs > 0 ? tn_any_to_cstr(&c->args[0], out) : 0;
}

/* A function of that name that is there already must be the same. */
static tn_obj *outline(void *ctx, tn_obj *pre, tn_obj *post) {
  outlining *o = ctx;
  const tn_RelayFunction *f = (const tn_RelayFunction *)post;
  const char *name = is_of(f, o->compiler) ? ir_attrs_str(f->attrs, "global_symbol") : NULL;
  tn_GlobalVar *v;
  (void)pre;
  if (!name) return post;
  for (int64_t i = 0; i < o->functions->len; ++i) {
    v = (tn_GlobalVar *)o->functions->entries[i].key.v.obj;
    if (!tn_str_eq(v->name_hint, name)) continue;
    TN_CHECKP(tn_equal(o->functions->entries[i].value.v.obj, f, 0) == 1, ValueError, f->span,
              "two different functions have the global_symbol \"%s\"", name);
    return (tn_obj *)v;
  }
  TN_GETP(v, ir_global_var(name));
  return tn_map_set(o->functions, tn_any_obj(v), tn_any_obj(f)) ? NULL : (tn_obj *)v;
}

tn_IRModule *relay_outline_compiler_functions(tn_IRModule *m, const tn_pass_ctx *c) {
  static const tn_rewrite_case cases[] = {TN_REWRITE(RelayFunction, outline)};
  outlining o = {.mod = m};
  TN_TRYP(read_filter(c, &o.compiler));
  TN_GETP(o.functions, tn_scope_own(tn_map_new()));
  for (int64_t i = 0; i < m->functions->len; ++i) /* names that are taken */
    TN_TRYP(tn_map_set(o.functions, m->functions->entries[i].key, m->functions->entries[i].value));
  for (int64_t i = 0; i < m->functions->len; ++i) {
    const tn_map_entry *e = &m->functions->entries[i];
    const tn_RelayFunction *f = TN_AS(RelayFunction, e->value.v.obj);
    tn_RelayFunction *copy;
    relay_expr *body;
    if (!f || is_of(f, "")) continue;
    TN_GETP(body, tn_rewrite(f->body, cases, TN_COUNT(cases), &o));
    if (body == f->body) continue;
    TN_GETP(copy, relay_fresh_copy(f));
    tn_any value = tn_any_obj(body);
    TN_TRYP(tn_field_set((tn_obj *)copy, tn_type_field(&tn_type_RelayFunction, "body"), &value));
    TN_TRYP(tn_map_set(o.functions, e->key, tn_any_obj(copy)));
  }
  TN_GETP(m, ir_module_with_functions(m, o.functions));
  return relay_infer_module(m);
}

tn_IRModule *relay_mark_compiler_functions(tn_IRModule *m, const tn_pass_ctx *c) {
  const char *compiler;
  tn_map *functions;
  TN_TRYP(read_filter(c, &compiler));
  TN_GETP(functions, tn_scope_own(tn_map_new()));
  for (int64_t i = 0; i < m->functions->len; ++i) {
    const tn_map_entry *e = &m->functions->entries[i];
    tn_BaseFunc *f = (tn_BaseFunc *)e->value.v.obj;
    if (is_of(TN_AS(RelayFunction, f), compiler)) {
      TN_GETP(f, ir_func_with_attr(f, "Compiler", tn_any_none()));
      TN_GETP(f, ir_func_with_attr(f, "Extern", tn_any_obj(tir_i32(1))));
    }
    TN_TRYP(tn_map_set(functions, e->key, tn_any_obj(f)));
  }
  return ir_module_with_functions(m, functions);
}
