/* The order of the passes over Relay programs. A pass runs when its level is not above the
   context's, or when the context requires it, and is not disabled there. Whole builds take passes
   of level 3 for those of level 2: who says nothing gets layouts and packed weights. */
#include "driver/relay_pipeline.h"

#include "base/error.h"
#include "base/scope.h"
#include "driver/external.h"
#include "ir/module.h"
#include "kernels/layout_choice.h"
#include "object/functions.h"
#include "relay/transforms/float_rules.h"
#include "relay/transforms/transforms.h"

typedef struct {
  const char *pass;
  int64_t arg;     /* its argument, NO_ARG: none */
  bool one_target; /* only where all of a program is for one target, which the pass asks for */
  bool relaxed;    /* only where results may be less exact (relay.backend.precision) */
  bool links;      /* a second argument says whether constants are part of kernels */
  int sizes; /* for processors with vectors; so many of: threads, bytes of cache, float32 lanes */
} step;
enum { NO_ARG = INT32_MIN, DEFAULT_LEVEL = 2, LAYOUT_LEVEL = 3 };
/* That a kernel joins, or divides one into; docs/passes.md */
enum { MAX_TENSORS = 64, MAX_OPEN_TENSORS = 16 };

/* The same for all executors. */
// clang-format off
static const step optimize[] = {
    {"RemoveUnusedFunctions", NO_ARG},
    {"InferType", NO_ARG},
    {"FakeQuantizationToInteger", NO_ARG},
    {"QnnCanonicalizeOps", NO_ARG},
    {"Legalize", NO_ARG, .one_target = true},
    {"SimplifyInference", NO_ARG},
    {"ComputeInFloat32", NO_ARG, .one_target = true, .sizes = 3},
    {"EliminateCommonSubexpr", 1}, /* not of casts to int32 */
    {"CombineParallelConv2D", 3},
    {"CombineParallelDense", 3},
    {"CombineParallelBatchMatmul", 3},
    {"FoldConstant", RELAY_FOLD_QNN | RELAY_FOLD_KEEP_MOVES},
    {"FoldScaleAxis", 1 << 16}, /* larger weights are scaled when they get their layout */
    {"DivToMul", NO_ARG, .relaxed = true},
    {"SimplifyExpr", NO_ARG},
    {"CanonicalizeCast", NO_ARG},
    {"CanonicalizeOps", NO_ARG},
    {"FlattenAtrousConv", NO_ARG},
    {"FoldLayerNorm", NO_ARG},
    {"FoldBatchMatmul", NO_ARG},
    {"CombineAttentionDense", NO_ARG, .one_target = true, .sizes = true},
    {"FoldConstant", RELAY_FOLD_QNN | RELAY_FOLD_KEEP_MOVES},
    {"PadChannelsToVector", NO_ARG, .one_target = true},
    {"RelaxPrecision", NO_ARG, .one_target = true, .relaxed = true},
    {"EliminateCommonSubexpr", 1, .relaxed = true},
    {"AlterOpLayout", NO_ARG, .one_target = true},
    {"SimplifyExprPostAlterOp", NO_ARG, .one_target = true},
    {"FastMath", NO_ARG},
    {"FoldConstant", RELAY_FOLD_QNN},
    {"StoreActivationsInBF16", NO_ARG, .one_target = true, .relaxed = true},
    {"TileBatch", NO_ARG, .one_target = true, .sizes = 2},
    {"FuseDepthwiseBlock", NO_ARG, .one_target = true, .sizes = 3},
};

/* Kernels. */
static const step kernels[] = {
    {"FuseAttention", NO_ARG, .one_target = true, .sizes = 2},
    {"FuseOps", -1, .links = true},
    {"FoldRows", NO_ARG, .one_target = true},
    {"InferType", NO_ARG},
    {"Inline", NO_ARG},
    {"LabelOps", NO_ARG},
    {"InferType", NO_ARG},
};

