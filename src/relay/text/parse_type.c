/* Types: Tensor[(2, ?), float32], float32, (int32, bool), fn (A) -> B, ref(A), List[A], A, _ */
#include <string.h>

#include "base/error.h"
#include "base/stack.h"
#include "ir/imm.h"
#include "object/functions.h"
#include "relay/text/parse_impl.h"

bool rt_is_dtype(const char *name, tn_dtype *out) {
  static const char *const stems[] = {"int",    "uint",   "float",  "bool",
                                      "bfloat", "handle", "custom", "void"};
  bool stem = false;
  for (int i = 0; i < TN_COUNT(stems); ++i)
    stem = stem || strncmp(name, stems[i], strlen(stems[i])) == 0;
  if (!stem) return false;
  if (tn_dtype_parse(name, strlen(name), out) == 0) return true;
  tn_error_clear();
  return false;
}

static tn_expr *parse_extent(rt *p) {
  rt_token t = p->tok;
  tn_any value;
  if (rt_is(p, "?")) {
    TN_TRYP(rt_next(p));
    return relay_any();
  }
  if (t.kind == RT_META) {
    TN_TRYP(rt_next(p));
    tn_obj *o;
    TN_GETP(o, rt_meta_object(p, &t));
    if (tn_obj_is(o, &tn_type_PrimExpr)) return (tn_expr *)o;
    return (void)rt_fail(p, &t, "this metadata is not an extent"), NULL;
  }
  if (t.kind != RT_INT)
    return (void)rt_fail(p, &t, "expected an extent (a number or ?), got %s", rt_describe(p, &t)),
           NULL;
  TN_TRYP(rt_number_value(p, false, &value));
  return (tn_expr *)value.v.obj;
}

static tn_Type *parse_tensor(rt *p) {
  TN_VEC(shape);
  TN_TRYP(rt_expect(p, "["));
  TN_TRYP(rt_expect(p, "("));
  while (!rt_is(p, ")")) {
    tn_expr *e;
    bool more;
    TN_GETP(e, parse_extent(p));
    TN_TRYP(tn_vec_push_obj(&shape, e));
    TN_TRYP(rt_accept(p, ",", &more));
    if (!more) break;
  }
  TN_TRYP(rt_expect(p, ")"));
  TN_TRYP(rt_expect(p, ","));
  rt_token t = p->tok;
  const char *name;
  tn_dtype dtype;
  TN_GETP(name, rt_text(p, &t));
  if (t.kind != RT_NAME || !rt_is_dtype(name, &dtype)) {
    (void)rt_fail(p, &t, "expected a data type such as float32, got %s", rt_describe(p, &t));
    if (t.kind != RT_NAME || !rt_goes_on(p)) return NULL;
    dtype = TN_F32;
  }
  TN_TRYP(rt_next(p));
  TN_TRYP(rt_expect(p, "]"));
  return (tn_Type *)relay_tensor_type(tn_arr_from(&shape), dtype);
}

/* Types up to a closing bracket, which is taken. */
static int parse_list(rt *p, const char *close, tn_vec *out, bool *comma) {
  *comma = false;
  while (!rt_is(p, close)) {
    tn_Type *t;
    TN_GET(t, rt_type(p));
    TN_TRY(tn_vec_push_obj(out, t));
    TN_TRY(rt_accept(p, ",", comma));
    if (!*comma) break;
  }
  return rt_expect(p, close);
}

static tn_Type *parse_tuple(rt *p) {
  TN_VEC(fields);
  bool comma;
  TN_TRYP(rt_expect(p, "("));
  TN_TRYP(parse_list(p, ")", &fields, &comma));
  if (fields.len == 1 && !comma) return (tn_Type *)fields.items[0].v.obj; /* only parentheses */
  return (tn_Type *)relay_tuple_type(tn_arr_from(&fields));
}

