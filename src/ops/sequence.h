/* What code generators need of operators on values (sequence.c). */
#ifndef TN_OPS_SEQUENCE_H_
#define TN_OPS_SEQUENCE_H_

#include "ops/ops.h"

/** Pushes the numbers that the function of a call gets behind its arguments (TN_INT): axes and
 * flags of its attributes, extents of a type. */
TN_API int ops_sequence_numbers(const tn_Op *op, const void *attrs, tn_vec *out);

#endif /* TN_OPS_SEQUENCE_H_ */
