/* A graph in the memory of its model: tables first, then values, then what kernels take. */
#ifndef TN_MICRO_GRAPH_IMPL_H_
#define TN_MICRO_GRAPH_IMPL_H_

#include <stdbool.h>

#include "tenon/micro.h"
#include "tvm/runtime/c_runtime_api.h"
#include "micro/scan.h"

typedef struct {
  micro_text name;
  tn_micro_kernel call; /* NULL: an argument of the graph, or a view of its input */
  int32_t ninput, noutput;
  int32_t first_input; /* in the list of all inputs */
  int32_t first_entry; /* its results, in the list of all values */
} micro_node;

typedef struct {
  size_t bytes; /* of the largest value in it */
  void *data;
  int32_t users;
} micro_storage;

struct tn_micro_graph {
  int32_t nnode, nentry, ninput, nhead, narg, ndim, most_args;
  micro_node *nodes;
  DLTensor *values;
  int64_t *dims;
  micro_storage *storages; /* at most one for each value */
  int32_t *storage_of;     /* of each value */
  int32_t *inputs;         /* of all nodes: values */
  int32_t *heads;          /* values */
  int32_t *args;           /* nodes */
  uint8_t *constant;       /* of each node: was it given by the parameters? */
  TVMValue *call_values;
  int32_t *call_codes;
  uint8_t *memory;
  size_t used, capacity, missing;
  bool copies; /* of parameters, whose bytes may go after the call that loads them */
};

/* Room for n things, zero; NULL with `missing` set. */
void *micro_take(tn_micro_graph *g, size_t n, size_t size);
/* Bytes of a value; -1 when they cannot be told. */
int64_t micro_value_bytes(const DLTensor *t);
tn_micro_status micro_read_params(tn_micro_graph *g, const tn_micro_model *m);
/* The memory that kernels take from while a graph runs. */
void micro_workspace_set(uint8_t *memory, size_t bytes);

#endif /* TN_MICRO_GRAPH_IMPL_H_ */
