/* Which results share memory: one pass in the order of execution, with a count of uses for each
   value. A value that dies gives its block back; the next one takes the smallest free block that is
   large enough, else the largest that is smaller and then grows, never one that differs more than
   16 times in size. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "driver/graph.h"
#include "ir/imm.h"
#include "ir/pass.h"

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

/* Blocks of a device without values, smallest first; of equal size the one freed first. */
typedef struct {
  const tn_VirtualDevice *device;
  int64_t *free;
  int64_t nfree, cap;
} free_blocks;

typedef struct {
  int *uses;   /* of each block: values in it that are still needed */
  int32_t *on; /* of each block: number of its device */
  free_blocks *devices;
  int64_t cap_uses, cap_on, ndevices, cap_devices;
  bool apart; /* every value has a block that no other one gets */
} planner;

static int32_t device_number(planner *p, const tn_VirtualDevice *d) {
  for (int64_t i = 0; i < p->ndevices; ++i)
    if (p->devices[i].device == d) return (int32_t)i;
  TN_GROW(p->devices, p->cap_devices, p->ndevices + 1, return -1);
  p->devices[p->ndevices] = (free_blocks){.device = d};
  return (int32_t)p->ndevices++;
}

static int add_block(graph_program *g, planner *p, int32_t device, int64_t bytes, int uses,
                     int32_t *out) {
  TN_GROW(g->block_bytes, g->block_cap, g->nblocks + 1, return -1);
  TN_GROW(p->uses, p->cap_uses, g->nblocks + 1, return -1);
  TN_GROW(p->on, p->cap_on, g->nblocks + 1, return -1);
  g->block_bytes[g->nblocks] = bytes;
  p->uses[g->nblocks] = uses;
  p->on[g->nblocks] = device;
  *out = (int32_t)g->nblocks++;
  return 0;
}

static int64_t lower_bound(const graph_program *g, const free_blocks *f, int64_t bytes) {
  int64_t lo = 0, hi = f->nfree;
  while (lo < hi) {
    int64_t mid = (lo + hi) / 2;
    if (g->block_bytes[f->free[mid]] < bytes) lo = mid + 1;
    else hi = mid;
  }
  return lo;
}

static int give_back(const graph_program *g, planner *p, int64_t block) {
  free_blocks *f = &p->devices[p->on[block]];
  TN_GROW(f->free, f->cap, f->nfree + 1, return -1);
  int64_t at = lower_bound(g, f, g->block_bytes[block] + 1);
  for (int64_t i = f->nfree++; i > at; --i) f->free[i] = f->free[i - 1];
  f->free[at] = block;
  return 0;
}

static int64_t take(const graph_program *g, free_blocks *f, int64_t bytes) {
  int64_t at = lower_bound(g, f, bytes);
  bool fits = at < f->nfree && g->block_bytes[f->free[at]] <= bytes * RANGE;
  if (!fits && at > 0 && g->block_bytes[f->free[at - 1]] >= bytes / RANGE) {
    --at;
    fits = true;
  }
  if (!fits) return -1;
  int64_t block = f->free[at];
  --f->nfree;
  for (int64_t i = at; i < f->nfree; ++i) f->free[i] = f->free[i + 1];
  return block;
}

static int give_memory(graph_program *g, planner *p, int32_t device, const tn_TensorType *t,
                       int uses, int32_t *out) {
  int64_t bytes = graph_type_bytes(t);
  int64_t block = p->apart ? -1 : take(g, &p->devices[device], bytes);
  if (block < 0) return add_block(g, p, device, bytes, uses, out);
  if (g->block_bytes[block] < bytes) g->block_bytes[block] = bytes;
  p->uses[block] = uses;
  *out = (int32_t)block;
  return 0;
}

/* ---- uses ---- */

typedef struct {
  int64_t *first; /* of each node: number of its first result */
  int *uses;      /* of each result */
} counts;

