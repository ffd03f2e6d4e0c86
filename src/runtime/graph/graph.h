/* Graphs as the graph executor reads them: nodes in the order in which they run, and their outputs
   ("entries") with shape, type and the storage that holds them.

     {"nodes": [{"op": "null", "name": "x", "inputs": []},
                {"op": "tvm_op", "name": "add", "inputs": [[0, 0, 0]],
                 "attrs": {"func_name": "add_one", "num_inputs": "1", "num_outputs": "1",
                           "flatten_data": "0"}}],
      "arg_nodes": [0], "heads": [[1, 0, 0]], "node_row_ptr": [0, 1, 2],
      "attrs": {"shape": ["list_shape", [[4], [4]]], "dltype": ["list_str", ["float32", "float32"]],
                "storage_id": ["list_int", [0, 1]]}}

   Entry j of node i is number node_row_ptr[i] + j; the lists under "attrs" have a value for each
   entry. "device_index" (a device type), "storage_scope" and "storage_offset" (bytes from where the
   storage begins) may be left out. The function "__join" does nothing: its inputs lie side by side
   in the place of its output, which is a concatenate of them. What is read here has
   been checked: every number below is in range, and a node's inputs are entries of nodes before it.
 */
#ifndef TN_RUNTIME_GRAPH_GRAPH_H_
#define TN_RUNTIME_GRAPH_GRAPH_H_

#include "base/arena.h"
#include "tenon/runtime.h"

typedef struct {
  tn_dtype dtype;
  int32_t ndim;
  const int64_t *shape;
  int64_t nbytes, offset; /* the latter within its storage */
  int32_t storage;        /* number of the storage, counted from 0 in the order of appearance */
  int32_t device_type;    /* 0 when the graph does not say */
  const char *scope;      /* of the memory, NULL for ordinary */
} tn_graph_entry;

typedef struct {
  const char *key, *value;
} tn_graph_attr;

typedef struct {
  const char *name;
  const char *func;      /* name of the function; NULL for an input */
  const int32_t *inputs; /* entries */
  int32_t ninput;
  int32_t first_entry, noutput; /* the entries that it makes */
  int32_t nattr;
  const tn_graph_attr *attrs; /* all attributes of an operator, as text */
  bool flatten;               /* the function takes its tensors as one-dimensional */
} tn_graph_node;

typedef struct {
  tn_arena arena; /* everything below */
  int32_t nnode, nentry, nstorage, nhead, narg;
  tn_graph_node *nodes;
  tn_graph_entry *entries;
  int32_t *heads; /* entries that are the outputs */
  int32_t *args;  /* nodes that are the inputs, in their order */
} tn_graph;

/** Reads a graph from text that nobody vouches for.
 *  @param out zero on entry; to be given to tn_graph_fini either way
 *  @return 0, or -1: ValueError naming the place in the graph, MemoryError */
int tn_graph_parse(tn_graph *out, const char *text, size_t n);
void tn_graph_fini(tn_graph *g);

/** Value of an attribute of a node, or NULL. */
const char *tn_graph_attr_of(const tn_graph_node *node, const char *key);

#endif /* TN_RUNTIME_GRAPH_GRAPH_H_ */
