/* What has to be on one device, expression by expression, see devices.h:

     f(%a, %b)                  arguments and result as the function's
     add(%a, %b), (%a, %b)      all on one, as far as nothing places them elsewhere: what another
                                device has is copied
     on_device(%x, d)           %x on d, unless it was placed before; the value wherever it is
                                wanted
     device_copy(%x, s, d)      %x on s, the value on d
     if (%c) { %a } else { %b } %a, %b and the value on one, %c on the host where it is a scalar
                                that nothing else wants elsewhere
     let %x = %v; %b            %x where %v is
     fn (%x) { %b }             its result where %b is

   All but the second come first, so that copies are only where they must be. What is free after
   that is on the default device. */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/scope.h"
#include "relay/devices/devices.h"
#include "ir/functor.h"
#include "ir/imm.h"
#include "ir/module.h"
#include "object/functions.h"
#include "relay/op.h"
#include "tenon/object.h"

static const tn_Span *span_of(const void *e) { return ((const relay_expr *)e)->span; }

static int set(device_plan *p, const void *key, int32_t d) {
  return d < 0 ? -1 : tn_pmap_put_int(&p->of, key, d + 1);
}

static const tn_Type *type_of_var(const tn_RelayVar *v) {
  const tn_Type *t = relay_type_of(v);
  return t ? t : v->type_annotation;
}

static int32_t of_var(device_plan *p, const tn_RelayVar *v) {
  int64_t d = tn_pmap_get_int(&p->of, v->vid, 0) - 1;
  if (d >= 0) return (int32_t)d;
  d = device_domain_of_type(p, type_of_var(v));
  if (d < 0 || set(p, v->vid, (int32_t)d)) return -1;
  if (v->virtual_device_ && device_constrain(p, (int32_t)d, v->virtual_device_, span_of(v)))
    return -1;
  return (int32_t)d;
}

/* The domain of an operand, -1 where it has none: a constant of a loose plan. */
static int32_t of(const device_plan *p, const void *e) {
  const tn_RelayVar *v = TN_AS(RelayVar, e);
  return (int32_t)tn_pmap_get_int(&p->of, v ? (const void *)v->vid : e, 0) - 1;
}

static int leaf(device_plan *p, const tn_obj *e) {
  return set(p, e, device_leaf(p, relay_type_of(e), NULL));
}

/* ---- calls ---- */

static bool is_placed(device_plan *p, int32_t d) {
  return d >= 0 && p->domains[device_find(p, d)].device;
}

static int annotation(device_plan *p, const tn_RelayCall *c) {
  const tn_obj *device = relay_attr_obj(c->attrs, "virtual_device");
  int32_t d = device_domain_of_type(p, relay_type_of(c));
  if (d < 0) return -1;
  if (relay_attr_int(c->attrs, "constrain_body", 1) && !is_placed(p, of(p, relay_arg(c, 0))))
    TN_TRY(device_constrain(p, of(p, relay_arg(c, 0)), device, span_of(c)));
  if (relay_attr_int(c->attrs, "constrain_result", 0) || TN_AS(FuncType, relay_type_of(c)))
    TN_TRY(device_constrain(p, d, device, span_of(c)));
  return set(p, c, d);
}

static int copy(device_plan *p, const tn_RelayCall *c) {
  int32_t d = device_leaf(p, relay_type_of(c), NULL);
  if (d < 0) return -1;
  TN_TRY(device_constrain(p, of(p, relay_arg(c, 0)), relay_attr_obj(c->attrs, "src_virtual_device"),
                          span_of(c)));
  TN_TRY(device_constrain(p, d, relay_attr_obj(c->attrs, "dst_virtual_device"), span_of(c)));
  return set(p, c, d);
}

static int call_function(device_plan *p, const tn_RelayCall *c) {
  int32_t n = (int32_t)c->args->len + 1, f = of(p, c->op);
  TN_AUTOFREE int32_t *members = tn_alloc_array(n, sizeof *members);
  if (!members) return -1;
  for (int32_t i = 0; i + 1 < n; ++i) {
    members[i] = of(p, relay_arg(c, i));
    if (members[i] < 0) members[i] = device_leaf(p, NULL, NULL);
    if (members[i] < 0) return -1;
  }
  if ((members[n - 1] = device_domain_of_type(p, relay_type_of(c))) < 0) return -1;
  TN_TRY(set(p, c, members[n - 1]));
  int32_t wanted = device_function(p, members, n);
  return wanted < 0 ? -1 : device_unify(p, f, wanted, span_of(c));
}

