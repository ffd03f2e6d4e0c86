/* relay.transform.gradient: reverse-mode derivatives of any function, with branches, recursion,
   closures, references and data types.

     fn (%x) { exp(%x) }
   =>
     fn (%x) {
       let %bp = ref(fn () { () });                    what is left to do on the way back
       let %a = (%x, ref(zeros_like(%x)));             a tensor becomes a pair with its adjoint
       let %y = exp(%a.0);
       let %r = (%y, ref(zeros_like(%y)));
       let %before = %bp^;
       %bp := fn () { %a.1 := %a.1^ + %r.1^ * %y; %before() };
       %r.1 := ones_like(%r.0);
       %bp^();
       (%r.0, (%a.1^,))
     }

   Everything else stays as it is, with types in which a tensor is such a pair. The program is in
   A-normal form first, so that calls are in the order in which they are evaluated. Functions of the
   module get %bp as their first argument, under another name. The result is a function of the same
   kind: it has derivatives too. See Pearlmutter and Siskind, "Reverse-mode AD in a functional
   framework", 2008. */
#include "base/error.h"
#include "base/pmap.h"
#include "base/scope.h"
#include "base/stack.h"
#include "ir/module.h"
#include "relay/transforms/op_gradient.h"
#include "relay/infer.h"
#include "relay/relay_impl.h"
#include "relay/expr/call_builder.h"
#include "relay/expr/let_list.h"
#include "relay/expr/replace.h"
#include "relay/transforms/transforms.h"

typedef struct {
  tn_IRModule *mod; /* NULL: none */
  tn_IRModule *typed;
  tn_pmap vars;    /* id of a variable -> what stands for it */
  tn_pmap globals; /* GlobalVar -> that of the function with derivatives */
  tn_RelayVar *bp;
} maker;

static void *value(maker *m, relay_lets *l, const relay_expr *e);

/* ---- types ---- */

static tn_Type *pair_type(const void *type);

static tn_arr *pair_types(const tn_arr *types) {
  TN_VEC(v);
  for (int64_t i = 0; i < types->len; ++i)
    TN_TRYP(tn_vec_push_obj(&v, pair_type(tn_arr_obj(types, i))));
  return tn_arr_from(&v);
}

/* The type with a pair of tensor and reference for each tensor; NULL for NULL. */
static tn_Type *pair_type(const void *type) {
  tn_Type *t = (tn_Type *)(uintptr_t)type;
  const tn_FuncType *f = TN_AS(FuncType, t);
  const tn_TypeCall *c = TN_AS(TypeCall, t);
  if (TN_AS(TensorType, t))
    return (tn_Type *)relay_tuple_type(tn_arr_of(2, t, TN_NEW(RefType, .value = t)));
  if (TN_AS(TupleType, t))
    return (tn_Type *)relay_tuple_type(pair_types(((const tn_TupleType *)t)->fields));
  if (TN_AS(RefType, t))
    return (tn_Type *)TN_NEW(RefType, .value = pair_type(((const tn_RefType *)t)->value));
  if (c) return (tn_Type *)TN_NEW(TypeCall, .func = c->func, .args = pair_types(c->args));
  if (!f) return t;
  return (tn_Type *)TN_NEW(
      FuncType, .type_params = f->type_params, .arg_types = pair_types(f->arg_types),
      .ret_type = pair_type(f->ret_type), .type_constraints = f->type_constraints);
}

static tn_Type *back_type(void) {
  tn_Type *unit = (tn_Type *)relay_tuple_type(tn_arr_of(0));
  tn_Type *f = (tn_Type *)TN_NEW(FuncType, .type_params = tn_arr_of(0), .arg_types = tn_arr_of(0),
                                 .ret_type = unit, .type_constraints = tn_arr_of(0));
  return unit && f ? (tn_Type *)TN_NEW(RefType, .value = f) : NULL;
}

/* ---- pairs ---- */

typedef void *(*part_fn)(void *pair);

static void *zero_ref(void *e) {
  void *zero = e ? relay_call("zeros_like", NULL, 1, e) : NULL;
  return zero ? TN_NEW(RefCreate, .value = zero) : NULL;
}
static void *new_pair(void *e) { return e ? relay_tuple(tn_arr_of(2, e, zero_ref(e))) : NULL; }
static void *primal(void *pair) { return pair ? relay_get_item(pair, 0) : NULL; }
static void *adjoint_ref(void *pair) { return pair ? relay_get_item(pair, 1) : NULL; }
static void *read_ref(void *ref) { return ref ? TN_NEW(RefRead, .ref = ref) : NULL; }
static void *adjoint(void *pair) { return read_ref(adjoint_ref(pair)); }

