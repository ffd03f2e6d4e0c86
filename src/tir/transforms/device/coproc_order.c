/* Which queue of a coprocessor has to wait for which, in a sequence of statements.

   A wait is a token: one queue pushes it when it has come so far, the other pops it before it goes
   on. Tokens of a pair of queues are told apart by their number alone, so that the k-th pop must be
   meant for the k-th push. That holds because between the two ends of a wait no other statement has
   commands of either queue: the push stands behind the last one of the first queue, the pop in
   front of the first one of the second. What is inside of a statement is balanced.

   A loop is looked at as two of its turns, one after the other. */
#include <string.h>

#include "base/alloc.h"
#include "tir/transforms/device/coproc_impl.h"

/* The commands of one queue in one unit; the second turn of a loop has the nodes of the first
   again, with units counted on. */
typedef struct {
  int64_t unit, queue;
} node;

typedef struct {
  tn_arena *arena;
  const coproc_unit *units;
  int64_t nunits, turns;
  node *nodes;
  int64_t n;
  uint8_t *reach; /* reach[a * n + b]: b begins after the end of a */
  coproc_edge *edges;
  int64_t nedges, cap_edges;
} order;

static const coproc_unit *unit_of(const order *o, const node *x) {
  return &o->units[x->unit % o->nunits];
}

static bool has_node(const order *o, int64_t from, int64_t unit, int64_t queue) {
  for (int64_t i = from; i < o->n && o->nodes[i].unit == unit; ++i) {
    if (o->nodes[i].queue == queue) return true;
  }
  return false;
}

static int find_nodes(order *o) {
  int64_t most = 0;
  for (int64_t i = 0; i < o->nunits; ++i) most += o->units[i].n;
  o->nodes = tn_arena_array(o->arena, most + 1, tn_array_bytes(0, o->turns, sizeof(node)));
  if (!o->nodes) return -1;
  for (int64_t u = 0; u < o->nunits * o->turns; ++u) {
    const coproc_unit *unit = &o->units[u % o->nunits];
    int64_t from = o->n;
    for (int64_t i = 0; i < unit->n; ++i) {
      int64_t queue = unit->uses[i].queue;
      if (queue != COPROC_HOST && !has_node(o, from, u, queue)) o->nodes[o->n++] = (node){u, queue};
    }
  }
  return 0;
}

static bool conflict(const order *o, const node *a, const node *b) {
  const coproc_unit *x = unit_of(o, a), *y = unit_of(o, b);
  for (int64_t i = 0; i < x->n; ++i) {
    for (int64_t j = 0; x->uses[i].queue == a->queue && j < y->n; ++j) {
      if (y->uses[j].queue == b->queue && coproc_conflict(&x->uses[i], &y->uses[j])) return true;
    }
  }
  return false;
}

/* What reaches a reaches b now. */
static void join(order *o, int64_t a, int64_t b) {
  for (int64_t x = 0; x < o->n; ++x) {
    if (x == a || o->reach[x * o->n + a]) o->reach[x * o->n + b] = 1;
  }
}

static int add_edge(order *o, const node *a, const node *b) {
  bool carried = a->unit / o->nunits != b->unit / o->nunits;
  coproc_edge e = {a->unit % o->nunits, b->unit % o->nunits, a->queue, b->queue, carried};
  for (int64_t i = 0; i < o->nedges; ++i) {
    const coproc_edge *k = &o->edges[i];
    if (k->src == e.src && k->dst == e.dst && k->from == e.from && k->to == e.to &&
        k->carried == e.carried)
      return 0;
  }
  if (o->nedges == o->cap_edges) {
    o->cap_edges = o->cap_edges ? o->cap_edges * 2 : 16;
    coproc_edge *all = tn_arena_array(o->arena, o->cap_edges, sizeof e);
    if (!all) return -1;
    if (o->nedges) memcpy(all, o->edges, sizeof e * (size_t)o->nedges);
    o->edges = all;
  }
  o->edges[o->nedges++] = e;
  return 0;
}

/* The queue of b waits for that of a: from the last commands before b to the first after them. */
static int wait(order *o, int64_t a, int64_t b) {
  int64_t src = a, dst = b;
  for (int64_t i = a; i < o->n && o->nodes[i].unit < o->nodes[b].unit; ++i) {
    if (o->nodes[i].queue == o->nodes[a].queue) src = i;
  }
  for (int64_t i = b; i > 0 && o->nodes[i].unit > o->nodes[src].unit; --i) {
    if (o->nodes[i].queue == o->nodes[b].queue) dst = i;
  }
  join(o, src, dst);
  for (int64_t i = dst + 1; i < o->n; ++i) { /* the rest of the queue is behind it */
    if (o->nodes[i].queue == o->nodes[dst].queue) join(o, dst, i);
  }
  return add_edge(o, &o->nodes[src], &o->nodes[dst]);
}

static int order_node(order *o, int64_t b) {
  for (int64_t a = b; a-- > 0;) {
    if (o->nodes[a].queue == o->nodes[b].queue && o->nodes[a].unit < o->nodes[b].unit)
      join(o, a, b);
  }
  for (int64_t a = b; a-- > 0;) {
    bool before = o->nodes[a].unit < o->nodes[b].unit && o->nodes[a].queue != o->nodes[b].queue;
    if (!before || o->reach[a * o->n + b] || !conflict(o, &o->nodes[a], &o->nodes[b])) continue;
    TN_TRY(wait(o, a, b));
  }
  return 0;
}

int64_t coproc_order(tn_arena *arena, const coproc_unit *units, int64_t n, bool loop,
                     coproc_edge **out) {
  order o = {.arena = arena, .units = units, .nunits = n, .turns = loop ? 2 : 1};
  *out = NULL;
  if (n == 0) return 0;
  TN_TRY(find_nodes(&o));
  if (o.n == 0) return 0;
  o.reach = tn_arena_array(arena, o.n, (size_t)o.n);
  if (!o.reach) return -1;
  for (int64_t b = 0; b < o.n; ++b) TN_TRY(order_node(&o, b));
  *out = o.edges;
  return o.nedges;
}
