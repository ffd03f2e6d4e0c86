/* Traces as data: recording, changing, taking the steps again. */
#include "tir/schedule/trace.h"

#include "base/pmap.h"
#include "ir/functor.h"
#include "tenon/object.h"
#include "tir/schedule/api.h"
#include "tir/schedule/schedule_impl.h"

/* ---- changing ---- */

int sch_trace_set(tn_Trace *trace, const tn_arr *insts, const tn_map *decisions) {
  tn_any steps = tn_any_obj(insts), chosen = tn_any_obj(decisions);
  if (!insts || !decisions) return -1;
  TN_TRY(tn_field_set((tn_obj *)trace, tn_type_field(&tn_type_Trace, "insts"), &steps));
  return tn_field_set((tn_obj *)trace, tn_type_field(&tn_type_Trace, "decisions"), &chosen);
}

/* The first n elements, and `last` unless it is NULL. */
static tn_arr *first(const tn_arr *a, int64_t n, const void *last) {
  TN_VEC(v);
  TN_TRYP(tn_vec_reserve(&v, n + 1));
  for (int64_t i = 0; i < n; ++i) TN_TRYP(tn_vec_push(&v, a->items[i]));
  if (last) TN_TRYP(tn_vec_push_obj(&v, last));
  return tn_arr_from(&v);
}

int sch_trace_append(tn_Trace *trace, const tn_Instruction *inst, tn_any choice) {
  const tn_map *decisions = trace->decisions;
  if (choice.type_index != TN_NONE)
    TN_GET(decisions, tn_map_with(decisions, tn_any_obj(inst), choice));
  return sch_trace_set(trace, first(trace->insts, trace->insts->len, inst), decisions);
}

int64_t sch_trace_len(const tn_Trace *trace, bool remove_postproc) {
  const tn_InstructionKind *end = sch_kind_object(sch_row_of(SCH_EnterPostproc));
  int64_t n = remove_postproc ? 0 : trace->insts->len;
  while (n < trace->insts->len &&
         !tn_str_eq(sch_trace_at(trace, n)->kind->name, tn_cstr(end->name)))
    ++n;
  return n;
}

tn_any sch_trace_choice(const tn_Trace *trace, const tn_Instruction *inst) {
  tn_any choice = tn_any_none();
  return tn_map_get(trace->decisions, tn_any_obj(inst), &choice) ? choice : tn_any_none();
}

/* A trace of some steps, with the choices made for these. */
static tn_Trace *of_steps(const tn_Trace *trace, const tn_arr *insts) {
  tn_map *decisions = tn_scope_own(tn_map_new());
  if (!insts || !decisions) return NULL;
  for (int64_t i = 0; i < insts->len; ++i) {
    tn_any choice = sch_trace_choice(trace, (const tn_Instruction *)insts->items[i].v.obj);
    if (choice.type_index != TN_NONE) TN_TRYP(tn_map_set(decisions, insts->items[i], choice));
  }
  return TN_NEW(Trace, .insts = (tn_arr *)(uintptr_t)insts, .decisions = decisions);
}

/* ---- without what nothing uses ---- */

/* Lists and maps are passed through. */
static int note_used(void *ctx, tn_obj *o) {
  tn_any x = tn_any_obj(o);
  if (sch_is_handle(&x)) TN_TRY(tn_pmap_put(ctx, o, o));
  return 1;
}

static bool is_used(const tn_pmap *used, const tn_Instruction *inst) {
  for (int64_t i = 0; i < inst->outputs->len; ++i)
    if (tn_arr_obj(inst->outputs, i) && tn_pmap_has(used, tn_arr_obj(inst->outputs, i)))
      return true;
  return false;
}

