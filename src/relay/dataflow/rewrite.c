/* Rewriting and partitioning by patterns, and the functions that Python calls (see pattern.h). */
#include <string.h>

#include "base/error.h"
#include "base/scope.h"
#include "base/stack.h"
#include "ir/module.h"
#include "ir/functor.h"
#include "object/functions.h"
#include "relay/analysis/analysis.h"
#include "relay/dataflow/groups.h"
#include "relay/infer.h"
#include "relay/expr/replace.h"
#include "tenon/object.h"

TN_NODES_DEFINE(TN_DATAFLOW_NODES, dataflow_types)

/* Callbacks that always find something new stop here. */
enum { MAX_ROUNDS = 100 };

/* ---- rewriting ---- */

static relay_expr *call_back(void *ctx, const df_group *group, relay_expr *pre, relay_expr *post,
                             const tn_pmap *now) {
  const tn_DFPatternCallback *c = ctx;
  if (!group) return post;
  tn_map *nodes;
  TN_GETP(nodes, df_node_map(&group->matched, now));
  tn_any args[] = {tn_any_obj(pre), tn_any_obj(post), tn_any_obj(nodes)}, ret = tn_any_none();
  TN_TRYP(tn_func_call(c->function, args, 3, &ret));
  relay_expr *e =
      tn_any_is_obj(&ret) && TN_IS(RelayExpr, ret.v.obj) ? (relay_expr *)ret.v.obj : NULL;
  if (!e) {
    TN_RAISE(TypeError, NULL, "pattern callback: expected an expression, got %s",
             tn_type_key((uint32_t)ret.type_index));
    tn_any_release(&ret);
    return NULL;
  }
  return tn_scope_own(e);
}

static relay_expr *rewrite_once(const tn_DFPatternCallback *c, relay_expr *e, tn_IRModule *mod) {
  __attribute__((cleanup(df_groups_fini))) df_groups g = {0};
  if (c->require_type) TN_GETP(e, relay_infer_expr(e, mod));
  TN_TRYP(df_find_groups(&g, c->pattern, e, mod, NULL));
  return df_rewrite_groups(&g, e, call_back, (void *)(uintptr_t)c);
}

relay_expr *df_rewrite(const tn_arr *callbacks, relay_expr *expr, tn_IRModule *mod) {
  for (int64_t round = 0; round < MAX_ROUNDS; ++round) {
    relay_expr *before = expr;
    for (int64_t i = 0; i < callbacks->len; ++i) {
      const tn_DFPatternCallback *c = TN_AS(DFPatternCallback, tn_arr_obj(callbacks, i));
      TN_CHECKP(c, TypeError, NULL, "rewrite: callback %lld is none", (long long)i);
      if (round > 0 && c->rewrite_once) continue;
      TN_GETP(expr, rewrite_once(c, expr, mod));
    }
    if (expr == before || tn_equal(expr, before, 0) == 1) break;
  }
  return expr;
}

/* ---- partitioning ---- */

typedef struct {
  const df_groups *groups;
  const tn_map *attrs;
  int64_t number; /* of groups so far */
  /* the function under construction */
  const df_group *group;
  const tn_pmap *now;
  tn_pmap built; /* expression -> what stands for it in the body */
  tn_vec params, args;
  tn_buf *name;
} partitioning;

/* Names the expression in the attribute that says what the function was made of. */
static void name_part(tn_buf *name, const tn_obj *e) {
  const char *op = relay_called_op(e);
  if (op) tn_buf_printf(name, "%s_", op);
  else if (TN_AS(RelayCall, e)) tn_buf_puts(name, "FunctionCall_");
  else if (TN_AS(RelayTuple, e)) tn_buf_puts(name, "Tuple_");
  else if (TN_AS(TupleGetItem, e))
    tn_buf_printf(name, "TupleGetItem%lld_", (long long)((const tn_TupleGetItem *)e)->index);
}

static relay_expr *param_of(partitioning *p, relay_expr *e) {
  TN_BUF(name);
  tn_RelayVar *v;
  tn_buf_printf(&name, "FunctionVar_%lld_%lld", (long long)p->number, (long long)p->params.len);
  TN_TRYP(tn_buf_ok(&name));
  TN_GETP(v, relay_var(tn_buf_cstr(&name), relay_type_of(e)));
  relay_expr *arg = tn_pmap_get(p->now, e);
  TN_TRYP(tn_vec_push_obj(&p->params, v));
  TN_TRYP(tn_vec_push_obj(&p->args, arg ? arg : e));
  return (relay_expr *)v;
}

/* Is a constant part of the pattern itself? */
static bool is_own_constant(const partitioning *p, const relay_expr *e) {
  const df_matched *m = &p->group->matched;
  for (int64_t i = 0; TN_AS(Constant, e) && i < m->patterns.len; ++i) {
    const void *pattern = m->patterns.items[i].v.obj;
    if (m->exprs.items[i].v.obj == (const void *)e &&
        (TN_AS(ConstantPattern, pattern) || TN_AS(ExprPattern, pattern)))
      return true;
  }
  return false;
}

static tn_obj *build_child(void *ctx, tn_obj *child);
static relay_expr *build(partitioning *p, relay_expr *e);

static int name_inner(void *ctx, tn_obj *e) {
  name_part(ctx, e);
  return 0;
}

/* A function stays whole; what it captures becomes parameters. */
static relay_expr *build_closure(partitioning *p, relay_expr *f) {
  TN_PMAP(values);
  tn_arr *captured;
  TN_GETP(captured, relay_free_vars(f));
  for (int64_t i = 0; i < captured->len; ++i) {
    relay_expr *v = (relay_expr *)tn_arr_obj(captured, i), *own;
    TN_GETP(own, build(p, v));
    TN_TRYP(tn_pmap_put(&values, ((const tn_RelayVar *)v)->vid, own));
  }
  TN_TRYP(tn_post_order(((const tn_RelayFunction *)f)->body, name_inner, p->name));
  return captured->len ? relay_substitute(f, &values) : f;
}