/* Programs whose memory is explicit. */
static const step memory[] = {
    {"MemoryPlan", NO_ARG},
};
// clang-format on

/* The pass by itself, and under PassContext, keeps the level that its row says. */
static tn_Pass *pass_of_build(const char *name, const tn_any *args, int n) {
  const ir_pass_row *row;
  tn_Pass *pass;
  TN_GETP(row, ir_pass_named(name));
  TN_GETP(pass, ir_pass_new(row, args, n));
  if (row->level == LAYOUT_LEVEL) pass->pass_info->opt_level = DEFAULT_LEVEL;
  int floats = relay_float_level_of_pass(name); /* lower levels compute as the program is written */
  if (pass->pass_info->opt_level < floats) pass->pass_info->opt_level = floats;
  return pass;
}

static tn_IRModule *run(const driver_targets *t, const char *name, const step *steps, int n,
                        tn_IRModule *m) {
  TN_VEC(list);
  tn_arr *passes;
  tn_Sequential *all;
  target_machine machine = {0};
  int relaxed = kernels_is_relaxed();
  bool vectors = kernels_machine(&machine) && machine.vector_bytes > 0;
  if (relaxed < 0) return NULL;
  for (int i = 0; i < n; ++i) {
    tn_Pass *pass;
    tn_any args[3] = {tn_any_int(steps[i].arg), tn_any_bool(t->link_params)};
    int nargs = steps[i].links ? 2 : steps[i].arg != NO_ARG;
    if ((steps[i].one_target && t->several) || (steps[i].relaxed && !relaxed) ||
        (steps[i].sizes && !vectors))
      continue;
    if (steps[i].sizes) {
      args[0] = tn_any_int(machine.threads), args[1] = tn_any_int(machine.l2);
      args[2] = tn_any_int(machine.vector_bytes / 4);
      nargs = steps[i].sizes;
    }
    TN_GETP(pass, pass_of_build(steps[i].pass, args, nargs));
    TN_TRYP(tn_vec_push_obj(&list, pass));
  }
  TN_GETP(passes, tn_arr_from(&list));
  TN_GETP(all, ir_sequential(name, passes));
  return ir_pass_run((tn_Pass *)all, m, NULL);
}

/* Passes may ask which target they work for. */
static tn_IRModule *run_for(const driver_targets *t, const char *name, const step *steps, int n,
                            tn_IRModule *m) {
  TN_TRYP(target_enter(t->main));
  tn_IRModule *r = run(t, name, steps, n, m);
  return target_exit(t->main) ? NULL : r;
}

tn_IRModule *driver_relay_optimize(tn_IRModule *m, const driver_targets *t) {
  return run_for(t, "optimize", optimize, TN_COUNT(optimize), m);
}

/* What no level of optimisation may leave out. */
static tn_IRModule *must(const char *pass, const tn_any *args, int n, tn_IRModule *m) {
  tn_Pass *p;
  TN_GETP(p, pass_of_build(pass, args, n));
  return ir_pass_run_all(&p, 1, m, NULL);
}

static tn_IRModule *to_kernels(tn_IRModule *m, const driver_targets *t, bool plan) {
  tn_any config = tn_any_obj(t->config);
  tn_any most[] = {tn_any_int(MAX_TENSORS), tn_any_int(MAX_OPEN_TENSORS)};
  if (external_in(m)) TN_GETP(m, must("Inline", NULL, 0, m)); /* at every level: calls of them */
  if (plan) TN_GETP(m, must("PlanDevices", &config, 1, m));
  TN_GETP(m, must("SplitArgs", most, TN_COUNT(most), m)); /* else builds would take too long */
  return run_for(t, "kernels", kernels, TN_COUNT(kernels), m);
}

