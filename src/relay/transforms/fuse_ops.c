/* FuseOps: operators that can be one kernel become one primitive function.

     %0 = nn.conv2d(%x, %w);  %1 = nn.bias_add(%0, %b);  nn.relu(%1)
   =>
     %0 = fn (%p0, %p1, %p2, Primitive=1) { nn.relu(nn.bias_add(nn.conv2d(%p0, %p1), %p2)) };
     %0(%x, %w, %b)

   An expression is fused with its post-dominator when the ways in between allow it, in three
   rounds: first what follows convolutions and the like, then chains of injective operators, then
   what feeds tuples. Runs before lowering; every call of an operator ends up in some primitive
   function. */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/scope.h"
#include "ir/functor.h"
#include "ir/module.h"
#include "object/functions.h"
#include "relay/transforms/fuse_graph.h"
#include "relay/transforms/transforms.h"

/* Where extents are dynamic, each broadcast of a kernel looks at those of all before it, to tell
   what is repeated: the kernel grows with the cube of their number. */
enum { DEFAULT_DEPTH = 256, MAX_OPEN = 16 };

/* Expressions that are one kernel: sets with a representative (union-find). */
typedef struct {
  int32_t parent; /* -1: representative */
  int32_t size;   /* number of expressions */
  int32_t open;   /* the work that dynamic extents add to their indices (fuse_node) */
  relay_pattern pattern;
  const relay_expr *root; /* the expression that is the result */
  bool anchored;          /* holds a convolution or the like */
  bool in_bands;          /* fused with its dominator whatever that is */
  tn_vec params, args; /* of the function under construction: variables and what they are given */
} group;

typedef struct {
  fuse_graph graph;
  group *groups;
  int64_t max_depth;
  bool link;      /* constants are part of the functions that read them */
  int32_t *stack; /* of a walk */
  uint32_t *seen; /* number of the walk that came by */
  uint32_t walk;
} fusion;

static int32_t find(const fusion *f, int32_t i) {
  while (f->groups[i].parent >= 0) {
    int32_t above = f->groups[f->groups[i].parent].parent;
    if (above >= 0) f->groups[i].parent = above; /* halves the way */
    i = f->groups[i].parent;
  }
  return i;
}

/* ---- walks from an expression to its post-dominator ---- */

typedef bool (*may_pass)(relay_pattern pattern, bool is_end);

static void push_readers(fusion *f, int32_t i, int32_t *n) {
  for (int32_t e = f->graph.nodes[i].first; e >= 0; e = f->graph.edges[e].next) {
    int32_t to = f->graph.edges[e].to;
    if (f->seen[to] == f->walk) continue;
    f->seen[to] = f->walk;
    f->stack[(*n)++] = to;
  }
}

static bool check_path(fusion *f, int32_t from, int32_t to, may_pass pass) {
  int32_t n = 0;
  ++f->walk;
  push_readers(f, from, &n);
  while (n > 0) {
    int32_t i = f->stack[--n];
    if (!pass(f->groups[find(f, i)].pattern, i == to)) return false;
    if (i != to) push_readers(f, i, &n);
  }
  return true;
}

/* Would one kernel have too many expressions? */
static bool is_too_large(fusion *f, int32_t from, int32_t to) {
  const group *into = &f->groups[find(f, to)];
  int64_t total = into->size + f->groups[from].size;
  int32_t n = 0, open = into->open + f->groups[from].open;
  ++f->walk;
  f->seen[from] = f->walk;
  push_readers(f, from, &n);
  while (n > 0 && total <= f->max_depth && open <= MAX_OPEN) {
    int32_t i = f->stack[--n];
    if (i == to) continue;
    total += f->groups[i].size;
    open += f->groups[i].open;
    push_readers(f, i, &n);
  }
  return total > f->max_depth || open > MAX_OPEN;
}

static void merge(fusion *f, int32_t child, int32_t into) {
  child = find(f, child);
  into = find(f, into);
  if (child == into) return;
  group *c = &f->groups[child], *p = &f->groups[into];
  p->size += c->size;
  p->open += c->open;
  c->parent = into;
  if (!c->anchored) return;
  p->anchored = true;
  p->pattern = fuse_stronger(p->pattern, c->pattern);
}

