/* to_cps: a function in continuation passing style. Every function takes one argument more, which it
   calls with its result instead of returning it.

     fn (%x: Tensor[(2), float32]) { %f(%x) + 1f }
   =>
     fn <answer>(%x: Tensor[(2), float32], %k: fn (Tensor[(2), float32]) -> answer) -> answer {
       %f(%x, fn (%y: Tensor[(2), float32]) -> answer { let %z = %y + 1f; %k(%z) })
     }

   Calls of operators, constructors and kernels return as before. Functions of the module that are
   called get a sibling NAME_cps in this style. A call in tail position hands the continuation on,
   and branches that do not end a function share one under a name.

   un_cps goes back at the boundary: a function without the additional argument that calls the other
   one with the identity.

   The work is done on A normal form, so that what follows a call is the rest of a chain of lets;
   recursion is over nested functions and branches only. */
#include "base/error.h"
#include "base/scope.h"
#include "base/stack.h"
#include "ir/module.h"
#include "relay/analysis/analysis.h"
#include "relay/infer.h"
#include "relay/relay_impl.h"
#include "relay/expr/expr_info.h"
#include "relay/transforms/transforms.h"

typedef struct {
  tn_IRModule *from, *to; /* typed and in A normal form; where siblings go, NULL: nowhere */
  const tn_TypeVar *answer;
  tn_pmap vars;     /* Id -> the variable in its place */
  tn_map *siblings; /* name -> GlobalVar */
  tn_vec todo;      /* GlobalVars whose siblings are still to be made */
} cps;

/* ---- types ---- */

/* The type of functions that take a value of type `t` and give the answer. */
static tn_Type *continuation(const cps *x, const tn_Type *t) {
  return (tn_Type *)TN_MAKE(FuncType, .type_params = tn_arr_of(0), .arg_types = tn_arr_of(1, t),
                            .ret_type = (tn_Type *)(uintptr_t)x->answer,
                            .type_constraints = tn_arr_of(0));
}

static tn_obj *with_continuation(const cps *x, const tn_FuncType *f) {
  tn_FuncType made = *f;
  tn_Type *then;
  TN_VEC(args);
  for (int64_t i = 0; i < f->arg_types->len; ++i)
    TN_TRYP(tn_vec_push(&args, f->arg_types->items[i]));
  TN_GETP(then, continuation(x, f->ret_type));
  TN_TRYP(tn_vec_push_obj(&args, then));
  TN_GETP(made.arg_types, tn_arr_from(&args));
  made.ret_type = (tn_Type *)(uintptr_t)x->answer;
  return tn_node_copy(&tn_type_FuncType, &made);
}

static tn_obj *cps_part(void *ctx, tn_obj *o) {
  tn_obj *f;
  TN_TRYP(tn_stack_check("a type"));
  switch (o->type_index) {
  case TN_TI_Array:
  case TN_TI_TupleType:
  case TN_TI_RefType:
  case TN_TI_TypeCall: return tn_map_children(o, cps_part, ctx);
  case TN_TI_FuncType:
    TN_GETP(f, tn_map_children(o, cps_part, ctx));
    return with_continuation(ctx, (const tn_FuncType *)f);
  default: return o;
  }
}

static tn_Type *cps_type(cps *x, const tn_Type *t) {
  return (tn_Type *)cps_part(x, (tn_obj *)(uintptr_t)t);
}

/* ---- values ---- */

static tn_RelayVar *var_for(cps *x, const tn_RelayVar *v) {
  tn_RelayVar *known = tn_pmap_get(&x->vars, v->vid);
  const tn_Type *t = relay_type_of(v) ? relay_type_of(v) : v->type_annotation;
  tn_Type *own = NULL;
  if (known) return known;
  if (t) TN_GETP(own, cps_type(x, t));
  TN_GETP(known, relay_var(tn_cstr(v->vid->name_hint), own));
  TN_TRYP(tn_pmap_put(&x->vars, v->vid, known));
  return known;
}

static const tn_BaseFunc *function_named(const cps *x, const tn_GlobalVar *v) {
  return ir_module_find_var(x->from, tn_cstr(v->name_hint)) ? ir_module_lookup(x->from, v) : NULL;
}

