/* Concatenates whose operands are computed in their place:

     a = conv(x)          the first half of c's memory
     b = conv(y)          the second
     c = concatenate(a, b, axis=1)     nothing to do

   That takes operands that are made by kernels, each in one piece of the result: what is in front
   of the axis is one. What a caller may put memory of its own in place of, inputs and results of
   the graph, stays as it is. A join may be part of another one. */
#include "base/alloc.h"
#include "base/error.h"
#include "driver/external.h"
#include "driver/graph.h"
#include "ir/imm.h"
#include "object/functions.h"
#include "relay/op.h"

enum { ALIGNMENT = 64 }; /* of the memory that kernels ask for */

/* Is the kernel a concatenate of its parameters in their order, nothing before the axis? */
static bool is_concatenate(const graph_node *n) {
  const tn_RelayFunction *f = n->kernel;
  const tn_RelayCall *c = f && !external_is(f) ? relay_as_call(f->body, "concatenate") : NULL;
  const tn_RelayTuple *all = c ? TN_AS(RelayTuple, relay_arg(c, 0)) : NULL;
  if (!all || all->fields->len != f->params->len || n->ninputs != f->params->len) return false;
  for (int64_t i = 0; i < f->params->len; ++i)
    if (tn_arr_obj(all->fields, i) != tn_arr_obj(f->params, i)) return false;
  int64_t axis = relay_attr_int(c->attrs, "axis", 0), extent;
  const tn_arr *shape = n->types[0]->shape;
  if (axis < 0) axis += shape->len;
  for (int64_t i = 0; i < axis; ++i)
    if (!tir_as_int(tn_arr_obj(shape, i), &extent) || extent != 1) return false;
  return true;
}

/* The result whose memory an entry is. */
static graph_entry root_of(const graph_program *g, graph_entry e) {
  while (g->nodes[e.node].nop) e = g->nodes[e.node].inputs[0];
  return e;
}

static bool is_head(const graph_program *g, graph_entry e) {
  for (int i = 0; i < g->nheads; ++i) {
    graph_entry root = root_of(g, g->heads[i]);
    if (root.node == e.node && root.index == e.index) return true;
  }
  return false;
}

static bool can_be_part(const graph_program *g, const graph_node *join, graph_entry e) {
  const graph_node *n = &g->nodes[e.node];
  bool made = n->op && !n->nop && n->kernel && !external_is(n->kernel);
  return made && n->device == join->device && !(n->place && n->place[e.index].join >= 0) &&
         !is_head(g, e) && graph_type_bytes(n->types[e.index]) > 0;
}

static bool can_join(const graph_program *g, int64_t i) {
  const graph_node *n = &g->nodes[i];
  int64_t offset = 0;
  if (!n->op || n->nop || !is_concatenate(n) || is_head(g, (graph_entry){(int32_t)i, 0}))
    return false;
  for (int k = 0; k < n->ninputs; ++k) {
    graph_entry e = n->inputs[k];
    if (offset % ALIGNMENT || !can_be_part(g, n, e)) return false;
    for (int other = 0; other < k; ++other)
      if (n->inputs[other].node == e.node && n->inputs[other].index == e.index) return false;
    offset += graph_type_bytes(g->nodes[e.node].types[e.index]);
  }
  return n->ninputs > 0;
}

static int place(graph_program *g, graph_entry e, int32_t join, int64_t offset) {
  graph_node *n = &g->nodes[e.node];
  if (!n->place) {
    n->place = tn_alloc_array(n->nresults, sizeof *n->place);
    if (!n->place) return -1;
    for (int k = 0; k < n->nresults; ++k) n->place[k] = (graph_place){.join = -1};
  }
  n->place[e.index] = (graph_place){join, offset};
  return 0;
}

/* Parts of a join that lies in another one lie in that. Joins come in order, so that those further
   out are seen later. */
static void move_parts(graph_program *g, int32_t from, int32_t to, int64_t by) {
  for (int64_t i = 0; i < from; ++i)
    for (int k = 0; g->nodes[i].place && k < g->nodes[i].nresults; ++k) {
      graph_place *at = &g->nodes[i].place[k];
      if (at->join == from) *at = (graph_place){to, at->offset + by};
    }
}

/* Kernels of joins only are not built. */
static int drop_kernels(graph_program *g) {
  tn_map *kept;
  TN_GET(kept, tn_scope_own(tn_map_new()));
  for (int64_t i = 0; i < g->kernels->len; ++i) {
    const tn_map_entry *e = &g->kernels->entries[i];
    bool used = false;
    for (int64_t k = 0; k < g->n && !used; ++k)
      used = g->nodes[k].kernel && !g->nodes[k].join &&
             tn_str_eq((const tn_str *)e->key.v.obj, g->nodes[k].name);
    if (used) TN_TRY(tn_map_set(kept, e->key, e->value));
  }
  g->kernels = kept;
  return 0;
}

int graph_join(graph_program *g) {
  for (int64_t i = 0; i < g->n; ++i) {
    int64_t offset = 0;
    if (!can_join(g, i)) continue;
    graph_node *n = &g->nodes[i];
    n->join = true;
    for (int k = 0; k < n->ninputs; ++k) {
      graph_entry e = n->inputs[k];
      TN_TRY(place(g, e, (int32_t)i, offset));
      if (g->nodes[e.node].join) move_parts(g, e.node, (int32_t)i, offset);
      offset += graph_type_bytes(g->nodes[e.node].types[e.index]);
    }
  }
  return drop_kernels(g);
}