/* `part` of a value of the type, for each tensor in it. */
static void *parts(void *e, const tn_Type *type, part_fn part) {
  const tn_TupleType *tuple = TN_AS(TupleType, type);
  TN_VEC(v);
  if (!e) return NULL;
  if (TN_AS(TensorType, type)) return part(e);
  TN_CHECKP(tuple, ValueError, NULL, "gradient: expected tensors or tuples of tensors, got a %s",
            type ? tn_obj_key(type) : "value of unknown type");
  for (int64_t i = 0; i < tuple->fields->len; ++i)
    TN_TRYP(tn_vec_push_obj(
        &v, parts(relay_get_item(e, i), (const tn_Type *)tn_arr_obj(tuple->fields, i), part)));
  return relay_tuple(tn_arr_from(&v));
}

static int write_ref(relay_lets *l, void *ref, void *e) {
  void *w = ref && e ? TN_NEW(RefWrite, .ref = ref, .value = e) : NULL;
  return w && relay_lets_bind(l, w, NULL) ? 0 : -1;
}

/* Adds to the adjoints of a pair. @param d an expression of the type */
static int add_adjoint(relay_lets *l, void *pair, const tn_Type *type, void *d) {
  const tn_TupleType *tuple = TN_AS(TupleType, type);
  if (!relay_is_differentiable(type)) return 0;
  if (!pair || !d) return -1;
  if (!tuple) return write_ref(l, adjoint_ref(pair), relay_binary("add", adjoint(pair), d));
  TN_GET(d, relay_lets_bind(l, d, NULL));
  for (int64_t i = 0; i < tuple->fields->len; ++i)
    TN_TRY(add_adjoint(l, relay_get_item(pair, i), (const tn_Type *)tn_arr_obj(tuple->fields, i),
                       relay_get_item(d, i)));
  return 0;
}

/* ---- operators ---- */

/* What remains to be done is this, then what remained before. */
static void *way_back(relay_grad g, const tn_arr *pairs, const tn_RelayCall *call, void *before) {
  relay_lets l = {0};
  g.d = relay_lets_bind(&l, g.d, relay_type_of(call));
  tn_arr *all = g.d ? relay_op_gradient(&g) : NULL;
  int err = all ? 0 : -1;
  for (int64_t i = 0; !err && i < pairs->len; ++i)
    if (tn_arr_obj(all, i))
      err = add_adjoint(&l, tn_arr_obj(pairs, i), relay_type_of(relay_arg(call, i)),
                        tn_arr_obj(all, i));
  void *body = err ? NULL : relay_lets_around(&l, relay_call_new(before, tn_arr_of(0), NULL));
  relay_lets_fini(&l);
  return body ? relay_function(tn_arr_of(0), body, (tn_Type *)relay_tuple_type(tn_arr_of(0)), NULL)
              : NULL;
}

/* `call` with pairs for arguments: a pair, and more to do on the way back. */
static void *op_call(maker *m, relay_lets *l, const tn_RelayCall *call) {
  tn_Type *type = relay_type_of(call);
  bool active = false;
  TN_VEC(pairs);
  TN_VEC(primals);
  for (int64_t i = 0; i < call->args->len; ++i) {
    const relay_expr *arg = relay_arg(call, i);
    void *pair, *x;
    TN_GETP(pair, value(m, l, arg));
    TN_GETP(x, relay_lets_bind(l, parts(pair, relay_type_of(arg), primal), relay_type_of(arg)));
    TN_TRYP(tn_vec_push_obj(&pairs, pair));
    TN_TRYP(tn_vec_push_obj(&primals, x));
    active |= relay_is_differentiable(relay_type_of(arg));
  }
  relay_grad g;
  tn_RelayCall *again;
  void *result, *before, *back;
  TN_GETP(again, relay_call_new(call->op, tn_arr_from(&primals), call->attrs));
  relay_stands_for(again, call);
  g.call = again;
  TN_GETP(g.y, relay_lets_bind(l, again, type));
  TN_GETP(result, relay_lets_bind(l, parts(g.y, type, new_pair), NULL));
  if (!active || !relay_is_differentiable(type)) return result;
  TN_GETP(g.d, parts(result, type, adjoint));
  TN_GETP(before, relay_lets_bind(l, read_ref(m->bp), NULL));
  TN_GETP(back, way_back(g, tn_arr_from(&pairs), call, before));
  return write_ref(l, m->bp, back) ? NULL : result;
}

