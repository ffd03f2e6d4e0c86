/* What is known of an expression: type, extents, values of constants, readers.

   Compiler code: what is returned belongs to the current scope; a NULL operand means that an error
   is pending and is passed through. */
#ifndef TN_RELAY_EXPR_EXPR_INFO_H_
#define TN_RELAY_EXPR_EXPR_INFO_H_

#include "base/pmap.h"
#include "relay/op.h"

/** Is it a function for one call of compiled code? */
bool relay_is_kernel(const void *e);
/** The tensor type of an expression, inferred when it is not known yet; NULL without an error where
 * it has none (tuples, functions, programs that are wrong). */
tn_TensorType *relay_known_type(const void *e);
/** Have two expressions known and equal tensor types? */
bool relay_same_type(const void *a, const void *b);
/** The tensor type is static: its extents, at most `max`. -1: it is not, or has more. */
int relay_static_shape(const tn_TensorType *t, int64_t *dims, int max);
/** Number of elements; -1 when not static. */
int64_t relay_count_elements(const tn_TensorType *t);

/** Is the constant on the host, each element the same number? Which? */
bool relay_uniform(const void *e, double *value);
/** Are all elements of the constant positive? */
bool relay_all_positive(const void *e);

/** Counts for each expression how many expressions below `root` read it (arguments twice count
 * twice; `root` has no reader). */
int relay_count_readers(const void *root, tn_pmap *readers);

#endif /* TN_RELAY_EXPR_EXPR_INFO_H_ */
