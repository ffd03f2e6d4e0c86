/* Patterns: types of the variables they bind, and whether the clauses of a match handle all values
   (see inference.h). */
#include "base/stack.h"
#include "relay/infer/inference.h"
#include "relay/type_text.h"

static const tn_arr *fields_of(const tn_obj *p) {
  const tn_PatternConstructor *c = TN_AS(PatternConstructor, p);
  const tn_PatternTuple *t = TN_AS(PatternTuple, p);
  return c ? c->patterns : t ? t->patterns : NULL;
}

/* ---- types of patterns ---- */

static int each_pattern(inference *in, const tn_arr *patterns, const tn_arr *types) {
  for (int64_t i = 0; i < patterns->len; ++i)
    TN_TRY(inference_pattern(in, tn_arr_obj(patterns, i), (tn_Type *)tn_arr_obj(types, i)));
  return 0;
}

/* What is matched is a value of the constructor's type; its fields have the constructor's types
   with the parameters of that. */
static int constructor_pattern(inference *in, const tn_PatternConstructor *p, tn_Type *of) {
  const tn_Constructor *c = p->constructor;
  const tn_TypeData *d;
  TN_GET(d, inference_definition(in, c, p->span));
  if (c->inputs->len != p->patterns->len)
    return relay_type_error(
        p->span, "the pattern of %s has %lld patterns for its fields, expected %lld",
        tn_cstr(c->name_hint), (long long)p->patterns->len, (long long)c->inputs->len);
  TN_VEC(args);
  TN_PMAP(vars);
  for (int64_t i = 0; i < d->type_vars->len; ++i) {
    tn_IncompleteType *t = relay_incomplete_type();
    TN_TRY(tn_vec_push_obj(&args, t));
    TN_TRY(tn_pmap_put(&vars, tn_arr_obj(d->type_vars, i), t));
  }
  tn_TypeCall *want =
      TN_MAKE(TypeCall, .func = (tn_Type *)c->belong_to, .args = tn_arr_from(&args));
  if (!want || !inference_unify(in, of, (tn_Type *)want, p->span)) return -1;
  TN_VEC(fields);
  for (int64_t i = 0; i < c->inputs->len; ++i)
    TN_TRY(tn_vec_push_obj(&fields, relay_type_bind(tn_arr_obj(c->inputs, i), &vars)));
  tn_arr *types;
  TN_GET(types, tn_arr_from(&fields));
  return each_pattern(in, p->patterns, types);
}

static int tuple_pattern(inference *in, const tn_PatternTuple *p, tn_Type *of) {
  TN_VEC(v);
  for (int64_t i = 0; i < p->patterns->len; ++i)
    TN_TRY(tn_vec_push_obj(&v, relay_incomplete_type()));
  tn_arr *fields;
  TN_GET(fields, tn_arr_from(&v));
  if (!inference_unify(in, of, (tn_Type *)relay_tuple_type(fields), p->span)) return -1;
  return each_pattern(in, p->patterns, fields);
}

int inference_pattern(inference *in, const tn_obj *p, tn_Type *of) {
  TN_TRY(tn_stack_check("a pattern"));
  switch (p->type_index) {
  case TN_TI_PatternVar: {
    const tn_RelayVar *v = ((const tn_PatternVar *)p)->var;
    tn_Type *t;
    TN_GET(t, inference_var(in, v));
    TN_GET(t, inference_unify(in, t, of, v->span));
    TN_TRY(tn_pmap_put(&in->vars, v->vid, t));
    TN_TRY(tn_pmap_put_int(&in->fresh, v, 1));
    return tn_pmap_put(&in->types, v, t);
  }
  case TN_TI_PatternConstructor:
    return constructor_pattern(in, (const tn_PatternConstructor *)p, of);
  case TN_TI_PatternTuple: return tuple_pattern(in, (const tn_PatternTuple *)p, of);
  default: return 0;
  }
}

