/* The graph that fusion works on: expressions of a function in order of their operands, who reads
   them and how, and the post-dominator of each: the nearest expression through which everything
   passes that depends on it. */
#ifndef TN_RELAY_TRANSFORMS_FUSE_GRAPH_H_
#define TN_RELAY_TRANSFORMS_FUSE_GRAPH_H_

#include "base/pmap.h"
#include "relay/op.h"

typedef struct {
  int32_t to;      /* node that reads */
  int32_t pattern; /* how (relay_pattern) */
  int32_t next;    /* further edge of the same node, -1: none */
} fuse_edge;

typedef struct {
  const relay_expr *expr;
  relay_pattern pattern;
  bool outside;  /* also used by what is not part of the graph */
  int open;      /* what it adds to the indices of a kernel with dynamic extents: see open_work */
  int32_t alike; /* the first node that surely has its extents, itself where none does */
  int32_t first; /* its edges, the last one added first; -1: none */
  int32_t dominator; /* node, -1: none */
  int32_t depth;     /* in the tree of post-dominators */
  relay_pattern way; /* strongest pattern on any way to the dominator */
} fuse_node;

typedef struct {
  fuse_node *nodes;
  fuse_edge *edges;
  int64_t n, cap, nedges, edge_cap;
  tn_pmap index; /* expression -> 1 + its node */
} fuse_graph;

/* Fills the graph of a function whose types are known. The caller ends it, also after an error.
 * `max_depth`: most expressions in a kernel. */
int fuse_graph_make(fuse_graph *g, const tn_RelayFunction *f, int64_t max_depth);
void fuse_graph_fini(fuse_graph *g);
/* The node of an expression, -1 when it has none. */
int32_t fuse_node_of(const fuse_graph *g, const void *expr);

static inline relay_pattern fuse_stronger(relay_pattern a, relay_pattern b) {
  return a > b ? a : b;
}

#endif /* TN_RELAY_TRANSFORMS_FUSE_GRAPH_H_ */
