/* Expressions and bodies. Operators by precedence, then calls and projections, then what stands
 * alone. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/scope.h"
#include "base/stack.h"
#include "ir/module.h"
#include "ir/op.h"
#include "object/functions.h"
#include "relay/text/parse_impl.h"

static const struct {
  const char *text, *op;
  int level; /* binds tighter the higher it is */
} operators[] = {
    {"*", "multiply", 12},   {"/", "divide", 12},        {"+", "add", 10},
    {"-", "subtract", 10},   {"<", "less", 8},           {">", "greater", 8},
    {"<=", "less_equal", 8}, {">=", "greater_equal", 8}, {"==", "equal", 7},
    {"!=", "not_equal", 7},
};

static tn_Op *find_op(rt *p, const char *name, const rt_token *at) {
  tn_Op *op = ir_op_find(name);
  if (op) return op;
  return (void)rt_fail(p, at, "operator `%s` not found, perhaps you forgot to register it?", name),
         NULL;
}

/* Does a name or text followed by '=' come next: an attribute? */
static int at_attribute(rt *p, bool *yes) {
  *yes = false;
  if (p->tok.kind != RT_NAME && p->tok.kind != RT_STR) return 0;
  rt_lexer lexer = p->lexer;
  rt_token tok = p->tok, last = p->last;
  TN_TRY(rt_next(p));
  *yes = rt_is(p, "=");
  p->lexer = lexer;
  p->tok = tok;
  p->last = last;
  return 0;
}

/* ---- calls ---- */

/* Arguments after '(' up to and with ')'. @param given attributes as an object (from the metadata),
 * or NULL */
static int parse_args(rt *p, tn_vec *args, tn_map *attrs, tn_Attrs **given) {
  bool more = true, attribute;
  TN_TRY(rt_expect(p, "("));
  while (more && !rt_is(p, ")")) {
    TN_TRY(at_attribute(p, &attribute));
    if (attribute) {
      TN_TRY(rt_attributes(p, attrs));
      break;
    }
    tn_obj *meta = p->tok.kind == RT_META ? rt_meta_object(p, &p->tok) : NULL;
    if (p->tok.kind == RT_META && !meta && !rt_goes_on(p)) return -1;
    if (meta && tn_obj_is(meta, &tn_type_Attrs)) {
      *given = (tn_Attrs *)meta;
      TN_TRY(rt_next(p));
    } else {
      relay_expr *e;
      TN_GET(e, rt_expr(p));
      TN_TRY(tn_vec_push_obj(args, e));
    }
    TN_TRY(rt_accept(p, ",", &more));
  }
  return rt_expect(p, ")");
}

/* attrs_type_key="..." says what the attributes of a call of a function are. */
static const char *attrs_type(const relay_expr *callee, tn_map **attrs) {
  const tn_Op *op = TN_AS(Op, callee);
  if (op) return tn_cstr(op->attrs_type_key);
  tn_obj *key = tn_map_find(*attrs, "attrs_type_key");
  if (!key || key->type_index != TN_TI_String) return (*attrs)->len ? "DictAttrs" : "";
  *attrs = tn_map_without(*attrs, tn_any_cstr("attrs_type_key"));
  return tn_cstr((const tn_str *)key);
}

static relay_expr *parse_call(rt *p, relay_expr *callee, const rt_token *first) {
  TN_VEC(args);
  tn_map *attrs;
  tn_Attrs *made = NULL;
  tn_RelayCall *call;
  TN_GETP(attrs, tn_scope_own(tn_map_new()));
  TN_TRYP(parse_args(p, &args, attrs, &made));
  const char *type = attrs_type(callee, &attrs);
  if (!attrs) return NULL;
  if (!made && rt_make_attrs(p, type, attrs, first, &made) && !rt_goes_on(p)) return NULL;
  TN_GETP(call, relay_call_new(callee, tn_arr_from(&args), made));
  rt_place(call, rt_span_from(p, first));
  return (relay_expr *)call;
}