/* ---- functions ---- */

static int set_var(maker *m, const tn_RelayVar *v, void *e, tn_vec *before) {
  void *was = tn_pmap_get(&m->vars, v->vid);
  TN_TRY(tn_vec_push_obj(before, was));
  return tn_pmap_put(&m->vars, v->vid, e);
}

/* Parameters mean what they did outside again: a variable may be bound by several functions. */
static int restore_vars(maker *m, const tn_arr *vars, const tn_vec *before) {
  for (int64_t i = 0; i < vars->len; ++i)
    TN_TRY(
        tn_pmap_put(&m->vars, ((tn_RelayVar *)tn_arr_obj(vars, i))->vid, before->items[i].v.obj));
  return 0;
}

/* @param extra one more parameter, before the others, or NULL */
static tn_RelayFunction *function(maker *m, const tn_RelayFunction *f, tn_RelayVar *extra) {
  relay_lets l = {0};
  TN_VEC(params);
  TN_VEC(before);
  TN_CHECKP(!ir_attrs_flag(f->attrs, "Primitive"), ValueError, f->span,
            "gradient: the function is a kernel already: take derivatives before FuseOps");
  if (extra) TN_TRYP(tn_vec_push_obj(&params, extra));
  for (int64_t i = 0; i < f->params->len; ++i) {
    const tn_RelayVar *v = (const tn_RelayVar *)tn_arr_obj(f->params, i);
    const tn_Type *type = relay_type_of(v) ? relay_type_of(v) : v->type_annotation;
    tn_RelayVar *p;
    TN_GETP(p, relay_var(tn_cstr(v->vid->name_hint), pair_type(type)));
    TN_TRYP(set_var(m, v, p, &before));
    TN_TRYP(tn_vec_push_obj(&params, p));
  }
  void *e = value(m, &l, f->body);
  void *body = e ? relay_lets_around(&l, e) : NULL;
  relay_lets_fini(&l);
  if (!body || restore_vars(m, f->params, &before)) return NULL;
  const tn_Type *ret = f->ret_type ? f->ret_type : relay_type_of(f->body);
  return relay_function(tn_arr_from(&params), body, pair_type(ret), NULL);
}

/* NAME_grad; with a number where the module has a function of that name. */
static tn_str *free_name(const maker *m, const char *name) {
  tn_str *text = tn_str_fmt("%s_grad", name);
  for (int64_t i = 1; text && ir_module_find_var(m->mod, tn_cstr(text)); ++i)
    text = tn_str_fmt("%s_grad_%lld", name, (long long)i);
  return text;
}

/* The function with derivatives that belongs to a function of the module. */
static tn_GlobalVar *global(maker *m, const tn_GlobalVar *v) {
  tn_GlobalVar *known = tn_pmap_get(&m->globals, v), *made, *typed_var;
  tn_BaseFunc *f;
  tn_str *name;
  if (known) return known;
  TN_CHECKP(m->mod, ValueError, NULL, "gradient: @%s is called, but no module was given",
            tn_cstr(v->name_hint));
  TN_GETP(name, free_name(m, tn_cstr(v->name_hint)));
  TN_GETP(made, ir_global_var(tn_cstr(name)));
  TN_TRYP(tn_pmap_put(&m->globals, v, made));
  TN_GETP(typed_var, ir_module_var(m->typed, tn_cstr(v->name_hint)));
  TN_GETP(f, ir_module_lookup(m->typed, typed_var));
  TN_CHECKP(TN_AS(RelayFunction, f), TypeError, NULL, "gradient: @%s is a %s",
            tn_cstr(v->name_hint), tn_obj_key(f));
  tn_RelayVar *outer = m->bp;
  tn_pass_ctx none = {0};
  TN_GETP(f, (tn_BaseFunc *)relay_to_a_normal_form((tn_RelayFunction *)f, &none));
  TN_GETP(m->bp, relay_var("bp", back_type()));
  TN_GETP(f, (tn_BaseFunc *)function(m, (tn_RelayFunction *)f, m->bp));
  m->bp = outer;
  return ir_module_add(m->mod, made, f, false) ? NULL : made;
}

