/* The order of the passes over tensor programs. What programs add with the option
   tir.add_lower_pass, pairs of phase and pass, runs before the first list (phase 0) or after the
   list of its number. */
#include "driver/tir_pipeline.h"

#include "ir/expr.h"
#include "ir/module.h"
#include "object/functions.h"
#include "tir/tir.h"

/* A step of a pipeline: a pass, the argument it is made with, and when it is left out. */
typedef struct {
  const char *name;
  int arg;            /* 0: none */
  const char *memory; /* the same as a name, of a memory or a mode; NULL: none */
  const char *unless; /* option that leaves it out */
  const char *only;   /* option that it needs */
  bool full;          /* left out in simple mode */
} step;

/* From blocks to loops over flat memory. */
static const step phase1[] = {
    {"tir.ReadBoundsOnce"},
    {"tir.InjectPrefetch"},
    {"tir.LowerCrossThreadReduction"},
    {"tir.LowerInitBlock"},
    {"tir.PlanAndUpdateBufferAllocationLocation"},
    {"tir.ConvertBlocksToOpaque"},
    {"tir.ManifestSharedMemoryLocalStage"},
    {"tir.CompactBufferAllocation"},
    {"tir.LowerAutoCopy"},
    {"tir.UnifyThreadBinding"},
    {"tir.LowerMatchBuffer"},
    {"tir.Simplify"},
    {"tir.InjectPermutedLayout"},
    {"tir.InjectSoftwarePipeline"},
    {"tir.LowerOpaqueBlock"},
    {"tir.RewriteUnsafeSelect"},
    {"tir.FlattenBuffer"},
    {"tir.TileProducts"},
    {"tir.DotProducts"},
    {"tir.BF16ComputeLegalize"},
    {"tir.FP8ComputeLegalize"},
    {"tir.NarrowDataType", .arg = 32},
    {"tir.Simplify"},
};

/* What loops ask for. */
static const step phase2[] = {
    {"tir.CheckDataIndices", .only = "tir.check_data_indices"},
    {"tir.PrefetchNext"},
    {"tir.LoopPartition", .full = true},
    {"tir.VectorizeLoop"},
    {"tir.InjectVirtualThread"},
    {"tir.InjectDoubleBuffer"},
    {"tir.StorageRewrite", .unless = "tir.disable_storage_rewrite"},
    {"tir.UnrollLoop"},
};

/* Tidying up. */
static const step phase3[] = {
    {"tir.RenormalizeSplitPattern"},
    {"tir.Simplify"},
    {"tir.RemoveNoOp"},
    {"tir.HoistIfThenElse", .memory = "threads"},
};

/* After the caller's last passes. */
static const step finish[] = {
    {"tir.InstrumentBoundCheckers", .only = "tir.instrument_bound_checkers"},
    {"tir.CommonSubexprElimTIR", .unless = "tir.disable_cse_tir"},
    {"tir.InstrumentProfileIntrinsics", .only = "tir.instrument_lwp"},
};

/* Host and device apart. */
static const step split[] = {
    {"tir.VerifyMemory"},
    {"tir.AnnotateEntryFunc"},
    {"tir.ThreadSync", .memory = "global", .only = "tir.detect_global_barrier"},
    {"tir.MergeDynamicSharedMemoryAllocations"},
    {"tir.ThreadSync", .memory = "shared"},
    {"tir.ThreadSync", .memory = "shared.dyn"},
    {"tir.ThreadSync", .memory = "warp"},
    {"tir.InferFragment"},
    {"tir.LowerThreadAllreduce"},
    {"tir.AnnotateDeviceRegions"},
    {"tir.SplitHostDevice"},
    {"tir.MakePackedAPI"},
    {"tir.FP8StorageLegalize"}, /* arguments were checked for the type that the program has */
    {"tir.LowerDeviceKernelLaunch"},
};

/* The same for functions with the plain C interface of microcontrollers, which have one thread. */
static const step unpacked[] = {
    {"tir.VerifyMemory"},
    {"tir.MakeUnpackedAPI"},
    {"tir.FP8StorageLegalize"},
};

/* Host functions. */
static const step host[] = {
    {"tir.LowerTVMBuiltin"},
    {"tir.LowerCustomDatatypes"},
    {"tir.LowerIntrin"},
    {"tir.LowerDeviceStorageAccessInfo"},
    {"tir.SkipAssert", .only = "tir.disable_assert"},
};

/* Kernels. */
static const step device[] = {
    {"tir.LowerWarpMemory"},      {"tir.Simplify"},
    {"tir.LowerCustomDatatypes"}, {"tir.LowerDeviceStorageAccessInfo"},
    {"tir.LowerIntrin"},          {"tir.SkipAssert", .only = "tir.disable_assert"},
};

