/* Evaluation of Relay programs, see interpret.h. The program is brought into A-normal form first:
   what is left are lets over simple expressions, whose values are kept in a frame for each call. A
   call that is the last thing of a function replaces its frame, so loops need no stack. */
#include "eval/interpret.h"

#include <string.h>

#include "base/error.h"
#include "base/scope.h"
#include "base/stack.h"
#include "driver/executor.h"
#include "ir/module.h"
#include "ir/pass.h"
#include "object/functions.h"
#include "relay/analysis/analysis.h"
#include "relay/infer.h"
#include "relay/op.h"
#include "runtime/tensor/tensor.h"

typedef struct {
  tn_IRModule *mod;
  interp_ops ops;
} interpreter;

typedef struct {
  interpreter *in;
  tn_map *vars; /* Id -> value, owned */
} frame;

/* A call that is still to be made. */
typedef struct {
  const tn_RelayFunction *f;
  const tn_InterpreterClosure *closure; /* owned by `keep`; NULL: a global function */
  tn_any keep;                          /* owned */
  tn_vec args;                          /* owned values */
} pending_call;

static int eval(frame *fr, const void *e, tn_any *ret, pending_call *tail);

static void release_all(tn_vec *v) {
  while (v->len > 0) tn_any_release(&v->items[--v->len]);
}

static int bind(frame *fr, const tn_RelayVar *v, const tn_any *value) {
  return tn_map_set(fr->vars, tn_any_obj(v->vid), *value);
}

/* ---- functions ---- */

static int bind_call(frame *fr, const pending_call *c) {
  const tn_InterpreterClosure *k = c->closure;
  TN_CHECK(c->args.len == c->f->params->len, TypeError, c->f->span,
           "interpreter: expected %lld arguments, got %lld", (long long)c->f->params->len,
           (long long)c->args.len);
  for (int64_t i = 0; k && i < k->env->len; ++i)
    TN_TRY(tn_map_set(fr->vars, k->env->entries[i].key, k->env->entries[i].value));
  if (k && k->self) {
    tn_any own = tn_any_obj(k);
    TN_TRY(bind(fr, k->self, &own));
  }
  for (int64_t i = 0; i < c->args.len; ++i)
    TN_TRY(bind(fr, (const tn_RelayVar *)tn_arr_obj(c->f->params, i), &c->args.items[i]));
  return 0;
}

static void end_call(pending_call *c) {
  release_all(&c->args);
  tn_vec_fini(&c->args);
  tn_any_release(&c->keep);
  *c = (pending_call){0};
}

/* Makes a call, and those that take its place. The call is given up. */
static int run(interpreter *in, pending_call *c, tn_any *ret) {
  int err = tn_stack_check("calls of the interpreted program");
  while (!err && c->f) {
    pending_call next = {0};
    frame fr = {in, tn_map_new()};
    err = !fr.vars || bind_call(&fr, c) ? -1 : 0;
    if (!err) err = eval(&fr, c->f->body, ret, &next);
    tn_release(fr.vars);
    end_call(c);
    *c = next;
  }
  end_call(c);
  return err;
}

static int push_value(frame *fr, const void *atom, tn_vec *out) {
  tn_any v;
  TN_TRY(eval(fr, atom, &v, NULL));
  if (tn_vec_push(out, v) == 0) return 0;
  tn_any_release(&v);
  return -1;
}

static int push_values(frame *fr, const tn_arr *atoms, tn_vec *out) {
  for (int64_t i = 0; i < atoms->len; ++i) TN_TRY(push_value(fr, tn_arr_obj(atoms, i), out));
  return 0;
}