/* A function of the module as a value: called with %bp. */
static void *global_value(maker *m, const tn_GlobalVar *v) {
  const tn_FuncType *t = TN_AS(FuncType, relay_type_of(v));
  tn_GlobalVar *made;
  TN_VEC(params);
  TN_VEC(args);
  TN_GETP(made, global(m, v));
  TN_CHECKP(t, ValueError, NULL, "gradient: the type of @%s is not known", tn_cstr(v->name_hint));
  TN_TRYP(tn_vec_push_obj(&args, m->bp));
  for (int64_t i = 0; i < t->arg_types->len; ++i) {
    tn_RelayVar *p;
    TN_GETP(p, relay_var("p", pair_type(tn_arr_obj(t->arg_types, i))));
    TN_TRYP(tn_vec_push_obj(&params, p));
    TN_TRYP(tn_vec_push_obj(&args, p));
  }
  void *body = relay_call_new(made, tn_arr_from(&args), NULL);
  return body ? relay_function(tn_arr_from(&params), body, pair_type(t->ret_type), NULL) : NULL;
}

static void *function_call(maker *m, relay_lets *l, const tn_RelayCall *c) {
  const tn_GlobalVar *v = TN_AS(GlobalVar, c->op);
  void *f, *e;
  TN_VEC(args);
  if (TN_AS(Op, c->op)) return op_call(m, l, c);
  if (v) TN_TRYP(tn_vec_push_obj(&args, m->bp));
  for (int64_t i = 0; i < c->args->len; ++i) {
    TN_GETP(e, value(m, l, relay_arg(c, i)));
    TN_TRYP(tn_vec_push_obj(&args, e));
  }
  if (v) TN_GETP(f, global(m, v));
  else TN_GETP(f, value(m, l, (const relay_expr *)c->op));
  return relay_call_new(f, tn_arr_from(&args), c->attrs);
}

/* ---- other expressions ---- */

/* A scope of its own. */
static void *block(maker *m, const relay_expr *e) {
  relay_lets l = {0};
  void *r = value(m, &l, e);
  if (r) r = relay_lets_around(&l, r);
  relay_lets_fini(&l);
  return r;
}

static void *lets(maker *m, relay_lets *l, const relay_expr *e) {
  const tn_RelayLet *let;
  while ((let = TN_AS(RelayLet, e)) != NULL) {
    const tn_RelayFunction *f = TN_AS(RelayFunction, let->value);
    tn_RelayVar *v;
    void *bound;
    TN_GETP(v,
            relay_var(tn_cstr(let->var->vid->name_hint), f ? pair_type(relay_type_of(f)) : NULL));
    if (f) TN_TRYP(tn_pmap_put(&m->vars, let->var->vid, v)); /* it may call itself */
    TN_GETP(bound, value(m, l, let->value));
    TN_TRYP(tn_pmap_put(&m->vars, let->var->vid, v));
    TN_TRYP(relay_lets_put(l, v, bound));
    e = let->body;
  }
  return value(m, l, e);
}

static void *tuple(maker *m, relay_lets *l, const tn_RelayTuple *t) {
  TN_VEC(v);
  for (int64_t i = 0; i < t->fields->len; ++i) {
    void *e;
    TN_GETP(e, value(m, l, (const relay_expr *)tn_arr_obj(t->fields, i)));
    TN_TRYP(tn_vec_push_obj(&v, e));
  }
  return relay_tuple(tn_arr_from(&v));
}

static tn_obj *pattern(maker *m, tn_obj *p) {
  const tn_PatternVar *var = TN_AS(PatternVar, p);
  const tn_PatternConstructor *c = TN_AS(PatternConstructor, p);
  const tn_PatternTuple *t = TN_AS(PatternTuple, p);
  tn_arr *inner;
  TN_VEC(v);
  if (var) {
    tn_RelayVar *x;
    TN_GETP(x, relay_var(tn_cstr(var->var->vid->name_hint), NULL));
    TN_TRYP(tn_pmap_put(&m->vars, var->var->vid, x));
    return (tn_obj *)TN_NEW(PatternVar, .var = x);
  }
  if (!c && !t) return p;
  const tn_arr *all = c ? c->patterns : t->patterns;
  for (int64_t i = 0; i < all->len; ++i)
    TN_TRYP(tn_vec_push_obj(&v, pattern(m, tn_arr_obj(all, i))));
  TN_GETP(inner, tn_arr_from(&v));
  return c ? (tn_obj *)TN_NEW(PatternConstructor, .constructor = c->constructor, .patterns = inner)
           : (tn_obj *)TN_NEW(PatternTuple, .patterns = inner);
}

