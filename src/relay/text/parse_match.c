/* Algebraic data types: definitions, match, patterns. */
#include <string.h>

#include "base/error.h"
#include "base/scope.h"
#include "base/stack.h"
#include "ir/module.h"
#include "object/functions.h"
#include "relay/text/parse_impl.h"

/* ---- patterns ---- */

static tn_Pattern *parse_pattern(rt *p);

static tn_arr *pattern_list(rt *p) {
  TN_VEC(items);
  bool more = true;
  TN_TRYP(rt_expect(p, "("));
  while (more && !rt_is(p, ")")) {
    tn_Pattern *x;
    TN_GETP(x, parse_pattern(p));
    TN_TRYP(tn_vec_push_obj(&items, x));
    TN_TRYP(rt_accept(p, ",", &more));
  }
  TN_TRYP(rt_expect(p, ")"));
  return tn_arr_from(&items);
}

static tn_Pattern *variable_pattern(rt *p, const char *name) {
  bool typed;
  tn_Type *type = NULL;
  tn_RelayVar *v;
  TN_TRYP(rt_accept(p, ":", &typed));
  if (typed) TN_GETP(type, rt_type(p));
  TN_GETP(v, relay_var(name, type));
  TN_TRYP(rt_bind(p, name, 0, v));
  return (tn_Pattern *)TN_NEW(PatternVar, .var = v);
}

static tn_Pattern *parse_pattern(rt *p) {
  TN_TRYP(tn_stack_check("a pattern"));
  rt_token t = p->tok;
  const char *name;
  tn_arr *items;
  if (rt_is(p, "(")) {
    TN_GETP(items, pattern_list(p));
    return (tn_Pattern *)TN_MAKE(PatternTuple, .patterns = items);
  }
  TN_GETP(name, rt_text(p, &t));
  if (t.kind != RT_LOCAL && t.kind != RT_NAME)
    return (void)rt_fail(p, &t, "expected a pattern (_, %%x, Name or (...)), got %s",
                         rt_describe(p, &t)),
           NULL;
  TN_TRYP(rt_next(p));
  if (t.kind == RT_LOCAL) return variable_pattern(p, name);
  if (strcmp(name, "_") == 0) return (tn_Pattern *)TN_NEW(PatternWildcard, .span = NULL);
  tn_Constructor *c = (tn_Constructor *)tn_map_find(p->constructors, name);
  if (!c) return (void)rt_fail(p, &t, "the constructor `%s` is not defined", name), NULL;
  TN_GETP(items, rt_is(p, "(") ? pattern_list(p) : tn_arr_of(0));
  return (tn_Pattern *)TN_MAKE(PatternConstructor, .constructor = c, .patterns = items);
}

static tn_Clause *parse_clause(rt *p) {
  int64_t mark = p->nbindings;
  tn_Pattern *lhs;
  relay_expr *rhs;
  TN_GETP(lhs, parse_pattern(p));
  TN_TRYP(rt_expect(p, "=>"));
  TN_GETP(rhs, rt_expr(p));
  rt_unbind(p, mark);
  return TN_NEW(Clause, .lhs = lhs, .rhs = rhs);
}

relay_expr *rt_match(rt *p) {
  TN_VEC(clauses);
  bool partial, more = true;
  relay_expr *data;
  TN_TRYP(rt_accept(p, "?", &partial));
  TN_TRYP(rt_expect(p, "("));
  TN_GETP(data, rt_expr(p));
  TN_TRYP(rt_expect(p, ")"));
  TN_TRYP(rt_expect(p, "{"));
  while (more && !rt_is(p, "}")) {
    tn_Clause *c;
    TN_GETP(c, parse_clause(p));
    TN_TRYP(tn_vec_push_obj(&clauses, c));
    TN_TRYP(rt_accept(p, ",", &more));
  }
  TN_TRYP(rt_expect(p, "}"));
  return (relay_expr *)TN_MAKE(Match, .data = data, .clauses = tn_arr_from(&clauses),
                               .complete = !partial);
}

/* ---- definitions ---- */

static tn_Constructor *parse_constructor(rt *p, tn_GlobalTypeVar *owner) {
  rt_token t = p->tok;
  const char *name;
  TN_VEC(inputs);
  bool more;
  TN_GETP(name, rt_text(p, &t));
  if (t.kind != RT_NAME)
    return (void)rt_fail(p, &t, "expected the name of a constructor, got %s", rt_describe(p, &t)),
           NULL;
  if (tn_map_find(p->constructors, name))
    return (void)rt_fail(p, &t, "a constructor `%s` was already defined", name), NULL;
  TN_TRYP(rt_next(p));
  TN_TRYP(rt_accept(p, "(", &more));
  bool fields = more;
  while (more && !rt_is(p, ")")) {
    tn_Type *type;
    TN_GETP(type, rt_type(p));
    TN_TRYP(tn_vec_push_obj(&inputs, type));
    TN_TRYP(rt_accept(p, ",", &more));
  }
  if (fields) TN_TRYP(rt_expect(p, ")"));
  tn_Constructor *c;
  TN_GETP(c, TN_MAKE(Constructor, .name_hint = tn_str_from(name), .inputs = tn_arr_from(&inputs),
                     .belong_to = owner, .tag = -1));
  TN_TRYP(tn_map_set(p->constructors, tn_any_cstr(name), tn_any_obj(c)));
  return c;
}

static int parse_constructors(rt *p, tn_GlobalTypeVar *owner, tn_vec *out) {
  bool more = true;
  TN_TRY(rt_expect(p, "{"));
  while (more && !rt_is(p, "}")) {
    tn_Constructor *c;
    TN_GET(c, parse_constructor(p, owner));
    TN_TRY(tn_vec_push_obj(out, c));
    TN_TRY(rt_accept(p, ",", &more));
  }
  return rt_expect(p, "}");
}

int rt_type_definition(rt *p, bool external) {
  rt_token t = p->tok;
  const char *name;
  tn_GlobalTypeVar *v;
  tn_arr *vars;
  tn_TypeData *d;
  TN_VEC(constructors);
  if (t.kind != RT_NAME)
    return rt_fail(p, &t, "expected the name of a type, got %s", rt_describe(p, &t));
  TN_GET(name, rt_text(p, &t));
  TN_TRY(rt_next(p));
  if (tn_map_find(p->mod->global_type_var_map_, name))
    return rt_fail(p, &t, "a type definition with the name `%s` already exists", name);
  TN_GET(v, TN_NEW(GlobalTypeVar, .name_hint = tn_str_from(name), .kind = IR_KIND_ADT_HANDLE));
  /* known before its constructors, which may hold values of it */
  tn_map *known;
  TN_GET(known, tn_map_with(p->mod->global_type_var_map_, tn_any_cstr(name), tn_any_obj(v)));
  tn_any value = tn_any_obj(known);
  TN_TRY(tn_field_set((tn_obj *)p->mod, tn_type_field(&tn_type_IRModule, "global_type_var_map_"),
                      &value));
  int64_t mark = p->nbindings;
  TN_GET(vars, rt_type_params(p));
  if (external && rt_is(p, "{"))
    return rt_fail(p, &p->tok, "an extern type cannot have constructors");
  if (!external) TN_TRY(parse_constructors(p, v, &constructors));
  rt_unbind(p, mark);
  TN_GET(d, TN_MAKE(TypeData, .header = v, .type_vars = vars,
                    .constructors = tn_arr_from(&constructors)));
  return ir_module_add_type(p->mod, v, (tn_Type *)d, true);
}