static int make_closure(frame *fr, const tn_RelayFunction *f, const tn_RelayVar *self,
                        tn_any *ret) {
  tn_map *env;
  tn_arr *vars;
  TN_GET(env, tn_scope_own(tn_map_new()));
  TN_GET(vars, relay_free_vars(f));
  for (int64_t i = 0; i < vars->len; ++i) {
    const tn_RelayVar *v = (const tn_RelayVar *)tn_arr_obj(vars, i);
    tn_any value;
    if (self && v->vid == self->vid) continue;
    TN_CHECK(tn_map_get(fr->vars, tn_any_obj(v->vid), &value), ValueError, v->span,
             "interpreter: the variable %%%s has no value", tn_cstr(v->vid->name_hint));
    TN_TRY(tn_map_set(env, tn_any_obj(v->vid), value));
  }
  return tn_ret_obj(ret,
                    TN_NEW(InterpreterClosure, .env = env, .func = (tn_RelayFunction *)(uintptr_t)f,
                           .self = (tn_RelayVar *)(uintptr_t)self));
}

static int global_function(frame *fr, const tn_GlobalVar *v, const tn_RelayFunction **out) {
  tn_BaseFunc *f;
  TN_GET(f, ir_module_lookup(fr->in->mod, v));
  *out = TN_AS(RelayFunction, f);
  TN_CHECK(*out, TypeError, NULL, "interpreter: %s is a %s, expected a Relay function",
           tn_cstr(v->name_hint), tn_obj_key(f));
  return 0;
}

/* ---- calls ---- */

static int make_data(const tn_Constructor *c, const tn_vec *fields, tn_any *ret) {
  TN_CHECK(fields->len == c->inputs->len, TypeError, NULL,
           "interpreter: %s has %lld fields, got %lld", tn_cstr(c->name_hint),
           (long long)c->inputs->len, (long long)fields->len);
  return tn_ret_obj(ret, TN_NEW(ConstructorValue, .tag = c->tag, .fields = tn_arr_from(fields),
                                .constructor = (tn_Constructor *)(uintptr_t)c));
}

static int callee_value(frame *fr, const void *callee, pending_call *c, tn_vec *args, tn_any *ret) {
  TN_TRY(eval(fr, callee, &c->keep, NULL));
  const tn_Constructor *make = TN_AS(Constructor, c->keep.v.obj);
  if (make) return make_data(make, args, ret);
  c->closure = TN_AS(InterpreterClosure, c->keep.v.obj);
  TN_CHECK(c->closure, TypeError, NULL, "interpreter: a call of %s",
           tn_type_key((uint32_t)c->keep.type_index));
  c->f = c->closure->func;
  return 0;
}

/* debug(%x, debug_func="name"): the function sees the value, which is that of the call. */
static int show_value(const tn_RelayCall *call, tn_any *args, tn_any *ret) {
  const char *name = relay_attr_str(call->attrs, "debug_func");
  tn_any ignored;
  if (*name) {
    tn_func *f = tn_scope_own(tn_func_find(name));
    TN_CHECK(f, ValueError, NULL, "debug: the global function %s is not there", name);
    TN_TRY(tn_func_call(f, args, 1, &ignored));
    tn_any_release(&ignored);
  }
  *ret = args[0];
  args[0] = tn_any_none();
  return 0;
}

static int start_call(frame *fr, const tn_RelayCall *call, pending_call *c, tn_any *ret) {
  const tn_Op *op = TN_AS(Op, call->op);
  const tn_GlobalVar *global = TN_AS(GlobalVar, call->op);
  TN_TRY(push_values(fr, call->args, &c->args));
  if (op && strcmp(tn_cstr(op->name), "debug") == 0) return show_value(call, c->args.items, ret);
  if (op) return interp_op(&fr->in->ops, op, call->attrs, c->args.items, c->args.len, ret);
  if (global) return global_function(fr, global, &c->f);
  return callee_value(fr, call->op, c, &c->args, ret);
}