static relay_expr *parse_projection(rt *p, relay_expr *tuple, const rt_token *first) {
  rt_token t;
  TN_TRYP(rt_next(p));
  t = p->tok;
  tn_any index;
  if (t.kind != RT_INT)
    return (void)rt_fail(p, &t, "expected the number of a field, got %s", rt_describe(p, &t)), NULL;
  TN_TRYP(rt_number_value(p, false, &index));
  tn_TupleGetItem *e;
  TN_GETP(e, relay_get_item(tuple, ((const tn_IntImm *)index.v.obj)->value));
  rt_place(e, rt_span_from(p, first));
  return (relay_expr *)e;
}

/* ---- what stands alone ---- */

static relay_expr *parse_parentheses(rt *p) {
  rt_token first = p->tok;
  TN_VEC(fields);
  bool comma = false;
  int64_t mark = p->nbindings;
  TN_TRYP(rt_next(p));
  while (!rt_is(p, ")")) {
    relay_expr *e;
    TN_GETP(e, fields.len ? rt_expr(p) : rt_body(p));
    TN_TRYP(tn_vec_push_obj(&fields, e));
    TN_TRYP(rt_accept(p, ",", &comma));
    if (!comma) break;
  }
  TN_TRYP(rt_expect(p, ")"));
  rt_unbind(p, mark);
  if (fields.len == 1 && !comma) return (relay_expr *)fields.items[0].v.obj;
  tn_RelayTuple *t;
  TN_GETP(t, relay_tuple(tn_arr_from(&fields)));
  rt_place(t, rt_span_from(p, &first));
  return (relay_expr *)t;
}

static relay_expr *parse_braced(rt *p) {
  int64_t mark = p->nbindings;
  relay_expr *e;
  TN_TRYP(rt_expect(p, "{"));
  TN_GETP(e, rt_body(p));
  rt_unbind(p, mark);
  TN_TRYP(rt_expect(p, "}"));
  return e;
}

static relay_expr *parse_if(rt *p) {
  relay_expr *c, *t, *f;
  TN_TRYP(rt_expect(p, "("));
  TN_GETP(c, rt_expr(p));
  TN_TRYP(rt_expect(p, ")"));
  TN_GETP(t, parse_braced(p));
  if (!rt_is_name(p, "else"))
    return (void)rt_fail(p, &p->tok, "expected `else`, got %s", rt_describe(p, &p->tok)), NULL;
  TN_TRYP(rt_next(p));
  TN_GETP(f, rt_is_name(p, "if") ? rt_expr(p) : parse_braced(p));
  return (relay_expr *)relay_if(c, t, f);
}

static relay_expr *parse_reference(rt *p, const char *what) {
  relay_expr *a, *b = NULL;
  TN_TRYP(rt_expect(p, "("));
  TN_GETP(a, rt_expr(p));
  if (strcmp(what, "ref_write") == 0) {
    TN_TRYP(rt_expect(p, ","));
    TN_GETP(b, rt_expr(p));
  }
  TN_TRYP(rt_expect(p, ")"));
  if (b) return (relay_expr *)TN_NEW(RefWrite, .ref = a, .value = b);
  if (strcmp(what, "ref") == 0) return (relay_expr *)TN_NEW(RefCreate, .value = a);
  return (relay_expr *)TN_NEW(RefRead, .ref = a);
}

static relay_expr *parse_named(rt *p, const char *name, const rt_token *at) {
  if (strcmp(name, "True") == 0 || strcmp(name, "False") == 0)
    return (relay_expr *)relay_const_int(TN_BOOL1, name[0] == 'T');
  if (strcmp(name, "inf") == 0 || strcmp(name, "inff") == 0)
    return (relay_expr *)relay_const_float(TN_F32, INFINITY);
  if (strcmp(name, "nan") == 0 || strcmp(name, "nanf") == 0)
    return (relay_expr *)relay_const_float(TN_F32, NAN);
  if (strcmp(name, "fn") == 0) {
    int64_t mark = p->nbindings;
    relay_expr *f = (relay_expr *)rt_function(p);
    rt_unbind(p, mark);
    return f;
  }
  if (strcmp(name, "if") == 0) return parse_if(p);
  if (strcmp(name, "match") == 0) return rt_match(p);
  if (strncmp(name, "ref", 3) == 0 &&
      (!name[3] || strcmp(name, "ref_read") == 0 || strcmp(name, "ref_write") == 0))
    return parse_reference(p, name);
  tn_Constructor *c = (tn_Constructor *)tn_map_find(p->constructors, name);
  if (!c) {
    tn_Op *op = find_op(p, name, at);
    if (op) return (relay_expr *)op;
    return rt_goes_on(p) ? (relay_expr *)relay_var(name, NULL) : NULL;
  }
  if (c->inputs->len || rt_is(p, "(")) return (relay_expr *)c;
  return (relay_expr *)relay_call_new(c, tn_arr_of(0),
                                      NULL); /* a constructor without fields needs no () */
}

