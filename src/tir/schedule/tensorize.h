/* Between the files of tensorize: a block held against the description of an instruction. */
#ifndef TN_TIR_SCHEDULE_TENSORIZE_H_
#define TN_TIR_SCHEDULE_TENSORIZE_H_

#include "tir/schedule/regions.h"

/** Which buffers of the program stand for those of the description, and where their elements
 * begin. */
typedef struct {
  sch_step *e;
  tn_pmap buffers; /* Buffer of the description -> Buffer of the program */
  tn_pmap bases;   /* Buffer of the description -> array of PrimExpr: added to its indices */
  tn_pmap vars;    /* Var of the description -> PrimExpr of the program */
  tn_pmap inner;   /* variables of the program that the block binds inside */
  tn_pmap scalars; /* parameters (Var) of the description that are not buffers */
  const tn_obj *ours, *theirs; /* the first parts that differ */
} sch_pattern;
#define SCH_PATTERN(name) __attribute__((cleanup(sch_pattern_fini))) sch_pattern name = {0}
void sch_pattern_fini(sch_pattern *p);

/** Does the block compute what the function describes? *same tells; not an error. */
int sch_match_desc(sch_pattern *p, const tn_Block *block, const tn_PrimFunc *desc, bool *same);

#endif /* TN_TIR_SCHEDULE_TENSORIZE_H_ */