static int push(tn_vec *list, const char *name, const tn_any *arg) {
  const ir_pass_row *row;
  tn_Pass *p;
  TN_GET(row, ir_pass_named(name));
  TN_GET(p, ir_pass_new(row, arg, arg ? 1 : 0));
  return tn_vec_push_obj(list, p);
}

static int push_all(tn_vec *list, const step *steps, int n, bool simple_mode) {
  const tn_PassContext *ctx = ir_pass_ctx_current();
  if (!ctx) return -1;
  for (int i = 0; i < n; ++i) {
    const step *s = &steps[i];
    tn_any arg = s->memory ? tn_any_cstr(s->memory) : tn_any_int(s->arg);
    if (s->full && simple_mode) continue;
    if (s->unless && ir_config_int(ctx, s->unless, 0)) continue;
    if (s->only && !ir_config_int(ctx, s->only, 0)) continue;
    TN_TRY(push(list, s->name, s->arg || s->memory ? &arg : NULL));
  }
  return 0;
}

/* The caller's passes of a phase. */
static int push_added(tn_vec *list, const tn_PassContext *ctx, int64_t phase) {
  const tn_arr *added = (const tn_arr *)ir_config_get(ctx, "tir.add_lower_pass");
  for (int64_t i = 0; added && i < added->len; ++i) {
    const tn_obj *pair = tn_arr_obj(added, i);
    int64_t at;
    bool good = pair && pair->type_index == TN_TI_Array && ((const tn_arr *)pair)->len == 2 &&
                tir_as_int(tn_arr_obj((const tn_arr *)pair, 0), &at) && at >= 0 && at <= 3 &&
                TN_IS(Pass, tn_arr_obj((const tn_arr *)pair, 1));
    TN_CHECK(good, ValueError, NULL,
             "tir.add_lower_pass[%lld]: expected a pair of phase (0 to 3) and pass", (long long)i);
    if (at == phase) TN_TRY(tn_vec_push_obj(list, tn_arr_obj((const tn_arr *)pair, 1)));
  }
  return 0;
}

static tn_IRModule *run(const char *name, const tn_vec *list, tn_IRModule *m) {
  tn_arr *passes = tn_arr_from(list);
  tn_Sequential *s = passes ? ir_sequential(name, passes) : NULL;
  return s ? ir_pass_run((tn_Pass *)s, m, NULL) : NULL;
}

/* A schedule's module of which StorageFlatten has not lowered the blocks yet: the lists do. */
static tn_IRModule *with_blocks_to_lower(tn_IRModule *m) {
  tn_map *changed = m->functions;
  for (int64_t i = 0; i < m->functions->len; ++i) {
    const tn_map_entry *e = &m->functions->entries[i];
    tn_PrimFunc *f = (tn_PrimFunc *)TN_AS(PrimFunc, e->value.v.obj);
    if (!f || !TN_IS(BlockRealize, f->body) || !ir_attrs_flag(f->attrs, "from_legacy_te_schedule"))
      continue;
    TN_GETP(f, tir_with_attr(f, "from_legacy_te_schedule", NULL));
    TN_GETP(changed, tn_map_with(changed, e->key, tn_any_obj(f)));
  }
  return changed == m->functions ? m : ir_module_with_functions(m, changed);
}

tn_IRModule *driver_lower(tn_IRModule *m, bool simple_mode) {
  const struct {
    const step *steps;
    int n;
  } phases[] = {{NULL, 0},
                {phase1, TN_COUNT(phase1)},
                {phase2, TN_COUNT(phase2)},
                {phase3, TN_COUNT(phase3)}};
  TN_VEC(list);
  const tn_PassContext *ctx = ir_pass_ctx_current();
  if (!ctx) return NULL;
  for (int i = 0; i < TN_COUNT(phases); ++i) {
    TN_TRYP(push_all(&list, phases[i].steps, phases[i].n, simple_mode));
    TN_TRYP(push_added(&list, ctx, i));
  }
  TN_TRYP(push_all(&list, finish, TN_COUNT(finish), simple_mode));
  TN_GETP(m, with_blocks_to_lower(m));
  return run("lower", &list, m);
}

static tn_IRModule *split_module(tn_IRModule *lowered, tn_obj *target) {
  TN_VEC(list);
  tn_any arg = tn_any_obj(target);
  TN_TRYP(push(&list, "tir.BindTarget", &arg));
  TN_TRYP(push_all(&list, split, TN_COUNT(split), false));
  return run("split", &list, lowered);
}

/* Functions that are launched, or the others. */
static tn_IRModule *part(const tn_IRModule *m, bool kernels) {
  tn_any key, value;
  tn_map *functions;
  TN_GETP(functions, tn_scope_own(tn_map_new()));
  for (int64_t i = 0; tn_map_at(m->functions, i, &key, &value); ++i) {
    const tn_PrimFunc *f = TN_AS(PrimFunc, value.v.obj);
    const tn_obj *conv = f ? tir_func_attr(f, "calling_conv") : NULL;
    if ((conv && tir_is_const(conv, 2)) == kernels) TN_TRYP(tn_map_set(functions, key, value));
  }
  return ir_module_with_functions(m, functions);
}