static relay_expr *parse_variable(rt *p, const rt_token *t) {
  const char *name = NULL;
  if (t->kind == RT_LOCAL) TN_GETP(name, rt_text(p, t));
  tn_obj *value = rt_find(p, name, t->number);
  if (value && !TN_AS(TypeVar, value)) return (relay_expr *)value;
  (void)rt_fail(p, t,
                name ? "this local variable has not been previously declared"
                     : "this temporary has not been previously defined");
  tn_RelayVar *unknown = rt_goes_on(p) ? relay_var(name ? name : "unknown", NULL) : NULL;
  if (!unknown || rt_bind(p, name, t->number, unknown)) return NULL; /* it is told once */
  return (relay_expr *)unknown;
}

static relay_expr *parse_minus(rt *p) {
  bool negative = false, more = true;
  while (more) {
    TN_TRYP(rt_accept(p, "-", &more));
    negative ^= more;
  }
  if (p->tok.kind == RT_INT || p->tok.kind == RT_FLOAT) return rt_number(p, negative);
  if (rt_is_name(p, "inf") || rt_is_name(p, "inff")) {
    TN_TRYP(rt_next(p));
    return (relay_expr *)relay_const_float(TN_F32, negative ? -INFINITY : INFINITY);
  }
  return (void)rt_fail(p, &p->tok, "expected a number after `-`, got %s (use negative(x))",
                       rt_describe(p, &p->tok)),
         NULL;
}

static relay_expr *parse_atom(rt *p) {
  rt_token t = p->tok;
  const char *name;
  tn_obj *o;
  if (rt_is(p, "(")) return parse_parentheses(p);
  if (rt_is(p, "{")) return parse_braced(p);
  if (rt_is(p, "-")) return parse_minus(p);
  if (t.kind == RT_INT || t.kind == RT_FLOAT) return rt_number(p, false);
  if (t.kind == RT_END || t.kind == RT_OP || t.kind == RT_STR)
    return (void)rt_fail(p, &t, "expected an expression, got %s", rt_describe(p, &t)), NULL;
  TN_TRYP(rt_next(p));
  switch (t.kind) {
  case RT_META:
    o = rt_meta_object(p, &t);
    if (!o) return rt_goes_on(p) ? (relay_expr *)relay_var("meta", NULL) : NULL;
    if (tn_obj_is(o, &tn_type_RelayExpr)) return (relay_expr *)o;
    return (void)rt_fail(p, &t, "this metadata is not an expression"), NULL;
  case RT_GLOBAL: TN_GETP(name, rt_text(p, &t)); return (relay_expr *)rt_global(p, name);
  case RT_NAME: TN_GETP(name, rt_text(p, &t)); return parse_named(p, name, &t);
  default: return parse_variable(p, &t);
  }
}

static relay_expr *parse_postfix(rt *p) {
  rt_token first = p->tok;
  relay_expr *e;
  TN_GETP(e, parse_atom(p));
  bool fresh = first.kind == RT_NAME && !TN_AS(Op, e) && !TN_AS(Constructor, e);
  if (fresh) rt_place(e, rt_span_from(p, &first));
  for (;;) {
    if (rt_is(p, "(")) TN_GETP(e, parse_call(p, e, &first));
    else if (rt_is(p, ".")) TN_GETP(e, parse_projection(p, e, &first));
    else return e;
  }
}

