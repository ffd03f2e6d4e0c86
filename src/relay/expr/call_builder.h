/* Small calls that several passes and operators make.

   Compiler code: what is returned belongs to the current scope; a NULL operand means that an error
   is pending and is passed through. */
#ifndef TN_RELAY_EXPR_CALL_BUILDER_H_
#define TN_RELAY_EXPR_CALL_BUILDER_H_

#include "relay/op.h"

/** A call of an operator of two arguments without attributes. */
void *relay_binary(const char *op, void *a, void *b);
void *relay_cast(void *e, tn_dtype t);
/** reshape to extents that are all known. */
void *relay_reshape(void *e, const tn_arr *shape);
/** Numbers along one axis get `after` axes of extent 1 behind it (expand_dims), none: as it is. */
void *relay_spread(void *e, int64_t after);
/** concatenate, of an array of expressions */
void *relay_concatenate(tn_arr *parts, int64_t axis);

/** A copy in which all variables that are bound inside are new ones, so that it can stand beside
 * the original; the expression itself when it binds none. */
void *relay_rename_bound(const void *expr);

#endif /* TN_RELAY_EXPR_CALL_BUILDER_H_ */
