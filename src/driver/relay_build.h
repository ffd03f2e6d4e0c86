/* Relay programs for the graph executor: passes, kernels, code, memory plan. */
#ifndef TN_DRIVER_RELAY_BUILD_H_
#define TN_DRIVER_RELAY_BUILD_H_

#include "driver/build.h"
#include "driver/relay_pipeline.h"
#include "relay/relay.h"

/** What a build gives; scope-owned. */
typedef struct {
  tn_str *json;      /* the graph */
  tn_module *lib;    /* code of the kernels */
  tn_map *params;    /* name -> NDArray: constants that the graph reads */
  tn_IRModule *mod;  /* the program as it was cut into kernels */
  tn_map *kernels;   /* name -> PrimFunc, before scheduling and lowering */
  tn_map *functions; /* name -> FunctionInfo, see function_info.h */
} relay_built;

/** Builds the function `main` of a module.
 *  @param name of the model: kernels are called tvmgen_NAME_fused_..., underscores for what no
 *  identifier has
 *  @return 0, or -1 with the error of a pass or code generator, ValueError for what the graph
 *  executor cannot run */
TN_API int driver_relay_build(tn_IRModule *m, const driver_targets *t, const char *name,
                              relay_built *out);

/** The function `main` of a module. ValueError, TypeError. Scope-owned. */
tn_RelayFunction *driver_relay_main(const tn_IRModule *m);

/** "driver.relay_build"; part of the start of the compiler. */
TN_API int driver_relay_build_init(void);

#endif /* TN_DRIVER_RELAY_BUILD_H_ */
