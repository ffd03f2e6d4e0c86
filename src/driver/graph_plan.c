/* Which results share memory: a value is needed from the node that makes it to the last one that
   uses it, what the program returns to the end. Values share a block where these steps do not meet
   and sizes differ not more than 16 times (pack/pack.h). */
#include "base/alloc.h"
#include "base/error.h"
#include "driver/graph.h"
#include "ir/imm.h"
#include "ir/pass.h"
#include "pack/pack.h"

enum { RANGE = 16 };

int64_t graph_type_elements(const tn_TensorType *t) {
  int64_t n = 1, extent;
  for (int64_t i = 0; i < t->shape->len; ++i)
    n *= tir_as_int(tn_arr_obj(t->shape, i), &extent) ? extent : 0;
  return n;
}

int64_t graph_type_bytes(const tn_TensorType *t) {
  int64_t n = graph_type_elements(t);
  int64_t bits = t->dtype.bits == 1 ? 8 : t->dtype.bits;
  return (n * bits * t->dtype.lanes + 7) / 8;
}

/* Values that need memory, as buffers: results, but for those that are another one's memory (what
   computes nothing, parts of a join). */
typedef struct {
  graph_program *g;
  pack_buffer *buffers;
  int64_t n;
  int64_t *first;  /* of each node: number of its first result */
  int64_t *buffer; /* of each result: its buffer, -1: none yet */
  const tn_VirtualDevice **devices;
  int64_t ndevices, cap_devices;
  bool apart; /* every value has a block that no other one gets */
} planner;

static int32_t device_number(planner *p, const tn_VirtualDevice *d) {
  for (int64_t i = 0; i < p->ndevices; ++i)
    if (p->devices[i] == d) return (int32_t)i;
  TN_GROW(p->devices, p->cap_devices, p->ndevices + 1, return -1);
  p->devices[p->ndevices] = d;
  return (int32_t)p->ndevices++;
}

static int64_t *buffer_of(const planner *p, int64_t node, int64_t result) {
  return &p->buffer[p->first[node] + result];
}

/* Inputs and parameters share with nothing. */
static int add_buffer(planner *p, int64_t node, int result, int64_t step) {
  const graph_node *x = &p->g->nodes[node];
  int32_t on = device_number(p, x->device);
  if (on < 0) return -1;
  *buffer_of(p, node, result) = p->n;
  p->buffers[p->n++] = (pack_buffer){.bytes = graph_type_bytes(x->types[result]),
                                     .first = step,
                                     .last = step,
                                     .kind = x->op && !p->apart ? on : -1};
  return 0;
}

static void use(planner *p, int64_t buffer, int64_t step) {
  if (p->buffers[buffer].last < step) p->buffers[buffer].last = step;
}

static bool is_placed(const graph_node *n, int k) { return n->place && n->place[k].join >= 0; }

/* A part is in the memory of its join, which there is from the first of the parts on. */
static int add_part(planner *p, int64_t node, int result) {
  int64_t join = p->g->nodes[node].place[result].join;
  if (*buffer_of(p, join, 0) < 0) TN_TRY(add_buffer(p, join, 0, node));
  *buffer_of(p, node, result) = *buffer_of(p, join, 0);
  use(p, *buffer_of(p, node, result), node);
  return 0;
}

static int see_node(planner *p, int64_t i) {
  const graph_node *n = &p->g->nodes[i];
  for (int k = 0; k < n->ninputs; ++k)
    use(p, *buffer_of(p, n->inputs[k].node, n->inputs[k].index), i);
  if (n->nop) *buffer_of(p, i, 0) = *buffer_of(p, n->inputs[0].node, n->inputs[0].index);
  for (int k = 0; !n->nop && k < n->nresults; ++k) {
    if (is_placed(n, k)) TN_TRY(add_part(p, i, k));
    else if (!n->join) TN_TRY(add_buffer(p, i, k, i)); /* joins: with the first of their parts */
  }
  return 0;
}

/* Makes the buffers, in the order in which the program needs them. */
static int see_program(planner *p) {
  const graph_program *g = p->g;
  int64_t total = 0;
  TN_GET(p->first, tn_alloc_zero((size_t)g->n + 1, sizeof *p->first));
  for (int64_t i = 0; i < g->n; ++i) {
    p->first[i] = total;
    total += g->nodes[i].nresults;
  }
  TN_GET(p->buffer, tn_alloc_zero((size_t)total + 1, sizeof *p->buffer));
  TN_GET(p->buffers, tn_alloc_zero((size_t)total + 1, sizeof *p->buffers));
  for (int64_t i = 0; i < total; ++i) p->buffer[i] = -1;
  for (int64_t i = 0; i < g->n; ++i) TN_TRY(see_node(p, i));
  for (int i = 0; i < g->nheads; ++i)
    use(p, *buffer_of(p, g->heads[i].node, g->heads[i].index), PACK_FOREVER);
  return 0;
}

static int write_down(planner *p) {
  static const pack_sharing how = {.range = RANGE};
  graph_program *g = p->g;
  TN_GROW(g->block_bytes, g->block_cap, p->n + 1, return -1);
  g->nblocks = pack_blocks(p->buffers, p->n, &how, g->block_bytes);
  if (g->nblocks < 0) return -1;
  for (int64_t i = 0; i < g->n; ++i)
    for (int k = 0; k < g->nodes[i].nresults; ++k) {
      int64_t buffer = *buffer_of(p, i, k);
      if (buffer >= 0) g->nodes[i].storage[k] = p->buffers[buffer].pool;
    }
  return 0;
}

int graph_plan(graph_program *g) {
  const tn_PassContext *ctx = ir_pass_ctx_current();
  planner p = {.g = g, .apart = ctx && ir_config_int(ctx, "relay.backend.disable_memory_plan", 0)};
  int err = see_program(&p) || write_down(&p) ? -1 : 0;
  tn_free(p.buffers);
  tn_free(p.first);
  tn_free(p.buffer);
  tn_free(p.devices);
  return err;
}
