/* Ahead-of-time execution: a static program as one function, `main`, that calls the operators one
   after the other on memory that was planned when it was compiled. There is no graph to read, there
   are no names to look up.

     module -> passes -> graph of kernels -> tensor programs -> lowering
                                          -> memory plan -> main -> code

   The functions are called tvmgen_NAME_fused_... and tvmgen_NAME___tvm_main__, with underscores for
   what an identifier cannot have. main takes the inputs in the order of the program's parameters,
   the constants that are not part of the code, the outputs, and the pools of memory that the caller
   gives, in this order. */
#ifndef TN_DRIVER_AOT_AOT_H_
#define TN_DRIVER_AOT_AOT_H_

#include "base/buf.h"
#include "driver/executor.h"
#include "driver/graph.h"
#include "ir/pools.h"
#include "target/target.h"
#include "tir/tir.h"

typedef struct {
  bool crt;          /* for microcontrollers: one thread, code of all functions in one module */
  bool unpacked;     /* functions take data pointers; else the packed signature */
  bool by_name;      /* packed functions are looked up by name, not called by their symbols */
  bool c_interface;  /* structs with inputs and outputs, and NAME_run; else a packed NAME_run */
  bool pools;        /* memory, that of operators too, is planned as a whole and lies in pools */
  bool workspace_io; /* inputs and outputs lie in the pools too */
  bool link_params;  /* constants are part of the code; else main takes them */
  int64_t workspace_align, constant_align; /* bytes, powers of two; of constants 0: that of their
                                              elements */
  const tn_arr *workspace_pools;           /* of WorkspacePoolInfo; NULL: one, part of the code */
  const tn_arr *constant_pools;            /* of ConstantPoolInfo; NULL: wherever constants are */
  const char *algorithm;                   /* see usmp_algorithm */
  const char *custom;                      /* see usmp_plan_by; NULL: `algorithm` */
} aot_options;

/** What an executor and a runtime ask for, with the options "tir.usmp..." of the current context.
 *  @param executor, runtime NULL: the defaults
 *  @param workspace, constant NULL or the pools that were given
 *  @return 0, or -1: TVMError for options that do not go together, ValueError */
int aot_options_from(const tn_Executor *executor, const tn_Runtime *runtime,
                     const tn_WorkspaceMemoryPools *workspace,
                     const tn_ConstantMemoryPools *constant, const tn_target *t, aot_options *out);

/** main, and what is known of it; scope-owned. */
typedef struct {
  tn_PrimFunc *func; /* lowered, like the operators */
  tn_arr *pools;     /* of AllocatedPoolInfo: memory that it takes, in the order of parameters */
  tn_arr *constant_pools; /* of AllocatedPoolInfo */
  tn_arr *places;    /* of inputs, then outputs, that lie in pools (PoolAllocation); else empty */
  int64_t workspace; /* bytes of memory for values between operators (and of operators) */
  int64_t live;      /* of it the least that any plan needs: what one step needs */
  int64_t constants, io; /* bytes */
} aot_main;

/** Makes main.
 *  @param name its symbol
 *  @param workspace NULL, or name of a kernel -> bytes (int) that it takes behind its tensors
 *  @return 0, or -1: ValueError where the pools are too small */
int aot_make_main(const graph_program *g, const aot_options *o, const char *name,
                  const tn_map *workspace, aot_main *out);

/** What a build gives; scope-owned. */
typedef struct {
  tn_IRModule *mod;      /* the Relay program as it was cut into kernels */
  tn_map *kernels;       /* name -> PrimFunc, before scheduling and lowering */
  tn_IRModule *lowered;  /* operators and main after lowering, flat, with their own signatures */
  tn_IRModule *programs; /* the same for a code generator: the unpacked or packed signature */
  tn_map *externals;     /* symbol -> relay Function, of other code generators */
  tn_map *params;        /* name -> NDArray: constants that main takes; empty with link_params */
  tn_map *functions;     /* name -> FunctionInfo, "__tvm_main__" among them */
  tn_ExecutorCodegenMetadata *metadata;
} aot_program;

/** All but the code.
 *  @param name of the model @return 0, or -1 with the error of a pass, ValueError for what is not
 *  static and for pools that are too small */
TN_API int driver_aot_lower(tn_IRModule *m, tn_target *t, const char *name, const aot_options *o,
                            aot_program *out);

/** The code of such a program: operators and main and, for microcontrollers, C source with the
 *  memory pools and NAME_run. Scope-owned. */
TN_API tn_module *driver_aot_code(const aot_program *p, tn_target *t, const aot_options *o);

/** A one-node graph that runs main: what the graph executor of a host reads. Scope-owned. */
TN_API tn_str *driver_aot_graph(const aot_program *p);

/** "tvmgen_MODEL_FUNCTION", with underscores for what an identifier cannot have. Scope-owned. */
tn_str *aot_symbol(const char *model, const char *function);
/** Appends the source with NAME_run and the pools that are part of the code. */
int aot_entry(const aot_program *p, const aot_options *o, tn_buf *out);

/** "driver.aot_lower_main", ...: the steps one by one. */
int aot_passes_init(void);
/** "driver.aot_build" and what else Python calls; part of the start of the compiler. */
TN_API int driver_aot_init(void);

#endif /* TN_DRIVER_AOT_AOT_H_ */
