/* "relay.ext.ccompiler": the code generator that is always there gives a function as C source. */
#include "base/error.h"
#include "base/scope.h"
#include "driver/external.h"
#include "driver/kernel_build.h"
#include "ir/functor.h"
#include "ir/module.h"
#include "object/functions.h"
#include "relay/infer.h"

/* What a pattern matched is computed where it stands. */
static tn_obj *open_composite(void *ctx, tn_obj *pre, tn_obj *post) {
  const tn_RelayCall *c = (const tn_RelayCall *)post;
  const tn_RelayFunction *f = TN_AS(RelayFunction, c->op);
  (void)ctx, (void)pre;
  if (!f || !f->attrs || !ir_attrs_str(f->attrs, "Composite")) return post;
  TN_PMAP(values);
  for (int64_t i = 0; i < f->params->len && i < c->args->len; ++i) {
    const tn_RelayVar *v = (const tn_RelayVar *)tn_arr_obj(f->params, i);
    TN_TRYP(tn_pmap_put(&values, v->vid, tn_arr_obj(c->args, i)));
  }
  return (tn_obj *)relay_substitute(f->body, &values);
}

static tn_RelayFunction *opened(tn_RelayFunction *f) {
  static const tn_rewrite_case cases[] = {TN_REWRITE(RelayCall, open_composite)};
  relay_expr *body;
  TN_GETP(body, tn_rewrite(f->body, cases, TN_COUNT(cases), NULL));
  if (body != f->body) TN_GETP(f, relay_function(f->params, body, f->ret_type, f->attrs));
  return relay_infer_expr(f, NULL);
}

/* (function) -> module */
static int c_compiler(TN_ARGS) {
  TN_NARGS("relay.ext.ccompiler", 1);
  TN_ARG_OBJ(RelayFunction, f, 0);
  tn_map *functions, *programs;
  tn_target *t;
  const char *symbol;
  TN_GET(symbol, external_symbol(f));
  TN_GET(f, opened(f));
  tn_any text = tn_any_cstr("c");
  TN_GET(t, target_from(&text));
  TN_GET(functions, tn_map_with(NULL, tn_any_cstr(symbol), tn_any_obj(f)));
  TN_GET(programs, driver_kernel_programs(functions, t));
  return tn_ret_obj(ret, driver_programs_build(programs, t, NULL));
}

static const tn_func_row rows[] = {{"relay.ext.ccompiler", c_compiler}};

int external_c_init(void) { return tn_func_register_rows(rows, TN_COUNT(rows)); }
