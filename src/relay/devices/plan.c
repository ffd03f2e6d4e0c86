/* PlanDevices(config): every value gets a device; where one is wanted elsewhere it is copied.

     %0 = on_device(add(%a, %b), virtual_device=cpu);  subtract(%0, %c)      the default is a gpu
   =>
     %0 = add(%a, %b);                                  %a and %b are parameters on the cpu
     %1 = on_device(%0, virtual_device=cpu, constrain_result=True);
     %2 = device_copy(%1, src_virtual_device=cpu, dst_virtual_device=gpu);
     subtract(%2, %c)

   A value is where the value is that is made from it: an on_device with constrain_result stands
   where that is not so, and around what is bound by let. Parameters have their virtual devices, and
   functions those of their results. */
#include "base/error.h"
#include "base/scope.h"
#include "relay/devices/devices.h"
#include "relay/transforms/transforms.h"
#include "ir/functor.h"
#include "ir/imm.h"
#include "ir/module.h"
#include "object/functions.h"
#include "relay/infer.h"
#include "relay/op.h"
#include "tenon/object.h"

/* ---- what a program says ---- */

static int find_annotation(void *ctx, tn_obj *e) {
  (void)ctx;
  const tn_RelayVar *v = TN_AS(RelayVar, e);
  if (relay_as_call(e, "on_device") || relay_as_call(e, "device_copy")) return 2;
  return v && v->virtual_device_ ? 2 : 0;
}

static int find_choice(void *ctx, tn_obj *e) {
  (void)ctx;
  return TN_AS(RelayIf, e) ? 2 : 0;
}

static bool any(const tn_IRModule *m, int (*find)(void *, tn_obj *)) {
  for (int64_t i = 0; i < m->functions->len; ++i) {
    const tn_obj *f = m->functions->entries[i].value.v.obj;
    if (TN_AS(RelayFunction, f) && tn_pre_order(f, find, NULL) == 2) return true;
  }
  return false;
}

bool device_names_any(const tn_IRModule *m) { return any(m, find_annotation); }
bool device_has_conditions(const tn_IRModule *m) { return any(m, find_choice); }

tn_CompilationConfig *device_config_of(tn_arr *targets) {
  tn_PassContext *ctx;
  TN_GETP(ctx, ir_pass_ctx_current());
  return target_compilation_config(targets, ir_config_int(ctx, "relay.fallback_device_type", -1));
}

/* ---- annotations that say what they mean ---- */

static tn_obj *stands_for(void *post, const tn_obj *pre) {
  relay_expr *r = post;
  const relay_expr *old = (const relay_expr *)pre;
  if (!r || r->_checked_type_) return post;
  tn_retain(old->_checked_type_);
  r->_checked_type_ = old->_checked_type_;
  return post;
}

static void *annotated(void *e, void *device) {
  void *attrs;
  TN_GETP(attrs, relay_attrs("on_device", 2, "virtual_device", tn_any_obj(device),
                             "constrain_result", tn_any_bool(true)));
  return stands_for(relay_call("on_device", attrs, 1, e), e);
}

/* An annotation whose value may be anywhere: NULL when it is none. */
static const tn_RelayCall *open_annotation(const void *e) {
  const tn_RelayCall *c = relay_as_call(e, "on_device");
  return c && !relay_attr_int(c->attrs, "constrain_result", 0) ? c : NULL;
}

/* What is bound or is the result of a function stays where it is annotated to be. */
static void *settled(const void *e) {
  const tn_RelayCall *c = open_annotation(e);
  if (!c) return (void *)(uintptr_t)e;
  return annotated(relay_arg(c, 0), relay_attr_obj(c->attrs, "virtual_device"));
}

static tn_obj *settle_let(void *ctx, tn_obj *pre, tn_obj *post) {
  (void)ctx;
  const tn_RelayLet *l = (const tn_RelayLet *)post;
  if (!open_annotation(l->value)) return post;
  return stands_for(relay_let(l->var, settled(l->value), l->body), pre);
}

static tn_obj *settle_function(void *ctx, tn_obj *pre, tn_obj *post) {
  (void)ctx, (void)pre;
  const tn_RelayFunction *f = (const tn_RelayFunction *)post;
  if (!open_annotation(f->body)) return post;
  tn_RelayFunction *r;
  TN_GETP(r, relay_fresh_copy(f));
  relay_expr *body = settled(f->body);
  if (!body) return NULL;
  tn_retain(body);
  tn_release(r->body);
  r->body = body;
  return stands_for(r, (const tn_obj *)f);
}

