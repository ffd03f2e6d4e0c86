/* What follows from the table of steps: its rows, a call of each step, the functions that programs
   call. */
#include "tir/schedule/steps.h"

#include <string.h>

#include "tir/schedule/api.h"
#include "tir/schedule/blocks.h"
#include "tir/schedule/layout.h"
#include "tir/schedule/trace.h"

static tn_BlockRV *blockize(tn_TirSchedule *s, const tn_obj *target, bool preserve) {
  const tn_LoopRV *loop = TN_AS(LoopRV, target);
  return loop ? sch_blockize(s, loop, preserve)
              : sch_blockize_blocks(s, (const tn_arr *)target, preserve);
}

/* ---- parameters ---- */

#define IN(type, name) {#name, SCH_##type, true},
#define AT(type, name) {#name, SCH_##type, false},
#define STEP(kind, method, gives, nature, params, call)                                            \
  static const sch_param params_##kind[] = {params{0}};
#include "tir/schedule/steps.def"
#undef IN
#undef AT
#undef STEP

/* ---- calls ---- */

#define V_REF(T, name)    const tn_##T *name = (const tn_##T *)(v++)->v.obj;
#define V_BLOCK(name)     V_REF(BlockRV, name)
#define V_LOOP(name)      V_REF(LoopRV, name)
#define V_SITE(name)      const tn_obj *name = (v++)->v.obj;
#define V_LOOPS(name)     const tn_arr *name = (const tn_arr *)(v++)->v.obj;
#define V_FACTORS(name)   V_LOOPS(name)
#define V_CONSUMERS(name) V_LOOPS(name)
#define V_TARGET(name)    V_SITE(name)
#define V_VALUE(name)     tn_any name = *v++;
#define V_INT(name)       int64_t name = (v++)->v.i64;
#define V_FLAG(name)      bool name = (v++)->v.i64 != 0;
#define V_TEXT(name)      const char *name = tn_cstr((const tn_str *)(v++)->v.obj);
#define V_FUNCTION(name)  V_TEXT(name)
#define V_READS(name)     V_INT(name)
#define V_WRITES(name)    V_INT(name)
#define V_PLACE(name)     V_INT(name) V_FLAG(name##_written)
#define V_MAP(name)       V_REF(IndexMap, name)
#define V_PADDING(name)   V_REF(IndexMap, name)
#define V_INTS(name)      tn_arr *name = (tn_arr *)(v++)->v.obj;
#define V_FLOATS(name)    V_INTS(name)
#define V_SIDE(name)      bool name = strcmp(tn_cstr((const tn_str *)(v++)->v.obj), "write") == 0;
#define V_DTYPE(name)                                                                              \
  tn_dtype name;                                                                                   \
  TN_TRY(tn_any_to_dtype(v++, &name));

static int give(const void *handles, tn_any *result) {
  *result = tn_any_obj(handles);
  return handles ? 0 : -1;
}
#define CALL_NONE(call)                                                                            \
  *result = tn_any_none();                                                                         \
  return (call);
#define CALL_ONE(call)  return give((call), result);
#define CALL_LIST(call) return give((call), result);

#define IN(type, name) V_##type(name)
#define AT(type, name) V_##type(name)
#define STEP(kind, method, gives, nature, params, call)                                            \
  static int take_##kind(tn_TirSchedule *s, const tn_any *v, const tn_any *decision,               \
                         tn_any *result) {                                                         \
    params(void) s, (void)v, (void)decision;                                                       \
    CALL_##gives(call)                                                                             \
  }
#include "tir/schedule/steps.def"
#undef IN
#undef AT
#undef STEP

/* ---- rows ---- */

