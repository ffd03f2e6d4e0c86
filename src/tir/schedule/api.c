/* Types of schedules and the functions that programs call, but for steps (steps.c). */
#include "tir/schedule/api.h"
#include "tir/schedule/blocks.h"
#include "tir/schedule/schedule_impl.h"
#include "tir/tir_impl.h"

TN_NODES_DEFINE(TN_SCHEDULE_NODES, schedule_types)

#define SCHEDULE SCH_ARG_SCHEDULE
#define HANDLE   SCH_ARG_HANDLE

/* @param of whose symbols and steps it begins with; NULL: none */
static tn_TirSchedule *new_schedule(tn_IRModule *mod, const tn_TirSchedule *of, int64_t debug,
                                    int64_t level) {
  const tn_map *symbols = of ? of->symbols : NULL;
  tn_map *own = tn_scope_own(tn_map_new());
  for (int64_t i = 0; own && symbols && i < symbols->len; ++i)
    TN_TRYP(tn_map_set(own, symbols->entries[i].key, symbols->entries[i].value));
  tn_arr *insts = of ? of->trace->insts : tn_scope_own(tn_arr_new(NULL, 0));
  tn_map *decisions = of ? of->trace->decisions : tn_scope_own(tn_map_new());
  tn_Trace *trace =
      insts && decisions ? TN_NEW(Trace, .insts = insts, .decisions = decisions) : NULL;
  tn_map *srefs = tn_scope_own(tn_map_new());
  return own && trace ? TN_NEW(TirSchedule, .mod = mod, .symbols = own, .srefs = srefs,
                               .work_name = of ? of->work_name : NULL, .debug_mask = debug,
                               .error_render_level = level, .trace = trace)
                      : NULL;
}

tn_TirSchedule *sch_new(tn_IRModule *mod, int64_t debug_mask, int64_t render_level) {
  return new_schedule(mod, NULL, debug_mask, render_level);
}

/* tir.schedule.Schedule(module, debug mask, render level, seed or None) */
static int f_new(TN_ARGS) {
  int64_t debug, level, seed = -1;
  TN_NARGS("tir.Schedule", 4);
  HANDLE(IRModule, mod, 0);
  TN_TRY(tn_any_to_int(&args[1], &debug));
  TN_TRY(tn_any_to_int(&args[2], &level));
  TN_CHECK(level >= 0 && level <= 2, ValueError, NULL, "tir.Schedule: render level %lld",
           (long long)level);
  if (args[3].type_index != TN_NONE) TN_TRY(tn_any_to_int(&args[3], &seed));
  tn_TirSchedule *s = new_schedule(mod, NULL, debug, level);
  return s && sch_seed(s, seed) == 0 ? tn_ret_obj(ret, s) : -1;
}

tn_TirSchedule *sch_copy(const tn_TirSchedule *s) {
  return new_schedule(s->mod, s, s->debug_mask, s->error_render_level);
}

/* A schedule of the same program in which the same handles are known. */
static int f_copy(TN_ARGS) {
  SCHEDULE("Schedule.copy", 1);
  tn_TirSchedule *copy = sch_copy(s);
  int64_t seed = copy ? sch_fork_seed(s) : -1;
  return seed >= 0 && sch_seed(copy, seed) == 0 ? tn_ret_obj(ret, copy) : -1;
}

static int f_work_on(TN_ARGS) {
  const char *name;
  SCHEDULE("Schedule.work_on", 2);
  TN_TRY(tn_any_to_cstr(&args[1], &name));
  TN_CHECK(ir_module_find_var(s->mod, name), ValueError, NULL,
           "work_on: the module has no function named %s", name);
  tn_any value = tn_any_obj(tn_str_from(name));
  return tn_field_set((tn_obj *)s, tn_type_field(&tn_type_TirSchedule, "work_name"), &value);
}

static int f_get(TN_ARGS) {
  SCHEDULE("Schedule.get", 2);
  HANDLE(Object, rv, 1);
  return tn_ret_obj(ret, sch_get(s, rv));
}

static int f_remove_rv(TN_ARGS) {
  SCHEDULE("Schedule.remove_rv", 2);
  HANDLE(Object, rv, 1);
  tn_any known;
  TN_CHECK(tn_map_get(s->symbols, tn_any_obj(rv), &known), IndexError, NULL,
           "remove_rv: the random variable is not of this schedule");
  tn_any value = tn_any_obj(tn_map_without(s->symbols, tn_any_obj(rv)));
  return value.v.obj
             ? tn_field_set((tn_obj *)s, tn_type_field(&tn_type_TirSchedule, "symbols"), &value)
             : -1;
}

static int f_intrin(TN_ARGS) {
  TN_NARGS("tir.TensorIntrin", 2);
  HANDLE(PrimFunc, desc, 0);
  HANDLE(PrimFunc, impl, 1);
  return tn_ret_obj(ret, sch_intrin_new(desc, impl));
}

static int f_intrin_register(TN_ARGS) {
  const char *name;
  bool override;
  TN_NARGS("tir.TensorIntrin.register", 3);
  TN_TRY(tn_any_to_cstr(&args[0], &name));
  HANDLE(TensorIntrin, intrin, 1);
  TN_TRY(tn_any_to_bool(&args[2], &override));
  return sch_intrin_register(name, intrin, override);
}

/* (name, may it be missing) -> TensorIntrin or None */
static int f_intrin_get(TN_ARGS) {
  const char *name;
  bool optional;
  TN_NARGS("tir.TensorIntrin.get", 2);
  TN_TRY(tn_any_to_cstr(&args[0], &name));
  TN_TRY(tn_any_to_bool(&args[1], &optional));
  const tn_TensorIntrin *intrin = sch_intrin_get(name);
  TN_CHECK(intrin || optional, ValueError, NULL, "TensorIntrin '%s' is not registered", name);
  return intrin ? tn_ret_obj(ret, intrin) : 0;
}

static int f_can_decompose_padding(TN_ARGS) {
  bool can = false;
  SCHEDULE("Schedule.can_decompose_padding", 3);
  HANDLE(BlockRV, block, 1);
  HANDLE(LoopRV, loop, 2);
  TN_TRY(sch_can_decompose_padding(s, block, loop, &can));
  *ret = tn_any_bool(can);
  return 0;
}

static const tn_func_row functions[] = {
    {"tir.schedule.Schedule", f_new},
    {"tir.schedule.Copy", f_copy},
    {"tir.schedule.WorkOn", f_work_on},
    {"tir.schedule.Get", f_get},
    {"tir.schedule.RemoveRV", f_remove_rv},
    {"tir.schedule.CanDecomposePadding", f_can_decompose_padding},
    {"tir.schedule.TensorIntrin", f_intrin},
    {"tir.schedule.TensorIntrinRegister", f_intrin_register},
    {"tir.schedule.TensorIntrinGet", f_intrin_get},
};

int schedule_init(void) {
  TN_TRY(tn_type_register_table(schedule_types, TN_COUNT(schedule_types)));
  TN_TRY(sch_sample_init());
  TN_TRY(schedule_steps_init());
  TN_TRY(schedule_step_args_init());
  TN_TRY(schedule_trace_init());
  TN_TRY(schedule_state_init());
  TN_TRY(schedule_tensorize_map_init());
  TN_TRY(schedule_tensorize_auto_init());
  return tn_func_register_rows(functions, TN_COUNT(functions));
}