/* A field of what is annotated: the field is. */
static tn_obj *settle_field(void *ctx, tn_obj *pre, tn_obj *post) {
  (void)ctx;
  const tn_TupleGetItem *e = (const tn_TupleGetItem *)post;
  const tn_RelayCall *c = open_annotation(e->tuple_value);
  if (!c) return post;
  void *field = stands_for(relay_get_item(relay_arg(c, 0), e->index), pre);
  return field ? stands_for(relay_call("on_device", (void *)c->attrs, 1, field), pre) : NULL;
}

static const tn_rewrite_case settle_cases[] = {
    TN_REWRITE(RelayLet, settle_let),
    TN_REWRITE(RelayFunction, settle_function),
    TN_REWRITE(TupleGetItem, settle_field),
};

/* ---- writing the plan down ---- */

typedef struct {
  device_plan plan;
  tn_map *constants; /* virtual device -> map from constants to what they are there */
  tn_map *copies;    /* the same of values that are copied for operators there */
} writing;

static int put_device(void *e, tn_VirtualDevice *d) {
  relay_expr *r = e;
  if (r->virtual_device_ == (tn_obj *)d) return 0;
  tn_retain(d);
  tn_release(r->virtual_device_);
  r->virtual_device_ = (tn_obj *)d;
  return 0;
}

/* What was made of an expression for a device before; *there is where to note it. NULL without an
   error where nothing was. */
static void *made_before(tn_map *all, const void *e, const tn_VirtualDevice *d, tn_map **there) {
  tn_any device = tn_any_int((int64_t)(intptr_t)d), found;
  if (tn_map_get(all, device, &found)) *there = (tn_map *)found.v.obj;
  else {
    TN_GETP(*there, tn_scope_own(tn_map_new()));
    TN_TRYP(tn_map_set(all, device, tn_any_obj(*there)));
  }
  return tn_map_get(*there, tn_any_int((int64_t)(intptr_t)e), &found) ? found.v.obj : NULL;
}

static int note(tn_map *there, const void *e, void *made) {
  TN_GET(made, made);
  return tn_map_set(there, tn_any_int((int64_t)(intptr_t)e), tn_any_obj(made));
}

/* The constant as it is on a device, the same each time. */
static void *constant_on(writing *w, tn_obj *c, tn_VirtualDevice *d) {
  tn_map *there;
  tn_obj *copy;
  if (!d) return c;
  copy = made_before(w->constants, c, d, &there);
  if (copy || tn_error_pending()) return copy;
  TN_GETP(copy, tn_node_copy(c->type, c));
  TN_TRYP(put_device(copy, d) || note(there, c, copy));
  return copy;
}

/* These say themselves where they are, or are everywhere. */
static bool needs_no_mark(const tn_obj *e) {
  return TN_AS(RelayVar, e) || TN_AS(GlobalVar, e) || TN_AS(Op, e) || TN_AS(Constructor, e) ||
         TN_AS(RelayFunction, e) || TN_AS(FuncType, relay_type_of(e));
}

/* The operand `post` (before: `pre`) of something on device `d`. */
static void *operand_of(writing *w, void *pre, void *post, tn_VirtualDevice *d, bool always) {
  tn_VirtualDevice *own = device_of(&w->plan, pre);
  if (TN_AS(Constant, pre) && TN_AS(Constant, post)) {
    TN_GETP(post, constant_on(w, post, own ? own : d));
    return always && d ? annotated(post, d) : post;
  }
  if (!own || (own == d && !always) || needs_no_mark(post)) return post;
  return annotated(post, own);
}

/* `e`, on device `from`, for a place on device `to`. */
static void *moved(void *e, tn_VirtualDevice *from, tn_VirtualDevice *to, const tn_obj *pre) {
  void *attrs;
  if (!needs_no_mark(e) && !relay_as_call(e, "on_device")) TN_GETP(e, annotated(e, from));
  TN_GETP(attrs, relay_attrs("device_copy", 2, "src_virtual_device", tn_any_obj(from),
                             "dst_virtual_device", tn_any_obj(to)));
  return stands_for(relay_call("device_copy", attrs, 1, e), pre);
}

