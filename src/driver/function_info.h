/* What the functions of a built program need: FunctionInfo. */
#ifndef TN_DRIVER_FUNCTION_INFO_H_
#define TN_DRIVER_FUNCTION_INFO_H_

#include "driver/executor.h"
#include "driver/graph.h"
#include "target/target.h"
#include "tir/tir.h"

/** The name under which function_infos has the function that calls the operators. */
#define DRIVER_MAIN_INFO "__tvm_main__"

/** What main needs on the devices of a target. */
typedef struct {
  tn_target *target;                /* NULL: the one of what says nothing */
  int64_t workspace, io, constants; /* bytes */
  tn_PrimFunc *func;                /* NULL where a graph takes its place */
  const tn_RelayFunction *relay;
} main_needs;

/** Bytes of tensors that a function takes. */
int64_t driver_io_bytes(const tn_PrimFunc *f);

/** name -> FunctionInfo, of the kernels in order and main behind them. Scope-owned.
 *  @param targets NULL, or name -> Target of those that are not for `t`
 *  @param programs name -> PrimFunc
 *  @param relays name -> relay Function
 *  @param workspace NULL, or name -> bytes (int) of memory that a call needs
 *  @param main for each of `nmain` targets; func and relay are those of the first */
tn_map *driver_function_infos(tn_target *t, const tn_map *targets, const tn_map *programs,
                              const tn_map *relays, const tn_map *workspace, const main_needs *main,
                              int nmain);

#endif /* TN_DRIVER_FUNCTION_INFO_H_ */
