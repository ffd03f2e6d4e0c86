/* Functions and expressions as code of the virtual machine, see gen.h. */
#include "driver/vm/gen.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/scope.h"
#include "base/stack.h"
#include "ir/functor.h"
#include "ir/module.h"
#include "ops/sequence.h"
#include "relay/analysis/analysis.h"
#include "relay/infer.h"
#include "relay/expr/expr_info.h"
#include "tenon/object.h"

/* ---- values ---- */

vm_value *vm_register_value(vm_func *f, int64_t reg) {
  vm_value *v;
  TN_GETP(v, tn_arena_alloc(&f->arena, sizeof *v));
  v->reg = reg;
  return v;
}

vm_value *vm_tuple_value(vm_func *f, int64_t n) {
  vm_value *v;
  TN_GETP(v, tn_arena_alloc(&f->arena, sizeof *v));
  TN_GETP(v->fields, tn_arena_array(&f->arena, n + 1, sizeof *v->fields));
  v->reg = -1;
  v->n = n;
  return v;
}

int64_t vm_in_register(vm_func *f, const vm_value *v) {
  if (v->reg >= 0) return v->reg;
  TN_AUTOFREE int64_t *regs = tn_alloc_array(v->n + 1, sizeof *regs);
  if (!regs) return -1;
  for (int64_t i = 0; i < v->n; ++i)
    if ((regs[i] = vm_in_register(f, &v->fields[i])) < 0) return -1;
  int64_t dst = code_reg(&f->code);
  CODE_LIST(&f->code, regs, v->n, TN_VM_ALLOC_ADT, dst, 0);
  return dst;
}

static int bind(vm_func *f, const tn_RelayVar *var, const vm_value *v) {
  return tn_pmap_put(&f->values, var->vid, v);
}

int64_t vm_load_number(vm_func *f, int64_t value) {
  int64_t r = code_reg(&f->code);
  CODE(&f->code, TN_VM_LOAD_CONSTI, r, value);
  return r;
}

int64_t vm_load_const(vm_func *f, tn_tensor *t, int64_t device) {
  vm_gen *g = f->g;
  int64_t i = tn_pmap_get_int(&g->consts, t, 0) - 1, r;
  if (i < 0 || g->x->consts[i].device != device) {
    i = tn_vm_add_const(g->x, t, NULL, device);
    if (i < 0 || tn_pmap_put_int(&g->consts, t, i + 1)) return -1;
  }
  r = code_reg(&f->code);
  CODE(&f->code, TN_VM_LOAD_CONST, r, i);
  return r;
}

int64_t vm_primitive(vm_gen *g, const char *name) {
  tn_any found;
  if (tn_map_get(g->prim_index, tn_any_cstr(name), &found)) return found.v.i64;
  int64_t i = tn_vm_add_primitive(g->x, name);
  return i < 0 || tn_map_set(g->prim_index, tn_any_cstr(name), tn_any_int(i)) ? -1 : i;
}

/* ---- functions ---- */

static int enqueue(vm_gen *g, vm_pending p) {
  TN_GROW(g->queue, g->pending_cap, g->npending + 1, return -1);
  g->queue[g->npending++] = p;
  return 0;
}

static int64_t add_function(vm_gen *g, const char *name, const tn_arr *captured,
                            const tn_arr *params) {
  int64_t before = captured ? captured->len : 0, n = before + params->len;
  TN_AUTOFREE const char **names = tn_alloc_array(n + 1, sizeof *names);
  kernel_names own; /* callers know parameters by name, which the program may give twice */
  if (!names || kernel_names_init(&own, "")) return -1;
  for (int64_t i = 0; i < n; ++i) {
    const tn_obj *v = i < before ? tn_arr_obj(captured, i) : tn_arr_obj(params, i - before);
    TN_GET(names[i], kernel_names_unique(&own, tn_cstr(((const tn_RelayVar *)v)->vid->name_hint)));
  }
  TN_CHECK(n < TN_VM_MAX_REGISTERS, ValueError, NULL, "%s: %lld parameters", name, (long long)n);
  int64_t i = tn_vm_add_function(g->x, name, (int32_t)n, names);
  for (int64_t k = 0; i >= 0 && k < n; ++k) {
    const tn_obj *v = k < before ? tn_arr_obj(captured, k) : tn_arr_obj(params, k - before);
    int64_t device = vm_device_of(g, v);
    if (device < 0) return -1;
    g->x->funcs[i].param_devices[k] = device;
  }
  return i;
}