/* The operand on device `d`, copied there once. */
static void *operand_on(writing *w, void *pre, void *post, tn_VirtualDevice *d) {
  tn_VirtualDevice *own = device_of(&w->plan, pre);
  tn_map *there;
  void *copy;
  bool moves = own && d && own != d && !TN_AS(Constant, post) &&
               !TN_AS(FuncType, relay_type_of((tn_obj *)pre));
  if (!moves) return operand_of(w, pre, post, d, false);
  copy = made_before(w->copies, post, d, &there);
  if (copy || tn_error_pending()) return copy;
  TN_GETP(copy, moved(post, own, d, pre));
  return note(there, post, copy) ? NULL : copy;
}

/* @param of what they are operands of */
static tn_arr *operands_of(writing *w, const tn_arr *pre, const tn_arr *post, const tn_obj *of,
                           bool *changed) {
  TN_VEC(v);
  tn_VirtualDevice *d = device_of(&w->plan, of);
  bool joins = device_joins_operands(of);
  for (int64_t i = 0; i < pre->len; ++i) {
    void *e, *before = tn_arr_obj(pre, i), *after = tn_arr_obj(post, i);
    TN_GETP(e, joins ? operand_on(w, before, after, d) : operand_of(w, before, after, d, false));
    *changed |= e != after;
    TN_TRYP(tn_vec_push_obj(&v, e));
  }
  return tn_arr_from(&v);
}

/* on_device and device_copy: their argument, copied where the plan says so. */
static tn_obj *write_mark(writing *w, const tn_RelayCall *pre, const tn_RelayCall *post) {
  tn_VirtualDevice *to = device_of(&w->plan, pre), *from = device_of(&w->plan, relay_arg(pre, 0));
  tn_obj *e = relay_arg(post, 0);
  if (TN_AS(Constant, e)) {
    const tn_obj *said = relay_attr_obj(pre->attrs, "virtual_device");
    if (!said) said = relay_attr_obj(pre->attrs, "src_virtual_device");
    bool bound = relay_attr_int(pre->attrs, "constrain_body", 1);
    if (bound) TN_GETP(from, device_canonical(&w->plan, said, pre->span));
    TN_GETP(e, constant_on(w, e, from ? from : to));
  }
  return !from || from == to ? e : moved(e, from, to, (const tn_obj *)pre);
}

static tn_obj *write_call(void *ctx, tn_obj *pre, tn_obj *post) {
  writing *w = ctx;
  const tn_RelayCall *c = (const tn_RelayCall *)pre, *r = (const tn_RelayCall *)post;
  tn_arr *args;
  bool changed = false;
  tn_RelayCall *out;
  if (relay_as_call(c, "on_device") || relay_as_call(c, "device_copy")) return write_mark(w, c, r);
  TN_GETP(args, operands_of(w, c->args, r->args, pre, &changed));
  if (!changed) return post;
  TN_GETP(out, relay_call_new(r->op, args, r->attrs));
  ((relay_expr *)out)->span = r->span;
  tn_retain(r->span);
  return stands_for(out, pre);
}

static tn_obj *write_tuple(void *ctx, tn_obj *pre, tn_obj *post) {
  writing *w = ctx;
  bool changed = false;
  tn_arr *fields;
  TN_GETP(fields, operands_of(w, ((const tn_RelayTuple *)pre)->fields,
                              ((const tn_RelayTuple *)post)->fields, pre, &changed));
  return changed ? stands_for(relay_tuple(fields), pre) : post;
}

static tn_obj *write_var(void *ctx, tn_obj *pre, tn_obj *post) {
  writing *w = ctx;
  const tn_RelayVar *v = (const tn_RelayVar *)pre;
  tn_VirtualDevice *d = TN_AS(FuncType, relay_type_of(v)) ? NULL : device_of(&w->plan, v);
  if (!d || v->virtual_device_ == (tn_obj *)d) return post;
  tn_obj *copy;
  TN_GETP(copy, tn_node_copy(pre->type, pre));
  return put_device(copy, d) ? NULL : copy;
}

static tn_obj *write_let(void *ctx, tn_obj *pre, tn_obj *post) {
  writing *w = ctx;
  const tn_RelayLet *l = (const tn_RelayLet *)pre, *r = (const tn_RelayLet *)post;
  void *value, *body;
  TN_GETP(value, operand_of(w, l->value, r->value, device_of(&w->plan, l->var), true));
  TN_GETP(body, operand_of(w, l->body, r->body, device_of(&w->plan, l), false));
  if (value == (void *)r->value && body == (void *)r->body) return post;
  return stands_for(relay_let(r->var, value, body), pre);
}