/* Does a call of it return its result? */
static bool returns(const cps *x, const tn_obj *callee) {
  const tn_GlobalVar *global = TN_AS(GlobalVar, callee);
  const tn_obj *f = global ? (const tn_obj *)function_named(x, global) : callee;
  if (TN_AS(Op, callee) || TN_AS(Constructor, callee)) return true;
  const tn_RelayFunction *own = TN_AS(RelayFunction, f);
  return (own && relay_is_kernel(own)) || (global && f && !own);
}

static tn_GlobalVar *sibling(cps *x, const tn_GlobalVar *v) {
  const char *name = tn_cstr(v->name_hint);
  tn_GlobalVar *made = (tn_GlobalVar *)tn_map_find(x->siblings, name);
  if (made) return made;
  TN_CHECKP(x->to && function_named(x, v), ValueError, v->span,
            "to_cps: the module that has the function @%s is expected as the second argument",
            name);
  tn_str *own;
  TN_GETP(own, tn_str_fmt("%s_cps", name));
  while (ir_module_find_var(x->to, tn_cstr(own))) TN_GETP(own, tn_str_fmt("%s_", tn_cstr(own)));
  TN_GETP(made, ir_global_var(tn_cstr(own)));
  TN_TRYP(tn_map_set(x->siblings, tn_any_obj(v->name_hint), tn_any_obj(made)));
  TN_TRYP(tn_vec_push_obj(&x->todo, v));
  return made;
}

static tn_obj *new_var(void *ctx, tn_obj *pre, tn_obj *post) {
  tn_RelayVar *v = tn_pmap_get(&((cps *)ctx)->vars, ((const tn_RelayVar *)pre)->vid);
  return v ? (tn_obj *)v : post;
}

static tn_obj *new_global(void *ctx, tn_obj *pre, tn_obj *post) {
  return returns(ctx, pre) ? post : (tn_obj *)sibling(ctx, (const tn_GlobalVar *)pre);
}

/* A value that is computed at once. */
static void *value(cps *x, const void *e) {
  static const tn_rewrite_case cases[] = {
      TN_REWRITE(RelayVar, new_var),
      TN_REWRITE(GlobalVar, new_global),
  };
  return tn_rewrite(e, cases, TN_COUNT(cases), x);
}

/* ---- functions ---- */

static void *block(cps *x, const relay_expr *e, tn_RelayVar *k);

static tn_RelayFunction *function(cps *x, const tn_RelayFunction *f, const tn_TypeVar *answer) {
  TN_VEC(params);
  TN_VEC(types);
  tn_Type *result, *then;
  tn_RelayVar *k;
  tn_arr *all;
  void *body;
  const tn_Type *given = relay_type_of(f->body) ? relay_type_of(f->body) : f->ret_type;
  TN_CHECKP(given, TypeError, f->span, "to_cps: the type of a function's result is not known");
  if (answer) TN_TRYP(tn_vec_push_obj(&types, answer));
  for (int64_t i = 0; i < f->type_params->len; ++i)
    TN_TRYP(tn_vec_push(&types, f->type_params->items[i]));
  for (int64_t i = 0; i < f->params->len; ++i)
    TN_TRYP(tn_vec_push_obj(&params, var_for(x, (const tn_RelayVar *)tn_arr_obj(f->params, i))));
  TN_GETP(result, cps_type(x, given));
  TN_GETP(then, continuation(x, result));
  TN_GETP(k, relay_var("k", then));
  TN_TRYP(tn_vec_push_obj(&params, k));
  TN_GETP(all, tn_arr_from(&params));
  TN_GETP(body, block(x, f->body, k));
  return TN_MAKE(RelayFunction, .params = all, .type_params = tn_arr_from(&types), .body = body,
                 .ret_type = (tn_Type *)(uintptr_t)x->answer, .attrs = f->attrs);
}

/* What is done with the value of `var`: `rest`. A call of k with it: k itself. */
static void *after(const cps *x, tn_RelayVar *var, void *rest, tn_RelayVar *k) {
  const tn_RelayCall *c = TN_AS(RelayCall, rest);
  tn_arr *params;
  if (c && (void *)c->op == (void *)k && c->args->len == 1 && relay_arg(c, 0) == (void *)var)
    return k;
  TN_GETP(params, tn_arr_of(1, var));
  return relay_function(params, rest, (tn_Type *)(uintptr_t)x->answer, NULL);
}