tn_Trace *sch_trace_simplified(const tn_Trace *trace, bool remove_postproc) {
  TN_PMAP(used);
  TN_VEC(kept);
  const sch_row *row;
  for (int64_t i = sch_trace_len(trace, remove_postproc); i-- > 0;) {
    const tn_Instruction *inst = sch_trace_at(trace, i);
    TN_GETP(row, sch_row_of_inst(inst));
    if (row->nature != SCH_CHANGES && !is_used(&used, inst)) continue;
    TN_TRYP(tn_pre_order(inst->inputs, note_used, &used));
    TN_TRYP(tn_vec_push_obj(&kept, inst));
  }
  for (int64_t i = 0, k = kept.len - 1; i < k; ++i, --k) {
    tn_any x = kept.items[i];
    kept.items[i] = kept.items[k], kept.items[k] = x;
  }
  return of_steps(trace, tn_arr_from(&kept));
}

/* ---- taking steps again ---- */

int sch_undefined(const char *name) {
  return TN_RAISE(IndexError, NULL, "Random variable is not defined%s%s", name ? ": " : "",
                  name ? name : "");
}

int sch_unpack(const sch_row *row, const tn_arr *inputs, const tn_arr *attrs, tn_any *given) {
  int64_t needs = 0, nattrs = 0, i = 0, a = 0;
  bool more = false, optional = false;
  for (const sch_param *p = row->params; p < row->params + row->nparams; ++p) {
    bool spread = p->type == SCH_LOOPS || p->type == SCH_FACTORS;
    more = more || spread;
    optional = optional || p->type == SCH_CONSUMERS;
    if (!p->input) nattrs += p->type == SCH_PLACE ? 2 : 1;
    else needs += !spread && p->type != SCH_CONSUMERS;
  }
  TN_CHECK(inputs->len >= needs && (more || inputs->len <= needs + optional) &&
               attrs->len == nattrs,
           ValueError, NULL, "trace: %s takes %lld inputs and %lld attributes, got %lld and %lld",
           row->method, (long long)needs, (long long)nattrs, (long long)inputs->len,
           (long long)attrs->len);
  for (const sch_param *p = row->params; p < row->params + row->nparams; ++p, ++given) {
    if (p->type == SCH_LOOPS || p->type == SCH_FACTORS) {
      *given = tn_any_obj(tn_scope_own(tn_arr_new(inputs->items + i, inputs->len - i)));
      if (!given->v.obj) return -1;
    } else if (p->type == SCH_PLACE) {
      bool write;
      TN_TRY(tn_any_to_bool(&attrs->items[a + 1], &write));
      tn_any pair[] = {tn_any_cstr(write ? "write" : "read"), attrs->items[a]};
      *given = tn_any_obj(tn_scope_own(tn_arr_new(pair, 2)));
      if (!given->v.obj) return -1;
      a += 2;
    } else if (!p->input) {
      *given = attrs->items[a++];
    } else {
      *given = i < inputs->len ? inputs->items[i++] : tn_any_none();
    }
  }
  return 0;
}

int sch_retake(tn_TirSchedule *s, const sch_row *row, const tn_arr *inputs, const tn_arr *attrs,
               const tn_any *choice, const tn_arr *outputs, tn_map *known) {
  tn_any given[SCH_MAX_PARAMS] = {0}, result;
  TN_TRY(sch_unpack(row, inputs, attrs, given));
  TN_TRY(sch_take(s, row, given, row->nature == SCH_DECIDES ? choice : NULL, &result));
  const tn_arr *list = TN_AS(Array, tn_any_is_obj(&result) ? result.v.obj : NULL);
  const tn_any *handles = list ? list->items : &result;
  int64_t n = list ? list->len : row->gives == SCH_ONE;
  TN_CHECK(n == outputs->len, ValueError, NULL, "trace: %s gave %lld handles, %lld are recorded",
           row->kind, (long long)n, (long long)outputs->len);
  for (int64_t i = 0; i < n; ++i) TN_TRY(tn_map_set(known, outputs->items[i], handles[i]));
  return 0;
}