/* The number of a function of the module. */
static int64_t global_function(vm_gen *g, const tn_GlobalVar *v) {
  const char *name = tn_cstr(v->name_hint);
  int64_t i = tn_vm_find(g->x, name);
  if (i >= 0) return i;
  tn_BaseFunc *f;
  TN_GET(f, ir_module_lookup(g->mod, v));
  const tn_RelayFunction *r = TN_AS(RelayFunction, f);
  TN_CHECK(r, ValueError, NULL, "relay.vm: %s is a %s, expected a Relay function", name,
           tn_obj_key(f));
  i = add_function(g, name, NULL, r->params);
  if (i < 0 || vm_set_types(g, i, r) || vm_find_scalars(g, r)) return -1;
  if (enqueue(g, (vm_pending){.f = r, .func = i})) return -1;
  return i;
}

/* The function that calls a constructor, for where it is used as a value. */
static int64_t constructor_function(vm_gen *g, const tn_Constructor *c) {
  int64_t i = tn_pmap_get_int(&g->constructors, c, 0) - 1;
  if (i >= 0) return i;
  TN_VEC(params);
  const char *name;
  for (int64_t k = 0; k < c->inputs->len; ++k)
    TN_TRY(tn_vec_push_obj(&params, relay_var("field", NULL)));
  TN_GET(name,
         kernel_names_unique(&g->names, tn_cstr(tn_str_fmt("make_%s", tn_cstr(c->name_hint)))));
  i = add_function(g, name, NULL, tn_arr_from(&params));
  if (i < 0 || tn_pmap_put_int(&g->constructors, c, i + 1)) return -1;
  return enqueue(g, (vm_pending){.constructor = c, .func = i}) ? -1 : i;
}

/* ---- atoms ---- */

static const vm_value *closure_of(vm_func *f, int64_t func, const tn_arr *captured) {
  int64_t n = captured ? captured->len : 0;
  if (func < 0) return NULL;
  TN_AUTOFREE int64_t *regs = tn_alloc_array(n + 1, sizeof *regs);
  if (!regs) return NULL;
  for (int64_t i = 0; i < n; ++i) {
    const vm_value *v;
    TN_GETP(v, vm_atom(f, tn_arr_obj(captured, i)));
    if ((regs[i] = vm_in_register(f, v)) < 0) return NULL;
  }
  int64_t dst = code_reg(&f->code);
  CODE_LIST(&f->code, regs, n, TN_VM_ALLOC_CLOSURE, dst, func);
  return vm_register_value(f, dst);
}

static bool is_self(const vm_func *f, const tn_RelayVar *v) {
  return f->of->self && f->of->self->vid == v->vid;
}

static const vm_value *variable(vm_func *f, const tn_RelayVar *v) {
  const vm_value *found = tn_pmap_get(&f->values, v->vid);
  if (found) return found;
  if (is_self(f, v)) return closure_of(f, f->of->func, f->of->captured);
  int64_t func = tn_pmap_get_int(&f->g->known, v->vid, 0) - 1;
  if (func >= 0) return closure_of(f, func, NULL);
  return TN_RAISEP(ValueError, v->span, "relay.vm: the variable %%%s has no value here%s",
                   tn_cstr(v->vid->name_hint),
                   tn_pmap_has(&f->g->kernels, v->vid) ? ": it is a kernel" : "");
}

const vm_value *vm_atom(vm_func *f, const void *e) {
  const tn_obj *o = e;
  switch (o->type_index) {
  case TN_TI_RelayVar: return variable(f, e);
  case TN_TI_GlobalVar: return closure_of(f, global_function(f->g, e), NULL);
  case TN_TI_Constructor: return closure_of(f, constructor_function(f->g, e), NULL);
  default:
    return TN_RAISEP(ValueError, ((const relay_expr *)e)->span, "relay.vm: %s as a value",
                     tn_obj_key(e));
  }
}

/* ---- calls ---- */

static int arguments(vm_func *f, const tn_arr *captured, const tn_arr *args, int64_t *regs) {
  int64_t before = captured ? captured->len : 0;
  for (int64_t i = 0; i < before + args->len; ++i) {
    const vm_value *v;
    TN_GET(v, vm_atom(f, i < before ? tn_arr_obj(captured, i) : tn_arr_obj(args, i - before)));
    if ((regs[i] = vm_in_register(f, v)) < 0) return -1;
  }
  return 0;
}