#define STEP(kind, method, gives, nature, params, call)                                            \
  {#kind,      #method, SCH_##gives, SCH_##nature, params_##kind, TN_COUNT(params_##kind) - 1,     \
   take_##kind},
static const sch_row rows[] = {
#include "tir/schedule/steps.def"
};
#undef STEP

const sch_row *sch_row_of(sch_step_id id) { return &rows[id]; }

static const sch_row *find(const char *kind) {
  for (int i = 0; i < SCH_NSTEPS; ++i)
    if (strcmp(rows[i].kind, kind) == 0) return &rows[i];
  return NULL;
}

const sch_row *sch_row_named(const char *kind) {
  const sch_row *row = find(kind);
  TN_CHECKP(row, ValueError, NULL, "InstructionKind: '%s' is not a kind of instruction", kind);
  return row;
}

const sch_row *sch_row_of_inst(const tn_Instruction *inst) {
  return sch_row_named(tn_cstr(inst->kind->name));
}

/* they live as long as the process */
static tn_InstructionKind *kinds[SCH_NSTEPS];

static int make_kinds(void) {
  for (int i = 0; i < SCH_NSTEPS; ++i) {
    TN_SCOPE(scope);
    if (kinds[i]) continue;
    TN_GET(kinds[i], TN_NEW(InstructionKind, .name = tn_str_from(rows[i].kind)));
    tn_retain(kinds[i]);
  }
  return 0;
}

tn_InstructionKind *sch_kind_object(const sch_row *row) { return kinds[row - rows]; }

/* ---- taking a step ---- */

/* Values as the trace has them. */
static tn_Instruction *record(const sch_row *row, const tn_any *v, const tn_any *result) {
  TN_VEC(inputs);
  TN_VEC(attrs);
  for (const sch_param *p = row->params; p < row->params + row->nparams; ++p) {
    const tn_arr *list = p->type == SCH_LOOPS || p->type == SCH_FACTORS ? (tn_arr *)v->v.obj : NULL;
    if (!list) TN_TRYP(tn_vec_push(p->input ? &inputs : &attrs, *v));
    for (int64_t i = 0; list && i < list->len; ++i) TN_TRYP(tn_vec_push(&inputs, list->items[i]));
    if (p->type == SCH_PLACE) TN_TRYP(tn_vec_push(&attrs, *++v));
    ++v;
  }
  tn_arr *outputs = row->gives == SCH_LIST  ? (tn_arr *)result->v.obj
                    : row->gives == SCH_ONE ? tn_arr_of(1, result->v.obj)
                                            : tn_arr_of(0);
  return outputs ? TN_NEW(Instruction, .kind = sch_kind_object(row), .inputs = tn_arr_from(&inputs),
                          .attrs = tn_arr_from(&attrs), .outputs = outputs)
                 : NULL;
}

int sch_take(tn_TirSchedule *s, const sch_row *row, const tn_any *given, const tn_any *decision,
             tn_any *result) {
  tn_any values[2 * SCH_MAX_PARAMS] = {0}, choice = {0};
  tn_Instruction *inst;
  if (decision && decision->type_index == TN_NONE) decision = NULL;
  TN_TRY(sch_take_args(s, row, given, values));
  TN_TRY(row->call(s, values, decision, result));
  if (row->nature == SCH_DECIDES) {
    const tn_arr *both = (const tn_arr *)result->v.obj;
    *result = both->items[0];
    choice = both->items[1];
  }
  TN_GET(inst, record(row, values, result));
  return sch_trace_append(s->trace, inst, choice);
}

/* ---- functions ---- */

/* (schedule, parameters..., decision); what is missing is None */
static int take(const sch_row *row, const tn_any *args, int32_t n, tn_any *ret) {
  int most = 1 + row->nparams + (row->nature == SCH_DECIDES);
  tn_any given[SCH_MAX_PARAMS + 1] = {0}, result;
  TN_CHECK(n >= 1 && n <= most, TypeError, NULL, "Schedule.%s: expected 1 to %d arguments, got %d",
           row->method, most, n);
  SCH_ARG_HANDLE(TirSchedule, s, 0);
  for (int i = 1; i < n; ++i)
    given[i - 1] = args[i].type_index == TN_RVALUE ? tn_any_obj(*args[i].v.rvalue) : args[i];
  TN_TRY(sch_take(s, row, given, &given[row->nparams], &result));
  return tn_any_own(&result, ret);
}

#define STEP(kind, method, gives, nature, params, call)                                            \
  static int f_##kind(TN_ARGS) { return take(&rows[SCH_##kind], args, n, ret); }
#include "tir/schedule/steps.def"
#undef STEP

#define STEP(kind, method, gives, nature, params, call) {"tir.schedule." #kind, f_##kind},
static const tn_func_row functions[] = {
#include "tir/schedule/steps.def"
};
#undef STEP

int schedule_steps_init(void) {
  TN_TRY(make_kinds());
  return tn_func_register_rows(functions, TN_COUNT(functions));
}
