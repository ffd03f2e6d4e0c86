/* The table of steps (steps.def) as data: what a step takes and gives, and taking one so that the
   schedule's trace records it. The functions that programs call, traces, their texts and their
   replay follow from it. C code that needs no trace calls the steps themselves (schedule.h,
   blocks.h, layout.h). */
#ifndef TN_TIR_SCHEDULE_STEPS_H_
#define TN_TIR_SCHEDULE_STEPS_H_

#include "tir/schedule/schedule.h"

#define STEP(kind, method, gives, nature, params, call) SCH_##kind,
typedef enum {
#include "tir/schedule/steps.def"
  SCH_NSTEPS
} sch_step_id;
#undef STEP

/* What a parameter may be: what callers give for it, and what is recorded. */
typedef enum {
  SCH_BLOCK,     /* handle of a block; a name stands for get_block */
  SCH_LOOP,      /* handle of a loop */
  SCH_SITE,      /* either of them */
  SCH_LOOPS,     /* list of loops; each is an input, and the step has no other inputs */
  SCH_FACTORS,   /* list of integers, handles of such, and None; each is an input, the last ones */
  SCH_CONSUMERS, /* list of blocks, one input; may be left out */
  SCH_TARGET,    /* a loop or a list of blocks */
  SCH_VALUE,     /* number, text, handle of an integer, other nodes, lists and maps of these */
  SCH_INT,
  SCH_FLAG, /* recorded as 0 or 1 */
  SCH_TEXT,
  SCH_FUNCTION, /* name of a function; None: the one that get_block looks into */
  SCH_READS,    /* which of the buffers that the block reads: number, name or Buffer */
  SCH_WRITES,   /* the same of those it writes */
  SCH_PLACE, /* ("read" or "write", number), name or Buffer; recorded as two attributes: number, is
                  it written */
  SCH_MAP,   /* IndexMap; also as JSON */
  SCH_PADDING, /* the same, or None */
  SCH_INTS,    /* list of integers and handles of such, recorded as numbers */
  SCH_FLOATS,
  SCH_SIDE, /* "read" or "write" */
  SCH_DTYPE /* recorded as text */
} sch_param_type;

typedef struct {
  const char *name;
  sch_param_type type;
  bool input; /* is it recorded among the inputs? */
} sch_param;

typedef enum { SCH_NONE, SCH_ONE, SCH_LIST } sch_gives;
typedef enum { SCH_CHANGES, SCH_PURE, SCH_DECIDES } sch_nature;
enum { SCH_MAX_PARAMS = 6, SCH_MAX_NESTED = 32 /* of lists and maps in values */ };

typedef struct {
  const char *kind, *method;
  sch_gives gives;
  sch_nature nature;
  const sch_param *params;
  int nparams;
  /* @param v values as step_args.c makes them, two of a PLACE @param decision NULL: to be drawn
   * @param result borrowed */
  int (*call)(tn_TirSchedule *s, const tn_any *v, const tn_any *decision, tn_any *result);
} sch_row;

/** The row of a step. */
TN_API const sch_row *sch_row_of(sch_step_id id);
/** The row of a kind's name; NULL with ValueError. */
TN_API const sch_row *sch_row_named(const char *kind);
/** The one object for a kind. */
TN_API tn_InstructionKind *sch_kind_object(const sch_row *row);
/** The row of a step that was recorded; NULL with ValueError for a kind made by hand. */
TN_API const sch_row *sch_row_of_inst(const tn_Instruction *inst);

/** Takes a step and records it. @param given a value for each parameter @param decision NULL or
 * None: to be drawn @param result handle, array of handles or None, borrowed */
TN_API int sch_take(tn_TirSchedule *s, const sch_row *row, const tn_any *given,
                    const tn_any *decision, tn_any *result);

/** What callers give, checked and as it is recorded. @param values 2 * SCH_MAX_PARAMS; scope-owned
 * @return number of values, -1 */
int sch_take_args(tn_TirSchedule *s, const sch_row *row, const tn_any *given, tn_any *values);

#endif /* TN_TIR_SCHEDULE_STEPS_H_ */