/* A call of a function of the executable. */
static const vm_value *invoke(vm_func *f, int64_t func, const tn_arr *captured,
                              const tn_arr *args) {
  int64_t n = args->len + (captured ? captured->len : 0);
  if (func < 0) return NULL;
  TN_AUTOFREE int64_t *regs = tn_alloc_array(n + 1, sizeof *regs);
  if (!regs) return NULL;
  TN_TRYP(arguments(f, captured, args, regs));
  int64_t dst = code_reg(&f->code);
  CODE_LIST(&f->code, regs, n, TN_VM_INVOKE, dst, func);
  return vm_register_value(f, dst);
}

static const vm_value *invoke_value(vm_func *f, const void *callee, const tn_arr *args) {
  const vm_value *v;
  TN_GETP(v, vm_atom(f, callee));
  int64_t closure = vm_in_register(f, v);
  TN_AUTOFREE int64_t *regs = tn_alloc_array(args->len + 1, sizeof *regs);
  if (closure < 0 || !regs) return NULL;
  TN_TRYP(arguments(f, NULL, args, regs));
  int64_t dst = code_reg(&f->code);
  CODE_LIST(&f->code, regs, args->len, TN_VM_INVOKE_CLOSURE, dst, closure);
  return vm_register_value(f, dst);
}

static const vm_value *construct(vm_func *f, const tn_Constructor *c, const tn_arr *args) {
  TN_AUTOFREE int64_t *regs = tn_alloc_array(args->len + 1, sizeof *regs);
  if (!regs) return NULL;
  TN_TRYP(arguments(f, NULL, args, regs));
  int64_t dst = code_reg(&f->code), tag = vm_tag(f->g, c);
  if (tag < 0) return NULL;
  CODE_LIST(&f->code, regs, args->len, TN_VM_ALLOC_ADT, dst, tag);
  return vm_register_value(f, dst);
}

static const vm_value *call_variable(vm_func *f, const tn_RelayCall *c, const tn_RelayVar *v) {
  TN_CHECKP(!tn_pmap_has(&f->g->kernels, v->vid), ValueError, c->span,
            "relay.vm: a call of a kernel that ManifestAlloc has not seen");
  if (is_self(f, v) && !tn_pmap_has(&f->values, v->vid))
    return invoke(f, f->of->func, f->of->captured, c->args);
  int64_t func = tn_pmap_get_int(&f->g->known, v->vid, 0) - 1;
  return func >= 0 ? invoke(f, func, NULL, c->args) : invoke_value(f, v, c->args);
}

static int64_t copied(vm_func *f, int64_t tensor, int64_t from, int64_t to) {
  if (from == to) return tensor;
  int64_t dst = code_reg(&f->code);
  CODE(&f->code, TN_VM_DEVICE_COPY, dst, tensor, from, to);
  return dst;
}

/* The value on another device, tensor by tensor. */
static const vm_value *copy(vm_func *f, const tn_Type *type, const vm_value *v, int64_t from,
                            int64_t to) {
  const tn_TupleType *tuple = TN_AS(TupleType, type);
  if (!tuple) {
    int64_t reg = vm_in_register(f, v);
    return reg < 0 ? NULL : vm_register_value(f, copied(f, reg, from, to));
  }
  vm_value *all;
  TN_GETP(all, vm_tuple_value(f, tuple->fields->len));
  for (int64_t i = 0; i < all->n; ++i) {
    const vm_value *field = v->reg < 0 ? &v->fields[i] : NULL;
    if (!field) {
      int64_t dst = code_reg(&f->code);
      CODE(&f->code, TN_VM_GET_FIELD, dst, v->reg, i);
      TN_GETP(field, vm_register_value(f, dst));
    }
    TN_GETP(field, copy(f, (const tn_Type *)tn_arr_obj(tuple->fields, i), field, from, to));
    all->fields[i] = *field;
  }
  return all;
}

static const vm_value *device_copy(vm_func *f, const tn_RelayCall *c) {
  const vm_value *v;
  int64_t from = vm_device_of(f->g, relay_arg(c, 0)), to = vm_device_of(f->g, c);
  TN_GETP(v, vm_atom(f, relay_arg(c, 0)));
  return from < 0 || to < 0 ? NULL : copy(f, relay_type_of(c), v, from, to);
}

