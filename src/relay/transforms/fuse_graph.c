/* Making the graph of fusion, see fuse_graph.h. Linear in the number of expressions, without
 * recursion. */
#include "relay/transforms/fuse_graph.h"

#include "base/alloc.h"
#include "base/error.h"
#include "ir/functor.h"
#include "ir/module.h"
#include "object/functions.h"
#include "tenon/object.h"
#include "tenon/runtime.h"

int32_t fuse_node_of(const fuse_graph *g, const void *expr) {
  return (int32_t)tn_pmap_get_int(&g->index, expr, 0) - 1;
}

void fuse_graph_fini(fuse_graph *g) {
  tn_free(g->nodes);
  tn_free(g->edges);
  tn_pmap_fini(&g->index);
}

static int add_node(fuse_graph *g, const relay_expr *e, relay_pattern pattern) {
  TN_GROW(g->nodes, g->cap, g->n + 1, return -1);
  g->nodes[g->n] =
      (fuse_node){.expr = e, .pattern = pattern, .first = -1, .dominator = -1, .depth = 1};
  g->nodes[g->n].alike = (int32_t)g->n;
  return tn_pmap_put_int(&g->index, e, ++g->n);
}

/* `e` is read by the node made last. Operators and global functions are not nodes. */
static int add_edge(fuse_graph *g, const relay_expr *e, relay_pattern pattern) {
  int32_t from = fuse_node_of(g, e);
  if (from < 0) return 0;
  TN_GROW(g->edges, g->edge_cap, g->nedges + 1, return -1);
  g->edges[g->nedges] = (fuse_edge){(int32_t)g->n - 1, (int32_t)pattern, g->nodes[from].first};
  g->nodes[from].first = (int32_t)g->nedges++;
  return 0;
}

/* `e` is used by something that nothing is fused with. */
static void use_outside(fuse_graph *g, const void *e) {
  int32_t i = fuse_node_of(g, e);
  if (i < 0) return;
  g->nodes[i].outside = true;
}

/* ---- patterns of expressions ---- */

static bool same_shape(const relay_expr *a, const relay_expr *b) {
  const tn_TensorType *x = relay_tensor_type_of_expr(a), *y = relay_tensor_type_of_expr(b);
  if (!x || !y || x->shape->len != y->shape->len) return false;
  for (int64_t i = 0; i < x->shape->len; ++i)
    if (relay_dim_equal((tn_expr *)tn_arr_obj(x->shape, i), (tn_expr *)tn_arr_obj(y->shape, i)) !=
        1)
      return false;
  return true;
}

static bool is_static(const relay_expr *e) {
  const tn_Type *t = relay_type_of(e);
  return t && relay_is_static(t);
}

/* Does the operator number the elements of its argument anew, by extents that only a run tells? */
static bool divides_by_dynamic(const tn_RelayCall *c) {
  bool renumbers = relay_as_call(c, "reshape") || relay_as_call(c, "contrib_reverse_reshape");
  return renumbers && !is_static(relay_arg(c, 0));
}

/* An operator whose result's extents depend on values is computed by itself. So is a reshape of
   dynamic extents, which moves nothing then: as a part of a kernel it divides by them, for each
   element, and the quotients and remainders cancel only where extents are numbers. */
static relay_pattern pattern_of_call(const tn_RelayCall *c) {
  const tn_Op *op = TN_AS(Op, c->op);
  if (!op || relay_op_is_stateful((const tn_obj *)op)) return RELAY_OPAQUE;
  const relay_op_row *row = relay_op_row_of((const tn_obj *)op);
  if (row && row->data_mask && !is_static((const relay_expr *)c)) return RELAY_OPAQUE;
  if (divides_by_dynamic(c)) return RELAY_OPAQUE;
  return relay_op_pattern((const tn_obj *)op);
}

/* Has the argument an axis that may be repeated along the result's? */
static bool may_repeat(const relay_expr *result, const relay_expr *arg) {
  const tn_TensorType *to = relay_tensor_type_of_expr(result);
  const tn_TensorType *from = relay_tensor_type_of_expr(arg);
  for (int64_t i = 1; to && from && i <= from->shape->len && i <= to->shape->len; ++i) {
    tn_expr *own = relay_dim(from, from->shape->len - i), *out = relay_dim(to, to->shape->len - i);
    if (!tir_as_int((tn_obj *)own, &(int64_t){0}) && relay_dim_equal(own, out) != 1) return true;
  }
  return false;
}

