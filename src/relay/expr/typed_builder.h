/* Expressions of parts that have types, built with their own: no inference is needed.

   Compiler code: what is returned belongs to the current scope; a NULL operand means that an error
   is pending and is passed through. */
#ifndef TN_RELAY_EXPR_TYPED_BUILDER_H_
#define TN_RELAY_EXPR_TYPED_BUILDER_H_

#include "relay/op.h"

/** A new expression gets its type. */
void *relay_typed(void *e, const void *type);
/** New ones of what has types, with their own. @param attrs NULL: the defaults, see relay_call */
void *relay_typed_call(const char *op, void *attrs, tn_arr *args, const void *type);
void *relay_typed_tuple(tn_arr *fields);
void *relay_typed_field(void *tuple, int64_t index);
/** let var = value; body */
void *relay_typed_let(void *var, void *value, void *body);
/** A function whose body, a choice or match whose branches are what `block` makes of them, of the
 * same types; kernels and other expressions are as they are. */
void *relay_with_blocks(const void *e, void *(*block)(void *ctx, const void *body), void *ctx);

#endif /* TN_RELAY_EXPR_TYPED_BUILDER_H_ */