/* An operator on values: the machine has a function for it. Widening changes only the type. */
static const vm_value *call_on_values(vm_func *f, const tn_RelayCall *c, const tn_Op *op) {
  TN_VEC(numbers);
  if (tn_str_eq(op->name, "value.widen")) return vm_atom(f, relay_arg(c, 0));
  TN_TRYP(ops_sequence_numbers(op, c->attrs, &numbers));
  int64_t n = c->args->len, dst, p = vm_primitive(f->g, tn_cstr(op->name)),
          device = vm_device_of(f->g, c);
  TN_AUTOFREE int64_t *regs = tn_alloc_array((n + numbers.len) + 1, sizeof *regs);
  if (!regs || p < 0 || device < 0 || arguments(f, NULL, c->args, regs)) return NULL;
  for (int64_t i = 0; i < numbers.len; ++i) regs[n + i] = vm_load_number(f, numbers.items[i].v.i64);
  dst = code_reg(&f->code);
  CODE_LIST(&f->code, regs, n + numbers.len, TN_VM_CALL_VALUES, dst, p);
  const vm_value *v = vm_register_value(f, dst);
  bool number = tn_str_eq(op->name, "sequence.length") || tn_str_eq(op->name, "optional.has");
  return v && number ? copy(f, relay_type_of(c), v, f->g->host, device) : v;
}

/* @param var what it is bound to, NULL: nothing */
static const vm_value *call(vm_func *f, const tn_RelayCall *c, const tn_RelayVar *var) {
  const tn_obj *callee = (const tn_obj *)c->op;
  switch (callee->type_index) {
  case TN_TI_RelayVar: return call_variable(f, c, (const tn_RelayVar *)callee);
  case TN_TI_GlobalVar:
    return invoke(f, global_function(f->g, (const tn_GlobalVar *)callee), NULL, c->args);
  case TN_TI_Constructor: return construct(f, (const tn_Constructor *)callee, c->args);
  default: break;
  }
  if (relay_as_call(c, "on_device")) return vm_atom(f, relay_arg(c, 0));
  if (relay_as_call(c, "device_copy")) return device_copy(f, c);
  bool known;
  const vm_value *made = vm_instruction(f, c, var, &known);
  if (known) return made;
  if (TN_AS(Op, callee) && relay_op_is_on_values(callee))
    return call_on_values(f, c, (const tn_Op *)callee);
  const char *op = relay_called_op(c);
  if (op && strcmp(op, "memory.kill") == 0)
    return vm_tuple_value(f, 0); /* register_alloc.c finds lifetimes */
  return TN_RAISEP(ValueError, c->span, "relay.vm: a call of %s outside of kernels",
                   op ? op : tn_obj_key(callee));
}

/* ---- functions inside functions ---- */

/* What a function uses of what is around it, but for what is found without being passed on. */
static tn_arr *captured_by(vm_func *f, const tn_RelayFunction *fn, const tn_RelayVar *self) {
  TN_VEC(v);
  tn_arr *all;
  TN_GETP(all, relay_free_vars(fn));
  for (int64_t i = 0; i < all->len; ++i) {
    const tn_RelayVar *var = (const tn_RelayVar *)tn_arr_obj(all, i);
    bool found = tn_pmap_has(&f->g->kernels, var->vid) || tn_pmap_has(&f->g->known, var->vid) ||
                 (self && self->vid == var->vid);
    if (!found) TN_TRYP(tn_vec_push_obj(&v, var));
  }
  return tn_arr_from(&v);
}

static int64_t lift(vm_func *f, const tn_RelayFunction *fn, const tn_RelayVar *self,
                    tn_arr *captured) {
  uint64_t hash;
  const char *name;
  if (tn_hash(fn, TN_MAP_FREE_VARS, &hash)) return -1;
  tn_str *s = tn_str_fmt("lifted_name%" PRIu64, hash);
  if (!s || !(name = kernel_names_unique(&f->g->names, tn_cstr(s)))) return -1;
  int64_t i = add_function(f->g, name, captured, fn->params);
  vm_pending p = {.f = fn, .captured = captured, .self = self, .func = i};
  return i < 0 || enqueue(f->g, p) ? -1 : i;
}

/* @param self the variable it is bound to, NULL: none. The result is NULL without an error for a
   function that is found by its variable. */