static void *call(cps *x, const tn_RelayCall *c, void *then) {
  TN_VEC(args);
  void *op;
  for (int64_t i = 0; i < c->args->len; ++i)
    TN_TRYP(tn_vec_push_obj(&args, value(x, relay_arg(c, i))));
  TN_TRYP(tn_vec_push_obj(&args, then));
  TN_GETP(op, value(x, c->op));
  return relay_call_new(op, tn_arr_from(&args), c->attrs);
}

static void *choice(cps *x, const relay_expr *e, tn_RelayVar *k) {
  const tn_RelayIf *branch = TN_AS(RelayIf, e);
  if (branch) {
    void *cond, *t, *f;
    TN_GETP(cond, value(x, branch->cond));
    TN_GETP(t, block(x, branch->true_branch, k));
    TN_GETP(f, block(x, branch->false_branch, k));
    return relay_if(cond, t, f);
  }
  tn_Match made = *(const tn_Match *)e;
  TN_VEC(clauses);
  TN_GETP(made.data, value(x, made.data));
  for (int64_t i = 0; i < made.clauses->len; ++i) {
    tn_Clause c = *(const tn_Clause *)tn_arr_obj(made.clauses, i);
    TN_GETP(c.rhs, block(x, c.rhs, k));
    TN_TRYP(tn_vec_push_obj(&clauses, tn_node_copy(&tn_type_Clause, &c)));
  }
  TN_GETP(made.clauses, tn_arr_from(&clauses));
  made._checked_type_ = NULL;
  return tn_node_copy(&tn_type_Match, &made);
}

/* Both ways go on with what follows, which gets a name where it is more than k. */
static void *join(cps *x, const relay_expr *e, void *then) {
  tn_RelayVar *k = TN_AS(RelayVar, then), *name;
  if (k) return choice(x, e, k);
  void *made;
  TN_GETP(name, relay_var("join", NULL));
  TN_GETP(made, choice(x, e, name));
  return relay_let(name, then, made);
}

/* let var = e; rest */
static void *bound(cps *x, tn_RelayVar *var, const relay_expr *e, void *rest, tn_RelayVar *k) {
  const tn_RelayCall *c = TN_AS(RelayCall, e);
  const tn_RelayFunction *f = TN_AS(RelayFunction, e);
  void *then;
  bool branches = TN_AS(RelayIf, e) || TN_AS(Match, e);
  if (branches || (c && !returns(x, (const tn_obj *)c->op))) {
    TN_GETP(then, after(x, var, rest, k));
    return branches ? join(x, e, then) : call(x, c, then);
  }
  TN_GETP(then, f && !relay_is_kernel(f) ? (void *)function(x, f, NULL) : value(x, e));
  return relay_let(var, then, rest);
}

/* The value of a chain of lets is handed to k. */
static void *block(cps *x, const relay_expr *e, tn_RelayVar *k) {
  TN_VEC(vars);
  TN_VEC(values);
  const tn_RelayLet *l;
  tn_arr *result;
  void *made;
  TN_TRYP(tn_stack_check("a function"));
  for (; (l = TN_AS(RelayLet, e)) != NULL; e = (const relay_expr *)l->body) {
    TN_TRYP(tn_vec_push_obj(&vars, var_for(x, l->var)));
    TN_TRYP(tn_vec_push_obj(&values, l->value));
  }
  TN_GETP(result, tn_arr_of(1, value(x, e)));
  TN_GETP(made, relay_call_new(k, result, NULL));
  for (int64_t i = vars.len - 1; i >= 0 && made; --i)
    made = bound(x, (tn_RelayVar *)vars.items[i].v.obj, (const relay_expr *)values.items[i].v.obj,
                 made, k);
  return made;
}

/* ---- modules ---- */

static tn_RelayFunction *converted(cps *x, const tn_RelayFunction *f) {
  TN_GETP(x->answer, TN_MAKE(TypeVar, .name_hint = tn_str_from("answer")));
  tn_pmap_fini(&x->vars);
  x->vars = (tn_pmap){0};
  return function(x, f, x->answer);
}

static int add_siblings(cps *x) {
  for (int64_t i = 0; i < x->todo.len; ++i) {
    const tn_GlobalVar *v = (const tn_GlobalVar *)x->todo.items[i].v.obj;
    tn_RelayFunction *f;
    TN_GET(f, converted(x, (const tn_RelayFunction *)function_named(x, v)));
    TN_TRY(ir_module_add(x->to, sibling(x, v), (tn_BaseFunc *)f, false));
  }
  return 0;
}

static const char entry[] = "to_cps.function";