/* @param tail where a call of a function goes instead of being made; NULL: it is made */
static int eval_call(frame *fr, const tn_RelayCall *call, tn_any *ret, pending_call *tail) {
  pending_call c = {0};
  if (start_call(fr, call, &c, ret)) {
    end_call(&c);
    return -1;
  }
  if (!c.f) {
    end_call(&c);
    return 0;
  }
  if (!tail) return run(fr->in, &c, ret);
  *tail = c;
  return 0;
}

/* ---- data ---- */

static int eval_tuple(frame *fr, const tn_RelayTuple *t, tn_any *ret) {
  TN_VEC(fields);
  int err = push_values(fr, t->fields, &fields);
  if (!err) err = tn_ret_owned(ret, tn_tuple_new(0, fields.items, fields.len));
  release_all(&fields);
  return err;
}

static int eval_get_item(frame *fr, const tn_TupleGetItem *e, tn_any *ret) {
  tn_any v;
  TN_TRY(eval(fr, e->tuple_value, &v, NULL));
  const tn_tuple *t = v.type_index == TN_TI_ADT ? (const tn_tuple *)v.v.obj : NULL;
  int err = t && e->index < t->len ? tn_any_own(&t->fields[e->index], ret)
                                   : TN_RAISE(TypeError, e->span, "interpreter: no such field");
  tn_any_release(&v);
  return err;
}

static int eval_ref(frame *fr, const tn_obj *e, tn_any *ret) {
  tn_any a, b;
  TN_TRY(eval(fr, relay_operand(e, 0), &a, NULL));
  if (e->type_index == TN_TI_RefCreate) {
    int err = tn_ret_obj(ret, TN_NEW(RefValue, .value = a));
    tn_any_release(&a);
    return err;
  }
  tn_RefValue *r = TN_AS(RefValue, a.v.obj);
  int err = r ? 0 : TN_RAISE(TypeError, NULL, "interpreter: expected a reference");
  if (!err && e->type_index == TN_TI_RefRead) err = tn_any_own(&r->value, ret);
  else if (!err) {
    err = eval(fr, relay_operand(e, 1), &b, NULL);
    if (!err) {
      tn_any_release(&r->value);
      r->value = b;
      err = tn_ret_owned(ret, tn_tuple_new(0, NULL, 0));
    }
  }
  tn_any_release(&a);
  return err;
}

/* ---- patterns ---- */

/* 1 it matches, and its variables are bound; 0; -1 (error). */
static int matches(frame *fr, const tn_obj *p, const tn_any *v);

static int each_matches(frame *fr, const tn_arr *patterns, const tn_any *fields, int64_t n) {
  for (int64_t i = 0; i < patterns->len && i < n; ++i) {
    int m = matches(fr, tn_arr_obj(patterns, i), &fields[i]);
    if (m != 1) return m;
  }
  return patterns->len == n;
}

static int matches(frame *fr, const tn_obj *p, const tn_any *v) {
  const tn_PatternVar *var = TN_AS(PatternVar, p);
  const tn_PatternTuple *tuple = TN_AS(PatternTuple, p);
  const tn_PatternConstructor *c = TN_AS(PatternConstructor, p);
  const tn_ConstructorValue *data = tn_any_is_obj(v) ? TN_AS(ConstructorValue, v->v.obj) : NULL;
  TN_TRY(tn_stack_check("a pattern"));
  if (var) return bind(fr, var->var, v) ? -1 : 1;
  if (tuple && v->type_index == TN_TI_ADT) {
    const tn_tuple *t = (const tn_tuple *)v->v.obj;
    return each_matches(fr, tuple->patterns, t->fields, t->len);
  }
  if (c && data) {
    if (data->tag != c->constructor->tag) return 0;
    return each_matches(fr, c->patterns, data->fields->items, data->fields->len);
  }
  if (c || tuple)
    return TN_RAISE(TypeError, NULL, "interpreter: a pattern meets a value of another type");
  return 1;
}