static const vm_value *function_value(vm_func *f, const tn_RelayFunction *fn,
                                      const tn_RelayVar *self, bool *by_name) {
  tn_arr *captured;
  TN_GETP(captured, captured_by(f, fn, self));
  int64_t func = lift(f, fn, self, captured);
  if (func < 0) return NULL;
  *by_name = self && captured->len == 0;
  if (!*by_name) return closure_of(f, func, captured);
  (void)tn_pmap_put_int(&f->g->known, self->vid, func + 1);
  return NULL;
}

/* ---- the other expressions ---- */

static const vm_value *tuple(vm_func *f, const tn_RelayTuple *t) {
  vm_value *v;
  TN_GETP(v, vm_tuple_value(f, t->fields->len));
  for (int64_t i = 0; i < t->fields->len; ++i) {
    const vm_value *field;
    TN_GETP(field, vm_atom(f, tn_arr_obj(t->fields, i)));
    v->fields[i] = *field;
  }
  return v;
}

static const vm_value *get_item(vm_func *f, const tn_TupleGetItem *e) {
  const vm_value *v;
  TN_GETP(v, vm_atom(f, e->tuple_value));
  if (v->reg < 0 && e->index < v->n) return &v->fields[e->index];
  int64_t from = vm_in_register(f, v), dst = code_reg(&f->code);
  CODE(&f->code, TN_VM_GET_FIELD, dst, from, e->index);
  return from < 0 ? NULL : vm_register_value(f, dst);
}

static int64_t operand(vm_func *f, const void *e) {
  const vm_value *v = vm_atom(f, e);
  return v ? vm_in_register(f, v) : -1;
}

static const vm_value *reference(vm_func *f, const tn_obj *e) {
  int64_t a = operand(f, relay_operand(e, 0)), dst;
  if (a < 0) return NULL;
  if (e->type_index == TN_TI_RefWrite) {
    int64_t b = operand(f, relay_operand(e, 1));
    CODE(&f->code, TN_VM_WRITE_REF, a, b);
    return b < 0 ? NULL : vm_tuple_value(f, 0);
  }
  dst = code_reg(&f->code);
  CODE(&f->code, e->type_index == TN_TI_RefCreate ? TN_VM_ALLOC_REF : TN_VM_READ_REF, dst, a);
  return vm_register_value(f, dst);
}

/* ---- bodies ---- */

/* What happens with the value of a body: the function ends, or it goes to a register. */
typedef struct {
  vm_func *f;
  int64_t dst; /* -1: the function ends */
} continuation;

static int body(const continuation *k, const void *e);

static int clause_body(void *ctx, const void *e) { return body(ctx, e); }

static int branches(const continuation *k, const tn_RelayIf *c) {
  vm_code *code = &k->f->code;
  int64_t cond = operand(k->f, c->cond);
  if (cond < 0) return -1;
  int64_t one = vm_load_number(k->f, 1), yes = code_label(code), no = code_label(code),
          end = code_label(code);
  CODE(code, TN_VM_IF, cond, one, yes, no);
  code_put_label(code, yes);
  TN_TRY(body(k, c->true_branch));
  if (k->dst >= 0) CODE(code, TN_VM_GOTO, end);
  code_put_label(code, no);
  TN_TRY(body(k, c->false_branch));
  code_put_label(code, end);
  return 0;
}

/* An expression whose control flow splits. */
static int split(const continuation *k, const tn_obj *e) {
  if (e->type_index == TN_TI_RelayIf) return branches(k, (const tn_RelayIf *)e);
  return vm_match(k->f, (const tn_Match *)e, k->dst < 0, clause_body, (void *)(uintptr_t)k);
}

static bool splits(const void *e) { return TN_AS(RelayIf, e) || TN_AS(Match, e); }

static const vm_value *value_of(vm_func *f, const void *e, const tn_RelayVar *var) {
  const tn_obj *o = e;
  bool by_name;
  switch (o->type_index) {
  case TN_TI_RelayCall: return call(f, e, var);
  case TN_TI_RelayTuple: return tuple(f, e);
  case TN_TI_TupleGetItem: return get_item(f, e);
  case TN_TI_RefCreate:
  case TN_TI_RefRead:
  case TN_TI_RefWrite: return reference(f, o);
  case TN_TI_RelayFunction: return function_value(f, e, NULL, &by_name);
  case TN_TI_Constant: {
    int64_t device = vm_device_of(f->g, e);
    int64_t r =
        device < 0 ? -1 : vm_load_const(f, (tn_tensor *)((const tn_Constant *)e)->data, device);
    return r < 0 ? NULL : vm_register_value(f, r);
  }
  default: return vm_atom(f, e);
  }
}