static void fuse(fusion *f, int32_t from, int32_t to) {
  int32_t n = 0;
  ++f->walk;
  f->stack[n++] = from;
  f->seen[from] = f->walk;
  while (n > 0) {
    int32_t i = f->stack[--n];
    if (i == to) continue;
    merge(f, i, to);
    push_readers(f, i, &n);
  }
}

/* ---- what may be fused ---- */

static bool pass_broadcast(relay_pattern p, bool is_end) {
  (void)is_end;
  return p <= RELAY_BROADCAST;
}
static bool pass_injective(relay_pattern p, bool is_end) {
  (void)is_end;
  return p <= RELAY_INJECTIVE;
}
static bool pass_to_kernel(relay_pattern p, bool is_end) {
  return p <= RELAY_INJECTIVE ||
         (is_end && (p == RELAY_COMM_REDUCE || p == RELAY_OUT_ELEMWISE_FUSABLE));
}

/* Injective operators that feed a tuple which is itself read by injective operators. */
static bool fits_tuple(fusion *f, int32_t i, int32_t dominator) {
  relay_pattern root = f->groups[find(f, dominator)].pattern;
  return f->groups[i].pattern <= RELAY_INJECTIVE && root != RELAY_TUPLE &&
         f->groups[dominator].pattern == RELAY_TUPLE && root <= RELAY_INJECTIVE &&
         check_path(f, i, dominator, pass_injective);
}

static bool fits(fusion *f, int32_t i, int32_t dominator, int round) {
  const fuse_node *n = &f->graph.nodes[i];
  relay_pattern own = f->groups[i].pattern;
  if (round == 2) return fits_tuple(f, i, dominator);
  if (find(f, i) == find(f, dominator) || f->groups[dominator].pattern == RELAY_TUPLE) return false;
  if (f->groups[i].in_bands) return round == 0;
  if (own == RELAY_OUT_ELEMWISE_FUSABLE)
    return round == 0 && n->way == RELAY_ELEMWISE && check_path(f, i, dominator, pass_broadcast);
  if (own <= RELAY_BROADCAST)
    return (n->way <= RELAY_INJECTIVE || n->way == RELAY_COMM_REDUCE) &&
           check_path(f, i, dominator, pass_to_kernel);
  if (own == RELAY_INJECTIVE || own == RELAY_TUPLE)
    return round == 1 && check_path(f, i, dominator, pass_injective);
  return false;
}

static void run_round(fusion *f, int round) {
  for (int32_t i = 0; i < f->graph.n; ++i) {
    int32_t dominator = f->graph.nodes[i].dominator;
    if (f->groups[i].pattern == RELAY_OPAQUE || dominator < 0) continue;
    if (is_too_large(f, i, dominator)) continue;
    if (fits(f, i, dominator, round)) fuse(f, i, dominator);
  }
}

/* FuseDepthwiseBlock has found convolutions that are one kernel: all from the mark on to the last of them.
 */
static void mark_bands(fusion *f, int32_t i) {
  const tn_RelayCall *mark = relay_as_call(f->graph.nodes[i].expr, "nn.contrib_clear_border");
  int64_t left = mark ? relay_attr_int(mark->attrs, "convolutions", 0) : 0;
  for (; left > 0 && f->graph.nodes[i].dominator >= 0; i = f->graph.nodes[i].dominator) {
    f->groups[i].in_bands = true;
    left -= f->graph.nodes[f->graph.nodes[i].dominator].pattern == RELAY_OUT_ELEMWISE_FUSABLE;
  }
}