static int operator_at(const rt *p, int least) {
  for (int i = 0; i < TN_COUNT(operators); ++i)
    if (rt_is(p, operators[i].text)) return operators[i].level >= least ? i : -1;
  return -1;
}

static relay_expr *parse_binary(rt *p, int least) {
  rt_token first = p->tok;
  relay_expr *a, *b;
  TN_TRYP(tn_stack_check("the text"));
  TN_GETP(a, parse_postfix(p));
  for (int i; (i = operator_at(p, least)) >= 0;) {
    rt_token at = p->tok;
    tn_Op *op;
    TN_TRYP(rt_next(p));
    TN_GETP(b, parse_binary(p, operators[i].level + 1));
    TN_GETP(op, find_op(p, operators[i].op, &at));
    TN_GETP(a, (relay_expr *)relay_call_new(op, tn_arr_of(2, a, b), NULL));
    rt_place(a, rt_span_from(p, &first));
  }
  return a;
}

relay_expr *rt_expr(rt *p) { return parse_binary(p, 0); }

/* ---- bodies ---- */

/* {virtual_device_=meta[VirtualDevice][0]} behind a variable; NULL where there is none. */
static int parse_device(rt *p, tn_obj **out) {
  bool open;
  tn_map *attrs;
  *out = NULL;
  TN_TRY(rt_accept(p, "{", &open));
  if (!open) return 0;
  rt_token t = p->tok;
  TN_GET(attrs, tn_scope_own(tn_map_new()));
  TN_TRY(rt_attribute(p, attrs));
  *out = tn_map_find(attrs, RT_DEVICE);
  if (!*out) return rt_fail(p, &t, "expected " RT_DEVICE "=, got %s", rt_describe(p, &t));
  return rt_expect(p, "}");
}

static void place_on(void *expr, tn_obj *device) {
  tn_retain(device);
  ((relay_expr *)expr)->virtual_device_ = device;
}

/* %x: T, as a new variable that is not bound yet. */
static tn_RelayVar *parse_binder(rt *p) {
  rt_token t = p->tok;
  const char *name;
  tn_Type *type = NULL;
  tn_obj *device;
  bool typed;
  if (t.kind != RT_LOCAL)
    return (void)rt_fail(p, &t, "expected a local variable such as %%x, got %s",
                         rt_describe(p, &t)),
           NULL;
  TN_GETP(name, rt_text(p, &t));
  TN_TRYP(rt_next(p));
  TN_TRYP(parse_device(p, &device));
  TN_TRYP(rt_accept(p, ":", &typed));
  if (typed) TN_GETP(type, rt_type(p));
  if (TN_AS(IncompleteType, type)) type = NULL; /* `_`, as good as none */
  tn_RelayVar *v;
  TN_GETP(v, relay_var(name, type));
  place_on(v, device);
  rt_place(v, rt_span_from(p, &t));
  return v;
}

static int bind_var(rt *p, tn_RelayVar *v) { return rt_bind(p, tn_cstr(v->vid->name_hint), 0, v); }

/* A function may call itself by the name it is given; other values are computed before it exists.
 */
static int parse_let(rt *p, tn_vec *lets) {
  tn_RelayVar *v;
  relay_expr *value;
  TN_TRY(rt_next(p));
  TN_GET(v, parse_binder(p));
  TN_TRY(rt_expect(p, "="));
  bool early = rt_is_name(p, "fn");
  if (early) TN_TRY(bind_var(p, v));
  TN_GET(value, rt_expr(p));
  if (!early) TN_TRY(bind_var(p, v));
  TN_TRY(rt_expect(p, ";"));
  TN_TRY(tn_vec_push_obj(lets, v));
  return tn_vec_push_obj(lets, value);
}

static int parse_free_var(rt *p) {
  tn_RelayVar *v;
  TN_TRY(rt_next(p));
  TN_GET(v, parse_binder(p));
  TN_TRY(bind_var(p, v));
  return rt_expect(p, ";");
}

