/* Types of te schedules and the functions that Python programs call. */
#include "object/repr.h"
#include "te/schedule/te_schedule_impl.h"

TN_NODES_DEFINE(TN_TE_SCHEDULE_NODES, te_schedule_types)

static int f_create(TN_ARGS) {
  TN_NARGS("te.create_schedule", 1);
  TN_ARG_ITEMS(Array(Operation), ops, 0);
  return tn_ret_obj(ret, te_create_schedule(ops));
}

static int f_stage_of(TN_ARGS) {
  TN_NARGS("te.schedule.StageOf", 2);
  TN_ARG_OBJ(TeSchedule, s, 0);
  TN_ARG_OBJ(Operation, op, 1);
  return tn_ret_obj(ret, te_stage_of(s, op));
}

static int optional_expr(const tn_any *a, tn_expr **out) {
  *out = NULL;
  if (a->type_index != TN_NONE) TN_GET(*out, ir_expr_from(a));
  return 0;
}

/* (stage, loop, factor or None, nparts or None, disable predication) -> [outer, inner] */
static int f_split(TN_ARGS) {
  tn_expr *factor, *nparts;
  bool no_predicate;
  TN_NARGS("Stage.split", 5);
  TN_ARG_OBJ(TeStage, st, 0);
  TN_ARG_OBJ(IterVar, iv, 1);
  TN_TRY(optional_expr(&args[2], &factor));
  TN_TRY(optional_expr(&args[3], &nparts));
  TN_TRY(tn_any_to_bool(&args[4], &no_predicate));
  return tn_ret_obj(ret, te_split(st, iv, factor, nparts, no_predicate));
}

static int check_ivs(const tn_arr *ivs, const char *what) {
  for (int64_t i = 0; i < ivs->len; ++i)
    TN_CHECK(TN_AS(IterVar, tn_arr_obj(ivs, i)), TypeError, NULL,
             "Stage.%s: argument %lld: expected an IterVar", what, (long long)i);
  return 0;
}

static int f_fuse(TN_ARGS) {
  TN_NARGS("Stage.fuse", 2);
  TN_ARG_OBJ(TeStage, st, 0);
  TN_ARG_ITEMS(Array(IterVar), ivs, 1);
  TN_TRY(check_ivs(ivs, "fuse"));
  return tn_ret_obj(ret, te_fuse(st, ivs));
}

static int f_reorder(TN_ARGS) {
  TN_NARGS("Stage.reorder", 2);
  TN_ARG_OBJ(TeStage, st, 0);
  TN_ARG_ITEMS(Array(IterVar), ivs, 1);
  TN_TRY(check_ivs(ivs, "reorder"));
  return te_reorder(st, ivs);
}

static int f_transform_layout(TN_ARGS) {
  TN_NARGS("Stage.transform_layout", 3);
  TN_ARG_OBJ(TeStage, st, 0);
  TN_ARG_OBJ(IndexMap, map, 1);
  TN_ARG_ITEMS(Array(IntImm), separators, 2);
  return tn_ret_obj(ret, te_transform_layout(st, map, separators));
}

static int f_bind(TN_ARGS) {
  TN_NARGS("Stage.bind", 3);
  TN_ARG_OBJ(TeStage, st, 0);
  TN_ARG_OBJ(IterVar, iv, 1);
  TN_ARG_OBJ(IterVar, thread, 2);
  return te_bind(st, iv, thread);
}

static int f_set_kind(TN_ARGS) {
  int64_t kind;
  TN_NARGS("Stage.vectorize", 3);
  TN_ARG_OBJ(TeStage, st, 0);
  TN_ARG_OBJ(IterVar, iv, 1);
  TN_TRY(tn_any_to_int(&args[2], &kind));
  TN_CHECK(kind >= IR_ITER_UNROLLED && kind <= IR_ITER_PARALLELIZED, ValueError, NULL,
           "Stage: loop kind %lld", (long long)kind);
  return te_set_kind(st, iv, (ir_iter_type)kind);
}