/* How much more work the indices are for the stages that read them: a broadcast looks at all before
   it, to tell what is repeated. */
static int open_work(relay_pattern pattern, bool repeats) {
  return pattern == RELAY_BROADCAST && repeats;
}

/* May argument `k` have another extent at the i-th axis from the end than argument `a`? */
static bool may_enlarge(const fuse_graph *g, const tn_RelayCall *c, int64_t k, int64_t a,
                        int64_t i) {
  const tn_TensorType *t = relay_tensor_type_of_expr(relay_arg(c, k));
  int32_t x = fuse_node_of(g, relay_arg(c, k)), y = fuse_node_of(g, relay_arg(c, a));
  if (!t) return true;
  if (t->shape->len < i || relay_dim_is(relay_dim(t, t->shape->len - i), 1) == 1) return false;
  return x < 0 || y < 0 || g->nodes[x].alike != g->nodes[y].alike;
}

/* Has a call surely the extents of argument `a`? Dynamic ones are where nothing else broadcasts. */
static bool keeps_extents(const fuse_graph *g, const tn_RelayCall *c, relay_pattern pattern,
                          int64_t a) {
  const tn_TensorType *t = relay_tensor_type_of_expr((const relay_expr *)c),
                      *own = relay_tensor_type_of_expr(relay_arg(c, a));
  const relay_op_row *row = TN_AS(Op, c->op) ? relay_op_row_of((const tn_obj *)c->op) : NULL;
  if (pattern > RELAY_BROADCAST || !row || !t || !own || t->shape->len != own->shape->len)
    return false;
  if (same_shape((const relay_expr *)c, relay_arg(c, a))) return true;
  if (pattern == RELAY_ELEMWISE || relay_as_call(c, "nn.bias_add")) return a == 0;
  if (row->rel != relay_rel_broadcast && row->rel != relay_rel_broadcast_comp) return false;
  for (int64_t i = 1; i <= t->shape->len; ++i) {
    tn_expr *out = relay_dim(t, t->shape->len - i), *in = relay_dim(own, t->shape->len - i);
    if (relay_dim_equal(out, in) == 1) continue;
    if (!relay_dim_is_any(out) || !relay_dim_is_any(in)) return false;
    for (int64_t k = 0; k < c->args->len; ++k)
      if (k != a && may_enlarge(g, c, k, a, i)) return false;
  }
  return true;
}

static int add_call(fuse_graph *g, const tn_RelayCall *c) {
  relay_pattern pattern = pattern_of_call(c);
  TN_TRY(add_node(g, (const relay_expr *)c, pattern));
  fuse_node *own = &g->nodes[g->n - 1];
  bool repeats = false;
  if (!TN_AS(Op, c->op)) use_outside(g, c->op);
  for (int64_t i = 0; i < c->args->len; ++i) {
    const relay_expr *arg = relay_arg(c, i);
    int32_t from = fuse_node_of(g, arg);
    bool alike = keeps_extents(g, c, pattern, i);
    if (alike && from >= 0) own->alike = g->nodes[from].alike;
    repeats = repeats || (!alike && may_repeat((const relay_expr *)c, arg));
    TN_TRY(add_edge(g, arg, alike && pattern == RELAY_BROADCAST ? RELAY_ELEMWISE : pattern));
  }
  own->open = open_work(pattern, repeats);
  return 0;
}

static int add_tuple(fuse_graph *g, const tn_RelayTuple *t) {
  TN_TRY(add_node(g, (const relay_expr *)t, RELAY_TUPLE));
  for (int64_t i = 0; i < t->fields->len; ++i) {
    const relay_expr *field = (const relay_expr *)tn_arr_obj(t->fields, i);
    TN_TRY(add_edge(g, field, relay_tensor_type_of_expr(field) ? RELAY_INJECTIVE : RELAY_OPAQUE));
  }
  return 0;
}

static int add_get_item(fuse_graph *g, const tn_TupleGetItem *e) {
  const tn_TupleType *t = TN_AS(TupleType, relay_type_of(e->tuple_value));
  bool tensors = t != NULL;
  for (int64_t i = 0; t && i < t->fields->len; ++i)
    tensors = tensors && TN_AS(TensorType, tn_arr_obj(t->fields, i));
  relay_pattern pattern = tensors ? RELAY_INJECTIVE : RELAY_OPAQUE;
  TN_TRY(add_node(g, (const relay_expr *)e, pattern));
  return add_edge(g, e->tuple_value, pattern);
}