/* A graph has no variables: values of let take their place. */
tn_IRModule *driver_relay_graph_pipeline(tn_IRModule *m, const driver_targets *t, bool *planned) {
  TN_GETP(m, must("ToGraphNormalForm", NULL, 0, m));
  TN_GETP(m, driver_relay_optimize(m, t));
  *planned = t->several || device_names_any(m);
  return to_kernels(m, t, *planned);
}

/* The machine runs values in an order, and is told about their memory. Shapes are on the host. */
tn_IRModule *driver_relay_vm_pipeline(tn_IRModule *m, const driver_targets *t, bool *planned) {
  bool elsewhere = target_device_type(t->main) != kDLCPU;
  tn_any config = tn_any_obj(t->config);
  TN_GETP(m, driver_relay_optimize(m, t));
  bool plan = t->several || device_names_any(m) || (elsewhere && device_has_conditions(m));
  *planned = plan || elsewhere;
  TN_GETP(m, to_kernels(m, t, plan));
  TN_GETP(m, must("ToANormalForm", NULL, 0, m));
  TN_GETP(m, must("ManifestAlloc", &config, *planned, m));
  return run_for(t, "memory", memory, TN_COUNT(memory), m);
}

/* ---- targets ---- */

static int finish(tn_arr *all, driver_targets *out) {
  TN_GET(out->config, device_config_of(all));
  out->main = out->config->default_primitive_virtual_device->target;
  out->several = all->len > 1;
  out->link_params = out->crt = out->linked = false;
  /* one target is left as it is given, without a host of its own */
  if (!out->several) out->main = (tn_target *)tn_arr_obj(all, 0);
  return 0;
}

int driver_target_only(tn_target *t, driver_targets *out) {
  tn_arr *one;
  TN_GET(one, tn_arr_of(1, t));
  return finish(one, out);
}

/* Targets that are written alike are one. */
static int add_target(tn_target *t, tn_vec *all) {
  tn_str *text, *other;
  TN_GET(text, target_text(t));
  for (int64_t i = 0; i < all->len; ++i) {
    const tn_target *known = (const tn_target *)all->items[i].v.obj;
    TN_GET(other, target_text(known));
    if (tn_str_eq(text, tn_cstr(other))) return 0;
    TN_CHECK(target_device_type(known) != target_device_type(t), ValueError, NULL,
             "build: two targets for device type %d: %s and %s", target_device_type(t),
             tn_cstr(other), tn_cstr(text));
  }
  return tn_vec_push_obj(all, t);
}

int driver_targets_from(const tn_any *value, driver_targets *out) {
  TN_VEC(all);
  const tn_arr *list = value->type_index == TN_TI_Array ? (const tn_arr *)value->v.obj : NULL;
  for (int64_t i = 0; i < (list ? list->len : 1); ++i) {
    tn_target *t;
    TN_GET(t, target_from(list ? &list->items[i] : value));
    TN_TRY(add_target(t, &all));
  }
  TN_CHECK(all.len > 0, ValueError, NULL, "build: expected at least one target");
  return finish(tn_arr_from(&all), out);
}

bool driver_is_system_lib(const tn_Runtime *runtime) {
  return runtime && tn_str_eq(runtime->name, "cpp") && ir_attrs_flag(runtime->attrs, "system-lib");
}

int driver_targets_for(const tn_any *value, const tn_Runtime *runtime, driver_targets *out) {
  if (!driver_is_system_lib(runtime)) return driver_targets_from(value, out);
  TN_VEC(all);
  const tn_arr *list = value->type_index == TN_TI_Array ? (const tn_arr *)value->v.obj : NULL;
  for (int64_t i = 0; i < (list ? list->len : 1); ++i) {
    tn_target *t;
    TN_GET(t, target_from(list ? &list->items[i] : value));
    TN_GET(t, target_with_system_lib(t));
    TN_TRY(tn_vec_push_obj(&all, t));
  }
  tn_arr *linked;
  TN_GET(linked, tn_arr_from(&all));
  tn_any given = tn_any_obj(linked);
  return driver_targets_from(&given, out);
}