static int f_pragma(TN_ARGS) {
  const char *key;
  TN_NARGS("Stage.pragma", 4);
  TN_ARG_OBJ(TeStage, st, 0);
  TN_ARG_OBJ(IterVar, iv, 1);
  TN_TRY(tn_any_to_cstr(&args[2], &key));
  TN_ARG_OPT(Object, value, 3);
  return te_pragma(st, iv, key, value);
}

static int f_storage_align(TN_ARGS) {
  int64_t factor, offset;
  TN_NARGS("Stage.storage_align", 4);
  TN_ARG_OBJ(TeStage, st, 0);
  TN_ARG_OBJ(IterVar, iv, 1);
  TN_TRY(tn_any_to_int(&args[2], &factor));
  TN_TRY(tn_any_to_int(&args[3], &offset));
  return te_storage_align(st, iv, factor, offset);
}

/* (stage, tensor, loop, iterations ahead) */
static int f_prefetch(TN_ARGS) {
  tn_expr *offset;
  TN_NARGS("Stage.prefetch", 4);
  TN_ARG_OBJ(TeStage, st, 0);
  TN_ARG_OBJ(Tensor, t, 1);
  TN_ARG_OBJ(IterVar, iv, 2);
  TN_GET(offset, ir_expr_from(&args[3]));
  return te_prefetch(st, t, iv, offset);
}

static int f_tensorize(TN_ARGS) {
  TN_NARGS("Stage.tensorize", 3);
  TN_ARG_OBJ(TeStage, st, 0);
  TN_ARG_OBJ(IterVar, iv, 1);
  TN_ARG_OBJ(TeTensorIntrin, intrin, 2);
  return te_tensorize(st, iv, intrin);
}

static int f_compute_at(TN_ARGS) {
  TN_NARGS("Stage.compute_at", 3);
  TN_ARG_OBJ(TeStage, st, 0);
  TN_ARG_OBJ(TeStage, parent, 1);
  TN_ARG_OBJ(IterVar, iv, 2);
  return te_compute_at(st, parent, iv);
}

static int f_set_attach(TN_ARGS) {
  int64_t type;
  TN_NARGS("Stage.compute_root", 2);
  TN_ARG_OBJ(TeStage, st, 0);
  TN_TRY(tn_any_to_int(&args[1], &type));
  TN_CHECK(type == TE_ATTACH_ROOT || type == TE_ATTACH_INLINE, ValueError, NULL,
           "Stage: attach type %lld", (long long)type);
  return te_set_attach(st, type);
}

/* (stage, name of a field, its value): scope, store_predicate, double_buffer, env_threads */
static int f_set_field(TN_ARGS) {
  const char *name;
  TN_NARGS("Stage.set_scope", 3);
  TN_ARG_OBJ(TeStage, st, 0);
  TN_TRY(tn_any_to_cstr(&args[1], &name));
  const tn_field *f = tn_type_field(&tn_type_TeStage, name);
  TN_CHECK(f, AttributeError, NULL, "Stage has no %s", name);
  return tn_field_set((tn_obj *)st, f, &args[2]);
}

static int f_rolling_buffer(TN_ARGS) {
  TN_NARGS("Stage.rolling_buffer", 1);
  TN_ARG_OBJ(TeStage, st, 0);
  return te_rolling_buffer(st);
}

static int f_cache_read(TN_ARGS) {
  const char *scope;
  TN_NARGS("Schedule.cache_read", 4);
  TN_ARG_OBJ(TeSchedule, s, 0);
  TN_ARG_OBJ(Tensor, t, 1);
  TN_TRY(tn_any_to_cstr(&args[2], &scope));
  TN_ARG_ITEMS(Array(Operation), readers, 3);
  for (int64_t i = 0; i < readers->len; ++i)
    TN_CHECK(tn_arr_obj(readers, i) && TN_IS(Operation, tn_arr_obj(readers, i)), TypeError, NULL,
             "cache_read: reader %lld: expected an Operation", (long long)i);
  return tn_ret_obj(ret, te_cache_read(s, t, scope, readers));
}

