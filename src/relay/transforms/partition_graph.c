/* PartitionGraph: regions for other code generators become functions of the module.

     annotation.compiler_end(nn.relu(annotation.compiler_begin(%x)))
   =>
     @tvmgen_default_dnnl_main_0(%x)

     def @tvmgen_default_dnnl_main_0(%dnnl_0_i0, Inline=1, Compiler="dnnl",
                                     global_symbol="tvmgen_default_dnnl_main_0", Primitive=1) {
       nn.relu(%dnnl_0_i0)
     }

   A region with several results gives a tuple. Regions of "default" are left where they are,
   without their marks. */
#include "base/error.h"
#include "base/scope.h"
#include "base/stack.h"
#include "ir/imm.h"
#include "ir/module.h"
#include "object/functions.h"
#include "relay/infer.h"
#include "relay/expr/replace.h"
#include "relay/transforms/regions.h"
#include "relay/transforms/transforms.h"

typedef struct {
  const char *module, *function; /* parts of the names of new functions */
  bool bind_constants;
  tn_map *functions; /* of the module: new ones are added */
  int64_t *count;    /* regions so far */
  regions all;
  tn_pmap done;  /* expression -> what it becomes */
  tn_pmap calls; /* region -> call of its function */
  tn_vec stack;
  /* the function under construction */
  const char *compiler;
  tn_pmap inner; /* expression -> what stands for it in the body */
  tn_vec params, args;
} partitioning;

static void fini(partitioning *p) {
  regions_fini(&p->all);
  tn_pmap_fini(&p->done);
  tn_pmap_fini(&p->calls);
  tn_pmap_fini(&p->inner);
  tn_vec_fini(&p->stack);
  tn_vec_fini(&p->params);
  tn_vec_fini(&p->args);
}

static bool is_default(const tn_RelayCall *mark) {
  return strcmp(relay_attr_str(mark->attrs, "compiler"), "default") == 0;
}

/* ---- the function of a region ---- */

/* What comes from outside is a parameter; constants may be part of the function. */
static relay_expr *param_of(partitioning *p, const tn_RelayCall *begin) {
  relay_expr *outside = relay_arg(begin, 0), *arg = tn_pmap_get(&p->done, outside);
  TN_BUF(name);
  tn_RelayVar *v;
  if (!arg) arg = outside;
  if (p->bind_constants && TN_AS(Constant, arg)) return arg;
  for (int64_t i = 0; i < p->args.len; ++i)
    if (p->args.items[i].v.obj == (const void *)arg) return (relay_expr *)p->params.items[i].v.obj;
  tn_buf_printf(&name, "%s_%lld_i%lld", p->compiler, (long long)*p->count, (long long)p->args.len);
  TN_TRYP(tn_buf_ok(&name));
  TN_GETP(v, relay_var(tn_buf_cstr(&name), relay_type_of(outside)));
  TN_TRYP(tn_vec_push_obj(&p->args, arg));
  TN_TRYP(tn_vec_push_obj(&p->params, v));
  return relay_stands_for(v, outside);
}

typedef struct {
  tn_pmap *map;
} mapping;

/* A child as the table has it; containers are looked through. */
static tn_obj *mapped(void *ctx, tn_obj *child) {
  const mapping *m = ctx;
  tn_obj *now = tn_pmap_get(m->map, child);
  if (now) return now;
  return TN_AS(Array, child) || TN_AS(Clause, child) ? tn_map_children(child, mapped, ctx) : child;
}

/* The expression with operands as the table has them. */
static relay_expr *map_operands(tn_pmap *map, const tn_obj *e) {
  mapping m = {map};
  return relay_stands_for(tn_map_children(e, mapped, &m), e);
}

static int inner_visit(void *ctx, tn_obj *node) {
  partitioning *p = ctx;
  const tn_RelayCall *begin = region_begin(node);
  relay_expr *e;
  if (!TN_IS(RelayExpr, node) || tn_pmap_has(&p->inner, node)) return 0;
  if (begin) TN_GET(e, param_of(p, begin));
  else TN_GET(e, map_operands(&p->inner, node));
  return tn_pmap_put(&p->inner, node, e);
}

/* What is below a begin is outside; functions are kept as they are. */
static bool see_inside(const tn_obj *parent, const tn_field *field, const tn_obj *child) {
  (void)field, (void)child;
  return !region_begin(parent) && !TN_AS(RelayFunction, parent);
}

static relay_expr *result_of(partitioning *p, const region *r) {
  TN_VEC(results);
  for (int64_t i = 0; i < r->ends.len; ++i) {
    const void *value = relay_arg((const tn_RelayCall *)r->ends.items[i].v.obj, 0);
    TN_TRYP(tn_post_order_if(value, see_inside, inner_visit, p));
    TN_TRYP(tn_vec_push_obj(&results, tn_pmap_get(&p->inner, value)));
  }
  if (results.len == 1) return (relay_expr *)results.items[0].v.obj;
  return (relay_expr *)relay_tuple(tn_arr_from(&results));
}

static tn_DictAttrs *attrs_of(const char *compiler, const char *name) {
  tn_DictAttrs *a;
  TN_GETP(a, ir_attrs_with(NULL, "Inline", tn_any_obj(tir_i32(1))));
  TN_GETP(a, ir_attrs_with(a, "Compiler", tn_any_obj(tn_str_from(compiler))));
  TN_GETP(a, ir_attrs_with(a, "global_symbol", tn_any_obj(tn_str_from(name))));
  return ir_attrs_with(a, "Primitive", tn_any_obj(tir_i32(1)));
}

