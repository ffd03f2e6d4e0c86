/* An expression in the place of another one: same type, place in the source.

   Compiler code: what is returned belongs to the current scope; a NULL operand means that an error
   is pending and is passed through. */
#ifndef TN_RELAY_EXPR_REPLACE_H_
#define TN_RELAY_EXPR_REPLACE_H_

#include "relay/op.h"

/** `post` stands for `pre` from now on: it gets its type and place where it has none. */
void *relay_stands_for(void *post, const void *pre);
/** `made` where its type is that of `pre`, else NULL without an error: a rewrite that gives another
 * type is wrong, and is dropped with a line in the log that names the pass. */
void *relay_of_type(const char *pass, void *made, const void *pre);
/** What a pass has made of `pre`, whose parts are rewritten in `post`: `made` where there is one
 * and its type is that of `pre`, else `post`. Every pass that puts other calls in the place of a
 * call ends here. */
void *relay_replaced(const char *pass, void *made, void *post, const void *pre);

#endif /* TN_RELAY_EXPR_REPLACE_H_ */