/* Scalars become part of the kernels that use them. */
static relay_pattern pattern_of_constant(const tn_Constant *c) {
  const DLTensor *t = tn_tensor_dl(c->data);
  tn_dtype d = t->dtype;
  bool plain =
      (d.code == kDLInt && d.bits >= 32) || (d.code == kDLFloat && d.bits >= 32) || ir_is_bool(d);
  return t->ndim == 0 && plain && d.lanes == 1 ? RELAY_ELEMWISE : RELAY_OPAQUE;
}

static int use_field(void *ctx, tn_obj *child) {
  use_outside(ctx, child);
  return 0;
}

static int visit(void *ctx, tn_obj *node) {
  fuse_graph *g = ctx;
  switch (node->type_index) {
  case TN_TI_RelayCall: return add_call(g, (const tn_RelayCall *)node);
  case TN_TI_RelayTuple: return add_tuple(g, (const tn_RelayTuple *)node);
  case TN_TI_TupleGetItem: return add_get_item(g, (const tn_TupleGetItem *)node);
  case TN_TI_Constant:
    return add_node(g, (const relay_expr *)node, pattern_of_constant((const tn_Constant *)node));
  case TN_TI_Clause: return tn_visit_children(node, use_field, g);
  default: break;
  }
  if (!tn_obj_is(node, &tn_type_RelayExpr) || TN_AS(Op, node) || TN_AS(GlobalVar, node)) return 0;
  TN_TRY(add_node(g, (const relay_expr *)node, RELAY_OPAQUE));
  if (TN_AS(RelayVar, node)) use_outside(g, node);
  return tn_visit_children(node, use_field, g);
}

/* ---- post-dominators ---- */

/* The nearest common dominator of two nodes; -1: none. */
static int32_t common(const fuse_graph *g, int32_t a, int32_t b, relay_pattern *way) {
  while (a != b) {
    if (a < 0 || b < 0) return -1;
    const fuse_node *x = &g->nodes[a], *y = &g->nodes[b];
    if (x->depth >= y->depth) {
      *way = fuse_stronger(*way, x->way);
      a = x->dominator;
    }
    if (y->depth >= x->depth) {
      *way = fuse_stronger(*way, y->way);
      b = y->dominator;
    }
  }
  return a;
}

/* With more readers than a kernel may have expressions, a node is not fused with them: its
 * dominator need not be found, which would take long for a constant that everything reads. */
static bool has_many_readers(const fuse_graph *g, const fuse_node *n, int64_t most) {
  int64_t count = 0;
  for (int32_t e = n->first; e >= 0 && count <= most; e = g->edges[e].next) ++count;
  return count > most;
}

/* Readers come after what they read, so the last node goes first. */
static void find_dominator(fuse_graph *g, int32_t i, int64_t max_depth) {
  fuse_node *n = &g->nodes[i];
  n->way = RELAY_OPAQUE;
  if (n->outside || n->first < 0 || has_many_readers(g, n, 2 * max_depth)) return;
  n->way = RELAY_ELEMWISE;
  int32_t found = g->edges[n->first].to;
  for (int32_t e = n->first; e >= 0; e = g->edges[e].next) {
    n->way = fuse_stronger(n->way, (relay_pattern)g->edges[e].pattern);
    found = common(g, found, g->edges[e].to, &n->way);
  }
  n->dominator = found;
  n->depth = found < 0 ? 1 : g->nodes[found].depth + 1;
}

/* What external code generators and earlier fusion have made is left alone. */
static bool see(const tn_obj *parent, const tn_field *field, const tn_obj *child) {
  (void)field, (void)child;
  const tn_RelayFunction *f = TN_AS(RelayFunction, parent);
  tn_any found;
  return !f ||
         !(ir_attrs_flag(f->attrs, "Primitive") || ir_attrs_get(f->attrs, "Compiler", &found));
}

int fuse_graph_make(fuse_graph *g, const tn_RelayFunction *f, int64_t max_depth) {
  TN_TRY(tn_post_order_if(f, see, visit, g));
  for (int64_t i = g->n - 1; i >= 0; --i) find_dominator(g, (int32_t)i, max_depth);
  return 0;
}