static int eval_match(frame *fr, const tn_Match *m, tn_any *ret, pending_call *tail) {
  tn_any v;
  TN_TRY(eval(fr, m->data, &v, NULL));
  int found = 0;
  const tn_Clause *clause = NULL;
  for (int64_t i = 0; i < m->clauses->len && found == 0; ++i) {
    clause = (const tn_Clause *)tn_arr_obj(m->clauses, i);
    found = matches(fr, (const tn_obj *)clause->lhs, &v);
  }
  tn_any_release(&v);
  if (found < 0) return -1;
  TN_CHECK(found, TenonError, m->span, "interpreter: no clause of the match fits the value");
  return eval(fr, clause->rhs, ret, tail);
}

/* ---- expressions ---- */

static int eval_if(frame *fr, const tn_RelayIf *c, tn_any *ret, pending_call *tail) {
  tn_any v;
  tn_tensor *t;
  uint8_t yes = 0;
  TN_TRY(eval(fr, c->cond, &v, NULL));
  int err = tn_any_to_tensor(&v, &t) || tn_tensor_copy_to_bytes(tn_tensor_dl(t), &yes, 1);
  tn_any_release(&v);
  TN_TRY(err);
  return eval(fr, yes ? c->true_branch : c->false_branch, ret, tail);
}

static int eval_var(frame *fr, const tn_RelayVar *v, tn_any *ret) {
  tn_any value;
  TN_CHECK(tn_map_get(fr->vars, tn_any_obj(v->vid), &value), ValueError, v->span,
           "interpreter: the variable %%%s has no value", tn_cstr(v->vid->name_hint));
  return tn_any_own(&value, ret);
}

static int eval_global(frame *fr, const tn_GlobalVar *v, tn_any *ret) {
  const tn_RelayFunction *f;
  TN_TRY(global_function(fr, v, &f));
  return make_closure(fr, f, NULL, ret);
}

static int eval_simple(frame *fr, const tn_obj *e, tn_any *ret, pending_call *tail) {
  switch (e->type_index) {
  case TN_TI_RelayVar: return eval_var(fr, (const tn_RelayVar *)e, ret);
  case TN_TI_Constant: return tn_ret_obj(ret, ((const tn_Constant *)e)->data);
  case TN_TI_Constructor: return tn_ret_obj(ret, e);
  case TN_TI_GlobalVar: return eval_global(fr, (const tn_GlobalVar *)e, ret);
  case TN_TI_RelayFunction: return make_closure(fr, (const tn_RelayFunction *)e, NULL, ret);
  case TN_TI_RelayCall: return eval_call(fr, (const tn_RelayCall *)e, ret, tail);
  case TN_TI_RelayTuple: return eval_tuple(fr, (const tn_RelayTuple *)e, ret);
  case TN_TI_TupleGetItem: return eval_get_item(fr, (const tn_TupleGetItem *)e, ret);
  case TN_TI_RelayIf: return eval_if(fr, (const tn_RelayIf *)e, ret, tail);
  case TN_TI_Match: return eval_match(fr, (const tn_Match *)e, ret, tail);
  case TN_TI_RefCreate:
  case TN_TI_RefRead:
  case TN_TI_RefWrite: return eval_ref(fr, e, ret);
  default: return TN_RAISE(ValueError, NULL, "interpreter: %s as a value", tn_obj_key(e));
  }
}

static int eval_let(frame *fr, const tn_RelayLet *l) {
  tn_any v;
  const tn_RelayFunction *f = TN_AS(RelayFunction, l->value);
  TN_TRY(f ? make_closure(fr, f, l->var, &v) : eval(fr, l->value, &v, NULL));
  int err = bind(fr, l->var, &v);
  tn_any_release(&v);
  return err;
}

