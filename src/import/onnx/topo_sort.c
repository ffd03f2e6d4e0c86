/* The order in which the nodes of a graph are converted: that of the model, but what a node reads
   comes before it, as some converters write nodes in any order. Nodes that read each other in a
   circle keep their order; converting them then fails at what is not defined. */
#include "base/error.h"
#include "base/scope.h"
#include "import/onnx/import.h"
#include "object/functions.h"

enum { MAX_DEPTH = 32, UNSEEN = -1 };

/* What nodes read of other nodes of the graph. */
typedef struct {
  tn_map *maker; /* name -> number of the node that makes it */
  tn_vec needs;  /* numbers of nodes, one node after the other */
  tn_vec first;  /* of each node, and behind the last one: where its part begins */
} reads;

static void fini(reads *r) {
  tn_vec_fini(&r->needs);
  tn_vec_fini(&r->first);
}

/* A graph in an attribute, and those around it. Its own names hide those of the graph outside. */
typedef struct inner {
  const struct inner *around;
  int depth;
  tn_map *names;
} inner;

static int add_own(inner *in, const char *name) {
  return name && *name ? tn_map_set(in->names, tn_any_cstr(name), tn_any_int(1)) : 0;
}

static int find_own(inner *in, const onnx_graph *g) {
  TN_GET(in->names, tn_scope_own(tn_map_new()));
  for (size_t i = 0; i < g->n_input; ++i) TN_TRY(add_own(in, g->input[i]->name));
  for (size_t i = 0; i < g->n_initializer; ++i) TN_TRY(add_own(in, g->initializer[i]->name));
  for (size_t i = 0; i < g->n_node; ++i)
    for (size_t k = 0; k < g->node[i]->n_output; ++k) TN_TRY(add_own(in, g->node[i]->output[k]));
  return 0;
}

static int add_name(reads *r, const char *name, const inner *in) {
  tn_any made, own;
  if (!name || !*name || !tn_map_get(r->maker, tn_any_cstr(name), &made)) return 0;
  for (; in; in = in->around)
    if (tn_map_get(in->names, tn_any_cstr(name), &own)) return 0;
  return tn_vec_push(&r->needs, made);
}

/* With what the graphs in its attributes read; those that are too deep are refused later. */
static int add_reads(reads *r, const onnx_node *n, const inner *around) {
  inner in = {.around = around, .depth = around ? around->depth + 1 : 1};
  for (size_t i = 0; i < n->n_input; ++i) TN_TRY(add_name(r, n->input[i], around));
  for (size_t k = 0; k < n->n_attribute && in.depth <= MAX_DEPTH; ++k) {
    const onnx_graph *g = n->attribute[k]->g;
    if (!g) continue;
    TN_TRY(find_own(&in, g));
    for (size_t i = 0; i < g->n_node; ++i) TN_TRY(add_reads(r, g->node[i], &in));
    for (size_t i = 0; i < g->n_output; ++i) TN_TRY(add_name(r, g->output[i]->name, &in));
  }
  return 0;
}

/* Names that are known without a node are not its. */
static int find_reads(reads *r, const onnx_graph *g, onnx_is_known known, const void *ctx) {
  TN_GET(r->maker, tn_scope_own(tn_map_new()));
  for (size_t i = 0; i < g->n_node; ++i)
    for (size_t k = 0; k < g->node[i]->n_output; ++k) {
      const char *name = g->node[i]->output[k];
      tn_any made;
      if (!*name || known(ctx, name) || tn_map_get(r->maker, tn_any_cstr(name), &made)) continue;
      TN_TRY(tn_map_set(r->maker, tn_any_cstr(name), tn_any_int((int64_t)i)));
    }
  for (size_t i = 0; i < g->n_node; ++i) {
    TN_TRY(tn_vec_push(&r->first, tn_any_int(r->needs.len)));
    TN_TRY(add_reads(r, g->node[i], NULL));
  }
  return tn_vec_push(&r->first, tn_any_int(r->needs.len));
}

/* A node behind all that it reads, with its own stack: chains are long. */
static int place(const reads *r, int64_t node, tn_vec *next, tn_vec *stack, tn_vec *order) {
  const tn_any *first = r->first.items;
  if (next->items[node].v.i64 != UNSEEN) return 0;
  TN_TRY(tn_vec_push(stack, tn_any_int(node)));
  next->items[node] = first[node];
  while (stack->len > 0) {
    int64_t i = stack->items[stack->len - 1].v.i64;
    if (next->items[i].v.i64 == first[i + 1].v.i64) {
      TN_TRY(tn_vec_push(order, tn_any_int(i)));
      --stack->len;
      continue;
    }
    int64_t j = r->needs.items[next->items[i].v.i64++].v.i64;
    if (next->items[j].v.i64 != UNSEEN) continue;
    TN_TRY(tn_vec_push(stack, tn_any_int(j)));
    next->items[j] = first[j];
  }
  return 0;
}

int onnx_order(const onnx_graph *g, onnx_is_known known, const void *ctx, tn_vec *order) {
  TN_SCOPE(scope);
  TN_VEC(next);
  TN_VEC(stack);
  __attribute__((cleanup(fini))) reads r = {0};
  TN_TRY(find_reads(&r, g, known, ctx));
  for (size_t i = 0; i < g->n_node; ++i) TN_TRY(tn_vec_push(&next, tn_any_int(UNSEEN)));
  for (size_t i = 0; i < g->n_node; ++i) TN_TRY(place(&r, (int64_t)i, &next, &stack, order));
  return 0;
}