/* ---- memory, and what the virtual machine does ---- */

static int to_host(device_plan *p, int32_t d, const tn_RelayCall *c) {
  return d < 0 ? 0
               : device_constrain(p, d, (const tn_obj *)p->config->host_virtual_device, span_of(c));
}

/* What computes extents is on the host: arguments from `first` on, and the result. */
static int on_host(device_plan *p, const tn_RelayCall *c, int64_t first) {
  int32_t d = device_leaf(p, relay_type_of(c), NULL);
  for (int64_t i = first; i < c->args->len; ++i) TN_TRY(to_host(p, of(p, relay_arg(c, i)), c));
  return d < 0 || to_host(p, d, c) ? -1 : set(p, c, d);
}

/* (size, alignment) */
static int storage(device_plan *p, const tn_RelayCall *c) {
  const tn_obj *device = relay_attr_obj(c->attrs, "virtual_device");
  int32_t d = device_leaf(p, relay_type_of(c), NULL);
  if (d < 0 || (device && device_constrain(p, d, device, span_of(c)))) return -1;
  TN_TRY(to_host(p, of(p, relay_arg(c, 0)), c));
  return set(p, c, d);
}

/* (storage, offset, shape), (data, shape): where the first is, the last on the host */
static int view(device_plan *p, const tn_RelayCall *c) {
  int32_t d = device_leaf(p, relay_type_of(c), NULL);
  if (d < 0 || device_unify(p, d, of(p, relay_arg(c, 0)), span_of(c))) return -1;
  TN_TRY(to_host(p, of(p, relay_arg(c, c->args->len - 1)), c));
  return set(p, c, d);
}

/* (kernel, inputs, outputs): all of them on its device */
static int invocation(device_plan *p, const tn_RelayCall *c) {
  const tn_FuncType *f = TN_AS(FuncType, relay_type_of(relay_arg(c, 0)));
  int32_t n = f ? (int32_t)f->arg_types->len + 1 : 0, d = of(p, relay_arg(c, 2)), wanted;
  TN_AUTOFREE int32_t *members = tn_alloc_array(n + 1, sizeof *members);
  if (!members || d < 0) return -1;
  for (int32_t i = 0; i < n; ++i) members[i] = d;
  TN_TRY(device_unify(p, d, of(p, relay_arg(c, 1)), span_of(c)));
  wanted = device_function(p, members, n);
  TN_TRY(wanted < 0 || device_unify(p, of(p, relay_arg(c, 0)), wanted, span_of(c)));
  return leaf(p, (const tn_obj *)c);
}

static const struct {
  const char *op;
  int (*rule)(device_plan *p, const tn_RelayCall *c);
  int64_t first; /* where there is no rule: the first argument that is on the host */
} explicit_ops[] = {
    {"memory.alloc_storage", storage, 0},
    {"memory.alloc_tensor", view, 0},
    {"vm.reshape_tensor", view, 0},
    {"vm.invoke_tvm_op", invocation, 0},
    {"vm.shape_func", NULL, 1},
    {"vm.check_shapes", NULL, 2},
    {"vm.shape_of", NULL, 1},
    {"vm.make_shape", NULL, 1},
    {"vm.check_extents", NULL, 2},
    {"memory.kill", NULL, 1},
};

/* Number of the operator among these, -1. */
static int explicit_op(const tn_RelayCall *c) {
  const char *op = relay_called_op(c);
  for (int i = 0; op && i < TN_COUNT(explicit_ops); ++i)
    if (strcmp(op, explicit_ops[i].op) == 0) return i;
  return -1;
}

static int call(device_plan *p, const tn_RelayCall *c) {
  int i = explicit_op(c);
  if (i >= 0)
    return explicit_ops[i].rule ? explicit_ops[i].rule(p, c) : on_host(p, c, explicit_ops[i].first);
  bool op = TN_AS(Op, c->op), made = TN_AS(Constructor, c->op);
  if (relay_as_call(c, "on_device")) return annotation(p, c);
  if (relay_as_call(c, "device_copy")) return copy(p, c);
  if (!op && !made) return call_function(p, c);
  return leaf(p, (const tn_obj *)c);
}

/* ---- functions ---- */

/* Kernels and what other code generators have are on one device. */
static bool is_closed(const tn_RelayFunction *f) {
  tn_any found;
  return ir_attrs_flag(f->attrs, "Primitive") || ir_attrs_get(f->attrs, "Compiler", &found);
}

