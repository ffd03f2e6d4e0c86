/* How functions of schedules read their arguments; shared by the files that register them. */
#ifndef TN_TIR_SCHEDULE_API_H_
#define TN_TIR_SCHEDULE_API_H_

#include "object/functions.h"

/* The schedule is argument 0, its handle argument 1. */
#define SCH_ARG_SCHEDULE(name, nargs)                                                              \
  TN_NARGS(name, nargs);                                                                           \
  TN_ARG_OBJ(TirSchedule, s, 0);                                                                   \
  TN_CHECK(s, TypeError, NULL, name ": expected a Schedule, got None")
#define SCH_ARG_HANDLE(T, out, i)                                                                  \
  TN_ARG_OBJ(T, out, i);                                                                           \
  TN_CHECK(out, TypeError, NULL, "schedule: argument %d: expected a " #T ", got None", i)

int schedule_steps_init(void);
int schedule_step_args_init(void);
int schedule_trace_init(void);
int schedule_state_init(void);
int schedule_tensorize_map_init(void);
int schedule_tensorize_auto_init(void);

#endif /* TN_TIR_SCHEDULE_API_H_ */