tn_arr *rt_type_params(rt *p) {
  TN_VEC(vars);
  bool more;
  TN_TRYP(rt_accept(p, "[", &more));
  while (more) {
    rt_token t = p->tok;
    const char *name;
    if (t.kind != RT_NAME)
      return (void)rt_fail(p, &t, "expected the name of a type parameter, got %s",
                           rt_describe(p, &t)),
             NULL;
    TN_GETP(name, rt_text(p, &t));
    tn_TypeVar *v;
    TN_GETP(v, TN_NEW(TypeVar, .name_hint = tn_str_from(name), .kind = IR_KIND_TYPE));
    TN_TRYP(rt_bind(p, name, 0, v));
    TN_TRYP(tn_vec_push_obj(&vars, v));
    TN_TRYP(rt_next(p));
    TN_TRYP(rt_accept(p, ",", &more));
    if (!more) TN_TRYP(rt_expect(p, "]"));
  }
  return tn_arr_from(&vars);
}

static tn_Type *parse_func(rt *p) {
  int64_t mark = p->nbindings;
  TN_VEC(args);
  tn_arr *params;
  tn_Type *result;
  bool comma;
  TN_GETP(params, rt_type_params(p));
  TN_TRYP(rt_expect(p, "("));
  TN_TRYP(parse_list(p, ")", &args, &comma));
  TN_TRYP(rt_expect(p, "->"));
  TN_GETP(result, rt_type(p));
  rt_unbind(p, mark);
  return (tn_Type *)TN_NEW(FuncType, .type_params = params, .arg_types = tn_arr_from(&args),
                           .ret_type = result, .type_constraints = tn_arr_of(0));
}

static tn_Type *parse_ref(rt *p) {
  tn_Type *t;
  TN_TRYP(rt_expect(p, "("));
  TN_GETP(t, rt_type(p));
  TN_TRYP(rt_expect(p, ")"));
  return (tn_Type *)TN_NEW(RefType, .value = t);
}

/* A type variable, or a type definition with types put in. */
static tn_Type *parse_named(rt *p, const char *name, const rt_token *at) {
  tn_obj *bound = rt_find(p, name, 0);
  if (bound && TN_AS(TypeVar, bound)) return (tn_Type *)bound;
  tn_Type *head = (tn_Type *)tn_map_find(p->mod->global_type_var_map_, name);
  if (!head && rt_fail(p, at, "the type `%s` is not defined", name) && !rt_goes_on(p)) return NULL;
  TN_VEC(args);
  bool more;
  TN_TRYP(rt_accept(p, "[", &more));
  if (more) TN_TRYP(parse_list(p, "]", &args, &more));
  if (!head) return (tn_Type *)relay_incomplete_type();
  return (tn_Type *)TN_NEW(TypeCall, .func = head, .args = tn_arr_from(&args));
}

tn_Type *rt_type(rt *p) {
  TN_TRYP(tn_stack_check("a type"));
  rt_token t = p->tok;
  if (rt_is(p, "(")) return parse_tuple(p);
  if (t.kind == RT_META) {
    tn_obj *o;
    TN_TRYP(rt_next(p));
    TN_GETP(o, rt_meta_object(p, &t));
    if (tn_obj_is(o, &tn_type_Type)) return (tn_Type *)o;
    return (void)rt_fail(p, &t, "this metadata is not a type"), NULL;
  }
  const char *name;
  tn_dtype dtype;
  TN_GETP(name, rt_text(p, &t));
  if (t.kind != RT_NAME)
    return (void)rt_fail(p, &t, "expected a type, got %s", rt_describe(p, &t)), NULL;
  TN_TRYP(rt_next(p));
  if (strcmp(name, "Tensor") == 0) return parse_tensor(p);
  if (strcmp(name, "fn") == 0) return parse_func(p);
  if (strcmp(name, "ref") == 0) return parse_ref(p);
  if (strcmp(name, "_") == 0) return (tn_Type *)relay_incomplete_type();
  if (rt_is_dtype(name, &dtype)) return (tn_Type *)relay_scalar_type(dtype);
  return parse_named(p, name, &t);
}