/* Puts the handles of the other schedule in. @param depth lists and maps around x */
static int renamed(const tn_map *known, const tn_any *x, int depth, tn_any *out) {
  const tn_obj *o = tn_any_is_obj(x) ? x->v.obj : NULL;
  const tn_arr *list = TN_AS(Array, o);
  const tn_map *map = TN_AS(Map, o);
  TN_VEC(items);
  TN_CHECK(depth <= SCH_MAX_NESTED + 1, ValueError, NULL, "trace: lists nested more than %d deep",
           SCH_MAX_NESTED); /* one is that of the inputs */
  *out = *x;
  if (sch_is_handle(x)) return tn_map_get(known, *x, out) ? 0 : sch_undefined(NULL);
  for (int64_t i = 0; list && i < list->len; ++i) {
    tn_any item;
    TN_TRY(renamed(known, &list->items[i], depth + 1, &item));
    TN_TRY(tn_vec_push(&items, item));
  }
  if (list) *out = tn_any_obj(tn_arr_from(&items));
  if (!map) return !list || out->v.obj ? 0 : -1;
  tn_map *now = tn_scope_own(tn_map_new());
  for (int64_t i = 0; now && i < map->len; ++i) {
    tn_any item;
    TN_TRY(renamed(known, &map->entries[i].value, depth + 1, &item));
    TN_TRY(tn_map_set(now, map->entries[i].key, item));
  }
  *out = tn_any_obj(now);
  return now ? 0 : -1;
}

/* One step: what it leaves behind but its handles is let go of. */
static int take_again(const tn_Trace *trace, const tn_Instruction *inst, tn_TirSchedule *s,
                      tn_func *choose, tn_map *known) {
  TN_SCOPE(scope);
  const sch_row *row;
  tn_any inputs = tn_any_obj(inst->inputs), choice = sch_trace_choice(trace, inst);
  TN_GET(row, sch_row_of_inst(inst));
  TN_TRY(renamed(known, &inputs, 0, &inputs));
  if (choose) {
    tn_any args[] = {tn_any_obj(inst), inputs, tn_any_obj(inst->attrs), choice};
    TN_TRY(tn_func_call(choose, args, 4, &choice));
    if (tn_any_is_obj(&choice) && !tn_scope_own(choice.v.obj)) return -1;
  }
  return sch_retake(s, row, (const tn_arr *)inputs.v.obj, inst->attrs, &choice, inst->outputs,
                    known);
}

int sch_trace_apply(const tn_Trace *trace, tn_TirSchedule *s, bool remove_postproc,
                    tn_func *choose) {
  tn_map *known;
  /* the trace may be that of the schedule, which grows */
  const tn_arr *insts = trace->insts;
  int64_t n = sch_trace_len(trace, remove_postproc);
  TN_GET(known, tn_scope_own(tn_map_new()));
  TN_GET(trace, of_steps(trace, insts));
  for (int64_t i = 0; i < n; ++i)
    TN_TRY(take_again(trace, sch_trace_at(trace, i), s, choose, known));
  return 0;
}

/* ---- functions ---- */

#define TRACE(name, nargs)                                                                         \
  TN_NARGS("tir.Trace." name, nargs);                                                              \
  SCH_ARG_HANDLE(Trace, trace, 0)
#define FLAG(name, i)                                                                              \
  bool name;                                                                                       \
  TN_TRY(tn_any_to_bool(&args[i], &name))

static int f_append(TN_ARGS) {
  tn_any choice;
  TRACE("append", 3);
  SCH_ARG_HANDLE(Instruction, inst, 1);
  TN_TRY(tn_any_own(&args[2], &choice));
  if (tn_any_is_obj(&choice) && !tn_scope_own(choice.v.obj)) return -1;
  return sch_trace_append(trace, inst, choice);
}

static int f_pop(TN_ARGS) {
  TRACE("pop", 1);
  int64_t len = trace->insts->len;
  if (!len) return 0;
  tn_any last = trace->insts->items[len - 1];
  TN_TRY(tn_any_own(&last, ret)); /* the trace lets go of it */
  if (sch_trace_set(trace, first(trace->insts, len - 1, NULL),
                    tn_map_without(trace->decisions, last)) == 0)
    return 0;
  tn_any_release(ret);
  return -1;
}

static int f_get_decision(TN_ARGS) {
  TRACE("get_decision", 2);
  SCH_ARG_HANDLE(Instruction, inst, 1);
  tn_any choice = sch_trace_choice(trace, inst);
  return tn_any_own(&choice, ret);
}

