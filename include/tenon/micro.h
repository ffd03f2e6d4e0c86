/**
 * Models on microcontrollers: what the C source of an archive in Model Library Format refers to.
 *
 * C99 without the C library beyond the headers a freestanding compiler has.
 */
#ifndef TENON_MICRO_H_
#define TENON_MICRO_H_

#include <stddef.h>
#include <stdint.h>

#include "tenon/dlpack.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Signature of every compiled function: arguments are TVMValue (tvm/runtime/c_runtime_api.h), each
 * with a type code. @return 0, or -1 after TVMAPISetLastError */
typedef int32_t (*tn_micro_kernel)(void *args, int32_t *type_codes, int32_t num_args,
                                   void *ret_value, int32_t *ret_code, void *resource);

typedef struct {
  const char *name;
  tn_micro_kernel call;
} tn_micro_function;

/** Functions of a model: its archive defines tvmgen_NAME_library. */
typedef struct {
  int32_t count;
  const tn_micro_function *functions;
} tn_micro_library;

/* ---- the graph runtime (src/micro): runs graph.json of an archive ---- */

typedef enum {
  TN_MICRO_OK = 0,
  TN_MICRO_BAD_GRAPH = -1,    /**< graph.json is damaged, or uses what this runtime has not */
  TN_MICRO_BAD_PARAMS = -2,   /**< the parameters are damaged, or not those of the graph */
  TN_MICRO_NO_MEMORY = -3,    /**< `missing` tells by how many bytes at least */
  TN_MICRO_UNALIGNED = -4,    /**< the memory does not begin at a multiple of TN_MICRO_ALIGN */
  TN_MICRO_NO_FUNCTION = -5,  /**< the library lacks a function of the graph */
  TN_MICRO_KERNEL_FAILED = -6 /**< TVMGetLastError tells why */
} tn_micro_status;

enum { TN_MICRO_ALIGN = 16 };

/** What a model is made of. All of it must stay where it is while the model is used; constants are
 * read in place where they are aligned to their elements, and copied to `memory` where not. */
typedef struct {
  const char *graph; /**< runtime-config/graph/graph.json */
  size_t graph_bytes;
  const void *params; /**< parameters/NAME.params */
  size_t params_bytes;
  const tn_micro_library *library; /**< tvmgen_NAME_library */
  void *memory;                    /**< for tables, values and what kernels need for themselves */
  size_t memory_bytes;
} tn_micro_model;

typedef struct tn_micro_graph tn_micro_graph;

/** Bytes that tn_micro_workspace_init needs beyond what kernels ask for. */
enum { TN_MICRO_WORKSPACE_EXTRA = 256 };

/** Gives memory to code that calls TVMBackendAllocWorkspace without a graph: ahead-of-time programs
 * that were built without pools. (Graphs give what is left of theirs.)
 * @param bytes TVMGEN_NAME_WORKSPACE_SIZE + TN_MICRO_WORKSPACE_EXTRA; of several models the largest
 * @return TN_MICRO_OK or TN_MICRO_UNALIGNED */
tn_micro_status tn_micro_workspace_init(void *memory, size_t bytes);
/** Bytes that the memory lacked when code asked for more than was left, the last time; 0: never
 * since the start or the last tn_micro_workspace_init or tn_micro_graph_run. */
size_t tn_micro_workspace_missing(void);

/** Makes a model ready to run.
 *  @param out lies in the model's memory; nothing has to be given back
 *  @param missing with TN_MICRO_NO_MEMORY the bytes that are missing at least; may be NULL */
tn_micro_status tn_micro_graph_init(const tn_micro_model *model, tn_micro_graph **out,
                                    size_t *missing);
/** Bytes of the memory that are in use between runs; the rest is for kernels. */
size_t tn_micro_graph_bytes(const tn_micro_graph *g);
/** An input by name, to be filled before a run. NULL: there is none of that name, or it is constant
 */
DLTensor *tn_micro_graph_input(tn_micro_graph *g, const char *name);
/** Output i, valid after a run until the next. NULL: there are fewer. */
const DLTensor *tn_micro_graph_output(const tn_micro_graph *g, int32_t i);
/** Runs the model. One model of a program runs at a time. */
tn_micro_status tn_micro_graph_run(tn_micro_graph *g);

#ifdef __cplusplus
}
#endif
#endif /* TENON_MICRO_H_ */