static tn_IRModule *run_all(const char *name, const step *steps, int n, tn_IRModule *m) {
  TN_VEC(list);
  TN_TRYP(push_all(&list, steps, n, false));
  return run(name, &list, m);
}

int driver_split_pipeline(tn_IRModule *lowered, tn_obj *target, tn_IRModule **on_host,
                          tn_IRModule **on_device) {
  tn_IRModule *m;
  TN_GET(m, split_module(lowered, target));
  TN_GET(*on_host, part(m, false));
  TN_GET(*on_host, run_all("host", host, TN_COUNT(host), *on_host));
  TN_GET(*on_device, part(m, true));
  TN_GET(*on_device, run_all("device", device, TN_COUNT(device), *on_device));
  return 0;
}

tn_IRModule *driver_unpacked_pipeline(tn_IRModule *lowered, tn_obj *target) {
  TN_VEC(list);
  tn_any arg = tn_any_obj(target);
  TN_TRYP(push(&list, "tir.BindTarget", &arg));
  TN_TRYP(push_all(&list, unpacked, TN_COUNT(unpacked), false));
  TN_TRYP(push_all(&list, host, TN_COUNT(host), false));
  return run("unpacked", &list, lowered);
}

tn_IRModule *driver_workspace_pipeline(tn_IRModule *lowered, int64_t align) {
  TN_VEC(list);
  tn_any arg = tn_any_int(align);
  TN_TRYP(push(&list, "tir.ConvertForLoopsToSerial", NULL));
  if (align) TN_TRYP(push(&list, "tir.WorkspaceToParameter", &arg));
  return run("workspace", &list, lowered);
}

/* driver.lower(module, simple_mode) -> IRModule */
static int f_lower(TN_ARGS) {
  bool simple;
  TN_NARGS("driver.lower", 2);
  TN_ARG_OBJ(IRModule, m, 0);
  TN_TRY(tn_any_to_bool(&args[1], &simple));
  return tn_ret_obj(ret, driver_lower(m, simple));
}

/* Different buffers of a function are different memory, unless tir.noalias is turned off. */
static tn_PrimFunc *without_aliases(tn_PrimFunc *f) {
  const tn_PassContext *ctx = ir_pass_ctx_current();
  if (!ctx) return NULL;
  return ir_config_int(ctx, "tir.noalias", 1)
             ? tir_with_attr(f, "tir.noalias", (tn_obj *)tir_bool(true))
             : f;
}

/* driver.lower_primfunc(function, name, simple_mode) -> IRModule with the function by that name */
static int f_lower_primfunc(TN_ARGS) {
  bool simple;
  const char *name;
  TN_NARGS("driver.lower_primfunc", 3);
  TN_ARG_OBJ(PrimFunc, f, 0);
  TN_TRY(tn_any_to_cstr(&args[1], &name));
  TN_TRY(tn_any_to_bool(&args[2], &simple));
  tn_IRModule *m = ir_module_new(NULL, NULL, NULL);
  tn_GlobalVar *v = ir_global_var(name);
  if (!m || !v) return -1;
  TN_GET(f, tir_with_attr(f, "global_symbol", (tn_obj *)tn_str_from(name)));
  TN_GET(f, without_aliases(f));
  TN_TRY(ir_module_add(m, v, (tn_BaseFunc *)f, false));
  return tn_ret_obj(ret, driver_lower(m, simple));
}

/* driver.host_pipeline(lowered module, target) -> IRModule */
static int f_host_pipeline(TN_ARGS) {
  TN_NARGS("driver.host_pipeline", 2);
  TN_ARG_OBJ(IRModule, m, 0);
  TN_ARG_OBJ(Object, target, 1);
  tn_IRModule *on_host, *on_device;
  TN_TRY(driver_split_pipeline(m, target, &on_host, &on_device));
  return tn_ret_obj(ret, on_host);
}

/* driver.device_pipeline(lowered module, target) -> IRModule */
static int f_device_pipeline(TN_ARGS) {
  TN_NARGS("driver.device_pipeline", 2);
  TN_ARG_OBJ(IRModule, m, 0);
  TN_ARG_OBJ(Object, target, 1);
  tn_IRModule *on_host, *on_device;
  TN_TRY(driver_split_pipeline(m, target, &on_host, &on_device));
  return tn_ret_obj(ret, on_device);
}

static const tn_func_row functions[] = {
    {"driver.lower", f_lower},
    {"driver.lower_primfunc", f_lower_primfunc},
    {"driver.host_pipeline", f_host_pipeline},
    {"driver.device_pipeline", f_device_pipeline},
};

int driver_tir_pipeline_init(void) { return tn_func_register_rows(functions, TN_COUNT(functions)); }