/* The host has to know the condition. */
static void *condition(writing *w, relay_expr *pre, relay_expr *post) {
  tn_VirtualDevice *host, *own = device_of(&w->plan, pre);
  TN_GETP(host,
          device_canonical(&w->plan, (const tn_obj *)w->plan.config->host_virtual_device, NULL));
  if (TN_AS(Constant, pre)) return constant_on(w, (tn_obj *)post, host);
  if (!own || own->device_type_int == host->device_type_int) return post;
  return moved(post, own, host, (const tn_obj *)pre);
}

static tn_obj *write_if(void *ctx, tn_obj *pre, tn_obj *post) {
  writing *w = ctx;
  const tn_RelayIf *e = (const tn_RelayIf *)pre, *r = (const tn_RelayIf *)post;
  tn_VirtualDevice *d = device_of(&w->plan, e);
  void *cond, *yes, *no;
  TN_GETP(cond, condition(w, e->cond, r->cond));
  TN_GETP(yes, operand_of(w, e->true_branch, r->true_branch, d, false));
  TN_GETP(no, operand_of(w, e->false_branch, r->false_branch, d, false));
  return stands_for(relay_if(cond, yes, no), pre);
}

static tn_obj *write_function(void *ctx, tn_obj *pre, tn_obj *post) {
  writing *w = ctx;
  const tn_RelayFunction *f = (const tn_RelayFunction *)pre;
  tn_VirtualDevice *d = device_of(&w->plan, f);
  tn_RelayFunction *r;
  relay_expr *body;
  if (!d || TN_AS(FuncType, f->ret_type)) return post;
  TN_GETP(r, tn_node_copy(post->type, post));
  TN_GETP(body, operand_of(w, f->body, r->body, d, false));
  tn_retain(body);
  tn_release(r->body);
  r->body = body;
  return put_device(r, d) ? NULL : (tn_obj *)r;
}

static const tn_rewrite_case write_cases[] = {
    TN_REWRITE(RelayVar, write_var),     TN_REWRITE(RelayCall, write_call),
    TN_REWRITE(RelayTuple, write_tuple), TN_REWRITE(RelayLet, write_let),
    TN_REWRITE(RelayIf, write_if),       TN_REWRITE(RelayFunction, write_function),
};

/* Kernels stay as they are: they are on the device of their call. */
static bool outside_kernels(void *ctx, const tn_obj *o) {
  const tn_RelayFunction *f = TN_AS(RelayFunction, o);
  tn_any found;
  (void)ctx;
  return !f ||
         !(ir_attrs_flag(f->attrs, "Primitive") || ir_attrs_get(f->attrs, "Compiler", &found));
}

static tn_IRModule *rewrite(tn_IRModule *m, const tn_rewrite_case *cases, int n, void *ctx) {
  tn_map *functions;
  TN_GETP(functions, tn_scope_own(tn_map_new()));
  for (int64_t i = 0; i < m->functions->len; ++i) {
    const tn_map_entry *e = &m->functions->entries[i];
    tn_obj *f = e->value.v.obj;
    if (TN_AS(RelayFunction, f) && outside_kernels(NULL, f))
      TN_GETP(f, tn_rewrite_if(f, outside_kernels, cases, n, ctx));
    TN_TRYP(tn_map_set(functions, e->key, tn_any_obj(f)));
  }
  return ir_module_with_functions(m, functions);
}

static tn_IRModule *plan(tn_IRModule *m, const tn_CompilationConfig *config) {
  writing w = {0};
  TN_GETP(m, relay_infer_module(m));
  TN_GETP(m, rewrite(m, settle_cases, TN_COUNT(settle_cases), NULL));
  TN_GETP(m, relay_infer_module(m));
  TN_GETP(w.constants, tn_scope_own(tn_map_new()));
  TN_GETP(w.copies, tn_scope_own(tn_map_new()));
  tn_IRModule *r = device_plan_make(&w.plan, m, config, true)
                       ? NULL
                       : rewrite(m, write_cases, TN_COUNT(write_cases), &w);
  device_plan_fini(&w.plan);
  return r ? relay_infer_module(r) : NULL;
}

/* argument: CompilationConfig */
tn_IRModule *relay_plan_devices(tn_IRModule *m, const tn_pass_ctx *c) {
  tn_obj *config = NULL;
  TN_CHECKP(c->nargs == 1, TypeError, NULL, "PlanDevices: expected a CompilationConfig");
  TN_TRYP(tn_arg_obj(c->args, c->nargs, 0, &tn_type_CompilationConfig, &config));
  TN_CHECKP(config, TypeError, NULL, "PlanDevices: expected a CompilationConfig, got None");
  return plan(m, (const tn_CompilationConfig *)config);
}