static void *match(maker *m, relay_lets *l, const tn_Match *e) {
  void *data;
  TN_VEC(v);
  TN_GETP(data, value(m, l, e->data));
  for (int64_t i = 0; i < e->clauses->len; ++i) {
    const tn_Clause *c = (const tn_Clause *)tn_arr_obj(e->clauses, i);
    tn_obj *p;
    void *r;
    TN_GETP(p, pattern(m, (tn_obj *)c->lhs));
    TN_GETP(r, block(m, c->rhs));
    TN_TRYP(tn_vec_push_obj(&v, TN_NEW(Clause, .lhs = (tn_Pattern *)p, .rhs = r)));
  }
  return TN_NEW(Match, .data = data, .clauses = tn_arr_from(&v), .complete = e->complete);
}

static void *choice(maker *m, relay_lets *l, const tn_RelayIf *e) {
  void *cond, *yes, *no;
  TN_GETP(cond, value(m, l, e->cond));
  TN_GETP(yes, block(m, e->true_branch));
  TN_GETP(no, block(m, e->false_branch));
  return relay_if(primal(cond), yes, no);
}

static void *reference(maker *m, relay_lets *l, const relay_expr *e) {
  const tn_RefCreate *c = TN_AS(RefCreate, e);
  const tn_RefRead *r = TN_AS(RefRead, e);
  const tn_RefWrite *w = TN_AS(RefWrite, e);
  void *a = value(m, l, c ? c->value : r ? r->ref : w->ref), *b;
  if (!a) return NULL;
  if (c) return TN_NEW(RefCreate, .value = a);
  if (r) return TN_NEW(RefRead, .ref = a);
  TN_GETP(b, value(m, l, w->value));
  return TN_NEW(RefWrite, .ref = a, .value = b);
}

static void *variable(maker *m, const tn_RelayVar *v) {
  void *e = tn_pmap_get(&m->vars, v->vid);
  return e ? e
           : TN_RAISEP(ValueError, v->span, "gradient: %%%s is not bound in the function",
                       tn_cstr(v->vid->name_hint));
}

static void *value(maker *m, relay_lets *l, const relay_expr *e) {
  TN_TRYP(tn_stack_check("the program"));
  switch (e->hdr.type_index) {
  case TN_TI_RelayLet: return lets(m, l, e);
  case TN_TI_RelayVar: return variable(m, (const tn_RelayVar *)e);
  case TN_TI_GlobalVar: return global_value(m, (const tn_GlobalVar *)e);
  case TN_TI_Constant: return relay_lets_bind(l, new_pair((void *)(uintptr_t)e), NULL);
  case TN_TI_RelayCall: return function_call(m, l, (const tn_RelayCall *)e);
  case TN_TI_RelayTuple: return tuple(m, l, (const tn_RelayTuple *)e);
  case TN_TI_TupleGetItem: {
    const tn_TupleGetItem *g = (const tn_TupleGetItem *)e;
    void *t = value(m, l, g->tuple_value);
    return t ? relay_get_item(t, g->index) : NULL;
  }
  case TN_TI_RelayFunction: return function(m, (const tn_RelayFunction *)e, NULL);
  case TN_TI_RelayIf: return choice(m, l, (const tn_RelayIf *)e);
  case TN_TI_Match: return match(m, l, (const tn_Match *)e);
  case TN_TI_RefCreate:
  case TN_TI_RefRead:
  case TN_TI_RefWrite: return reference(m, l, e);
  case TN_TI_Constructor: return (void *)(uintptr_t)e;
  default:
    return TN_RAISEP(ValueError, e->span, "gradient: %s as a value has no derivative",
                     tn_obj_key(e));
  }
}

/* ---- all of it ---- */