/* %0 = e; when a temporary and '=' come next. */
static int parse_temporary(rt *p, bool *yes) {
  *yes = false;
  if (p->tok.kind != RT_GRAPH) return 0;
  rt_lexer lexer = p->lexer;
  rt_token tok = p->tok, last = p->last;
  TN_TRY(rt_next(p));
  if (!rt_is(p, "=")) {
    p->lexer = lexer;
    p->tok = tok;
    p->last = last;
    return 0;
  }
  relay_expr *e;
  *yes = true;
  TN_TRY(rt_next(p));
  TN_GET(e, rt_expr(p));
  TN_TRY(rt_expect(p, ";"));
  return rt_bind(p, NULL, tok.number, e);
}

static relay_expr *parse_sequence(rt *p, tn_vec *lets) {
  for (;;) {
    bool temporary;
    if (rt_is_name(p, "let")) TN_TRYP(parse_let(p, lets));
    else if (rt_is_name(p, "free_var")) TN_TRYP(parse_free_var(p));
    else {
      TN_TRYP(parse_temporary(p, &temporary));
      if (temporary) continue;
      relay_expr *e;
      bool more;
      TN_GETP(e, rt_expr(p));
      TN_TRYP(rt_accept(p, ";", &more));
      if (!more) return e;
      tn_RelayVar *unused;
      TN_GETP(unused, relay_var("_", NULL));
      TN_TRYP(tn_vec_push_obj(lets, unused));
      TN_TRYP(tn_vec_push_obj(lets, e));
    }
  }
}

relay_expr *rt_body(rt *p) {
  TN_VEC(lets);
  relay_expr *e;
  TN_GETP(e, parse_sequence(p, &lets));
  for (int64_t i = lets.len; i > 0; i -= 2)
    TN_GETP(e, (relay_expr *)relay_let((tn_RelayVar *)lets.items[i - 2].v.obj,
                                       lets.items[i - 1].v.obj, e));
  return e;
}

/* ---- functions ---- */

static int parse_params(rt *p, tn_vec *params, tn_map *attrs) {
  bool more = true, attribute;
  TN_TRY(rt_expect(p, "("));
  while (more && !rt_is(p, ")")) {
    tn_RelayVar *v;
    TN_TRY(at_attribute(p, &attribute));
    if (attribute) {
      TN_TRY(rt_attributes(p, attrs));
      break;
    }
    TN_GET(v, parse_binder(p));
    TN_TRY(bind_var(p, v));
    TN_TRY(tn_vec_push_obj(params, v));
    TN_TRY(rt_accept(p, ",", &more));
  }
  return rt_expect(p, ")");
}

/* Where a function's result is stands among its attributes, but is none. */
static tn_map *without_device(const tn_map *attrs) {
  tn_map *out;
  TN_GETP(out, tn_scope_own(tn_map_new()));
  for (int64_t i = 0; i < attrs->len; ++i) {
    const tn_map_entry *e = &attrs->entries[i];
    if (strcmp(tn_cstr((const tn_str *)e->key.v.obj), RT_DEVICE) != 0)
      TN_TRYP(tn_map_set(out, e->key, e->value));
  }
  return out;
}

tn_RelayFunction *rt_function(rt *p) {
  TN_VEC(params);
  tn_arr *types;
  tn_map *attrs;
  tn_Type *result = NULL;
  relay_expr *body;
  bool arrow;
  TN_GETP(types, rt_type_params(p));
  TN_GETP(attrs, tn_scope_own(tn_map_new()));
  TN_TRYP(parse_params(p, &params, attrs));
  TN_TRYP(rt_accept(p, "->", &arrow));
  if (arrow) TN_GETP(result, rt_type(p));
  TN_GETP(body, parse_braced(p));
  tn_obj *device = tn_map_find(attrs, RT_DEVICE);
  if (device) TN_GETP(attrs, without_device(attrs));
  return TN_MAKE(RelayFunction, .params = tn_arr_from(&params), .type_params = types,
                 .ret_type = result, .body = body, .virtual_device_ = device,
                 .attrs = attrs->len ? ir_attrs_new(attrs) : NULL);
}
