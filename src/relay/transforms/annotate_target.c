/* AnnotateTarget: calls that another code generator takes are put between compiler_begin and
   compiler_end.

     nn.relu(%x)
   =>
     %0 = annotation.compiler_begin(%x, compiler="dnnl");
     annotation.compiler_end(nn.relu(%0), compiler="dnnl")

   A code generator T takes operators for which their attribute "target.T", (call) -> bool, says so,
   and composite functions (MergeComposite) whose name begins with "T.". The first of the list wins.
   A tuple or field between two calls of one code generator is its too, unless told otherwise. */
#include "base/error.h"
#include "base/scope.h"
#include "ir/module.h"
#include "ir/op.h"
#include "relay/infer.h"
#include "relay/expr/replace.h"
#include "relay/transforms/regions.h"
#include "relay/transforms/transforms.h"

typedef struct {
  const tn_arr *targets;
  bool others;   /* tuples and fields too */
  tn_pmap inner; /* expressions inside of composite functions: these are theirs */
} annotating;

static relay_expr *mark(const char *op, const char *compiler, relay_expr *e) {
  return relay_call(op, relay_attrs(op, 1, "compiler", tn_any_cstr(compiler)), 1, e);
}

static bool is_composite_of(const tn_RelayCall *c, const char *target) {
  const tn_RelayFunction *f = TN_AS(RelayFunction, c->op);
  const char *name = f ? ir_attrs_str(f->attrs, "Composite") : NULL;
  size_t n = strlen(target);
  return name && strncmp(name, target, n) == 0 && name[n] == '.';
}

static int op_takes(const tn_RelayCall *c, const char *target, bool *yes) {
  TN_BUF(key);
  tn_any found, arg = tn_any_obj(c), ret = tn_any_none();
  tn_func *f;
  *yes = false;
  tn_buf_printf(&key, "target.%s", target);
  TN_TRY(tn_buf_ok(&key));
  if (!TN_AS(Op, c->op) || !ir_op_attr((const tn_Op *)c->op, tn_buf_cstr(&key), &found)) return 0;
  TN_TRY(tn_any_to_obj(&found, "runtime.PackedFunc", (tn_obj **)&f));
  TN_TRY(tn_func_call(f, &arg, 1, &ret));
  int err = tn_any_to_bool(&ret, yes);
  tn_any_release(&ret);
  return err;
}

/* The code generator that takes a call; NULL in *out when none does. */
static int who_takes(const annotating *a, const tn_RelayCall *c, const char **out) {
  *out = NULL;
  for (int64_t i = 0; i < a->targets->len && !*out; ++i) {
    const char *target;
    bool yes;
    TN_TRY(tn_any_to_cstr(&a->targets->items[i], &target));
    TN_TRY(op_takes(c, target, &yes));
    if (yes || is_composite_of(c, target)) *out = target;
  }
  return 0;
}

static tn_arr *begin_all(const tn_arr *args, const char *compiler) {
  TN_VEC(v);
  for (int64_t i = 0; i < args->len; ++i) {
    relay_expr *e;
    TN_GETP(e, mark("annotation.compiler_begin", compiler, (relay_expr *)tn_arr_obj(args, i)));
    TN_TRYP(tn_vec_push_obj(&v, e));
  }
  return tn_arr_from(&v);
}

static tn_obj *end(relay_expr *e, const char *compiler) {
  return (tn_obj *)mark("annotation.compiler_end", compiler, e);
}

static tn_obj *annotate_call(void *ctx, tn_obj *pre, tn_obj *post) {
  const annotating *a = ctx;
  const tn_RelayCall *c = (const tn_RelayCall *)post;
  const char *compiler;
  tn_arr *args;
  relay_expr *call;
  if (tn_pmap_has(&a->inner, pre)) return post;
  TN_TRYP(who_takes(a, (const tn_RelayCall *)pre, &compiler));
  if (!compiler) return post;
  TN_GETP(args, begin_all(c->args, compiler));
  TN_GETP(call, relay_stands_for(relay_call_new(c->op, args, c->attrs), pre));
  return end(call, compiler);
}

/* The code generator that makes all of them; NULL: there is no such one. */
static const char *made_by(const tn_arr *fields) {
  const char *compiler = NULL;
  for (int64_t i = 0; i < fields->len; ++i) {
    const tn_RelayCall *e = region_end(tn_arr_obj(fields, i));
    const char *own = e ? relay_attr_str(e->attrs, "compiler") : NULL;
    if (!own || (compiler && strcmp(compiler, own) != 0)) return NULL;
    compiler = own;
  }
  return compiler;
}

static tn_obj *annotate_tuple(void *ctx, tn_obj *pre, tn_obj *post) {
  const annotating *a = ctx;
  const tn_arr *fields = ((const tn_RelayTuple *)post)->fields;
  const char *compiler = a->others ? made_by(fields) : NULL;
  tn_arr *args;
  if (!compiler) return post;
  TN_GETP(args, begin_all(fields, compiler));
  return end(relay_stands_for(relay_tuple(args), pre), compiler);
}

static tn_obj *annotate_get_item(void *ctx, tn_obj *pre, tn_obj *post) {
  const annotating *a = ctx;
  const tn_TupleGetItem *e = (const tn_TupleGetItem *)post;
  const tn_RelayCall *made = region_end(e->tuple_value);
  if (!a->others || !made) return post;
  const char *compiler = relay_attr_str(made->attrs, "compiler");
  relay_expr *tuple;
  TN_GETP(tuple, mark("annotation.compiler_begin", compiler, (relay_expr *)e->tuple_value));
  return end(relay_stands_for(relay_get_item(tuple, e->index), pre), compiler);
}

static const tn_rewrite_case cases[] = {
    TN_REWRITE(RelayCall, annotate_call),
    TN_REWRITE(RelayTuple, annotate_tuple),
    TN_REWRITE(TupleGetItem, annotate_get_item),
};

static int note_expr(void *ctx, tn_obj *node) { return tn_pmap_put_int(ctx, node, 1); }

static int note_inner(void *ctx, tn_obj *node) {
  annotating *a = ctx;
  const tn_RelayFunction *f = TN_AS(RelayFunction, node);
  return f && ir_attrs_str(f->attrs, "Composite") ? tn_post_order(f->body, note_expr, &a->inner)
                                                  : 0;
}

static tn_RelayFunction *annotate(annotating *a, tn_RelayFunction *f) {
  TN_TRYP(tn_post_order(f->body, note_inner, a));
  return tn_rewrite(f, cases, TN_COUNT(cases), a);
}

/* arguments: a name or an array of names, include_non_call_ops */
tn_RelayFunction *relay_annotate_target(tn_RelayFunction *f, const tn_pass_ctx *c) {
  annotating a = {.others = true};
  TN_CHECKP(c->nargs >= 1, TypeError, NULL, "AnnotateTarget: expected names of code generators");
  if (tn_any_is_obj(&c->args[0]) && TN_AS(Array, c->args[0].v.obj))
    a.targets = (const tn_arr *)c->args[0].v.obj;
  else TN_GETP(a.targets, tn_scope_own(tn_arr_new(c->args, 1)));
  if (c->nargs > 1) TN_TRYP(tn_any_to_bool(&c->args[1], &a.others));
  TN_GETP(f, relay_infer_expr(f, c->mod));
  tn_RelayFunction *r = annotate(&a, f);
  tn_pmap_fini(&a.inner);
  return r;
}
