/* Checks of what a step of a schedule has made; see verify.c. */
#ifndef TN_TIR_SCHEDULE_VERIFY_H_
#define TN_TIR_SCHEDULE_VERIFY_H_

#include "tir/schedule/schedule_impl.h"

/* A check gives 1 with `why` set, 0 where nothing is wrong, -1 with an error. */
typedef struct {
  const tn_PrimFunc *func, *before; /* before is NULL while the program before is checked */
  const char *primitive;            /* "split" */
  bool given;                       /* by the caller: a buffer may have no writer */
  tn_str *why;
} sch_verifier;

/** Notes what is wrong. Returns 1, or -1 with MemoryError. */
int sch_fault(sch_verifier *v, const char *fmt, ...) TN_PRINTF(2, 3);

/** Innermost blocks read and write inside the regions that they declare (verify_access.c). */
int sch_check_regions(sch_verifier *v);
/** Indices lie in the shapes of their buffers (verify_access.c). */
int sch_check_shapes(sch_verifier *v);

#endif /* TN_TIR_SCHEDULE_VERIFY_H_ */