int inference_pattern_failed(inference *in, const tn_obj *p) {
  TN_TRY(tn_stack_check("a pattern"));
  const tn_PatternVar *v = TN_AS(PatternVar, p);
  const tn_arr *fields = fields_of(p);
  if (v) {
    tn_Type *t = v->var->type_annotation ? v->var->type_annotation : in->solver.wrong;
    TN_TRY(tn_pmap_put(&in->vars, v->var->vid, t));
    return tn_pmap_put(&in->types, v->var, t);
  }
  for (int64_t i = 0; fields && i < fields->len; ++i)
    TN_TRY(inference_pattern_failed(in, tn_arr_obj(fields, i)));
  return 0;
}

/* ---- which values are handled ---- */

/* How a clause's pattern meets a set of values, which is itself a pattern. */
typedef enum { NONE_OF_THEM, SOME_OF_THEM, ALL_OF_THEM, FAILED = -1 } meeting;

static meeting meet(const tn_obj *pattern, const tn_obj *values);

static meeting meet_fields(const tn_arr *a, const tn_arr *b) {
  meeting all = ALL_OF_THEM;
  for (int64_t i = 0; i < a->len && i < b->len; ++i) {
    meeting m = meet(tn_arr_obj(a, i), tn_arr_obj(b, i));
    if (m == NONE_OF_THEM || m == FAILED) return m;
    if (m == SOME_OF_THEM) all = m;
  }
  return all;
}

static meeting meet(const tn_obj *pattern, const tn_obj *values) {
  const tn_PatternConstructor *p = TN_AS(PatternConstructor, pattern),
                              *v = TN_AS(PatternConstructor, values);
  if (tn_stack_check("a pattern")) return FAILED;
  if (!fields_of(pattern)) return ALL_OF_THEM;
  if (!fields_of(values)) return SOME_OF_THEM;
  if (p && v && p->constructor->tag != v->constructor->tag) return NONE_OF_THEM;
  return meet_fields(fields_of(pattern), fields_of(values));
}

static tn_arr *wildcards(int64_t n) {
  TN_VEC(v);
  for (int64_t i = 0; i < n; ++i)
    TN_TRYP(tn_vec_push_obj(&v, TN_NEW(PatternWildcard, .span = NULL)));
  return tn_arr_from(&v);
}

/* All values, divided by their constructor. */
static int divide_any(const tn_obj *pattern, const tn_IRModule *m, tn_vec *out) {
  const tn_PatternConstructor *p = TN_AS(PatternConstructor, pattern);
  if (!p) {
    tn_arr *fields = wildcards(fields_of(pattern)->len);
    return tn_vec_push_obj(out, TN_NEW(PatternTuple, .patterns = fields));
  }
  const char *name = tn_cstr(p->constructor->belong_to->name_hint);
  const tn_obj *var = tn_map_find(m->global_type_var_map_, name);
  tn_any found;
  TN_CHECK(var && tn_map_get(m->type_definitions, tn_any_obj(var), &found), ValueError, p->span,
           "unmatched_cases: the module does not define type %s", name);
  const tn_arr *all = ((const tn_TypeData *)found.v.obj)->constructors;
  for (int64_t i = 0; i < all->len; ++i) {
    tn_Constructor *c = (tn_Constructor *)tn_arr_obj(all, i);
    tn_arr *fields = wildcards(c->inputs->len);
    TN_TRY(tn_vec_push_obj(out, TN_NEW(PatternConstructor, .constructor = c, .patterns = fields)));
  }
  return 0;
}