/* What stands for the expression in the body of the group's function. */
static relay_expr *build(partitioning *p, relay_expr *e) {
  relay_expr *known = tn_pmap_get(&p->built, e), *r = e;
  int64_t own = p->group - p->groups->items + 1;
  if (known) return known;
  TN_TRYP(tn_stack_check("a partition"));
  bool inside = tn_pmap_get_int(&p->groups->inside, e, 0) == own;
  if (inside && TN_AS(RelayFunction, e)) {
    TN_GETP(r, build_closure(p, e));
  } else if (inside) {
    TN_GETP(r, (relay_expr *)tn_map_children((tn_obj *)e, build_child, p));
    name_part(p->name, (tn_obj *)e);
  } else if (!TN_AS(Op, e) && !TN_AS(GlobalVar, e) && !TN_AS(Constructor, e) &&
             !is_own_constant(p, e)) {
    TN_GETP(r, param_of(p, e));
  }
  return tn_pmap_put(&p->built, e, r) ? NULL : r;
}

static tn_obj *build_child(void *ctx, tn_obj *child) {
  if (TN_AS(Array, child)) return tn_map_children(child, build_child, ctx);
  return TN_IS(RelayExpr, child) ? (tn_obj *)build(ctx, (relay_expr *)child) : child;
}

static relay_expr *make_function(partitioning *p, relay_expr *root) {
  relay_expr *body;
  tn_DictAttrs *attrs = NULL;
  tn_RelayFunction *f;
  TN_GETP(body, build(p, root));
  TN_TRYP(tn_buf_ok(p->name));
  TN_GETP(attrs, ir_attrs_with(NULL, "PartitionedFromPattern",
                               tn_any_obj(tn_str_from(tn_buf_cstr(p->name)))));
  for (int64_t i = 0; p->attrs && i < p->attrs->len; ++i) {
    const char *key;
    TN_TRYP(tn_any_to_cstr(&p->attrs->entries[i].key, &key));
    TN_GETP(attrs, ir_attrs_with(attrs, key, p->attrs->entries[i].value));
  }
  TN_GETP(f, relay_function(tn_arr_from(&p->params), body, NULL, attrs));
  return (relay_expr *)relay_call_new(f, tn_arr_from(&p->args), NULL);
}

static relay_expr *partition_group(void *ctx, const df_group *group, relay_expr *pre,
                                   relay_expr *post, const tn_pmap *now) {
  partitioning *p = ctx;
  TN_BUF(name);
  if (!group) return post;
  p->group = group;
  p->now = now;
  p->name = &name;
  p->params.len = p->args.len = 0;
  relay_expr *e = make_function(p, pre);
  tn_pmap_fini(&p->built);
  p->built = (tn_pmap){0};
  ++p->number;
  return relay_stands_for(e, pre);
}

relay_expr *df_partition(const tn_DFPattern *pattern, relay_expr *expr, const tn_map *attrs,
                         tn_func *check) {
  __attribute__((cleanup(df_groups_fini))) df_groups g = {0};
  TN_TRYP(df_find_groups(&g, pattern, expr, NULL, check));
  partitioning p = {.groups = &g, .attrs = attrs};
  relay_expr *e = df_rewrite_groups(&g, expr, partition_group, &p);
  tn_vec_fini(&p.params);
  tn_vec_fini(&p.args);
  tn_pmap_fini(&p.built);
  return e;
}

/* ---- from outside ---- */

/* (pattern, expression) -> bool */
static int match(TN_ARGS) {
  TN_NARGS("relay.dataflow_pattern.match", 2);
  TN_ARG_OBJ(DFPattern, pattern, 0);
  TN_ARG_OBJ(RelayExpr, e, 1);
  DF_MATCHED(m);
  int r = df_match(&m, pattern, e);
  if (r >= 0) *ret = tn_any_bool(r == 1);
  return r < 0 ? -1 : 0;
}

/* (callbacks, expression, module or None) -> expression */
static int rewrite(TN_ARGS) {
  TN_NARGS("relay.dataflow_pattern.rewrite", 3);
  TN_ARG_ITEMS(Array(Object), callbacks, 0);
  TN_ARG_OBJ(RelayExpr, e, 1);
  TN_ARG_OPT(IRModule, mod, 2);
  return tn_ret_obj(ret, df_rewrite(callbacks, e, mod));
}

/* (pattern, expression, attributes, check) -> expression */
static int partition(TN_ARGS) {
  TN_NARGS("relay.dataflow_pattern.partition", 4);
  TN_ARG_OBJ(DFPattern, pattern, 0);
  TN_ARG_OBJ(RelayExpr, e, 1);
  TN_ARG_OPT_ITEMS(Map(String, Object), attrs, 2);
  tn_func *check = NULL;
  if (tn_any_is_obj(&args[3]))
    TN_TRY(tn_any_to_obj(&args[3], "runtime.PackedFunc", (tn_obj **)&check));
  return tn_ret_obj(ret, df_partition(pattern, e, attrs, check));
}

static const tn_func_row rows[] = {
    {"relay.dataflow_pattern.match", match},
    {"relay.dataflow_pattern.rewrite", rewrite},
    {"relay.dataflow_pattern.partition", partition},
};

int df_init(void) {
  TN_TRY(tn_type_register_table(dataflow_types, TN_COUNT(dataflow_types)));
  return tn_func_register_rows(rows, TN_COUNT(rows));
}