static int let_value(vm_func *f, const tn_RelayLet *l) {
  const vm_value *v;
  bool by_name = false;
  if (TN_AS(Constant, l->value)) TN_TRY(tn_pmap_put(&f->g->bound, l->var->vid, l->value));
  if (relay_is_kernel(l->value)) return tn_pmap_put(&f->g->kernels, l->var->vid, l->value);
  if (TN_AS(RelayFunction, l->value)) {
    v = function_value(f, (const tn_RelayFunction *)l->value, l->var, &by_name);
    if (by_name) return 0;
  } else if (splits(l->value)) {
    continuation inner = {f, code_reg(&f->code)};
    TN_TRY(split(&inner, (const tn_obj *)l->value));
    v = vm_register_value(f, inner.dst);
  } else v = value_of(f, l->value, l->var);
  return v ? bind(f, l->var, v) : -1;
}

static int body(const continuation *k, const void *e) {
  const tn_RelayLet *l;
  TN_TRY(tn_stack_check("an expression"));
  while ((l = TN_AS(RelayLet, e)) != NULL) {
    const tn_RelayVar *last = TN_AS(RelayVar, l->body);
    /* what splits at the end needs no place where its branches meet again */
    if (last && last->vid == l->var->vid && splits(l->value))
      return split(k, (const tn_obj *)l->value);
    TN_TRY(let_value(k->f, l));
    e = l->body;
  }
  if (splits(e)) return split(k, e);
  const vm_value *v;
  TN_GET(v, value_of(k->f, e, NULL));
  int64_t r = vm_in_register(k->f, v);
  if (r < 0) return -1;
  if (k->dst < 0) CODE(&k->f->code, TN_VM_RET, r);
  else CODE(&k->f->code, TN_VM_MOVE, k->dst, r);
  return 0;
}

/* ---- whole functions ---- */

static int bind_params(vm_func *f, const tn_arr *vars) {
  for (int64_t i = 0; vars && i < vars->len; ++i) {
    const vm_value *v;
    TN_GET(v, vm_register_value(f, code_reg(&f->code)));
    TN_TRY(bind(f, (const tn_RelayVar *)tn_arr_obj(vars, i), v));
  }
  return 0;
}

static int constructor_body(vm_func *f, const tn_Constructor *c) {
  int64_t n = c->inputs->len;
  TN_AUTOFREE int64_t *regs = tn_alloc_array(n + 1, sizeof *regs);
  if (!regs) return -1;
  for (int64_t i = 0; i < n; ++i) regs[i] = code_reg(&f->code);
  int64_t dst = code_reg(&f->code), tag = vm_tag(f->g, c);
  TN_TRY(tag < 0);
  CODE_LIST(&f->code, regs, n, TN_VM_ALLOC_ADT, dst, tag);
  CODE(&f->code, TN_VM_RET, dst);
  return 0;
}

static int function_body(vm_func *f) {
  const vm_pending *p = f->of;
  f->code.nparam = f->g->x->funcs[p->func].nparam;
  if (p->constructor) return constructor_body(f, p->constructor);
  TN_TRY(bind_params(f, p->captured));
  TN_TRY(bind_params(f, p->f->params));
  return body(&(continuation){f, -1}, p->f->body);
}

static int generate_one(vm_gen *g, vm_pending p) {
  vm_func f = {.g = g, .of = &p};
  int err = function_body(&f) || code_finish(&f.code, g->x, p.func);
  code_fini(&f.code);
  tn_pmap_fini(&f.values);
  tn_arena_fini(&f.arena);
  return err ? tn_error_note("in function %s", g->x->funcs[p.func].name) : 0;
}

int vm_generate(vm_gen *g) {
  const tn_GlobalVar *main = ir_module_find_var(g->mod, "main");
  const tn_map *all = g->mod->functions;
  if (main && global_function(g, main) < 0) return -1;
  for (int64_t i = 0; !main && i < all->len; ++i)
    if (TN_AS(RelayFunction, all->entries[i].value.v.obj) &&
        global_function(g, (const tn_GlobalVar *)all->entries[i].key.v.obj) < 0)
      return -1;
  for (int64_t i = 0; i < g->npending; ++i) TN_TRY(generate_one(g, g->queue[i]));
  return 0;
}
