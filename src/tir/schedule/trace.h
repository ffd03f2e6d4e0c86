/* Traces: the steps that a schedule has taken, as data, as Python, as JSON, and taken again.

   JSON is [[[kind, inputs, attributes, outputs], ...], [[step, choice], ...]]. Handles are named in
   the order in which steps give them: b0, l1, v2. Among the inputs a text is a name, "None", or a
   text in its own quotes; index maps are their JSON as text. */
#ifndef TN_TIR_SCHEDULE_TRACE_H_
#define TN_TIR_SCHEDULE_TRACE_H_

#include "tir/schedule/steps.h"

/** Puts a step at the end. @param choice that was made for it; None: none */
TN_API int sch_trace_append(tn_Trace *trace, const tn_Instruction *inst, tn_any choice);
/** What the trace consists of from now on. */
int sch_trace_set(tn_Trace *trace, const tn_arr *insts, const tn_map *decisions);
/** Number of steps, of those before the postprocessing if asked. */
int64_t sch_trace_len(const tn_Trace *trace, bool remove_postproc);
static inline const tn_Instruction *sch_trace_at(const tn_Trace *trace, int64_t i) {
  return (const tn_Instruction *)tn_arr_obj(trace->insts, i);
}
/** The choice made for a step, or None. */
TN_API tn_any sch_trace_choice(const tn_Trace *trace, const tn_Instruction *inst);
/** A trace without steps whose results nothing uses. */
TN_API tn_Trace *sch_trace_simplified(const tn_Trace *trace, bool remove_postproc);

/** Takes the steps on a schedule of the program that the trace began with; those before one that
 * fails stay taken. @param choose f(step, inputs, attributes, choice) gives the choice to make;
 * NULL: that of the trace */
TN_API int sch_trace_apply(const tn_Trace *trace, tn_TirSchedule *s, bool remove_postproc,
                           tn_func *choose);
/** The same for JSON, which may come from anywhere. ValueError: it is not a trace; IndexError: a
 * step uses a name that no step before it gave; errors of the steps. */
TN_API int sch_trace_apply_json(const char *text, size_t n, tn_TirSchedule *s);

/** The trace as JSON. TypeError for what has no text, such as expressions in annotations. */
TN_API tn_str *sch_trace_json(const tn_Trace *trace, bool remove_postproc);
/** A line of Python (String) for each step, for a schedule `sch`. */
TN_API tn_arr *sch_trace_python(const tn_Trace *trace, bool remove_postproc);
/** The line of one step, with _ for each handle: only a trace gives these names. */
TN_API tn_str *sch_inst_python(const tn_Instruction *inst);

/** Inputs and attributes as values for sch_take. @param given SCH_MAX_PARAMS values, scope-owned.
 * ValueError when their numbers are wrong */
int sch_unpack(const sch_row *row, const tn_arr *inputs, const tn_arr *attrs, tn_any *given);
/** Takes a step of a trace. @param outputs what `known` gets for each handle that the step gives */
int sch_retake(tn_TirSchedule *s, const sch_row *row, const tn_arr *inputs, const tn_arr *attrs,
               const tn_any *choice, const tn_arr *outputs, tn_map *known);

/** Is it a handle of a block, loop or integer? */
static inline bool sch_is_handle(const tn_any *x) {
  return tn_any_is_obj(x) &&
         (x->type_index == TN_TI_BlockRV || x->type_index == TN_TI_LoopRV || TN_IS(Var, x->v.obj));
}
/** IndexError: a step uses a handle that no step before it gave. @param name or NULL; -1 */
int sch_undefined(const char *name);

#endif /* TN_TIR_SCHEDULE_TRACE_H_ */