static int make_groups(fusion *f, int level) {
  size_t n = (size_t)f->graph.n;
  f->groups = tn_alloc_zero(n + 1, sizeof *f->groups);
  f->stack = tn_alloc_zero(n + 1, sizeof *f->stack);
  f->seen = tn_alloc_zero(n + 1, sizeof *f->seen);
  if (!f->groups || !f->stack || !f->seen) return -1;
  for (size_t i = 0; i < n; ++i) {
    const fuse_node *node = &f->graph.nodes[i];
    f->groups[i] = (group){.parent = -1, .size = 1, .pattern = node->pattern, .root = node->expr};
    f->groups[i].anchored = node->pattern == RELAY_OUT_ELEMWISE_FUSABLE;
    f->groups[i].open = node->open;
  }
  for (int32_t i = 0; i < f->graph.n; ++i) mark_bands(f, i);
  for (int round = 0; level > 0 && round < 3; ++round) run_round(f, round);
  return 0;
}

static void fini(fusion *f) {
  for (int64_t i = 0; f->groups && i < f->graph.n; ++i) {
    tn_vec_fini(&f->groups[i].params);
    tn_vec_fini(&f->groups[i].args);
  }
  tn_free(f->groups);
  tn_free(f->stack);
  tn_free(f->seen);
  fuse_graph_fini(&f->graph);
}

/* ---- making the functions ---- */

static group *group_of(const fusion *f, const void *expr) {
  int32_t i = fuse_node_of(&f->graph, expr);
  return i < 0 ? NULL : &f->groups[find(f, i)];
}

/* What a group computes from outside is a parameter of its function. */
static tn_RelayVar *param_for(group *g, tn_obj *arg, tn_Type *type) {
  for (int64_t i = 0; i < g->args.len; ++i)
    if (g->args.items[i].v.obj == arg) return (tn_RelayVar *)g->params.items[i].v.obj;
  TN_BUF(name);
  tn_RelayVar *v;
  tn_buf_printf(&name, "p%lld", (long long)g->args.len);
  TN_TRYP(tn_buf_ok(&name));
  TN_GETP(v, relay_var(tn_buf_cstr(&name), type));
  TN_TRYP(tn_vec_push_obj(&g->args, arg));
  TN_TRYP(tn_vec_push_obj(&g->params, v));
  return v;
}

/* Operands as the group's function sees them. */
static tn_obj *inner(const fusion *f, group *own, tn_obj *pre, tn_obj *post) {
  group *g = group_of(f, pre);
  if (g == own || (f->link && TN_AS(Constant, post))) return post;
  return (tn_obj *)param_for(own, post, relay_type_of(pre));
}

static tn_arr *inner_all(const fusion *f, group *own, const tn_arr *pre, const tn_arr *post) {
  TN_VEC(v);
  for (int64_t i = 0; i < pre->len; ++i) {
    tn_obj *e;
    TN_GETP(e, inner(f, own, tn_arr_obj(pre, i), tn_arr_obj(post, i)));
    TN_TRYP(tn_vec_push_obj(&v, e));
  }
  return tn_arr_from(&v);
}

/* Does the function do nothing but give its argument another shape? */
static bool reshapes_only(const void *body) {
  const char *op;
  bool any = false;
  while ((op = relay_called_op(body)) != NULL) {
    if (strcmp(op, "reshape") != 0 && strcmp(op, "contrib_reverse_reshape") != 0) return false;
    any = true;
    body = relay_arg(TN_AS(RelayCall, body), 0);
  }
  return any && TN_AS(RelayVar, body);
}

/* @param root the last expression of the group, whose place the call has */
static tn_obj *close_group(group *g, const relay_expr *root, relay_expr *body) {
  tn_DictAttrs *attrs;
  tn_RelayFunction *f;
  tn_Type *type = relay_type_of(root);
  tn_RelayCall *call;
  TN_GETP(attrs, ir_attrs_with(NULL, "Primitive", tn_any_obj(tir_i32(1))));
  if (reshapes_only(body))
    TN_GETP(attrs, ir_attrs_with(attrs, "relay.reshape_only", tn_any_obj(tir_i32(1))));
  TN_GETP(f, relay_function(tn_arr_from(&g->params), body, type, attrs));
  TN_GETP(call, relay_call_new(f, tn_arr_from(&g->args), NULL));
  tn_retain(root->span);
  call->span = root->span;
  return (tn_obj *)call;
}