static int function(device_plan *p, const tn_RelayFunction *f) {
  int32_t n = (int32_t)f->params->len + 1, one = -1, result;
  const tn_Type *type = f->ret_type ? f->ret_type : relay_type_of(f->body);
  TN_AUTOFREE int32_t *members = tn_alloc_array(n, sizeof *members);
  if (!members) return -1;
  if (is_closed(f)) TN_TRY((one = device_leaf(p, type, NULL)) < 0);
  for (int32_t i = 0; i + 1 < n; ++i) {
    members[i] = one < 0 ? of_var(p, (const tn_RelayVar *)tn_arr_obj(f->params, i)) : one;
    if (members[i] < 0) return -1;
  }
  result = one < 0 ? of(p, f->body) : one;
  if (result < 0) TN_TRY((result = device_leaf(p, type, NULL)) < 0);
  members[n - 1] = result;
  if (f->virtual_device_)
    TN_TRY(device_constrain(p, result, ((const relay_expr *)f)->virtual_device_, span_of(f)));
  return set(p, f, device_function(p, members, n));
}

/* A function of the module, before or after it was visited. */
static int global(device_plan *p, const tn_GlobalVar *v) {
  const tn_GlobalVar *own = ir_module_find_var(p->mod, tn_cstr(v->name_hint));
  tn_any f;
  if (own && !tn_pmap_has(&p->of, own)) {
    bool there = tn_map_get(p->mod->functions, tn_any_obj(own), &f);
    const tn_Type *t = there ? relay_type_of(f.v.obj) : NULL;
    TN_TRY(set(p, own, device_domain_of_type(p, t)));
  }
  return own && own != v ? set(p, v, of(p, own)) : 0;
}

/* ---- control flow ---- */

static int bind_pattern(void *ctx, tn_obj *o) {
  void **x = ctx;
  device_plan *p = x[0];
  const tn_Match *m = x[1];
  if (!TN_AS(RelayVar, o)) return 0;
  int32_t v = of_var(p, (const tn_RelayVar *)o);
  return v < 0 ? -1 : device_unify(p, v, of(p, m->data), span_of(m));
}

static int match(device_plan *p, const tn_Match *m) {
  int32_t d = device_domain_of_type(p, relay_type_of(m));
  if (d < 0) return -1;
  for (int64_t i = 0; i < m->clauses->len; ++i) {
    const tn_Clause *c = (const tn_Clause *)tn_arr_obj(m->clauses, i);
    void *x[] = {p, (void *)(uintptr_t)m};
    TN_TRY(tn_post_order(c->lhs, bind_pattern, x));
    TN_TRY(device_unify(p, d, of(p, c->rhs), span_of(m)));
  }
  return set(p, m, d);
}

static int choice(device_plan *p, const tn_RelayIf *e) {
  int32_t d = device_domain_of_type(p, relay_type_of(e));
  TN_TRY(d < 0 || tn_vec_push_obj(&p->conds, e->cond));
  TN_TRY(device_unify(p, d, of(p, e->true_branch), span_of(e)));
  TN_TRY(device_unify(p, d, of(p, e->false_branch), span_of(e)));
  return set(p, e, d);
}

static int let(device_plan *p, const tn_RelayLet *l) {
  TN_TRY(device_unify(p, of_var(p, l->var), of(p, l->value), span_of(l)));
  int32_t body = of(p, l->body);
  if (body < 0) body = device_leaf(p, relay_type_of(l), NULL);
  return set(p, l, body);
}

/* A field of a tuple; functions inside are where the tuple is. */
static int field(device_plan *p, const tn_TupleGetItem *e) {
  int32_t d = device_domain_of_type(p, relay_type_of(e));
  return d < 0 || device_unify(p, d, of(p, e->tuple_value), span_of(e)) ? -1 : set(p, e, d);
}

/* A reference is where what it holds is. */
static int reference(device_plan *p, const tn_obj *e) {
  int32_t d = device_leaf(p, relay_type_of(e), NULL);
  const void *operand;
  for (int64_t i = 0; d >= 0 && (operand = relay_operand(e, i)); ++i)
    TN_TRY(device_unify(p, d, of(p, operand), span_of(e)));
  return set(p, e, d);
}

