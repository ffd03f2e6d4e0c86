/* The order of the passes over Relay programs. A pass runs when its level is not above the
   context's, or when the context requires it, and is not disabled there. */
#include "driver/relay_pipeline.h"

#include "base/error.h"
#include "base/scope.h"
#include "object/functions.h"

typedef struct {
  const char *pass;
  int64_t arg; /* its argument, NO_ARG: none */
} step;
enum { NO_ARG = INT32_MIN };

/* The same for all executors. */
// clang-format off
static const step optimize[] = {
    {"RemoveUnusedFunctions", NO_ARG},
    {"InferType", NO_ARG},
    {"FakeQuantizationToInteger", NO_ARG},
    {"QnnCanonicalizeOps", NO_ARG},
    {"Legalize", NO_ARG},
    {"SimplifyInference", NO_ARG},
    {"EliminateCommonSubexpr", NO_ARG},
    {"CombineParallelConv2D", 3},
    {"CombineParallelDense", 3},
    {"CombineParallelBatchMatmul", 3},
    {"FoldConstant", 1},
    {"FoldScaleAxis", NO_ARG},
    {"SimplifyExpr", NO_ARG},
    {"CanonicalizeCast", NO_ARG},
    {"CanonicalizeOps", NO_ARG},
    {"FoldLayerNorm", NO_ARG},
    {"FoldBatchMatmul", NO_ARG},
    {"AlterOpLayout", NO_ARG},
    {"SimplifyExprPostAlterOp", NO_ARG},
    {"FastMath", NO_ARG},
    {"FoldConstant", 1},
};

/* Kernels. */
static const step kernels[] = {
    {"FuseOps", NO_ARG},
    {"InferType", NO_ARG},
    {"Inline", NO_ARG},
    {"LabelOps", NO_ARG},
    {"InferType", NO_ARG},
};
// clang-format on

static tn_IRModule *run(const char *name, const step *steps, int n, tn_IRModule *m) {
  TN_VEC(list);
  tn_arr *passes;
  tn_Sequential *all;
  for (int i = 0; i < n; ++i) {
    const ir_pass_row *row;
    tn_Pass *pass;
    tn_any arg = tn_any_int(steps[i].arg);
    TN_GETP(row, ir_pass_named(steps[i].pass));
    TN_GETP(pass, ir_pass_new(row, &arg, steps[i].arg != NO_ARG));
    TN_TRYP(tn_vec_push_obj(&list, pass));
  }
  TN_GETP(passes, tn_arr_from(&list));
  TN_GETP(all, ir_sequential(name, passes));
  return ir_pass_run((tn_Pass *)all, m, NULL);
}

/* Passes may ask which target they work for. */
static tn_IRModule *run_for(tn_target *t, const char *name, const step *steps, int n,
                            tn_IRModule *m) {
  TN_TRYP(target_enter(t));
  tn_IRModule *r = run(name, steps, n, m);
  return target_exit(t) ? NULL : r;
}

tn_IRModule *driver_relay_optimize(tn_IRModule *m, tn_target *t) {
  return run_for(t, "optimize", optimize, TN_COUNT(optimize), m);
}

tn_IRModule *driver_relay_graph_pipeline(tn_IRModule *m, tn_target *t) {
  TN_GETP(m, driver_relay_optimize(m, t));
  return run_for(t, "kernels", kernels, TN_COUNT(kernels), m);
}

/* The machine runs values in an order, which no level of optimisation may leave out. */
tn_IRModule *driver_relay_vm_pipeline(tn_IRModule *m, tn_target *t) {
  const ir_pass_row *row;
  tn_Pass *order;
  TN_GETP(m, driver_relay_graph_pipeline(m, t));
  TN_GETP(row, ir_pass_named("ToANormalForm"));
  TN_GETP(order, ir_pass_new(row, NULL, 0));
  return ir_pass_run_all(&order, 1, m, NULL);
}