/* (trace, step, its new choice, leave the postprocessing out?) */
static int f_with_decision(TN_ARGS) {
  tn_any choice;
  TRACE("with_decision", 4);
  SCH_ARG_HANDLE(Instruction, inst, 1);
  FLAG(shorter, 3);
  tn_Trace *now;
  TN_GET(now, of_steps(trace, first(trace->insts, sch_trace_len(trace, shorter), NULL)));
  TN_TRY(tn_any_own(&args[2], &choice));
  if (tn_any_is_obj(&choice) && !tn_scope_own(choice.v.obj)) return -1;
  TN_TRY(sch_trace_set(now, now->insts, tn_map_with(now->decisions, tn_any_obj(inst), choice)));
  return tn_ret_obj(ret, now);
}

static int f_simplified(TN_ARGS) {
  TRACE("simplified", 2);
  FLAG(shorter, 1);
  return tn_ret_obj(ret, sch_trace_simplified(trace, shorter));
}

static int f_as_json(TN_ARGS) {
  TRACE("as_json", 2);
  FLAG(shorter, 1);
  return tn_ret_obj(ret, sch_trace_json(trace, shorter));
}

static int f_as_python(TN_ARGS) {
  TRACE("as_python", 2);
  FLAG(shorter, 1);
  return tn_ret_obj(ret, sch_trace_python(trace, shorter));
}

/* (trace, schedule, leave the postprocessing out?, function that chooses or None) */
static int f_apply(TN_ARGS) {
  TRACE("apply_to_schedule", 4);
  SCH_ARG_HANDLE(TirSchedule, s, 1);
  FLAG(shorter, 2);
  TN_ARG_OPT(Function, choose, 3);
  return sch_trace_apply(trace, s, shorter, choose);
}

/* (JSON, schedule) */
static int f_apply_json(TN_ARGS) {
  tn_bytes_view text;
  TN_NARGS("tir.Trace.apply_json_to_schedule", 2);
  TN_TRY(tn_any_to_bytes(&args[0], &text));
  SCH_ARG_HANDLE(TirSchedule, s, 1);
  return sch_trace_apply_json((const char *)text.data, text.size, s);
}

static int f_inst_python(TN_ARGS) {
  TN_NARGS("tir.Instruction.as_python", 1);
  SCH_ARG_HANDLE(Instruction, inst, 0);
  return tn_ret_obj(ret, sch_inst_python(inst));
}

/* name -> the kind */
static int f_kind(TN_ARGS) {
  const char *name;
  const sch_row *row;
  TN_NARGS("tir.InstructionKind.get", 1);
  TN_TRY(tn_any_to_cstr(&args[0], &name));
  TN_GET(row, sch_row_named(name));
  return tn_ret_obj(ret, sch_kind_object(row));
}

static int f_kind_is_pure(TN_ARGS) {
  const sch_row *row;
  TN_NARGS("tir.InstructionKind.is_pure", 1);
  SCH_ARG_HANDLE(InstructionKind, kind, 0);
  TN_GET(row, sch_row_named(tn_cstr(kind->name)));
  *ret = tn_any_bool(row->nature != SCH_CHANGES);
  return 0;
}

static const tn_func_row functions[] = {
    {"tir.schedule.TraceAppend", f_append},
    {"tir.schedule.TracePop", f_pop},
    {"tir.schedule.TraceGetDecision", f_get_decision},
    {"tir.schedule.TraceWithDecision", f_with_decision},
    {"tir.schedule.TraceSimplified", f_simplified},
    {"tir.schedule.TraceAsJSON", f_as_json},
    {"tir.schedule.TraceAsPython", f_as_python},
    {"tir.schedule.TraceApplyToSchedule", f_apply},
    {"tir.schedule.TraceApplyJSONToSchedule", f_apply_json},
    {"tir.schedule.InstructionAsPython", f_inst_python},
    {"tir.schedule.InstructionKindGet", f_kind},
    {"tir.schedule.InstructionKindIsPure", f_kind_is_pure},
};

int schedule_trace_init(void) { return tn_func_register_rows(functions, TN_COUNT(functions)); }