static int eval(frame *fr, const void *e, tn_any *ret, pending_call *tail) {
  TN_SCOPE(s);
  const tn_RelayLet *l;
  TN_TRY(tn_stack_check("an expression"));
  while ((l = TN_AS(RelayLet, e)) != NULL) {
    const tn_RelayVar *last = TN_AS(RelayVar, l->body);
    if (tail && last && last->vid == l->var->vid && !TN_AS(RelayFunction, l->value))
      return eval(fr, l->value, ret, tail);
    TN_TRY(eval_let(fr, l));
    e = l->body;
  }
  return eval_simple(fr, e, ret, tail);
}

/* ---- from outside ---- */

/* Operators that others stand for are replaced; what an operator gives is named before it is used.
 */
static tn_IRModule *prepared(tn_IRModule *m) {
  static const char *const names[] = {"QnnCanonicalizeOps", "ToANormalForm"};
  tn_Pass *passes[TN_COUNT(names)];
  TN_GETP(m, relay_infer_module(m));
  for (int i = 0; i < TN_COUNT(names); ++i) {
    const ir_pass_row *row;
    TN_GETP(row, ir_pass_named(names[i]));
    TN_GETP(passes[i], ir_pass_new(row, NULL, 0));
  }
  return ir_pass_run_all(passes, TN_COUNT(names), m, NULL);
}

static int interpret_function(interpreter *in, const char *name, const tn_any *args, int32_t n,
                              tn_any *ret) {
  frame none = {in, NULL};
  tn_GlobalVar *main;
  pending_call c = {0};
  TN_GET(main, ir_module_var(in->mod, name));
  TN_TRY(global_function(&none, main, &c.f));
  for (int32_t i = 0; i < n; ++i) {
    tn_any own;
    if (tn_any_own(&args[i], &own) || tn_vec_push(&c.args, own)) {
      end_call(&c);
      return -1;
    }
  }
  return run(in, &c, ret);
}

/* (module, name of a function, target, argument of it, ...) -> its value */
static int interpret(TN_ARGS) {
  interpreter in = {0};
  const char *name;
  TN_CHECK(n >= 3, TypeError, NULL,
           "eval.interpret: expected a module, a name, a target and arguments");
  TN_ARG_OBJ(IRModule, m, 0);
  TN_TRY(tn_any_to_cstr(&args[1], &name));
  TN_GET(in.ops.target, target_from(&args[2]));
  TN_GET(in.mod, prepared(m));
  TN_GET(in.ops.compiled, tn_map_new());
  int err = interpret_function(&in, name, args + 3, n - 3, ret);
  tn_release(in.ops.compiled);
  if (!err && (err = tn_unshare(ret))) tn_any_release(ret);
  return err;
}

/* relay.backend.ConstructorValue(tag, fields, constructor) */
static int constructor_value(TN_ARGS) {
  int64_t tag;
  TN_NARGS("relay.backend.ConstructorValue", 3);
  TN_TRY(tn_any_to_int(&args[0], &tag));
  TN_ARG_OBJ(Array, fields, 1);
  TN_ARG_OPT(Constructor, c, 2);
  TN_CHECK(!c || (c->tag == tag && c->inputs->len == fields->len), ValueError, NULL,
           "ConstructorValue: %s has the tag %lld and %lld fields, got %lld and %lld",
           tn_cstr(c->name_hint), (long long)c->tag, (long long)c->inputs->len, (long long)tag,
           (long long)fields->len);
  return tn_ret_obj(ret, TN_NEW(ConstructorValue, .tag = tag, .fields = fields, .constructor = c));
}

/* relay.backend.RefValue(value) */
static int ref_value(TN_ARGS) {
  TN_NARGS("relay.backend.RefValue", 1);
  return tn_ret_obj(ret, TN_NEW(RefValue, .value = args[0]));
}

static const tn_func_row rows[] = {{"eval.interpret", interpret},
                                   {"relay.backend.ConstructorValue", constructor_value},
                                   {"relay.backend.RefValue", ref_value}};

int eval_interpreter_init(void) { return tn_func_register_rows(rows, TN_COUNT(rows)); }