static tn_obj *with_field(const tn_obj *values, int64_t at, const tn_obj *field) {
  const tn_arr *old = fields_of(values);
  const tn_PatternConstructor *c = TN_AS(PatternConstructor, values);
  TN_VEC(v);
  for (int64_t i = 0; i < old->len; ++i)
    TN_TRYP(tn_vec_push_obj(&v, i == at ? field : tn_arr_obj(old, i)));
  tn_arr *fields = tn_arr_from(&v);
  if (c)
    return (tn_obj *)TN_NEW(PatternConstructor, .constructor = c->constructor, .patterns = fields);
  return (tn_obj *)TN_NEW(PatternTuple, .patterns = fields);
}

/* A set of values of which the pattern takes some, divided: at the first place where it asks for
   more than is known of them. */
static int divide(const tn_obj *pattern, const tn_obj *values, const tn_IRModule *m, tn_vec *out) {
  const tn_arr *fields = fields_of(values);
  if (!fields) return divide_any(pattern, m, out);
  for (int64_t i = 0; i < fields->len; ++i) {
    const tn_obj *p = tn_arr_obj(fields_of(pattern), i), *v = tn_arr_obj(fields, i);
    if (meet(p, v) != SOME_OF_THEM) continue;
    TN_VEC(parts);
    TN_TRY(divide(p, v, m, &parts));
    for (int64_t k = 0; k < parts.len; ++k)
      TN_TRY(tn_vec_push_obj(out, with_field(values, i, parts.items[k].v.obj)));
    return 0;
  }
  return 0;
}

/* The first clause that takes any of the values: in *handled, does it take them all? */
static int first_clause(const tn_Match *match, const tn_obj *values, const tn_obj **pattern,
                        bool *handled) {
  *pattern = NULL;
  *handled = false;
  for (int64_t i = 0; i < match->clauses->len; ++i) {
    const tn_obj *p = (const tn_obj *)((const tn_Clause *)tn_arr_obj(match->clauses, i))->lhs;
    meeting m = meet(p, values);
    if (m == FAILED) return -1;
    if (m == NONE_OF_THEM) continue;
    *pattern = p;
    *handled = m == ALL_OF_THEM;
    return 0;
  }
  return 0;
}

tn_arr *relay_unmatched_cases(const tn_Match *match, const tn_IRModule *m) {
  TN_VEC(todo);
  TN_VEC(unmatched);
  TN_TRYP(tn_vec_push_obj(&todo, TN_NEW(PatternWildcard, .span = NULL)));
  while (todo.len > 0) {
    const tn_obj *values = todo.items[--todo.len].v.obj, *pattern;
    bool handled;
    TN_TRYP(first_clause(match, values, &pattern, &handled));
    if (!pattern) TN_TRYP(tn_vec_push_obj(&unmatched, values));
    else if (!handled) TN_TRYP(divide(pattern, values, m, &todo));
  }
  return tn_arr_from(&unmatched);
}

static void print_pattern(tn_buf *out, const tn_obj *p) {
  const tn_PatternConstructor *c = TN_AS(PatternConstructor, p);
  const tn_arr *fields = fields_of(p);
  if (!fields) tn_buf_puts(out, "_");
  if (c) tn_buf_puts(out, tn_cstr(c->constructor->name_hint));
  if (!fields || (c && fields->len == 0)) return;
  tn_buf_puts(out, "(");
  for (int64_t i = 0; i < fields->len; ++i) {
    if (i) tn_buf_puts(out, ", ");
    print_pattern(out, tn_arr_obj(fields, i));
  }
  tn_buf_puts(out, ")");
}

int inference_check_match(inference *in, const tn_Match *match) {
  if (!match->complete || !in->solver.mod) return 0;
  tn_arr *left;
  TN_GET(left, relay_unmatched_cases(match, in->solver.mod));
  if (left->len == 0) return 0;
  TN_BUF(text);
  for (int64_t i = 0; i < left->len; ++i) {
    tn_buf_printf(&text, "\ncase %lld: \n", (long long)i);
    print_pattern(&text, tn_arr_obj(left, i));
  }
  return relay_type_error(match->span, "match expression does not handle the following cases: %s",
                          tn_buf_cstr(&text));
}