static int visit(void *ctx, tn_obj *e) {
  device_plan *p = ctx;
  switch (e->type_index) {
  case TN_TI_RelayVar: return of_var(p, (const tn_RelayVar *)e) < 0 ? -1 : 0;
  case TN_TI_GlobalVar: return global(p, (const tn_GlobalVar *)e);
  case TN_TI_RelayCall: return call(p, (const tn_RelayCall *)e);
  case TN_TI_RelayFunction: return function(p, (const tn_RelayFunction *)e);
  case TN_TI_RelayLet: return let(p, (const tn_RelayLet *)e);
  case TN_TI_RelayIf: return choice(p, (const tn_RelayIf *)e);
  case TN_TI_Match: return match(p, (const tn_Match *)e);
  case TN_TI_TupleGetItem: return field(p, (const tn_TupleGetItem *)e);
  case TN_TI_Constant: return p->loose ? 0 : leaf(p, e);
  case TN_TI_RelayTuple: return leaf(p, e);
  case TN_TI_RefCreate:
  case TN_TI_RefRead:
  case TN_TI_RefWrite: return reference(p, e);
  case TN_TI_Constructor: return set(p, e, device_domain_of_type(p, relay_type_of(e)));
  default: return 0;
  }
}

/* ---- what is best on one device ---- */

static bool is_elsewhere(device_plan *p, int32_t a, int32_t b) {
  const device_domain *x = &p->domains[device_find(p, a)], *y = &p->domains[device_find(p, b)];
  return !x->n && !y->n && x->device && y->device && x->device != y->device;
}

static int join(void *ctx, tn_obj *e) {
  device_plan *p = ctx;
  const tn_RelayCall *c = TN_AS(RelayCall, e);
  if (!device_joins_operands(e)) return 0;
  const void *operand;
  int32_t d = of(p, e), one;
  for (int64_t i = c ? 1 : 0; (operand = relay_operand(e, i)); ++i)
    if ((one = of(p, operand)) >= 0 && !is_elsewhere(p, d, one))
      TN_TRY(device_unify(p, d, one, span_of(e)));
  return 0;
}

bool device_joins_operands(const tn_obj *e) {
  const tn_RelayCall *c = TN_AS(RelayCall, e);
  if (c && (relay_as_call(c, "on_device") || relay_as_call(c, "device_copy"))) return false;
  if (c && explicit_op(c) >= 0) return false;
  return c ? TN_AS(Op, c->op) || TN_AS(Constructor, c->op) : TN_AS(RelayTuple, e) != NULL;
}

static bool see(const tn_obj *parent, const tn_field *field_, const tn_obj *child) {
  (void)field_, (void)child;
  const tn_RelayFunction *f = TN_AS(RelayFunction, parent);
  return !(f && is_closed(f));
}

/* ---- all of it ---- */

static int visit_functions(device_plan *p) {
  const tn_map *all = p->mod->functions;
  for (int64_t i = 0; i < all->len; ++i) {
    const tn_RelayFunction *f = TN_AS(RelayFunction, all->entries[i].value.v.obj);
    const tn_GlobalVar *v = (const tn_GlobalVar *)all->entries[i].key.v.obj;
    if (!f) continue;
    TN_TRY(tn_post_order_if(f, see, visit, p));
    TN_TRY(global(p, v));
    TN_TRY(device_unify(p, of(p, v), of(p, f), span_of(f)));
  }
  for (int64_t i = 0; i < all->len; ++i) {
    const tn_RelayFunction *f = TN_AS(RelayFunction, all->entries[i].value.v.obj);
    if (f) TN_TRY(tn_post_order_if(f, see, join, p));
  }
  return 0;
}

/* Scalars that nothing wants elsewhere are computed where they decide. */
static int place_conditions(device_plan *p) {
  for (int64_t i = 0; i < p->conds.len; ++i) {
    int32_t d = of(p, p->conds.items[i].v.obj);
    if (d < 0) continue;
    const device_domain *root = &p->domains[device_find(p, d)];
    if (!root->n && !root->device && !root->large)
      TN_TRY(device_constrain(p, d, (const tn_obj *)p->config->host_virtual_device, NULL));
  }
  return 0;
}

static int place_the_rest(device_plan *p) {
  const tn_obj *dflt = (const tn_obj *)p->config->default_primitive_virtual_device;
  tn_VirtualDevice *device;
  TN_GET(device, device_canonical(p, dflt, NULL));
  for (int64_t i = 0; i < p->ndomains; ++i) {
    device_domain *d = &p->domains[i];
    if (d->parent == i && !d->n && !d->device) d->device = device;
  }
  return 0;
}

int device_plan_make(device_plan *p, tn_IRModule *m, const tn_CompilationConfig *config,
                     bool loose) {
  *p = (device_plan){.config = config, .mod = m, .loose = loose};
  TN_TRY(visit_functions(p));
  TN_TRY(place_conditions(p));
  return place_the_rest(p);
}