/* The adjoint of a result is 1. */
static int start_back(relay_lets *l, void *pair, const tn_Type *type) {
  const tn_TupleType *t = TN_AS(TupleType, type);
  if (!pair) return -1;
  if (!relay_is_differentiable(type)) return 0;
  if (!t) return write_ref(l, adjoint_ref(pair), relay_call("ones_like", NULL, 1, primal(pair)));
  for (int64_t i = 0; i < t->fields->len; ++i)
    TN_TRY(start_back(l, relay_get_item(pair, i), (const tn_Type *)tn_arr_obj(t->fields, i)));
  return 0;
}

static void *body_of(maker *m, relay_lets *l, const tn_RelayFunction *f) {
  const tn_Type *type = relay_type_of(f->body);
  void *nothing, *result;
  tn_RelayTuple *all;
  TN_VEC(pairs);
  TN_VEC(derivatives);
  TN_GETP(nothing, relay_function(tn_arr_of(0), relay_tuple(tn_arr_of(0)),
                                  (tn_Type *)relay_tuple_type(tn_arr_of(0)), NULL));
  TN_GETP(m->bp, relay_lets_bind(l, TN_NEW(RefCreate, .value = nothing), NULL));
  for (int64_t i = 0; i < f->params->len; ++i) {
    tn_RelayVar *v = (tn_RelayVar *)tn_arr_obj(f->params, i);
    void *pair;
    TN_GETP(pair, relay_lets_bind(l, parts(v, relay_type_of(v), new_pair), NULL));
    TN_TRYP(tn_pmap_put(&m->vars, v->vid, pair));
    TN_TRYP(tn_vec_push_obj(&pairs, pair));
  }
  TN_GETP(result, relay_lets_bind(l, block(m, f->body), NULL));
  TN_TRYP(start_back(l, result, type));
  TN_GETP(nothing, relay_call_new(read_ref(m->bp), tn_arr_of(0), NULL));
  TN_GETP(nothing, relay_lets_bind(l, nothing, NULL));
  for (int64_t i = 0; i < pairs.len; ++i)
    TN_TRYP(tn_vec_push_obj(&derivatives, parts(pairs.items[i].v.obj,
                                                relay_type_of(tn_arr_obj(f->params, i)), adjoint)));
  TN_GETP(all, relay_tuple(tn_arr_from(&derivatives)));
  TN_GETP(result, parts(result, type, primal));
  return relay_lets_around(l, relay_tuple(tn_arr_of(2, result, all)));
}

static tn_RelayFunction *gradient(maker *m, const relay_expr *e) {
  relay_lets l = {0};
  const tn_GlobalVar *v = TN_AS(GlobalVar, e);
  tn_pass_ctx none = {0};
  if (m->mod) TN_GETP(m->typed, relay_infer_module(m->mod));
  if (v && m->mod) {
    TN_GETP(v, ir_module_var(m->typed, tn_cstr(v->name_hint)));
    TN_GETP(e, (relay_expr *)ir_module_lookup(m->typed, v));
  }
  TN_CHECKP(!v || m->mod, ValueError, NULL, "gradient: @%s is called, but no module was given",
            tn_cstr(((const tn_GlobalVar *)e)->name_hint));
  tn_RelayFunction *f = TN_AS(RelayFunction, e);
  TN_CHECKP(f, TypeError, NULL, "gradient: expected a function, got %s", tn_obj_key(e));
  TN_CHECKP(f->type_params->len == 0, ValueError, f->span,
            "gradient: the function has type parameters");
  TN_GETP(f, relay_infer_expr(f, m->typed));
  TN_GETP(f, relay_to_a_normal_form(f, &none));
  void *body = body_of(m, &l, f);
  relay_lets_fini(&l);
  return body ? relay_function(f->params, body, NULL, f->attrs) : NULL;
}

/* (function or global variable, module or None) -> function */
static int api_gradient(TN_ARGS) {
  TN_NARGS("gradient", 2);
  TN_ARG_OBJ(RelayExpr, e, 0);
  TN_ARG_OPT(IRModule, mod, 1);
  maker m = {.mod = mod};
  tn_RelayFunction *r = gradient(&m, e);
  tn_pmap_fini(&m.vars);
  tn_pmap_fini(&m.globals);
  return tn_ret_obj(ret, r);
}

static const tn_func_row rows[] = {{"relay._transform.gradient", api_gradient}};

int relay_gradient_init(void) { return tn_func_register_rows(rows, TN_COUNT(rows)); }