static int f_cache_write(TN_ARGS) {
  const char *scope;
  TN_NARGS("Schedule.cache_write", 3);
  TN_ARG_OBJ(TeSchedule, s, 0);
  TN_ARG_ITEMS(Array(Tensor), tensors, 1);
  TN_TRY(tn_any_to_cstr(&args[2], &scope));
  for (int64_t i = 0; i < tensors->len; ++i)
    TN_CHECK(TN_AS(Tensor, tn_arr_obj(tensors, i)), TypeError, NULL,
             "cache_write: %lld: expected a Tensor", (long long)i);
  return tn_ret_obj(ret, te_cache_write(s, tensors, scope));
}

static int f_rfactor(TN_ARGS) {
  int64_t axis;
  TN_NARGS("Schedule.rfactor", 4);
  TN_ARG_OBJ(TeSchedule, s, 0);
  TN_ARG_OBJ(Tensor, t, 1);
  TN_ARG_OBJ(IterVar, iv, 2);
  TN_TRY(tn_any_to_int(&args[3], &axis));
  return tn_ret_obj(ret, te_rfactor(s, t, iv, axis));
}

static int f_normalize(TN_ARGS) {
  TN_NARGS("Schedule.normalize", 1);
  TN_ARG_OBJ(TeSchedule, s, 0);
  return tn_ret_obj(ret, te_normalize(s));
}

static int f_infer_bound(TN_ARGS) {
  TN_NARGS("te.schedule.InferBound", 1);
  TN_ARG_OBJ(TeSchedule, s, 0);
  return tn_ret_obj(ret, te_infer_bound(s));
}

static int f_auto_inline(TN_ARGS) {
  int64_t which;
  TN_NARGS("te.schedule.AutoInline", 2);
  TN_ARG_OBJ(TeSchedule, s, 0);
  TN_TRY(tn_any_to_int(&args[1], &which));
  return te_auto_inline(s, (int)which);
}

/* (tensors, lanes of a vector, threads of a block or 0) -> Schedule */
static int f_for_target(TN_ARGS) {
  int64_t lanes, threads;
  TN_NARGS("te.schedule.ForTarget", 3);
  TN_ARG_ITEMS(Array(Tensor), outs, 0);
  TN_TRY(tn_any_to_int(&args[1], &lanes));
  TN_TRY(tn_any_to_int(&args[2], &threads));
  for (int64_t i = 0; i < outs->len; ++i)
    TN_CHECK(TN_AS(Tensor, tn_arr_obj(outs, i)), TypeError, NULL,
             "schedule: result %lld: expected a te.Tensor, got %s", (long long)i,
             tn_obj_key(tn_arr_obj(outs, i)));
  TN_CHECK(lanes >= 1 && lanes <= 1024 && threads >= 0 && threads <= 1024, ValueError, NULL,
           "schedule: %lld lanes and %lld threads: expected 1 to 1024 and 0 to 1024",
           (long long)lanes, (long long)threads);
  return tn_ret_obj(ret, te_schedule_for(outs, lanes, threads));
}

/* (schedule, arguments, binds or None) -> PrimFunc */
static int f_to_func(TN_ARGS) {
  TN_NARGS("te.schedule.ToFunc", 3);
  TN_ARG_OBJ(TeSchedule, s, 0);
  TN_ARG_ITEMS(Array(Object), params, 1);
  TN_ARG_OPT_ITEMS(Map(Tensor, Buffer), binds, 2);
  return tn_ret_obj(ret, te_schedule_to_func(s, params, binds));
}

static int f_schedule_ops(TN_ARGS) {
  TN_NARGS("te.schedule.ScheduleOps", 1);
  TN_ARG_OBJ(TeSchedule, s, 0);
  return tn_ret_obj(ret, te_schedule_ops(s));
}

/* (arguments, statement, Tensor to Buffer or None) -> PrimFunc */
static int f_stmt_to_func(TN_ARGS) {
  TN_NARGS("te.schedule.SchedulePostProcToPrimFunc", 3);
  TN_ARG_ITEMS(Array(Object), params, 0);
  TN_ARG_OBJ(Stmt, body, 1);
  TN_ARG_OPT_ITEMS(Map(Tensor, Buffer), given, 2);
  return tn_ret_obj(ret, te_stmt_to_func(params, body, given));
}