static tn_RelayFunction *to_cps(tn_RelayFunction *f, tn_IRModule *m) {
  cps x = {.to = m};
  tn_map *functions;
  tn_GlobalVar *main = NULL;
  TN_GETP(x.siblings, tn_scope_own(tn_map_new()));
  if (m) {
    TN_GETP(main, ir_global_var(entry));
    TN_GETP(functions, tn_map_with(m->functions, tn_any_obj(main), tn_any_obj(f)));
    TN_GETP(x.from, ir_module_with_functions(m, functions));
  } else TN_GETP(x.from, relay_module_from_expr(f, NULL, NULL));
  TN_GETP(x.from, relay_infer_module(x.from));
  TN_GETP(x.from, relay_run_pass("ToANormalForm", x.from, NULL));
  if (!m) TN_GETP(main, ir_module_var(x.from, "main"));
  const tn_RelayFunction *typed = (const tn_RelayFunction *)function_named(&x, main);
  tn_RelayFunction *made = typed ? converted(&x, typed) : NULL;
  if (made && add_siblings(&x)) made = NULL;
  tn_pmap_fini(&x.vars);
  tn_vec_fini(&x.todo);
  return made;
}

/* ---- back ---- */

static bool has_type_var(const tn_RelayFunction *f, const tn_Type *t) {
  for (int64_t i = 0; i < f->type_params->len; ++i)
    if (tn_arr_obj(f->type_params, i) == (const tn_obj *)t) return true;
  return false;
}

static tn_RelayFunction *identity(tn_Type *t) {
  tn_RelayVar *x = relay_var("x", t);
  return x ? relay_function(tn_arr_of(1, x), x, t, NULL) : NULL;
}

static tn_RelayFunction *un_cps(const tn_RelayFunction *f) {
  const tn_RelayVar *k =
      f->params->len ? (const tn_RelayVar *)tn_arr_obj(f->params, f->params->len - 1) : NULL;
  const tn_FuncType *then = k ? TN_AS(FuncType, k->type_annotation) : NULL;
  TN_CHECKP(then && then->arg_types->len == 1 && has_type_var(f, then->ret_type), ValueError,
            f->span,
            "un_cps: expected a function whose last argument takes its result, as to_cps makes it");
  tn_Type *result = (tn_Type *)tn_arr_obj(then->arg_types, 0);
  TN_PMAP(answer);
  TN_VEC(params);
  TN_VEC(args);
  TN_VEC(types);
  TN_TRYP(tn_pmap_put(&answer, then->ret_type, result));
  for (int64_t i = 0; i + 1 < f->params->len; ++i) {
    const tn_RelayVar *v = (const tn_RelayVar *)tn_arr_obj(f->params, i);
    tn_Type *t = NULL;
    if (v->type_annotation) TN_GETP(t, relay_type_bind(v->type_annotation, &answer));
    TN_TRYP(tn_vec_push_obj(&params, relay_var(tn_cstr(v->vid->name_hint), t)));
    TN_TRYP(tn_vec_push(&args, params.items[i]));
  }
  for (int64_t i = 0; i < f->type_params->len; ++i)
    if (tn_arr_obj(f->type_params, i) != (const tn_obj *)then->ret_type)
      TN_TRYP(tn_vec_push(&types, f->type_params->items[i]));
  TN_TRYP(tn_vec_push_obj(&args, identity(result)));
  void *body;
  TN_GETP(body, relay_call_new((void *)(uintptr_t)f, tn_arr_from(&args), NULL));
  return TN_MAKE(RelayFunction, .params = tn_arr_from(&params), .type_params = tn_arr_from(&types),
                 .body = body, .ret_type = result);
}

/* (function, module or None) -> function */
static int api_to_cps(TN_ARGS) {
  TN_NARGS("to_cps", 2);
  TN_ARG_OBJ(RelayFunction, f, 0);
  TN_ARG_OPT(IRModule, m, 1);
  return tn_ret_obj(ret, to_cps(f, m));
}

static int api_un_cps(TN_ARGS) {
  TN_NARGS("un_cps", 1);
  TN_ARG_OBJ(RelayFunction, f, 0);
  return tn_ret_obj(ret, un_cps(f));
}

static const tn_func_row rows[] = {
    {"relay._transform.to_cps", api_to_cps},
    {"relay._transform.un_cps", api_un_cps},
};

int relay_to_cps_init(void) { return tn_func_register_rows(rows, TN_COUNT(rows)); }