static int count_uses(const graph_program *g, counts *c) {
  int64_t total = 0;
  c->first = tn_alloc_zero((size_t)g->n + 1, sizeof *c->first);
  if (!c->first) return -1;
  for (int64_t i = 0; i < g->n; ++i) {
    c->first[i] = total;
    total += g->nodes[i].nresults;
  }
  c->uses = tn_alloc_zero((size_t)total + 1, sizeof *c->uses);
  if (!c->uses) return -1;
  for (int64_t i = 0; i < g->n; ++i)
    for (int k = 0; k < g->nodes[i].ninputs; ++k)
      ++c->uses[c->first[g->nodes[i].inputs[k].node] + g->nodes[i].inputs[k].index];
  for (int i = 0; i < g->nheads; ++i) ++c->uses[c->first[g->heads[i].node] + g->heads[i].index];
  return 0;
}

static int release(const graph_program *g, planner *p, int32_t block) {
  return p->uses[block] == 0 ? give_back(g, p, block) : 0;
}

/* The memory of the join that a result lies in, made with the first of its parts for as long as any
   of them is needed. */
static int share_memory(graph_program *g, planner *p, const counts *c, int64_t i, int k) {
  const graph_place *at = &g->nodes[i].place[k];
  graph_node *join = &g->nodes[at->join];
  if (join->storage[0] < 0) {
    int uses = c->uses[c->first[at->join]];
    int32_t on = device_number(p, join->device);
    if (on < 0) return -1;
    for (int64_t n = 0; n < at->join; ++n)
      for (int r = 0; g->nodes[n].place && r < g->nodes[n].nresults; ++r)
        if (g->nodes[n].place[r].join == at->join) uses += c->uses[c->first[n] + r];
    TN_TRY(give_memory(g, p, on, join->types[0], uses, &join->storage[0]));
  }
  g->nodes[i].storage[k] = join->storage[0];
  return 0;
}

static bool is_placed(const graph_node *n, int k) { return n->place && n->place[k].join >= 0; }

static int plan_node(graph_program *g, planner *p, const counts *c, int64_t i) {
  graph_node *n = &g->nodes[i];
  const int *uses = c->uses + c->first[i];
  int32_t on = device_number(p, n->device);
  if (on < 0) return -1;
  if (n->nop) {
    n->storage[0] = g->nodes[n->inputs[0].node].storage[n->inputs[0].index];
    p->uses[n->storage[0]] += uses[0];
  }
  for (int k = 0; !n->nop && k < n->nresults; ++k) {
    /* inputs and parameters are never given back: one use too many */
    if (n->join && !is_placed(n, k)) continue; /* made with the first of its parts */
    if (is_placed(n, k)) TN_TRY(share_memory(g, p, c, i, k));
    else if (!n->op)
      TN_TRY(add_block(g, p, on, graph_type_bytes(n->types[k]), uses[k] + 1, &n->storage[k]));
    else TN_TRY(give_memory(g, p, on, n->types[k], uses[k], &n->storage[k]));
  }
  for (int k = 0; !n->nop && n->op && k < n->nresults; ++k) TN_TRY(release(g, p, n->storage[k]));
  for (int k = 0; k < n->ninputs; ++k) {
    int32_t block = g->nodes[n->inputs[k].node].storage[n->inputs[k].index];
    --p->uses[block];
    TN_TRY(release(g, p, block));
  }
  return 0;
}

int graph_plan(graph_program *g) {
  const tn_PassContext *ctx = ir_pass_ctx_current();
  planner p = {.apart = ctx && ir_config_int(ctx, "relay.backend.disable_memory_plan", 0)};
  counts c = {0};
  int err = count_uses(g, &c);
  for (int64_t i = 0; i < g->n; ++i)
    if (g->nodes[i].join) g->nodes[i].storage[0] = -1;
  for (int64_t i = 0; i < g->n && !err; ++i) err = plan_node(g, &p, &c, i);
  tn_free(p.uses);
  tn_free(p.on);
  for (int64_t i = 0; i < p.ndevices; ++i) tn_free(p.devices[i].free);
  tn_free(p.devices);
  tn_free(c.first);
  tn_free(c.uses);
  return err;
}