static tn_obj *rewrite_call(void *ctx, tn_obj *pre, tn_obj *post) {
  const fusion *f = ctx;
  const tn_RelayCall *c = (const tn_RelayCall *)pre;
  group *own = group_of(f, pre);
  if (relay_as_call(c, "annotation.stop_fusion") || relay_as_call(c, "annotation.checkpoint"))
    return relay_arg((const tn_RelayCall *)post, 0); /* marks that nothing reads from here on */
  if (!TN_AS(Op, c->op) || !own || relay_op_is_non_computational((const tn_obj *)c->op))
    return post;
  tn_arr *args;
  tn_RelayCall *r;
  TN_GETP(args, inner_all(f, own, c->args, ((const tn_RelayCall *)post)->args));
  TN_GETP(r, relay_call_new(c->op, args, c->attrs));
  return own->root == (const relay_expr *)pre
             ? close_group(own, (const relay_expr *)pre, (relay_expr *)r)
             : (tn_obj *)r;
}

static tn_obj *rewrite_tuple(void *ctx, tn_obj *pre, tn_obj *post) {
  const fusion *f = ctx;
  group *own = group_of(f, pre);
  if (!own || own->root == (const relay_expr *)pre) return post;
  tn_arr *fields;
  TN_GETP(fields, inner_all(f, own, ((const tn_RelayTuple *)pre)->fields,
                            ((const tn_RelayTuple *)post)->fields));
  return (tn_obj *)relay_tuple(fields);
}

static tn_obj *rewrite_get_item(void *ctx, tn_obj *pre, tn_obj *post) {
  const fusion *f = ctx;
  const tn_TupleGetItem *e = (const tn_TupleGetItem *)pre;
  group *own = group_of(f, pre);
  bool last = own && own->root == (const relay_expr *)pre;
  if (!own || (last && group_of(f, e->tuple_value) != own)) return post;
  tn_obj *tuple;
  tn_TupleGetItem *r;
  TN_GETP(tuple, inner(f, own, (tn_obj *)e->tuple_value,
                       (tn_obj *)((const tn_TupleGetItem *)post)->tuple_value));
  TN_GETP(r, relay_get_item(tuple, e->index));
  return last ? close_group(own, (const relay_expr *)pre, (relay_expr *)r) : (tn_obj *)r;
}

static const tn_rewrite_case cases[] = {
    TN_REWRITE(RelayCall, rewrite_call),
    TN_REWRITE(RelayTuple, rewrite_tuple),
    TN_REWRITE(TupleGetItem, rewrite_get_item),
};

/* @param level of optimisation; 0: every operator is a separate kernel */
static tn_RelayFunction *fuse_function(tn_RelayFunction *f, int level, int64_t max_depth,
                                       bool link) {
  fusion x = {.max_depth = max_depth, .link = link};
  tn_RelayFunction *r = NULL;
  if (fuse_graph_make(&x.graph, f, max_depth) == 0 && make_groups(&x, level) == 0)
    r = tn_rewrite(f, cases, TN_COUNT(cases), &x);
  fini(&x);
  return r;
}

/* arguments: level, -1 (default): that of the context; do constants stay in the functions
   (default: what the context says)? */
tn_RelayFunction *relay_fuse_ops(tn_RelayFunction *f, const tn_pass_ctx *c) {
  int64_t level = -1;
  bool link = false;
  if (c->nargs > 0) TN_TRYP(tn_any_to_int(&c->args[0], &level));
  if (c->nargs > 1) TN_TRYP(tn_any_to_bool(&c->args[1], &link));
  if (!link) link = ir_config_int(c->node, "relay.FuseOps.link_params", 0) != 0;
  if (level < 0) level = c->node->opt_level;
  int64_t depth = ir_config_int(c->node, "relay.FuseOps.max_depth", DEFAULT_DEPTH);
  return fuse_function(f, (int)level, depth > 0 ? depth : DEFAULT_DEPTH, link);
}