/* Makes the function and its call. */
static relay_expr *call_region(partitioning *p, const region *r) {
  TN_BUF(name);
  relay_expr *body;
  tn_DictAttrs *attrs;
  tn_RelayFunction *f;
  tn_GlobalVar *v;
  p->compiler = r->compiler;
  p->params.len = p->args.len = 0;
  TN_GETP(body, result_of(p, r));
  tn_buf_printf(&name, "tvmgen_%s_%s_%s_%lld", p->module, r->compiler, p->function,
                (long long)*p->count);
  TN_TRYP(tn_buf_ok(&name));
  ++*p->count;
  TN_GETP(attrs, attrs_of(r->compiler, tn_buf_cstr(&name)));
  TN_GETP(f, relay_function(tn_arr_from(&p->params), body, relay_type_of(body), attrs));
  TN_GETP(v, ir_global_var(tn_buf_cstr(&name)));
  TN_TRYP(tn_map_set(p->functions, tn_any_obj(v), tn_any_obj(f)));
  return (relay_expr *)relay_call_new(v, tn_arr_from(&p->args), NULL);
}

/* What stands for a compiler_end: the call, or a field of what it gives. */
static relay_expr *result_at(partitioning *p, const tn_RelayCall *end) {
  const region *r = regions_of(&p->all, end);
  relay_expr *call = tn_pmap_get(&p->calls, r);
  if (!call) {
    TN_GETP(call, call_region(p, r));
    TN_TRYP(tn_pmap_put(&p->calls, r, call));
  }
  for (int64_t i = 0; r->ends.len > 1 && i < r->ends.len; ++i)
    if (r->ends.items[i].v.obj == (const void *)end) return (relay_expr *)relay_get_item(call, i);
  return call;
}

/* ---- everything else ---- */

/* Expressions that must be done before `e`: those outside that its region reads, or its operands.
 */
static int push_needed(partitioning *p, const tn_obj *e) {
  const tn_RelayCall *end = region_end(e);
  const region *r = end && !is_default(end) ? regions_of(&p->all, end) : NULL;
  const relay_expr *operand;
  for (int64_t i = 0; r && i < r->begins.len; ++i) {
    const void *arg = relay_arg((const tn_RelayCall *)r->begins.items[i].v.obj, 0);
    if (!tn_pmap_has(&p->done, arg)) TN_TRY(tn_vec_push_obj(&p->stack, arg));
  }
  for (int64_t i = 0; !r && (operand = relay_operand(e, i)) != NULL; ++i)
    if (!tn_pmap_has(&p->done, operand)) TN_TRY(tn_vec_push_obj(&p->stack, operand));
  return 0;
}

static relay_expr *finish(partitioning *p, const tn_obj *e) {
  const tn_RelayCall *end = region_end(e), *begin = region_begin(e);
  if (end && !is_default(end)) return relay_stands_for(result_at(p, end), e);
  if (end || begin) { /* of "default" */
    const void *arg = relay_arg(end ? end : begin, 0);
    relay_expr *now = tn_pmap_get(&p->done, arg);
    return now;
  }
  return map_operands(&p->done, e);
}

/* More steps than expressions and their operands would be a circle of regions. */
static tn_RelayFunction *partition(partitioning *p, tn_RelayFunction *f) {
  TN_PMAP(waiting);
  TN_TRYP(regions_find(&p->all, f));
  if (p->all.len == 0) return f;
  TN_TRYP(tn_vec_push_obj(&p->stack, f));
  while (p->stack.len > 0) {
    const tn_obj *e = p->stack.items[p->stack.len - 1].v.obj;
    int64_t n = p->stack.len;
    relay_expr *now;
    if (!tn_pmap_has(&p->done, e)) {
      TN_TRYP(push_needed(p, e));
      if (p->stack.len > n) {
        TN_CHECKP(!tn_pmap_has(&waiting, e), ValueError, NULL,
                  "PartitionGraph: regions of %s and others need one another: run "
                  "MergeCompilerRegions on what AnnotateTarget gives",
                  region_end(e) ? regions_of(&p->all, e)->compiler : "a code generator");
        TN_TRYP(tn_pmap_put_int(&waiting, e, 1));
        continue;
      }
      TN_GETP(now, finish(p, e));
      TN_TRYP(tn_pmap_put(&p->done, e, now));
    }
    --p->stack.len;
  }
  return tn_pmap_get(&p->done, f);
}

/* arguments: mod_name, bind_constants */
tn_IRModule *relay_partition_graph(tn_IRModule *m, const tn_pass_ctx *c) {
  const char *module = "default";
  bool bind = true;
  int64_t count = 0;
  tn_map *functions;
  if (c->nargs > 0) TN_TRYP(tn_any_to_cstr(&c->args[0], &module));
  if (c->nargs > 1) TN_TRYP(tn_any_to_bool(&c->args[1], &bind));
  TN_GETP(m, relay_infer_module(m));
  TN_GETP(functions, tn_scope_own(tn_map_new()));
  for (int64_t i = 0; i < m->functions->len; ++i) {
    const tn_map_entry *e = &m->functions->entries[i];
    tn_RelayFunction *f = TN_AS(RelayFunction, e->value.v.obj);
    tn_any found, value = e->value;
    if (f && !ir_attrs_get(f->attrs, "Compiler", &found)) {
      const char *name = tn_cstr(((const tn_GlobalVar *)e->key.v.obj)->name_hint);
      partitioning p = {module, name, bind, functions, &count, .compiler = ""};
      tn_RelayFunction *r = partition(&p, f);
      fini(&p);
      if (!r) return NULL;
      value = tn_any_obj(r);
    }
    TN_TRYP(tn_map_set(functions, e->key, value));
  }
  TN_GETP(m, ir_module_with_functions(m, functions));
  return relay_infer_module(m);
}