static int f_read_graph(TN_ARGS) {
  TN_NARGS("te.schedule.CreateReadGraph", 1);
  TN_ARG_ITEMS(Array(Operation), ops, 0);
  return tn_ret_obj(ret, te_read_graph(ops));
}

static int f_graph_order(TN_ARGS) {
  TN_NARGS("te.schedule.PostDFSOrder", 2);
  TN_ARG_ITEMS(Array(Operation), ops, 0);
  TN_ARG_ITEMS(Map(Operation, Array(Tensor)), graph, 1);
  return tn_ret_obj(ret, te_graph_order(ops, graph));
}

/* (schedule, outputs, inputs, are the inputs members) -> the group */
static int f_create_group(TN_ARGS) {
  bool include;
  TN_NARGS("Schedule.create_group", 4);
  TN_ARG_OBJ(TeSchedule, s, 0);
  TN_ARG_ITEMS(Array(Operation), outputs, 1);
  TN_ARG_ITEMS(Array(Operation), inputs, 2);
  TN_TRY(tn_any_to_bool(&args[3], &include));
  return tn_ret_obj(ret, te_create_group(s, outputs, inputs, include));
}

static const tn_func_row functions[] = {
    {"te.schedule.CreateSchedule", f_create},
    {"te.schedule.CreateGroup", f_create_group},
    {"te.schedule.StageOf", f_stage_of},
    {"te.schedule.Split", f_split},
    {"te.schedule.Fuse", f_fuse},
    {"te.schedule.Reorder", f_reorder},
    {"te.schedule.Bind", f_bind},
    {"te.schedule.TransformLayout", f_transform_layout},
    {"te.schedule.SetKind", f_set_kind},
    {"te.schedule.Pragma", f_pragma},
    {"te.schedule.StorageAlign", f_storage_align},
    {"te.schedule.Prefetch", f_prefetch},
    {"te.schedule.Tensorize", f_tensorize},
    {"te.schedule.ComputeAt", f_compute_at},
    {"te.schedule.SetAttach", f_set_attach},
    {"te.schedule.SetField", f_set_field},
    {"te.schedule.RollingBuffer", f_rolling_buffer},
    {"te.schedule.CacheRead", f_cache_read},
    {"te.schedule.CacheWrite", f_cache_write},
    {"te.schedule.RFactor", f_rfactor},
    {"te.schedule.Normalize", f_normalize},
    {"te.schedule.InferBound", f_infer_bound},
    {"te.schedule.AutoInline", f_auto_inline},
    {"te.schedule.ForTarget", f_for_target},
    {"te.schedule.ToFunc", f_to_func},
    {"te.schedule.ScheduleOps", f_schedule_ops},
    {"te.schedule.SchedulePostProcToPrimFunc", f_stmt_to_func},
    {"te.schedule.CreateReadGraph", f_read_graph},
    {"te.schedule.PostDFSOrder", f_graph_order},
};

/* stage(C, compute(C, ...)) */
static int repr_stage(tn_repr *r, const tn_obj *o) {
  const tn_TeStage *st = (const tn_TeStage *)o;
  if (!st->op) {
    tn_buf_puts(tn_repr_out(r), "group-stage()");
    return 0;
  }
  tn_buf_printf(tn_repr_out(r), "stage(%s, ", tn_cstr(st->op->name));
  TN_TRY(tn_repr_any(r, tn_any_obj(st->op)));
  tn_buf_putc(tn_repr_out(r), ')');
  return 0;
}

int te_schedule_init(void) {
  TN_TRY(tn_type_register_table(te_schedule_types, TN_COUNT(te_schedule_types)));
  TN_TRY(tn_repr_set(&tn_type_TeStage, repr_stage));
  return tn_func_register_rows(functions, TN_COUNT(functions));
}
