/* Modules of expressions: what is free becomes parameters. */
#include "ir/module.h"
#include "relay/analysis/analysis.h"

/* The expression as a function; functions are themselves. */
static tn_BaseFunc *as_function(void *expr, const tn_IRModule *m) {
  if (TN_IS(BaseFunc, (const tn_obj *)expr)) return expr;
  tn_arr *params = relay_free_vars(expr);
  tn_arr *types = params ? relay_type_vars_of(expr, m, RELAY_VARS_FREE) : NULL;
  return (tn_BaseFunc *)TN_MAKE(RelayFunction, .params = params, .type_params = types,
                                .body = expr);
}

tn_IRModule *relay_module_from_expr(void *expr, tn_map *functions, tn_map *types) {
  TN_SCOPE(s);
  tn_IRModule *m = ir_module_new(functions, types, NULL);
  tn_BaseFunc *f = m ? as_function(expr, m) : NULL;
  if (!f) return NULL;
  const char *name = ir_attrs_str(f->attrs, "global_symbol");
  tn_GlobalVar *known = ir_module_find_var(m, name ? name : "main");
  tn_GlobalVar *v = known ? known : ir_global_var(name ? name : "main");
  if (!v || ir_module_add(m, v, f, true)) return NULL;
  return tn_scope_return(s, m);
}
