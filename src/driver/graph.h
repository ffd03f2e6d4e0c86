/* A static program as a graph for the graph executor: which kernels run in which order on which
 * memory. */
#ifndef TN_DRIVER_GRAPH_H_
#define TN_DRIVER_GRAPH_H_

#include "relay/devices/devices.h"
#include "tenon/runtime.h"

/** A value: result `index` of node `node`. */
typedef struct {
  int32_t node, index;
} graph_entry;

/** A result that lies in a part of that of a join. */
typedef struct {
  int32_t join;   /**< its node; -1: none */
  int64_t offset; /**< bytes within its memory */
} graph_place;

typedef struct {
  const char
      *name; /* of an input or parameter: unique; of a kernel: as in the library. Scope-owned */
  bool op;   /* not an input or parameter */
  const tn_RelayFunction *kernel; /* NULL: an operator that copies to another device, or no op */
  bool nop;                       /* the result is the input's memory */
  tn_VirtualDevice *device;       /* where the results are; NULL: there is one device for all */
  graph_entry *inputs;
  int ninputs;
  tn_TensorType **types; /* of the results */
  int32_t *storage;      /* of the results: numbers of memory blocks */
  bool join;             /* the inputs lie side by side where the result is: nothing runs */
  graph_place *place;    /* of the results: in which join's they lie; NULL: in none */
  int nresults;
  int uses_left; /* while planning */
} graph_node;

typedef struct {
  graph_node *nodes;
  int64_t n, cap;
  graph_entry *heads;
  int nheads;
  int64_t *block_bytes; /* by number of the block */
  int64_t nblocks, block_cap;
  tn_map *params;    /* name -> NDArray: constants of the program; scope-owned */
  tn_map *kernels;   /* name -> relay Function, each different one once; scope-owned */
  tn_map *externals; /* symbol -> relay Function, of those for another code generator */
  tn_map *targets;   /* name -> Target of kernels on planned devices; scope-owned */
} graph_program;

/** Fills a graph from a function whose types are known and static and in which every call is of a
 * primitive function.
 *  @param plan where values are, NULL: there is one device for all
 *  @param executor what it is for: "Graph Executor"
 *  @param prefix of the kernels' names. The caller ends it, also after an error.
 *  ValueError naming what the graph executor cannot run. */
int graph_make(graph_program *g, const tn_RelayFunction *f, const device_plan *plan,
               const char *prefix, const char *executor);
void graph_fini(graph_program *g);
/** Makes joins of the concatenates whose operands can be computed where they end: kernels make them
 * on the same device, nobody sees their memory from outside, and what is in front of the axis is
 * one. */
int graph_join(graph_program *g);
/** Gives every result its memory. Blocks are shared by values of one device that are not alive
 * together; sizes
 * may differ up to 16 times, the block grows to the larger one. Inputs and parameters have
 *   their own blocks *. */
int graph_plan(graph_program *g);
/** The graph as JSON. */
int graph_json(const graph_program *g, tn_buf *out);

/** A function on all that it takes and makes. Names are String, types TensorType. */
typedef struct {
  const char *function;
  const tn_arr *inputs, *input_types, *output_types;
} graph_call;
/** The JSON of a graph of one node that makes the call. */
int graph_of_call(const graph_call *c, tn_buf *out);

/** Elements, and bytes, of a tensor of a static type. */
int64_t graph_type_elements(const tn_TensorType *t);
int64_t graph_type_bytes(const tn_TensorType *t);

#endif /* TN_DRIVER_GRAPH_H_ */
