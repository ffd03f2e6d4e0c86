/* Code of functions that other code generators take, see external.h. */
#include "driver/external.h"

#include <inttypes.h>

#include "base/error.h"
#include "base/scope.h"
#include "ir/functor.h"
#include "ir/module.h"
#include "object/functions.h"
#include "runtime/library/const_loader.h"
#include "tenon/object.h"

bool external_is(const tn_RelayFunction *f) {
  return f->attrs && ir_attrs_str(f->attrs, "Compiler");
}

const char *external_symbol(const tn_RelayFunction *f) {
  const char *s = ir_attrs_str(f->attrs, "global_symbol");
  return s ? s
           : TN_RAISEP(ValueError, f->span,
                       "a function for the code generator \"%s\" has no attribute global_symbol, "
                       "which its code is called by",
                       ir_attrs_str(f->attrs, "Compiler"));
}

bool external_in(const tn_IRModule *m) {
  for (int64_t i = 0; i < m->functions->len; ++i) {
    const tn_RelayFunction *f = TN_AS(RelayFunction, m->functions->entries[i].value.v.obj);
    if (f && external_is(f)) return true;
  }
  return false;
}

static void own(const tn_any *v) {
  if (tn_any_is_obj(v)) tn_scope_own(v->v.obj);
}

static tn_module *code_of(const tn_RelayFunction *f) {
  const char *compiler = ir_attrs_str(f->attrs, "Compiler"), *symbol = external_symbol(f);
  tn_module *m = NULL;
  tn_any r, arg = tn_any_obj(f);
  tn_str *name;
  TN_GETP(name, tn_str_fmt("relay.ext.%s", compiler));
  tn_func *generator = tn_scope_own(tn_func_find(tn_cstr(name)));
  TN_CHECKP(
      generator, ValueError, f->span,
      "function %s is for the code generator \"%s\", but the global function \"%s\" is not "
      "registered: "
      "register it (it takes the function and gives a module), or build without PartitionGraph",
      symbol, compiler, tn_cstr(name));
  TN_TRYP(tn_func_call(generator, &arg, 1, &r));
  own(&r);
  TN_CHECKP(r.type_index == TN_TI_Module, TypeError, f->span,
            "%s: expected a runtime.Module for %s, got %s", tn_cstr(name), symbol,
            tn_type_key((uint32_t)r.type_index));
  TN_TRYP(tn_arg_module(&r, 1, 0, &m));
  return m;
}

/* ---- constants ---- */

typedef struct {
  const char *symbol;
  tn_map *known; /* SYMBOL_const_N -> NDArray */
} numbering;

static int number(void *ctx, tn_obj *node) {
  numbering *x = ctx;
  const tn_Constant *c = TN_AS(Constant, node);
  tn_str *name;
  if (!c) return 0;
  TN_GET(name, tn_str_fmt("%s_const_%" PRId64, x->symbol, x->known->len));
  return tn_map_set(x->known, tn_any_obj(name), tn_any_obj(c->data));
}

/* What the module says under a name; NULL: it has no such function. */
static int ask(tn_module *m, const char *name, tn_any *out) {
  tn_func *f = NULL;
  *out = tn_any_none();
  TN_TRY(tn_module_get_function(m, name, false, &f));
  if (!f) return 0;
  tn_scope_own(f);
  TN_TRY(tn_func_call(f, NULL, 0, out));
  own(out);
  return 0;
}

/* Adds the constants that a module wants to be told: symbol -> [names], name -> NDArray. */
static int add_constants(const tn_RelayFunction *f, tn_module *m, tn_map *by_symbol, tn_map *data) {
  numbering x = {.symbol = external_symbol(f)};
  tn_any symbol, names;
  TN_TRY(ask(m, "get_symbol", &symbol));
  TN_TRY(ask(m, "get_const_vars", &names));
  const tn_arr *all = names.type_index == TN_TI_Array ? (const tn_arr *)names.v.obj : NULL;
  if (!all || all->len == 0 || symbol.type_index != TN_TI_String) return 0;
  TN_GET(x.known, tn_scope_own(tn_map_new()));
  TN_TRY(tn_post_order(f->body, number, &x));
  for (int64_t i = 0; i < all->len; ++i) {
    const char *name;
    tn_any value;
    TN_TRY(tn_any_to_cstr(&all->items[i], &name));
    TN_CHECK(tn_map_get(x.known, all->items[i], &value), ValueError, f->span,
             "the code of %s asks for the constant \"%s\", but the function has %" PRId64
             " constants, which are called %s_const_0 and so on",
             x.symbol, name, x.known->len, x.symbol);
    TN_TRY(tn_map_set(data, all->items[i], value));
  }
  return tn_map_set(by_symbol, symbol, names);
}

/* ---- all of it ---- */

/* What tells constants comes above those it tells them to. */
static tn_module *with_constants(tn_module *lib, const tn_vec *parts, tn_map *by_symbol,
                                 tn_map *data) {
  tn_module *top = lib;
  if (by_symbol->len > 0) {
    TN_GETP(top, tn_scope_own(tn_const_loader_new(by_symbol, data)));
    TN_TRYP(tn_module_import(top, lib));
  }
  for (int64_t i = 0; i < parts->len; ++i)
    TN_TRYP(tn_module_import(top, (tn_module *)parts->items[i].v.obj));
  return top;
}

tn_module *external_build(const tn_map *functions, tn_module *lib, bool direct) {
  TN_VEC(parts);
  tn_map *by_symbol, *data;
  TN_GETP(by_symbol, tn_scope_own(tn_map_new()));
  TN_GETP(data, tn_scope_own(tn_map_new()));
  for (int64_t i = 0; i < functions->len; ++i) {
    const tn_RelayFunction *f = (const tn_RelayFunction *)functions->entries[i].value.v.obj;
    tn_module *part;
    TN_GETP(part, code_of(f));
    TN_TRYP(add_constants(f, part, by_symbol, data));
    TN_CHECKP(!direct || by_symbol->len == 0, NotImplementedError, f->span,
              "the code of %s wants to be told its constants, but the AOT executor calls it "
              "directly: make them part of the code, or use Executor(\"graph\")",
              external_symbol(f));
    TN_TRYP(tn_vec_push_obj(&parts, part));
  }
  return with_constants(lib, &parts, by_symbol, data);
}
